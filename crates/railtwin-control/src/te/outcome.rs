//! What a run of the engine decides: for each flow an uplink or none, and the loads that follow.

use railtwin_fabric::{Fabric, LinkId};
use railtwin_routing::{EntryTable, PrefixId, Prefixes, TableEntry};

use crate::te::matrix::Demand;

/// All that one NIC port sends to one prefix: the least that an entry can move.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PlacedFlow {
    /// The link from the NIC into the leaf.
    pub ingress: LinkId,
    /// Where it goes.
    pub prefix: PrefixId,
    /// Bits per second.
    pub rate_bits_per_s: f64,
    /// The uplink that an entry should name; none where hashes decide: across zones, beyond the
    /// table limit, or where there is only one way.
    pub next: Option<LinkId>,
}

/// The outcome of one run, flows in order of (ingress, prefix).
#[derive(Clone, PartialEq, Debug)]
pub struct FlowPlacement {
    /// Flows that leave their leaf by an uplink.
    pub flows: Vec<PlacedFlow>,
    /// By link: bits per second that the flows offer it, links from and to NICs left out. Where
    /// hashes choose, every way gets an equal part, which is what they do on average at best.
    pub load_bits_per_s: Vec<f64>,
    /// Demands with no way at all: an unknown or dead port, or a target that no live path reaches.
    pub unrouted: Vec<Demand>,
    /// Flows that would have an entry if their leaf had room.
    pub beyond_limit: usize,
}

impl FlowPlacement {
    /// The uplink of a flow, if an entry names one.
    pub fn next(&self, ingress: LinkId, prefix: PrefixId) -> Option<LinkId> {
        let at = self.flows.binary_search_by_key(&(ingress, prefix), |flow| (flow.ingress, flow.prefix));
        at.ok().and_then(|at| self.flows[at].next)
    }

    /// The entries that leaves should hold, in order.
    pub fn entries(&self) -> impl Iterator<Item = TableEntry> + '_ {
        self.flows.iter().filter_map(|flow| {
            let &PlacedFlow { ingress, prefix, .. } = flow;
            flow.next.map(|next| TableEntry { ingress, prefix, next })
        })
    }

    /// The same as a table.
    pub fn intended(&self, prefixes: &Prefixes) -> EntryTable {
        let mut table = EntryTable::new(prefixes.clone());
        for entry in self.entries() {
            table.insert(entry.ingress, entry.prefix, entry.next);
        }
        table
    }

    /// The fullest link and its load ÷ capacity, above 1 if more is offered than fits; the lowest
    /// link of several. None without load.
    pub fn busiest(&self, fabric: &Fabric) -> Option<(LinkId, f64)> {
        let loaded = self.load_bits_per_s.iter().zip(0..).filter(|&(&load, _)| load > 0.0);
        let utilization = loaded.map(|(load, link)| {
            let link = LinkId(link);
            (link, load / fabric.capacity(link).bits_per_s() as f64)
        });
        utilization.reduce(|best, next| if next.1 > best.1 { next } else { best })
    }

    /// Load ÷ capacity of the fullest link; 0 without load.
    pub fn max_utilization(&self, fabric: &Fabric) -> f64 {
        self.busiest(fabric).map_or(0.0, |(_, utilization)| utilization)
    }
}

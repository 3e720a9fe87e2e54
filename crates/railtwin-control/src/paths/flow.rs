//! One queue pair as its search sees it: the ways, the uses of links, the packet.
use railtwin_fabric::{DeviceId, LinkId, NONE};
use railtwin_routing::{HashKey, NextHop, Routing};

use super::assignment::Path;
use super::dag::{Node, PathDag, Tables};

/// What a known fault adds to a link's use: more than all weights together (2^16 each, 2^32 queue pairs).
pub(super) const FAULTY: u64 = 1 << 48;

/// Most used link of a way, then the sum of uses; access links count for neither.
pub(super) type Burden = (u64, u64);

/// One queue pair at the first leaf.
#[derive(Clone, Copy)]
pub(super) struct Flow<'r, 'a> {
    pub(super) routing: &'r Routing<'a>,
    pub(super) tables: &'r Tables,
    /// Number of the pair of leaves in the catalogue.
    pub(super) pair: u32,
    pub(super) dag: &'r PathDag,
    /// Use of each link.
    pub(super) cost: &'r [u64],
    /// All but the source port and the ingress.
    pub(super) key: HashKey,
    /// The link into the first leaf.
    pub(super) access: LinkId,
    /// What its port adds to the hash of that leaf.
    pub(super) twist: u32,
    pub(super) target: DeviceId,
}

/// Which last links will do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Landing {
    /// A sound one into this port of the target.
    OnPort(u32),
    /// A sound one.
    OnSound,
    /// Any.
    Anywhere,
}

/// A source port and where it leads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) source_port: u16,
    pub(super) path: Path,
    pub(super) landed: u32,
    pub(super) burden: Burden,
    /// Whether no way at all has a less used most-used link.
    pub(super) is_best: bool,
}

impl Flow<'_, '_> {
    /// What the port of an access link adds to the hash of the first leaf.
    pub(super) fn first_twist(routing: &Routing<'_>, tables: &Tables, dag: &PathDag, access: LinkId) -> u32 {
        match dag.nodes[0].table {
            NONE => 0,
            table => tables.get(table).twist(routing, access),
        }
    }

    /// Whether a leaf has a link to the target that ends on port `landing`.
    pub(super) fn offers(&self, node: &Node, landing: Landing) -> bool {
        let links = self.routing.forwarding.next_links(node.row, self.target);
        links.iter().any(|&link| self.fits(link, landing))
    }

    pub(super) fn fits(&self, last: LinkId, landing: Landing) -> bool {
        match landing {
            Landing::OnPort(port) => self.cost[last.index()] < FAULTY && self.landing(last) == port,
            Landing::OnSound => self.cost[last.index()] < FAULTY,
            Landing::Anywhere => true,
        }
    }

    /// The link by which a leaf hands a packet to the target.
    pub(super) fn deliver(&self, node: &Node, port: u16, arrival: LinkId) -> Option<LinkId> {
        Some(match self.routing.next_hop(node.row, arrival, self.target)? {
            NextHop::Only(link) => link,
            NextHop::ByHash(spec, group) => {
                let key = self.key.with_ingress_port(self.routing.arrival_port(arrival));
                group[spec.bucket(&key.with_source_port(port), group.len())]
            }
        })
    }

    /// The port of the target that a last link enters.
    pub(super) fn landing(&self, last: LinkId) -> u32 {
        let mut accesses = self.routing.forwarding.accesses(self.target).iter();
        let access = accesses.find(|access| access.link == last.reverse());
        access.expect("the last link is one of the target's access links").port
    }
}

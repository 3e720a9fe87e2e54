//! Demands summed into the flows that entries can tell apart.

use std::ops::Range;

use railtwin_fabric::{Fabric, LinkId};
use railtwin_routing::{Forwarding, PrefixId, Prefixes, TargetId};

use crate::te::matrix::{Demand, TrafficMatrix};
use crate::te::zone::{Scheme, ZonePolicies};

/// All that one NIC port sends to one prefix over its leaf's uplinks.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) ingress: LinkId,
    pub(crate) prefix: PrefixId,
    /// Row of the leaf.
    pub(crate) leaf: u32,
    /// Bits per second.
    pub(crate) rate: f64,
    pub(crate) scheme: Scheme,
    /// In [`Flows::parts`].
    parts: Range<u32>,
}

/// What of a flow goes to NICs announced by the same leaves. One part, unless NICs of the prefix
/// have lost some of their leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) target: TargetId,
    /// Bits per second.
    pub(crate) rate: f64,
}

/// The flows of a matrix, in order of (ingress, prefix).
#[derive(Clone, Debug)]
pub(crate) struct Flows {
    pub(crate) list: Vec<Flow>,
    parts: Vec<Part>,
    pub(crate) unrouted: Vec<Demand>,
}

/// One demand with a way, before summing.
struct Routed {
    key: (LinkId, PrefixId, TargetId),
    leaf: u32,
    rate: u64,
    scheme: Scheme,
}

impl Flows {
    /// Sums the demands of `matrix` that leave their leaf; those that a leaf delivers by itself
    /// load no link between switches and are left out.
    pub(crate) fn new(
        fabric: &Fabric,
        forwarding: &Forwarding,
        prefixes: &Prefixes,
        policy: ZonePolicies,
        matrix: &TrafficMatrix,
    ) -> Self {
        let mut routed = Vec::with_capacity(matrix.demands().len());
        let mut unrouted = Vec::new();
        for demand in matrix.demands() {
            match enter(forwarding, prefixes, demand) {
                None => unrouted.push(*demand),
                Some((_, leaf, target)) if forwarding.delivers(leaf, target.1) => {}
                Some((ingress, leaf, (prefix, target))) => {
                    let scheme = policy.scheme(fabric, demand.source.nic, demand.target);
                    let (key, rate) = ((ingress, prefix, target), demand.rate.bits_per_s());
                    routed.push(Routed { key, leaf, rate, scheme });
                }
            }
        }
        // Rates are whole numbers here, so sums do not depend on the order.
        routed.sort_by_key(|routed| routed.key);
        let mut flows = Self { list: Vec::new(), parts: Vec::new(), unrouted };
        for flow in routed.chunk_by(|a, b| (a.key.0, a.key.1) == (b.key.0, b.key.1)) {
            let start = flows.parts.len() as u32;
            for part in flow.chunk_by(|a, b| a.key.2 == b.key.2) {
                let rate = part.iter().map(|routed| routed.rate as f64).sum();
                flows.parts.push(Part { target: part[0].key.2, rate });
            }
            let Routed { key: (ingress, prefix, _), leaf, scheme, .. } = flow[0];
            let parts = start..flows.parts.len() as u32;
            let rate = flows.parts[start as usize..].iter().map(|part| part.rate).sum();
            flows.list.push(Flow { ingress, prefix, leaf, rate, scheme, parts });
        }
        flows
    }

    pub(crate) fn parts(&self, flow: &Flow) -> &[Part] {
        &self.parts[flow.parts.start as usize..flow.parts.end as usize]
    }

    /// The target of the largest part: an entry is no use unless it serves that.
    pub(crate) fn main_target(&self, flow: &Flow) -> TargetId {
        let parts = self.parts(flow);
        let largest = parts.iter().reduce(|best, next| if next.rate > best.rate { next } else { best });
        largest.expect("a flow has parts").target
    }
}

/// Ingress link, row of the leaf and where to; none if there is no way.
fn enter(
    forwarding: &Forwarding,
    prefixes: &Prefixes,
    demand: &Demand,
) -> Option<(LinkId, u32, (PrefixId, TargetId))> {
    let access = forwarding.access(demand.source.nic, demand.source.port)?;
    if forwarding.mask().is_down(access.link) {
        return None;
    }
    let target = forwarding.target_of(demand.target)?;
    let prefix = prefixes.prefix_of(demand.target)?;
    let reached =
        forwarding.delivers(access.leaf, target) || !forwarding.group(access.leaf, target).is_empty();
    reached.then_some((access.link, access.leaf, (prefix, target)))
}

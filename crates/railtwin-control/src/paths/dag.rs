//! All shortest ways from a leaf to a set of leaves, laid out for fast search.
use std::collections::BTreeMap;

use railtwin_fabric::{DeviceId, LinkId, NONE};
use railtwin_routing::{HashSpec, NextHop, PortTable, Routing};

/// The distinct hashes of a fabric's switches with what source ports add to each.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    known: BTreeMap<HashSpec, u32>,
    tables: Vec<(HashSpec, PortTable)>,
}

impl Tables {
    pub(super) fn number(&mut self, spec: &HashSpec) -> u32 {
        *self.known.entry(*spec).or_insert_with(|| {
            self.tables.push((*spec, PortTable::new(spec)));
            self.tables.len() as u32 - 1
        })
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> &(HashSpec, PortTable) {
        &self.tables[number as usize]
    }
}

/// `hash mod members` by two multiplications (Lemire, Kaser, Kurz: faster remainder by direct computation, 2019).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Members {
    magic: u64,
    count: u32,
}

impl Members {
    /// A group of so many members.
    pub(super) fn new(count: u32) -> Self {
        Self { magic: (u64::MAX / u64::from(count.max(1))).wrapping_add(1), count }
    }

    /// Exact for every 32-bit hash.
    #[inline]
    pub(super) fn bucket(self, hash: u32) -> usize {
        let fraction = self.magic.wrapping_mul(u64::from(hash));
        ((u128::from(fraction) * u128::from(self.count)) >> 64) as usize
    }
}

/// A link out of a node and the node that it enters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Edge {
    pub(super) link: LinkId,
    pub(super) next: u32,
}

/// A switch on the way. At a core whose egress hangs on the ingress there is one for each ingress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Node {
    /// Row of the switch.
    pub(super) row: u32,
    /// Its edges are `edges[first..first + members.count]`, in the order of the group.
    pub(super) first: u32,
    pub(super) members: Members,
    /// Number of its hash in [`Tables`]; [`NONE`] where it has no choice.
    pub(super) table: u32,
    /// Whether the target's NICs hang on it; it then has no edges here.
    pub(super) delivers: bool,
}

impl Node {
    #[inline]
    pub(super) fn edges(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.members.count) as usize
    }
}

/// Nodes in order of distance, the source leaf first, so that every edge leads to a later node.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct PathDag {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
    /// The way beyond each edge of the first node where that is one link to one leaf that all share: two tiers
    /// with planes, and most others without parallel cables. Empty otherwise.
    pub(super) single: Vec<LinkId>,
}

impl PathDag {
    /// The ways from the leaf in row `leaf` to the leaves that announce `target_nic`.
    pub(super) fn build(routing: &Routing<'_>, leaf: u32, target_nic: DeviceId, tables: &mut Tables) -> Self {
        let target = routing.forwarding.target_of(target_nic);
        let mut build = Build { known: BTreeMap::new(), dag: Self::default() };
        let mut arrivals = vec![LinkId(0)];
        build.node(leaf, NONE);
        let mut node = 0;
        while node < build.dag.nodes.len() {
            let row = build.dag.nodes[node].row;
            build.dag.nodes[node].first = build.dag.edges.len() as u32;
            if target.is_some_and(|target| routing.forwarding.delivers(row, target)) {
                build.dag.nodes[node].delivers = true;
                node += 1;
                continue;
            }
            let only: LinkId;
            let group: &[LinkId] = match routing.next_hop(row, arrivals[node], target_nic) {
                None => &[],
                Some(NextHop::Only(link)) => {
                    only = link;
                    std::slice::from_ref(&only)
                }
                Some(NextHop::ByHash(spec, group)) => {
                    build.dag.nodes[node].table = tables.number(&spec);
                    group
                }
            };
            build.dag.nodes[node].members = Members::new(group.len() as u32);
            for &link in group {
                let next = routing.fabric.switch_row(routing.fabric.target(link));
                let next = next.expect("only leaves that deliver have links to NICs in their groups");
                let tier = routing.fabric.switches()[next as usize].1.tier;
                let by_arrival = routing.ecmp.core_per_port && tier == 3;
                let next = build.node(next, if by_arrival { link.0 } else { NONE });
                if next as usize == arrivals.len() {
                    arrivals.push(link);
                }
                build.dag.edges.push(Edge { link, next });
            }
            node += 1;
        }
        build.dag.single = build.dag.only_ways().unwrap_or_default();
        build.dag
    }

    fn only_ways(&self) -> Option<Vec<LinkId>> {
        let last = self.nodes.iter().position(|node| node.delivers)?;
        let way = |edge: usize| match self.nodes[self.edges[edge].next as usize].edges() {
            range if range.len() == 1 && self.edges[range.start].next as usize == last => {
                Some(self.edges[range.start].link)
            }
            _ => None,
        };
        self.nodes[0].edges().map(way).collect()
    }
}

struct Build {
    /// Node by row and, where it matters, link of arrival.
    known: BTreeMap<(u32, u32), u32>,
    dag: PathDag,
}

impl Build {
    fn node(&mut self, row: u32, arrival: u32) -> u32 {
        let nodes = &mut self.dag.nodes;
        *self.known.entry((row, arrival)).or_insert_with(|| {
            let members = Members { magic: 0, count: 0 };
            nodes.push(Node { row, first: 0, members, table: NONE, delivers: false });
            nodes.len() as u32 - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn buckets_are_remainders(hash: u32, count in 2u32..100_000) {
            for hash in [hash, u32::MAX, 0, count, count - 1] {
                prop_assert_eq!(Members::new(count).bucket(hash), (hash % count) as usize);
            }
        }
    }
}

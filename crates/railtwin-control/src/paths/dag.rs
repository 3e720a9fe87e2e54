//! All shortest ways from a leaf to a set of leaves, laid out for fast search.
use std::collections::BTreeMap;

use railtwin_fabric::{DeviceId, LinkId, NONE};
use railtwin_routing::{HashSpec, NextHop, PortTable, Routing, SeedTable};

use super::fields::{AllFields, Fields as TierFields};
use super::hash_table::{HashTable, Members};
use super::last_choice::LastChoice;
use super::layers::Layers;

/// The distinct hashes of a fabric's switches, which differ in their seeds alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    known: BTreeMap<HashSpec, u32>,
    tables: Vec<HashTable>,
    fields: AllFields,
}

impl Tables {
    pub(super) fn number(&mut self, spec: &HashSpec) -> u32 {
        *self.known.entry(*spec).or_insert_with(|| {
            let (seed, ports) = (SeedTable::new(spec), PortTable::new(spec));
            self.tables.push(HashTable { spec: *spec, seed, ports, first_ports: Vec::new() });
            self.tables.len() as u32 - 1
        })
    }

    /// Number of distinct hashes so far.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.tables.len()
    }

    /// The fields of a kind of tier.
    #[inline]
    pub(super) fn fields(&self, kind: usize) -> &TierFields {
        self.fields.get(kind)
    }

    /// The kind of a tier that chooses by so many bits of each of these hashes; none where these are too many.
    pub(super) fn fields_of(&mut self, hashes: Vec<u32>, bits: u32) -> Option<usize> {
        let tables = &self.tables;
        self.fields.number(hashes, bits, |number| &tables[number as usize])
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> &HashTable {
        &self.tables[number as usize]
    }
}

/// A link out of a node and the node that it enters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Edge {
    pub(super) link: LinkId,
    pub(super) next: u32,
    /// What the port of arrival adds to the hash of the node that it enters.
    pub(super) twist: u32,
    /// The first edge of that node.
    pub(super) first: u32,
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
    /// The nodes that deliver, in order: the leaves of the target, so no more than a NIC has ports.
    pub(super) leaves: Vec<u32>,
    /// The way beyond each edge of the first node where that is one link to one leaf that all share: two tiers
    /// with planes, and most others without parallel cables. Empty otherwise.
    pub(super) single: Vec<LinkId>,
    /// What the last switches choose by, where that is one thing.
    pub(super) last_choice: Option<LastChoice>,
    /// How whole tiers choose, where their switches do so alike.
    pub(super) layers: Option<Layers>,
}

impl PathDag {
    /// The ways from the leaf in row `leaf` to the leaves that announce `target_nic`.
    pub(super) fn build(routing: &Routing<'_>, leaf: u32, target_nic: DeviceId, tables: &mut Tables) -> Self {
        let target = routing.forwarding.target_of(target_nic);
        let rows = vec![NONE; routing.fabric.switches().len()];
        let mut build = Build { rows, by_arrival: BTreeMap::new(), dag: Self::default() };
        let mut arrivals = vec![LinkId(0)];
        build.node(leaf, NONE);
        let mut node = 0;
        while node < build.dag.nodes.len() {
            let row = build.dag.nodes[node].row;
            build.dag.nodes[node].first = build.dag.edges.len() as u32;
            if target.is_some_and(|target| routing.forwarding.delivers(row, target)) {
                build.dag.nodes[node].delivers = true;
                build.dag.leaves.push(node as u32);
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
                build.dag.edges.push(Edge { link, next, twist: 0, first: 0 });
            }
            node += 1;
        }
        let first = build.dag.nodes[0];
        if first.table != NONE {
            tables.tables[first.table as usize].learn_first_ports(first.members);
        }
        let PathDag { nodes, edges, .. } = &mut build.dag;
        for edge in edges {
            edge.first = nodes[edge.next as usize].first;
            let table = nodes[edge.next as usize].table;
            if table != NONE {
                edge.twist = tables.get(table).twist(routing, edge.link);
            }
        }
        build.dag.single = build.dag.only_ways().unwrap_or_default();
        build.dag.last_choice = LastChoice::of(&build.dag);
        if let Some(node) = build.dag.last_choice.as_ref().map(LastChoice::node) {
            let last = build.dag.nodes[node as usize];
            tables.tables[last.table as usize].learn_first_ports(last.members);
        }
        build.dag.layers = Layers::of(&build.dag, tables);
        build.dag
    }

    /// The nodes that deliver.
    pub(super) fn delivering(&self) -> impl Iterator<Item = &Node> {
        self.leaves.iter().map(|&node| &self.nodes[node as usize])
    }

    fn only_ways(&self) -> Option<Vec<LinkId>> {
        let last = *self.leaves.first()? as usize;
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
    /// Node by row where it does not matter whence packets come; [`NONE`] where there is none yet.
    rows: Vec<u32>,
    /// Node by row and link of arrival where it does.
    by_arrival: BTreeMap<(u32, u32), u32>,
    dag: PathDag,
}

impl Build {
    fn node(&mut self, row: u32, arrival: u32) -> u32 {
        let known = match arrival {
            NONE => &mut self.rows[row as usize],
            _ => self.by_arrival.entry((row, arrival)).or_insert(NONE),
        };
        if *known == NONE {
            *known = self.dag.nodes.len() as u32;
            let members = Members::NONE;
            self.dag.nodes.push(Node { row, first: 0, members, table: NONE, delivers: false });
        }
        *known
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

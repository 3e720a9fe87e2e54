//! The choice of the switches before the target's leaves.
use railtwin_fabric::NONE;

use super::dag::{Edge, PathDag};

/// The choice of the switches before the target's leaves, where it is the same at all of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LastChoice {
    /// Number of their hash.
    pub(super) table: u32,
    /// Low bits of it that choose.
    pub(super) bits: u32,
    /// The switches, by node.
    nodes: Vec<u32>,
}

impl LastChoice {
    /// Of the ways of a graph; none where the last switches choose otherwise than by the same few low bits, whatever
    /// the port of arrival.
    pub(super) fn of(dag: &PathDag) -> Option<Self> {
        let leads = |index: usize| {
            let mut edges = dag.edges[dag.nodes[index].edges()].iter();
            edges.any(|edge| dag.nodes[edge.next as usize].delivers)
        };
        let nodes: Vec<u32> =
            (0..dag.nodes.len()).filter(|&node| leads(node)).map(|node| node as u32).collect();
        let first = &dag.nodes[*nodes.first()? as usize];
        let bits = first.members.low_bits().filter(|&bits| bits <= 6 && first.table != NONE)?;
        let alike = nodes.iter().all(|&node| {
            let node = &dag.nodes[node as usize];
            node.table == first.table && node.members == first.members
        });
        // The first switch sees the twist of the access link, which is the packet's.
        let twisted = |edge: &Edge| edge.twist != 0 && nodes.contains(&edge.next);
        let is_plain = nodes[0] != 0 && !dag.edges.iter().any(twisted);
        (alike && is_plain).then_some(Self { table: first.table, bits, nodes })
    }

    /// One of the switches.
    pub(super) fn node(&self) -> u32 {
        self.nodes[0]
    }

    /// The members over which any of the switches leads where `lands` says so of a node, as bits by number.
    pub(super) fn members(&self, dag: &PathDag, lands: impl Fn(u32) -> bool) -> u64 {
        let mut members = 0;
        for &node in &self.nodes {
            for (member, edge) in dag.edges[dag.nodes[node as usize].edges()].iter().enumerate() {
                members |= u64::from(lands(edge.next)) << member;
            }
        }
        members
    }
}

//! Communication that costs a slow job: groups of ranks whose collectives take longer than those of other groups.
use std::collections::{BTreeMap, BTreeSet};

use super::Graph;
use super::graph::Node;
use crate::robust;

/// Times the usual duration from which a group is slow: less is a matter of where its ranks are.
const TIMES: f64 = 2.0;
/// Share of the job's time that it must cost.
const COST: f64 = 0.02;
/// Groups that are replayed one by one: those with the most time beyond what is usual.
const GROUPS: usize = 32;

/// Durations of operations, ns, by the ranks of their group.
type TimesByGroup<'a> = BTreeMap<&'a [u32], Vec<f64>>;

/// A group of ranks whose collectives of one kind take longer than those of other groups.
#[derive(Clone, PartialEq, Debug)]
pub struct SlowGroup {
    /// The kind of operation, as the trace calls it.
    pub kind: String,
    /// Its ranks.
    pub ranks: Vec<u32>,
    /// Pipeline stages that its ranks are of.
    pub stages: Vec<u32>,
    /// Median of its durations over that of the other groups, each from when its last rank has come.
    pub times: f64,
    /// Share of the job's time that is gone when it takes as long as the others.
    pub cost: f64,
}

fn is_collective(node: &Node) -> bool {
    node.group.is_some() && node.transfer.is_none() && node.members.len() > 1
}

/// Groups whose collectives take at least twice as long as those of the same kind in other groups, and cost the job 2 % or
/// more; the dearest first. Where the groups of a kind are of one size only, as groups that move unlike amounts are not
/// compared. It is a set: nothing in a trace tells which of a group's ranks, or which link between them, is slow.
pub fn slow_groups(graph: &Graph) -> Vec<SlowGroup> {
    let whole = graph.total(|node| graph.nodes[node].time_ns);
    // (kind, ranks of a group) -> (ranks, nanoseconds of each operation)
    let mut kinds: BTreeMap<(u32, usize), TimesByGroup<'_>> = BTreeMap::new();
    for node in graph.nodes.iter().filter(|node| is_collective(node)) {
        let ranks = graph.ranks_of(node);
        kinds.entry((node.kind, ranks.len())).or_default().entry(ranks).or_default().push(node.time_ns);
    }
    let mut slow: Vec<(u32, &[u32], f64, f64)> = Vec::new();
    for ((kind, _), groups) in &kinds {
        for (ranks, times) in groups {
            let others = groups.iter().filter(|(other, _)| other != &ranks);
            let mut usual: Vec<f64> = others.flat_map(|(_, times)| times.iter().copied()).collect();
            let (usual, own) = (robust::median(&mut usual), robust::median(&mut times.clone()));
            if let Some((usual, own)) = usual.zip(own).filter(|(usual, _)| *usual > 0.0)
                && own >= TIMES * usual
            {
                let beyond = times.iter().map(|time| (time - usual).max(0.0)).sum();
                slow.push((*kind, ranks, own / usual, beyond));
            }
        }
    }
    slow.sort_by(|a, b| b.3.total_cmp(&a.3).then(a.1.cmp(b.1)));
    slow.truncate(GROUPS);
    let of = |(kind, ranks, times, _): (u32, &[u32], f64, f64)| {
        let is_of = |node: &Node| is_collective(node) && node.kind == kind && graph.ranks_of(node) == ranks;
        let mended = graph.total(|node| {
            let node = &graph.nodes[node];
            if is_of(node) { node.time_ns / times } else { node.time_ns }
        });
        let infos = || ranks.iter().map(|&row| &graph.ranks[row as usize]);
        SlowGroup {
            kind: graph.kinds.get(kind as usize).cloned().unwrap_or_default(),
            ranks: infos().map(|info| info.rank).collect(),
            stages: infos().map(|info| info.stage).collect::<BTreeSet<u32>>().into_iter().collect(),
            times,
            cost: (whole - mended) / whole,
        }
    };
    let mut told: Vec<SlowGroup> = slow.into_iter().map(of).filter(|group| group.cost >= COST).collect();
    told.sort_by(|a, b| b.cost.total_cmp(&a.cost).then_with(|| a.ranks.cmp(&b.ranks)));
    told
}

/// Share of the job's time that is gone when all communication takes what is usual of its kind.
pub fn communication_cost(graph: &Graph) -> f64 {
    let [usual, _] = super::split::ideals(graph);
    let whole = graph.total(|node| graph.nodes[node].time_ns);
    let mended = graph.total(|node| {
        let one = &graph.nodes[node];
        let shared = one.group.is_some() || one.transfer.is_some();
        if shared { one.time_ns.min(usual[node]) } else { one.time_ns }
    });
    if whole > 0.0 { (whole - mended) / whole } else { 0.0 }
}

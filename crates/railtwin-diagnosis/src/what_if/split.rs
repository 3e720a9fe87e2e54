//! What each part of a job costs it: replays in which only that part takes what it took, and all else is ideal.
use std::collections::{BTreeMap, BTreeSet};

use super::Graph;
use super::graph::{Node, RankInfo};
use crate::robust;

/// The two ideals, as they are named.
pub const IDEALS: [&str; 2] = ["mean over all", "median over like stages"];
/// Ranks, stages and replicas that are replayed one by one: those with the most time of their own beyond that of peers.
const PARTS: usize = 512;

/// Times of one step, nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StepTimes {
    /// Its number.
    pub step: u64,
    /// From its first start to its last end.
    pub recorded_ns: f64,
    /// Replayed with durations as they were: without the pauses between operations.
    pub replayed_ns: f64,
    /// Replayed with both ideals.
    pub ideal_ns: [f64; 2],
}

/// What one part of the job costs.
#[derive(Clone, PartialEq, Debug)]
pub struct Part {
    /// Its name: a kind of operation, or the number of a rank, stage or replica.
    pub name: String,
    /// How many times as long the job takes as its ideal when only this part takes what it took, by both ideals.
    pub alone: [f64; 2],
    /// Share of the job's time that is gone when this part alone is ideal, by both ideals.
    pub saved: [f64; 2],
}

/// A job beside its ideal.
#[derive(Clone, PartialEq, Debug)]
pub struct WhatIf {
    /// Operations of the trace.
    pub operations: usize,
    /// How many times as long steps took as they do without pauses between operations.
    pub launch: f64,
    /// How many times as long they take as with ideal operations, by both ideals.
    pub slowdown: [f64; 2],
    /// By kind of operation, the most costly first; and so on.
    pub kinds: Vec<Part>,
    /// By pipeline stage.
    pub stages: Vec<Part>,
    /// By data-parallel replica.
    pub replicas: Vec<Part>,
    /// By rank.
    pub ranks: Vec<Part>,
    /// Step by step.
    pub steps: Vec<StepTimes>,
}

/// Ideal durations of all nodes, by both ideals, nanoseconds.
///
/// The first: computation takes the mean of its kind, which keeps the sum of the work, and transfers the median of
/// theirs, which congestion of few does not move. The second: everything takes the median of its kind and part of the
/// model, so that stages may weigh unlike.
pub(crate) fn ideals(graph: &Graph) -> [Vec<f64>; 2] {
    let mut kinds: BTreeMap<u32, (Vec<f64>, bool)> = BTreeMap::new();
    let mut likes: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for node in &graph.nodes {
        let of = kinds.entry(node.kind).or_default();
        of.0.push(node.time_ns);
        of.1 |= is_shared(node);
        likes.entry(node.like).or_default().push(node.time_ns);
    }
    let of_kind: BTreeMap<u32, f64> = kinds
        .into_iter()
        .map(|(kind, (mut times, shared))| {
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            (kind, if shared { robust::median(&mut times).unwrap_or(0.0) } else { mean })
        })
        .collect();
    let of_like: BTreeMap<u32, f64> = likes
        .into_iter()
        .map(|(like, mut times)| (like, robust::median(&mut times).unwrap_or(0.0)))
        .collect();
    let first = graph.nodes.iter().map(|node| of_kind[&node.kind]).collect();
    [first, graph.nodes.iter().map(|node| of_like[&node.like]).collect()]
}

/// Whether a node is communication. A kind is if one of its nodes is: a group of one rank communicates with nobody.
fn is_shared(node: &Node) -> bool {
    node.group.is_some() || node.transfer.is_some()
}

/// How many times as long as with ideal operations a job takes, by both ideals; none where nothing takes time.
pub fn slowdown(graph: &Graph) -> Option<[f64; 2]> {
    let whole = graph.total(|node| graph.nodes[node].time_ns);
    let ideal = ideals(graph).map(|ideal| graph.total(|node| ideal[node]));
    (whole > 0.0 && ideal.iter().all(|time| *time > 0.0)).then(|| ideal.map(|time| whole / time))
}

/// Replays a job with ideal operations, and with all but a part of it.
///
/// A slowdown is the sum of all steps over their ideal sum. None for a graph without steps, or of which all takes no
/// time.
pub fn what_if(graph: &Graph, operations: usize) -> Option<WhatIf> {
    let ideals = ideals(graph);
    let took = |node: usize| graph.nodes[node].time_ns;
    let replayed = graph.replay(took);
    let of_ideals = [graph.replay(|node| ideals[0][node]), graph.replay(|node| ideals[1][node])];
    let sum = |times: &[f64]| times.iter().sum::<f64>();
    let (whole, whole_ideals) = (sum(&replayed), [sum(&of_ideals[0]), sum(&of_ideals[1])]);
    let recorded: f64 = graph.steps.iter().map(|step| step.recorded_ns).sum();
    if whole_ideals.iter().any(|time| *time <= 0.0) || whole <= 0.0 {
        return None;
    }
    let part = |name: String, within: &dyn Fn(&Node) -> bool| {
        let mask: Vec<bool> = graph.nodes.iter().map(within).collect();
        let alone = [0, 1].map(|ideal| {
            let time = |node: usize| if mask[node] { took(node) } else { ideals[ideal][node] };
            graph.total(time) / whole_ideals[ideal]
        });
        let saved = [0, 1].map(|ideal| {
            let time = |node: usize| if mask[node] { ideals[ideal][node] } else { took(node) };
            1.0 - graph.total(time) / whole
        });
        Part { name, alone, saved }
    };
    let sorted = |mut parts: Vec<Part>| {
        parts.sort_by(|a, b| b.alone[0].total_cmp(&a.alone[0]));
        parts
    };
    let has = |node: &Node, of: &dyn Fn(u32) -> bool| graph.ranks_of(node).iter().any(|&row| of(row));
    let kinds: BTreeSet<u32> = graph.nodes.iter().map(|node| node.kind).collect();
    let kind_name = |kind: u32| graph.kinds.get(kind as usize).cloned().unwrap_or_default();
    let kinds = kinds.into_iter().map(|kind| part(kind_name(kind), &|node| node.kind == kind));
    let numbers = |of: fn(&RankInfo) -> u32| {
        let parts = most_own(graph, &ideals[1], of).into_iter().map(|number| {
            part(number.to_string(), &|node| has(node, &|row| of(&graph.ranks[row as usize]) == number))
        });
        sorted(parts.collect())
    };
    let steps = graph.steps.iter().enumerate().map(|(row, step)| StepTimes {
        step: step.step,
        recorded_ns: step.recorded_ns,
        replayed_ns: replayed[row],
        ideal_ns: [of_ideals[0][row], of_ideals[1][row]],
    });
    Some(WhatIf {
        operations,
        launch: recorded / whole,
        slowdown: whole_ideals.map(|ideal| whole / ideal),
        kinds: sorted(kinds.collect()),
        stages: numbers(|rank| rank.stage),
        replicas: numbers(|rank| rank.replica),
        ranks: numbers(|rank| rank.rank),
        steps: steps.collect(),
    })
}

/// Numbers of ranks, stages or replicas with the most computation beyond the second ideal, [`PARTS`] at most, in order.
fn most_own(graph: &Graph, ideal: &[f64], of: fn(&RankInfo) -> u32) -> Vec<u32> {
    let mut own: BTreeMap<u32, f64> = graph.ranks.iter().map(|rank| (of(rank), 0.0)).collect();
    for (node, &ideal) in graph.nodes.iter().zip(ideal).filter(|(node, _)| !is_shared(node)) {
        for &row in graph.ranks_of(node) {
            *own.entry(of(&graph.ranks[row as usize])).or_default() += node.time_ns - ideal;
        }
    }
    let mut numbers: Vec<(u32, f64)> = own.into_iter().collect();
    numbers.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    numbers.truncate(PARTS);
    let mut numbers: Vec<u32> = numbers.into_iter().map(|(number, _)| number).collect();
    numbers.sort_unstable();
    numbers
}

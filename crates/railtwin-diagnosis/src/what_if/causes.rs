//! What makes jobs slow and is nobody's fault: stages of unlike weight, sequences of uneven length, pauses.
use std::collections::{BTreeMap, BTreeSet};

use super::graph::Node;
use super::{Graph, Way};
use crate::{Settings, robust};

/// Correlation of forward and backward times of the same microbatch from which the microbatch sets both. Lin et al.
/// take 0.9, as times of both ways grow with the squares of the sequence lengths.
const CORRELATION: f64 = 0.9;
/// Microbatches that are compared at least.
const PAIRS_MIN: usize = 32;
/// A forward computation this many times as long as usual is a pause where its backward computation is not even
/// `USUAL` times as long.
const LONG: f64 = 1.5;
const USUAL: f64 = 1.2;
/// Share of the job's time that is worth a word.
const COST: f64 = 0.01;

/// The stage that computes longest.
#[derive(Clone, PartialEq, Debug)]
pub struct HeavyStage {
    /// Which.
    pub stage: u32,
    /// By how much it takes longer in a step than the median of the others, as a share.
    pub excess: f64,
}

/// Sequences of uneven length: forward and backward computation of a microbatch are long or short together.
#[derive(Clone, PartialEq, Debug)]
pub struct Lengths {
    /// Their correlation, each over what is usual of its rank.
    pub correlation: f64,
    /// Standard deviation of a microbatch's time, as a share of what is usual.
    pub spread: f64,
    /// Share of the job's time that is gone when all computation takes what is usual of its part of the model.
    pub cost: f64,
}

/// Pauses that are recorded as such, and pauses in forward computation alone, as garbage collection of Python makes them:
/// it holds up the process that launches kernels, and the backward pass is launched without Python.
#[derive(Clone, PartialEq, Debug)]
pub struct Pauses {
    /// How many.
    pub count: usize,
    /// How many of them are recorded as such.
    pub recorded: usize,
    /// At how many ranks.
    pub ranks: usize,
    /// Share of the job's time that is gone without them.
    pub cost: f64,
}

/// The stage that computes longest in the median step; none where there is one stage only.
pub(super) fn heavy_stage(graph: &Graph) -> Option<HeavyStage> {
    // (stage, rank, step) -> nanoseconds
    let mut times: BTreeMap<(u32, u32, usize), f64> = BTreeMap::new();
    for (row, step) in graph.steps.iter().enumerate() {
        for node in &graph.nodes[step.nodes.start as usize..step.nodes.end as usize] {
            if let ([rank], true) = (graph.ranks_of(node), node.compute.is_some()) {
                *times.entry((graph.ranks[*rank as usize].stage, *rank, row)).or_default() += node.time_ns;
            }
        }
    }
    let mut stages: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    times.into_iter().for_each(|((stage, ..), time)| stages.entry(stage).or_default().push(time));
    let usual: BTreeMap<u32, f64> = stages
        .into_iter()
        .filter_map(|(stage, mut times)| Some((stage, robust::median(&mut times)?)))
        .collect();
    let (&stage, &time) = usual.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
    let others = usual.iter().filter(|(other, _)| **other != stage);
    let other = robust::median(&mut others.map(|(_, time)| *time).collect::<Vec<f64>>())?;
    (other > 0.0).then(|| HeavyStage { stage, excess: time / other - 1.0 })
}

/// Forward and backward times of the same microbatch at the same part of a rank, as nodes, in all steps but some.
fn microbatches(graph: &Graph, but: &BTreeSet<usize>) -> Vec<(u32, usize, usize)> {
    type Lists = [Vec<usize>; 2];
    let mut pairs = Vec::new();
    for (_, step) in graph.steps.iter().enumerate().filter(|(row, _)| !but.contains(row)) {
        let mut lists: BTreeMap<(u32, u32), Lists> = BTreeMap::new();
        for row in step.nodes.start as usize..step.nodes.end as usize {
            let node = &graph.nodes[row];
            if let (Some(way), [rank]) = (node.compute, graph.ranks_of(node)) {
                let lists = lists.entry((*rank, node.chunk)).or_default();
                lists[usize::from(way == Way::Backward)].push(row);
            }
        }
        for ((rank, _), mut lists) in lists {
            lists.iter_mut().for_each(|list| list.sort_by_key(|&row| graph.nodes[row].number));
            let [forward, backward] = lists;
            if forward.len() == backward.len() {
                pairs.extend(forward.into_iter().zip(backward).map(|(a, b)| (rank, a, b)));
            }
        }
    }
    pairs
}

/// Whether microbatches are of uneven length, by all steps but those that are long as a whole.
pub(super) fn lengths(
    graph: &Graph,
    like: &[f64],
    blamed: &BTreeSet<u32>,
    but: &BTreeSet<usize>,
    settings: &Settings,
) -> Option<Lengths> {
    let mut of_rank: BTreeMap<u32, Vec<[f64; 2]>> = BTreeMap::new();
    for (rank, forward, backward) in microbatches(graph, but) {
        let share = |row: usize| graph.nodes[row].time_ns / like[row];
        let shares = [share(forward), share(backward)];
        if shares.iter().all(|share| share.is_finite() && *share > 0.0)
            && !blamed.contains(&graph.ranks[rank as usize].rank)
        {
            of_rank.entry(rank).or_default().push(shares);
        }
    }
    let mut points: Vec<[f64; 2]> = Vec::new();
    for shares in of_rank.into_values() {
        let usual =
            [0, 1].map(|way| robust::median(&mut shares.iter().map(|one| one[way]).collect::<Vec<f64>>()));
        let [Some(forward), Some(backward)] = usual else { continue };
        points.extend(shares.iter().map(|one| [(one[0] / forward).ln(), (one[1] / backward).ln()]));
    }
    if points.len() < PAIRS_MIN {
        return None;
    }
    let count = points.len() as f64;
    let mean = [0, 1].map(|way| points.iter().map(|one| one[way]).sum::<f64>() / count);
    let moment = |a: usize, b: usize| {
        points.iter().map(|one| (one[a] - mean[a]) * (one[b] - mean[b])).sum::<f64>() / count
    };
    let correlation = moment(0, 1) / (moment(0, 0) * moment(1, 1)).sqrt();
    let spread = (moment(0, 0) * moment(1, 1)).sqrt().sqrt();
    let whole = graph.total(|node| graph.nodes[node].time_ns);
    let left_out = |node: usize| {
        but.iter().any(|&row| {
            (graph.steps[row].nodes.start as usize..graph.steps[row].nodes.end as usize).contains(&node)
        })
    };
    let even = graph.total(|node| {
        let time = graph.nodes[node].time_ns;
        if graph.nodes[node].compute.is_some() && !left_out(node) { like[node] } else { time }
    });
    let told = Lengths { correlation, spread, cost: 1.0 - even / whole };
    (correlation >= CORRELATION && spread > settings.slow_share && told.cost >= COST).then_some(told)
}

/// Pauses: garbage collection that is recorded, and what looks like it in forward computation.
pub(super) fn pauses(graph: &Graph, like: &[f64], blamed: &BTreeSet<u32>) -> Option<Pauses> {
    let time = |node: &Node| node.time_ns;
    let mut paused: BTreeSet<usize> = BTreeSet::new();
    let mut ranks: BTreeSet<u32> = BTreeSet::new();
    for (rank, forward, backward) in microbatches(graph, &BTreeSet::new()) {
        let times = [forward, backward].map(|row| time(&graph.nodes[row]) / like[row]);
        if times[0] > LONG && times[1] < USUAL && !blamed.contains(&graph.ranks[rank as usize].rank) {
            paused.insert(forward);
            ranks.insert(rank);
        }
    }
    let whole = graph.total(|node| time(&graph.nodes[node]));
    let mut recorded = 0;
    for node in graph.nodes.iter().filter(|node| node.pause && node.time_ns > 0.0) {
        recorded += 1;
        ranks.extend(graph.ranks_of(node));
    }
    let without = graph.total(|row| match &graph.nodes[row] {
        node if node.pause => 0.0,
        _ if paused.contains(&row) => like[row],
        node => time(node),
    });
    let (count, ranks) = (paused.len() + recorded, ranks.len());
    let told = Pauses { count, recorded, ranks, cost: 1.0 - without / whole };
    (ranks > 1 && told.cost >= COST).then_some(told)
}

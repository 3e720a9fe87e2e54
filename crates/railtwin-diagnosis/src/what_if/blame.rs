//! Who is to blame for a slow job: a component that takes longer than others that do the same, step after step, and
//! without which the job would be faster.
use std::collections::{BTreeMap, BTreeSet};

use super::Graph;
use super::alone::{SlowAlone, slow_alone};
use super::causes::{HeavyStage, Lengths, Pauses, heavy_stage, lengths, pauses};
use super::graph::Node;
use super::long_steps::{self, LongStep, long_steps};
use super::network::{SlowGroup, communication_cost, slow_groups};
use super::split::ideals;
use super::steady::{Compared, Lasting, lasting};
use crate::{Settings, robust};

/// Share of the job's time that it must cost before a component is to blame.
const COST: f64 = 0.01;

/// Ranks that compute slower than others that do the same.
#[derive(Clone, PartialEq, Debug)]
pub struct SlowRank {
    /// The ranks: one, or those of one replica and stage that cannot be told apart, as they wait for each other within
    /// computation.
    pub ranks: Vec<u32>,
    /// By how much its computation takes longer than that of its peers, as a share, in the steps where it does.
    pub excess: f64,
    /// Steps that were looked at.
    pub steps: usize,
    /// Chance that any rank looks so slow where none is.
    pub chance: f64,
    /// Share of the job's time that is gone when it computes like its peers, all others that are slow being so already.
    pub cost: f64,
    /// Whether the other stages of the same replica, which work on the same microbatches, are as fast as their peers.
    pub apart: bool,
}

/// Two ranks whose transfers take longer than those between others of the same stages.
#[derive(Clone, PartialEq, Debug)]
pub struct SlowPair {
    /// Sender and receiver.
    pub ranks: [u32; 2],
    /// Median over steps of their time over that of their peers.
    pub times: f64,
    /// Chance that any pair looks so slow where none is.
    pub chance: f64,
    /// Share of the job's time that is gone when they take what their peers do.
    pub cost: f64,
}

/// What a slow job is slow by.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Blame {
    /// Ranks that hold the job back.
    pub ranks: Vec<SlowRank>,
    /// Ranks that compute slower and cost the job next to nothing.
    pub harmless: Vec<SlowRank>,
    /// Ranks that hold the job back by what they do alone, such as the optimizer.
    pub alone: Vec<SlowAlone>,
    /// Replicas all of whose stages are slow alike, with the share: their data or their host.
    pub replicas: Vec<(u32, f64)>,
    /// Pairs whose transfers hold the job back.
    pub pairs: Vec<SlowPair>,
    /// Groups whose collectives hold the job back: sets, of which nothing tells the one.
    pub groups: Vec<SlowGroup>,
    /// Share of the job's time that is gone when all communication takes what is usual of its kind.
    pub communication: f64,
    /// The stage that computes longest, where stages weigh unlike.
    pub stage: Option<HeavyStage>,
    /// Sequences of uneven length.
    pub lengths: Option<Lengths>,
    /// Pauses in forward computation alone.
    pub pauses: Option<Pauses>,
    /// Single steps that took longer than the others.
    pub long_steps: Vec<LongStep>,
}

/// Time of each node with what its rank idled before: what a rank takes by itself.
fn own(node: &Node) -> f64 {
    node.time_ns + node.idle_ns
}

/// Looks for components to blame.
///
/// Computation of a rank in a step, with what it idled in between, is compared with the median of the ranks of other
/// replicas that work on the same part of the model, and again after division by the same ratio of the other stages of
/// its own replica, which work on the same microbatches. The lesser of the two must last ([`lasting`]).
pub fn blame(graph: &Graph, settings: &Settings) -> Blame {
    let ratios = ratios(graph);
    let (cells, replicas) = slow_cells(graph, &ratios, settings);
    let whole = graph.total(|node| own(&graph.nodes[node]));
    let mut told = Blame { replicas, ..Blame::default() };
    if whole <= 0.0 {
        return told;
    }
    let factor = |rows: &BTreeSet<u32>| -> Vec<f64> {
        let step_of = step_of(graph);
        let of = |(node, step): (&Node, usize)| match graph.ranks_of(node) {
            [row] if node.compute.is_some() && rows.contains(row) => {
                1.0 / ratios.get(row).and_then(|steps| steps.get(&step)).map_or(1.0, |&ratio| ratio.max(1.0))
            }
            _ => 1.0,
        };
        graph.nodes.iter().zip(step_of).map(of).collect()
    };
    let all: BTreeSet<u32> = cells.iter().flat_map(|(rows, ..)| rows.iter().copied()).collect();
    let mended = |rows: &BTreeSet<u32>| {
        let factor = factor(rows);
        graph.total(|node| own(&graph.nodes[node]) * factor[node])
    };
    let best = if all.is_empty() { whole } else { mended(&all) };
    for (rows, lasts, steps, apart) in &cells {
        let others: BTreeSet<u32> = all.iter().copied().filter(|row| !rows.contains(row)).collect();
        let without = if others.is_empty() { whole } else { mended(&others) };
        let slow = SlowRank {
            ranks: rows.iter().map(|&row| graph.ranks[row as usize].rank).collect(),
            excess: lasts.excess,
            steps: *steps,
            chance: lasts.chance,
            cost: (without - best) / whole,
            apart: *apart,
        };
        if slow.cost >= COST { &mut told.ranks } else { &mut told.harmless }.push(slow);
    }
    told.ranks.sort_by(|a, b| b.cost.total_cmp(&a.cost).then_with(|| a.ranks.cmp(&b.ranks)));
    told.alone = slow_alone(graph, whole, |node| own(&graph.nodes[node]), settings);
    told.pairs = slow_pairs(graph, whole, settings);
    told.groups = slow_groups(graph);
    told.communication = communication_cost(graph);
    let [_, like] = ideals(graph);
    told.stage = heavy_stage(graph);
    // What one rank takes longer is no matter of the data.
    let blamed: BTreeSet<u32> =
        told.ranks.iter().chain(&told.harmless).flat_map(|one| one.ranks.clone()).collect();
    let long = long_steps::rows(graph);
    told.long_steps = long_steps(graph, &long, &ratios, &like);
    // One step that is long as a whole is no matter of sequences, which make all steps uneven.
    told.lengths = lengths(graph, &like, &blamed, &long, settings);
    told.pauses = pauses(graph, &like, &blamed);
    told
}

/// The step, counted from 0, of each node.
fn step_of(graph: &Graph) -> Vec<usize> {
    let rows = graph.steps.iter().enumerate();
    rows.flat_map(|(row, step)| std::iter::repeat_n(row, (step.nodes.end - step.nodes.start) as usize))
        .collect()
}

/// How many times as long as its peers each rank computes: rank, step, ratio. Ranks without peers have none.
fn ratios(graph: &Graph) -> BTreeMap<u32, BTreeMap<usize, f64>> {
    // (step, chunk) -> rank -> nanoseconds
    let mut times: BTreeMap<(usize, u32), BTreeMap<u32, f64>> = BTreeMap::new();
    for (node, step) in graph.nodes.iter().zip(step_of(graph)) {
        if let ([row], true) = (graph.ranks_of(node), node.compute.is_some()) {
            *times.entry((step, node.chunk)).or_default().entry(*row).or_default() += own(node);
        }
    }
    // rank -> step -> (own, peers')
    let mut sums: BTreeMap<u32, BTreeMap<usize, (f64, f64)>> = BTreeMap::new();
    let cell = |row: u32| (graph.ranks[row as usize].replica, graph.ranks[row as usize].stage);
    for ((step, _), of_rank) in &times {
        for (&row, &time) in of_rank {
            let peers = of_rank.iter().filter(|(other, _)| cell(**other) != cell(row));
            let mut peers: Vec<f64> = peers.map(|(_, time)| *time).collect();
            if let Some(usual) = robust::median(&mut peers) {
                let sum = sums.entry(row).or_default().entry(*step).or_default();
                *sum = (sum.0 + time, sum.1 + usual);
            }
        }
    }
    let of_rank = |(row, steps): (u32, BTreeMap<usize, (f64, f64)>)| {
        let known = steps.into_iter().filter(|(_, (_, peers))| *peers > 0.0);
        (row, known.map(|(step, (own, peers))| (step, own / peers)).collect())
    };
    sums.into_iter().map(of_rank).collect()
}

type Cell = (BTreeSet<u32>, Lasting, usize, bool);

/// Ranks that are slower than their peers again and again, those of one replica and stage together; and replicas whose
/// stages all are.
fn slow_cells(
    graph: &Graph,
    ratios: &BTreeMap<u32, BTreeMap<usize, f64>>,
    settings: &Settings,
) -> (Vec<Cell>, Vec<(u32, f64)>) {
    // Replica and place are one line of stages: they work on the same microbatches.
    let mut lines: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
    for &row in ratios.keys() {
        let rank = &graph.ranks[row as usize];
        lines.entry((rank.replica, rank.place)).or_default().push(row);
    }
    let beside: BTreeMap<u32, Vec<f64>> =
        lines.values().flat_map(|rows| beside_data(graph, ratios, rows)).collect();
    let plain: BTreeMap<u32, Vec<f64>> =
        ratios.iter().map(|(&row, steps)| (row, steps.values().map(|ratio| ratio - 1.0).collect())).collect();
    let compared = |of: &BTreeMap<u32, Vec<f64>>| Compared::of(of.values().map(Vec::as_slice), settings);
    let (of_beside, of_plain) = (compared(&beside), compared(&plain));
    let mut cells: BTreeMap<(u32, u32), Cell> = BTreeMap::new();
    let mut slow_lines: BTreeMap<u32, f64> = BTreeMap::new();
    for ((replica, _), rows) in &lines {
        let mut alike = Vec::new();
        let mut any = false;
        for row in rows {
            let stage = graph.ranks[*row as usize].stage;
            alike.extend(lasting(&plain[row], of_plain, settings).map(|one| one.excess));
            let Some(lasts) = lasting(&beside[row], of_beside, settings) else { continue };
            any = true;
            let apart = rows.iter().any(|other| graph.ranks[*other as usize].stage != stage);
            let new = || (BTreeSet::new(), lasts, beside[row].len(), apart);
            let cell = cells.entry((*replica, stage)).or_insert_with(new);
            cell.0.insert(*row);
            cell.1.excess = lasts.excess.max(cell.1.excess);
            cell.1.chance = lasts.chance.min(cell.1.chance);
        }
        if !any && rows.len() > 1 && alike.len() == rows.len() {
            let share = robust::median(&mut alike).unwrap_or(0.0);
            let told = slow_lines.entry(*replica).or_default();
            *told = share.max(*told);
        }
    }
    (cells.into_values().collect(), slow_lines.into_iter().collect())
}

/// Of each rank of a line of stages, by what share it computes longer than its peers, step by step: the lesser of that and of the
/// same over the ratio of the other stages of its line, which work on the same data.
fn beside_data(
    graph: &Graph,
    ratios: &BTreeMap<u32, BTreeMap<usize, f64>>,
    rows: &[u32],
) -> Vec<(u32, Vec<f64>)> {
    let of = |row: u32| {
        let stage = graph.ranks[row as usize].stage;
        let others: Vec<u32> =
            rows.iter().copied().filter(|other| graph.ranks[*other as usize].stage != stage).collect();
        let of_data = |step: usize| {
            let ratio = |other: &u32| ratios[other].get(&step).copied();
            robust::median(&mut others.iter().filter_map(ratio).collect::<Vec<f64>>())
        };
        let lesser = |(&step, &ratio): (&usize, &f64)| ratio.min(ratio / of_data(step).unwrap_or(1.0)) - 1.0;
        (row, ratios[&row].iter().map(lesser).collect())
    };
    rows.iter().map(|&row| of(row)).collect()
}

/// Pairs of ranks whose transfers take longer than those of the same stages elsewhere, step after step.
fn slow_pairs(graph: &Graph, whole: f64, settings: &Settings) -> Vec<SlowPair> {
    // (like, step) -> group -> nanoseconds
    let mut times: BTreeMap<(u32, usize), BTreeMap<u32, f64>> = BTreeMap::new();
    let mut ends: BTreeMap<u32, [u32; 2]> = BTreeMap::new();
    for (node, step) in graph.nodes.iter().zip(step_of(graph)) {
        let (Some(_), Some(group), &[a, b]) = (node.transfer, node.group, graph.ranks_of(node)) else {
            continue;
        };
        *times.entry((node.like, step)).or_default().entry(group).or_default() += node.time_ns;
        ends.entry(group).or_insert([a, b]);
    }
    let mut ratios: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for of_group in times.values() {
        for (&group, &time) in of_group {
            let peers = of_group.iter().filter(|(other, _)| **other != group);
            let mut peers: Vec<f64> = peers.map(|(_, time)| *time).collect();
            // Of two pairs nothing says which is the usual one, but twice the time of the other is not.
            let usual = robust::median(&mut peers).filter(|time| *time > 0.0);
            ratios.entry(group).or_default().extend(usual.map(|usual| time / usual));
        }
    }
    let excesses: BTreeMap<u32, Vec<f64>> = (ratios.iter())
        .map(|(&group, of_steps)| (group, of_steps.iter().map(|ratio| ratio - 1.0).collect()))
        .collect();
    let compared = Compared::of(excesses.values().map(Vec::as_slice), settings);
    let mut pairs = Vec::new();
    for (group, mut of_steps) in ratios {
        let lasts = lasting(&excesses[&group], compared, settings);
        let (Some(lasts), Some(times)) = (lasts, robust::median(&mut of_steps)) else { continue };
        let is_of = |node: &Node| node.group == Some(group) && node.transfer.is_some();
        let mended = graph.total(|node| {
            let node = &graph.nodes[node];
            if is_of(node) { node.time_ns / times.max(1.0) } else { own(node) }
        });
        let cost = (whole - mended) / whole;
        if cost >= COST {
            let ranks = ends[&group].map(|row| graph.ranks[row as usize].rank);
            pairs.push(SlowPair { ranks, times, chance: lasts.chance, cost });
        }
    }
    pairs.sort_by(|a, b| b.cost.total_cmp(&a.cost).then(a.ranks.cmp(&b.ranks)));
    pairs
}

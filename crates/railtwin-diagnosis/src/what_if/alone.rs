//! Ranks that take longer than others for what they do by themselves and is no computation of a microbatch, as the optimizer:
//! whoever is last there holds everybody back at the next collective.
use std::collections::BTreeMap;

use super::Graph;
use super::steady::{Compared, Lasting, lasting};
use crate::{Settings, robust};

/// Share of the job's time that it must cost before a rank is to blame, and of what it takes longer by which it must end
/// later than its peers: what waits for others takes longer and ends with them.
const COST: f64 = 0.01;
const LATER: f64 = 0.5;

/// A rank that takes longer than its peers for an operation of its own.
#[derive(Clone, PartialEq, Debug)]
pub struct SlowAlone {
    /// The kind of operation, as the trace calls it.
    pub kind: String,
    /// The rank.
    pub rank: u32,
    /// How many times as long as its peers' it takes, in the steps where it does.
    pub times: f64,
    /// Steps that were looked at.
    pub steps: usize,
    /// Chance that any rank looks so slow where none is.
    pub chance: f64,
    /// Share of the job's time that is gone when it takes what its peers' does, all others that are slow being so already.
    pub cost: f64,
}

/// A rank's operations of a kind in a step.
#[derive(Clone, Default)]
struct Took {
    nodes: Vec<usize>,
    time_ns: f64,
    end_ns: u64,
}

/// What a rank takes for a kind: by how much it exceeds its peers, step by step, and what its nodes would take.
#[derive(Default)]
struct Beside {
    excess: Vec<f64>,
    mended: BTreeMap<usize, f64>,
}

/// Who is slow: kind and row of a rank, by how much, over how many steps, and what its nodes would take.
struct Slow {
    kind: u32,
    rank: u32,
    lasts: Lasting,
    steps: usize,
    mended: BTreeMap<usize, f64>,
}

/// Ranks that are slow by what they do alone, the dearest first. Peers are ranks of the same stage in other replicas.
pub(super) fn slow_alone(
    graph: &Graph,
    whole: f64,
    own: impl Fn(usize) -> f64,
    settings: &Settings,
) -> Vec<SlowAlone> {
    let all = beside_peers(graph);
    let compared = Compared::of(all.values().map(|beside| beside.excess.as_slice()), settings);
    let lasts = |((kind, rank), beside): ((u32, u32), Beside)| {
        let lasts = lasting(&beside.excess, compared, settings)?;
        Some(Slow { kind, rank, lasts, steps: beside.excess.len(), mended: beside.mended })
    };
    let slow: Vec<Slow> = all.into_iter().filter_map(lasts).collect();
    if slow.is_empty() || whole <= 0.0 {
        return Vec::new();
    }
    // What the job takes with all of them mended, or all but one.
    let total = |but: Option<usize>| {
        let others = slow.iter().enumerate().filter(|(row, _)| Some(*row) != but);
        let mended: BTreeMap<usize, f64> =
            others.flat_map(|(_, one)| one.mended.iter().map(|(&node, &time)| (node, time))).collect();
        graph.total(|node| mended.get(&node).copied().unwrap_or_else(|| own(node)))
    };
    let best = total(None);
    let of = |(row, one): (usize, &Slow)| SlowAlone {
        kind: graph.kinds.get(one.kind as usize).cloned().unwrap_or_default(),
        rank: graph.ranks[one.rank as usize].rank,
        times: 1.0 + one.lasts.excess,
        steps: one.steps,
        chance: one.lasts.chance,
        cost: (total(Some(row)) - best) / whole,
    };
    let mut told: Vec<SlowAlone> = slow.iter().enumerate().map(of).filter(|slow| slow.cost >= COST).collect();
    told.sort_by(|a, b| b.cost.total_cmp(&a.cost).then(a.rank.cmp(&b.rank)));
    told
}

/// By kind and row of a rank, beside its peers.
fn beside_peers(graph: &Graph) -> BTreeMap<(u32, u32), Beside> {
    // (kind, stage, step) -> rank
    let mut took: BTreeMap<(u32, u32, usize), BTreeMap<u32, Took>> = BTreeMap::new();
    for (row, step) in graph.steps.iter().enumerate() {
        for at in step.nodes.start as usize..step.nodes.end as usize {
            let node = &graph.nodes[at];
            let (true, &[rank]) = (node.alone, graph.ranks_of(node)) else { continue };
            let stage = graph.ranks[rank as usize].stage;
            let of_rank = took.entry((node.kind, stage, row)).or_default().entry(rank).or_default();
            of_rank.nodes.push(at);
            of_rank.time_ns += node.time_ns;
            of_rank.end_ns = of_rank.end_ns.max(node.end_ns);
        }
    }
    let mut all: BTreeMap<(u32, u32), Beside> = BTreeMap::new();
    for ((kind, ..), ranks) in &took {
        for (&rank, own) in ranks {
            let replica = |row: u32| graph.ranks[row as usize].replica;
            let peers =
                || ranks.iter().filter(|(other, _)| replica(**other) != replica(rank)).map(|(_, one)| one);
            let usual = robust::median(&mut peers().map(|one| one.time_ns).collect::<Vec<f64>>());
            let ended = robust::median(&mut peers().map(|one| one.end_ns as f64).collect::<Vec<f64>>());
            let Some((usual, ended)) = usual.zip(ended).filter(|(usual, _)| *usual > 0.0) else { continue };
            let longer = own.time_ns - usual;
            let works = own.end_ns as f64 - ended >= LATER * longer;
            let beside = all.entry((*kind, rank)).or_default();
            beside.excess.push(if works || longer < 0.0 { longer / usual } else { 0.0 });
            let share = (usual / own.time_ns).min(1.0);
            beside.mended.extend(own.nodes.iter().map(|&node| (node, share * graph.nodes[node].time_ns)));
        }
    }
    all
}

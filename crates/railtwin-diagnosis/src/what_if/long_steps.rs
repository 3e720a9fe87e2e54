//! Single steps that took longer than the others: no component that is slow, and no property of all steps.
use std::collections::{BTreeMap, BTreeSet};

use super::Graph;
use crate::robust;

/// Fewest steps of which one may stand alone, and the share of all that may.
const STEPS_MIN: usize = 8;
const FEW: f64 = 0.1;
/// Robust deviations of a step beyond which it stands alone.
const DEVIATIONS: f64 = 6.0;
/// Times as long as usual from which a step is worth a word, and a rank's computation in it is what made it long: one in a
/// hundred that is shorter costs the job less than a fifth of a hundredth.
const LONG: f64 = 1.2;

/// A step that took longer than the others.
#[derive(Clone, PartialEq, Debug)]
pub struct LongStep {
    /// Its number.
    pub step: u64,
    /// What it took, and what steps take at the median, nanoseconds.
    pub took_ns: [f64; 2],
    /// Ranks that computed longer than others that do the same in it, with how many times as long.
    pub ranks: Vec<(u32, f64)>,
    /// How many times as long as usual computation took in it, at the median.
    pub computation: f64,
}

/// Rows of steps that are longer than the others: by a fifth and beyond what steps differ by, and one in ten at most, as more
/// are no exception.
pub(super) fn rows(graph: &Graph) -> BTreeSet<usize> {
    let recorded: Vec<f64> = graph.steps.iter().map(|step| step.recorded_ns).collect();
    let few = ((FEW * recorded.len() as f64) as usize).max(1);
    let Some((usual, deviation)) =
        robust::spread(&mut recorded.clone()).filter(|_| recorded.len() >= STEPS_MIN)
    else {
        return BTreeSet::new();
    };
    let limit = (LONG * usual).max(usual + DEVIATIONS * deviation);
    let long: BTreeSet<usize> = (0..recorded.len()).filter(|&row| recorded[row] > limit).collect();
    if long.len() > few { BTreeSet::new() } else { long }
}

/// Steps that stand alone, the longest first; `ratios` is how many times as long as its peers each rank computes: rank, step.
pub(super) fn long_steps(
    graph: &Graph,
    rows: &BTreeSet<usize>,
    ratios: &BTreeMap<u32, BTreeMap<usize, f64>>,
    like: &[f64],
) -> Vec<LongStep> {
    let usual = robust::median(&mut graph.steps.iter().map(|step| step.recorded_ns).collect::<Vec<f64>>());
    let of = |&row: &usize| {
        let step = &graph.steps[row];
        let ranks = ratios.iter().filter_map(|(rank, steps)| Some((*rank, *steps.get(&row)?)));
        let slow = ranks.filter(|(_, ratio)| *ratio >= LONG);
        let nodes = step.nodes.start as usize..step.nodes.end as usize;
        let computed = nodes.filter(|&at| graph.nodes[at].compute.is_some() && like[at] > 0.0);
        let mut shares: Vec<f64> = computed.map(|at| graph.nodes[at].time_ns / like[at]).collect();
        LongStep {
            step: step.step,
            took_ns: [step.recorded_ns, usual.unwrap_or(0.0)],
            ranks: slow.map(|(row, ratio)| (graph.ranks[row as usize].rank, ratio)).collect(),
            computation: robust::median(&mut shares).unwrap_or(1.0),
        }
    };
    let mut told: Vec<LongStep> = rows.iter().map(of).collect();
    told.sort_by(|a, b| b.took_ns[0].total_cmp(&a.took_ns[0]).then(a.step.cmp(&b.step)));
    told
}

//! Steps that take longer little by little: none is much longer than those before, and many later all are.
use std::collections::BTreeMap;

use super::{Series, changes};
use crate::robust;

/// Steps of a block, whose median stands for them.
const BLOCK: usize = 24;
/// Fewest blocks that tell a drift.
const BLOCKS_MIN: usize = 8;
/// Kendall's score from which blocks rise: by chance independent ones do so once in 10^4 runs.
const SCORE: f64 = 3.8;
/// Share by which the line through the blocks must rise.
const SHARE: f64 = 0.03;

/// A run whose steps take longer little by little.
#[derive(Clone, PartialEq, Debug)]
pub struct Drift {
    /// Row of the run.
    pub series: usize,
    /// Its first and last step that were looked at, from 0.
    pub steps: [usize; 2],
    /// Medians of the first and last block.
    pub seconds: [f64; 2],
}

/// Runs that drift, between steps at which they became slower at once ([`changes`]), and among steps of the same work.
///
/// Medians of 24 steps must rise by Kendall's test (score 3.8 or more), by 3 % in all along the line of Theil and Sen.
pub fn drifts(all: &[Series]) -> Vec<Drift> {
    let told = changes(all);
    let mut found = Vec::new();
    for (row, series) in all.iter().enumerate() {
        let of_row = told.iter().filter(|one| one.series == row && one.stays).map(|one| one.from);
        let ends: Vec<usize> = of_row.chain([series.steps.len()]).collect();
        let mut from = 0;
        for end in ends {
            let mut works: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
            for at in from..end {
                works.entry(series.steps[at].work.to_bits()).or_default().push(at);
            }
            from = end;
            found.extend(works.values().filter_map(|steps| of_steps(row, series, steps)));
        }
    }
    found
}

fn of_steps(row: usize, series: &Series, steps: &[usize]) -> Option<Drift> {
    let block = |block: &[usize]| {
        let mut seconds: Vec<f64> = block.iter().map(|&at| series.steps[at].seconds).collect();
        robust::median(&mut seconds)
    };
    let blocks: Vec<f64> = steps.chunks_exact(BLOCK).filter_map(block).collect();
    let count = blocks.len();
    if count < BLOCKS_MIN {
        return None;
    }
    let (mut score, mut slopes) = (0.0, Vec::new());
    for later in 1..count {
        for earlier in 0..later {
            let rise = blocks[later] - blocks[earlier];
            score += if rise > 0.0 { 1.0 } else { -1.0 };
            slopes.push(rise / (later - earlier) as f64);
        }
    }
    let count_f = count as f64;
    let deviation = (count_f * (count_f - 1.0) * (2.0 * count_f + 5.0) / 18.0).sqrt();
    let slope = robust::median(&mut slopes)?;
    let rise = slope * (count_f - 1.0);
    let (first, last) = (blocks[0], blocks[count - 1]);
    let rises = (score - 1.0) / deviation >= SCORE && rise >= SHARE * first && last - first >= SHARE * first;
    rises.then(|| Drift { series: row, steps: [steps[0], steps[count * BLOCK - 1]], seconds: [first, last] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::{Step, slower};

    #[test]
    fn a_slow_rise_is_a_drift_and_no_step() {
        let step = |at: u32| {
            let away = f64::from(at * 7919 % 101) / 101.0 - 0.5;
            let rise = f64::from(at.saturating_sub(200).min(300)) / 300.0;
            Step { seconds: 10.0 * (1.0 + 0.2 * rise) + 0.1 * away, beside: false, work: 0.0 }
        };
        let run = |steps: &mut dyn Iterator<Item = u32>| {
            [Series { job: "job".into(), run: "a".into(), steps: steps.map(step).collect() }]
        };
        let rises = run(&mut (0..500));
        assert_eq!(slower(&rises), []);
        let told = drifts(&rises);
        assert!(matches!(told[..], [Drift { series: 0, steps: [0, 479], .. }]), "{told:?}");
        assert!((told[0].seconds[1] / told[0].seconds[0] - 1.19).abs() < 0.02, "{told:?}");
        assert_eq!(drifts(&run(&mut (0..200))), []);
        assert_eq!(drifts(&run(&mut (200..500).rev())), [], "it becomes faster");
    }
}

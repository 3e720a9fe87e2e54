//! Steps that take longer little by little: none is much longer than those before, and many later all are.
use std::collections::BTreeMap;

use super::{Series, changes};
use crate::robust;

/// Fewest steps of a block, whose median stands for them.
const BLOCK: usize = 24;
/// Fewest blocks that tell a drift.
const BLOCKS_MIN: usize = 8;
/// Chance that blocks which do not rise look as if they did, wherever the rise begins: once in so many runs.
const CHANCE: f64 = 1e-4;
/// Share by which steps must rise: that of a step change, and twice what steps of healthy runs rise by between first
/// and last (1.6 % at most of 24 measured ones).
const SHARE: f64 = 0.03;
/// Robust deviations of a block beyond which its steps stray.
const CLIP: f64 = 3.0;
/// Fewest blocks within a rise, its first included: two could be a level that changed.
const RISE_MIN: usize = 4;

/// A run whose steps take longer little by little.
#[derive(Clone, PartialEq, Debug)]
pub struct Drift {
    /// Row of the run.
    pub series: usize,
    /// Its first and last step that were looked at, from 0.
    pub steps: [usize; 2],
    /// The step from which on it rises: the first of its block.
    pub from: usize,
    /// What a step took before it rose, and what it takes: medians of the blocks before and of the last block.
    pub seconds: [f64; 2],
}

/// Runs that drift, between steps at which they became slower at once ([`changes`]), and among steps of the same work.
///
/// Medians of blocks of 24 steps or a few more are fitted by a level that rises along a line from one of the blocks on, whichever
/// fits best (least squares). The rise must be 3 % or more, by the line and from the blocks before it to the last, and beyond
/// chance: Student's t of the slope, times the blocks it may begin at, below 1 in 10,000. The blocks' means without what strays
/// must tell the same.
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

/// A level, and a line that rises from it.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Rise {
    /// The block at which it begins.
    from: usize,
    level: f64,
    /// By how much, from one block to the next.
    slope: f64,
    /// Student's t of the slope.
    t: f64,
}

/// The line that fits best, of those that begin at any block but the last ones.
fn best_rise(blocks: &[f64]) -> Option<Rise> {
    let count = blocks.len() as f64;
    let mean = blocks.iter().sum::<f64>() / count;
    let flat: f64 = blocks.iter().map(|block| (block - mean) * (block - mean)).sum();
    let fit = |from: usize| {
        let run = |at: usize| at.saturating_sub(from) as f64;
        let middle = (0..blocks.len()).map(run).sum::<f64>() / count;
        let along = |at: usize| run(at) - middle;
        let square: f64 = (0..blocks.len()).map(|at| along(at) * along(at)).sum();
        let slope =
            blocks.iter().enumerate().map(|(at, block)| along(at) * (block - mean)).sum::<f64>() / square;
        // Without noise nothing is left, and rounding may leave less.
        let left = (flat - slope * slope * square).max(f64::EPSILON * mean * mean);
        // Level, slope and beginning are fitted.
        let t = slope * square.sqrt() / (left / (count - 3.0)).sqrt();
        (left, Rise { from, level: mean - slope * middle, slope, t })
    };
    let begins = 0..=blocks.len().checked_sub(RISE_MIN)?;
    begins.map(fit).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, rise)| rise)
}

/// The chance that Student's t of so many degrees of freedom is greater (Abramowitz and Stegun, 26.7.3 and 26.7.4).
pub(crate) fn student_above(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let odd = freedom % 2 == 1;
    let (mut term, mut sum) = match (odd, freedom) {
        (true, 1) => (0.0, 0.0),
        (true, _) => (cosine, cosine),
        (false, _) => (1.0, 1.0),
    };
    for above in (if odd { 3..freedom } else { 2..freedom }).step_by(2) {
        term *= cosine * cosine * (above - 1) as f64 / above as f64;
        sum += term;
    }
    let within = if odd { std::f64::consts::FRAC_2_PI * (angle + sine * sum) } else { sine * sum };
    ((1.0 - within) / 2.0).max(0.0)
}

fn of_steps(row: usize, series: &Series, steps: &[usize]) -> Option<Drift> {
    let count = steps.len() / BLOCK;
    if count < BLOCKS_MIN {
        return None;
    }
    // The last steps tell most of a drift: blocks share what is left over, so that none is left out.
    let start = |block: usize| steps.len() * block / count;
    let seconds = |block: usize| -> Vec<f64> {
        let of = &steps[start(block)..start(block + 1)];
        of.iter().map(|&at| series.steps[at].seconds).collect()
    };
    let medians: Vec<f64> = (0..count).filter_map(|block| robust::median(&mut seconds(block))).collect();
    let means: Vec<f64> = (0..count).map(|block| clipped_mean(&seconds(block))).collect::<Option<_>>()?;
    let [(from, seconds), _] = [rise_of(&medians)?, rise_of(&means)?];
    let ends = [steps[0], steps[steps.len() - 1]];
    Some(Drift { series: row, steps: ends, from: steps[start(from)], seconds })
}

/// The mean of steps, of which those that stray are taken for as far away as [`CLIP`] deviations: where steps are of several
/// lengths, their median leaps from one to the other and the mean does not; where one length is rare, it is the other way
/// round.
fn clipped_mean(seconds: &[f64]) -> Option<f64> {
    let (center, deviation) = robust::spread(&mut seconds.to_vec())?;
    // None of times without sense.
    let most = Some(CLIP * deviation).filter(|most| most.is_finite())?;
    Some(
        center
            + seconds.iter().map(|one| (one - center).clamp(-most, most)).sum::<f64>() / seconds.len() as f64,
    )
}

/// The block from which on blocks rise, with what they took before and what the last takes; none where they do not.
fn rise_of(blocks: &[f64]) -> Option<(usize, [f64; 2])> {
    let count = blocks.len();
    let rise = best_rise(blocks)?;
    let chance = student_above(rise.t, count - 3) * (count + 1 - RISE_MIN) as f64;
    let rises = rise.slope * (count - 1 - rise.from) as f64;
    let was = robust::median(&mut blocks[..=rise.from].to_vec())?;
    let is = blocks[count - 1];
    // A value that is no number compares with nothing.
    let told = chance < CHANCE && rises >= SHARE * rise.level && is - was >= SHARE * was;
    told.then_some((rise.from, [was, is]))
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
        assert!(matches!(told[..], [Drift { series: 0, steps: [0, 499], .. }]), "{told:?}");
        assert!((told[0].seconds[1] / told[0].seconds[0] - 1.19).abs() < 0.02, "{told:?}");
        assert!((150..=225).contains(&told[0].from), "{told:?}");
        assert_eq!(drifts(&run(&mut (0..200))), []);
        assert_eq!(drifts(&run(&mut (200..500).rev())), [], "it becomes faster");
    }

    #[test]
    fn chances_of_students_t_are_those_of_the_tables() {
        // Abramowitz and Stegun, table 26.10.
        for (t, freedom, chance) in
            [(6.314, 1, 0.05), (2.920, 2, 0.05), (4.541, 3, 0.01), (5.408, 7, 0.0005), (5.041, 8, 0.0005)]
        {
            let told = student_above(t, freedom);
            assert!((told / chance - 1.0).abs() < 2e-3, "{t} {freedom}: {told}");
        }
        assert!((student_above(0.0, 5) - 0.5).abs() < 1e-12 && student_above(-3.0, 4) > 0.5);
    }
}

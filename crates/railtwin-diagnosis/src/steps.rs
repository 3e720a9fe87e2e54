//! Jobs of which nothing is known but how long each step took: whether they became slower for good.
//!
//! Single steps stray: of healthy runs of thousands of GPUs one in forty takes 2 % longer or more, some twice as long, most
//! of them beside evaluation and checkpoints. A part that is slower makes all steps longer alike. So three steps in a row
//! must exceed what is usual, and two of them must agree.
use crate::robust;

/// Share of a step by which it must exceed what is usual: beyond four deviations of healthy runs (0.0063 at most of 24
/// measured ones), and below what 5 % of one pipeline stage add.
const SHARE: f64 = 0.03;
/// Robust deviations of a run by which a step must exceed what is usual: chance does that three times in a row once in
/// 10^8 steps.
const DEVIATIONS: f64 = 3.0;
/// Steps in a row.
const IN_A_ROW: usize = 3;
/// Steps that tell what is usual: the last ones that were well.
const WINDOW: usize = 32;
/// Fewest of them.
const USUAL_MIN: usize = 8;
/// A step this many times as long as usual is a stall. Steps after it may be its aftermath.
const STALL: f64 = 1.3;
/// Share by which levels of runs of the same job differ before it is worth a word.
const LEVELS: f64 = 0.01;

/// One step of training.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// How long it took.
    pub seconds: f64,
    /// Whether it is the first or last of a block: beside an evaluation, a checkpoint, the start or the end.
    pub beside: bool,
}

/// The steps of one run, in their order.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Series {
    /// What runs of the same job have in common.
    pub job: String,
    /// Which run of it.
    pub run: String,
    /// Its steps.
    pub steps: Vec<Step>,
}

impl Series {
    fn median_s(&self) -> Option<f64> {
        robust::median(&mut self.steps.iter().map(|step| step.seconds).collect::<Vec<f64>>())
    }
}

/// A run that became slower.
#[derive(Clone, PartialEq, Debug)]
pub struct Slower {
    /// Row of the run.
    pub series: usize,
    /// The first step that is slower, from 0.
    pub from: usize,
    /// The step after which it is told.
    pub told: usize,
    /// What a step took, and what it takes.
    pub seconds: [f64; 2],
    /// Whether what was usual is that of other runs, as this one had none of its own yet.
    pub of_others: bool,
}

/// A run whose level differs from that of the other runs of its job.
#[derive(Clone, PartialEq, Debug)]
pub struct Level {
    /// Row of the run.
    pub series: usize,
    /// Median of its steps over the median of the other runs' medians, less 1.
    pub share: f64,
}

/// Median of the levels of other runs of the same job.
fn others_s(all: &[Series], row: usize) -> Option<f64> {
    let others = all.iter().enumerate().filter(|(other, one)| *other != row && one.job == all[row].job);
    robust::median(&mut others.filter_map(|(_, one)| one.median_s()).collect::<Vec<f64>>())
}

/// Runs that became slower, each time that they did.
///
/// What is usual is the median of the last 32 steps that were well, or before there are eight the level of other runs of
/// the same job. Three steps in a row must exceed it by 3 % and three robust deviations of these steps, and the two lesser
/// of them agree as closely; all three where a stall beside the end of a block is among them, whose aftermath looks alike.
pub fn slower(all: &[Series]) -> Vec<Slower> {
    let mut found = Vec::new();
    for (row, series) in all.iter().enumerate() {
        let steps = &series.steps;
        let mut others = others_s(all, row);
        let mut own: Vec<f64> = Vec::new();
        let mut beyond: Vec<usize> = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            let of_others = own.len() < USUAL_MIN;
            let usual =
                if of_others { others.map(|level| (level, 0.0)) } else { robust::spread(&mut own.clone()) };
            let Some((usual, deviation)) = usual else {
                own.push(step.seconds);
                continue;
            };
            let limit = (SHARE * usual).max(DEVIATIONS * deviation);
            if step.seconds <= usual + limit {
                beyond.clear();
                own.push(step.seconds);
                own.drain(..own.len().saturating_sub(WINDOW));
                continue;
            }
            beyond.push(at);
            let Some(last) = beyond.len().checked_sub(IN_A_ROW).map(|from| &beyond[from..]) else { continue };
            let mut took: Vec<f64> = last.iter().map(|&at| steps[at].seconds).collect();
            took.sort_by(f64::total_cmp);
            let beside = last.iter().any(|&at| steps[at].beside || at + 1 == steps.len());
            let most = if beside && took[IN_A_ROW - 1] > STALL * usual { IN_A_ROW - 1 } else { 1 };
            if took[most] - took[0] <= limit {
                let is = f64::midpoint(took[0], took[1]);
                let from = last[0];
                found.push(Slower { series: row, from, told: at, seconds: [usual, is], of_others });
                // From here on this is usual.
                own = took;
                beyond.clear();
                others = None;
            }
        }
    }
    found
}

/// Runs whose levels differ by 1 % or more from those of the other runs of their job.
pub fn levels(all: &[Series]) -> Vec<Level> {
    let share = |row: usize| Some(all[row].median_s()? / others_s(all, row)? - 1.0);
    (0..all.len())
        .filter_map(|row| Some(Level { series: row, share: share(row)? }))
        .filter(|level| level.share >= LEVELS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn series(run: &str, seconds: impl IntoIterator<Item = f64>) -> Series {
        let step = |seconds| Step { seconds, beside: false };
        Series { job: "job".into(), run: run.into(), steps: seconds.into_iter().map(step).collect() }
    }

    fn told(all: &[Series]) -> Vec<(usize, usize)> {
        slower(all).iter().map(|one| (one.from, one.told)).collect()
    }

    #[test]
    fn a_level_that_rises_is_told_in_three_steps_and_stalls_are_not() {
        let rises = (0..60).map(|step| if step < 40 { 10.0 } else { 10.5 });
        assert_eq!(told(&[series("a", rises)]), [(40, 42)]);
        let stalls = (0..60).map(|step| if step % 7 < 2 { 10.0 + f64::from(step) } else { 10.0 });
        assert_eq!(told(&[series("a", stalls)]), []);
        let unlike =
            (0..60).map(|step| if (40..43).contains(&step) { 10.0 + f64::from(step - 39) } else { 10.0 });
        assert_eq!(told(&[series("a", unlike)]), []);
    }

    #[test]
    fn other_runs_tell_what_is_usual_and_levels_that_differ() {
        let well = || series("b", [10.0; 40]);
        assert_eq!(told(&[series("a", [10.5; 40]), well()]), [(0, 2)]);
        let higher = [series("a", [10.12; 40]), well(), well()];
        assert_eq!(told(&higher), []);
        assert!(matches!(levels(&higher)[..], [Level { series: 0, share }] if (share - 0.012).abs() < 1e-9));
        assert_eq!(told(&[series("a", [10.5; 40])]), [], "alone it has always been so");
    }

    proptest! {
        #[test]
        fn noise_tells_nothing_and_no_value_breaks_it(
            noise in prop::collection::vec(-0.01..0.01_f64, 0..200), any in prop::collection::vec(any::<f64>(), 0..40),
        ) {
            prop_assert_eq!(told(&[series("a", noise.into_iter().map(|one| 10.0 * (1.0 + one)))]), []);
            let _ = told(&[series("a", any)]);
        }
    }
}

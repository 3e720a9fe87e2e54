//! Jobs of which nothing is known but how long each step took: whether they became slower for good.
//!
//! * [`shift`]: steps that take longer from one step on; [`drift`]: steps that take longer little by little.
//! * [`sensitivity`]: the least slowdown that a run shows within three steps.
pub mod drift;
mod sensitivity;
pub mod shift;

use crate::robust;

pub use drift::{Drift, drifts};
pub use sensitivity::{Sensitivity, sensitivity};
pub use shift::{Slower, changes, slower};

/// Share by which levels of runs of the same job differ before it is worth a word.
const LEVELS: f64 = 0.01;
/// Runs whose levels differ by more than this factor are not runs of one job, or not in one unit.
const ALIKE: f64 = 2.0;

/// One step of training.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// How long it took.
    pub seconds: f64,
    /// Whether it is the first or last of a block: beside an evaluation, a checkpoint, the start or the end.
    pub beside: bool,
    /// What it worked on, such as its global batch size: steps are compared with those of the same work. 0 where
    /// nothing tells it.
    pub work: f64,
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
        self.spread_s().map(|(median, _)| median)
    }

    /// Median and robust deviation of a step.
    fn spread_s(&self) -> Option<(f64, f64)> {
        robust::spread(&mut self.steps.iter().map(|step| step.seconds).collect::<Vec<f64>>())
    }
}

/// A run whose level differs from that of the other runs of its job.
#[derive(Clone, PartialEq, Debug)]
pub struct Level {
    /// Row of the run.
    pub series: usize,
    /// Median of its steps over the median of the other runs' medians, less 1.
    pub share: f64,
}

/// Medians, over the other runs of the same job that are comparable (of the same work and level), of their level and of
/// the robust deviation of their steps, both in seconds.
fn others_s(all: &[Series], row: usize) -> Option<[f64; 2]> {
    let own = all[row].median_s()?;
    let others = all.iter().enumerate().filter(|(other, one)| *other != row && one.job == all[row].job);
    let spreads = others.filter_map(|(_, one)| one.spread_s());
    let (mut levels, mut deviations): (Vec<f64>, Vec<f64>) =
        spreads.filter(|(level, _)| is_alike(own, *level)).unzip();
    Some([robust::median(&mut levels)?, robust::median(&mut deviations)?])
}

fn is_alike(own: f64, other: f64) -> bool {
    own <= ALIKE * other && other <= ALIKE * own
}

/// Rows of runs whose level is more than twice, or less than half, that of the other runs named as of their job: another
/// job, or another unit of time. They are compared with nobody.
pub fn strangers(all: &[Series]) -> Vec<usize> {
    let is_strange = |&row: &usize| {
        let others = all.iter().enumerate().filter(|(other, one)| *other != row && one.job == all[row].job);
        let mut levels: Vec<f64> = others.filter_map(|(_, one)| one.median_s()).collect();
        let middle = robust::median(&mut levels);
        all[row].median_s().zip(middle).is_some_and(|(own, middle)| !is_alike(own, middle))
    };
    (0..all.len()).filter(is_strange).collect()
}

/// Runs whose levels differ by 1 % or more from those of the other runs of their job.
pub fn levels(all: &[Series]) -> Vec<Level> {
    let share = |row: usize| Some(all[row].median_s()? / others_s(all, row)?[0] - 1.0);
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
        let step = |seconds| Step { seconds, beside: false, work: 0.0 };
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
            let _ = told(&[series("a", any.clone())]);
            let many = series("a", any.into_iter().cycle().take(240));
            let _ = drifts(&[many]);
        }
    }
}

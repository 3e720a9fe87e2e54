//! Steps of which each rank of a job tells: one for all of them.
use std::collections::BTreeMap;

use super::{StepSeries, StepTime};

/// The steps of a job of which its ranks tell: each takes as long as at the rank at which it takes longest, as the next begins
/// when all have ended. Steps are those of the same number where all have one, and numbers that go back with their place.
pub(super) fn of_all(ranks: Vec<StepSeries>) -> Option<StepSeries> {
    let mut ranks = ranks.into_iter();
    let first = ranks.next()?;
    let others: Vec<StepSeries> = ranks.collect();
    if others.is_empty() {
        return Some(first);
    }
    let mut steps: BTreeMap<(usize, u64), StepTime> = BTreeMap::new();
    for series in std::iter::once(&first).chain(&others) {
        // A number that goes back begins another stretch of steps.
        let (mut stretch, mut before) = (0, None);
        for (at, step) in (0..).zip(&series.steps) {
            let number = step.number.unwrap_or(at);
            stretch += usize::from(before.is_some_and(|before| number < before));
            before = Some(number);
            let longest = steps.entry((stretch, number)).or_insert(*step);
            longest.seconds = longest.seconds.max(step.seconds);
            longest.beside |= step.beside;
        }
    }
    Some(StepSeries { steps: steps.into_values().collect(), ..first })
}

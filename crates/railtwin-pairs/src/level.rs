//! Levels of classes of tests, and what each result lacks beside its level.
//!
//! The level of a class is the faster of two modes, because a fault may slow most of its results. Sizes are made equal by
//! the median of the results at that mode; a result is then the lower of its medians over the smallest and the largest
//! third of sizes, as a natural logarithm.
use railtwin_units::robust;

use crate::input::{TrialOutcome, TrialSet};
use crate::layout::Layout;

/// Healthy results lie closer together than this, as a natural logarithm; a wider gap parts two modes.
const GAP: f64 = 0.07;
/// Robust deviations of the upper mode that a gap is wide, at least.
const GAP_DEVIATIONS: f64 = 4.0;
/// Part of the results that the upper mode has, at least.
const UPPER_SHARE: f64 = 0.12;
/// The same where all tests have one host: if that is slow, so are all, by more or less.
const UPPER_SHARE_OF_STAR: f64 = 0.5;
/// Distance of two modes without a gap between them: in deviations within them, and as a natural logarithm.
const SPLIT_DEVIATIONS: f64 = 4.2;
const SPLIT: f64 = 0.1;
/// Noise that is expected before any result is seen, and the number of results that it counts as, for few and many.
const NOISE: f64 = 0.02;
const NOISE_COUNTS: [f64; 2] = [3.0, 0.3];
const MANY: usize = 30;
/// Least noise.
const NOISE_MIN: f64 = 0.003;
/// Fewest results of a class that are compared.
pub(crate) const RESULTS_MIN: usize = 3;
/// Largest cost of a hop over the spine, as a natural logarithm. Healthy clusters of H100 have 0.04 to 0.12.
pub(crate) const HOP_MAX: f64 = 0.14;

/// Results of one test as logarithms by size; empty where it died.
#[derive(Clone, Debug)]
pub(crate) struct Curve(pub Vec<(u64, f64)>);

/// Every result beside the level of its class. All vectors are by test of the layout.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    /// Natural logarithm of the result over its level; none where the test died or nothing compares with it.
    pub lack: Vec<Option<f64>>,
    /// Medians over the smallest and the largest third of sizes.
    pub ends: Vec<Option<[f64; 2]>>,
    /// Standard deviation of healthy results like this one.
    pub noise: Vec<f64>,
    /// Cost of a hop over the spine in the class, as a natural logarithm.
    pub hop: Vec<f64>,
}

/// Curves of all tests.
pub(crate) fn curves(set: &TrialSet, layout: &Layout) -> Vec<Curve> {
    let curve = |trial: usize| match &set.trials[trial].outcome {
        TrialOutcome::Died(_) => Curve(Vec::new()),
        TrialOutcome::Sizes(rows) => {
            let good = rows.iter().filter(|row| row.1 > 0.0 && row.1.is_finite());
            let mut rows: Vec<(u64, f64)> = good.map(|row| (row.0, row.1.ln())).collect();
            rows.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            Curve(rows)
        }
    };
    layout.items.iter().map(|item| curve(item.trial)).collect()
}

/// The lowest value of the upper mode, which has at least a `share` of the values: of all values where there are not two.
pub(crate) fn upper_mode(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let count = sorted.len();
    let Some(&lowest) = sorted.last() else { return f64::NEG_INFINITY };
    let first = 2.max((share * count as f64).ceil() as usize);
    for above in first..count {
        let gap = sorted[above - 1] - sorted[above];
        if gap > GAP {
            let (_, deviation) = robust::spread(&mut sorted[..above].to_vec()).unwrap_or((0.0, 0.0));
            if gap > GAP_DEVIATIONS * deviation {
                return sorted[above - 1];
            }
        }
    }
    split(&sorted, first).map_or(lowest, |above| sorted[above - 1])
}

/// How many of some values, from the highest on, are the upper one of two modes that touch.
fn split(sorted: &[f64], first: usize) -> Option<usize> {
    let count = sorted.len();
    let sums = |of: &dyn Fn(f64) -> f64| {
        let mut sum = 0.0;
        std::iter::once(0.0)
            .chain(sorted.iter().map(|value| {
                sum += of(*value);
                sum
            }))
            .collect::<Vec<f64>>()
    };
    let (plain, squares) = (sums(&|value| value), sums(&|value| value * value));
    let within = |from: usize, to: usize| {
        let sum = plain[to] - plain[from];
        squares[to] - squares[from] - sum * sum / (to - from) as f64
    };
    let least = first.max(4);
    let best = (least..count.saturating_sub(3)).min_by(|a, b| {
        let cost = |above: usize| within(0, above) + within(above, count);
        cost(*a).total_cmp(&cost(*b))
    })?;
    let mean = |from: usize, to: usize| (plain[to] - plain[from]) / (to - from) as f64;
    let distance = mean(0, best) - mean(best, count);
    let deviation = ((within(0, best) + within(best, count)).max(0.0) / count as f64).sqrt();
    (distance > SPLIT && distance > SPLIT_DEVIATIONS * deviation).then_some(best)
}

/// Median over each size of the class of the results for which `is_in` holds.
fn by_size(curves: &[Curve], own: &[usize], shift: &dyn Fn(usize) -> f64) -> Vec<(u64, f64)> {
    let mut rows: Vec<(u64, f64)> =
        own.iter().flat_map(|&at| curves[at].0.iter().map(move |row| (row.0, row.1 + shift(at)))).collect();
    rows.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let of_size = |rows: &[(u64, f64)]| {
        let median = robust::median(&mut rows.iter().map(|row| row.1).collect::<Vec<f64>>());
        (rows[0].0, median.unwrap_or(0.0))
    };
    rows.chunk_by(|a, b| a.0 == b.0).map(of_size).collect()
}

/// A result beside levels by size: the medians over the smallest and the largest third of sizes.
fn beside(curve: &Curve, levels: &[(u64, f64)], shift: f64) -> Option<[f64; 2]> {
    let rests: Vec<f64> = curve
        .0
        .iter()
        .filter_map(|row| {
            let level = levels.binary_search_by_key(&row.0, |level| level.0).ok()?;
            Some(row.1 + shift - levels[level].1)
        })
        .collect();
    let third = rests.len().div_ceil(3);
    let small = robust::median(&mut rests[..third].to_vec())?;
    let large = robust::median(&mut rests[rests.len() - third..].to_vec())?;
    Some([small, large])
}

/// Mean logarithm of each result beside the median of its class at its size, by test; it finds modes and no levels.
pub(crate) fn rough(curves: &[Curve], own: &[usize]) -> Vec<f64> {
    let levels = by_size(curves, own, &|_| 0.0);
    let mean = |at: &usize| {
        let rests: Vec<f64> = curves[*at]
            .0
            .iter()
            .filter_map(|row| {
                let level = levels.binary_search_by_key(&row.0, |level| level.0).ok()?;
                Some(row.1 - levels[level].1)
            })
            .collect();
        rests.iter().sum::<f64>() / rests.len().max(1) as f64
    };
    own.iter().map(mean).collect()
}

/// What the results of a class that cross the spine lack beside those that stay on a leaf: 0 where that is not known.
fn hop(values: &[(usize, f64)], is_local: &[bool]) -> f64 {
    let median = |local: bool| {
        let own: Vec<f64> =
            values.iter().filter(|(at, _)| is_local[*at] == local).map(|(_, value)| *value).collect();
        let least = upper_mode(&own, UPPER_SHARE);
        let mut upper: Vec<f64> = own.into_iter().filter(|value| *value >= least).collect();
        (upper.len() >= 2).then(|| robust::median(&mut upper)).flatten()
    };
    match (median(true), median(false)) {
        (Some(local), Some(other)) if (0.0..=HOP_MAX).contains(&(local - other)) => local - other,
        _ => 0.0,
    }
}

/// Results of all classes beside their levels. `is_slowed` are tests that known causes slow, which no level is taken from
/// where others are left; `is_local` those of which all flows stay on one leaf.
pub(crate) fn levels(layout: &Layout, curves: &[Curve], is_slowed: &[bool], is_local: &[bool]) -> Levels {
    let count = layout.items.len();
    let mut found = Levels {
        lack: vec![None; count],
        ends: vec![None; count],
        noise: vec![NOISE; count],
        hop: vec![0.0; count],
    };
    let mut of_class: Vec<Vec<usize>> = vec![Vec::new(); layout.classes.len()];
    for (at, item) in layout.items.iter().enumerate() {
        if !curves[at].0.is_empty() {
            of_class[item.class].push(at);
        }
    }
    for own in of_class.into_iter().filter(|own| own.len() >= RESULTS_MIN) {
        let share = if layout.have_one_host(&own) { UPPER_SHARE_OF_STAR } else { UPPER_SHARE };
        of_one(&own, share, (curves, is_slowed, is_local), &mut found);
    }
    found
}

fn of_one(
    own: &[usize],
    share: f64,
    (curves, is_slowed, is_local): (&[Curve], &[bool], &[bool]),
    found: &mut Levels,
) {
    let values = rough(curves, own);
    let free: Vec<(usize, f64)> = own.iter().copied().zip(values).filter(|(at, _)| !is_slowed[*at]).collect();
    let free = if free.len() < 2 { own.iter().copied().zip(rough(curves, own)).collect() } else { free };
    let hop = hop(&free, is_local);
    let shift = |at: usize| if is_local[at] { 0.0 } else { hop };
    let shifted: Vec<f64> = free.iter().map(|(at, value)| value + shift(*at)).collect();
    let least = upper_mode(&shifted, share);
    let usual: Vec<usize> =
        free.iter().zip(&shifted).filter(|(_, value)| **value >= least).map(|((at, _), _)| *at).collect();
    let has_gap = usual.len() < free.len();
    let sizes = by_size(curves, &usual, &shift);
    for &at in own {
        found.ends[at] = beside(&curves[at], &sizes, shift(at));
        found.lack[at] = found.ends[at].map(|[small, large]| small.min(large));
    }
    // The lower of two medians is below the level by chance.
    let middle =
        |of: &[usize]| robust::spread(&mut of.iter().filter_map(|at| found.lack[*at]).collect::<Vec<_>>());
    let (center, all) = middle(&usual).unwrap_or((0.0, NOISE));
    let noise_of = |local: bool| {
        let alike: Vec<usize> = usual.iter().copied().filter(|at| is_local[*at] == local).collect();
        let (deviation, count) = match middle(&alike) {
            Some((_, deviation)) if alike.len() >= 4 => (deviation, alike.len()),
            _ => (all, usual.len()),
        };
        let prior = NOISE_COUNTS[usize::from(count >= MANY)];
        let count = count as f64;
        let noise = ((count * deviation * deviation + prior * NOISE * NOISE) / (count + prior)).sqrt();
        // Two or three results may lie close together by chance.
        if has_gap && count < 5.0 { noise.max(NOISE) } else { noise.max(NOISE_MIN) }
    };
    let noise = [noise_of(false), noise_of(true)];
    for &at in own {
        found.lack[at] = found.lack[at].map(|lack| lack - center);
        found.noise[at] = noise[usize::from(is_local[at])];
        found.hop[at] = hop;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upper_mode_is_all_values_or_those_above_a_gap() {
        assert_eq!(upper_mode(&[0.0, 0.01, -0.01, 0.02], 0.12), -0.01);
        assert_eq!(upper_mode(&[0.0, 0.01, -0.4, -0.5, -0.45], 0.12), 0.0);
        // One value above is no mode.
        assert_eq!(upper_mode(&[0.4, 0.01, 0.0, 0.02, 0.0], 0.12), 0.0);
    }

    #[test]
    fn modes_that_touch_are_told_where_they_lie_far_apart() {
        let near = |center: f64| (0..40).map(move |at| center + (f64::from(at) - 19.5) * 0.0025);
        let both: Vec<f64> = near(0.0).chain(near(-0.15)).collect();
        assert!(upper_mode(&both, 0.12) > -0.06);
        let one: Vec<f64> = near(0.0).collect();
        assert!(upper_mode(&one, 0.12) < -0.04);
    }
}

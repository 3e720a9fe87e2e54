//! Steps that take longer from one step on.
//!
//! Single steps stray: of healthy runs of thousands of GPUs one in forty takes 2 % longer or more, some twice as long, most
//! of them beside evaluation and checkpoints. A part that is slower makes all steps longer alike. So three steps in a row
//! must exceed what is usual, and two of them must agree; and where later steps are known, these must stay longer. Steps of
//! two lengths, as of uneven sequences, do that by themselves: like steps before tell how many in a row mean nothing.
use std::collections::{BTreeMap, BTreeSet};

use super::{Series, Step, others_s};
use crate::robust;

/// Share of a step by which it must exceed what is usual: beyond four deviations of healthy runs (0.0063 at most of 24
/// measured ones), and below what 5 % of one pipeline stage add.
const SHARE: f64 = 0.03;
/// Robust deviations of a run by which a step must exceed what is usual. Independent normal steps do that three times in
/// a row once in 3 10^9; what remains of false alarms is due to noise that lasts, and to deviations of few steps.
const DEVIATIONS: f64 = 3.2;
/// Deviations of few steps are uncertain: those of `n` independent ones count as `1 + FEW / n` times as large, where no
/// other run of the job tells how far its steps stray.
const FEW: f64 = 2.0;
/// Steps in a row.
pub(super) const IN_A_ROW: usize = 3;
/// Steps whose median tells what is usual: the last ones that were well.
pub const WINDOW: usize = 32;
/// Steps whose deviation tells how far steps stray: many, as noise that lasts shows in many steps only.
pub(super) const LONG: usize = 256;
/// Fewest steps that tell what is usual.
pub(super) const USUAL_MIN: usize = 8;
/// Most later steps that tell whether steps stay longer, and the share of them that must: noise that lasts for some steps
/// goes back in between, and so do steps of two lengths of which the shorter is one in five. A stall goes back nowhere.
const LATER: usize = 2 * WINDOW;
const STAY: f64 = 0.9;
/// A step this many times as long as usual is a stall. Steps after it may be its aftermath.
pub(super) const STALL: f64 = 1.3;
/// Steps that take longer by more than this multiple of what passed before are another matter.
const LIKE: f64 = 1.5;
/// Noise that lasts counts as lasting no longer than this correlation of neighbours says: a level that changed in the past
/// looks like noise that lasts for ever.
const LASTS: f64 = 0.9;

/// How likely by chance at any step a row of steps that take longer may be, judged by like steps before: of a run that still
/// goes on, what a look at it may tell by mistake. Later steps drop nearly all of these.
pub(super) const RARE: f64 = 1e-3;
/// Fewest like steps before that say that steps of that length come by themselves: first steps of a run, and a stall now
/// and then, do not.
const LIKE_MIN: usize = 4;
/// Steps that tell how lasting noise is count beside so many independent ones.
const PRIOR: f64 = 16.0;
/// Rows that are looked at: as long as noise asks for.
const ROWS: [usize; 10] = [IN_A_ROW, 4, 6, 8, 12, 16, 24, 32, 48, 64];

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
    /// Whether steps stay longer, as far as later ones are known.
    pub stays: bool,
}

/// What is usual: the median, and by how much a step must exceed it; `others` is how far steps of other runs of the job
/// stray.
pub(super) fn usual(own: &[f64], others: Option<f64>) -> Option<[f64; 2]> {
    let recent = own.get(own.len().saturating_sub(WINDOW)..)?;
    let (center, near) = robust::spread(&mut recent.to_vec())?;
    let (_, wide) = robust::spread(&mut own.to_vec())?;
    let deviation = near.max(wide);
    // Noise that lasts r from step to step tells as much as (1 - r) / (1 + r) of as many independent steps.
    let lasts = lasting(own, deviation).clamp(0.0, LASTS);
    let independent = own.len() as f64 * (1.0 - lasts) / (1.0 + lasts);
    let deviation = match others {
        Some(others) => deviation.max(others),
        None => deviation * (1.0 + FEW / independent),
    };
    // So do three steps in a row: they tell as much as so many independent ones.
    let in_a_row = IN_A_ROW as f64;
    let told = in_a_row / (1.0 + (in_a_row - 1.0) * (1.0 - lasts));
    Some([center, (SHARE * center).max(DEVIATIONS * told.sqrt() * deviation)])
}

/// How likely `row` steps in a row are within `like` where nothing changed, judged by steps before: how often they were, and
/// how often one that was is followed by another. It asks nothing of how steps are distributed, so steps of two lengths and
/// noise that lasts for some steps are no change.
pub(super) fn chance(before: &[f64], like: [f64; 2], row: usize) -> f64 {
    let is_like = |seconds: &f64| (like[0]..=like[1]).contains(seconds);
    let count = before.iter().filter(|seconds| is_like(seconds)).count();
    if count < LIKE_MIN {
        return 0.0;
    }
    let both = before.windows(2).filter(|two| two.iter().all(is_like)).count() as f64;
    let often = count as f64 / before.len() as f64;
    let again = (both + PRIOR * often) / (count as f64 + PRIOR);
    often * again.powi(row as i32 - 1)
}

/// Correlation of steps with the next ones. Steps beyond three deviations count as three.
fn lasting(own: &[f64], deviation: f64) -> f64 {
    let Some(center) = robust::median(&mut own.to_vec()) else { return 0.0 };
    let most = 3.0 * deviation;
    let away: Vec<f64> = own.iter().map(|seconds| (seconds - center).clamp(-most, most)).collect();
    let square: f64 = away.iter().map(|one| one * one).sum();
    let product: f64 = away.windows(2).map(|two| two[0] * two[1]).sum();
    if square > 0.0 { product / square } else { 0.0 }
}

/// Runs that became slower for good, each time that they did: [`changes`] that stay.
pub fn slower(all: &[Series]) -> Vec<Slower> {
    changes(all).into_iter().filter(|one| one.stays).collect()
}

/// Runs that became slower, each time that they did, for good or for a while.
///
/// What is usual is the median of the last 32 steps of the same work that were well, or before there are eight the level
/// of other runs of the same job. Three steps in a row must exceed it by 3 % and 3.2 robust deviations of up to 256 such
/// steps, or of the steps of other runs of the job where these stray more; by more where no other run tells and own steps
/// are few, and where their noise lasts; and the two lesser of them agree as closely; all three where a stall beside the
/// end of a block is among them, whose aftermath looks alike. Where like steps came before by themselves, as of uneven
/// sequences, it takes as many in a row as these do once in a thousand looks. Of the up to 64 steps after these nine in ten
/// must exceed half of that, or it was for a while; where fewer than 64 are known, steps like those that passed before are
/// held to pass.
///
/// Where most runs of a job become longer at one step, how far steps of the others stray is no measure: it has both of their
/// levels. Those runs are held against their own past alone.
pub fn changes(all: &[Series]) -> Vec<Slower> {
    let mut found = Vec::new();
    for (row, series) in all.iter().enumerate() {
        of_series(row, &series.steps, others_s(all, row), &mut found);
    }
    let is_near = |a: &Slower, b: &Slower| a.from.abs_diff(b.from) <= IN_A_ROW;
    let missed: Vec<Slower> = (together(all).into_iter())
        .filter(|one| !found.iter().any(|known| known.series == one.series && is_near(known, one)))
        .collect();
    found.extend(missed);
    found.sort_by_key(|one| (one.series, one.told));
    found
}

/// Runs that became slower for good by their own past, at a step at which half or more of the runs of their job did so, two at
/// least.
fn together(all: &[Series]) -> Vec<Slower> {
    let has_peers =
        |row: usize| all.iter().enumerate().any(|(other, one)| other != row && one.job == all[row].job);
    let mut alone = Vec::new();
    for (row, series) in all.iter().enumerate().filter(|(row, _)| has_peers(*row)) {
        of_series(row, &series.steps, None, &mut alone);
    }
    alone.retain(|one| one.stays);
    let is_shared = |one: &Slower| {
        let job = |row: usize| all[row].job == all[one.series].job;
        let near =
            alone.iter().filter(|other| job(other.series) && other.from.abs_diff(one.from) <= IN_A_ROW);
        let runs: BTreeSet<usize> = near.map(|other| other.series).collect();
        runs.len() > 1 && 2 * runs.len() >= (0..all.len()).filter(|row| job(*row)).count()
    };
    let shared: Vec<Slower> = alone.iter().filter(|one| is_shared(one)).cloned().collect();
    shared
}

/// The first step of the least last part of `beyond`, of three steps or more, that is [`RARE`] beside steps of the same work
/// (`of_work`, that part included) before it; nothing where no part is. Steps count as like it within half of `limit`; a third
/// of it may be stalls.
fn rare_row(steps: &[Step], of_work: &[usize], beyond: &[usize], limit: f64) -> Option<usize> {
    for row in ROWS.into_iter().take_while(|&row| row <= beyond.len()) {
        let from = beyond[beyond.len() - row];
        let mut took: Vec<f64> = beyond[beyond.len() - row..].iter().map(|&at| steps[at].seconds).collect();
        took.sort_by(f64::total_cmp);
        let like = [took[0] - limit / 2.0, took[(2 * row).div_ceil(3) - 1] + limit / 2.0];
        let own = &of_work[..of_work.len() - row];
        let own = own[own.len().saturating_sub(LONG)..].iter().map(|&at| &steps[at]);
        let before: Vec<f64> = own.filter(|step| !step.beside).map(|step| step.seconds).collect();
        if chance(&before, like, row) < RARE {
            return Some(from);
        }
    }
    None
}

fn of_series(row: usize, steps: &[Step], mut others: Option<[f64; 2]>, found: &mut Vec<Slower>) {
    // What is usual of each work.
    let mut known: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    // Rows of all steps of each work since it became slower.
    let mut since: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let mut beyond: Vec<usize> = Vec::new();
    // By how much, at most, steps took longer for a while.
    let mut passed = 0.0_f64;
    if steps.iter().any(|step| step.work.to_bits() != steps[0].work.to_bits()) {
        // The level of others is of all their works together.
        others = None;
    }
    let strays = others.map(|[_, deviation]| deviation);
    for (at, step) in steps.iter().enumerate() {
        let own = known.entry(step.work.to_bits()).or_default();
        let of_work = since.entry(step.work.to_bits()).or_default();
        of_work.push(at);
        if at > 0 && steps[at - 1].work.to_bits() != step.work.to_bits() {
            beyond.clear();
        }
        let of_others = own.len() < USUAL_MIN;
        let told = match of_others {
            true => others.map(|[level, _]| [level, SHARE * level]),
            false => usual(own, strays),
        };
        let Some([usual, limit]) = told else {
            own.push(step.seconds);
            continue;
        };
        if step.seconds <= usual + limit {
            beyond.clear();
            own.push(step.seconds);
            own.drain(..own.len().saturating_sub(LONG));
            continue;
        }
        beyond.push(at);
        let last = &beyond[beyond.len().saturating_sub(IN_A_ROW)..];
        if last.len() < IN_A_ROW {
            continue;
        }
        let mut took: Vec<f64> = last.iter().map(|&at| steps[at].seconds).collect();
        took.sort_by(f64::total_cmp);
        let beside = last.iter().any(|&at| steps[at].beside || at + 1 == steps.len());
        let most = if beside && took[IN_A_ROW - 1] > STALL * usual { IN_A_ROW - 1 } else { 1 };
        if took[most] - took[0] > limit {
            continue;
        }
        let Some(from) = rare_row(steps, of_work, &beyond, limit) else { continue };
        let later = steps[at + 1..].iter().filter(|one| one.work.to_bits() == step.work.to_bits());
        let later: Vec<f64> = later.take(LATER).map(|one| one.seconds).collect();
        let seconds = [usual, f64::midpoint(took[0], took[1])];
        let excess = seconds[1] / usual - 1.0;
        let longer = later.iter().filter(|&&seconds| seconds > usual + limit / 2.0).count();
        let stay = later.len() < USUAL_MIN || longer as f64 > STAY * later.len() as f64;
        // What passed before, such as evaluations that nothing marks, is likely to pass again.
        let stays = stay && (later.len() == LATER || excess > LIKE * passed);
        if !stays {
            passed = passed.max(excess);
        }
        found.push(Slower { series: row, from, told: at, seconds, of_others, stays });
        beyond.clear();
        if stays {
            // From here on this is usual.
            *own = took;
            of_work.clear();
            others = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::drifts;

    /// Runs of each kind of noise.
    const RUNS: usize = 100;

    /// Normal numbers: the sum of twelve uniform ones, less 6.
    fn normal(state: &mut u64) -> f64 {
        let mut uniform = || {
            *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = *state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    }

    /// Runs of 500 steps of 10 s that stray by `deviation`, each by `lasts` of the one before.
    fn noisy(runs: usize, deviation: f64, lasts: f64, state: &mut u64) -> Vec<Series> {
        let run = |run: usize, state: &mut u64| {
            let mut away = normal(state);
            let mut step = || {
                away = lasts * away + (1.0 - lasts * lasts).sqrt() * normal(state);
                Step { seconds: 10.0 * (1.0 + deviation * away), beside: false, work: 0.0 }
            };
            let steps = (0..500).map(|_| step()).collect();
            // Each is a job of its own: none knows the level of another.
            Series { job: format!("job {run}"), run: String::new(), steps }
        };
        (0..runs).map(|row| run(row, state)).collect()
    }

    /// Runs of which noise alone tells that they became slower, or drift.
    fn alarms(all: &[Series]) -> [usize; 2] {
        let mut told: Vec<usize> = slower(all).iter().map(|one| one.series).collect();
        told.dedup();
        [told.len(), drifts(all).len()]
    }

    #[test]
    fn noise_alone_tells_of_few_runs() {
        let mut state = 7;
        for deviation in [0.01, 0.02, 0.05] {
            for (lasts, most) in [(0.0, 0), (0.5, 1), (0.9, 5)] {
                let told = alarms(&noisy(100, deviation, lasts, &mut state));
                println!("{:.0} %, lasting {lasts}: {told:?} of 100 runs of 500 steps", 100.0 * deviation);
                assert!(told[0] <= most && told[1] <= 1, "{deviation} {lasts}: {told:?}");
            }
        }
    }

    /// Uniform in 0..1.
    fn uniform(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Steps of healthy jobs that are not normal, 10 s and longer.
    fn uneven(kind: &str, steps: usize, state: &mut u64) -> Vec<f64> {
        let mut long = uniform(state) < 0.3;
        let mut step = |at: usize| {
            let near = 1.0 + 0.01 * normal(state);
            let drawn = uniform(state);
            10.0 * match kind {
                "two lengths, alike often" => near * if drawn < 0.5 { 1.2 } else { 1.0 },
                "two lengths, one rare" => near * if drawn < 0.3 { 1.2 } else { 1.0 },
                "two lengths, one mostly" => near * if drawn < 0.7 { 1.2 } else { 1.0 },
                "two lengths without noise" => {
                    if drawn < 0.5 {
                        1.2
                    } else {
                        1.0
                    }
                }
                "one twice as long" => near * if drawn < 0.5 { 2.0 } else { 1.0 },
                "three lengths" => near * (1.0 + 0.1 * (3.0 * drawn).floor()),
                "exponential tail" => 1.0 - 0.1 * drawn.max(1e-12).ln(),
                "power tail" => 1.0 + 0.02 * drawn.max(1e-9).powf(-0.7),
                "log-normal" => (0.1 * normal(state)).exp(),
                "lengths that last three steps" => {
                    if drawn < 1.0 / 3.0 {
                        long = uniform(state) < 0.3;
                    }
                    near * if long { 1.2 } else { 1.0 }
                }
                // Others use the network for a third of the time.
                "neighbors" => near * if at / 40 % 3 == 2 { 1.08 } else { 1.0 },
                other => panic!("{other}"),
            }
        };
        (0..steps).map(&mut step).collect()
    }

    fn alone(seconds: impl IntoIterator<Item = f64>) -> [Series; 1] {
        let step = |seconds| Step { seconds, beside: false, work: 0.0 };
        [Series { job: "job".into(), run: String::new(), steps: seconds.into_iter().map(step).collect() }]
    }

    /// Runs of one job that all become longer from a step on, or a part of them.
    #[test]
    fn runs_that_become_slower_at_one_step_together_are_all_told() {
        let mut state = 11;
        for (slow, told_runs) in [(8, 8), (4, 4), (1, 1), (0, 0)] {
            let mut all = noisy(8, 0.01, 0.3, &mut state);
            for (row, series) in all.iter_mut().enumerate() {
                series.job = "job".into();
                series.run = format!("run {row}");
                let longer = series.steps.iter_mut().skip(250).filter(|_| row < slow);
                longer.for_each(|step| step.seconds *= 1.08);
            }
            let found = slower(&all);
            let runs: BTreeSet<usize> = found.iter().map(|one| one.series).collect();
            assert_eq!(runs, (0..told_runs).collect(), "{slow} of 8: {found:?}");
            assert!(found.iter().all(|one| one.from.abs_diff(250) <= 2), "{found:?}");
        }
    }

    #[test]
    fn uneven_steps_of_healthy_jobs_tell_of_few_runs_and_a_shift_beyond_them_is_told() {
        let kinds = [
            ("two lengths, alike often", 1),
            ("two lengths, one rare", 1),
            ("two lengths, one mostly", 1),
            ("two lengths without noise", 1),
            ("one twice as long", 1),
            ("three lengths", 1),
            ("exponential tail", 1),
            ("power tail", 1),
            ("log-normal", 1),
            ("lengths that last three steps", 1),
            ("neighbors", 0),
        ];
        let mut state = 11;
        for (kind, most) in kinds {
            let (mut told, mut shifted, mut drifted) = (0, 0, 0);
            for _ in 0..RUNS {
                let mut seconds = uneven(kind, 400, &mut state);
                told += usize::from(!slower(&alone(seconds.clone())).is_empty());
                drifted += usize::from(!drifts(&alone(seconds.clone())).is_empty());
                seconds[200..].iter_mut().for_each(|one| *one *= 2.5);
                shifted +=
                    usize::from(slower(&alone(seconds)).iter().any(|one| (200..232).contains(&one.told)));
            }
            println!(
                "{kind}: {told} of {RUNS} healthy runs of 400 steps, {drifted} drift, {shifted} of as many 2.5 times slower"
            );
            assert!(100 * told <= most * RUNS, "{kind}: {told}");
            assert!(100 * drifted <= most * RUNS, "{kind}: {drifted} drift");
            assert!(100 * shifted >= 90 * RUNS, "{kind}: {shifted}");
        }
    }

    #[test]
    fn a_shift_that_steps_of_two_lengths_hide_waits_for_more_steps() {
        let mut state = 5;
        let mut waits = Vec::new();
        for _ in 0..100 {
            let mut seconds = uneven("two lengths, one rare", 400, &mut state);
            seconds[200..].iter_mut().for_each(|one| *one *= 1.2);
            waits
                .extend(slower(&alone(seconds)).iter().find(|one| one.told >= 200).map(|one| one.told - 200));
        }
        waits.sort_unstable();
        println!("told in {} of 100, after {} more steps at the median", waits.len(), waits[waits.len() / 2]);
        assert!(waits.len() >= 95 && (3..20).contains(&waits[waits.len() / 2]), "{waits:?}");
    }

    #[test]
    fn works_are_compared_with_their_like_and_evaluations_pass() {
        let mut state = 3;
        let mut ramp = noisy(1, 0.003, 0.0, &mut state);
        for (at, step) in ramp[0].steps.iter_mut().enumerate() {
            step.work = if at < 100 { 1152.0 } else { 2304.0 };
            step.seconds *= step.work / 1152.0;
        }
        assert_eq!(changes(&ramp), []);
        ramp[0].steps[400..].iter_mut().for_each(|step| step.seconds *= 1.05);
        assert_eq!(slower(&ramp).iter().map(|one| (one.from, one.told)).collect::<Vec<_>>(), [(400, 402)]);
        let mut evaluated = noisy(1, 0.003, 0.0, &mut state);
        evaluated[0].steps.iter_mut().skip(50).step_by(50).for_each(|step| step.seconds *= 1.6);
        assert_eq!(changes(&evaluated), [], "one step each");
        let mut evaluated = noisy(1, 0.003, 0.0, &mut state);
        for (at, step) in evaluated[0].steps.iter_mut().enumerate() {
            step.seconds *= if at % 50 > 45 { 1.2 } else { 1.0 };
        }
        assert_eq!(slower(&evaluated), [], "four steps each pass");
        assert!(!changes(&evaluated).is_empty());
    }
}

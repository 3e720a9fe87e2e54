//! Differences between two runs: which figures propose one, how large it is, and whether draws explain it.
//!
//! Sizes are parts of useful time, so that shares, times and rates can be ordered against each other: a figure that sums
//! up what jobs get done is turned into work per time (a share of lost time s into 1 − s, a time t into 1/t), and the size
//! is 1 − less/more of both runs. 22.3 % of downtime against 0.9 % is 0.22, a step of 9.852 s against 8.460 s is 0.14.
use std::collections::BTreeSet;

use super::side::Side;
use crate::figures::declared::job::{
    BUSBW_BEFORE_FAULT, BUSBW_MAX, BUSBW_MEAN, BUSBW_MIN, BUSBW_PER_NIC_MAX, BUSBW_PER_NIC_MEAN,
    BUSBW_PER_NIC_MIN, BUSBW_PER_NIC_SPREAD, BUSBW_UNDER_FAULT, EXPOSED, HALTED, JOB_TIME, MFU, STALL_TIME,
    STEP_TIME, STEP_TIME_BEFORE_FAULT, STEP_TIME_P5, STEP_TIME_P95, STEP_TIME_UNDER_FAULT, STEPS_ENDED,
    THROUGHPUT_LOSS, TIME_LOST, TIME_LOST_SHARE, TOKENS_PER_S,
};
use crate::figures::declared::life::{DOWNTIME, DOWNTIME_LEAST, DOWNTIME_MOST, PRODUCTIVE, STEPS};
use crate::figures::declared::{Better, By, Declared, Scope, Unit, cluster, declared, network};
use crate::figures::parts_of;

/// Size below which two values are called the same where no draws tell how much is noise; the page's rows do so too.
pub(super) const SAME: f64 = 5e-4;

/// What a figure is in a comparison; the order is that of headline and evidence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Role {
    /// How much work jobs get done.
    Outcome,
    /// A part of that, or what it rests on, in jobs.
    Part,
    /// What network and packets do.
    Cause,
}

/// Figures that sum up how much work jobs get done.
const OUTCOMES: [&Declared; 14] = [
    &DOWNTIME,
    &PRODUCTIVE,
    &STEPS,
    &STEP_TIME,
    &BUSBW_MEAN,
    &STEPS_ENDED,
    &JOB_TIME,
    &STEP_TIME_UNDER_FAULT,
    &BUSBW_UNDER_FAULT,
    &TIME_LOST_SHARE,
    &THROUGHPUT_LOSS,
    &cluster::GPU_UTILIZATION,
    &cluster::COMPLETION_MEAN,
    &cluster::WAITING_MEAN,
];

/// Figures that repeat another: bounds of its spread, or the same in another unit. A halt is told as such.
const REPEATED: [&Declared; 16] = [
    &STEP_TIME_P5,
    &STEP_TIME_P95,
    &TOKENS_PER_S,
    &MFU,
    &BUSBW_MIN,
    &BUSBW_MAX,
    &BUSBW_PER_NIC_MIN,
    &BUSBW_PER_NIC_MEAN,
    &BUSBW_PER_NIC_MAX,
    &BUSBW_PER_NIC_SPREAD,
    &HALTED,
    &TIME_LOST,
    &STEP_TIME_BEFORE_FAULT,
    &BUSBW_BEFORE_FAULT,
    &DOWNTIME_LEAST,
    &DOWNTIME_MOST,
];

/// Costs of faults, which are 0 in a run without faults.
const COSTS: [&Declared; 3] = [&STALL_TIME, &TIME_LOST_SHARE, &THROUGHPUT_LOSS];

/// Words at the end of names that tell statistics of one quantity apart.
const STATISTICS: [&str; 16] = [
    "mean", "median", "min", "max", "least", "most", "worst", "longest", "shortest", "spread", "p5", "p50",
    "p90", "p95", "p99", "flows",
];

/// The role of a figure by its declaration; none where it proposes nothing: what no run does better, and what another
/// figure says already.
pub(super) fn role(of: &Declared) -> Option<Role> {
    if OUTCOMES.contains(&of) {
        return Some(Role::Outcome);
    }
    let compared = of.better != Better::Neither || *of == network::ACCUSATIONS;
    if !compared || REPEATED.contains(&of) {
        return None;
    }
    match (of.scope, of.by) {
        (Scope::Fabric | Scope::Sweep | Scope::AllJobs, _) => None,
        (Scope::Job, _) | (_, By::Life | By::Cluster | By::Diagnosis) => Some(Role::Part),
        (Scope::Run, _) if *of == network::OPERATIONS_UNFINISHED => Some(Role::Part),
        (Scope::Run, _) => Some(Role::Cause),
    }
}

/// A figure in which two runs differ.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Difference {
    /// What the figure is.
    pub(super) of: &'static Declared,
    /// Its name without that of the job.
    pub(super) name: String,
    /// The job, where runs have several.
    pub(super) job: Option<String>,
    pub(super) role: Role,
    /// Values of the first run and of the second.
    pub(super) values: [f64; 2],
    /// Lowest and highest over draws or lives.
    pub(super) bands: [Option<[f64; 2]>; 2],
    /// How large it is, 0..1.
    pub(super) size: f64,
}

/// How two values stand to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// Equal as far as people read them.
    Same,
    /// Within what draws or lives give.
    Noise,
    /// Apart.
    Differ,
    /// Apart in one of several draws: nothing tells how much of that is noise.
    Unknown,
}

impl Difference {
    /// The verdict on it: by the draws where there are such, else by its size.
    fn verdict(&self, sides: &[Side<'_>; 2]) -> Verdict {
        let [old, new] = self.values;
        if old == new {
            return Verdict::Same;
        }
        // The bandwidth of an operation is its bytes over its time: draws of the step tell of both.
        let of = if *self.of == BUSBW_MEAN { &STEP_TIME } else { self.of };
        let name = if *self.of == BUSBW_MEAN { STEP_TIME.name } else { &self.name };
        let job = self.job.as_deref();
        let bands = sides.each_ref().map(|side| side.band(job, of, name));
        let middles = sides.each_ref().map(|side| side.value(job, name));
        if let ([Some(a), Some(b)], [Some(x), Some(y)]) = (bands, middles) {
            let spread = a[0] < a[1] || b[0] < b[1];
            let holds = |band: [f64; 2], value: f64| (band[0]..=band[1]).contains(&value);
            if spread && holds(a, y) && holds(b, x) {
                return Verdict::Noise;
            }
        } else if sides.iter().any(|side| side.has_spread(self.of)) && self.size >= SAME {
            return Verdict::Unknown;
        }
        if self.size < SAME { Verdict::Same } else { Verdict::Differ }
    }

    /// Parts and causes: shares before times, rates and ratios, and these before amounts, which are no part of any time.
    fn class(&self) -> u8 {
        match (self.role, self.of.unit) {
            (Role::Outcome, _) | (_, Unit::Share) => 0,
            _ if *self.of == EXPOSED => 0,
            (_, Unit::Count | Unit::Bytes) => 2,
            _ => 1,
        }
    }

    /// What statistics of one quantity have in common.
    fn quantity(&self) -> (Option<&str>, &str) {
        let mut stem = self.of.name;
        while let Some((before, _)) = stem.rsplit_once('_').filter(|(_, last)| STATISTICS.contains(last)) {
            stem = before;
        }
        (self.job.as_deref(), stem)
    }
}

/// All differences beyond noise, the largest effect on useful time first, then parts of it, then causes; and whether noise
/// hides any.
pub(super) fn differences(sides: &[Side<'_>; 2]) -> (Vec<Difference>, bool) {
    let all: Vec<(Difference, Verdict)> = proposed(sides)
        .into_iter()
        .map(|difference| {
            let verdict = difference.verdict(sides);
            (difference, verdict)
        })
        .collect();
    // Figures of one draw say nothing where the draws of the step or the lives say that there is no difference.
    let settled = |of: &Difference| {
        !all.iter().any(|(other, verdict)| {
            let same_job = of.job.is_none() || of.job == other.job;
            let steers = if of.of.by == By::Life {
                *other.of == DOWNTIME
            } else {
                (*other.of == STEP_TIME || *other.of == BUSBW_MEAN) && same_job
            };
            let spread = other.bands.iter().flatten().any(|band| band[0] < band[1]);
            steers && (*verdict == Verdict::Noise || (*verdict == Verdict::Same && spread))
        })
    };
    let beyond = all.iter().filter(|(of, verdict)| match verdict {
        Verdict::Differ => true,
        Verdict::Unknown => settled(of),
        Verdict::Same | Verdict::Noise => false,
    });
    let mut found: Vec<Difference> = beyond.map(|(of, _)| of.clone()).collect();
    found.sort_by(|a, b| (a.role, a.class()).cmp(&(b.role, b.class())).then(b.size.total_cmp(&a.size)));
    let mut seen = BTreeSet::new();
    found.retain(|of| {
        let (job, quantity) = of.quantity();
        of.role == Role::Outcome || seen.insert((job.map(str::to_owned), quantity.to_owned()))
    });
    (found, all.iter().any(|(_, verdict)| *verdict == Verdict::Noise))
}

/// Every figure that both runs have and of which one value is better, in the order of the figures.
fn proposed(sides: &[Side<'_>; 2]) -> Vec<Difference> {
    let [a, b] = sides;
    let several = a.jobs.len() > 1 || b.jobs.len() > 1;
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for figure in b.info.figures.iter().chain(&a.info.figures) {
        let (job, name) = parts_of(&figure.name);
        let Some(of) = declared(&figure.name) else { continue };
        let Some(role) = role(of).filter(|_| seen.insert(figure.name.clone())) else { continue };
        let known = |side: &Side<'_>, job: &str| side.jobs.iter().any(|name| name == job);
        // Jobs that go on with the steps of another are no jobs of their own.
        if job.is_some_and(|job| several && !(known(a, job) && known(b, job))) {
            continue;
        }
        let values = sides.each_ref().map(|side| value(side, job, of, name));
        let [Some(old), Some(new)] = values else { continue };
        // Of a job that runs collectives alone the bandwidth says what a step does.
        if *of == STEP_TIME && sides.iter().all(|side| side.value(job, BUSBW_MEAN.name).is_some()) {
            continue;
        }
        let bands = sides.each_ref().map(|side| side.band(job, of, name));
        let size = size(sides, job, of, [old, new]);
        let (job, name) = (job.map(str::to_owned), name.to_owned());
        all.push(Difference { of, name, job, role, values: [old, new], bands, size });
    }
    all
}

/// The value of a figure. A run without faults has no figures of what they cost, and no time is exposed for an axis that a
/// run lacks: that is 0.
fn value(side: &Side<'_>, job: Option<&str>, of: &Declared, name: &str) -> Option<f64> {
    let Some(figure) = side.figure(job, name) else {
        let none = COSTS.contains(&of) || *of == EXPOSED;
        return none.then_some(0.0);
    };
    figure.value
}

/// The size of a difference, see the head of this file.
fn size(sides: &[Side<'_>; 2], job: Option<&str>, of: &Declared, [old, new]: [f64; 2]) -> f64 {
    let apart = |old: f64, new: f64| {
        let (less, more) = (old.abs().min(new.abs()), old.abs().max(new.abs()));
        if more == 0.0 {
            0.0
        } else if old * new < 0.0 {
            1.0
        } else {
            1.0 - less / more
        }
    };
    // The time of which another is a part.
    let whole = |of: &Declared| {
        let times = sides.iter().filter_map(|side| side.value(job, of.name));
        times.reduce(f64::max).filter(|&whole| whole > 0.0)
    };
    let part_of = if *of == EXPOSED {
        whole(&STEP_TIME)
    } else if *of == cluster::WAITING_MEAN {
        whole(&cluster::COMPLETION_MEAN)
    } else {
        None
    };
    match (role(of), of.unit, of.better, part_of) {
        (.., Some(whole)) => ((new - old).abs() / whole).min(1.0),
        (Some(Role::Outcome), Unit::Share, Better::Less, None) => apart(1.0 - old, 1.0 - new),
        (Some(Role::Outcome), ..) => apart(old, new),
        (_, Unit::Share, ..) => (new - old).abs().min(1.0),
        _ => apart(old, new),
    }
}

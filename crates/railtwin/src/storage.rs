//! What jobs exchange with storage, and what that costs them: the run beside the same one without it.
//!
//! Blocking or not, on the network of training or beside it: what a checkpoint costs is what steps take longer than where
//! no job writes one. So the chosen replicate is run again without the operations of each kind; patterns stay, so that all
//! else keeps its paths.
use std::collections::BTreeMap;

use railtwin_engine::own::guarded;
use railtwin_engine::{Case, Engine, RunLog};
use railtwin_scenario::{CHECKPOINT, INFERENCE, READ};
use railtwin_store::Figure;
use railtwin_units::SimTime;
use railtwin_workload::{Axis, Occasional, OperationId, Plan, Work};

use crate::error::Error;
use crate::exposed::steps_of;
use crate::figures::declared::{Declared, storage as declared};
use crate::simulate::Simulation;

/// The figures of one kind: bytes, time, time lost.
const KINDS: [(&str, [Declared; 3]); 3] = [
    (CHECKPOINT, [declared::CHECKPOINT_BYTES, declared::CHECKPOINT_TIME, declared::CHECKPOINT_LOST]),
    (READ, [declared::READ_BYTES, declared::READ_TIME, declared::READ_LOST]),
    (INFERENCE, [declared::INFERENCE_BYTES, declared::INFERENCE_TIME, declared::INFERENCE_LOST]),
];

/// The figures of all jobs that exchange bytes with storage; none where no job does. Runs the chosen replicate once more
/// for each kind, and once without any.
///
/// # Errors
/// [`Error::Controller`] where a controller of one's own cannot go on.
pub fn figures(case: &Case, engine: &dyn Engine, simulation: &Simulation) -> Result<Vec<Figure>, Error> {
    let used: Vec<(&str, [Declared; 3])> = KINDS
        .into_iter()
        .filter(|(kind, _)| case.work.jobs.iter().any(|job| of_kind(&job.plan, kind).next().is_some()))
        .collect();
    if used.is_empty() {
        return Ok(Vec::new());
    }
    let run = |kind: Option<&str>| {
        let without = without(case, kind);
        let failed = |halt| Error::Controller { halt, replicate: Some(simulation.chosen) };
        guarded(|| engine.run(&without, simulation.chosen)).map_err(failed)
    };
    let bare = run(None)?;
    let apart = match used.as_slice() {
        [_] => vec![bare.clone()],
        several => several.iter().map(|(kind, _)| run(Some(kind))).collect::<Result<_, _>>()?,
    };
    let mut figures = Vec::new();
    for row in 0..case.work.jobs.len() {
        let several = case.work.jobs.len() > 1;
        let mut push = |figure: Figure| {
            let name =
                if several { format!("{}.{}", case.work.jobs[row].name, figure.name) } else { figure.name };
            figures.push(Figure { name, ..figure });
        };
        let unended = crate::job_figures::unended(case, simulation, row, false);
        let held = |value: f64| unended.clone().map_or(Ok(value), Err);
        let with = steps(case, row, &simulation.log);
        let lost = |other: &RunLog| {
            let (sum, plain, ended) = common(&with, &steps(case, row, other));
            ((sum - plain).max(0.0), ended)
        };
        for ((kind, [bytes, time, less]), other) in used.iter().zip(&apart) {
            let all = occurrences(case, row, kind, &simulation.log);
            if all.is_empty() && *kind == INFERENCE {
                // What others serve costs this job, too.
                let (lost, ended) = lost(other);
                push(less.given(held(lost / ended), "against the same replicate without inference"));
            }
            if all.is_empty() {
                continue;
            }
            let count = all.len() as f64;
            let last = steps_of(&case.work.jobs[row], &simulation.log.times).last().map(|step| step.2);
            let seen: f64 = all.iter().map(|&time| seen(time, last.unwrap_or_default())).sum();
            let each = of_kind(&case.work.jobs[row].plan, kind).map(|(_, bytes)| bytes).sum::<f64>();
            push(bytes.figure(each, "of all ranks"));
            let mean = all.iter().map(|(start, end)| end.since(*start).seconds()).sum::<f64>() / count;
            push(time.given(held(mean), &format!("mean over {count}, replicate with the median step time")));
            let note = "against the same replicate without it";
            // What nothing waits for goes on after the last step, where nobody is left to pay for it.
            let unseen = || "all of it lies behind the last step: give the job more steps".to_owned();
            let cost = if seen > 0.0 { held(lost(other).0 / seen) } else { Err(unseen()) };
            push(less.given(cost, note));
        }
        let without = steps(case, row, &bare);
        let (sum, plain, _) = common(&with, &without);
        if sum > 0.0 && plain > 0.0 {
            let note = "against the same replicate without traffic of storage";
            push(declared::STORAGE_LOST_SHARE.given(held(lost(&bare).0 / sum), note));
            // Step by step: each computes as long in both, whatever its jitter.
            let longer = with.iter().filter_map(|(step, with)| Some(with / without.get(step)? - 1.0));
            let worst = longer.filter(|share| share.is_finite()).fold(0.0, f64::max);
            push(declared::STORAGE_STEP_WORST.given(held(worst), note));
        }
    }
    Ok(figures)
}

/// Seconds of each step of a job that ended, by its number.
fn steps(case: &Case, row: usize, log: &RunLog) -> BTreeMap<u32, f64> {
    let steps = steps_of(&case.work.jobs[row], &log.times);
    steps.iter().map(|step| (step.0, step.2.since(step.1).seconds())).collect()
}

/// Seconds of the steps that ended in both of two runs, together: in one, in the other, and how many there are, at least one.
/// Who ends by time ends more steps where they take less, and those are no cost of the others.
fn common(one: &BTreeMap<u32, f64>, other: &BTreeMap<u32, f64>) -> (f64, f64, f64) {
    let both = || one.iter().filter_map(|(step, seconds)| Some((seconds, other.get(step)?)));
    let sum = both().map(|(seconds, _)| seconds).sum();
    (sum, both().map(|(_, seconds)| seconds).sum(), both().count().max(1) as f64)
}

/// Operations of a kind with the bytes of all their ranks.
fn of_kind<'a>(plan: &'a Plan, kind: &'a str) -> impl Iterator<Item = (OperationId, f64)> + use<'a> {
    let is_meant = move |one: &&Occasional| {
        let operation = &plan.operations[one.operation.index()];
        operation.axis == Axis::Storage && plan.names[operation.name as usize] == kind
    };
    plan.occasional.iter().filter(is_meant).map(|one| match plan.operations[one.operation.index()].work {
        Work::Communicate { pattern, bytes } => {
            let ranks: usize = plan.patterns[pattern.index()].communicators.iter().map(Vec::len).sum();
            (one.operation, bytes as f64 * (ranks / 2) as f64)
        }
        Work::Compute(_) => (one.operation, 0.0),
    })
}

/// Share of an exchange that lies before the last step of its job ended, so that steps show what it costs.
fn seen((start, end): (SimTime, SimTime), last: SimTime) -> f64 {
    match end.since(start).seconds() {
        whole if whole > 0.0 && end > last => last.since(start.min(last)).seconds() / whole,
        _ => f64::from(u8::from(start <= last)),
    }
}

/// Each time that a job exchanged bytes of a kind: from the first of its lanes that began to the last that ended.
fn occurrences(case: &Case, row: usize, kind: &str, log: &RunLog) -> Vec<(SimTime, SimTime)> {
    let job = &case.work.jobs[row];
    let operations: Vec<OperationId> = of_kind(&job.plan, kind).map(|(operation, _)| operation).collect();
    let due = |step: u32| {
        let first = job.first_operation as usize + step as usize * job.plan.operations.len();
        let due =
            operations.iter().filter(|id| job.plan.occasional(**id).is_some_and(|one| one.is_due(step)));
        let rows: Vec<usize> = due.map(|id| first + id.index()).collect();
        let start = rows.iter().map(|&row| log.times.start[row]).min()?;
        let end = rows.iter().map(|&row| log.times.end[row]).max()?;
        (end < SimTime::NEVER).then_some((start, end))
    };
    (0..job.steps).filter_map(due).collect()
}

/// The case in which no operation of a kind is ever due; none means all kinds.
fn without(case: &Case, kind: Option<&str>) -> Case {
    let mut other = case.clone();
    for job in &mut other.work.jobs {
        let meant: Vec<OperationId> = KINDS
            .iter()
            .filter(|(name, _)| kind.is_none_or(|kind| kind == *name))
            .flat_map(|(name, _)| {
                of_kind(&job.plan, name).map(|(operation, _)| operation).collect::<Vec<_>>()
            })
            .collect();
        job.plan
            .occasional
            .iter_mut()
            .filter(|one| meant.contains(&one.operation))
            .for_each(|one| one.every = 0);
    }
    other
}

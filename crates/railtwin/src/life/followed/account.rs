//! Run periods of a job that was followed, whose time `railtwin_reliability` books: by steps, not by an estimate.
use railtwin_engine::{Case, JobGraph, OperationTimes, RunLog};
use railtwin_reliability::lifetime::Lifetime;
use railtwin_reliability::lifetime::booking::RunPeriod;
use railtwin_reliability::lifetime::progress::hours;
use railtwin_units::SimTime;

use super::injuries::Shift;
use crate::exposed::steps_of;
use crate::stops::{Cause, Stop};

/// Steps of the job that no crash takes back, and when the last of them ended: those up to the last checkpoint that was
/// whole when a shift failed, one after each `every` steps of the job. `before` is what was kept before the shift.
pub fn kept(
    job: &JobGraph,
    shift: &Shift,
    times: &OperationTimes,
    (every, failed): (u32, SimTime),
    before: (u32, SimTime),
) -> (u32, SimTime) {
    let length = job.plan.operations.len();
    let ended = steps_of(job, times).into_iter().filter(|(.., end)| *end <= failed);
    let mut best = before;
    for (step, _, end) in ended {
        let all = shift.before + step + 1;
        // What is written beside the steps that follow has to be there, too.
        let first = job.first_operation as usize + step as usize * length;
        let whole = times.end[first..first + length].iter().all(|&end| end <= failed);
        if all.is_multiple_of(every) && whole {
            best = (all, end);
        }
    }
    best
}

/// Time of the steps of a shift that count, and the time that they take without faults, in hours.
#[derive(Default)]
struct Worked {
    took: f64,
    healthy: f64,
    /// Steps of the job that are done after them.
    done: u32,
}

fn worked(
    (job, shift): (&JobGraph, &Shift),
    times: &OperationTimes,
    (failed, keeps): (SimTime, u32),
    healthy: &[SimTime],
) -> Worked {
    let mut all = Worked { done: shift.before, ..Worked::default() };
    for (row, start, ended) in steps_of(job, times) {
        let step = shift.before + row;
        if ended > failed || step >= keeps {
            continue;
        }
        let took = ended.since(start);
        all.took += hours(took);
        // Steps are of different lengths by design, such as those that write a checkpoint.
        all.healthy += hours(healthy.get(step as usize).copied().unwrap_or(took));
        all.done = step + 1;
    }
    all
}

/// Returns the run periods of a job until `end`, one for each shift: `kept` holds the steps that count and the end of the last
/// of them by standstill, `healthy` the time that each step of the job takes without faults.
pub fn periods(
    lifetime: &Lifetime,
    (case, shifts): (&Case, &[Shift]),
    log: &RunLog,
    (kept, healthy): (&[(u32, SimTime)], &[SimTime]),
    end: SimTime,
) -> Vec<RunPeriod> {
    let period = |(number, shift): (usize, &Shift)| {
        let job = &case.work.jobs[shift.row];
        let standstill = lifetime.standstills.get(number);
        let failed = standstill.map_or(end, |one| one.failed.min(end));
        let keeps = standstill.and(kept.get(number)).map_or(u32::MAX, |&(keeps, _)| keeps);
        let worked = worked((job, shift), &log.times, (failed, keeps), healthy);
        let still = Stop::of(case, shift.row, log).filter(|stop| stop.cause != Cause::TimeUp);
        RunPeriod {
            start: shift.start,
            hosts: shift.places.iter().map(|place| place.host).collect(),
            worked: worked.took,
            healthy: worked.healthy,
            steps: worked.done,
            checkpoint: kept.get(number).map(|&(_, at)| at),
            stopped: still.map(|stop| stop.at),
        }
    };
    shifts.iter().enumerate().map(period).collect()
}

//! What the time of a job that was followed was spent with: by its steps and standstills, not by an estimate.
use railtwin_engine::{Case, JobGraph, OperationTimes, RunLog};
use railtwin_reliability::downtime::{Account, Part};
use railtwin_units::SimTime;

use super::injuries::Shift;
use crate::exposed::steps_of;
use crate::life::hits::{Hit, is_communication};
use crate::life::lived::Lived;
use crate::life::progress::hours;
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

/// What steps of a shift took that count, and what they would take without faults, in hours.
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

/// Books the time of a job until `end`: `kept` by standstill, `healthy` what each of its steps takes without faults, `slows`
/// the faults that were found to slow it.
pub fn book(
    lived: &mut Lived,
    (case, shifts): (&Case, &[Shift]),
    log: &RunLog,
    (kept, healthy, slows): (&[(u32, SimTime)], &[SimTime], &[&Hit]),
    end: SimTime,
) {
    let mut account = Account::default();
    let begin = case.work.jobs[shifts[0].row].start;
    let spent = |from: SimTime, to: SimTime| hours(to.min(end).since(from.min(to).min(end)));
    lived.standstills.truncate(shifts.len());
    let mut steps = 0;
    for (number, shift) in shifts.iter().enumerate() {
        let job = &case.work.jobs[shift.row];
        let standstill = lived.standstills.get_mut(number);
        let failed = standstill.as_ref().map_or(end, |one| one.failed.min(end));
        let keeps = standstill.as_ref().and(kept.get(number)).map_or(u32::MAX, |&(keeps, _)| keeps);
        let worked = worked((job, shift), &log.times, (failed, keeps), healthy);
        let slow = (worked.took - worked.healthy).max(0.0);
        account[Part::Productive] += worked.took - slow;
        let there = |hit: &&&Hit| {
            let is_here = hit.host.is_none_or(|host| shift.places.iter().any(|place| place.host == host));
            is_here && hit.at < failed
        };
        let of_slow = slows.iter().filter(there).max_by_key(|hit| hit.at).map(|hit| hit.kind);
        let is_of_network = of_slow.is_none_or(is_communication);
        account[if is_of_network { Part::SlowCommunication } else { Part::SlowOther }] += slow;
        steps = worked.done;
        let Some(one) = standstill else {
            // What is under way at the end counts, as nothing took it; a job that stands still waits for who finds out why.
            let still = Stop::of(case, shift.row, log).filter(|stop| stop.cause != Cause::TimeUp);
            let until = still.map_or(end, |stop| stop.at.max(shift.start).min(end));
            account[Part::Productive] += spent(shift.start, until) - worked.took;
            account[Part::Detection] += spent(until, end);
            break;
        };
        // Of what was worked since the last checkpoint nothing is left.
        account[Part::PostCheckpoint] += spent(shift.start, failed) - worked.took;
        one.checkpoint = kept.get(number).map_or(begin, |&(_, at)| at);
        let known = one.detected.unwrap_or(end);
        let out = one.isolated.unwrap_or(end).max(known);
        let there = one.replaced.unwrap_or(end).max(out);
        account[Part::Detection] += spent(one.failed, known);
        account[Part::Diagnosis(one.cause)] += spent(known, out);
        account[Part::Waiting] += spent(out, there);
        account[Part::Reinitialisation] += spent(there, one.restarted.unwrap_or(end));
    }
    lived.shares = account * (1.0 / hours(end.since(begin)));
    lived.steps = u64::from(steps);
}

//! What the time of a job that was followed was spent with: by its steps and standstills, not by an estimate.
use railtwin_diagnosis::downtime::{Account, Part};
use railtwin_engine::{Case, JobGraph, OperationTimes};
use railtwin_units::SimTime;

use super::injuries::Shift;
use crate::exposed::steps_of;
use crate::life::hits::is_communication;
use crate::life::lived::Lived;
use crate::life::progress::hours;

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

/// Books the time of a job until `end`: `kept` by standstill, `step` the healthy one.
pub fn book(
    lived: &mut Lived,
    (case, shifts): (&Case, &[Shift]),
    times: &OperationTimes,
    (kept, step): (&[(u32, SimTime)], SimTime),
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
        let keeps = match standstill.as_ref().and(kept.get(number)) {
            Some(&(keeps, _)) => keeps,
            None => u32::MAX,
        };
        let (mut worked, mut productive) = (0.0, 0.0);
        let (mut done, mut slow) = (shift.before, 0.0);
        for (row, start, ended) in steps_of(job, times) {
            if ended > failed || shift.before + row >= keeps {
                continue;
            }
            let took = hours(ended.since(start));
            let healthy = took.min(hours(step));
            productive += healthy;
            slow += took - healthy;
            worked += took;
            done = shift.before + row + 1;
        }
        account[Part::Productive] += productive;
        // Of what was worked since the last checkpoint nothing is left.
        let lost = spent(shift.start, failed) - worked;
        let of_fault = standstill.as_ref().and_then(|one| one.kind);
        let part =
            if of_fault.is_none_or(is_communication) { Part::SlowCommunication } else { Part::SlowOther };
        account[part] += slow;
        steps = done;
        let Some(one) = standstill else {
            // What is under way at the end counts, as nothing took it.
            account[Part::Productive] += lost;
            break;
        };
        account[Part::PostCheckpoint] += lost;
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

//! What faults cost a job: throughput, time, or the job itself (HPN section 9.3).
use std::collections::BTreeMap;

use railtwin_engine::{Case, IncidentKind, RunLog};
use railtwin_records::fault::{FaultKind, Truth};
use railtwin_scenario::{Scenario, expected_faults};
use railtwin_store::Figure;
use railtwin_units::SimTime;
use railtwin_workload::{Plan, Work};

use crate::figures::declared::{job as declared, network};
use crate::simulate::Simulation;
use crate::stops::{Cause, Stop, moment};

/// How one job fared. What has no value says why.
#[derive(Clone, PartialEq, Debug)]
pub struct Fared {
    /// Seconds in which a queue pair waited.
    pub stall: f64,
    /// 1 − throughput after the fault over before, in steps that neither stalled nor saw a repair; 1 of a job that
    /// never moves again.
    pub loss: Result<f64, String>,
    /// Throughput of the last step over before the fault; 0 of a job that never moves again.
    pub at_end: Result<f64, String>,
    /// Seconds that steps took longer than those before the fault; none of a job that did not end.
    pub lost: Result<f64, String>,
    /// Mean seconds of a step before the fault.
    pub before: Result<f64, String>,
}

/// What faults cost one job.
#[derive(Clone, Default, Debug)]
pub struct Costs {
    /// What leads the job's figures.
    pub lead: Vec<Figure>,
    /// The others.
    pub rest: Vec<Figure>,
}

/// What faults cost the job in this row: in the chosen replicate, and whether it halted in any. Nothing where
/// nothing breaks and no queue pair died.
pub fn of_job(case: &Case, simulation: &Simulation, row: usize) -> Costs {
    let stops = simulation.replicates.iter().filter_map(|replicate| replicate.stops[row]);
    // Of a job with whose steps another goes on nothing stops, and the one run that is followed is the chosen one.
    let died = case.work.jobs[row].goes_on_as.is_some() && has_halted(row as u32, &simulation.log);
    let halted = stops.filter(|stop| stop.cause == Cause::Halted).count() + usize::from(died);
    if case.faults.is_empty() && case.truths.is_empty() && halted == 0 {
        return Costs::default();
    }
    let chosen = &simulation.replicates[simulation.chosen as usize];
    let own = chosen.steps.iter().filter(|step| step.0 == row);
    let own: Vec<(SimTime, SimTime)> = own.map(|step| (step.2, step.2 + step.3)).collect();
    let job = &case.work.jobs[row];
    let fared = fared((row as u32, job.until), &own, &simulation.log, &case.truths, chosen.stops[row]);
    let plan = &job.plan;
    let end = simulation.log.end.seconds();
    let lost_share = match &fared.lost {
        Ok(_) if end <= 0.0 => Err("the run takes no time".to_owned()),
        lost => lost.clone().map(|lost| lost / end),
    };
    let computing = fared.before.clone().map(|before| 1.0 - computing(plan) / before);
    let note = "replicates in which a queue pair died";
    Costs {
        lead: vec![
            declared::HALTED.figure(halted as f64, note),
            declared::STALL_TIME.figure(fared.stall, "time in which a queue pair waited"),
            declared::TIME_LOST_SHARE.given(lost_share, "of the whole run"),
        ],
        rest: vec![
            declared::THROUGHPUT_LOSS.given(fared.loss, "steps after the fault against those before it"),
            declared::THROUGHPUT_AT_END.given(fared.at_end, "last step against those before the fault"),
            declared::TIME_LOST.given(fared.lost, "what steps took longer than those before the fault"),
            declared::NOT_COMPUTING_BEFORE_FAULT.given(computing, "of a step, not computing, busiest lane"),
        ],
    }
}

/// How many faults `[failures]` drew, in all and by kind, beside the mean of its rates; nothing without it.
pub fn drawn(scenario: &Scenario, case: &Case) -> Vec<Figure> {
    if scenario.failures.is_none() || scenario.steering.is_some() {
        return Vec::new();
    }
    let mut counts: BTreeMap<FaultKind, u32> = BTreeMap::new();
    for truth in case.truths.iter().filter(|truth| truth.is_drawn()) {
        *counts.entry(truth.kind).or_default() += 1;
    }
    let total = counts.values().sum::<u32>();
    let mut figures = vec![network::FAULTS_DRAWN.figure(f64::from(total), "by [failures], whole window")];
    if let Some(mean) = expected_faults(scenario, case) {
        figures.push(network::FAULTS_EXPECTED.figure(mean, "what the rates of [failures] give on average"));
    }
    figures.extend(counts.iter().map(|(kind, count)| {
        let of = network::DRAWN_KIND.of(&kind.name().replace('-', "_"));
        of.figure(f64::from(*count), "of the drawn faults, those of this kind")
    }));
    figures
}

/// Seconds that the lane which computes most computes in a step.
fn computing(plan: &Plan) -> f64 {
    let mut lanes = vec![0.0; plan.lanes.len()];
    for operation in &plan.operations {
        if let Work::Compute(time) = operation.work {
            lanes[operation.lane as usize] += time.seconds();
        }
    }
    lanes.into_iter().fold(0.0, f64::max)
}

/// How a job fared whose finished steps started and ended at `steps`, in order, and that `stop` kept from its end; beside
/// its number stands when its processes were ended.
/// Where no cable broke, faults count from the first that `truths` tells of.
pub fn fared(
    job: (u32, SimTime),
    steps: &[(SimTime, SimTime)],
    log: &RunLog,
    truths: &[Truth],
    stop: Option<Stop>,
) -> Fared {
    let times = |wanted: fn(&IncidentKind) -> bool| {
        log.incidents.iter().filter(move |incident| wanted(&incident.kind)).map(|incident| incident.at)
    };
    let fault = times(|kind| matches!(kind, IncidentKind::Down(_))).find(|&at| at > SimTime::ZERO);
    let repair = times(|kind| matches!(kind, IncidentKind::Up(_))).find(|&at| fault.is_some_and(|f| at > f));
    let first = truths.iter().filter(|truth| truth.from_ns > 0).min_by_key(|truth| truth.from_ns);
    let (fault, repair) = match (fault, first) {
        (None, Some(truth)) => {
            let until = Some(truth.until_ns).filter(|&until| until < u64::MAX).map(SimTime::from_ns);
            (Some(SimTime::from_ns(truth.from_ns)), until)
        }
        _ => (fault, repair),
    };
    let stalls = stalls(job, log);
    let stall = stalls.iter().fold(0.0, |sum, (from, until)| sum + until.since(*from).seconds());
    let span = |step: &&(SimTime, SimTime)| step.1.since(step.0).seconds();
    let mean = |spans: Vec<f64>| (!spans.is_empty()).then(|| spans.iter().sum::<f64>() / spans.len() as f64);
    let earlier =
        |fault: SimTime| mean(steps.iter().filter(|step| step.1 <= fault).map(|s| span(&s)).collect());
    let before = match fault {
        None => Err("nothing breaks after the start".to_owned()),
        Some(fault) => {
            earlier(fault).ok_or_else(|| format!("no step ended before the fault at {}", moment(fault)))
        }
    };
    let (fault, mean_before) = match (fault, &before) {
        (Some(fault), Ok(before)) => (fault, *before),
        (_, known) => {
            let none = || known.clone();
            let lost = stop.map_or_else(none, |stop| Err(stop.words()));
            return Fared { stall, loss: none(), at_end: none(), lost, before };
        }
    };
    let quiet = |step: &&(SimTime, SimTime)| {
        step.0 >= fault
            && repair.is_none_or(|repair| step.1 <= repair)
            && !stalls.iter().any(|stall| stall.0 < step.1 && step.0 < stall.1)
    };
    let after = mean(steps.iter().filter(quiet).map(|s| span(&s)).collect());
    let after = after.ok_or_else(|| "no undisturbed step between fault and repair".to_owned());
    let later = steps.iter().filter(|step| step.1 > fault);
    // Simulated time that comes to its end stops nothing.
    let dead = stop.is_some_and(|stop| stop.cause != Cause::TimeUp);
    let last = steps.last().map(|last| mean_before / span(&last));
    Fared {
        stall,
        loss: if dead { Ok(1.0) } else { after.map(|after| 1.0 - mean_before / after) },
        at_end: if dead { Ok(0.0) } else { last.ok_or_else(|| "no step ended".to_owned()) },
        lost: match stop {
            Some(stop) => Err(stop.words()),
            None => Ok(longer(later.map(|step| span(&step) - mean_before))),
        },
        before,
    }
}

/// Seconds that steps took longer, by how much each did. Steps begin and end at whole picoseconds: less than one of them
/// for each step is rounding, and no time.
fn longer(each: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut rounding) = (0.0, 0.0);
    for seconds in each {
        sum += seconds;
        rounding += SimTime::from_ps(1).seconds();
    }
    if sum.abs() <= rounding { 0.0 } else { sum }
}

/// Whether a queue pair of a job died.
fn has_halted(job: u32, log: &RunLog) -> bool {
    log.incidents.iter().any(|incident| matches!(incident.kind, IncidentKind::Halted(row) if row == job))
}

/// Since when a queue pair of a job waited that died at a time: from then on the job could not go on.
pub fn waited_since(job: u32, log: &RunLog, died: SimTime) -> SimTime {
    let own = stalls((job, SimTime::NEVER), log);
    own.into_iter().find(|(since, until)| *since <= died && died <= *until).map_or(died, |(since, _)| since)
}

/// From each stall of a job to its end, which is that of its processes at the latest.
pub(crate) fn stalls((job, quits): (u32, SimTime), log: &RunLog) -> Vec<(SimTime, SimTime)> {
    let mut stalls = Vec::new();
    let mut since = None;
    for incident in &log.incidents {
        match incident.kind {
            IncidentKind::Stalled(row) if row == job => since = since.or(Some(incident.at)),
            IncidentKind::Resumed(row) | IncidentKind::Halted(row) if row == job => {
                stalls.extend(since.take().map(|since| (since, incident.at)));
            }
            _ => {}
        }
    }
    stalls.extend(since.map(|since| (since, log.end.min(quits).max(since))));
    stalls
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_engine::Incident;
    use railtwin_fabric::CableId;

    /// The first job, which comes to its end.
    const FIRST: (u32, SimTime) = (0, SimTime::NEVER);

    fn seconds(s: f64) -> SimTime {
        SimTime::from_seconds(s)
    }

    fn log(incidents: &[(f64, IncidentKind)]) -> RunLog {
        let incidents = incidents.iter().map(|&(at, kind)| Incident { at: seconds(at), kind }).collect();
        RunLog { incidents, end: seconds(100.0), ..RunLog::default() }
    }

    fn close(ours: Result<f64, String>, expected: f64) {
        assert!(ours.as_ref().is_ok_and(|ours| (ours - expected).abs() < 1e-9), "{ours:?} is not {expected}");
    }

    #[test]
    fn a_loss_is_told_from_quiet_steps_and_the_time_lost_from_all() {
        let (down, up) = (IncidentKind::Down(CableId(0)), IncidentKind::Up(CableId(0)));
        let (stalled, resumed) = (IncidentKind::Stalled(0), IncidentKind::Resumed(0));
        let log = log(&[(2.5, down), (2.5, stalled), (3.0, resumed), (9.0, up)]);
        let ends = [0.0, 1.0, 2.0, 3.75, 5.0, 6.25, 7.5, 8.75, 9.9, 10.9];
        let steps: Vec<_> = ends.windows(2).map(|w| (seconds(w[0]), seconds(w[1]))).collect();
        let fared = fared(FIRST, &steps, &log, &[], None);
        assert_eq!(fared.stall, 0.5);
        close(fared.loss, 1.0 - 1.0 / 1.25);
        close(fared.at_end, 1.0);
        close(fared.lost, 0.75 + 4.0 * 0.25 + 0.15);
        assert_eq!(super::fared((1, SimTime::NEVER), &steps, &log, &[], None).stall, 0.0, "another job");
    }

    #[test]
    fn what_rounding_leaves_is_no_time() {
        let log = log(&[(2.5, IncidentKind::Down(CableId(0)))]);
        // Steps of a third of a second end at whole picoseconds, some of them one later.
        let ends = [0, 1_000_000_000_001, 2_000_000_000_001, 3_000_000_000_001, 4_000_000_000_001]
            .map(SimTime::from_ps);
        let lost = |ends: &[SimTime]| {
            let steps: Vec<_> = ends.windows(2).map(|w| (w[0], w[1])).collect();
            fared(FIRST, &steps, &log, &[], None).lost.unwrap()
        };
        assert_eq!(lost(&ends), 0.0);
        assert!(lost(&[ends[0], ends[1], ends[2], seconds(3.0), seconds(3.9)]) < -0.09, "less is less");
    }

    #[test]
    fn a_stall_ends_with_the_processes() {
        let (down, stalled) = (IncidentKind::Down(CableId(0)), IncidentKind::Stalled(0));
        let log = log(&[(1.5, down), (1.5, stalled)]);
        let steps = [(SimTime::ZERO, seconds(1.0))];
        let stall = |until| fared((0, until), &steps, &log, &[], None).stall;
        assert_eq!((stall(seconds(4.0)), stall(SimTime::NEVER)), (2.5, 98.5));
        let lost = fared((0, seconds(4.0)), &steps, &log, &[], None).lost.unwrap();
        assert!(lost == 0.0 && lost.is_sign_positive(), "no step ended after the fault: {lost}");
    }

    #[test]
    fn a_job_that_halts_loses_everything() {
        let log = log(&[
            (1.5, IncidentKind::Down(CableId(0))),
            (1.5, IncidentKind::Stalled(0)),
            (9.5, IncidentKind::Halted(0)),
        ]);
        let steps = [(SimTime::ZERO, seconds(1.0))];
        let stop = Some(Stop { at: seconds(9.5), cause: Cause::Halted });
        let fared = fared(FIRST, &steps, &log, &[], stop);
        assert_eq!((fared.stall, fared.loss, fared.at_end), (8.0, Ok(1.0), Ok(0.0)));
        assert_eq!(fared.lost, Err("halted at 9.5 s".to_owned()));
    }

    #[test]
    fn what_cannot_be_said_has_its_reason() {
        let steps = [(SimTime::ZERO, seconds(1.0)), (seconds(1.0), seconds(3.0))];
        let none = fared(FIRST, &steps, &log(&[]), &[], None);
        assert_eq!(none.lost, Err("nothing breaks after the start".to_owned()));
        let early = fared(FIRST, &steps, &log(&[(0.5, IncidentKind::Down(CableId(0)))]), &[], None);
        assert_eq!(early.before, Err("no step ended before the fault at 500 ms".to_owned()));
        assert_eq!(early.loss, early.before);
        let broken = log(&[(1.5, IncidentKind::Down(CableId(0)))]);
        let late = fared(FIRST, &steps, &broken, &[], None);
        assert_eq!(late.loss, Err("no undisturbed step between fault and repair".to_owned()));
        assert_eq!(late.lost, Ok(1.0));
        // A rank that never comes is no death of a queue pair, and costs as much.
        let hung = fared(FIRST, &steps, &broken, &[], Some(Stop { at: seconds(3.0), cause: Cause::Hung }));
        assert_eq!((hung.loss, hung.lost), (Ok(1.0), Err("hung from 3 s on".to_owned())));
        let stop = Some(Stop { at: seconds(9.5), cause: Cause::Halted });
        let from_the_start = fared(FIRST, &[], &log(&[]), &[], stop);
        assert_eq!(from_the_start.lost, Err("halted at 9.5 s".to_owned()));
        assert_eq!(from_the_start.loss, Err("nothing breaks after the start".to_owned()));
    }
}

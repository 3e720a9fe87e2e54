//! What faults cost a job: throughput, time, or the job itself (HPN section 9.3).
use std::collections::BTreeMap;

use railtwin_engine::{Case, IncidentKind, RunLog};
use railtwin_records::fault::FaultKind;
use railtwin_scenario::{Scenario, expected_faults};
use railtwin_store::Figure;
use railtwin_units::SimTime;
use railtwin_workload::{Plan, Work};

use crate::fault_states::{Span, StepTimes, stalls};
use crate::figures::declared::{Declared, job as declared, network};
use crate::simulate::{Replicate, Simulation};
use crate::stops::{Cause, moment};

/// Why nothing can be held against a state before the faults.
const NO_CHANGE: &str = "no fault begins or ends within the run";

/// What faults cost one job in one replicate. What has no value says why.
#[derive(Clone, PartialEq, Debug)]
pub struct Fared {
    /// Seconds in which a queue pair waited.
    pub stall: f64,
    /// 1 − throughput under the fault over before, in steps of one state; 1 of a job that never moves again.
    pub loss: Result<f64, String>,
    /// Throughput of the last step over before the fault; 0 of a job that never moves again.
    pub at_end: Result<f64, String>,
    /// Seconds that steps took longer than those before the fault; none of a job that did not end.
    pub lost: Result<f64, String>,
    /// The same over the time from the first fault to the end of the last step.
    pub lost_share: Result<f64, String>,
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
    let job = &case.work.jobs[row];
    let log = &simulation.log;
    let fared = fared(chosen, row, &stalls((row as u32, job.until), log));
    let computing = fared.before.clone().map(|before| 1.0 - computing(&job.plan) / before);
    let note = "replicates in which a queue pair died";
    let mut rest = of_states(chosen, row);
    rest.extend([
        declared::THROUGHPUT_LOSS.given(fared.loss, "steps within one state of faults against those before"),
        declared::THROUGHPUT_AT_END.given(fared.at_end, "last step against those before the fault"),
        declared::TIME_LOST.given(fared.lost, "what steps took longer than those before the fault"),
        declared::NOT_COMPUTING_BEFORE_FAULT.given(computing, "of a step, not computing, busiest lane"),
    ]);
    let share = "of the time from the first fault to the end of the last step";
    Costs {
        lead: vec![
            declared::HALTED.figure(halted as f64, note),
            declared::STALL_TIME.figure(fared.stall, "time in which a queue pair waited"),
            declared::TIME_LOST_SHARE.given(fared.lost_share, share),
        ],
        rest,
    }
}

/// Step times of a job by the state of faults that its steps lie in; nothing where the state of the run never changes
/// and no fault hits a step.
fn of_states(chosen: &Replicate, row: usize) -> Vec<Figure> {
    let times = chosen.step_times(row);
    if chosen.first_change.is_none() && times.longest_hit().is_none() {
        return Vec::new();
    }
    let mut figures = Vec::new();
    let mut push = |of: Declared, value: Option<(f64, usize)>, words: &str| {
        let Some((seconds, count)) = value else { return };
        let noun = if count == 1 { "step" } else { "steps" };
        figures.push(of.figure(seconds, &format!("{count} {noun} {words}")));
    };
    let change = chosen.first_change.map(|change| format!(" at {}", moment(change))).unwrap_or_default();
    push(
        declared::STEP_TIME_BEFORE_FAULT,
        times.mean(Span::Before),
        &format!("that ended before the fault{change}"),
    );
    push(declared::STEP_TIME_UNDER_FAULT, times.slowest_under(), "within one state of faults");
    push(declared::STEP_TIME_HIT, times.longest_hit(), "in which a fault began or ended, or that stalled");
    push(declared::STEP_TIME_AFTER_REPAIR, times.mean(Span::After), "after all faults ended");
    let own = chosen.busbw.iter().filter(|operation| operation.0 == row);
    let bandwidths = StepTimes::of(own.map(|(_, bandwidth, span)| (*span, *bandwidth)));
    let note = "operations within one state of faults, of several states the slowest";
    let mean = |span: Span| bandwidths.mean(span).map(|(mean, _)| mean);
    let states = [
        (declared::BUSBW_BEFORE_FAULT, mean(Span::Before), "operations that ended before the first fault"),
        (declared::BUSBW_UNDER_FAULT, bandwidths.least_under(), note),
        (
            declared::BUSBW_HIT,
            bandwidths.least_hit(),
            "the slowest in which a fault began or ended, or that stalled",
        ),
        (declared::BUSBW_AFTER_REPAIR, mean(Span::After), "operations after all faults ended"),
    ];
    figures.extend(states.into_iter().filter_map(|(of, value, note)| Some(of.figure(value?, note))));
    let own = chosen.steps.iter().filter(|step| step.0 == row);
    let ends = own.clone().map(|step| step.2 + step.3).max();
    let starts = own.map(|step| step.2).min();
    if let (Some(start), Some(end), None) = (starts, ends, chosen.stops[row]) {
        figures.push(declared::JOB_TIME.figure(end.since(start).seconds(), "all steps, whatever happened"));
    }
    figures
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

/// What faults cost the job in this row of a replicate, whose queue pairs waited in `stalls`.
pub fn fared(replicate: &Replicate, row: usize, stalls: &[(SimTime, SimTime)]) -> Fared {
    let stop = replicate.stops[row];
    let stall = stalls.iter().fold(0.0, |sum, (from, until)| sum + until.since(*from).seconds());
    let times = replicate.step_times(row);
    let before = match replicate.first_change {
        None => Err(NO_CHANGE.to_owned()),
        Some(fault) => times
            .mean(Span::Before)
            .map(|(seconds, _)| seconds)
            .ok_or_else(|| format!("no step ended before the fault at {}", moment(fault))),
    };
    let (fault, mean_before) = match (replicate.first_change, &before) {
        (Some(fault), Ok(before)) => (fault, *before),
        (_, known) => {
            let none = || known.clone();
            let lost = stop.map_or_else(none, |stop| Err(stop.words()));
            return Fared { stall, loss: none(), at_end: none(), lost_share: lost.clone(), lost, before };
        }
    };
    let steps = || replicate.steps.iter().filter(|step| step.0 == row);
    let later = steps().filter(|step| step.2 + step.3 > fault);
    let end = steps().map(|step| step.2 + step.3).max().unwrap_or(fault);
    // Simulated time that comes to its end stops nothing.
    let dead = stop.is_some_and(|stop| stop.cause != Cause::TimeUp);
    let under = times.slowest_under().ok_or_else(|| "no undisturbed step under a fault".to_owned());
    let last = steps().next_back().map(|last| mean_before / last.3.seconds());
    let lost = match stop {
        Some(stop) => Err(stop.words()),
        None => Ok(longer(later.map(|step| step.3.seconds() - mean_before))),
    };
    let since = end.max(fault).since(fault).seconds();
    Fared {
        stall,
        loss: if dead { Ok(1.0) } else { under.map(|(under, _)| 1.0 - mean_before / under) },
        at_end: if dead { Ok(0.0) } else { last.ok_or_else(|| "no step ended".to_owned()) },
        lost_share: lost.clone().and_then(|lost| match since > 0.0 {
            true => Ok(lost / since),
            false => Err(format!("no step ended after the fault at {}", moment(fault))),
        }),
        lost,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault_states::FaultStates;
    use crate::stops::Stop;
    use railtwin_engine::Incident;
    use railtwin_fabric::CableId;

    const STALLED: IncidentKind = IncidentKind::Stalled(0);
    const RESUMED: IncidentKind = IncidentKind::Resumed(0);
    const DOWN: IncidentKind = IncidentKind::Down(CableId(0));
    const UP: IncidentKind = IncidentKind::Up(CableId(0));

    fn seconds(s: f64) -> SimTime {
        SimTime::from_seconds(s)
    }

    /// What befell a job whose steps end at `ends`, one after the other, and that `stop` kept from its end.
    fn of(incidents: &[(f64, IncidentKind)], ends: &[SimTime], until: SimTime, stop: Option<Stop>) -> Fared {
        let incidents = incidents.iter().map(|&(at, kind)| Incident { at: seconds(at), kind }).collect();
        let log = RunLog { incidents, end: seconds(100.0), ..RunLog::default() };
        let states = FaultStates::of_log(&log);
        let steps: Vec<_> = ends.windows(2).zip(0..).map(|(w, i)| (0, i, w[0], w[1].since(w[0]))).collect();
        let waits = stalls((0, until), &log);
        let hit = |step: &(usize, u32, SimTime, SimTime)| {
            waits.iter().any(|wait| wait.0 < step.2 + step.3 && step.2 < wait.1)
        };
        let span = |step: &(usize, u32, SimTime, SimTime)| match hit(step) {
            true => Span::Hit,
            false => states.span(0, step.2, step.2 + step.3),
        };
        let replicate = Replicate {
            spans: steps.iter().map(span).collect(),
            steps,
            first_change: states.first_change(),
            stops: vec![stop],
            ..Replicate::default()
        };
        fared(&replicate, 0, &waits)
    }

    fn at(ends: &[f64]) -> Vec<SimTime> {
        ends.iter().map(|&end| seconds(end)).collect()
    }

    fn close(ours: Result<f64, String>, expected: f64) {
        assert!(ours.as_ref().is_ok_and(|ours| (ours - expected).abs() < 1e-9), "{ours:?} is not {expected}");
    }

    #[test]
    fn a_loss_is_of_undisturbed_steps_and_the_time_lost_of_all() {
        let ends = at(&[0.0, 1.0, 2.0, 3.75, 5.0, 6.25, 7.5, 8.75, 9.9, 10.9]);
        let fared =
            of(&[(2.5, DOWN), (2.5, STALLED), (3.0, RESUMED), (9.0, UP)], &ends, SimTime::NEVER, None);
        assert_eq!(fared.stall, 0.5);
        close(fared.before, 1.0);
        close(fared.loss, 1.0 - 1.0 / 1.25);
        close(fared.at_end, 1.0);
        close(fared.lost.clone(), 0.75 + 4.0 * 0.25 + 0.15);
        close(fared.lost_share, fared.lost.unwrap() / (10.9 - 2.5));
    }

    #[test]
    fn what_rounding_leaves_is_no_time() {
        // Steps of a third of a second end at whole picoseconds, some of them one later.
        let ends = [0, 1_000_000_000_001, 2_000_000_000_001, 3_000_000_000_001, 4_000_000_000_001]
            .map(SimTime::from_ps);
        let lost = |ends: &[SimTime]| of(&[(2.5, DOWN)], ends, SimTime::NEVER, None).lost.unwrap();
        assert_eq!(lost(&ends), 0.0);
        assert!(lost(&[ends[0], ends[1], ends[2], seconds(3.0), seconds(3.9)]) < -0.09, "less is less");
    }

    #[test]
    fn a_stall_ends_with_the_processes() {
        let stalled = [(1.5, DOWN), (1.5, STALLED)];
        let stall = |until| of(&stalled, &at(&[0.0, 1.0]), until, None).stall;
        assert_eq!((stall(seconds(4.0)), stall(SimTime::NEVER)), (2.5, 98.5));
        let lost = of(&stalled, &at(&[0.0, 1.0]), seconds(4.0), None).lost.unwrap();
        assert!(lost == 0.0 && lost.is_sign_positive(), "no step ended after the fault: {lost}");
    }

    #[test]
    fn a_job_that_halts_loses_everything() {
        let stop = Some(Stop { at: seconds(9.5), cause: Cause::Halted });
        let halts = [(1.5, DOWN), (1.5, STALLED), (9.5, IncidentKind::Halted(0))];
        let fared = of(&halts, &at(&[0.0, 1.0]), SimTime::NEVER, stop);
        assert_eq!((fared.stall, fared.loss, fared.at_end), (8.0, Ok(1.0), Ok(0.0)));
        assert_eq!(fared.lost, Err("halted at 9.5 s".to_owned()));
    }

    #[test]
    fn what_cannot_be_said_has_its_reason() {
        let ends = at(&[0.0, 1.0, 3.0]);
        let of = |incidents: &[(f64, IncidentKind)], ends: &[SimTime], stop| {
            of(incidents, ends, SimTime::NEVER, stop)
        };
        let none = of(&[], &ends, None);
        assert_eq!(none.lost, Err(NO_CHANGE.to_owned()));
        let early = of(&[(0.5, DOWN)], &ends, None);
        assert_eq!(early.before, Err("no step ended before the fault at 500 ms".to_owned()));
        assert_eq!(early.loss, early.before);
        let late = of(&[(1.5, DOWN)], &ends, None);
        assert_eq!(late.loss, Err("no undisturbed step under a fault".to_owned()));
        assert_eq!(late.lost, Ok(1.0));
        // A rank that never comes is no death of a queue pair, and costs as much.
        let hung = of(&[(1.5, DOWN)], &ends, Some(Stop { at: seconds(3.0), cause: Cause::Hung }));
        assert_eq!((hung.loss, hung.lost), (Ok(1.0), Err("hung from 3 s on".to_owned())));
        let stop = Some(Stop { at: seconds(9.5), cause: Cause::Halted });
        let from_the_start = of(&[], &at(&[0.0]), stop);
        assert_eq!(from_the_start.lost, Err("halted at 9.5 s".to_owned()));
        assert_eq!(from_the_start.loss, Err(NO_CHANGE.to_owned()));
    }
}

//! What faults cost a job: throughput, time, or the job itself (HPN section 9.3).
use std::collections::BTreeMap;

use railtwin_engine::{Case, IncidentKind, RunLog};
use railtwin_records::fault::{FaultKind, Truth};
use railtwin_scenario::{Scenario, expected_faults};
use railtwin_store::Figure;
use railtwin_units::SimTime;
use railtwin_workload::{Plan, Work};

use crate::simulate::Simulation;

/// How one job fared.
#[derive(Clone, PartialEq, Debug)]
pub struct Fared {
    /// Whether a queue pair died and the job with it.
    pub halted: bool,
    /// Seconds in which a queue pair waited.
    pub stall: f64,
    /// 1 − throughput after the fault over before, in steps that neither stalled nor saw a repair.
    pub loss: Option<f64>,
    /// Throughput of the last step over before the fault; 0 of a job that halted.
    pub at_end: Option<f64>,
    /// Seconds that steps took longer than those before the fault; none of a job that halted.
    pub lost: Option<f64>,
    /// Mean seconds of a step before the fault.
    pub before: Option<f64>,
}

/// Figures of the chosen replicate: of the first job, and with the job's name where there are several.
pub fn figures(case: &Case, simulation: &Simulation) -> Vec<Figure> {
    if case.faults.is_empty() && case.truths.is_empty() {
        return Vec::new();
    }
    let mut figures = Vec::new();
    let steps = &simulation.replicates[simulation.chosen as usize].steps;
    for (row, job) in case.work.jobs.iter().enumerate() {
        let own: Vec<(SimTime, SimTime)> =
            steps.iter().filter(|step| step.0 == row).map(|step| (step.2, step.2 + step.3)).collect();
        let fared = fared(row as u32, &own, &simulation.log, &case.truths);
        let mut push = |name: &str, value: Option<f64>, unit: &str, note: &str| {
            let names = [(row == 0).then(|| name.to_owned()), several(case, name, &job.name)];
            for name in names.into_iter().flatten() {
                let mut figure = Figure::new(&name, value.unwrap_or(f64::NAN), unit);
                note.clone_into(&mut figure.note);
                figures.push(figure);
            }
        };
        push("halted", Some(f64::from(u8::from(fared.halted))), "count", "1 = a queue pair died");
        push("stall_time", Some(fared.stall), "s", "time in which a queue pair waited");
        push("throughput_loss", fared.loss, "ratio", "steps after the fault against those before it");
        push("throughput_at_end", fared.at_end, "ratio", "last step against those before the fault");
        push("time_lost", fared.lost, "s", "what steps took longer than those before the fault");
        let end = simulation.log.end.seconds();
        push("time_lost_share", fared.lost.map(|lost| lost / end), "ratio", "of the whole run");
        let share = fared.before.map(|before| 1.0 - computing(&job.plan) / before);
        push("not_computing_before_fault", share, "ratio", "of a step, not computing, busiest lane");
    }
    figures
}

/// How many faults `[failures]` drew, in all and by kind, beside the mean of its rates; nothing without it.
pub fn drawn(scenario: &Scenario, case: &Case) -> Vec<Figure> {
    if scenario.failures.is_none() {
        return Vec::new();
    }
    let mut counts: BTreeMap<FaultKind, u32> = BTreeMap::new();
    for truth in case.truths.iter().filter(|truth| truth.is_drawn()) {
        *counts.entry(truth.kind).or_default() += 1;
    }
    let figure = |name: &str, value: f64, note: &str| {
        let mut figure = Figure::new(name, value, "count");
        note.clone_into(&mut figure.note);
        figure
    };
    let total = counts.values().sum::<u32>();
    let mut figures = vec![figure("faults_drawn", f64::from(total), "by [failures], whole window")];
    if let Some(mean) = expected_faults(scenario, case) {
        figures.push(figure("faults_expected", mean, "what the rates of [failures] give on average"));
    }
    figures.extend(counts.iter().map(|(kind, count)| {
        let name = format!("drawn_{}", kind.name().replace('-', "_"));
        figure(&name, f64::from(*count), "of the drawn faults, those of this kind")
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

/// The name of a figure of one of several jobs.
fn several(case: &Case, figure: &str, job: &str) -> Option<String> {
    (case.work.jobs.len() > 1).then(|| format!("{figure}_{}", job.replace('-', "_")))
}

/// How a job fared whose finished steps started and ended at `steps`, in order. Where no cable broke, faults count
/// from the first that `truths` tells of.
pub fn fared(job: u32, steps: &[(SimTime, SimTime)], log: &RunLog, truths: &[Truth]) -> Fared {
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
    let halted = log.incidents.iter().any(|incident| incident.kind == IncidentKind::Halted(job));
    let stalls = stalls(job, log);
    let stall = stalls.iter().fold(0.0, |sum, (from, until)| sum + until.since(*from).seconds());
    let mut fared = Fared { halted, stall, loss: None, at_end: None, lost: None, before: None };
    let Some(fault) = fault else { return fared };
    let span = |step: &&(SimTime, SimTime)| step.1.since(step.0).seconds();
    let mean = |spans: Vec<f64>| (!spans.is_empty()).then(|| spans.iter().sum::<f64>() / spans.len() as f64);
    let Some(before) = mean(steps.iter().filter(|step| step.1 <= fault).map(|s| span(&s)).collect()) else {
        return fared;
    };
    fared.before = Some(before);
    let quiet = |step: &&(SimTime, SimTime)| {
        step.0 >= fault
            && repair.is_none_or(|repair| step.1 <= repair)
            && !stalls.iter().any(|stall| stall.0 < step.1 && step.0 < stall.1)
    };
    let after = mean(steps.iter().filter(quiet).map(|s| span(&s)).collect());
    fared.loss = if halted { Some(1.0) } else { after.map(|after| 1.0 - before / after) };
    fared.at_end = if halted { Some(0.0) } else { steps.last().map(|last| before / span(&last)) };
    let later = steps.iter().filter(|step| step.1 > fault);
    fared.lost = (!halted).then(|| later.map(|step| span(&step) - before).sum());
    fared
}

/// From each stall of a job to its end.
fn stalls(job: u32, log: &RunLog) -> Vec<(SimTime, SimTime)> {
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
    stalls.extend(since.map(|since| (since, log.end.max(since))));
    stalls
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_engine::Incident;
    use railtwin_fabric::CableId;

    fn seconds(s: f64) -> SimTime {
        SimTime::from_seconds(s)
    }

    fn log(incidents: &[(f64, IncidentKind)]) -> RunLog {
        let incidents = incidents.iter().map(|&(at, kind)| Incident { at: seconds(at), kind }).collect();
        RunLog { incidents, end: seconds(100.0), ..RunLog::default() }
    }

    fn close(ours: Option<f64>, expected: f64) {
        assert!(ours.is_some_and(|ours| (ours - expected).abs() < 1e-9), "{ours:?} is not {expected}");
    }

    #[test]
    fn a_loss_is_told_from_quiet_steps_and_the_time_lost_from_all() {
        let (down, up) = (IncidentKind::Down(CableId(0)), IncidentKind::Up(CableId(0)));
        let (stalled, resumed) = (IncidentKind::Stalled(0), IncidentKind::Resumed(0));
        let log = log(&[(2.5, down), (2.5, stalled), (3.0, resumed), (9.0, up)]);
        let ends = [0.0, 1.0, 2.0, 3.75, 5.0, 6.25, 7.5, 8.75, 9.9, 10.9];
        let steps: Vec<_> = ends.windows(2).map(|w| (seconds(w[0]), seconds(w[1]))).collect();
        let fared = fared(0, &steps, &log, &[]);
        assert!(!fared.halted);
        assert_eq!(fared.stall, 0.5);
        close(fared.loss, 1.0 - 1.0 / 1.25);
        close(fared.at_end, 1.0);
        close(fared.lost, 0.75 + 4.0 * 0.25 + 0.15);
        assert_eq!(super::fared(1, &steps, &log, &[]).stall, 0.0, "another job");
    }

    #[test]
    fn a_job_that_halts_loses_everything() {
        let log = log(&[
            (1.5, IncidentKind::Down(CableId(0))),
            (1.5, IncidentKind::Stalled(0)),
            (9.5, IncidentKind::Halted(0)),
        ]);
        let fared = fared(0, &[(SimTime::ZERO, seconds(1.0))], &log, &[]);
        assert_eq!((fared.halted, fared.stall, fared.loss, fared.at_end), (true, 8.0, Some(1.0), Some(0.0)));
        assert_eq!(fared.lost, None);
    }
}

//! What faults cost a job: throughput, time, or the job itself (HPN section 9.3).
use railtwin_engine::{Case, IncidentKind, RunLog};
use railtwin_store::Figure;
use railtwin_units::SimTime;

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
}

/// Figures of the chosen replicate: of the first job, and with the job's name where there are several.
pub fn figures(case: &Case, simulation: &Simulation) -> Vec<Figure> {
    if case.faults.is_empty() {
        return Vec::new();
    }
    let mut figures = Vec::new();
    let steps = &simulation.replicates[simulation.chosen as usize].steps;
    for (row, job) in case.work.jobs.iter().enumerate() {
        let own: Vec<(SimTime, SimTime)> =
            steps.iter().filter(|step| step.0 == row).map(|step| (step.2, step.2 + step.3)).collect();
        let fared = fared(row as u32, &own, &simulation.log);
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
    }
    figures
}

/// The name of a figure of one of several jobs.
fn several(case: &Case, figure: &str, job: &str) -> Option<String> {
    (case.work.jobs.len() > 1).then(|| format!("{figure}_{}", job.replace('-', "_")))
}

/// How a job fared whose finished steps started and ended at `steps`, in order.
pub fn fared(job: u32, steps: &[(SimTime, SimTime)], log: &RunLog) -> Fared {
    let times = |wanted: fn(&IncidentKind) -> bool| {
        log.incidents.iter().filter(move |incident| wanted(&incident.kind)).map(|incident| incident.at)
    };
    let fault = times(|kind| matches!(kind, IncidentKind::Down(_))).find(|&at| at > SimTime::ZERO);
    let repair = times(|kind| matches!(kind, IncidentKind::Up(_))).find(|&at| fault.is_some_and(|f| at > f));
    let halted = log.incidents.iter().any(|incident| incident.kind == IncidentKind::Halted(job));
    let stalls = stalls(job, log);
    let stall = stalls.iter().map(|(from, until)| until.since(*from).seconds()).sum();
    let mut fared = Fared { halted, stall, loss: None, at_end: None, lost: None };
    let Some(fault) = fault else { return fared };
    let span = |step: &&(SimTime, SimTime)| step.1.since(step.0).seconds();
    let mean = |spans: Vec<f64>| (!spans.is_empty()).then(|| spans.iter().sum::<f64>() / spans.len() as f64);
    let Some(before) = mean(steps.iter().filter(|step| step.1 <= fault).map(|s| span(&s)).collect()) else {
        return fared;
    };
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

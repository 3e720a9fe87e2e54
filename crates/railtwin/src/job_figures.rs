//! The figures of one job, and of several together.
//!
//! All of them are of the whole job: where it did not end in some draw of the hashes they have no value and say why.
use railtwin_engine::Case;
use railtwin_store::Figure;
use railtwin_units::SimTime;
use railtwin_workload::{Axis, Operation, Work};

use crate::busbw::{PerNic, in_lead, per_nic};
use crate::exposed::axis_name;
use crate::fault_states::Span;
use crate::figures::declared::{Declared, job};
use crate::figures::quantile;
use crate::simulate::{Replicate, Simulation, mean_step};
use crate::{faults, stops};

/// Whether a job computes, rather than running collectives and nothing else.
pub fn computes(case: &Case, row: usize) -> bool {
    let computes = |operation: &Operation| matches!(operation.work, Work::Compute(_));
    case.work.jobs[row].plan.operations.iter().any(computes)
}

/// Why a job has no figures of the whole of it: it did not end in some replicate. With `named` the job's name stands
/// before the reason where there are several jobs.
pub fn unended(case: &Case, simulation: &Simulation, row: usize, named: bool) -> Option<String> {
    let draws: Vec<_> = simulation.replicates.iter().map(|replicate| replicate.stops[row]).collect();
    let reason = stops::reason(&draws)?;
    let several = named && case.work.jobs.len() > 1;
    Some(if several { format!("{} {reason}", case.work.jobs[row].name) } else { reason })
}

/// Seconds of a job's step in each replicate, ascending.
fn steps(case: &Case, simulation: &Simulation, row: usize) -> Result<Vec<f64>, String> {
    if let Some(reason) = unended(case, simulation, row, false) {
        return Err(reason);
    }
    let mut steps: Vec<f64> = simulation.replicates.iter().filter_map(|r| mean_step(r, row)).collect();
    if steps.is_empty() {
        if simulation.replicates.iter().any(|replicate| replicate.steps.iter().any(|step| step.0 == row)) {
            return Err("a fault hits every step".to_owned());
        }
        return Err(match case.work.jobs[row].until {
            SimTime::NEVER => "the job has no operations".to_owned(),
            until => format!("no step ended by {}", stops::moment(until)),
        });
    }
    steps.sort_by(f64::total_cmp);
    Ok(steps)
}

/// Which steps a figure is a mean over, where faults change the state of the run: an addition to its note.
fn span_note(simulation: &Simulation, row: usize) -> String {
    let chosen = &simulation.replicates[simulation.chosen as usize];
    let Some(change) = chosen.first_change else { return String::new() };
    let times = chosen.step_times(row);
    let Some((span, (_, count))) = times.lead().and_then(|span| Some((span, times.mean(span)?))) else {
        return String::new();
    };
    let noun = if count == 1 { "step" } else { "steps" };
    let change = stops::moment(change);
    match span {
        Span::Before => format!("; of {count} {noun} that ended before the fault at {change}"),
        Span::Under(_) => format!("; of {count} {noun} within one state of faults, after {change}"),
        Span::After => format!("; of {count} {noun} after all faults ended"),
        Span::Hit => "; of the only step, in which a fault began or ended".to_owned(),
    }
}

fn share(steps: &[f64], q: f64) -> Result<f64, String> {
    quantile(steps, q).ok_or_else(|| "the job has no operations".to_owned())
}

/// The figures of a job, without its name.
pub fn of_job(case: &Case, simulation: &Simulation, row: usize) -> Vec<Figure> {
    let plan = &case.work.jobs[row].plan;
    let steps = steps(case, simulation, row);
    let at = |q: f64| steps.clone().and_then(|steps| share(&steps, q));
    let some = || at(0.5).and_then(|step| if step > 0.0 { Ok(step) } else { Err(NO_STEP.to_owned()) });
    let note = "median over replicates of the hash seeds";
    let of_span = format!("{note}{}", span_note(simulation, row));
    let mut figures = vec![job::STEP_TIME.given(at(0.5), &of_span)];
    if case.work.jobs[row].until < SimTime::NEVER {
        let ended = |replicate: &Replicate| replicate.steps.iter().filter(|(of, ..)| *of == row).count();
        let mut ended: Vec<f64> = simulation.replicates.iter().map(|one| ended(one) as f64).collect();
        ended.sort_by(f64::total_cmp);
        figures.push(job::STEPS_ENDED.given(share(&ended, 0.5), note));
    }
    if let Some(tokens) = plan.tokens {
        figures.push(job::TOKENS_PER_S.given(some().map(|step| tokens as f64 / step), ""));
    }
    if plan.flops.is_some() || plan.tokens.is_some() {
        let models = case.placements[row].iter().map(|place| case.fabric.host_model(place.host));
        let peak: f64 = models.map(|model| model.gpu_flops.unwrap_or(0) as f64).sum();
        let mfu = match plan.flops {
            None => Err("the FLOPs of the model are unknown".to_owned()),
            Some(_) if peak <= 0.0 => Err("the peak FLOPs of the GPUs are unknown".to_owned()),
            Some(flops) => some().map(|step| flops / (peak * step)),
        };
        let note = "model FLOPs over peak FLOPs of the job's GPUs in a step";
        figures.push(job::MFU.given(mfu, note));
    }
    for (axis, bytes) in &plan.volumes {
        figures.push(job::VOLUME.of(axis.name()).figure(*bytes as f64, "as HPN table 3 counts it"));
    }
    if computes(case, row) {
        exposed(case, simulation, row, &mut figures);
    }
    let whole = || unended(case, simulation, row, false).map_or(Ok(()), Err);
    busbw(&OWN, case, simulation, &[row], &whole, &mut figures);
    if runs_collectives(case, row) {
        let several = case.work.jobs.len() > 1;
        let parts = per_nic(case, simulation, &[row]);
        // One of several jobs has no least and no most of jobs.
        let wanted = OWN.per_nic.iter().filter(|(of, _)| !several || *of == job::BUSBW_PER_NIC_MEAN);
        of_nics(wanted, parts, &whole, &mut figures);
    }
    figures.push(job::STEP_TIME_P5.given(at(0.05), "5th percentile over replicates"));
    figures.push(job::STEP_TIME_P95.given(at(0.95), "95th percentile over replicates"));
    figures
}

/// Figures of all jobs together, for a run of several.
pub fn totals(case: &Case, simulation: &Simulation) -> Vec<Figure> {
    let rows: Vec<usize> = (0..case.work.jobs.len()).collect();
    let mut figures = Vec::new();
    let longest = rows.iter().try_fold(0.0_f64, |longest, &row| {
        let step = steps(case, simulation, row).and_then(|steps| share(&steps, 0.5));
        // What another job goes on with may have come to no step.
        if step.is_err() && case.work.jobs[row].goes_on_as.is_some() {
            return Ok(longest);
        }
        Ok(longest.max(step.map_err(|reason| format!("{} {reason}", case.work.jobs[row].name))?))
    });
    let costs = || rows.iter().flat_map(|&row| faults::of_job(case, simulation, row).lead);
    let of =
        |of: Declared| costs().filter(move |figure| figure.name == of.name).filter_map(|figure| figure.value);
    if costs().next().is_some() {
        let halted = of(job::HALTED).filter(|&replicates| replicates > 0.0).count();
        let note = "jobs of which a queue pair died in some replicate";
        figures.push(job::JOBS_HALTED.figure(halted as f64, note));
        let stall = of(job::STALL_TIME).fold(0.0, f64::max);
        figures.push(job::JOBS_STALL_TIME_MAX.figure(stall, "the job that waited longest"));
    }
    let note = "the job whose steps take longest";
    figures.push(job::JOBS_STEP_TIME_MAX.given(longest, note));
    let running: Vec<usize> = rows.into_iter().filter(|&row| runs_collectives(case, row)).collect();
    let stopped = || running.iter().find_map(|&row| unended(case, simulation, row, true)).map_or(Ok(()), Err);
    busbw(&ALL, case, simulation, &running, &stopped, &mut figures);
    if !running.is_empty() {
        of_nics(ALL.per_nic.iter(), per_nic(case, simulation, &running), &stopped, &mut figures);
    }
    figures
}

/// Whether bus bandwidths are of a job: all that it does are collectives.
fn runs_collectives(case: &Case, row: usize) -> bool {
    let operations = &case.work.jobs[row].plan.operations;
    !operations.is_empty() && !computes(case, row)
}

/// Exposed time of a step by axis, in the chosen replicate; in a job that did not end, of the axes that its plan has.
fn exposed(case: &Case, simulation: &Simulation, row: usize, figures: &mut Vec<Figure>) {
    let of = |axis: Option<Axis>| job::EXPOSED.of(&axis_name(axis).replace('-', "_"));
    let note = format!(
        "of a step, mean over steps and lanes; replicate with the median step time{}",
        span_note(simulation, row)
    );
    if let Some(reason) = unended(case, simulation, row, false) {
        let operations = &case.work.jobs[row].plan.operations;
        let used =
            crate::exposed::ORDER.iter().copied().filter(|axis| operations.iter().any(|o| o.axis == *axis));
        let missing = |axis| of(axis).given(Err(reason.clone()), &note);
        figures.extend(used.map(Some).chain([None]).map(missing));
        return;
    }
    let parts = &simulation.replicates[simulation.chosen as usize].exposed[row];
    figures.extend(parts.iter().map(|part| of(part.axis).figure(part.exposed, &note)));
}

/// Bus bandwidth over all operations and replicates of jobs that run collectives.
fn busbw(
    bandwidths: &Bandwidths,
    case: &Case,
    simulation: &Simulation,
    rows: &[usize],
    whole: &dyn Fn() -> Result<(), String>,
    figures: &mut Vec<Figure>,
) {
    if !rows.iter().any(|&row| runs_collectives(case, row)) {
        return;
    }
    let all = simulation.replicates.iter().flat_map(|replicate| &replicate.busbw);
    let of_jobs = all.filter(|row| rows.contains(&row.0)).map(|row| row.1);
    let [least, most] = [f64::min, f64::max].map(|of| of_jobs.clone().reduce(of));
    let mut leading: Vec<f64> = simulation
        .replicates
        .iter()
        .flat_map(|replicate| in_lead(replicate, rows))
        .map(|(_, busbw)| busbw)
        .collect();
    leading.sort_by(f64::total_cmp);
    let why = if least.is_some() { ALL_HIT } else { NO_TIME };
    let of = |value: Option<f64>| whole().and_then(|()| value.ok_or_else(|| why.to_owned()));
    let mean = leading.iter().sum::<f64>() / leading.len() as f64;
    let values = [(!leading.is_empty()).then_some(mean), least, most];
    let given = bandwidths
        .all
        .iter()
        .zip(values)
        .map(|(bandwidth, value)| bandwidth.given(of(value), bandwidths.note));
    let first = figures.len();
    figures.extend(given);
    let mean = &mut figures[first];
    if mean.value.is_some() && simulation.replicates.len() > 1 {
        [mean.low, mean.high] = over_draws(simulation, rows);
    }
}

/// Lowest and highest bus bandwidth of a draw: each the mean over its operations, as the figure is over those of all draws.
fn over_draws(simulation: &Simulation, rows: &[usize]) -> [Option<f64>; 2] {
    let means = simulation.replicates.iter().filter_map(|replicate| {
        let own = in_lead(replicate, rows);
        (!own.is_empty()).then(|| own.iter().map(|(_, busbw)| busbw).sum::<f64>() / own.len() as f64)
    });
    let means: Vec<f64> = means.collect();
    [f64::min, f64::max].map(|pick| means.iter().copied().reduce(pick))
}

/// Why nothing is done in a second of a step.
const NO_STEP: &str = "a step takes no time";
/// Why collectives have no mean bandwidth.
const ALL_HIT: &str = "a fault hits every operation";
/// Why a collective has no bandwidth.
const NO_TIME: &str = "no operation takes any time";

/// A bandwidth for each NIC, and which of them it is.
type PartOfNic = (Declared, fn(&PerNic) -> f64);

/// The bandwidths of one job, or of all together.
struct Bandwidths {
    /// Mean, least and most over operations.
    all: [Declared; 3],
    note: &'static str,
    /// For each NIC.
    per_nic: [PartOfNic; 4],
}

const OWN: Bandwidths = Bandwidths {
    all: [job::BUSBW_MEAN, job::BUSBW_MIN, job::BUSBW_MAX],
    note: "bus bandwidth as nccl-tests defines it, stalls and all, over operations and replicates",
    per_nic: [
        (job::BUSBW_PER_NIC_MIN, |parts| parts.min),
        (job::BUSBW_PER_NIC_MEAN, |parts| parts.mean),
        (job::BUSBW_PER_NIC_MAX, |parts| parts.max),
        (job::BUSBW_PER_NIC_SPREAD, |parts| parts.spread),
    ],
};
const ALL: Bandwidths = Bandwidths {
    all: [job::JOBS_BUSBW_MEAN, job::JOBS_BUSBW_MIN, job::JOBS_BUSBW_MAX],
    note: "bus bandwidth as nccl-tests defines it, stalls and all, over jobs, operations and replicates",
    per_nic: [
        (job::JOBS_BUSBW_PER_NIC_MIN, |parts| parts.min),
        (job::JOBS_BUSBW_PER_NIC_MEAN, |parts| parts.mean),
        (job::JOBS_BUSBW_PER_NIC_MAX, |parts| parts.max),
        (job::JOBS_BUSBW_PER_NIC_SPREAD, |parts| parts.spread),
    ],
};

fn of_nics<'a>(
    wanted: impl Iterator<Item = &'a PartOfNic>,
    parts: Option<PerNic>,
    whole: &dyn Fn() -> Result<(), String>,
    figures: &mut Vec<Figure>,
) {
    let note =
        "bus bandwidth for each NIC that a communicator uses in a host; over jobs, then mean over replicates";
    for (bandwidth, of) in wanted {
        let value = whole().and_then(|()| parts.as_ref().map(of).ok_or_else(|| NO_TIME.to_owned()));
        figures.push(bandwidth.given(value, note));
    }
}

//! The figures of one job, and of several together.
//!
//! All of them are of the whole job: where it did not end in some draw of the hashes they have no value and say why.
use railtwin_engine::Case;
use railtwin_store::Figure;
use railtwin_workload::{Axis, Operation, Work};

use crate::busbw::{PerNic, per_nic};
use crate::exposed::axis_name;
use crate::figures::{TOTALS, figure, quantile};
use crate::simulate::{Simulation, mean_step};
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
        return Err("the job has no operations".to_owned());
    }
    steps.sort_by(f64::total_cmp);
    Ok(steps)
}

fn share(steps: &[f64], q: f64) -> Result<f64, String> {
    quantile(steps, q).ok_or_else(|| "the job has no operations".to_owned())
}

/// The figures of a job, without its name.
pub fn of_job(case: &Case, simulation: &Simulation, row: usize) -> Vec<Figure> {
    let job = &case.work.jobs[row];
    let steps = steps(case, simulation, row);
    let at = |q: f64| steps.clone().and_then(|steps| share(&steps, q));
    let some = || at(0.5).and_then(|step| if step > 0.0 { Ok(step) } else { Err(NO_STEP.to_owned()) });
    let note = "median over replicates of the hash seeds";
    let mut figures = vec![figure("step_time", at(0.5), "s", note)];
    if let Some(tokens) = job.plan.tokens {
        figures.push(figure("tokens_per_s", some().map(|step| tokens as f64 / step), "1/s", ""));
    }
    if job.plan.flops.is_some() || job.plan.tokens.is_some() {
        let models = case.placements[row].iter().map(|place| case.fabric.host_model(place.host));
        let peak: f64 = models.map(|model| model.gpu_flops.unwrap_or(0) as f64).sum();
        let mfu = match job.plan.flops {
            None => Err("the FLOPs of the model are unknown".to_owned()),
            Some(_) if peak <= 0.0 => Err("the peak FLOPs of the GPUs are unknown".to_owned()),
            Some(flops) => some().map(|step| flops / (peak * step)),
        };
        let note = "model FLOPs over peak FLOPs of the job's GPUs in a step";
        figures.push(figure("mfu", mfu, "ratio", note));
    }
    for (axis, bytes) in &job.plan.volumes {
        let name = format!("volume_{}", axis.name());
        figures.push(figure(&name, Ok(*bytes as f64), "bytes", "as HPN table 3 counts it"));
    }
    if computes(case, row) {
        exposed(case, simulation, row, &mut figures);
    }
    let whole = || unended(case, simulation, row, false).map_or(Ok(()), Err);
    busbw("", case, simulation, &[row], &whole, &mut figures);
    if runs_collectives(case, row) {
        let several = case.work.jobs.len() > 1;
        let parts = per_nic(case, simulation, &[row]);
        of_nics("", if several { &["mean"] } else { &PARTS }, parts, &whole, &mut figures);
    }
    figures.push(figure("step_time_p5", at(0.05), "s", "5th percentile over replicates"));
    figures.push(figure("step_time_p95", at(0.95), "s", "95th percentile over replicates"));
    figures
}

/// Figures of all jobs together, for a run of several.
pub fn totals(case: &Case, simulation: &Simulation) -> Vec<Figure> {
    let rows: Vec<usize> = (0..case.work.jobs.len()).collect();
    let mut figures = Vec::new();
    let longest = rows.iter().try_fold(0.0_f64, |longest, &row| {
        let step = steps(case, simulation, row).and_then(|steps| share(&steps, 0.5));
        Ok(longest.max(step.map_err(|reason| format!("{} {reason}", case.work.jobs[row].name))?))
    });
    let before = format!("{TOTALS}.");
    let costs = || rows.iter().flat_map(|&row| faults::of_job(case, simulation, row).lead);
    let of = |name: &'static str| costs().filter(move |figure| figure.name == name).filter_map(|f| f.value);
    if costs().next().is_some() {
        let halted = of("halted").filter(|&replicates| replicates > 0.0).count();
        let note = "jobs of which a queue pair died in some replicate";
        figures.push(figure(&format!("{before}halted"), Ok(halted as f64), "count", note));
        let stall = of("stall_time").fold(0.0, f64::max);
        figures.push(figure(
            &format!("{before}stall_time_max"),
            Ok(stall),
            "s",
            "the job that waited longest",
        ));
    }
    let note = "the job whose steps take longest";
    figures.push(figure(&format!("{before}step_time_max"), longest, "s", note));
    let running: Vec<usize> = rows.into_iter().filter(|&row| runs_collectives(case, row)).collect();
    let stopped = || running.iter().find_map(|&row| unended(case, simulation, row, true)).map_or(Ok(()), Err);
    busbw(&before, case, simulation, &running, &stopped, &mut figures);
    if !running.is_empty() {
        of_nics(&before, &PARTS, per_nic(case, simulation, &running), &stopped, &mut figures);
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
    let name = |axis: Option<Axis>| format!("exposed_{}", axis_name(axis).replace('-', "_"));
    let note = "of a step, mean over steps and lanes; replicate with the median step time";
    if let Some(reason) = unended(case, simulation, row, false) {
        let operations = &case.work.jobs[row].plan.operations;
        let used =
            crate::exposed::ORDER.iter().copied().filter(|axis| operations.iter().any(|o| o.axis == *axis));
        let missing = |axis| figure(&name(axis), Err(reason.clone()), "s", note);
        figures.extend(used.map(Some).chain([None]).map(missing));
        return;
    }
    let parts = &simulation.replicates[simulation.chosen as usize].exposed[row];
    figures.extend(parts.iter().map(|part| figure(&name(part.axis), Ok(part.exposed), "s", note)));
}

/// Bus bandwidth over all operations and replicates of jobs that run collectives.
fn busbw(
    before: &str,
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
    let mut sorted: Vec<f64> = all.filter(|(row, _)| rows.contains(row)).map(|(_, busbw)| *busbw).collect();
    sorted.sort_by(f64::total_cmp);
    let of = |value: Option<f64>| whole().and_then(|()| value.ok_or_else(|| NO_TIME.to_owned()));
    let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
    let note = match before {
        "" => "bus bandwidth as nccl-tests defines it, over operations and replicates",
        _ => "bus bandwidth as nccl-tests defines it, over jobs, operations and replicates",
    };
    let mut push = |name: &str, value: Option<f64>| {
        figures.push(figure(&format!("{before}busbw_{name}"), of(value), "bits_per_s", note));
    };
    push("mean", (!sorted.is_empty()).then_some(mean));
    push("min", sorted.first().copied());
    push("max", sorted.last().copied());
}

/// Why nothing is done in a second of a step.
const NO_STEP: &str = "a step takes no time";
/// Why a collective has no bandwidth.
const NO_TIME: &str = "no operation takes any time";
/// What there is of the bus bandwidths for each NIC.
const PARTS: [&str; 4] = ["min", "mean", "max", "spread"];

fn of_nics(
    before: &str,
    wanted: &[&str],
    parts: Option<PerNic>,
    whole: &dyn Fn() -> Result<(), String>,
    figures: &mut Vec<Figure>,
) {
    let note =
        "bus bandwidth for each NIC that a communicator uses in a host; over jobs, then mean over replicates";
    for name in wanted {
        let value = parts.map(|parts| match *name {
            "min" => parts.min,
            "mean" => parts.mean,
            "max" => parts.max,
            _ => parts.spread,
        });
        let value = whole().and_then(|()| value.ok_or_else(|| NO_TIME.to_owned()));
        figures.push(figure(&format!("{before}busbw_per_nic_{name}"), value, "bits_per_s", note));
    }
}

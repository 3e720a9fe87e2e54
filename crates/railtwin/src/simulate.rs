//! All replicates of a case, and the one that stands for them.
use railtwin_engine::lower::Lowering;
use railtwin_engine::own::guarded;
use railtwin_engine::{Case, Engine, RunLog};
use rayon::prelude::*;

use crate::capacity::Capacities;
use crate::error::Error;
use crate::fault_states::{FaultStates, StepTimes};
use crate::nic_ports::NicPorts;
pub use crate::simulation::{Replicate, Simulation};
use crate::stops::Stop;

/// Replicates that run before their steps are handed on.
pub(crate) const BATCH: u32 = 8;

/// What replicates are handed to: the number of the first, and they in order.
pub type Handed<'a> = dyn FnMut(u32, &[Replicate]) -> Result<(), Error> + 'a;

/// Runs `count` replicates side by side; `progress` hears of each that is done, `done` gets them in order, some
/// at a time. The result does not depend on the number of threads.
///
/// # Errors
/// What `done` returns; no more replicates start then. [`Error::Controller`] where one of one's own cannot go on: that of
/// the first such replicate.
pub fn simulate(
    case: &Case,
    engine: &dyn Engine,
    count: u32,
    progress: &(dyn Fn() + Sync),
    done: &mut Handed<'_>,
) -> Result<Simulation, Error> {
    simulate_lowered(case, engine, count, progress, done).map(|(simulation, _)| simulation)
}

/// The same with the lowering of the chosen replicate, where the engine hands it on.
///
/// # Errors
/// As of [`simulate`].
pub(crate) fn simulate_lowered<'a>(
    case: &'a Case,
    engine: &dyn Engine,
    count: u32,
    progress: &(dyn Fn() + Sync),
    done: &mut Handed<'_>,
) -> Result<(Simulation, Option<Lowering<'a>>), Error> {
    let log_of = |replicate: u32| {
        let failed = |halt| Error::Controller { halt, replicate: Some(replicate) };
        guarded(|| engine.run_lowered(case, replicate)).map_err(failed)
    };
    if count == 1 {
        let (log, lowering) = log_of(0)?;
        let replicates = vec![shorten(case, 0, &log)];
        progress();
        done(0, &replicates)?;
        return Ok((Simulation { replicates, chosen: 0, log }, lowering));
    }
    let run = |replicate: u32| {
        let failed = |halt| Error::Controller { halt, replicate: Some(replicate) };
        let log = guarded(|| engine.run(case, replicate)).map_err(failed)?;
        let short = shorten(case, replicate, &log);
        progress();
        Ok(short)
    };
    let mut replicates: Vec<Replicate> = Vec::with_capacity(count as usize);
    while (replicates.len() as u32) < count {
        let first = replicates.len() as u32;
        let batch: Vec<Result<Replicate, Error>> =
            (first..count.min(first + BATCH)).into_par_iter().map(run).panic_fuse().collect();
        // The first error by number, whichever came first by the clock.
        let batch = batch.into_iter().collect::<Result<Vec<Replicate>, Error>>()?;
        done(first, &batch)?;
        replicates.extend(batch);
    }
    // All steps count here: draws that faults hold up for longer are longer.
    let step = |replicate: &Replicate| {
        let ended = replicate.stops.iter().all(Option::is_none);
        mean_of_all(replicate).filter(|_| ended).unwrap_or(f64::INFINITY)
    };
    let mut order: Vec<u32> = (0..count).collect();
    order.sort_by(|&a, &b| {
        step(&replicates[a as usize]).total_cmp(&step(&replicates[b as usize])).then(a.cmp(&b))
    });
    let chosen = order.get((count as usize).saturating_sub(1) / 2).copied().unwrap_or(0);
    // Run again rather than kept: twenty logs of a large job would fill the memory.
    let (log, lowering) = log_of(chosen)?;
    Ok((Simulation { replicates, chosen, log }, lowering))
}

/// Mean duration in seconds of a job's steps within its leading span ([`StepTimes::lead`]); none when the job has no
/// such step, or did not end: the steps that ended before something stopped it say nothing of it.
pub fn mean_step(replicate: &Replicate, job: usize) -> Option<f64> {
    if replicate.stops[job].is_some() {
        return None;
    }
    let times = replicate.step_times(job);
    times.mean(times.lead()?).map(|(seconds, _)| seconds)
}

/// Seconds of a job's step under the faults that slow it most: the mean of a state where a step lies within one, else
/// the longest step that a fault hit, else [`mean_step`].
pub fn step_under_faults(replicate: &Replicate, job: usize) -> Option<f64> {
    let lead = mean_step(replicate, job);
    if replicate.stops[job].is_some() {
        return None;
    }
    let times = replicate.step_times(job);
    times.slowest_under().or_else(|| times.longest_hit()).map_or(lead, |(seconds, _)| Some(seconds))
}

/// Mean duration of all steps of the first job in seconds.
fn mean_of_all(replicate: &Replicate) -> Option<f64> {
    let steps = || replicate.steps.iter().filter(|step| step.0 == 0).map(|(.., d)| d.seconds());
    let count = steps().count();
    (count > 0).then(|| steps().sum::<f64>() / count as f64)
}

impl Replicate {
    /// Seconds of a job's steps by where they lie among the faults.
    pub fn step_times(&self, job: usize) -> StepTimes {
        let own = self.steps.iter().zip(&self.spans).filter(|(step, _)| step.0 == job);
        StepTimes::of(own.map(|(step, span)| (*span, step.3.seconds())))
    }
}

fn shorten(case: &Case, replicate: u32, log: &RunLog) -> Replicate {
    let capacities = Capacities::of(case, replicate, log);
    let states = FaultStates::of(case, log);
    let (mut steps, mut spans, mut busbw) = (Vec::new(), Vec::new(), Vec::new());
    let jobs = case.work.jobs.len();
    for (row, job) in case.work.jobs.iter().enumerate() {
        for (step, start, end) in crate::exposed::steps_of(job, &log.times) {
            steps.push((row, step, start, end.since(start)));
            spans.push(states.span(row, start, end));
        }
        let own = crate::busbw::of_job(job, log);
        busbw.extend(own.map(|(bandwidth, start, end)| (row, bandwidth, states.span(row, start, end))));
    }
    let exposed = (0..jobs).map(|row| crate::exposed::in_lead(case, row, log, &states)).collect();
    Replicate {
        steps,
        spans,
        busbw,
        first_change: states.first_change().filter(|&change| change < log.end),
        unfinished: log.unfinished,
        time_up: log.time_up,
        stops: (0..jobs).map(|row| Stop::of(case, row, log)).collect(),
        worst_link_utilization: crate::links::worst_utilization(case, log, &capacities),
        uplinks: crate::links::uplink_use(case, log, &capacities),
        exposed,
        nic_ports: NicPorts::of(case, log),
    }
}

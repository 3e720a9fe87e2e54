//! Bus bandwidth of jobs that run collectives and nothing else, as nccl-tests reports it.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_engine::{Case, JobGraph, RunLog};
use railtwin_units::SimTime;
use railtwin_workload::collective::busbw;
use railtwin_workload::{OperationId, Work};

use crate::fault_states::{Span, StepTimes};
use crate::simulate::{Replicate, Simulation};

/// Bits per second, start and end of each finished operation of a job without computation; nothing for other jobs.
pub fn of_job<'a>(job: &'a JobGraph, log: &'a RunLog) -> impl Iterator<Item = (f64, SimTime, SimTime)> + 'a {
    let times = &log.times;
    with_operations(job, log).map(|(id, bits)| (bits, times.start[id.index()], times.end[id.index()]))
}

/// Bits per second of each such operation, with the operation.
pub fn with_operations<'a>(
    job: &'a JobGraph,
    log: &'a RunLog,
) -> impl Iterator<Item = (OperationId, f64)> + 'a {
    let collectives = job.plan.operations.iter().all(|o| matches!(o.work, Work::Communicate { .. }));
    let length = job.plan.operations.len();
    let total = if collectives { length * job.steps as usize } else { 0 };
    (0..total).filter_map(move |i| {
        let id = OperationId::from_index(job.first_operation as usize + i);
        let Work::Communicate { pattern, bytes } = job.plan.operations[i % length].work else { return None };
        let pattern = &job.plan.patterns[pattern.index()];
        // What goes to storage is no collective.
        if pattern.storage.is_some() {
            return None;
        }
        let ranks = pattern.communicators.iter().map(Vec::len).max()? as u32;
        let (start, end) = (log.times.start[id.index()], log.times.end[id.index()]);
        let seconds = end.since(start).seconds();
        let bits = 8.0 * busbw(pattern.collective, ranks, bytes, seconds);
        (end != SimTime::NEVER && seconds > 0.0).then_some((id, bits))
    })
}

/// Bandwidths of the operations of some jobs, each within the leading span of its job ([`StepTimes::lead`]): job, bits
/// per second.
pub fn in_lead(replicate: &Replicate, rows: &[usize]) -> Vec<(usize, f64)> {
    let mut of_job: BTreeMap<usize, Vec<(Span, f64)>> = BTreeMap::new();
    for &(job, bandwidth, span) in replicate.busbw.iter().filter(|row| rows.contains(&row.0)) {
        of_job.entry(job).or_default().push((span, bandwidth));
    }
    let leads = of_job.into_iter().flat_map(|(job, all)| {
        let lead = StepTimes::of(all.iter().copied()).lead();
        all.into_iter().filter(move |one| Some(one.0) == lead).map(move |one| (job, one.1))
    });
    leads.collect()
}

/// NICs over which one communicator of a job leaves a host: its own NIC for each rail, at most what a host has.
fn nics(case: &Case, job: usize) -> f64 {
    let places = &case.placements[job];
    let patterns = case.work.jobs[job].plan.patterns.iter();
    let collectives = patterns.filter(|pattern| pattern.storage.is_none());
    let most = collectives.flat_map(|pattern| &pattern.communicators).map(|ranks| {
        let mut of_host: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for &rank in ranks {
            let place = places[rank as usize];
            let nic = case.fabric.host_model(place.host).nic_of_gpu(place.gpu);
            of_host.entry(place.host.0).or_default().insert(nic);
        }
        of_host.values().map(BTreeSet::len).max().unwrap_or(1)
    });
    most.max().unwrap_or(1) as f64
}

/// What the jobs of a replicate reach for each NIC, and how far apart they are (C4 section IV-B2, figures 9 and 10).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PerNic {
    /// The slowest job, bits per second.
    pub min: f64,
    /// Mean over jobs.
    pub mean: f64,
    /// The fastest job.
    pub max: f64,
    /// The fastest less the slowest.
    pub spread: f64,
}

/// Bus bandwidth for each NIC of the jobs in these rows, as the mean over replicates; none where none of them runs
/// collectives alone.
pub fn per_nic(case: &Case, simulation: &Simulation, rows: &[usize]) -> Option<PerNic> {
    let nics: Vec<f64> = (0..case.work.jobs.len()).map(|job| nics(case, job)).collect();
    let of_replicate = |replicate: &Replicate| {
        let mut of_job: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for (job, bandwidth) in in_lead(replicate, rows) {
            let (sum, count) = of_job.entry(job).or_default();
            (*sum, *count) = (*sum + bandwidth / nics[job], *count + 1.0);
        }
        let jobs: Vec<f64> = of_job.values().map(|(sum, count)| sum / count).collect();
        let min = jobs.iter().copied().reduce(f64::min)?;
        let max = jobs.iter().copied().reduce(f64::max)?;
        Some(PerNic { min, mean: jobs.iter().sum::<f64>() / jobs.len() as f64, max, spread: max - min })
    };
    let all: Vec<PerNic> = simulation.replicates.iter().filter_map(of_replicate).collect();
    let mean = |of: fn(&PerNic) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
    (!all.is_empty()).then(|| PerNic {
        min: mean(|r| r.min),
        mean: mean(|r| r.mean),
        max: mean(|r| r.max),
        spread: mean(|r| r.spread),
    })
}

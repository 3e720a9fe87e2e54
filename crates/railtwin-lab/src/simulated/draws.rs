//! Bandwidth of each job in the flow engine, draw by draw.
use std::collections::BTreeMap;
use std::path::Path;

use railtwin::engines::engine;
use railtwin::{Question, Resolved, busbw};
use railtwin_engine::choose::View;
use railtwin_engine::lower::Lowering;
use railtwin_engine::own::guarded;
use railtwin_engine::{Case, RunLog};
use railtwin_fabric::{Fabric, LinkId};
use railtwin_routing::LinkMask;
use railtwin_scenario::EngineName;
use railtwin_units::SimTime;

use crate::host::LabError;

/// Four all-reduces of two ranks on the fabric of the lab, as `railtwin run` takes it.
const FOUR_JOBS: &str = include_str!("../../../../scenarios/lab/four-jobs.toml");

/// Bandwidth of a job in one draw.
#[derive(Clone, PartialEq, Debug)]
pub struct JobBandwidth {
    /// Name of the job.
    pub job: String,
    /// Operations that ended while all jobs ran.
    pub operations: u32,
    /// Their mean duration, seconds.
    pub operation_s: f64,
    /// Bus bandwidth, bit/s: 2 (n - 1) / n of an operation's bytes over its mean duration, as nccl-tests counts it.
    pub bit_per_s: f64,
}

/// One draw: its jobs, and how unevenly links are used.
#[derive(Clone, PartialEq, Debug)]
pub struct DrawOutcome {
    /// By row of the job.
    pub jobs: Vec<JobBandwidth>,
    /// Queue pairs on the most used link between switches.
    pub most_on_a_link: u32,
}

impl DrawOutcome {
    /// Mean bus bandwidth over the jobs, bit/s.
    pub fn mean_bit_per_s(&self) -> f64 {
        self.jobs.iter().map(|job| job.bit_per_s).sum::<f64>() / self.jobs.len().max(1) as f64
    }
}

/// The point of a text whose balancer has a name.
///
/// # Errors
/// The text is no scenario, or has no such point.
pub(super) fn point_of(file: &str, text: &str, balancer: &str) -> Result<Resolved, LabError> {
    let failed = |error: railtwin::Error| LabError(error.to_string());
    let question = Question::of_text(file, text, Path::new("."));
    let points = question.points().map_err(failed)?;
    let point = points.iter().find(|point| point.scenario.routing.balancer.name() == balancer);
    let point = point.ok_or_else(|| {
        let names: Vec<&str> = points.iter().map(|one| one.scenario.routing.balancer.name()).collect();
        LabError(format!("{file}: no point with balancer {balancer:?}; there are {}", names.join(", ")))
    })?;
    question.resolve(&point.scenario).map_err(failed)
}

/// The scenario of four concurrent jobs under a balancer: `ecmp`, `disjoint` or `c4p`.
///
/// # Errors
/// [`LabError`] with the balancers that there are.
pub fn four_jobs(balancer: &str) -> Result<Resolved, LabError> {
    point_of("scenarios/lab/four-jobs.toml", FOUR_JOBS, balancer)
}

/// Runs replicates of a case in the flow engine, in order.
///
/// # Errors
/// A controller that cannot go on, with its reason; an operation of a job that never ends.
pub fn by_balancer(case: &Case, replicates: u32) -> Result<Vec<DrawOutcome>, LabError> {
    (0..replicates).map(|replicate| outcome(case, replicate)).collect()
}

/// One replicate.
pub(super) fn outcome(case: &Case, replicate: u32) -> Result<DrawOutcome, LabError> {
    let run = || {
        let log = engine(EngineName::Flow, 1).run(case, replicate);
        let lowering = Lowering::new(case, replicate);
        let none = LinkMask::none(&case.fabric);
        let paths = lowering.paths(View { mask: &none, planned: &none });
        let rows = lowering.connections().iter().flat_map(|one| one.first..one.first + one.count);
        let used = rows.filter(|&row| paths.share(row) != Some(0.0));
        (log, most_on_a_link(&case.fabric, used.map(|row| paths.path(row).links)))
    };
    let (log, most_on_a_link) =
        guarded(run).map_err(|halt| LabError(format!("controller {}: {}", halt.controller, halt.why)))?;
    Ok(DrawOutcome { jobs: bandwidths(case, &log)?, most_on_a_link })
}

/// Queue pairs on the most used link between switches, of queue pairs by their links from NIC to NIC; 0 where none
/// crosses one.
pub fn most_on_a_link<'l>(fabric: &Fabric, paths: impl IntoIterator<Item = &'l [LinkId]>) -> u32 {
    let mut uses: BTreeMap<LinkId, u32> = BTreeMap::new();
    let is_switch = |device| fabric.place(device).is_some();
    for &link in paths.into_iter().flatten() {
        if is_switch(fabric.source(link)) && is_switch(fabric.target(link)) {
            *uses.entry(link).or_default() += 1;
        }
    }
    uses.into_values().max().unwrap_or(0)
}

/// Bandwidths of the jobs over the time in which all of them run: a job that has ended no longer takes its share from
/// the others.
fn bandwidths(case: &Case, log: &RunLog) -> Result<Vec<JobBandwidth>, LabError> {
    let of_job: Vec<Vec<(f64, SimTime, SimTime)>> =
        case.work.jobs.iter().map(|job| busbw::of_job(job, log).collect()).collect();
    let end = |all: &Vec<(f64, SimTime, SimTime)>| all.iter().map(|one| one.2).max();
    let until = of_job.iter().filter_map(end).min().unwrap_or(SimTime::ZERO);
    let bandwidth = |(job, all): (&railtwin_engine::JobGraph, Vec<(f64, SimTime, SimTime)>)| {
        // The first operation counts in any case.
        let within = |&(row, &(_, _, end)): &(usize, &(f64, SimTime, SimTime))| row == 0 || end <= until;
        let counted: Vec<_> = all.iter().enumerate().filter(within).map(|(_, one)| one).collect();
        let seconds: f64 = counted.iter().map(|(_, start, end)| end.since(*start).seconds()).sum();
        let bits: f64 = counted.iter().map(|(rate, start, end)| rate * end.since(*start).seconds()).sum();
        if seconds <= 0.0 {
            return Err(LabError(format!("job {}: no operation ended in the simulation", job.name)));
        }
        Ok(JobBandwidth {
            job: job.name.clone(),
            operations: counted.len() as u32,
            operation_s: seconds / counted.len() as f64,
            bit_per_s: bits / seconds,
        })
    };
    case.work.jobs.iter().zip(of_job).map(bandwidth).collect()
}

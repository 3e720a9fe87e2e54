//! How long each operation of a job's step takes without jitter and without faults: what a run found.
use railtwin_engine::{RunLog, WorkGraph};
use railtwin_units::SimTime;

use crate::error::TelemetryError;

/// Durations of the operations of a job, step by step, in nanoseconds.
///
/// They must come from a run without faults, impairments and rank faults: the replay adds those itself.
#[derive(Clone, PartialEq, Debug)]
pub struct Durations {
    operations: usize,
    /// Step after step.
    ns: Vec<f64>,
}

impl Durations {
    /// What a run says of job `job`: every step of the log in which all operations ended.
    ///
    /// # Errors
    /// When the case has no such job, or no step of it ended.
    pub fn from_log(work: &WorkGraph, job: usize, log: &RunLog) -> Result<Self, TelemetryError> {
        let graph = work.jobs.get(job).ok_or_else(|| no_job(job, work.jobs.len()))?;
        let (operations, first) = (graph.plan.operations.len(), graph.first_operation as usize);
        let mut ns = Vec::with_capacity(operations * graph.steps as usize);
        for step in 0..graph.steps as usize {
            let rows = first + step * operations..first + (step + 1) * operations;
            let (Some(starts), Some(ends)) = (log.times.start.get(rows.clone()), log.times.end.get(rows))
            else {
                break;
            };
            if ends.contains(&SimTime::NEVER) {
                break;
            }
            ns.extend(starts.iter().zip(ends).map(|(start, end)| end.since(*start).ps() as f64 / 1e3));
        }
        if ns.len() < operations || operations == 0 {
            let accepted = "a run without faults in which at least one step of the job ends";
            return Err(TelemetryError::new("steps that ended", 0, accepted));
        }
        Ok(Self { operations, ns })
    }

    /// Durations of step `step`; those of the last step for all that follow it.
    pub fn of_step(&self, step: u64) -> &[f64] {
        let last = self.ns.len() / self.operations - 1;
        let step = usize::try_from(step).unwrap_or(last).min(last);
        &self.ns[step * self.operations..(step + 1) * self.operations]
    }

    /// Operations of a step.
    pub fn operations(&self) -> usize {
        self.operations
    }
}

/// The error for a job that the case does not have.
pub(crate) fn no_job(job: usize, jobs: usize) -> TelemetryError {
    TelemetryError::new("job", job, format!("the case has {jobs} jobs, counted from 0"))
}

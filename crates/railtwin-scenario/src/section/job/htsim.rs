//! Connections from a file of htsim, and plain transfers by a pattern.
use railtwin_formats::HtsimConnections;
use railtwin_units::SimTime;
use railtwin_workload::traffic::plan_of_transfers;
use railtwin_workload::{Plan, Transfer};

use super::resolve::Planner;
use super::size::ranks;
use super::{JobSize, JobSpec, TrafficSpec};
use crate::ScenarioError;

impl Planner<'_> {
    /// The plan of a `.cm` file, whose node `n` is rank `n`.
    pub(crate) fn connections(&self, row: usize, job: &JobSpec, path: &str) -> Result<Plan, ScenarioError> {
        const KEY: &str = "workload.connections";
        let bytes = self.read(row, KEY, path)?;
        let matrix = HtsimConnections::parse(path, &bytes);
        let matrix = matrix.map_err(|error| self.error(row, KEY, error.to_string()))?;
        if let (Some(size), Some(given)) = (job.size, ranks(self.fabric, job, job.size))
            && given != matrix.nodes
        {
            let key = if matches!(size, JobSize::Hosts(_)) { "hosts" } else { "gpus" };
            let message = format!("the job has {given} GPUs, but {path} has {} nodes", matrix.nodes);
            return Err(self.error(row, key, message));
        }
        matrix.plan().map_err(|error| self.error(row, KEY, format!("{path}: {error}")))
    }

    /// The plan of a pattern over the GPUs of the job.
    pub(crate) fn traffic(
        &self,
        row: usize,
        job: &JobSpec,
        spec: &TrafficSpec,
    ) -> Result<Plan, ScenarioError> {
        let ranks = self.ranks_of(job);
        let pairs = spec.pattern(ranks, self.seed).pairs(ranks).map_err(|error| {
            let key = match error.field {
                "gpus" => "workload.traffic".to_owned(),
                field => format!("workload.{field}"),
            };
            self.error(row, &key, error.to_string())
        })?;
        let bytes = spec.bytes().0;
        let transfer = |(source, target)| Transfer { start: SimTime::ZERO, bytes, source, target };
        let transfers: Vec<Transfer> = pairs.into_iter().map(transfer).collect();
        Ok(plan_of_transfers(ranks, &transfers))
    }
}

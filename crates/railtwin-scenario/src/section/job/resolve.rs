//! From a job of a scenario to its plan: recipe, trace or one collective.
use std::collections::BTreeMap;

use railtwin_fabric::Fabric;
use railtwin_formats::SimaiWorkload;
use railtwin_units::SimTime;
use railtwin_workload::models::{MODELS, Transformer};
use railtwin_workload::recipe::Training;
use railtwin_workload::{
    Axis, Collective, Operation, Parallelism, Pattern, Plan, PlanBuilder, Work as OperationWork,
};

use super::memory::shortage;
use super::size::{per_host, ranks};
use super::{
    ChakraSpec, CollectiveSpec, JobSize, JobSpec, MemoryRule, Per, Placement, RecipeSpec, SimaiSpec, Work,
    Workload,
};
use crate::ScenarioError;
use crate::resolve::{Reader, Source};

/// Makes the plans of a scenario's jobs.
pub(crate) struct Planner<'a> {
    pub(crate) fabric: &'a Fabric,
    /// Seed of the scenario.
    pub(crate) seed: u64,
    pub(crate) source: Source<'a>,
    pub(crate) read: &'a Reader<'a>,
}

impl Planner<'_> {
    /// The plan of job `row`.
    pub(crate) fn plan(&mut self, row: usize, job: &JobSpec) -> Result<Plan, ScenarioError> {
        match &job.work {
            Work::Collective(spec) => self.collective(row, job, spec),
            Work::Workload(Workload::Recipe(spec)) => self.recipe(row, &job.name, spec),
            Work::Workload(Workload::Simai(spec)) => self.simai(row, spec),
            Work::Workload(Workload::Chakra(spec)) => self.chakra(row, job, spec),
            Work::Workload(Workload::Connections(spec)) => self.connections(row, job, &spec.connections),
            Work::Workload(Workload::Traffic(spec)) => self.traffic(row, job, spec),
            Work::Workload(Workload::Inference(spec)) => Ok(spec.plan(self.ranks_of(job))),
        }
    }

    pub(crate) fn error(&self, row: usize, key: &str, message: impl Into<String>) -> ScenarioError {
        self.source.error(&format!("job.{row}.{key}"), message, None)
    }

    pub(crate) fn read(&self, row: usize, key: &str, path: &str) -> Result<Vec<u8>, ScenarioError> {
        self.source.read(self.read, &format!("job.{row}.{key}"), path)
    }

    fn simai(&self, row: usize, spec: &SimaiSpec) -> Result<Plan, ScenarioError> {
        let path = &spec.simai;
        let bytes = self.read(row, "workload.simai", path)?;
        let workload = SimaiWorkload::parse(path, &bytes);
        workload
            .and_then(|workload| workload.plan(path, spec.interleave))
            .map_err(|error| self.error(row, "workload.simai", error.to_string()))
    }

    /// Rank `n` is read from `<prefix>.<n>.et`, from 0 on until a file is missing.
    fn chakra(&self, row: usize, job: &JobSpec, spec: &ChakraSpec) -> Result<Plan, ScenarioError> {
        let prefix = &spec.chakra;
        let groups = match &spec.groups {
            None => BTreeMap::new(),
            Some(path) => {
                let bytes = self.read(row, "workload.groups", path)?;
                railtwin_formats::parse_chakra_groups(path, &bytes)
                    .map_err(|error| self.error(row, "workload.groups", error.to_string()))?
            }
        };
        let wanted = ranks(self.fabric, job, job.size);
        let mut traces = Vec::new();
        loop {
            let rank = traces.len() as u32;
            let path = format!("{prefix}.{rank}.et");
            if wanted == Some(rank) {
                if (self.read)(&path).is_ok() {
                    let key = if matches!(job.size, Some(JobSize::Hosts(_))) { "hosts" } else { "gpus" };
                    let message =
                        format!("the job has {rank} GPUs, but there is a trace of rank {rank}: {path}");
                    return Err(self.error(row, key, message));
                }
                break;
            }
            match (self.read)(&path) {
                Ok(bytes) => {
                    let trace = railtwin_formats::ChakraTrace::decode(&path, &bytes);
                    let trace = trace.map_err(|e| self.error(row, "workload.chakra", e.to_string()))?;
                    traces.push(trace);
                }
                Err(_) if rank > 0 && wanted.is_none() => break,
                Err(_) => {
                    self.read(row, "workload.chakra", &path)?;
                }
            }
        }
        railtwin_formats::plan_of_chakra(prefix, &traces, &groups)
            .map_err(|error| self.error(row, "workload.chakra", error.to_string()))
    }

    fn recipe(&self, row: usize, name: &str, spec: &RecipeSpec) -> Result<Plan, ScenarioError> {
        let model = Transformer::named(&spec.recipe).ok_or_else(|| {
            let known: Vec<&str> = MODELS.iter().map(|model| model.name).collect();
            let message = format!("no recipe {:?}; write one of: {}", spec.recipe, known.join(", "));
            self.error(row, "workload.recipe", message)
        })?;
        let host = self.fabric.host_models().first();
        let flops = host.and_then(|model| model.gpu_flops).ok_or_else(|| {
            let message = "a recipe needs a host model whose GPU's peak is known, such as hgx-h800";
            self.error(row, "workload.recipe", message)
        })?;
        let training = Training {
            model,
            parallelism: Parallelism { tp: spec.tp, pp: spec.pp, dp: spec.dp, ep: spec.ep },
            micro_batches: spec.micro_batches,
            micro_batch: spec.micro_batch,
            interleave: spec.interleave,
            zero: spec.zero,
            recompute: spec.recompute,
            gpu_flops: flops as f64,
            efficiency: spec.efficiency,
        };
        let mut plan = training.plan().map_err(|error| {
            let key = if matches!(error.field, "tp" | "pp" | "dp" | "ep" | "zero") {
                error.field
            } else {
                "recipe"
            };
            self.error(row, &format!("workload.{key}"), error.to_string())
        })?;
        if let Some((message, hint)) = host.and_then(|host| shortage(&training, host)) {
            match spec.memory {
                MemoryRule::Check => {
                    return Err(self.source.error(&format!("job.{row}.workload"), message, Some(&hint)));
                }
                MemoryRule::Allow => plan.notes.push(format!("job {name}: {message}; it could not run")),
            }
        }
        Ok(plan)
    }

    /// Ranks of a job whose work does not say them: by its size, else those of the hosts that its placement names,
    /// else every active GPU.
    pub(crate) fn ranks_of(&self, job: &JobSpec) -> u32 {
        let active = || -> u32 {
            let hosts = self.fabric.hosts().iter().filter(|host| !host.spare);
            let most = per_host(self.fabric, job);
            hosts.map(|host| self.fabric.host_models()[host.model as usize].gpus.min(most)).sum()
        };
        ranks(self.fabric, job, job.size.or(named(job))).unwrap_or_else(active)
    }

    fn collective(&self, row: usize, job: &JobSpec, spec: &CollectiveSpec) -> Result<Plan, ScenarioError> {
        let ranks = self.ranks_of(job);
        let gpus = per_host(self.fabric, job);
        let kind = spec.kind;
        if let Some(algorithm) = spec.algorithm {
            let able = algorithm.check(kind);
            able.map_err(|error| self.error(row, "collective.algorithm", error.to_string()))?;
        }
        if spec.per == Per::Rail && !ranks.is_multiple_of(gpus) {
            let message =
                format!("one communicator per rail needs whole hosts of {gpus} GPUs, not {ranks} GPUs");
            return Err(self.error(row, "collective.per", message));
        }
        let mut communicators: Vec<Vec<u32>> = match spec.per {
            Per::All => vec![(0..ranks).collect()],
            Per::Rail => (0..gpus).map(|gpu| (gpu..ranks).step_by(gpus as usize).collect()).collect(),
        };
        if spec.kind == Collective::SendReceive {
            // Each rank sends to the next; the last to the first.
            for ranks in &mut communicators {
                let next = |i: usize| ranks[(i + 1) % ranks.len()];
                *ranks = (0..ranks.len()).flat_map(|i| [ranks[i], next(i)]).collect();
            }
        }
        let mut builder = PlanBuilder::new(ranks, vec!["all ranks".to_owned()]);
        let axis = Axis::Other;
        let experts = spec.experts.map(|experts| experts.experts());
        let pattern = Pattern { experts, ..Pattern::new(axis, kind, spec.algorithm, communicators) };
        let pattern = builder.pattern(pattern);
        let name = builder.name(kind.name());
        let work = OperationWork::Communicate { pattern, bytes: spec.size().0 };
        let mut last = Vec::new();
        let compute = builder.name("compute");
        for _ in 0..spec.repeat {
            if spec.compute > SimTime::ZERO {
                let work = OperationWork::Compute(spec.compute);
                let axis = Axis::Compute;
                last = vec![builder.push(Operation { lane: 0, name: compute, axis, work }, &last)];
            }
            last = vec![builder.push(Operation { lane: 0, name, axis, work }, &last)];
        }
        Ok(builder.finish())
    }
}

/// The size that a list of hosts gives.
fn named(job: &JobSpec) -> Option<JobSize> {
    match &job.placement {
        Placement::Hosts(hosts) => Some(JobSize::Hosts(hosts.len() as u32)),
        _ => None,
    }
}

//! `[storage]`, and what jobs exchange with it: checkpoints and the data that they train on.
use railtwin_engine::Case;
use railtwin_units::keys::{Kind, whole};
use railtwin_units::{Bytes, SimTime};
use railtwin_workload::{Axis, Operation, OperationId, Pattern, Plan, PlanBuilder, StorageWay, Work, tide};

use crate::consistency::Trouble;
use crate::resolve::Source;
use crate::scenario::EngineName;
use crate::section::job::MANY;
use crate::{JobSpec, Scenario, ScenarioError, Workload};

/// Name of the operations that write checkpoints.
pub const CHECKPOINT: &str = "checkpoint";
/// Name of the operations that read data.
pub const READ: &str = "read";

railtwin_units::section! {
    /// A checkpoint: what every rank writes to a storage host when its part of a step is done.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct CheckpointSpec "`checkpoint`" {
        /// Bytes that each rank writes, such as the 30 GB of HPN section 2.3.
        pub bytes_per_gpu: Bytes,
        /// Steps from one checkpoint to the next.
        pub every: u32 [whole(1..=MANY)] = 1,
        /// Whether the next step waits until it is written. Else it is written beside the steps that follow, from a copy in
        /// the memory of hosts whose making takes no time.
        pub blocking: bool = true,
    }
}

railtwin_units::section! {
    /// Data to train on: read beside each step for the next one, which waits for it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ReadSpec "`read`" {
        /// Bytes that each rank reads for a step.
        pub bytes_per_gpu: Bytes,
    }
}

/// Name of the operations by which requests come and answers go.
pub const INFERENCE: &str = "inference";

railtwin_units::section! {
    /// Requests of inference: their bytes go from gateways to ranks and back, beat by beat. A beat is a step of the job; it
    /// lasts longer where the network does not keep up.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct InferenceSpec "`workload`" {
        /// Requests that a GPU gets in a second, mean over the day.
        pub requests_per_s: f64 [Kind::Share(0.0, 1e9)],
        /// Bytes of a request.
        pub request: Bytes,
        /// Bytes of an answer.
        pub response: Bytes,
        /// Time whose requests come together.
        pub beat: SimTime [Kind::Span] = SimTime::from_ns(10_000_000),
        /// How far requests swing over the day: 0 is not at all, and with 1 nobody asks at 3 o'clock at night.
        pub tide: f64 [Kind::UpTo(1.0)] = 0.0,
        /// Hour of the day; most requests come at 15 o'clock.
        pub hour: f64 [Kind::UpTo(24.0)] = 15.0,
    }
}

impl InferenceSpec {
    /// Requests that a GPU gets in a second at the hour: `1 + d cos` as submissions of jobs swing.
    pub fn requests_now(&self) -> f64 {
        self.requests_per_s * tide::at(self.hour, self.tide)
    }

    /// A beat of so many ranks: time that goes by whatever the network does, requests, answers.
    pub(crate) fn plan(&self, ranks: u32) -> Plan {
        let all: Vec<u32> = (0..ranks).collect();
        let mut builder = PlanBuilder::new(ranks, vec!["all ranks".to_owned()]);
        let (beat, name) = (builder.name("beat"), builder.name(INFERENCE));
        let work = Work::Compute(self.beat);
        builder.push(Operation { lane: 0, name: beat, axis: Axis::Compute, work }, &[]);
        let requests = self.requests_now() * self.beat.seconds();
        for (way, bytes) in [(StorageWay::Request, self.request), (StorageWay::Answer, self.response)] {
            let bytes = (requests * bytes.0 as f64).round() as u64;
            let pattern = builder.pattern(Pattern::of_storage(way, &all));
            let operation =
                Operation { lane: 0, name, axis: Axis::Storage, work: Work::Communicate { pattern, bytes } };
            if bytes > 0 {
                builder.push_occasional(operation, &[], (1, false));
            }
        }
        builder.finish()
    }
}

/// What is wrong between jobs and storage, by the paths of keys.
pub(crate) fn troubles_of_storage(scenario: &Scenario) -> Vec<(String, Trouble)> {
    let mut all = Vec::new();
    for (row, job) in scenario.jobs.iter().enumerate() {
        if serves(job) && scenario.storage.is_none_or(|storage| storage.gateways == 0) {
            let message = format!("there is no gateway by which requests to job `{}` come", job.name);
            all.push((
                format!("job.{row}.workload"),
                (message, "write gateways = 8 or the like in [storage]"),
            ));
        }
        for key in kinds(job) {
            if scenario.storage.is_none() && key != WORKLOAD {
                let message = format!("there is no storage for the {key} of job `{}`", job.name);
                all.push((
                    format!("job.{row}.{key}"),
                    (message, "write [storage] with hosts = 96 or the like"),
                ));
            }
            if !job.work.is_collective() && key != WORKLOAD {
                let message = format!("job `{}` makes plain transfers, which have no {key}", job.name);
                all.push((format!("job.{row}.{key}"), (message, "give it to a job that trains")));
            }
            if scenario.telemetry.is_some() {
                let message = format!("telemetry is not told of the {key} of job `{}`", job.name);
                let hint = "leave [telemetry] away: what ranks record knows collectives alone";
                all.push((format!("job.{row}.{key}"), (message, hint)));
            }
        }
    }
    if let Some(key) = scenario.stands().filter(|_| scenario.telemetry.is_some()) {
        let message = format!("telemetry does not know the devices of [{key}]");
        all.push((key.to_owned(), (message, "leave one of both away")));
    }
    all
}

/// The keys of a job that exchange bytes with storage.
fn kinds(job: &JobSpec) -> impl Iterator<Item = &'static str> + use<> {
    [job.checkpoint.map(|_| CHECKPOINT), job.read.map(|_| READ), serves(job).then_some(WORKLOAD)]
        .into_iter()
        .flatten()
}

/// Key of what a job that serves does.
const WORKLOAD: &str = "workload";

/// Whether a job serves requests of inference.
fn serves(job: &JobSpec) -> bool {
    matches!(job.work, crate::Work::Workload(Workload::Inference(_)))
}

/// The plan with what the job's ranks exchange with storage: behind the last operations of a lane its checkpoint, beside
/// all of them the data of the next step.
pub(crate) fn with_storage(plan: Plan, job: &JobSpec) -> Plan {
    if job.checkpoint.is_none() && job.read.is_none() {
        return plan;
    }
    let lanes: Vec<(u32, Vec<u32>, Vec<OperationId>)> = (0..plan.lanes.len() as u32)
        .map(|lane| (lane, plan.ranks_of_lane(lane), last_of(&plan, lane)))
        .collect();
    let mut builder = PlanBuilder::over(plan);
    for (lane, ranks, last) in &lanes {
        let mut push = |name: &str, way, bytes: Bytes, after: &[OperationId], occasional| {
            let pattern = builder.pattern(Pattern::of_storage(way, ranks));
            let work = Work::Communicate { pattern, bytes: bytes.0 };
            let operation = Operation { lane: *lane, name: builder.name(name), axis: Axis::Storage, work };
            builder.push_occasional(operation, after, occasional);
        };
        if let Some(read) = job.read {
            push(READ, StorageWay::Read, read.bytes_per_gpu, &[], (1, false));
        }
        if let Some(CheckpointSpec { bytes_per_gpu, every, blocking }) = job.checkpoint {
            push(CHECKPOINT, StorageWay::Write, bytes_per_gpu, last, (every, !blocking));
        }
    }
    builder.finish()
}

/// Operations of a lane that no other of it waits for.
fn last_of(plan: &Plan, lane: u32) -> Vec<OperationId> {
    let of_lane = |id: OperationId| plan.operations[id.index()].lane == lane;
    let mut last: Vec<bool> = plan.operations.iter().map(|operation| operation.lane == lane).collect();
    for id in (0..plan.operations.len()).map(OperationId::from_index).filter(|&id| of_lane(id)) {
        plan.dependencies_of(id).iter().for_each(|before| last[before.index()] = false);
    }
    (0..last.len()).filter(|&row| last[row]).map(OperationId::from_index).collect()
}

impl Scenario {
    /// Refuses what no engine of the scenario runs.
    pub(crate) fn refuse_storage(&self, source: Source<'_>) -> Result<(), ScenarioError> {
        if self.engine != EngineName::Packet {
            return Ok(());
        }
        let hint = Some("write engine = \"flow\"");
        let found = self.jobs.iter().enumerate().find_map(|(row, job)| Some((row, kinds(job).next()?)));
        if let Some((row, key)) = found {
            let message =
                format!("the packet engine does not know the {key} of job `{}`", self.jobs[row].name);
            return Err(source.error(&format!("job.{row}.{key}"), message, hint));
        }
        match self.stands() {
            Some(key) => Err(source.error(key, format!("the packet engine does not know [{key}]"), hint)),
            None => Ok(()),
        }
    }

    /// The section that puts devices beside those of training; none where there is none.
    fn stands(&self) -> Option<&'static str> {
        let stands = [("storage", self.storage.is_some()), ("frontend", self.frontend.is_some())];
        stands.into_iter().find(|(_, stands)| *stands).map(|(key, _)| key)
    }

    /// What is allowed and likely not meant.
    pub(crate) fn remarks_of_storage(&self, case: &Case) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.jobs.iter().all(|job| kinds(job).next().is_none()) {
            let idle = self.stands().filter(|_| !case.work.jobs.is_empty());
            remarks.extend(idle.map(|key| {
                format!("{key}: no job has a checkpoint or reads, so that nothing goes to storage")
            }));
        } else if self.frontend.is_some()
            && self.storage.is_none_or(|one| one.on != railtwin_fabric::Network::Frontend)
        {
            remarks.push(
                "frontend: storage stands on the backend, so that nothing goes over the frontend".to_owned(),
            );
        }
        for job in &self.jobs {
            // Of a job that ends by time nobody knows before how many there will be.
            let steps = job.steps.unwrap_or(match job.ended_at() {
                SimTime::NEVER => self.run.steps,
                _ => u32::MAX,
            });
            if let Some(checkpoint) = job.checkpoint.filter(|checkpoint| checkpoint.every > steps) {
                let every = checkpoint.every;
                remarks.push(format!(
                    "job {}: checkpoint.every is {every} and the job has {steps} steps: it writes none",
                    job.name
                ));
            }
        }
        remarks
    }
}

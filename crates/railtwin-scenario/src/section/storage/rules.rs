//! Rules and remarks on what jobs exchange with storage.
use railtwin_engine::Case;
use railtwin_units::SimTime;

use super::{CHECKPOINT, READ};
use crate::resolve::Source;
use crate::scenario::EngineName;
use crate::violation::Violation;
use crate::{JobSpec, Scenario, ScenarioError, Workload};

/// What is wrong between jobs and storage, by the paths of keys.
pub(crate) fn troubles_of_storage(scenario: &Scenario) -> Vec<(String, Violation)> {
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

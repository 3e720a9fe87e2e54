//! A request for a triage, of the command and of other callers.
use std::path::PathBuf;
use std::thread::available_parallelism;

use railtwin::cost::Cost;
use railtwin::diagnose::Diagnosed;
use railtwin::impact::draws_of;
use railtwin::interference::Options;
use railtwin::what_if::options_of;
use railtwin::{Question, Resolved};
use railtwin_answers::triage::{RestartHours, Triage, culprits, triage};
use railtwin_fabric::Fabric;
use railtwin_scenario::EngineName;

use crate::CliError;
use crate::diagnose::told_of;
use crate::diagnose_request::DiagnoseRequest;
use crate::downtime_text::time as hours_of;
use crate::one_point::one_point;

/// A request for a triage: the files and settings of `railtwin triage`.
#[derive(Clone, Debug)]
pub struct TriageRequest {
    /// Files of telemetry, folders and archives of them.
    pub files: Vec<PathBuf>,
    /// A scenario with the fabric and the jobs.
    pub scenario: PathBuf,
    /// A file with the names of hosts, NICs and GPUs in the fabric.
    pub names: Option<PathBuf>,
    /// A folder in which all was well.
    pub baseline: Option<PathBuf>,
    /// Dumps or states of the same job that were made later.
    pub later: Vec<PathBuf>,
    /// Time between two checkpoints, such as `3 h`.
    pub checkpoint_interval: String,
    /// Draws; as many as the scenario says without it.
    pub draws: Option<u32>,
}

/// A diagnosis on a fabric with its jobs.
pub(crate) struct PosedTriage {
    question: Question,
    resolved: Resolved,
    told: Diagnosed,
    options: Options,
    restart: RestartHours,
    sure: usize,
}

impl TriageRequest {
    /// The hours of a restart.
    pub(crate) fn restart(&self) -> Result<RestartHours, CliError> {
        let shown = &self.checkpoint_interval;
        let interval_h = hours_of(shown).filter(|hours| *hours > 0.0).ok_or_else(|| {
            let message = format!("--checkpoint-interval cannot be {shown:?}");
            CliError::input(message, "write a time such as 30 min or 3 h")
        })?;
        Ok(RestartHours { interval_h, ..RestartHours::default() })
    }

    /// Reads all that the request names, and diagnoses it.
    pub(crate) fn posed(&self) -> Result<PosedTriage, CliError> {
        let restart = self.restart()?;
        let (question, scenario) = one_point(&self.scenario.display().to_string(), "triage")?;
        let resolved = question.resolve(&scenario).map_err(|error| CliError::of(error, &question.text))?;
        let told = told_of(&DiagnoseRequest {
            files: self.files.clone(),
            fabric: Some(self.scenario.clone()),
            names: self.names.clone(),
            baseline: self.baseline.clone(),
            later: self.later.clone(),
            job: resolved.case.work.jobs.first().map_or("job", |job| &job.name).to_owned(),
        })?;
        let options = options_of(&scenario, self.draws);
        let sure = culprits(&told, &resolved.case).placed.iter().filter(|one| one.is_sure).count();
        Ok(PosedTriage { question, resolved, told, options, restart, sure })
    }
}

impl PosedTriage {
    /// Draws that progress hears of.
    pub(crate) fn draws(&self) -> u64 {
        if self.sure == 0 { 0 } else { draws_of(self.sure, self.options) }
    }

    /// Memory and time of the simulations; none where nothing is simulated.
    pub(crate) fn cost(&self) -> Result<Option<Cost>, CliError> {
        let draws = self.draws();
        if draws == 0 {
            return Ok(None);
        }
        let steps = self.resolved.case.work.jobs.iter().map(|job| job.steps).max().unwrap_or(1);
        let runs = (draws, f64::from(self.options.steps) / f64::from(steps.max(1)));
        let cores = available_parallelism().map_or(1, usize::from);
        let cost = Cost::of_runs(&self.resolved, runs, cores, railtwin::memory::limit());
        cost.map(Some).map_err(|error| CliError::of(error, &self.question.text))
    }

    /// The answer.
    pub(crate) fn ordered(&self, progress: &(dyn Fn() + Sync)) -> Result<Triage, CliError> {
        let engine = railtwin::engines::engine(EngineName::Flow, 1);
        triage(&self.told, &self.resolved.case, &*engine, self.options, self.restart, progress)
            .map_err(|error| CliError::of(error, &self.question.text))
    }

    /// The fabric.
    pub(crate) fn fabric(&self) -> &Fabric {
        &self.resolved.case.fabric
    }

    /// Whether nobody is accused.
    pub(crate) fn is_well(&self) -> bool {
        self.told.is_well()
    }
}

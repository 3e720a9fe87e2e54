//! A request for a triage, of the command and of other callers.
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use railtwin::cost::Cost;
use railtwin::diagnose::Diagnosed;
use railtwin::diagnose::names::Names;
use railtwin::impact::draws_of;
use railtwin::interference::Options;
use railtwin::what_if::options_of;
use railtwin::{Question, Resolved};
use railtwin_answers::triage::{
    ListedJob, RestartHours, Triage, culprits, jobs_of_list, triage, triage_without_jobs, with_jobs,
};
use railtwin_fabric::Fabric;
use railtwin_scenario::{EngineName, Scenario};
use railtwin_store::input;

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
    pub scenario: Option<PathBuf>,
    /// In place of it, a scenario whose fabric alone counts.
    pub fabric: Option<PathBuf>,
    /// The jobs on that fabric: a CSV with the columns `job` and `hosts`.
    pub jobs: Option<PathBuf>,
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
    has_jobs: bool,
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
        let path = self.path()?;
        let (mut question, mut scenario) = one_point(&path.display().to_string(), "triage")?;
        if self.fabric.is_some() {
            let text = with_jobs(&scenario.to_toml(), &self.listed(&question, &scenario)?);
            let text =
                text.map_err(|why| CliError::input(format!("{}: {why}", path.display()), "mend it"))?;
            let folder = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
            question = Question::of_text(&path.display().to_string(), &text, &folder);
            let mut points = question.points().map_err(|error| CliError::of(error, &question.text))?;
            scenario = points.remove(0).scenario;
        }
        let resolved = question.resolve(&scenario).map_err(|error| CliError::of(error, &question.text))?;
        let told = told_of(&DiagnoseRequest {
            files: self.files.clone(),
            fabric: Some(path.clone()),
            names: self.names.clone(),
            baseline: self.baseline.clone(),
            later: self.later.clone(),
            hang_limit: None,
            job: resolved.case.work.jobs.first().map_or("job", |job| &job.name).to_owned(),
        })?;
        let options = options_of(&scenario, self.draws);
        let sure = culprits(&told, &resolved.case).placed.iter().filter(|one| one.is_sure).count();
        let has_jobs = self.fabric.is_none() || self.jobs.is_some();
        Ok(PosedTriage { question, resolved, told, options, restart, sure, has_jobs })
    }

    /// The file that has the fabric.
    fn path(&self) -> Result<&PathBuf, CliError> {
        self.scenario.as_ref().or(self.fabric.as_ref()).ok_or_else(|| {
            let help = "give --scenario with fabric and jobs, or --fabric, and --jobs with the jobs on it";
            CliError::input("no fabric is given", help)
        })
    }

    /// The jobs of the list. Without one a host stands for all, whose job is not told.
    fn listed(&self, question: &Question, scenario: &Scenario) -> Result<Vec<ListedJob>, CliError> {
        let Some(path) = &self.jobs else {
            return Ok(vec![ListedJob { name: "none".to_owned(), hosts: vec![0] }]);
        };
        let shown = path.display();
        let fabric = question.fabric(scenario).map_err(|error| CliError::of(error, &question.text))?;
        let names = self.names.as_deref().map(Names::read).transpose();
        let mut names = names.map_err(|error| CliError::of(error.into(), ""))?;
        let text = input::read_text(path).map_err(|error| {
            CliError::input(format!("cannot read {shown}: {error}"), "give a CSV: job,hosts")
        })?;
        let mut rename = |name: &str| names.as_mut()?.of(name).map(|(name, _)| name);
        jobs_of_list(&text, &fabric, &mut rename).map_err(|why| {
            CliError::input(format!("{shown}: {why}"), "write job,hosts and a line for each job")
        })
    }
}

impl PosedTriage {
    /// Draws that progress hears of.
    pub(crate) fn draws(&self) -> u64 {
        if self.sure == 0 || !self.has_jobs { 0 } else { draws_of(self.sure, self.options) }
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
        if !self.has_jobs {
            return triage_without_jobs(&self.told, &self.resolved.case, self.restart)
                .map_err(|error| CliError::of(error, &self.question.text));
        }
        let engine = railtwin::engines::engine(EngineName::Flow, 1);
        triage(&self.told, &self.resolved.case, &*engine, self.options, self.restart, progress)
            .map_err(|error| CliError::of(error, &self.question.text))
    }

    /// The fabric.
    pub(crate) fn fabric(&self) -> &Fabric {
        &self.resolved.case.fabric
    }

    /// Whether jobs are known, so that costs are.
    pub(crate) const fn has_jobs(&self) -> bool {
        self.has_jobs
    }

    /// The diagnosis.
    pub(crate) const fn told(&self) -> &Diagnosed {
        &self.told
    }

    /// Whether nobody is accused.
    pub(crate) fn is_well(&self) -> bool {
        self.told.is_well()
    }
}

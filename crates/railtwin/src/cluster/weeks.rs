//! Weeks of jobs as one run: a point with its policy and seed, its run folder, its page.
use std::collections::BTreeMap;

use railtwin_control::crux::tenants::{Candidate, SharedLink};
use railtwin_fabric::HostId;
use railtwin_fabric::design::DesignReport;
use railtwin_records::Table;
use railtwin_scenario::{ClusterPlacement, Scenario};
use railtwin_store::{RunFolder, RunInfo, Status, run_id};

use super::told::{JobTold, Told};
use super::{ClusterQuestion, cluster_of, figures, page, tables, without_controllers};
use crate::assumed;
use crate::error::Error;
use crate::question::{CaseName, Question, Reading};
use crate::run::{fabric_text, facts_of_design};

/// What stands as engine in the run folder.
const ENGINE: &str = "cluster";
/// Bytes of the program before anything is asked.
const PROGRAM: f64 = 20e6;
/// Links of a path, inside hosts and out, at most: three tiers up and down, and PCIe at both ends.
const LINKS_OF_A_PATH: f64 = 12.0;
/// Times that a job is kept: as it is asked, as it lives, as it is told, as a row of tables and of the page.
const COPIES: f64 = 4.0;

/// A point with `[cluster]`, whose policy and seed are those of its scenario.
#[derive(Debug)]
pub struct Weeks {
    /// The scenario.
    pub scenario: Scenario,
    /// What is asked.
    pub asked: ClusterQuestion,
    /// Files that it reads, by the paths that the scenario names.
    pub files: Vec<String>,
    run_id: String,
    case_hash: String,
    /// Jobs that come, and GPUs of all of them.
    jobs: [u64; 2],
}

impl Question {
    /// The weeks of jobs of a point, as one run.
    ///
    /// # Errors
    /// As of [`Question::cluster`]; [`Error::Argument`] where controllers of one's own are to place jobs, which a run
    /// folder cannot name.
    pub fn weeks(&self, scenario: &Scenario) -> Result<Weeks, Error> {
        let reading = Reading::of(self);
        let asked = cluster_of(&reading, scenario)?;
        if asked.spec.placement == ClusterPlacement::Own {
            return Err(without_controllers());
        }
        let CaseName { text, hash: case_hash, files } = reading.name_of(scenario);
        let run_id = run_id(&text, ENGINE, env!("CARGO_PKG_VERSION"));
        let jobs = asked.jobs(asked.seed)?;
        let gpus = jobs.iter().map(|job| u64::from(job.gpus)).sum();
        let (scenario, jobs) = (scenario.clone(), [jobs.len() as u64, gpus]);
        Ok(Weeks { scenario, asked, files, run_id, case_hash, jobs })
    }
}

impl ClusterQuestion {
    /// Most bytes at once, beside the fabric: jobs as they are kept, links as they are shared, and the paths that GPUs
    /// have to choose from where all of them are held. A day on 15,360 GPUs of HPN took 96 MiB of 167 counted.
    pub(crate) fn bytes(&self, counts: [u64; 2]) -> f64 {
        let size = |bytes: usize| bytes as f64;
        let (fabric, spec) = (&self.fabric, &self.spec);
        let [jobs, gpus] = counts.map(|count| count as f64);
        let of_jobs = COPIES * (jobs * size(size_of::<JobTold>()) + gpus * size(size_of::<(u32, u32)>()));
        let of_links = size(fabric.link_count()) * size(size_of::<SharedLink>());
        let path = size(size_of::<Candidate>()) + LINKS_OF_A_PATH * size(size_of::<u32>());
        let ports = f64::from(fabric.host_model(HostId(0)).nic.ports);
        let pieces = f64::from(self.gpus()) * ports * f64::from(spec.queue_pairs);
        PROGRAM + of_jobs + of_links + pieces * f64::from(spec.paths) * path
    }

    /// Cost of its weeks; `side_by_side` runs at a time.
    ///
    /// # Errors
    /// As of its jobs; [`Error::TooLarge`] beyond `limit` bytes.
    pub fn cost_within(&self, side_by_side: u64, limit: u64) -> Result<f64, Error> {
        let jobs = self.jobs(self.seed)?;
        let gpus = jobs.iter().map(|job| u64::from(job.gpus)).sum();
        let bytes = self.bytes([jobs.len() as u64, gpus]) * side_by_side.max(1) as f64;
        crate::estimate::refused_above(bytes, limit).map(|()| bytes)
    }
}

impl Weeks {
    /// The id of its run.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Most bytes at once.
    pub fn bytes(&self) -> f64 {
        self.asked.bytes(self.jobs)
    }

    /// What stands in `run.json` while it runs.
    pub(crate) fn starting_info(&self) -> (RunInfo, DesignReport) {
        let (scenario, spec) = (&self.scenario, &self.asked.spec);
        let design = DesignReport::of(&self.asked.fabric);
        let mut facts: BTreeMap<String, String> = facts_of_design(&design);
        let mut say = |name: &str, value: String| facts.insert(name.to_owned(), value);
        say("days", spec.days.to_string());
        say("queue", spec.queue.to_string());
        say("placement", spec.placement.to_string());
        say("rank order", spec.rank_order.name().to_owned());
        say("sharing", spec.sharing.name().to_owned());
        say("jobs that come", self.jobs[0].to_string());
        if let Some(assumed) = assumed::fact_of(&self.asked.assumed()) {
            say(assumed::FACT, assumed);
        }
        let info = RunInfo::starting(&self.run_id, &self.case_hash, &scenario.name, ENGINE, scenario.seed);
        (RunInfo { facts, ..info }, design)
    }

    /// Makes the run folder of weeks that are about to be lived: status running, without tables.
    ///
    /// # Errors
    /// [`Error::Store`]: there is something at `path`, or it cannot be written.
    pub fn begin(&self, path: &std::path::Path) -> Result<RunFolder, Error> {
        let (info, _) = self.starting_info();
        Ok(RunFolder::create(path, &info, &self.scenario.to_toml(), &fabric_text(&info))?)
    }

    /// Lives them; `progress` hears of the end.
    ///
    /// # Errors
    /// As of [`ClusterQuestion::told`].
    pub fn run(self, progress: &(dyn Fn() + Sync)) -> Result<WeeksRun, Error> {
        let asked = &self.asked;
        let (told, actions) = asked.told_with_actions()?;
        progress();
        let (mut info, design) = self.starting_info();
        info.figures = figures::of_run(&told);
        info.figures.extend(crate::figures::of_design(&design));
        info.headline = page::headline_of(&told);
        info.warnings.clone_from(&told.notes);
        let effort = told.effort;
        let counters = [
            ("epochs", effort.epochs),
            ("watched_steps", effort.watched_steps.round() as u64),
            ("skipped_steps", effort.skipped_steps.round() as u64),
            ("checks", effort.checks),
            ("checks_failed", effort.checks_failed),
            ("plans", effort.plans),
            ("moves", effort.moves),
        ];
        info.counters = counters.map(|(name, value)| (name.to_owned(), value)).into();
        info.status = Status::Complete;
        Ok(WeeksRun { weeks: self, told, actions, info })
    }
}

/// Weeks of jobs that were lived.
#[derive(Debug)]
pub struct WeeksRun {
    /// What was asked.
    pub weeks: Weeks,
    /// What is told of it.
    pub told: Told,
    /// What was decided.
    actions: Table,
    /// What stands in `run.json`.
    pub info: RunInfo,
}

impl WeeksRun {
    /// All tables, by name: jobs, hours, who contended with whom, and what was decided.
    pub fn tables(&self) -> Vec<Table> {
        let mut all = tables::all(&self.told);
        all.push(self.actions.clone());
        all
    }

    /// The page of it.
    pub fn page(&self) -> String {
        let described = self.weeks.scenario.description.as_deref().unwrap_or_default();
        page(&self.weeks.asked, described, std::slice::from_ref(&self.told))
    }

    /// Fills a run folder that [`Weeks::begin`] made: tables first, the report, then the information that it is complete.
    ///
    /// # Errors
    /// [`Error::Store`] naming what could not be written.
    pub fn write_into(&self, folder: &RunFolder) -> Result<(), Error> {
        for table in &self.tables() {
            folder.write_table(table)?;
        }
        folder.write_report(self.page().as_bytes())?;
        folder.write_info(&self.info)?;
        Ok(())
    }
}

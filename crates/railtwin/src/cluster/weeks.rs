//! Weeks of jobs as one run: a point with its policy and seed, its run folder, its page.
use std::collections::BTreeMap;

use railtwin_fabric::design::DesignReport;
use railtwin_records::Table;
use railtwin_scenario::{ClusterPlacement, Scenario};
use railtwin_store::{RunFolder, RunInfo, Status, run_id};

use super::cost::Coming;
use super::told::Told;
use super::{ClusterQuestion, cluster_of, figures, page, tables, without_controllers};
use crate::assumed;
use crate::cost::Cost;
use crate::error::Error;
use crate::question::{CaseName, Question, Reading};
use crate::run::{fabric_text, facts_of_design};

/// What stands as engine in the run folder.
const ENGINE: &str = "cluster";
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
    /// Jobs that come.
    coming: Coming,
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
        let coming = Coming::of(&asked.jobs(asked.seed)?);
        Ok(Weeks { scenario: scenario.clone(), asked, files, run_id, case_hash, coming })
    }
}

impl Weeks {
    /// The id of its run.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Memory and time that they take.
    pub fn cost(&self) -> Cost {
        self.asked.cost_of(self.coming, 1, 1)
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
        say("jobs that come", self.coming.jobs.to_string());
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

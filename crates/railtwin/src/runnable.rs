//! A point of whichever kind, as it is run one by one, in sweeps, here and elsewhere: steps of jobs, or weeks of them.
use std::path::Path;

use railtwin_records::Table;
use railtwin_scenario::{EngineName, Scenario};
use railtwin_store::{RunFolder, RunInfo};

use crate::cluster::{Weeks, WeeksRun};
use crate::cost::Cost;
use crate::error::Error;
use crate::estimate::Estimate;
use crate::question::{Question, Resolved};
use crate::report::page;
use crate::run::{self, Run, Unexpected};

/// A point that can be run.
#[derive(Debug)]
pub enum Runnable {
    /// Steps of jobs, by an engine.
    Steps(Box<Resolved>),
    /// Weeks of jobs: `[cluster]`.
    Weeks(Box<Weeks>),
}

/// What came of a point.
#[derive(Debug)]
pub enum Ran {
    /// Of steps.
    Steps(Box<Run>),
    /// Of weeks.
    Weeks(Box<WeeksRun>),
}

impl Question {
    /// A point, ready to run.
    ///
    /// # Errors
    /// As of [`Question::resolve`] and [`Question::weeks`].
    pub fn runnable(&self, scenario: &Scenario) -> Result<Runnable, Error> {
        match scenario.cluster {
            Some(_) => Ok(Runnable::Weeks(Box::new(self.weeks(scenario)?))),
            None => Ok(Runnable::Steps(Box::new(self.resolve(scenario)?))),
        }
    }
}

impl Runnable {
    /// Has the fabric of another point where both are the same, so that it is there once.
    pub fn share_fabric(&mut self, other: &Self) {
        if let (Self::Steps(own), Self::Steps(other)) = (self, other) {
            own.share_fabric(other);
        }
    }

    /// Its scenario.
    pub fn scenario(&self) -> &Scenario {
        match self {
            Self::Steps(resolved) => &resolved.scenario,
            Self::Weeks(weeks) => &weeks.scenario,
        }
    }

    /// The id that its run will have.
    pub fn run_id(&self) -> String {
        match self {
            Self::Steps(resolved) => run::id_of(resolved),
            Self::Weeks(weeks) => weeks.run_id().to_owned(),
        }
    }

    /// Files that it reads, by the paths that the scenario names.
    pub fn files(&self) -> &[String] {
        match self {
            Self::Steps(resolved) => &resolved.files,
            Self::Weeks(weeks) => &weeks.files,
        }
    }

    /// Times that its progress is heard.
    pub fn ticks(&self) -> u64 {
        match self {
            Self::Steps(resolved) if resolved.case.work.jobs.is_empty() => 0,
            Self::Steps(resolved) => resolved.scenario.run.replicates.into(),
            Self::Weeks(_) => 1,
        }
    }

    /// What is counted by them: weeks are heard of once, at their end.
    pub fn names_of_ticks(&self) -> &'static str {
        match self {
            Self::Steps(_) => "replicates",
            Self::Weeks(_) => "runs",
        }
    }

    /// Most bytes that it takes at once, with `threads` replicates side by side.
    pub fn bytes(&self, threads: usize) -> f64 {
        match self {
            Self::Steps(resolved) => Estimate::of(resolved, threads).bytes,
            Self::Weeks(weeks) => weeks.cost().bytes,
        }
    }

    /// The same, where it is within `limit`.
    ///
    /// # Errors
    /// [`Error::TooLarge`] with what was counted, the limit and what would be smaller.
    pub fn bytes_within(&self, threads: usize, limit: u64) -> Result<f64, Error> {
        match self {
            Self::Steps(resolved) => {
                let mut estimate = Estimate::of(resolved, threads);
                estimate.check(resolved, limit)?;
                if resolved.case.packets.keys.samples.is_some()
                    || resolved.scenario.control.feedback.is_some()
                {
                    estimate = estimate.with_packets(resolved);
                    estimate.check(resolved, limit)?;
                }
                Ok(estimate.bytes)
            }
            Self::Weeks(weeks) => {
                let cost = weeks.cost();
                cost.check(limit).map(|()| cost.bytes)
            }
        }
    }

    /// Memory and time that it takes, with `threads` replicates side by side. Its packets are counted, which lowers it.
    pub fn cost(&self, threads: usize) -> Cost {
        match self {
            Self::Steps(resolved) => {
                let estimate = Estimate::of(resolved, threads);
                match estimate.is_numbered() {
                    true => estimate.with_packets(resolved).cost(),
                    false => estimate.cost(),
                }
            }
            Self::Weeks(weeks) => weeks.cost(),
        }
    }

    /// What to expect of it, where that is long and known before it runs.
    pub fn words(&self, threads: usize) -> Option<String> {
        match self {
            Self::Steps(resolved) => Estimate::of(resolved, threads).with_packets(resolved).words(),
            Self::Weeks(weeks) => weeks.cost().words(),
        }
    }

    /// Makes the run folder of a point that is about to run.
    ///
    /// # Errors
    /// [`Error::Store`]: there is something at `path`, or it cannot be written.
    pub fn begin(&self, path: &Path) -> Result<RunFolder, Error> {
        match self {
            Self::Steps(resolved) => run::begin(resolved, path),
            Self::Weeks(weeks) => weeks.begin(path),
        }
    }

    /// Runs it; [`Runnable::begin`] made `folder`. `progress` is heard [`Runnable::ticks`] times.
    ///
    /// # Errors
    /// As of [`Run::of_into`] and [`Weeks::run`].
    pub fn run_into(self, folder: Option<&RunFolder>, progress: &(dyn Fn() + Sync)) -> Result<Ran, Error> {
        match self {
            Self::Steps(resolved) => {
                crate::memory::expect_growth(&growth_of(&resolved));
                Ok(Ran::Steps(Box::new(Run::of_into(*resolved, folder, progress)?)))
            }
            Self::Weeks(weeks) => Ok(Ran::Weeks(Box::new(weeks.run(progress)?))),
        }
    }
}

/// What may grow beyond any estimate while a case runs, with the keys that make it smaller.
fn growth_of(resolved: &Resolved) -> String {
    let mut ways = Vec::new();
    let case = &resolved.case;
    if resolved.scenario.engine == EngineName::Packet && case.packets.keys.samples.is_some() {
        ways.push("rows of queues grow: write a longer packet.samples");
    }
    if resolved.scenario.control.feedback.is_some() {
        ways.push("records of messages that feedback reports grow: write a longer control.feedback");
    }
    let fewer = "records of operations and links grow: write fewer steps, fewer bytes or fewer GPUs";
    ways.push(fewer);
    ways.join("; ")
}

impl Ran {
    /// What stands in `run.json`.
    pub fn info(&self) -> &RunInfo {
        match self {
            Self::Steps(run) => &run.info,
            Self::Weeks(run) => &run.info,
        }
    }

    /// Its scenario.
    pub fn scenario(&self) -> &Scenario {
        match self {
            Self::Steps(run) => &run.resolved.scenario,
            Self::Weeks(run) => &run.weeks.scenario,
        }
    }

    /// All tables, by name.
    pub fn tables(&self) -> Vec<Table> {
        match self {
            Self::Steps(run) => run.tables(),
            Self::Weeks(run) => run.tables(),
        }
    }

    /// Its page; none where nothing was simulated.
    pub fn page(&self) -> Option<String> {
        match self {
            Self::Steps(run) => run.payload().map(|payload| page(&run.info.name, &[payload])),
            Self::Weeks(run) => Some(run.page()),
        }
    }

    /// Figures that are not what the scenario expects.
    pub fn unexpected(&self) -> Vec<Unexpected> {
        run::unexpected(&self.scenario().expect, &self.info().figures)
    }

    /// Fills the run folder that [`Runnable::begin`] made, whose last word is that it is complete.
    ///
    /// # Errors
    /// [`Error::Store`] naming what could not be written.
    pub fn write_into(&self, folder: &RunFolder) -> Result<(), Error> {
        match self {
            Self::Steps(run) => run.write_into(folder),
            Self::Weeks(run) => run.write_into(folder),
        }
    }

    /// Writes a new run folder.
    ///
    /// # Errors
    /// [`Error::Store`] naming what could not be written.
    pub fn write(&self, path: &Path) -> Result<RunFolder, Error> {
        match self {
            Self::Steps(run) => run.write(path),
            Self::Weeks(run) => {
                let folder = run.weeks.begin(path)?;
                run.write_into(&folder)?;
                Ok(folder)
            }
        }
    }
}

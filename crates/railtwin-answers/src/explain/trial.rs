//! One simulated trial: a scenario's text in, bus bandwidth or step time out.
use std::path::PathBuf;

use railtwin::simulate::{mean_step, simulate};
use railtwin::{Question, Resolved, busbw};
use railtwin_engine::Engine;
use toml::Table;

use super::Measured;
use super::edits::{Edit, edited};

/// Steps that a trial simulates at most: each is like the others.
const STEPS: i64 = 3;
/// Sections that describe no part of the cluster or of its work.
const BESIDE: [&str; 5] = ["fault", "failures", "telemetry", "gain", "expect"];

/// Where trials are made.
pub struct Trials<'a> {
    table: Table,
    folder: PathBuf,
    job: usize,
    is_step: bool,
    engine: &'a dyn Engine,
    progress: &'a (dyn Fn() + Sync),
}

impl<'a> Trials<'a> {
    /// Trials of a scenario without its faults, its telemetry and what it expects.
    ///
    /// # Errors
    /// The reason where the text is no TOML.
    pub fn new(
        (text, folder): (&str, PathBuf),
        (job, measured): (usize, Measured),
        engine: &'a dyn Engine,
        progress: &'a (dyn Fn() + Sync),
    ) -> Result<Self, String> {
        let mut table: Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
        for section in BESIDE {
            table.remove(section);
        }
        if let Some(run) = table.get_mut("run").and_then(toml::Value::as_table_mut) {
            let steps = run.get("steps").and_then(toml::Value::as_integer).unwrap_or(1);
            run.insert("steps".to_owned(), toml::Value::from(steps.min(STEPS)));
            run.insert("replicates".to_owned(), toml::Value::from(1));
        }
        Ok(Self { table, folder, job, is_step: matches!(measured, Measured::StepTime(_)), engine, progress })
    }

    /// The text that trials change.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Row of the job in the scenario.
    pub fn job(&self) -> usize {
        self.job
    }

    /// Whether step times are told, and no bandwidth.
    pub fn is_step(&self) -> bool {
        self.is_step
    }

    /// The case of some changes.
    ///
    /// # Errors
    /// The reason where the scenario does not allow them.
    pub fn resolved(&self, edits: &[Edit]) -> Result<Resolved, String> {
        let table = edited(&self.table, self.job, edits).ok_or("the scenario has no place for the change")?;
        let question = Question::of_text("the scenario", &table.to_string(), &self.folder);
        let points = question.points().map_err(|error| reason(&error))?;
        let [point] = points.as_slice() else { return Err("the scenario has several points".to_owned()) };
        question.resolve(&point.scenario).map_err(|error| reason(&error))
    }

    /// Simulates `draws` draws of hash seeds: bus bandwidth in GB/s, or step time in seconds, of each.
    ///
    /// # Errors
    /// The reason where the scenario does not allow the changes, or the job does not come to its end.
    pub fn values(&self, edits: &[Edit], draws: u32) -> Result<Vec<f64>, String> {
        let resolved = self.resolved(edits)?;
        let mut values = Vec::with_capacity(draws as usize);
        let mut take = |_: u32, replicates: &[railtwin::simulate::Replicate]| {
            for replicate in replicates {
                values.push(if self.is_step {
                    mean_step(replicate, self.job)
                } else {
                    let all: Vec<f64> = busbw::in_lead(replicate, &[self.job])
                        .into_iter()
                        .map(|(_, bits)| bits / 8e9)
                        .collect();
                    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
                });
            }
            Ok(())
        };
        simulate(&resolved.case, self.engine, draws, self.progress, &mut take)
            .map_err(|error| reason(&error))?;
        let values: Option<Vec<f64>> = values.into_iter().collect();
        let why = match self.is_step {
            true => "the job does not come to its end",
            false => "no collective of the job has a bus bandwidth, or it does not come to its end",
        };
        values.filter(|all| !all.is_empty()).ok_or_else(|| why.to_owned())
    }

    /// The mean over draws.
    ///
    /// # Errors
    /// As of [`Self::values`].
    pub fn mean(&self, edits: &[Edit], draws: u32) -> Result<f64, String> {
        self.values(edits, draws).map(|all| all.iter().sum::<f64>() / all.len() as f64)
    }
}

/// The first line of an error.
fn reason(error: &railtwin::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

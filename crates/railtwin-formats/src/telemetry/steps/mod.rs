//! Times of training steps: logs of MLPerf, tables that have a column of them, lines that frameworks print.
//!
//! * [`column`]: what the head of a column says; [`choice`]: which column tells times; [`rows`]: rows of CSV and of JSON
//!   lines; [`table`]: steps of tables; [`ranks`]: of which each rank tells; [`scalars`]: tables of TensorBoard;
//!   [`mlperf`]: logs of MLPerf; [`lines`]: Megatron's lines and their like.
mod choice;
mod column;
mod lines;
mod mlperf;
mod ranks;
mod rows;
mod scalars;
mod table;

use super::skipped::Skipped;
use crate::error::FormatError;

pub(crate) use lines::is_step_line;
pub use lines::parse_step_lines;
pub(crate) use mlperf::is_mlperf;
pub use mlperf::parse_mlperf_log;
pub(crate) use table::{is_json_lines, names_columns};
pub use table::{parse_steps_csv, parse_steps_json};

/// One step of training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTime {
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Whether it is the first or last between two other events: evaluations, checkpoints, start and end.
    pub beside: bool,
    /// What it worked on, such as its global batch size; 0 where nothing tells it.
    pub work: f64,
    /// Its number, where a number stands beside it: rows may tell one step in ten.
    pub number: Option<u64>,
}

/// The steps of a run, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepSeries {
    /// What runs of the same job have in common.
    pub job: String,
    /// Which run of it; the file where it tells none.
    pub run: String,
    /// Steps.
    pub steps: Vec<StepTime>,
    /// Whether the last row was no step.
    after_other: bool,
}

/// Most works of a run, and fewest steps of each on average, for steps to be told apart by them: what differs from step to
/// step, such as tokens of packed sequences, would leave nothing to compare with.
const WORKS_MAX: usize = 16;
const STEPS_OF_A_WORK: usize = 16;

impl StepSeries {
    /// A series of steps of equal work, by their seconds, without anything between them.
    pub fn of_times(job: &str, run: &str, seconds: impl IntoIterator<Item = f64>) -> Self {
        let mut series = Self::of(job, run);
        seconds.into_iter().for_each(|one| series.step(one, 1.0, None));
        series
    }

    fn of(job: &str, run: &str) -> Self {
        Self { job: job.to_owned(), run: run.to_owned(), ..Self::default() }
    }

    fn step(&mut self, seconds: f64, work: f64, number: Option<u64>) {
        let beside = self.after_other || self.steps.is_empty();
        self.steps.push(StepTime { seconds, beside, work, number });
        self.after_other = false;
    }

    fn other(&mut self) {
        if let Some(last) = self.steps.last_mut() {
            last.beside = true;
        }
        self.after_other = true;
    }

    /// Forgets works of which there are too many to compare steps within each.
    fn settle(&mut self) {
        let works: std::collections::BTreeSet<u64> =
            self.steps.iter().map(|one| one.work.to_bits()).collect();
        if works.len() > 1 && (works.len() > WORKS_MAX || works.len() * STEPS_OF_A_WORK > self.steps.len()) {
            self.steps.iter_mut().for_each(|step| step.work = 0.0);
        }
    }
}

/// A file of steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepLog {
    /// Runs in order of their names.
    pub series: Vec<StepSeries>,
    /// What was taken for the time of a step, in words.
    pub taken: String,
    /// Rows that are wrong.
    pub skipped: Skipped,
}

impl StepLog {
    /// The log without runs that have no steps; none where none has any.
    fn settled(mut self) -> Option<Self> {
        self.series.retain(|series| !series.steps.is_empty());
        self.series.iter_mut().for_each(StepSeries::settle);
        (!self.series.is_empty()).then_some(self)
    }
}

/// The number of a step: one that counts.
fn counts(number: f64) -> Option<u64> {
    (number.fract() == 0.0 && (0.0..1e15).contains(&number)).then_some(number as u64)
}

fn is_time(seconds: f64) -> bool {
    seconds.is_finite() && seconds > 0.0
}

fn no_time(format: &'static str, source_name: &str, line: u64, field: &str, found: &str) -> FormatError {
    FormatError::new(format, source_name, "is no time", "a number above 0")
        .at_line(line)
        .field(field)
        .found(found)
}

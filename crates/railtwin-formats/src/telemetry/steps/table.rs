//! Tables with a column of times of steps: values between commas, tabs or semicolons, or a JSON object in each line.
use std::collections::BTreeMap;

use super::choice::choose;
use super::column::{Of, Told, counts_steps, run_and_column, tells_evaluation, tells_work, told};
use super::ranks::of_all;
use super::rows::{Rows, head_of, keys};
use super::scalars::{Scalars, scalars};
use super::{StepLog, StepSeries, counts, is_time, no_time};
use crate::error::FormatError;
use crate::telemetry::skipped::Skipped;

/// Columns that tell a job, and one of its runs.
const JOBS: [&str; 9] =
    ["round", "organisation", "organization", "cluster", "system", "job", "model", "config", "experiment"];
const RUNS: [&str; 6] = ["run", "run_id", "run_name", "trial", "attempt", "seed"];
/// Columns that tell a rank of a run.
const RANKS: [&str; 4] = ["rank", "global_rank", "local_rank", "hostname"];
/// What an event of a step is called.
const STEP: [&str; 4] = ["", "step", "train_step", "iteration"];
/// Lines of JSON that are looked at to tell whether they hold steps.
const LINES: usize = 64;
const WANTED: &str = "a head with a column such as step_s, Step Time (ms), sec_per_step or batch_time, or time, elapsed_s or \
                      tokens_per_sec beside a column step";

/// Whether names are those of a table of steps: one tells times of steps, or numbers them, so that what is missing can be said.
fn of_steps(names: &[String]) -> bool {
    let tells = |name: &String| {
        let column = run_and_column(name).map_or(name.as_str(), |(_, column)| column);
        told(column).is_some_and(|told| !told.needs_steps())
    };
    names.len() > 1
        && (names.iter().any(|name| tells(name) || counts_steps(name)) || scalars(names).is_some())
}

/// Whether a line is the head of a table with times of steps.
pub(crate) fn names_columns(line: &str) -> bool {
    of_steps(&head_of(line.trim_end_matches(['\r', '\n'])))
}

/// Whether text is JSON objects, one in each line, of which some tell steps.
pub(crate) fn is_json_lines(text: &str) -> bool {
    of_steps(&keys(text.lines().take(LINES)))
}

/// Reads a table with a column of times of steps, told by the words of its head and their unit: `step_s`,
/// `Step Time (ms)`, `sec_per_step`, `elapsed time per iteration (ms)`, `it/s`; else of batches: `batch_time`; else, where another
/// column numbers steps, `time`, `seconds` or `elapsed` alone; else a clock such as `timestamp` or `_runtime` (differences over
/// those of numbers of steps are taken); else tokens or samples per second (the time of one). `run - step_time`, one column of
/// each run. Seconds where the head names no unit. `time` that rises from row to row as a clock does is one.
///
/// Rows of one run have the same job (`system`, `config`, …) and run (`run`, `seed`, `rank`, …) and stand in their order. Rows whose
/// `event` is not a step, and those that tell an evaluation and no time, stand between them. A batch size tells steps of
/// different work apart. Other columns are not used.
///
/// Scalars of TensorBoard (`Wall time,Step,Value`) are times of steps where the name of the file says so, else differences of
/// wall times over those of steps are.
///
/// # Errors
/// A gzip stream that is broken, scalars that tell no time of a step, a table without such a column, with several that tell
/// unlike times, or without steps; times that may be a clock, and a clock beside no numbers of steps.
pub fn parse_steps_csv(source_name: &str, bytes: &[u8]) -> Result<StepLog, FormatError> {
    read(source_name, &Rows::of_csv(source_name, bytes)?)
}

/// Reads lines that hold a JSON object each, as programs log what they measure: keys are columns as those of
/// [`parse_steps_csv`], one of an object within an object behind a slash. Lines without a time are passed over.
///
/// # Errors
/// Those of [`parse_steps_csv`].
pub fn parse_steps_json(source_name: &str, bytes: &[u8]) -> Result<StepLog, FormatError> {
    read(source_name, &Rows::of_json(source_name, bytes)?)
}

/// Where in a row what is told of a step stands.
struct Columns {
    taken: Vec<(usize, Told)>,
    number: Option<usize>,
    event: Option<usize>,
    jobs: Vec<usize>,
    runs: Vec<usize>,
    ranks: Vec<usize>,
    works: Vec<usize>,
    evaluations: Vec<usize>,
}

impl Columns {
    fn of(source_name: &str, rows: &Rows) -> Result<Self, FormatError> {
        let names = &rows.names;
        let lower: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        let at = |name: &str| lower.iter().position(|column| column == name);
        let of = |wanted: &[&str]| wanted.iter().filter_map(|name| at(name)).collect::<Vec<usize>>();
        let these =
            |is: &dyn Fn(&str) -> bool| (0..names.len()).filter(|&column| is(&names[column])).collect();
        // A step of the whole run before one of an epoch.
        let global = |name: &String| counts_steps(name) && name.to_ascii_lowercase().contains("global");
        let number =
            names.iter().position(global).or_else(|| names.iter().position(|name| counts_steps(name)));
        let (jobs, runs, ranks) = (of(&JOBS), of(&RUNS), of(&RANKS));
        let of_run: Vec<usize> = jobs.iter().chain(&runs).chain(&ranks).copied().collect();
        let wall = scalars(names);
        let wrong =
            |[problem, wanted]: [String; 2]| FormatError::new(rows.format, source_name, problem, wanted);
        let mut taken = choose(rows, number, &of_run, wall.map(|scalars| scalars.wall)).map_err(wrong)?;
        // A wall time is no time of a step: a column that is one, or else the name of the file, tells.
        if let Some(scalars) = wall.filter(|_| taken.iter().all(|(_, told)| told.of >= Of::Clock)) {
            taken = vec![scalars.taken(source_name, rows.format)?];
        }
        if taken.is_empty() {
            let problem = format!("has no column of times of steps: {}", listed(names));
            return Err(wrong([problem, WANTED.into()]).foreign());
        }
        Ok(Self {
            taken,
            number,
            event: at("event"),
            jobs,
            runs,
            ranks,
            works: these(&tells_work),
            evaluations: these(&tells_evaluation),
        })
    }
}

/// Names of columns, the first of many.
fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(12).map(|name| format!("{name:?}")).collect();
    let more = if names.len() > shown.len() { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// A run as it is read.
#[derive(Default)]
struct Run {
    series: StepSeries,
    /// Clock and number of the row before.
    before: Option<[f64; 2]>,
}

/// Runs as they are read: by job and run, then by rank.
type Runs = BTreeMap<(String, String), BTreeMap<String, Run>>;

/// The values of a row beside its times.
struct RowTells {
    job: String,
    run: String,
    rank: String,
    /// Whether it is a step, by its event.
    is_step: bool,
    /// Whether it tells an evaluation.
    evaluates: bool,
    number: Option<f64>,
    work: f64,
}

impl RowTells {
    fn of(rows: &Rows, columns: &Columns, row: &csv::StringRecord) -> Self {
        let joined = |columns: &[usize]| {
            columns.iter().filter_map(|&column| row.get(column)).collect::<Vec<&str>>().join(" ")
        };
        let of_event = columns.event.and_then(|column| row.get(column));
        let is_told = |&column: &usize| row.get(column).is_some_and(|text| !text.is_empty());
        let works = columns.works.iter().filter_map(|&column| rows.number(row.get(column)?));
        let work = works.product::<f64>();
        Self {
            job: joined(&columns.jobs),
            run: joined(&columns.runs),
            rank: joined(&columns.ranks),
            is_step: of_event.is_none_or(|event| STEP.contains(&event)),
            evaluates: columns.evaluations.iter().any(is_told),
            number: columns.number.and_then(|column| rows.number(row.get(column)?)),
            work: if columns.works.is_empty() || !work.is_finite() { 0.0 } else { work },
        }
    }
}

/// A table of steps while it is read.
struct TableOfSteps<'a> {
    source_name: &'a str,
    rows: &'a Rows<'a>,
    columns: Columns,
    all: Runs,
    skipped: Skipped,
}

impl TableOfSteps<'_> {
    /// Takes one row in.
    fn take(&mut self, line: u64, row: &csv::StringRecord) {
        let beside = RowTells::of(self.rows, &self.columns, row);
        for at in 0..self.columns.taken.len() {
            let (column, told) = self.columns.taken[at];
            self.take_time(line, row.get(column).unwrap_or_default(), (column, told), &beside);
        }
    }

    /// Takes the value of a column of times in, which stands in a row that tells so much beside it.
    fn take_time(&mut self, line: u64, text: &str, (column, told): (usize, Told), beside: &RowTells) {
        let rows = self.rows;
        let name = &rows.names[column];
        let is_one_of_many = self.columns.taken.len() > 1;
        let of_column = run_and_column(name).filter(|_| is_one_of_many || beside.run.is_empty());
        let run = match of_column {
            Some((run, _)) => run.to_owned(),
            None if beside.run.is_empty() => self.source_name.to_owned(),
            None => beside.run.clone(),
        };
        let new = || Run { series: StepSeries::of(&beside.job, &run), before: None };
        let of_run = self.all.entry((beside.job.clone(), run.clone())).or_default();
        let of_run = of_run.entry(beside.rank.clone()).or_insert_with(new);
        if !beside.is_step {
            of_run.series.other();
            return;
        }
        let wrong = || no_time(rows.format, self.source_name, line, name, text);
        let value = match told.inverse {
            true => rows.number(text).map(|rate| 1.0 / rate / told.unit),
            false => rows.seconds(text, told.unit),
        };
        match value.filter(|value| value.is_finite()) {
            Some(clock) if told.of == Of::Clock => {
                if !of_run.passes(clock, beside.number, beside.work) {
                    self.skipped.take(wrong());
                }
            }
            Some(seconds) if is_time(seconds) => {
                of_run.series.step(seconds, beside.work, beside.number.and_then(counts));
            }
            // Rows of a table of many runs are empty where a run has no step, and those of evaluations are.
            None if text.is_empty() && beside.evaluates => of_run.series.other(),
            None if text.is_empty() && (is_one_of_many || rows.is_json()) => {}
            _ => self.skipped.take(wrong()),
        }
    }

    /// The times that were read.
    fn end(self) -> Result<StepLog, FormatError> {
        let Self { source_name, rows, columns, all, skipped } = self;
        let most = all.values().map(BTreeMap::len).max().unwrap_or(0);
        let of_ranks =
            |ranks: BTreeMap<String, Run>| of_all(ranks.into_values().map(|run| run.series).collect());
        let series: Vec<StepSeries> = all.into_values().filter_map(of_ranks).collect();
        let mut taken = said(rows, &columns);
        if most > 1 {
            taken += &format!("; a step of {most} ranks takes as long as at the slowest of them");
        }
        let clock = columns.taken.iter().any(|(_, told)| told.of == Of::Clock);
        StepLog { series, taken, skipped }.settled().ok_or_else(|| {
            let [problem, wanted] = match clock {
                true => ["has no wall times that rise over steps", Scalars::WANTED],
                false => ["has no steps", WANTED],
            };
            FormatError::new(rows.format, source_name, problem, wanted)
        })
    }
}

fn read(source_name: &str, rows: &Rows) -> Result<StepLog, FormatError> {
    let columns = Columns::of(source_name, rows)?;
    let mut table =
        TableOfSteps { source_name, rows, columns, all: Runs::new(), skipped: Skipped::default() };
    for (line, row) in rows.iter() {
        match row {
            Some(row) => table.take(line, &row),
            None => {
                let accepted = if rows.is_json() { "a JSON object" } else { "values between commas" };
                let error = FormatError::new(rows.format, source_name, "is no row", accepted);
                table.skipped.take(error.at_line(line));
            }
        }
    }
    table.end()
}

impl Run {
    /// Takes a clock at a step: what passed since the one before, for each step between. A step that goes back, as of a job that
    /// began again, and what follows it stand apart. False where the clock or the number tells nothing.
    fn passes(&mut self, clock: f64, number: Option<f64>, work: f64) -> bool {
        let Some(at) = number.filter(|at| at.is_finite()) else { return false };
        let before = self.before.replace([clock, at]);
        match before {
            // A clock of whole seconds stands still for a step or two: the next that moves counts for all of them.
            Some([earlier, from]) if at > from && clock == earlier => {
                self.before = Some([earlier, from]);
                true
            }
            Some([earlier, from]) if at > from => {
                let seconds = (clock - earlier) / (at - from);
                if is_time(seconds) {
                    self.series.step(seconds, work, counts(at));
                }
                is_time(seconds)
            }
            Some(_) => {
                self.series.other();
                true
            }
            None => true,
        }
    }
}

/// What was taken, in words.
fn said(rows: &Rows, columns: &Columns) -> String {
    let Some((column, told)) = columns.taken.first() else { return String::new() };
    let unit = match (told.names_unit, told.unit) {
        (false, _) => "seconds, as its head names no unit",
        (_, unit) if unit < 2.0 => "seconds",
        (_, unit) if unit < 2e3 => "milliseconds",
        (_, unit) if unit < 2e6 => "microseconds",
        _ => "nanoseconds",
    };
    let (name, of) = (&rows.names[*column], columns.number.map(|column| &rows.names[column]));
    if let (Of::Clock, Some(step)) = (told.of, of) {
        return format!(
            "taken for times of steps: differences of column {name:?} over those of {step:?}, in {unit}, with all that lies between"
        );
    }
    let more = match columns.taken.len() {
        1 => String::new(),
        count => format!(" and {} more columns", count - 1),
    };
    match told.of {
        Of::Amount => format!(
            "taken for times of steps: column {name:?}{more}, of which one over its value is the time of one token or sample: that \
             of steps as far as each holds as many"
        ),
        Of::Batch if told.inverse => format!(
            "taken for times of steps: column {name:?}{more} (batches per time, in {unit}; those of all devices together where it \
             counts so)"
        ),
        _ => {
            let inverse = if told.inverse { "steps per time, in " } else { "" };
            format!("taken for times of steps: column {name:?}{more} ({inverse}{unit})")
        }
    }
}

#[cfg(test)]
mod tests;

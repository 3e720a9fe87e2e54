//! Times of training steps: logs of MLPerf, and any CSV that has a column of them.
use std::collections::BTreeMap;

use serde_json::Value;

use super::input;
use super::skipped::Skipped;
use crate::error::FormatError;

/// Names of these formats in errors.
const MLPERF: &str = "MLPerf log";
const CSV: &str = "CSV of steps";
/// What a line of an MLPerf log begins with, after what a launcher puts before it.
const SIGN: &str = ":::MLLOG";
/// Columns of a step's time and how many of their unit are a second.
const TIMES: [(&str, f64); 13] = [
    ("step_s", 1.0),
    ("step_time_s", 1.0),
    ("step_time", 1.0),
    ("step_seconds", 1.0),
    ("train_step_time", 1.0),
    ("iteration_time", 1.0),
    ("iteration_time_s", 1.0),
    ("iter_time", 1.0),
    ("time_per_step", 1.0),
    ("step_ms", 1e3),
    ("step_time_ms", 1e3),
    ("iteration_time_ms", 1e3),
    ("elapsed_time_per_iteration_ms", 1e3),
];
/// Columns that tell a job, and one of its runs.
const JOBS: [&str; 9] =
    ["round", "organisation", "organization", "cluster", "system", "job", "model", "config", "experiment"];
const RUNS: [&str; 5] = ["run", "run_id", "trial", "attempt", "seed"];
/// What an event of a step is called.
const STEP: [&str; 4] = ["", "step", "train_step", "iteration"];

/// One step of training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTime {
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Whether it is the first or last between two other events: evaluations, checkpoints, start and end.
    pub beside: bool,
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

impl StepSeries {
    fn step(&mut self, seconds: f64) {
        let beside = self.after_other || self.steps.is_empty();
        self.steps.push(StepTime { seconds, beside });
        self.after_other = false;
    }

    fn other(&mut self) {
        if let Some(last) = self.steps.last_mut() {
            last.beside = true;
        }
        self.after_other = true;
    }
}

/// A file of steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepLog {
    /// Runs in order of their names.
    pub series: Vec<StepSeries>,
    /// Rows that are wrong.
    pub skipped: Skipped,
}

/// Whether a line is one of an MLPerf log.
pub(crate) fn is_mlperf(line: &str) -> bool {
    line.contains(SIGN)
}

/// Whether a line is the head of a table with times of steps.
pub(crate) fn names_columns(line: &str) -> bool {
    let columns = line.trim().split(',').map(|name| name.trim().trim_matches('"').to_ascii_lowercase());
    let columns: Vec<String> = columns.collect();
    columns.len() > 1 && columns.iter().any(|column| TIMES.iter().any(|(name, _)| name == column))
}

/// Reads the log of a run of MLPerf training: `tracked_stats` whose value has `train_step_time` or `step_time`, in seconds,
/// and the intervals of runs, blocks, evaluations and checkpoints between them. Lines of others are passed over.
///
/// # Errors
/// A gzip stream that is broken, a log without times of steps.
pub fn parse_mlperf_log(source_name: &str, bytes: &[u8]) -> Result<StepLog, FormatError> {
    let text = input::lossy(MLPERF, source_name, bytes)?;
    let mut series = StepSeries { run: source_name.to_owned(), ..StepSeries::default() };
    let mut skipped = Skipped::default();
    let mut job: BTreeMap<&str, String> = BTreeMap::new();
    for (number, line) in (1_u64..).zip(text.lines()) {
        let Some((_, entry)) = line.split_once(SIGN) else { continue };
        let Ok(entry) = serde_json::from_str::<Value>(entry.trim()) else {
            let wrong = FormatError::new(MLPERF, source_name, "is no JSON", "an object after :::MLLOG");
            skipped.take(wrong.at_line(number));
            continue;
        };
        let (key, value) = (entry["key"].as_str().unwrap_or_default(), &entry["value"]);
        match key {
            "run_start" | "run_stop" | "block_start" | "block_stop" | "eval_start" | "eval_stop"
            | "epoch_start" | "epoch_stop" | "checkpoint_start" | "checkpoint_stop" => series.other(),
            "submission_org" | "submission_platform" | "submission_benchmark" | "global_batch_size" => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                job.insert(
                    ["submission_org", "submission_platform", "submission_benchmark", "global_batch_size"]
                        .into_iter()
                        .find(|name| *name == key)
                        .unwrap_or_default(),
                    text,
                );
            }
            "tracked_stats" => {
                let time = ["train_step_time", "step_time"].into_iter().find_map(|name| value.get(name));
                let Some(time) = time else { continue };
                match time.as_f64().filter(|seconds| is_time(*seconds)) {
                    Some(seconds) => series.step(seconds),
                    None => skipped.take(no_time(
                        MLPERF,
                        source_name,
                        number,
                        "train_step_time",
                        &time.to_string(),
                    )),
                }
            }
            _ => {}
        }
    }
    if series.steps.is_empty() {
        let wanted = "tracked_stats with train_step_time or step_time";
        return Err(FormatError::new(MLPERF, source_name, "has no times of steps", wanted));
    }
    series.job = job.into_values().collect::<Vec<_>>().join(", ");
    Ok(StepLog { series: vec![series], skipped })
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

/// Reads a table with a column of times of steps, whose name tells the unit (`step_s`, `step_time_ms`, …). Rows of one run
/// have the same job (`system`, `config`, …) and run (`run`, `seed`, …) and stand in their order. Rows whose `event` is not
/// a step stand between them: evaluations, blocks. Other columns are not used.
///
/// # Errors
/// A gzip stream that is broken, a table without such a column or without steps.
pub fn parse_steps_csv(source_name: &str, bytes: &[u8]) -> Result<StepLog, FormatError> {
    let text = input::lossy(CSV, source_name, bytes)?;
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(text.as_bytes());
    let wrong =
        |problem: String| FormatError::new(CSV, source_name, problem, "a head with a column such as step_s");
    let head = reader.headers().map_err(|error| wrong(format!("has no head: {error}")))?;
    let names: Vec<String> = head.iter().map(str::to_ascii_lowercase).collect();
    let at = |name: &str| names.iter().position(|column| column == name);
    let time = TIMES.iter().find_map(|(name, unit)| Some((at(name)?, *unit)));
    let Some((time, unit)) = time else { return Err(wrong("has no column of times of steps".into())) };
    let event = at("event");
    let of = |wanted: &[&str]| wanted.iter().filter_map(|name| at(name)).collect::<Vec<usize>>();
    let (jobs, runs) = (of(&JOBS), of(&RUNS));
    let mut all: BTreeMap<(String, String), StepSeries> = BTreeMap::new();
    let mut skipped = Skipped::default();
    for (number, row) in (2_u64..).zip(reader.records()) {
        let Ok(row) = row else {
            let wrong =
                FormatError::new(CSV, source_name, "is no row", "values between commas").at_line(number);
            skipped.take(wrong);
            continue;
        };
        let joined = |columns: &[usize]| {
            columns.iter().filter_map(|&column| row.get(column)).collect::<Vec<&str>>().join(" ")
        };
        let (job, run) = (joined(&jobs), joined(&runs));
        let run = if run.is_empty() { source_name.to_owned() } else { run };
        let new = || StepSeries { job: job.clone(), run: run.clone(), ..StepSeries::default() };
        let series = all.entry((job.clone(), run.clone())).or_insert_with(new);
        let is_step = event.and_then(|column| row.get(column)).is_none_or(|event| STEP.contains(&event));
        let text = row.get(time).unwrap_or_default();
        match text.parse::<f64>().ok().map(|value| value / unit).filter(|seconds| is_time(*seconds)) {
            Some(seconds) if is_step => series.step(seconds),
            _ if !is_step => series.other(),
            _ => skipped.take(no_time(CSV, source_name, number, &names[time], text)),
        }
    }
    let series: Vec<StepSeries> = all.into_values().filter(|series| !series.steps.is_empty()).collect();
    if series.is_empty() {
        return Err(wrong("has no steps".into()));
    }
    Ok(StepLog { series, skipped })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOG: &str = r#"0: :::MLLOG {"key": "submission_platform", "value": "64xDGX", "metadata": {}}
0: :::MLLOG {"key": "block_start", "value": null}
NCCL version 2.25
0: :::MLLOG {"key": "tracked_stats", "value": {"train_step_time": 11.308, "reduced_train_loss": 3.1}, "metadata": {}}
0: :::MLLOG {"key": "tracked_stats", "value": {"train_step_time": 8.4}, "metadata": {}}
0: :::MLLOG {"key": "tracked_stats", "value": {"train_step_time": 8.5}, "metadata": {}}
0: :::MLLOG {"key": "tracked_stats", "value": {"train_step_time": "x"}, "metadata": {}}
0: :::MLLOG {"key": "eval_start", "value": null}
"#;

    #[test]
    fn logs_and_tables_tell_steps_and_what_is_between() {
        let log = parse_mlperf_log("result_0.txt", LOG.as_bytes()).expect("a log");
        let [series] = &log.series[..] else { panic!("one run") };
        let told: Vec<(f64, bool)> = series.steps.iter().map(|one| (one.seconds, one.beside)).collect();
        assert_eq!(told, [(11.308, true), (8.4, false), (8.5, true)]);
        assert_eq!(
            (series.job.as_str(), series.run.as_str(), log.skipped.count()),
            ("64xDGX", "result_0.txt", 1)
        );
        let text = "run,event,step_ms\n0,run_start,\n0,step,900\n1,step,800\n0,step,950\n0,step,\n0,step,901\n0,eval_start,\n";
        let log = parse_steps_csv("a.csv", text.as_bytes()).expect("a table");
        let told: Vec<(&str, Vec<(f64, bool)>)> = log
            .series
            .iter()
            .map(|one| (one.run.as_str(), one.steps.iter().map(|step| (step.seconds, step.beside)).collect()))
            .collect();
        assert_eq!(told, [("0", vec![(0.9, true), (0.95, false), (0.901, true)]), ("1", vec![(0.8, true)])]);
        assert_eq!(log.skipped.count(), 1);
        assert!(
            names_columns("round,system,step_s")
                && !names_columns("step_s")
                && !names_columns("a,median_step_s")
        );
        assert!(
            parse_steps_csv("a", b"a,b\n1,2\n").is_err() && parse_mlperf_log("a", b":::MLLOG {}").is_err()
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..200), head in "(run,)?(event,)?step_s", at in 0..LOG.len(),
        ) {
            let _ = parse_mlperf_log("a", &bytes);
            let _ = parse_mlperf_log("a", &[&LOG.as_bytes()[..at], &bytes[..]].concat());
            let _ = parse_steps_csv("a", &[head.as_bytes(), b",x\n", &bytes[..]].concat());
        }
    }
}

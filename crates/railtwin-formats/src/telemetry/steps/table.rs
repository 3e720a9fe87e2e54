//! Tables with a column of times of steps: values between commas, tabs or semicolons.
use std::collections::BTreeMap;

use super::column::{Told, counts_steps, run_and_column, tells_work, told};
use super::scalars::scalars;
use super::{StepLog, StepSeries, is_time, no_time};
use crate::error::FormatError;
use crate::telemetry::input;
use crate::telemetry::skipped::Skipped;

const CSV: &str = "CSV of steps";
/// Columns that tell a job, and one of its runs.
const JOBS: [&str; 9] =
    ["round", "organisation", "organization", "cluster", "system", "job", "model", "config", "experiment"];
const RUNS: [&str; 5] = ["run", "run_id", "trial", "attempt", "seed"];
/// What an event of a step is called.
const STEP: [&str; 4] = ["", "step", "train_step", "iteration"];
/// Bare times that rise this often from row to row are a clock, and no times of steps.
const CLOCK: f64 = 0.98;

/// What stands between values: what the head has most of.
fn delimiter(head: &str) -> u8 {
    let count = |sign: char| head.matches(sign).count();
    [(';', b';'), ('\t', b'\t'), (',', b',')]
        .into_iter()
        .max_by_key(|(sign, _)| count(*sign))
        .map_or(b',', |of| of.1)
}

/// Columns of times of steps: one, or one of each run where heads name runs. Empty where none is told without doubt.
fn columns(head: &[String]) -> Vec<(usize, Told)> {
    let all = || head.iter().enumerate();
    let of_runs = all().filter_map(|(at, name)| {
        let (_, column) = run_and_column(name)?;
        Some((at, told(column).filter(|told| !told.bare)?))
    });
    let of_runs: Vec<(usize, Told)> = of_runs.collect();
    if !of_runs.is_empty() {
        return of_runs;
    }
    let known: Vec<(usize, Told)> = all().filter_map(|(at, name)| Some((at, told(name)?))).collect();
    let best = known.iter().find(|(_, told)| !told.bare && !told.inverse);
    let best = best.or_else(|| known.iter().find(|(_, told)| !told.bare));
    let has_steps = head.iter().any(|name| counts_steps(name));
    let best = best.or_else(|| known.iter().find(|_| has_steps));
    best.copied().into_iter().collect()
}

/// Names in the first line of a table.
fn head_of(line: &str) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .delimiter(delimiter(line))
        .from_reader(line.as_bytes());
    let first = reader.records().next().and_then(Result::ok);
    first.map(|row| row.iter().map(str::to_owned).collect()).unwrap_or_default()
}

/// Whether a line is the head of a table with times of steps.
pub(crate) fn names_columns(line: &str) -> bool {
    let head = head_of(line.trim_end_matches(['\r', '\n']));
    head.len() > 1 && (!columns(&head).is_empty() || scalars(&head).is_some())
}

/// A number; a comma for its point where it does not part values.
fn number(text: &str, delimiter: u8) -> Option<f64> {
    let text = text.trim();
    let plain = text.parse::<f64>().ok();
    plain.or_else(|| text.replace(',', ".").parse().ok().filter(|_| delimiter != b','))
}

/// Reads a table with a column of times of steps, told by the words of its head and their unit: `step_s`,
/// `Step Time (ms)`, `sec_per_step`, `elapsed time per iteration (ms)`, `it/s`; `time` alone where another column numbers
/// steps and the times are no clock; `run - step_time`, one column of each run. Seconds where the head names no unit.
///
/// Rows of one run have the same job (`system`, `config`, …) and run (`run`, `seed`, …) and stand in their order. Rows whose
/// `event` is not a step stand between them: evaluations, blocks. A batch size tells steps of different work apart. Other
/// columns are not used.
///
/// Scalars of TensorBoard (`Wall time,Step,Value`) are times of steps where the name of the file says so, else differences of
/// wall times over those of steps are.
///
/// # Errors
/// A gzip stream that is broken, scalars that tell no time of a step, a table without such a column or without steps, a
/// column of times that is a clock.
pub fn parse_steps_csv(source_name: &str, bytes: &[u8]) -> Result<StepLog, FormatError> {
    let text = input::lossy(CSV, source_name, bytes)?;
    let first = text.lines().next().unwrap_or_default();
    let delimiter = delimiter(first);
    let wanted = "a head with a column such as step_s, Step Time (ms) or sec_per_step";
    let wrong = |problem: String| FormatError::new(CSV, source_name, problem, wanted);
    let names = head_of(first);
    let mut taken = columns(&names);
    let reader = || {
        csv::ReaderBuilder::new()
            .flexible(true)
            .trim(csv::Trim::All)
            .delimiter(delimiter)
            .from_reader(text.as_bytes())
    };
    // A wall time is no time of a step: a column that is one, or else the name of the file, tells.
    if let Some(scalars) = scalars(&names).filter(|_| taken.iter().all(|(_, told)| told.bare)) {
        taken = scalars.named(source_name).into_iter().collect();
        if taken.is_empty() {
            let rows: Vec<Option<csv::StringRecord>> = reader().into_records().map(Result::ok).collect();
            let rows = (2_u64..).zip(rows.iter().map(|row| scalars.of(row.as_ref()?)));
            return scalars.differences(source_name, &names, rows, |text| number(text, delimiter));
        }
    }
    let Some((first_column, first_told)) = taken.first().copied() else {
        return Err(wrong("has no column of times of steps".into()));
    };
    let lower: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
    let at = |name: &str| lower.iter().position(|column| column == name);
    let event = at("event");
    let of = |wanted: &[&str]| wanted.iter().filter_map(|name| at(name)).collect::<Vec<usize>>();
    let (jobs, runs) = (of(&JOBS), of(&RUNS));
    let works: Vec<usize> = (0..names.len()).filter(|&column| tells_work(&names[column])).collect();
    let mut all: BTreeMap<(String, String), StepSeries> = BTreeMap::new();
    let mut skipped = Skipped::default();
    for (line, row) in (2_u64..).zip(reader().into_records()) {
        let Ok(row) = row else {
            let wrong =
                FormatError::new(CSV, source_name, "is no row", "values between commas").at_line(line);
            skipped.take(wrong);
            continue;
        };
        let joined = |columns: &[usize]| {
            columns.iter().filter_map(|&column| row.get(column)).collect::<Vec<&str>>().join(" ")
        };
        let (job, run) = (joined(&jobs), joined(&runs));
        let is_step = event.and_then(|column| row.get(column)).is_none_or(|event| STEP.contains(&event));
        let work = works.iter().filter_map(|&column| number(row.get(column)?, delimiter)).product::<f64>();
        let work = if works.is_empty() || !work.is_finite() { 0.0 } else { work };
        for &(column, told) in &taken {
            let of_column = run_and_column(&names[column]).filter(|_| taken.len() > 1 || run.is_empty());
            let run = match of_column {
                Some((run, _)) => run.to_owned(),
                None if run.is_empty() => source_name.to_owned(),
                None => run.clone(),
            };
            let new = || StepSeries::of(&job, &run);
            let series = all.entry((job.clone(), run.clone())).or_insert_with(new);
            let text = row.get(column).unwrap_or_default();
            let value = number(text, delimiter).map(|value| if told.inverse { 1.0 / value } else { value });
            match value.map(|value| value / told.unit).filter(|seconds| is_time(*seconds)) {
                Some(seconds) if is_step => series.step(seconds, work),
                _ if !is_step => series.other(),
                // Rows of a table of many runs are empty where a run has no step.
                _ if text.is_empty() && taken.len() > 1 => {}
                _ => skipped.take(no_time(CSV, source_name, line, &names[column], text)),
            }
        }
    }
    let series: Vec<StepSeries> = all.into_values().collect();
    if first_told.bare && series.iter().any(is_clock) {
        return Err(wrong(format!("has a column {:?} that is a clock", names[first_column])));
    }
    let taken = said(&names, &taken);
    StepLog { series, taken, skipped }.settled().ok_or_else(|| wrong("has no steps".into()))
}

/// Whether times rise from row to row: a clock, or the time since the start.
fn is_clock(series: &StepSeries) -> bool {
    let rises = series.steps.windows(2).filter(|two| two[1].seconds >= two[0].seconds).count();
    series.steps.len() > 8 && rises as f64 >= CLOCK * (series.steps.len() - 1) as f64
}

/// What was taken, in words.
fn said(names: &[String], taken: &[(usize, Told)]) -> String {
    let Some((column, told)) = taken.first() else { return String::new() };
    let unit = match (told.names_unit, told.unit) {
        (false, _) => "seconds, as its head names no unit",
        (_, unit) if unit < 2.0 => "seconds",
        (_, unit) if unit < 2e3 => "milliseconds",
        (_, unit) if unit < 2e6 => "microseconds",
        _ => "nanoseconds",
    };
    let more = if taken.len() > 1 { format!(" and {} more columns", taken.len() - 1) } else { String::new() };
    let inverse = if told.inverse { "steps per time, in " } else { "" };
    format!("taken for times of steps: column {:?}{more} ({inverse}{unit})", names[*column])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seconds(text: &str) -> Vec<(String, Vec<f64>)> {
        let log = parse_steps_csv("a.csv", text.as_bytes()).expect("a table");
        let of = |one: &StepSeries| (one.run.clone(), one.steps.iter().map(|step| step.seconds).collect());
        log.series.iter().map(of).collect()
    }

    #[test]
    fn tables_of_many_forms_tell_steps() {
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
        assert!(parse_steps_csv("a", b"a,b\n1,2\n").is_err());

        let one = |seconds: f64| vec![("a.csv".to_owned(), vec![seconds])];
        assert_eq!(seconds("iteration,elapsed time per iteration (ms),lm loss\n0,11973.5,2\n"), one(11.9735));
        assert_eq!(seconds("Step, Step Time (s) ,Loss\n0,12.5,2\n"), one(12.5));
        assert_eq!(seconds("step;step_time;loss\n0;11,5;2,0\n"), one(11.5));
        assert_eq!(seconds("step\tsec_per_step\n0\t11.5\n"), one(11.5));
        assert_eq!(seconds("step,it/s\n0,0.5\n"), one(2.0));
        assert_eq!(seconds("step,time,loss\n0,12.5,2\n"), one(12.5));
        let clock =
            (0..20).fold("step,time\n".to_owned(), |text, step| format!("{text}{step},{}\n", 5 * step + 1));
        assert!(parse_steps_csv("a", clock.as_bytes()).unwrap_err().to_string().contains("clock"));
        let runs = "\"Step\",\"a - train/step_time\",\"a - train/step_time__MIN\",\"b - train/step_time\"\n0,3.5,1,4.5\n1,3.6,1,\n";
        assert_eq!(seconds(runs), [("a".to_owned(), vec![3.5, 3.6]), ("b".to_owned(), vec![4.5])]);
    }

    #[test]
    fn a_batch_size_tells_works_apart_unless_each_step_has_its_own() {
        let rows = |work: &dyn Fn(usize) -> usize| {
            (0..64)
                .fold("step_s,global_batch_size\n".to_owned(), |text, at| format!("{text}1.5,{}\n", work(at)))
        };
        let works = |text: &str| {
            let log = parse_steps_csv("a", text.as_bytes()).expect("a table");
            log.series[0].steps.iter().map(|step| step.work).collect::<Vec<f64>>()
        };
        let told = works(&rows(&|at| if at < 32 { 8 } else { 16 }));
        assert_eq!((told[0], told[63]), (8.0, 16.0));
        assert_eq!(works(&rows(&|at| at + 1)), vec![0.0; 64]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            head in "(run,)?(event;)?(step_s|it/s|time\tstep|Wall time,Step,Value)",
            any in "\\PC{0,40}",
        ) {
            let _ = parse_steps_csv("a", &[head.as_bytes(), b",x\n", &bytes[..]].concat());
            let _ = parse_steps_csv("a", any.as_bytes());
            let _ = names_columns(&any);
        }
    }
}

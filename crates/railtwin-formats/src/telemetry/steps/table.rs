//! Tables with a column of times of steps: values between commas, tabs or semicolons, or a JSON object in each line.
use std::collections::BTreeMap;

use super::choice::choose;
use super::column::{Of, Told, counts_steps, run_and_column, tells_evaluation, tells_work, told};
use super::rows::{Rows, head_of, keys};
use super::scalars::{Scalars, scalars};
use super::{StepLog, StepSeries, counts, is_time, no_time};
use crate::error::FormatError;
use crate::telemetry::skipped::Skipped;

/// Columns that tell a job, and one of its runs.
const JOBS: [&str; 9] =
    ["round", "organisation", "organization", "cluster", "system", "job", "model", "config", "experiment"];
const RUNS: [&str; 9] =
    ["run", "run_id", "run_name", "trial", "attempt", "seed", "rank", "global_rank", "hostname"];
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
        let (jobs, runs) = (of(&JOBS), of(&RUNS));
        let of_run: Vec<usize> = jobs.iter().chain(&runs).copied().collect();
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
            return Err(wrong([problem, WANTED.into()]));
        }
        Ok(Self {
            taken,
            number,
            event: at("event"),
            jobs,
            runs,
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

fn read(source_name: &str, rows: &Rows) -> Result<StepLog, FormatError> {
    let columns = Columns::of(source_name, rows)?;
    let mut all: BTreeMap<(String, String), Run> = BTreeMap::new();
    let mut skipped = Skipped::default();
    for (line, row) in rows.iter() {
        let Some(row) = row else {
            let accepted = if rows.is_json() { "a JSON object" } else { "values between commas" };
            skipped.take(FormatError::new(rows.format, source_name, "is no row", accepted).at_line(line));
            continue;
        };
        let joined = |columns: &[usize]| {
            columns.iter().filter_map(|&column| row.get(column)).collect::<Vec<&str>>().join(" ")
        };
        let (job, run) = (joined(&columns.jobs), joined(&columns.runs));
        let of_event = columns.event.and_then(|column| row.get(column));
        let is_step = of_event.is_none_or(|event| STEP.contains(&event));
        let is_told = |&column: &usize| row.get(column).is_some_and(|text| !text.is_empty());
        let evaluates = columns.evaluations.iter().any(is_told);
        let number = columns.number.and_then(|column| rows.number(row.get(column)?));
        let works = columns.works.iter().filter_map(|&column| rows.number(row.get(column)?));
        let work = works.product::<f64>();
        let work = if columns.works.is_empty() || !work.is_finite() { 0.0 } else { work };
        for &(column, told) in &columns.taken {
            let name = &rows.names[column];
            let of_column = run_and_column(name).filter(|_| columns.taken.len() > 1 || run.is_empty());
            let run = match of_column {
                Some((run, _)) => run.to_owned(),
                None if run.is_empty() => source_name.to_owned(),
                None => run.clone(),
            };
            let new = || Run { series: StepSeries::of(&job, &run), before: None };
            let of_run = all.entry((job.clone(), run.clone())).or_insert_with(new);
            let text = row.get(column).unwrap_or_default();
            if !is_step {
                of_run.series.other();
                continue;
            }
            let wrong = || no_time(rows.format, source_name, line, name, text);
            let value = match told.inverse {
                true => rows.number(text).map(|rate| 1.0 / rate / told.unit),
                false => rows.seconds(text, told.unit),
            };
            let told_of = number.and_then(counts);
            match value.filter(|value| value.is_finite()) {
                Some(clock) if told.of == Of::Clock => {
                    if !of_run.passes(clock, number, work) {
                        skipped.take(wrong());
                    }
                }
                Some(seconds) if is_time(seconds) => of_run.series.step(seconds, work, told_of),
                // Rows of a table of many runs are empty where a run has no step, and those of evaluations are.
                None if text.is_empty() && evaluates => of_run.series.other(),
                None if text.is_empty() && (columns.taken.len() > 1 || rows.is_json()) => {}
                _ => skipped.take(wrong()),
            }
        }
    }
    let series: Vec<StepSeries> = all.into_values().map(|run| run.series).collect();
    let taken = said(rows, &columns);
    let clock = columns.taken.iter().any(|(_, told)| told.of == Of::Clock);
    StepLog { series, taken, skipped }.settled().ok_or_else(|| {
        let [problem, wanted] = match clock {
            true => ["has no wall times that rise over steps", Scalars::WANTED],
            false => ["has no steps", WANTED],
        };
        FormatError::new(rows.format, source_name, problem, wanted)
    })
}

impl Run {
    /// Takes a clock at a step: what passed since the one before, for each step between. A step that goes back, as of a job that
    /// began again, and what follows it stand apart. False where the clock or the number tells nothing.
    fn passes(&mut self, clock: f64, number: Option<f64>, work: f64) -> bool {
        let Some(at) = number.filter(|at| at.is_finite()) else { return false };
        let before = self.before.replace([clock, at]);
        match before {
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
        let runs = "\"Step\",\"a - train/step_time\",\"a - train/step_time__MIN\",\"b - train/step_time\"\n0,3.5,1,4.5\n1,3.6,1,\n";
        assert_eq!(seconds(runs), [("a".to_owned(), vec![3.5, 3.6]), ("b".to_owned(), vec![4.5])]);
    }

    fn rows(head: &str, row: impl Fn(usize) -> String) -> String {
        (0..20).fold(format!("{head}\n"), |text, at| text + &row(at) + "\n")
    }

    fn wrong(text: &str) -> String {
        parse_steps_csv("a.csv", text.as_bytes()).expect_err("no times of steps").to_string()
    }

    #[test]
    fn a_time_of_a_row_is_that_of_its_step_and_a_clock_is_taken_by_its_differences() {
        // A time of its own in each row.
        let times =
            |head: &str| seconds(&rows(head, |at| format!("{at},{}", 5.0 + 0.1 * (at * 7 % 5) as f64)));
        for head in [
            "step,seconds",
            "step,elapsed",
            "step,time",
            "global_step,dt",
            "step,batch_time",
            "iter,iter_time",
        ] {
            let told = times(head);
            assert_eq!((told[0].1.len(), told[0].1[0], told[0].1[1]), (20, 5.0, 5.2), "{head}");
        }
        // Time that passes, of rows that are ten steps apart.
        for (head, clock) in [
            ("step,time", (|at| format!("{}", 50 * at + 1)) as fn(usize) -> String),
            ("step,elapsed", |at| format!("{}", 50 * at)),
            ("step,train_time_ms", |at| format!("{}", 50_000 * at)),
            ("step,_runtime", |at| format!("{}", 100_000 + 50 * at)),
            ("step,timestamp", |at| format!("2026-11-24 10:{:02}:{:02}.5", 50 * at / 60, 50 * at % 60)),
            ("current_steps,elapsed_time", |at| format!("0:{:02}:{:02}", 50 * at / 60, 50 * at % 60)),
        ] {
            let text = rows(head, |at| format!("{},{}", 10 * at, clock(at)));
            let log = parse_steps_csv("a.csv", text.as_bytes()).expect(head);
            let steps = &log.series[0].steps;
            assert!(
                steps.len() == 19 && steps.iter().all(|step| (step.seconds - 5.0).abs() < 1e-9),
                "{head}"
            );
            assert_eq!(steps[0].number, Some(10), "{head}");
            assert!(log.taken.contains("differences of column"), "{}", log.taken);
        }
        // Times that rise a little may be either, and a clock alone tells no steps.
        let told = wrong(&rows("step,time", |at| format!("{at},{}", 100 + at)));
        assert!(
            told.contains("column \"time\" that rises from row to row") && told.contains("step_time_s"),
            "{told}"
        );
        let told = wrong(&rows("loss,since_start_s", |at| format!("2,{}", 5 * at)));
        assert!(told.contains("\"since_start_s\" that is a clock, and none that numbers steps"), "{told}");
        // Times to the second that do not change are no clock.
        assert_eq!(seconds(&rows("step,time", |at| format!("{at},12")))[0].1, [12.0; 20]);
    }

    #[test]
    fn of_several_columns_the_one_that_says_most_is_taken_and_unlike_ones_are_refused() {
        let first = |text: &str| seconds(text)[0].1[..3].to_vec();
        let text =
            rows("step,time,batch_time,step_time_s", |at| format!("{at},{},1.5,{}", 3 * at, 6 + at % 3));
        assert_eq!(first(&text), [6.0, 7.0, 8.0]);
        let text = rows("step,step_time_s,step_time_ms,rollout_step_time", |at| {
            let time = 6 + at % 3;
            format!("{at},{time},{},{}", 1000 * time, at % 7 + 1)
        });
        assert_eq!(first(&text), [6.0, 7.0, 8.0]);
        let text = rows("step,step_time,iter_time", |at| format!("{at},{},{}", 6 + at % 3, 1 + at % 7));
        let told = wrong(&text);
        assert!(
            told.contains("several columns that could be the time of a step: \"step_time\", \"iter_time\""),
            "{told}"
        );
        let told = wrong(&rows("step,loss", |at| format!("{at},2")));
        assert!(
            told.contains("no column of times of steps: \"step\", \"loss\"") && told.contains("batch_time"),
            "{told}"
        );
    }

    #[test]
    fn a_rate_is_the_time_of_one_and_evaluations_stand_between_steps() {
        let text = rows("step,loss,throughput(tps)", |at| {
            format!("{},2,{}", 10 * at, 1000 - 500 * usize::from(at > 9))
        });
        let log = parse_steps_csv("a.csv", text.as_bytes()).expect("a table");
        let steps = &log.series[0].steps;
        assert!((steps[0].seconds - 1e-3).abs() < 1e-12 && (steps[19].seconds - 2e-3).abs() < 1e-12);
        assert!(log.taken.contains("as far as each holds as many"), "{}", log.taken);
        assert!(wrong("loss,tokens_per_sec\n2,5\n").contains("no column of times of steps"));
        let text = "step,step_time,val_loss\n0,5,\n1,5.1,\n1,,2.5\n2,5.2,\n3,5.3,\n4,5.4,\n";
        let log = parse_steps_csv("a.csv", text.as_bytes()).expect("a table");
        let beside: Vec<bool> = log.series[0].steps.iter().map(|step| step.beside).collect();
        assert_eq!((beside, log.skipped.count()), (vec![true, true, true, false, false], 0));
    }

    #[test]
    fn json_lines_are_rows() {
        let json = |text: &str| {
            assert!(is_json_lines(text), "{text}");
            let log = parse_steps_json("a.jsonl", text.as_bytes()).expect(text);
            let step = |step: &super::super::StepTime| (step.number, step.seconds, step.beside);
            (log.series[0].steps.iter().map(step).collect::<Vec<_>>(), log.taken, log.skipped.count())
        };
        // MaxText; MMEngine, whose `time` is that of an iteration; DLLogger; a program's own.
        let (told, taken, _) = json(
            "{\"perf/step_time_seconds\": 0.83, \"learning/loss\": 3.1, \"step\": 12.0}\n\
             {\"perf/step_time_seconds\": 0.84, \"step\": 13.0}\n{\"eval/loss\": 2.0, \"step\": 13}\nx\n\
             {\"perf/step_time_seconds\": 0.85, \"step\": 14.0}\n",
        );
        assert_eq!(told, [(Some(12), 0.83, true), (Some(13), 0.84, true), (Some(14), 0.85, true)]);
        assert!(taken.contains("perf/step_time_seconds"), "{taken}");
        let (told, ..) =
            json("{\"lr\": 0.1, \"data_time\": 0.02, \"time\": 0.35, \"iter\": 50, \"step\": 50}\n");
        assert_eq!(told, [(Some(50), 0.35, true)]);
        let (told, ..) = json(
            "DLLL {\"type\": \"LOG\", \"step\": 3, \"data\": {\"train_step_timing in s\": 9.5, \"epoch\": 0}}\n",
        );
        assert_eq!(told, [(Some(3), 9.5, true)]);
        let clock = (0..20).fold(String::new(), |text, at| {
            text + &format!(
                "{{\"current_steps\": {}, \"total_steps\": 50, \"elapsed_time\": \"0:{:02}:{:02}\"}}\n",
                5 * at,
                10 * at / 60,
                10 * at % 60
            )
        });
        assert_eq!(json(&clock).0.iter().map(|step| step.1).collect::<Vec<_>>(), [2.0; 19]);
        assert!(!is_json_lines("{\"a\": 1}\n") && !is_json_lines("{\n\"step\": 1,\n\"loss\": 2\n}\n"));
        assert!(parse_steps_json("a", b"{\"step\": 1, \"loss\": 2}\n").is_err());
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
            let _ = parse_steps_json("a", &bytes);
            let _ = is_json_lines(&any);
        }

        #[test]
        fn any_values_are_read_or_refused(
            head in "(step|rank,step),(time|elapsed|timestamp|step_time|batch_time|tps|it/s)(,val_loss|,iter_time_ms)?",
            values in prop::collection::vec(("[-0-9.:enaif ]{0,12}", "[-0-9.]{0,6}", "[-0-9.]{0,6}"), 0..40),
        ) {
            let row = |(a, b, c): &(String, String, String)| format!("{b},{a},{c}\n");
            let text = values.iter().map(row).fold(format!("{head}\n"), |text, row| text + &row);
            if let Ok(log) = parse_steps_csv("a", text.as_bytes()) {
                prop_assert!(log.series.iter().flat_map(|one| &one.steps).all(|step| is_time(step.seconds)));
            }
            let keys: Vec<&str> = head.split(',').collect();
            let object = |(a, b, c): &(String, String, String)| {
                let values = [b, a, c];
                let pairs = keys.iter().zip(values).map(|(key, value)| format!("{key:?}: {value:?}"));
                format!("{{{}}}\n", pairs.collect::<Vec<_>>().join(", "))
            };
            let text: String = values.iter().map(object).collect();
            if let Ok(log) = parse_steps_json("a", text.as_bytes()) {
                prop_assert!(log.series.iter().flat_map(|one| &one.steps).all(|step| is_time(step.seconds)));
            }
        }
    }
}

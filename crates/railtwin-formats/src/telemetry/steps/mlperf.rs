//! Logs of MLPerf training: times of steps, or what tells them.
use std::collections::BTreeMap;

use serde_json::Value;

use super::{StepLog, StepSeries, is_time, no_time};
use crate::error::FormatError;
use crate::telemetry::input;
use crate::telemetry::skipped::Skipped;

const MLPERF: &str = "MLPerf log";
/// What a line of an MLPerf log begins with, after what a launcher puts before it.
const SIGN: &str = ":::MLLOG";
/// Keys that name the job.
const JOB: [&str; 4] = ["submission_org", "submission_platform", "submission_benchmark", "global_batch_size"];
/// Names of a step's time, of a rate of samples, and events that come once a step.
const TIMES: [&str; 2] = ["train_step_time", "step_time"];
const RATE: &str = "throughput";
const ONCE_A_STEP: [&str; 2] = ["tracked_stats", "train_loss"];
/// Names of how much is in a block.
const AMOUNTS: [&str; 4] = ["samples_count", "step_count", "epoch_count", "num_samples"];

/// What is taken for steps, the best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Taken {
    /// Times of steps.
    Times,
    /// Samples of a step over their rate.
    Rate,
    /// From one event of a step to the next.
    Between,
    /// Whole blocks.
    Blocks,
}

impl Taken {
    const ALL: [Self; 4] = [Self::Times, Self::Rate, Self::Between, Self::Blocks];

    const fn words(self) -> &'static str {
        match self {
            Self::Times => "taken for times of steps: step times of tracked_stats",
            Self::Rate => "taken for times of steps: global_batch_size over throughput of tracked_stats",
            Self::Between => {
                "taken for times of steps: from one tracked_stats or train_loss to the next, by time_ms"
            }
            Self::Blocks => "taken for steps: whole blocks, from block_start to block_stop by time_ms",
        }
    }
}

/// Whether a line is one of an MLPerf log.
pub(crate) fn is_mlperf(line: &str) -> bool {
    line.contains(SIGN)
}

struct Entry {
    line: u64,
    key: String,
    value: Value,
    metadata: Value,
    time_ms: Option<f64>,
}

/// Reads the log of a run of MLPerf training, or of several one after the other, each from its `run_start`: `tracked_stats`
/// whose value has `train_step_time` or `step_time`, in seconds, and the intervals of runs, blocks, evaluations and
/// checkpoints between them. Where there are none, steps are told by the rate of samples and the global batch size, by the
/// times of entries that come once a step, or by whole blocks: [`StepLog::taken`] says which. Lines of others are passed over.
///
/// # Errors
/// A gzip stream that is broken, a log that tells no times of steps.
pub fn parse_mlperf_log(source_name: &str, bytes: &[u8]) -> Result<StepLog, FormatError> {
    let text = input::lossy(MLPERF, source_name, bytes)?;
    let mut skipped = Skipped::default();
    let mut runs: Vec<Vec<Entry>> = vec![Vec::new()];
    let mut job: BTreeMap<&str, String> = BTreeMap::new();
    let mut started = false;
    for (line, words) in (1_u64..).zip(text.lines()) {
        let Some((_, entry)) = words.split_once(SIGN) else { continue };
        let Ok(mut entry) = serde_json::from_str::<Value>(entry.trim()) else {
            let wrong = FormatError::new(MLPERF, source_name, "is no JSON", "an object after :::MLLOG");
            skipped.take(wrong.at_line(line));
            continue;
        };
        let key = entry["key"].as_str().unwrap_or_default().to_owned();
        if key == "run_start" {
            // The second run of a file, and each after it.
            if started {
                runs.push(Vec::new());
            }
            started = true;
        }
        if let Some(name) = JOB.into_iter().find(|name| *name == key) {
            let value = &entry["value"];
            job.insert(name, value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        }
        let time_ms = entry["time_ms"].as_f64();
        let mut take = |name: &str| entry.get_mut(name).map(Value::take).unwrap_or_default();
        let (value, metadata) = (take("value"), take("metadata"));
        if let Some(run) = runs.last_mut() {
            run.push(Entry { line, key, value, metadata, time_ms });
        }
    }
    let batch =
        job.get("global_batch_size").and_then(|text| text.parse().ok()).filter(|size: &f64| *size > 0.0);
    let job = job.into_values().collect::<Vec<_>>().join(", ");
    for taken in Taken::ALL {
        let mut wrong = skipped.clone();
        let of_run = |(row, run): (usize, &Vec<Entry>)| {
            let name = if runs.len() > 1 {
                format!("{source_name}, run {}", row + 1)
            } else {
                source_name.to_owned()
            };
            let mut series = StepSeries::of(&job, &name);
            steps_of(run, taken, batch, source_name, &mut series, &mut wrong);
            series
        };
        let series: Vec<StepSeries> = runs.iter().enumerate().map(of_run).collect();
        let log = StepLog { series, taken: taken.words().to_owned(), skipped: wrong };
        if let Some(log) = log.settled() {
            return Ok(log);
        }
    }
    let wanted = "tracked_stats with train_step_time or step_time, or blocks with time_ms";
    Err(FormatError::new(MLPERF, source_name, "has no times of steps", wanted))
}

fn steps_of(
    run: &[Entry],
    taken: Taken,
    batch: Option<f64>,
    source_name: &str,
    series: &mut StepSeries,
    skipped: &mut Skipped,
) {
    // When the last event of a step was, where nothing else came since; and when the block began, with its amount.
    let mut last: Option<(String, f64)> = None;
    let mut block: Option<(f64, f64)> = None;
    for entry in run {
        match entry.key.as_str() {
            key @ ("run_start" | "run_stop" | "block_start" | "block_stop" | "eval_start" | "eval_stop"
            | "epoch_start" | "epoch_stop" | "checkpoint_start" | "checkpoint_stop") => {
                last = None;
                match (taken, key, entry.time_ms) {
                    (Taken::Blocks, "block_start", time) => {
                        let amount =
                            AMOUNTS.iter().find_map(|name| entry.metadata[name].as_f64()).unwrap_or(0.0);
                        block = time.map(|time| (time, amount));
                    }
                    (Taken::Blocks, "block_stop", Some(time)) => {
                        if let Some((start, amount)) = block.take().filter(|(start, _)| is_time(time - start))
                        {
                            series.step((time - start) / 1e3, amount, None);
                        }
                    }
                    (Taken::Blocks, ..) => {}
                    _ => series.other(),
                }
            }
            key if ONCE_A_STEP.contains(&key) => match taken {
                Taken::Times => {
                    let told = TIMES.into_iter().find_map(|name| Some((name, entry.value.get(name)?)));
                    let Some((name, time)) = told else { continue };
                    match time.as_f64().filter(|seconds| is_time(*seconds)) {
                        Some(seconds) => series.step(seconds, 0.0, None),
                        None => {
                            skipped.take(no_time(MLPERF, source_name, entry.line, name, &time.to_string()))
                        }
                    }
                }
                Taken::Rate => {
                    let Some((rate, batch)) = entry.value.get(RATE).and_then(Value::as_f64).zip(batch) else {
                        continue;
                    };
                    if is_time(batch / rate) {
                        series.step(batch / rate, 0.0, None);
                    }
                }
                Taken::Between => {
                    let Some(time) = entry.time_ms else { continue };
                    match &last {
                        // Both kinds may come each step: one of them tells.
                        Some((before, _)) if before != key => continue,
                        Some((_, before)) if is_time(time - before) => {
                            series.step((time - before) / 1e3, 0.0, None)
                        }
                        _ => {}
                    }
                    last = Some((key.to_owned(), time));
                }
                Taken::Blocks => {}
            },
            _ => {}
        }
    }
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

    fn entry(time_s: f64, key: &str, value: &str) -> String {
        format!(
            ":::MLLOG {{\"time_ms\": {}, \"key\": \"{key}\", \"value\": {value}, \"metadata\": {{\"epoch_count\": 10}}}}\n",
            time_s * 1e3
        )
    }

    fn seconds(text: &str) -> Vec<Vec<f64>> {
        let log = parse_mlperf_log("a", text.as_bytes()).expect("a log");
        log.series.iter().map(|one| one.steps.iter().map(|step| step.seconds).collect()).collect()
    }

    #[test]
    fn logs_tell_steps_and_what_is_between() {
        let log = parse_mlperf_log("result_0.txt", LOG.as_bytes()).expect("a log");
        let [series] = &log.series[..] else { panic!("one run") };
        let told: Vec<(f64, bool)> = series.steps.iter().map(|one| (one.seconds, one.beside)).collect();
        assert_eq!(told, [(11.308, true), (8.4, false), (8.5, true)]);
        assert_eq!(
            (series.job.as_str(), series.run.as_str(), log.skipped.count()),
            ("64xDGX", "result_0.txt", 1)
        );
        assert!(parse_mlperf_log("a", b":::MLLOG {}").is_err());
    }

    #[test]
    fn logs_without_step_times_tell_them_by_rate_entries_or_blocks() {
        let rate = |batch: &str| {
            let entries =
                [100.0, 110.0, 121.0].map(|time| entry(time, "tracked_stats", "{\"throughput\": 128.0}"));
            format!("{batch}{}", entries.concat())
        };
        assert_eq!(seconds(&rate(&entry(1.0, "global_batch_size", "1280"))), [vec![10.0; 3]]);
        assert_eq!(seconds(&rate("")), [vec![10.0, 11.0]]);
        let loss = |time| entry(time, "train_loss", "2.1");
        let text =
            [loss(0.0), loss(12.0), entry(20.0, "eval_start", "null"), loss(60.0), loss(72.5)].concat();
        assert_eq!(seconds(&text), [vec![12.0, 12.5]]);
        let block =
            |from: f64, to: f64| entry(from, "block_start", "null") + &entry(to, "block_stop", "null");
        assert_eq!(seconds(&(block(1.0, 101.0) + &block(102.0, 203.0))), [vec![100.0, 101.0]]);
        let run = |time: f64| {
            entry(1.0, "run_start", "null")
                + &entry(2.0, "tracked_stats", &format!("{{\"step_time\": {time}}}"))
        };
        assert_eq!(seconds(&(run(3.0) + &run(4.0))), [vec![3.0], vec![4.0]]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0..LOG.len()) {
            let _ = parse_mlperf_log("a", &bytes);
            let _ = parse_mlperf_log("a", &[&LOG.as_bytes()[..at], &bytes[..]].concat());
        }
    }
}

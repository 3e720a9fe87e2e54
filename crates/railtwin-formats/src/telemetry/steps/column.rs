//! What the head of a column says: the time of a step, and in which unit, by its words.

/// Words of a step, and of a time.
const STEPS: [&str; 8] = ["step", "steps", "iteration", "iterations", "iter", "iters", "it", "its"];
const TIMES: [&str; 7] = ["time", "times", "timing", "duration", "elapsed", "latency", "wall"];
/// Units by how many of them are a second.
const UNITS: [(&str, f64); 15] = [
    ("s", 1.0),
    ("sec", 1.0),
    ("secs", 1.0),
    ("second", 1.0),
    ("seconds", 1.0),
    ("ms", 1e3),
    ("msec", 1e3),
    ("msecs", 1e3),
    ("millis", 1e3),
    ("millisecond", 1e3),
    ("milliseconds", 1e3),
    ("us", 1e6),
    ("usec", 1e6),
    ("microseconds", 1e6),
    ("ns", 1e9),
];
/// Words of times that are not those of whole steps, or not of one step each.
const OTHERS: [&str; 50] = [
    "start",
    "started",
    "begin",
    "end",
    "ended",
    "since",
    "stamp",
    "timestamp",
    "date",
    "relative",
    "median",
    "mean",
    "avg",
    "average",
    "least",
    "most",
    "min",
    "max",
    "p50",
    "p90",
    "p95",
    "p99",
    "std",
    "stddev",
    "total",
    "cumulative",
    "remaining",
    "eta",
    "eval",
    "evaluation",
    "validation",
    "val",
    "test",
    "checkpoint",
    "save",
    "data",
    "dataloader",
    "load",
    "loader",
    "batch",
    "forward",
    "backward",
    "fwd",
    "bwd",
    "optimizer",
    "optim",
    "comm",
    "communication",
    "allreduce",
    "h2d",
];

/// How a column tells times of steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Told {
    /// How many of its unit are a second.
    pub unit: f64,
    /// Whether the head names the unit.
    pub names_unit: bool,
    /// Whether it tells steps per second instead.
    pub inverse: bool,
    /// Whether it is a time by its name alone, and of a step only because the rows are steps.
    pub bare: bool,
}

/// The words of a head in lower case: `train/Step Time (ms)` is train, step, time, ms.
pub(super) fn words(head: &str) -> Vec<String> {
    let parts = head.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty());
    parts.flat_map(parts_of).map(|word| word.to_lowercase()).collect()
}

/// The parts of `stepTime`.
fn parts_of(word: &str) -> Vec<&str> {
    let mut cuts = vec![0];
    let mut before = ' ';
    for (at, sign) in word.char_indices() {
        if sign.is_uppercase() && before.is_lowercase() {
            cuts.push(at);
        }
        before = sign;
    }
    cuts.push(word.len());
    cuts.windows(2).map(|two| &word[two[0]..two[1]]).filter(|part| !part.is_empty()).collect()
}

fn unit(word: &str) -> Option<f64> {
    UNITS.iter().find(|(name, _)| *name == word).map(|(_, unit)| *unit)
}

/// The last part of a path such as `train/step_time`, where what is before names only of what it is.
fn last_part(head: &str) -> &str {
    let rate = |part: &str| {
        words(part).first().is_some_and(|word| unit(word).is_some() || STEPS.contains(&word.as_str()))
    };
    let Some((before, last)) = head.rsplit_once('/') else { return head };
    // `it/s` and `s/it` are no paths.
    let is_rate = words(last).len() == 1 && rate(last) && rate_before(before);
    if last.is_empty() || is_rate { head } else { last }
}

fn rate_before(before: &str) -> bool {
    words(before).last().is_some_and(|word| unit(word).is_some() || STEPS.contains(&word.as_str()))
}

/// Whether, and how, a column tells times of steps.
pub(super) fn told(head: &str) -> Option<Told> {
    let head = last_part(head.trim());
    let slash = head.contains('/');
    let words = words(head);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words.iter().any(|word| OTHERS.contains(word)) {
        return None;
    }
    let step = words.iter().position(|word| STEPS.contains(word));
    let is_time = words.iter().any(|word| TIMES.contains(word));
    let named = words.iter().rposition(|word| unit(word).is_some());
    let per = words.iter().position(|word| *word == "per").is_some() || slash;
    let unit = named.and_then(|at| unit(words[at])).unwrap_or(1.0);
    let told = Told { unit, names_unit: named.is_some(), inverse: false, bare: false };
    // A head of many words is a sentence, not a name.
    if words.len() > 8 {
        return None;
    }
    match (step, named) {
        (Some(step), Some(named)) if per && step < named && !is_time => Some(Told { inverse: true, ..told }),
        (Some(_), Some(named)) if is_time || per || named + 1 == words.len() => Some(told),
        (Some(_), None) if is_time => Some(told),
        (None, _)
            if is_time
                && words.iter().all(|word| TIMES.contains(word) || super::column::unit(word).is_some()) =>
        {
            Some(Told { bare: true, ..told })
        }
        _ => None,
    }
}

/// Whether a column numbers steps.
pub(super) fn counts_steps(head: &str) -> bool {
    let words = words(last_part(head.trim()));
    let numbers = ["number", "no", "n", "idx", "index", "id", "global", "train", "current"];
    let is_step = |word: &String| STEPS.contains(&word.as_str());
    words.iter().any(is_step) && words.iter().all(|word| is_step(word) || numbers.contains(&word.as_str()))
}

/// Whether a column tells what a step worked on: batch size, length of sequences, samples or tokens of a step.
pub(super) fn tells_work(head: &str) -> bool {
    let words = words(last_part(head.trim()));
    let has = |wanted: &[&str]| wanted.iter().all(|word| words.iter().any(|one| one == word));
    let is = |wanted: &str| words.len() == 1 && words[0] == wanted;
    let per_step = words.iter().any(|word| STEPS.contains(&word.as_str())) && has(&["per"]);
    let known = has(&["batch", "size"]) || has(&["global", "batch"]) || is("gbs") || is("seqlen");
    let known = known || has(&["sequence", "length"]) || has(&["seq", "len"]) || has(&["seq", "length"]);
    let known = known || per_step && (has(&["tokens"]) || has(&["samples"]));
    known && !has(&["micro"]) && !has(&["consumed"]) && !has(&["skipped"])
}

/// Run and column of a head as Weights & Biases exports it, `run - column`.
pub(super) fn run_and_column(head: &str) -> Option<(&str, &str)> {
    head.rsplit_once(" - ").map(|(run, column)| (run.trim(), column.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_unit_of_a_head_tell_times_of_steps() {
        let of = |head: &str| told(head).map(|told| (told.unit, told.inverse, told.bare));
        for head in [
            "step_s",
            "step_time",
            "Step Time (s)",
            "sec_per_step",
            "s/it",
            "train/step_time",
            "stepTime",
            "train_step_timing in s",
            "Iteration time [sec]",
            "time_per_step",
            "seconds per iteration",
            "step_seconds",
        ] {
            assert_eq!(of(head), Some((1.0, false, false)), "{head}");
        }
        for head in [
            "elapsed time per iteration (ms)",
            "step_ms",
            "iteration_time_ms",
            "perf/iter time (ms)",
            "ms/step",
        ] {
            assert_eq!(of(head), Some((1e3, false, false)), "{head}");
        }
        for head in ["it/s", "iterations per second", "steps_per_sec", "iter/s", "perf/steps_per_second"] {
            assert_eq!(of(head), Some((1.0, true, false)), "{head}");
        }
        assert_eq!((of("time"), of("time (ms)")), (Some((1.0, false, true)), Some((1e3, false, true))));
        for head in [
            "step",
            "loss",
            "median_step_s",
            "least_step_s",
            "since_start_s",
            "eval step time",
            "timestamp",
            "data time per iteration",
            "step_start_time",
            "tokens per second",
            "",
            "time (UTC)",
            "samples/s",
            "/",
        ] {
            assert_eq!(of(head), None, "{head}");
        }
        assert!(
            counts_steps("Step")
                && counts_steps("iteration")
                && !counts_steps("step_s")
                && !counts_steps("loss")
        );
        assert!(tells_work("global_batch_size") && tells_work("global_batch") && tells_work("seq_len"));
        assert!(!tells_work("micro_batch_size") && !tells_work("consumed samples") && !tells_work("batch"));
        assert_eq!(run_and_column("run-1 - train/step_time"), Some(("run-1", "train/step_time")));
    }
}

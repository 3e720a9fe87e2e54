//! What the head of a column says: the time of a step, and in which unit, by its words.

/// Words of a step, of a batch, and of a time.
const STEPS: [&str; 10] =
    ["step", "steps", "iteration", "iterations", "iter", "iters", "it", "its", "update", "updates"];
const BATCHES: [&str; 2] = ["batch", "batches"];
const TIMES: [&str; 10] =
    ["time", "times", "timing", "duration", "elapsed", "latency", "wall", "walltime", "dt", "took"];
/// Units by how many of them are a second.
const UNITS: [(&str, f64); 16] = [
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
    ("nanoseconds", 1e9),
];
/// Units that a column may have for its whole name: a single letter may be anything.
const ALONE_MIN: usize = 3;
/// Words that say that a time is that of training, those that say nothing more of it, and those that say that it passes from
/// row to row.
const TRAINING: [&str; 3] = ["train", "training", "process"];
const PLAIN: [&str; 6] = ["per", "in", "train", "training", "global", "current"];
const PASSES: [&str; 16] = [
    "timestamp",
    "stamp",
    "datetime",
    "date",
    "utc",
    "runtime",
    "since",
    "start",
    "started",
    "relative",
    "cumulative",
    "total",
    "clock",
    "so",
    "far",
    "created",
];
/// What is counted by time where steps are not, and short names of it.
const AMOUNTS: [&str; 14] = [
    "token",
    "tokens",
    "tok",
    "toks",
    "sample",
    "samples",
    "sequence",
    "sequences",
    "seq",
    "seqs",
    "example",
    "examples",
    "image",
    "images",
];
const AMOUNTS_PER_SECOND: [&str; 4] = ["tps", "wps", "tgs", "sps"];
/// Words of times that are not those of whole steps, or not of one step each.
const OTHERS: [&str; 57] = [
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
    "running",
    "smoothed",
    "speed",
    "target",
    "expected",
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
    "micro",
    "microbatch",
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
    "epoch",
];
/// Words of an evaluation.
const EVALUATIONS: [&str; 7] = ["eval", "evaluation", "val", "valid", "validation", "validate", "test"];
/// A head of more words is a sentence, not a name.
const WORDS_MAX: usize = 8;

/// What a column tells the time of, the surest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Of {
    /// A step.
    Step,
    /// A batch.
    Batch,
    /// What a row is, a step only because rows are steps: a time by its name alone.
    Row,
    /// Time that passes from row to row.
    Clock,
    /// A token, a sample: of a step only as far as each holds as many.
    Amount,
}

/// How a column tells times of steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Told {
    /// How many of its unit are a second.
    pub unit: f64,
    /// Whether the head names the unit.
    pub names_unit: bool,
    /// Whether it tells how many in a second instead.
    pub inverse: bool,
    /// What of.
    pub of: Of,
    /// Whether its words say no more than that.
    pub plain: bool,
}

impl Told {
    /// Whether it is one of a step only because another column numbers steps.
    pub(super) const fn needs_steps(self) -> bool {
        matches!(self.of, Of::Row | Of::Clock | Of::Amount)
    }

    /// What decides between columns.
    pub(super) const fn rank(self) -> (Of, bool, bool) {
        (self.of, self.inverse, !self.plain)
    }
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
    let counted = |word: &str| STEPS.contains(&word) || BATCHES.contains(&word) || AMOUNTS.contains(&word);
    words(before).last().is_some_and(|word| unit(word).is_some() || counted(word))
}

/// Whether what stands before the last part of a path is an evaluation.
fn of_evaluation(head: &str) -> bool {
    head.len() > last_part(head).len() && tells_evaluation(&head[..head.len() - last_part(head).len()])
}

/// The words of the last part of a head: a time and its unit that stand before the word of a step, as in `timing_s/step`, with
/// them, and `end_to_end` as the step that it is.
fn words_of_column(head: &str) -> Vec<String> {
    let head = head.trim();
    let mut found = words(last_part(head));
    let is_step = found.len() == 1 && STEPS.contains(&found[0].as_str());
    if let (true, Some((before, _))) = (is_step, head.rsplit_once('/')) {
        let before = words(before.rsplit('/').next().unwrap_or(before));
        let times =
            before.iter().any(|word| word == "timing") || before.iter().any(|word| unit(word).is_some());
        if times && before.iter().all(|word| TIMES.contains(&word.as_str()) || unit(word).is_some()) {
            found.splice(0..0, before);
        }
    }
    if let Some(at) = found.windows(3).position(|three| three == ["end", "to", "end"]) {
        found.splice(at..at + 3, ["step".to_owned()]);
    }
    found.iter_mut().filter(|word| *word == "e2e").for_each(|word| *word = "step".to_owned());
    found
}

/// Whether, and how, a column tells times of steps.
pub(super) fn told(head: &str) -> Option<Told> {
    let words = words_of_column(head);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words.len() > WORDS_MAX || of_evaluation(head.trim()) {
        return None;
    }
    let slash = last_part(head.trim()).contains('/');
    let per = words.contains(&"per") || slash;
    let named = words.iter().rposition(|word| unit(word).is_some());
    let plain = |word: &&str| {
        let counted = STEPS.contains(word) || BATCHES.contains(word) || AMOUNTS.contains(word);
        counted || TIMES.contains(word) || unit(word).is_some() || PLAIN.contains(word)
    };
    let told = Told {
        unit: named.and_then(|at| unit(words[at])).unwrap_or(1.0),
        names_unit: named.is_some(),
        inverse: false,
        of: Of::Row,
        plain: words.iter().all(plain),
    };
    let is_time = words.iter().any(|word| TIMES.contains(word));
    let all = |known: &dyn Fn(&str) -> bool| {
        words.iter().all(|word| TIMES.contains(word) || unit(word).is_some() || known(word))
    };
    if words.iter().any(|word| PASSES.contains(word))
        && all(&|word| PASSES.contains(&word) || TRAINING.contains(&word))
        && !words.iter().all(|word| ["start", "so", "far", "total"].contains(word))
    {
        return Some(Told { of: Of::Clock, ..told });
    }
    if words.iter().any(|word| OTHERS.contains(word)) {
        return None;
    }
    let counted = |of: Of, at: usize| match named {
        Some(named) if per && at < named && !is_time => Some(Told { inverse: true, of, ..told }),
        Some(named) if is_time || per || named + 1 == words.len() => Some(Told { of, ..told }),
        None if is_time => Some(Told { of, ..told }),
        _ => None,
    };
    let first = |known: &[&str]| words.iter().position(|word| known.contains(word));
    let short = words.iter().any(|word| AMOUNTS_PER_SECOND.contains(word));
    match (first(&STEPS), first(&BATCHES), first(&AMOUNTS)) {
        (Some(step), None, None) => counted(Of::Step, step),
        (None, Some(batch), None) => counted(Of::Batch, batch),
        (None, None, Some(amount)) => counted(Of::Amount, amount).filter(|told| told.inverse),
        (None, None, None) if words == ["ups"] => {
            Some(Told { inverse: true, names_unit: true, of: Of::Step, ..told })
        }
        (None, None, None) if short && !is_time => {
            Some(Told { inverse: true, names_unit: true, of: Of::Amount, ..told })
        }
        (None, None, None) => {
            let alone = words.len() == 1 && unit(words[0]).is_some() && words[0].len() >= ALONE_MIN;
            ((is_time || alone || words == ["ms"]) && all(&|word| TRAINING.contains(&word))).then_some(told)
        }
        _ => None,
    }
}

/// Whether a column tells of an evaluation.
pub(super) fn tells_evaluation(head: &str) -> bool {
    words(head).iter().any(|word| EVALUATIONS.contains(&word.as_str()))
}

/// Whether a column numbers steps.
pub(super) fn counts_steps(head: &str) -> bool {
    let words = words_of_column(head);
    let numbers = [
        "number",
        "no",
        "n",
        "num",
        "idx",
        "index",
        "id",
        "global",
        "train",
        "trainer",
        "current",
        "completed",
    ];
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
        let of = |head: &str| told(head).map(|told| (told.unit, told.inverse, told.of));
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
            "iteration-time",
            "iter_time",
            "time_metrics/end_to_end(s)",
            "timing_s/step",
            "perf/time_per_step",
            "perf/step_time_seconds",
            "data/train_step_timing in s",
        ] {
            assert_eq!(of(head), Some((1.0, false, Of::Step)), "{head}");
        }
        for head in [
            "elapsed time per iteration (ms)",
            "step_ms",
            "iteration_time_ms",
            "perf/iter time (ms)",
            "ms/step",
        ] {
            assert_eq!(of(head), Some((1e3, false, Of::Step)), "{head}");
        }
        for head in
            ["it/s", "iterations per second", "steps_per_sec", "iter/s", "perf/steps_per_second", "ups"]
        {
            assert_eq!(of(head), Some((1.0, true, Of::Step)), "{head}");
        }
        for head in ["batch_time", "sec_per_batch", "batch_seconds", "time_per_batch"] {
            assert_eq!(of(head), Some((1.0, false, Of::Batch)), "{head}");
        }
        assert_eq!(of("batch_time_ms"), Some((1e3, false, Of::Batch)));
        assert_eq!(of("train/device/batches_per_sec"), Some((1.0, true, Of::Batch)));
        for head in
            ["tokens per second", "samples/s", "tps", "throughput(tps)", "tok/sec", "CurrSamplesPerSec"]
        {
            assert_eq!(of(head), Some((1.0, true, Of::Amount)), "{head}");
        }
        for head in
            ["since_start_s", "timestamp", "_timestamp", "_runtime", "time (UTC)", "Relative Time (Process)"]
        {
            assert_eq!(of(head), Some((1.0, false, Of::Clock)), "{head}");
        }
        for head in ["time", "seconds", "elapsed", "elapsed_s", "dt", "sec", "train_time"] {
            assert_eq!(of(head), Some((1.0, false, Of::Row)), "{head}");
        }
        for head in ["time (ms)", "dt_ms", "ms"] {
            assert_eq!(of(head), Some((1e3, false, Of::Row)), "{head}");
        }
        for head in [
            "step",
            "loss",
            "median_step_s",
            "least_step_s",
            "eval step time",
            "data time per iteration",
            "step_start_time",
            "",
            "/",
            "data_time",
            "epoch_time",
            "batch_size",
            "time/batch",
            "time/iteration",
            "time/token",
            "micro_batch_time",
            "batch_load_time",
            "s",
            "total",
            "start",
            "tokens",
            "total tokens",
            "tflops",
            "throughput",
            "RunningAvgSamplesPerSec",
            "train_speed(s/it)",
            "val/step_time",
            "eval/time",
        ] {
            assert_eq!(of(head), None, "{head}");
        }
        assert!(
            counts_steps("Step")
                && counts_steps("iteration")
                && counts_steps("_step")
                && counts_steps("current_steps")
                && counts_steps("num_updates")
                && !counts_steps("timing_s/step")
                && !counts_steps("step_s")
                && !counts_steps("loss")
        );
        assert!(tells_work("global_batch_size") && tells_work("global_batch") && tells_work("seq_len"));
        assert!(!tells_work("micro_batch_size") && !tells_work("consumed samples") && !tells_work("batch"));
        assert_eq!(run_and_column("run-1 - train/step_time"), Some(("run-1", "train/step_time")));
    }
}

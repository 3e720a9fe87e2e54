//! Lines that training frameworks print after each step: Megatron's, and those that name the time of a step and its unit.
use super::{StepLog, StepSeries, is_time, no_time};
use crate::error::FormatError;
use crate::telemetry::input;
use crate::telemetry::skipped::Skipped;

const LINES: &str = "training log";
/// What a time stands behind, and how many of its unit are a second.
const TIMES: [(&str, f64); 6] = [
    ("elapsed time per iteration (ms):", 1e3),
    ("elapsed time per iteration (s):", 1.0),
    ("train_step_timing in s:", 1.0),
    ("train_step_timing in s=", 1.0),
    ("step_time_in_seconds:", 1.0),
    ("iteration time (ms):", 1e3),
];
/// What stands between steps.
const OTHERS: [&str; 6] = [
    "validation loss at iteration",
    "saving checkpoint",
    "successfully saved checkpoint",
    "saved checkpoint",
    "evaluating on",
    "loading checkpoint",
];

fn time_of(line: &str) -> Option<(&'static str, &str, f64)> {
    TIMES.iter().find_map(|(sign, unit)| {
        let (_, rest) = line.split_once(sign)?;
        Some((*sign, first_value(rest), *unit))
    })
}

/// The text up to the next bar, comma or space.
fn first_value(rest: &str) -> &str {
    rest.trim_start().split(['|', ',', ' ', ']', '\t', '\x1b']).next().unwrap_or_default()
}

/// Whether a line is one of a step with its time.
pub(crate) fn is_step_line(line: &str) -> bool {
    time_of(line).is_some_and(|(_, value, _)| value.parse::<f64>().is_ok())
}

/// The number behind a word.
fn value_of(line: &str, word: &str) -> Option<f64> {
    let (_, rest) = line.split_once(word)?;
    let digits = rest.trim_start_matches([' ', ':', '=']);
    digits.split(|sign: char| !sign.is_ascii_digit() && sign != '.').next()?.parse().ok()
}

/// Reads what a training framework printed: lines with `elapsed time per iteration (ms)` as Megatron-LM and its kin write
/// them, or `train_step_timing in s` as NeMo does; the global batch size where the line has it. Checkpoints and evaluations
/// stand between steps. Where the number of the iteration goes back, another run begins. Other lines are passed over.
///
/// # Errors
/// A gzip stream that is broken, a log without such lines.
pub fn parse_step_lines(source_name: &str, bytes: &[u8]) -> Result<StepLog, FormatError> {
    let text = input::lossy(LINES, source_name, bytes)?;
    let mut log = StepLog::default();
    let mut series = StepSeries::of("", source_name);
    let (mut before, mut runs, mut signs) = (None, 1, Vec::new());
    let mut skipped = Skipped::default();
    // Progress bars write over their line.
    let lines = text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
    for (number, line) in (1_u64..).zip(lines) {
        if OTHERS.iter().any(|other| line.contains(other)) {
            series.other();
        }
        let Some((sign, value, unit)) = time_of(line) else { continue };
        let iteration = ["iteration", "global_step", "step"].iter().find_map(|word| value_of(line, word));
        if let Some((before, now)) = before.zip(iteration)
            && now <= before
        {
            // The same step told again is no step, and one before it is of a run that began anew.
            if now == before {
                continue;
            }
            runs += 1;
            let next = StepSeries::of("", &format!("{source_name}, run {runs}"));
            log.series.push(std::mem::replace(&mut series, next));
        }
        before = iteration;
        if !signs.contains(&sign) {
            signs.push(sign);
        }
        match value.parse::<f64>().ok().map(|value| value / unit).filter(|seconds| is_time(*seconds)) {
            Some(seconds) => series.step(seconds, value_of(line, "global batch size").unwrap_or(0.0)),
            None => {
                skipped.take(no_time(LINES, source_name, number, sign.trim_end_matches([':', '=']), value))
            }
        }
    }
    log.series.push(series);
    log.skipped = skipped;
    let named: Vec<&str> = signs.iter().map(|sign| sign.trim_end_matches([':', '='])).collect();
    log.taken = format!("taken for times of steps: {}", named.join(", "));
    let wanted = "lines with elapsed time per iteration (ms): or train_step_timing in s";
    log.settled().ok_or_else(|| FormatError::new(LINES, source_name, "has no times of steps", wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOG: &str = " [2025-01-02 03:00:01] iteration        1/ 5000 | consumed samples: 256 | \
elapsed time per iteration (ms): 11983.5 | \
learning rate: 1.0E-4 | global batch size: 256 | lm loss: 2.1E+00 |
 [2025-01-02 03:00:02] iteration        2/ 5000 | elapsed time per iteration (ms): 12003.5 | global batch size:   256 |
saving checkpoint at iteration       2 to a
 [2025-01-02 03:00:03] iteration        3/ 5000 | elapsed time per iteration (ms): nan | global batch size:   512 |
iteration        4/ 5000 | elapsed time per iteration (ms): 24000.0 | global batch size:   512 |
iteration        3/ 5000 | elapsed time per iteration (ms): 24100.0 | global batch size:   512 |
";

    #[test]
    fn lines_of_steps_are_read_and_runs_that_begin_anew_told_apart() {
        let log = parse_step_lines("log", LOG.as_bytes()).expect("a log");
        let told: Vec<Vec<(f64, bool)>> = log
            .series
            .iter()
            .map(|one| one.steps.iter().map(|step| (step.seconds, step.beside)).collect())
            .collect();
        assert_eq!(told, [vec![(11.9835, true), (12.0035, true), (24.0, true)], vec![(24.1, true)]]);
        assert_eq!((log.skipped.count(), log.series[1].run.as_str()), (1, "log, run 2"));
        let nemo = "Epoch 0: 10%| 1/10 [v_num=0, reduced_train_loss=8.1, global_step=0.000, train_step_timing in s=11.90]\r\
                    Epoch 0: 20%| 2/10 [v_num=0, reduced_train_loss=8.1, global_step=1.000, train_step_timing in s=12.00]\n";
        let log = parse_step_lines("log", nemo.as_bytes()).expect("a log");
        assert_eq!(log.series[0].steps.iter().map(|step| step.seconds).collect::<Vec<_>>(), [11.9, 12.0]);
        assert!(is_step_line(LOG.lines().next().unwrap_or_default()) && !is_step_line("elapsed time"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(any in "\\PC{0,80}", at in 0..LOG.len(), bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = parse_step_lines("a", any.as_bytes());
            let _ = parse_step_lines("a", &[&LOG.as_bytes()[..at], &bytes[..]].concat());
        }
    }
}

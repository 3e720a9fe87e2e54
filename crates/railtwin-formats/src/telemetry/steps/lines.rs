//! Lines that training frameworks print after each step: Megatron's, and those that name the time of a step and its unit.
use super::{StepLog, StepSeries, is_time, no_time};
use crate::error::FormatError;
use crate::telemetry::input;
use crate::telemetry::skipped::Skipped;

const LINES: &str = "training log";

/// How a program tells the time of a step in a line.
struct Sign {
    /// What the time stands behind.
    text: &'static str,
    /// What else is in such a line.
    beside: &'static str,
    tells: Tells,
}

/// What stands behind a sign.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Tells {
    /// A time, of which so many are a second.
    Time(f64),
    /// A time with its unit behind it.
    TimeAndUnit,
    /// Tokens per second.
    Rate,
}

const fn sign(text: &'static str, beside: &'static str, tells: Tells) -> Sign {
    Sign { text, beside, tells }
}

const SIGNS: [Sign; 20] = [
    // Megatron-LM, Megatron-DeepSpeed, NeMo Megatron Bridge.
    sign("elapsed time per iteration (ms):", "", Tells::Time(1e3)),
    sign("elapsed time per iteration (s):", "", Tells::Time(1.0)),
    // NeMo.
    sign("train_step_timing in s:", "", Tells::Time(1.0)),
    sign("train_step_timing in s=", "", Tells::Time(1.0)),
    sign("step_time_in_seconds:", "", Tells::Time(1.0)),
    sign("iteration time (ms):", "", Tells::Time(1e3)),
    // DeepSpeed's examples.
    sign("iter time (s):", "", Tells::Time(1.0)),
    sign("iter time (ms):", "", Tells::Time(1e3)),
    // MaxText.
    sign("seconds:", "completed step:", Tells::Time(1.0)),
    // verl.
    sign("timing_s/step:", "", Tells::Time(1.0)),
    // MMEngine.
    sign(" time: ", "(train)", Tells::Time(1.0)),
    // nanochat and its kin, nanoGPT, LitGPT, llm.c, Megatron Bridge.
    sign("dt: ", "step", Tells::TimeAndUnit),
    sign("dt: ", "iter", Tells::TimeAndUnit),
    sign(", time ", "iter ", Tells::TimeAndUnit),
    sign("iter time: ", "", Tells::TimeAndUnit),
    sign(BAR, "step ", Tells::TimeAndUnit),
    sign("Step Time : ", "", Tells::TimeAndUnit),
    // TorchTitan.
    sign("tps: ", "step: ", Tells::Rate),
    // DeepSpeed's throughput timer: of the last steps, else (before 0.7) of all.
    sign("CurrSamplesPerSec=", "", Tells::Rate),
    sign("SamplesPerSec=", "", Tells::Rate),
];
/// Before a time that nothing names: `| 383.55 ms |`.
const BAR: &str = "| ";
/// What stands between steps.
const OTHERS: [&str; 6] = [
    "validation loss at iteration",
    "saving checkpoint",
    "successfully saved checkpoint",
    "saved checkpoint",
    "evaluating on",
    "loading checkpoint",
];

/// A sign in a line, by its row, with the text and the unit of what it tells.
fn time_of(line: &str) -> Option<(usize, &str, f64)> {
    let mut signs = SIGNS.iter().enumerate().filter(|(_, sign)| line.contains(sign.beside));
    signs.find_map(|(row, sign)| match sign.tells {
        Tells::Time(unit) => Some((row, first_value(line.split_once(sign.text)?.1), unit)),
        Tells::Rate => {
            let rest = line.split_once(sign.text)?.1.trim_start();
            let end = rest.find(|sign: char| !sign.is_ascii_digit() && !matches!(sign, ',' | '.'));
            Some((row, &rest[..end.unwrap_or(rest.len())], 1.0))
        }
        Tells::TimeAndUnit => {
            let mut found = line.match_indices(sign.text).map(|(at, text)| &line[at + text.len()..]);
            found.find_map(|rest| with_unit(rest, sign.text == BAR)).map(|(value, unit)| (row, value, unit))
        }
    })
}

/// A value before its unit, `350.12ms` or `0.35 s`; `alone` where a bar must stand behind.
fn with_unit(rest: &str, alone: bool) -> Option<(&str, f64)> {
    let rest = rest.trim_start();
    let (value, rest) = rest.split_at(rest.find(|sign: char| !sign.is_ascii_digit() && sign != '.')?);
    let rest = rest.trim_start();
    let (unit, rest) =
        rest.split_at(rest.find(|sign: char| !sign.is_ascii_alphabetic()).unwrap_or(rest.len()));
    let unit = match unit {
        "s" | "sec" | "seconds" => 1.0,
        "ms" => 1e3,
        _ => return None,
    };
    (!value.is_empty() && (!alone || rest.trim_start().starts_with('|'))).then_some((value, unit))
}

/// Seconds of a value; of a rate those of one of what it counts.
fn seconds_of(row: usize, value: &str, unit: f64) -> Option<f64> {
    let seconds = match SIGNS[row].tells {
        Tells::Rate => 1.0 / value.replace(',', "").parse::<f64>().ok()?,
        _ => value.parse::<f64>().ok()? / unit,
    };
    Some(seconds).filter(|seconds| is_time(*seconds))
}

/// The text up to the next bar, comma or space.
fn first_value(rest: &str) -> &str {
    rest.trim_start().split(['|', ',', ' ', ']', '\t', '\x1b']).next().unwrap_or_default()
}

/// Whether a line is one of a step with its time.
pub(crate) fn is_step_line(line: &str) -> bool {
    time_of(line).is_some_and(|(row, value, unit)| seconds_of(row, value, unit).is_some())
}

/// The number behind a word.
fn value_of(line: &str, word: &str) -> Option<f64> {
    let (_, rest) = line.split_once(word)?;
    let digits = rest.trim_start_matches([' ', ':', '=']);
    digits.split(|sign: char| !sign.is_ascii_digit() && sign != '.').next()?.parse().ok()
}

/// The number of a step behind that of its epoch, as DeepSpeed writes both: `0/410, SamplesPerSec=83.7`.
fn of_epoch(line: &str) -> Option<f64> {
    let (_, step) = line.split_whitespace().filter(|word| word.ends_with(',')).find_map(|word| {
        let (epoch, step) = word.trim_end_matches(',').split_once('/')?;
        Some((epoch.parse::<u32>().ok()?, step.parse::<u32>().ok()?))
    })?;
    Some(f64::from(step))
}

/// Words before the number of a step.
const NUMBERS: [&str; 5] = ["iteration", "global_step", "steps", "step", "iter"];

/// Reads what a training framework printed: lines with `elapsed time per iteration (ms)` as Megatron-LM and its kin write
/// them, `train_step_timing in s` as NeMo does, `completed step: 5, seconds: 4.1` (MaxText), `iter time (s):` (DeepSpeed),
/// `timing_s/step:` (verl), `dt: 350.12ms`, `iter 10: … time 135.0ms` and `| 383.55 ms |` (nanoGPT and its kin, LitGPT, llm.c),
/// `tps:` (TorchTitan: the time of a token) or `SamplesPerSec=` (DeepSpeed: the time of a sample); the global batch size where the
/// line has it. Where lines tell times in several ways, those count that are the most. Checkpoints and evaluations stand between
/// steps. Where the number of the iteration goes back, another run begins. Other lines are passed over.
///
/// # Errors
/// A gzip stream that is broken, a log without such lines.
pub fn parse_step_lines(source_name: &str, bytes: &[u8]) -> Result<StepLog, FormatError> {
    let text = input::lossy(LINES, source_name, bytes)?;
    let wanted = "lines with elapsed time per iteration (ms): or train_step_timing in s";
    let wrong = || FormatError::new(LINES, source_name, "has no times of steps", wanted);
    // Progress bars write over their line.
    let lines = || text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
    let mut counts = [0_usize; SIGNS.len()];
    lines().filter_map(time_of).for_each(|(row, ..)| counts[row] += 1);
    let most = (0..SIGNS.len()).max_by_key(|&row| (counts[row], std::cmp::Reverse(row))).ok_or_else(wrong)?;
    let text_of = SIGNS[most].text.trim().trim_end_matches([':', '=']);
    let mut log = StepLog::default();
    let mut series = StepSeries::of("", source_name);
    let (mut before, mut runs) = (None, 1);
    let mut skipped = Skipped::default();
    for (number, line) in (1_u64..).zip(lines()) {
        if OTHERS.iter().any(|other| line.contains(other)) {
            series.other();
        }
        let Some((_, value, unit)) = time_of(line).filter(|(row, ..)| *row == most) else { continue };
        let iteration = NUMBERS.iter().find_map(|word| value_of(line, word)).or_else(|| of_epoch(line));
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
        match seconds_of(most, value, unit) {
            Some(seconds) => {
                let work = value_of(line, "global batch size").unwrap_or(0.0);
                series.step(seconds, work, iteration.and_then(super::counts));
            }
            None => skipped.take(no_time(LINES, source_name, number, text_of, value)),
        }
    }
    log.series.push(series);
    log.skipped = skipped;
    let name = if text_of == "|" { "the time between bars" } else { text_of };
    log.taken = match SIGNS[most].tells {
        Tells::Rate => format!(
            "taken for times of steps: {name}, of which one over its value is the time of one token or sample: that of steps as far \
             as each holds as many"
        ),
        _ => format!("taken for times of steps: {name}"),
    };
    log.settled().ok_or_else(wrong)
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

    #[test]
    fn lines_of_many_frameworks_tell_steps() {
        let log = |text: &str| parse_step_lines("log", text.as_bytes()).expect(text);
        let told = |text: &str| {
            assert!(is_step_line(text.lines().next().unwrap_or_default()), "{text}");
            let log = log(text);
            let step = |step: &super::super::StepTime| (step.number, (step.seconds * 1e6).round() / 1e6);
            log.series[0].steps.iter().map(step).collect::<Vec<_>>()
        };
        for (text, number, seconds) in [
            (
                "completed step: 5, seconds: 4.123, TFLOP/s/device: 190.1, Tokens/s/device: 2000.2, loss: 3.1",
                Some(5),
                4.123,
            ),
            ("iter 10: loss 9.1234, time 134.99ms, mfu 2.50%", Some(10), 0.134_99),
            (
                "step   12 | loss: 3.1 | lr 6.0e-04 | norm: 0.29 | dt: 350.12ms | tok/sec: 149000.10",
                Some(12),
                0.350_12,
            ),
            (
                "step 00012/21400 (0.06%) | loss: 3.1 | dt: 0.35s | tok/sec: 149,000 | mfu: 40.1",
                Some(12),
                0.35,
            ),
            (
                "step    1/18865 | loss 11.0 (+nanz)| norm 15.2 (+nanz)| lr 8.57e-07 | 383.55 ms | 47% MFU | 136 tok/s",
                Some(1),
                0.383_55,
            ),
            (
                "Epoch 1 | iter 10 step 1 | loss train: 2.1, val: n/a | iter time: 123.45 ms (step)",
                Some(1),
                0.123_45,
            ),
            ("steps: 10 loss: 8.1 iter time (s): 1.234 samples/sec: 12.3", Some(10), 1.234),
            (
                "step:7 - actor/loss:0.1 - timing_s/gen:60.1 - timing_s/step:123.4 - perf/throughput:900",
                Some(7),
                123.4,
            ),
            (
                "[titan] 2025-01-01 12:00:00,123 - root - INFO - \x1b[31mstep: 10  \x1b[32mloss:  8.1  \x1b[34mtps: 2,000  \x1b[36m",
                Some(10),
                0.0005,
            ),
        ] {
            assert_eq!(told(text), [(number, seconds)], "{text}");
        }
        // Both lines are of one step.
        let two = "Step Time : 3.21s GPU utilization: 400.1MODEL_TFLOP/s/GPU\n\
                   iteration 1/ 9 | elapsed time per iteration (ms): 3210.0 |\n\
                   iteration 2/ 9 | elapsed time per iteration (ms): 3211.0 |\n";
        assert_eq!(log(two).series[0].steps.len(), 2);
        assert!(log("step: 1  loss: 8  tps: 1,000  \n").taken.contains("as far as each holds as many"));
        assert!(!is_step_line("step 3 | dt: soon") && !is_step_line("a | 3 ms | b"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(any in "\\PC{0,80}", at in 0..LOG.len(), bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = parse_step_lines("a", any.as_bytes());
            let _ = parse_step_lines("a", format!("step: 1 {}{any}", SIGNS[at % SIGNS.len()].text).as_bytes());
            let _ = parse_step_lines("a", &[&LOG.as_bytes()[..at], &bytes[..]].concat());
        }
    }
}

//! Runs of which only times of steps are told: whether they became slower for good.
use railtwin_diagnosis::steps::{Series, Step, levels, slower};
use railtwin_formats::telemetry::StepSeries;
use railtwin_records::{Component, Evidence, Finding, Suspect, Syndrome};

/// Confidence in whom: times of steps tell that a job is slower, and not what of it.
const WHOM: f64 = 0.45;

/// The table of evidence about steps.
pub const TABLE: &str = "steps";

/// Findings of runs that became slower, and notes on what was read and on levels that differ.
pub fn of_steps(read: &[StepSeries]) -> (Vec<Finding>, Vec<String>) {
    let step =
        |one: &railtwin_formats::telemetry::StepTime| Step { seconds: one.seconds, beside: one.beside };
    let all: Vec<Series> = read
        .iter()
        .map(|one| Series {
            job: one.job.clone(),
            run: one.run.clone(),
            steps: one.steps.iter().map(step).collect(),
        })
        .collect();
    let name = |row: usize| match all[row].job.as_str() {
        "" => all[row].run.clone(),
        job => format!("{job}, run {}", all[row].run),
    };
    let mut notes = Vec::new();
    if !all.is_empty() {
        let steps: usize = all.iter().map(|series| series.steps.len()).sum();
        notes.push(format!("{steps} steps of {} runs, each compared with the 32 before", all.len()));
    }
    for level in levels(&all) {
        notes.push(format!(
            "{} takes {:.1} % longer per step than the other runs of its job from its start: levels of runs differ, which is \
             told and no fault",
            name(level.series),
            100.0 * level.share
        ));
    }
    let finding = |one: railtwin_diagnosis::steps::Slower| {
        let [was, is] = one.seconds;
        let usual = if one.of_others { "other runs of the job" } else { "the steps before" };
        Finding {
            at_ns: 0,
            since_ns: 0,
            syndrome: Syndrome::NonCommunicationSlow,
            faults: Vec::new(),
            suspects: vec![Suspect { component: Component::Job(name(one.series)), share: WHOM }],
            confidence: WHOM,
            severity: (is / was - 1.0).clamp(0.0, 1.0),
            evidence: vec![Evidence {
                table: TABLE,
                what: format!("steps take longer from step {} on, told after step {}, beside {usual}", one.from + 1, one.told + 1),
                value: is,
                expected: was,
                unit: "s",
            }],
            advice: "steps tell that the job became slower and not by what: give a trace of its ranks (Kineto, Megatron), logs \
                     of NCCL Inspector or counters of its hosts from that time"
                .into(),
        }
    };
    (slower(&all).into_iter().map(finding).collect(), notes)
}

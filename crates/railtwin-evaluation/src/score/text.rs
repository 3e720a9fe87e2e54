//! The score card as Markdown.
use super::healthy::Healthy;
use super::trial::Trial;
use super::{Card, Row};
use railtwin_diagnosis::verdict::TruthMatch;

/// Slowdown of the operation from which a fault counts for the bars of the card.
pub const HURTS: f64 = 0.2;

/// Shares and medians of a row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sum {
    /// Trials.
    pub trials: usize,
    /// Share in which it was told of, placed or not.
    pub told: f64,
    /// Share in which the truth was among the suspects.
    pub in_set: f64,
    /// Share in which the first suspect was the truth.
    pub top: f64,
    /// Share in which the truth was named at its own grain.
    pub exact: f64,
    /// Median number of suspects; none where nobody was accused.
    pub set: Option<f64>,
    /// Median seconds until found.
    pub seconds: Option<f64>,
    /// Findings that named others.
    pub wrong: usize,
}

/// What counts of a trial.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TrialOutcome {
    /// How much longer the job's longest operation took with the fault; infinite where it stood still.
    pub slowdown: f64,
    /// The verdict; none where nobody was named.
    pub verdict: Option<TruthMatch>,
    /// Whether it was told of.
    pub told: bool,
}

/// Sums up the trials of a row that hurt, or those that do not.
pub fn sum(row: &Row, hurt: bool) -> Sum {
    sum_of(&outcomes(row), hurt)
}

fn outcomes(row: &Row) -> Vec<TrialOutcome> {
    let outcome =
        |trial: &Trial| TrialOutcome { slowdown: trial.slowdown, verdict: trial.verdict, told: trial.told };
    row.trials.iter().map(outcome).collect()
}

/// The same of outcomes.
pub fn sum_of(outcomes: &[TrialOutcome], hurt: bool) -> Sum {
    let counted: Vec<&TrialOutcome> = outcomes.iter().filter(|one| (one.slowdown >= HURTS) == hurt).collect();
    let share = |count: usize| count as f64 / counted.len().max(1) as f64;
    let verdicts: Vec<_> = counted.iter().filter_map(|trial| trial.verdict).collect();
    let median = |values: Vec<f64>| railtwin_diagnosis::robust::median(&mut values.clone());
    Sum {
        trials: counted.len(),
        told: share(counted.iter().filter(|trial| trial.told).count()),
        in_set: share(verdicts.iter().filter(|verdict| verdict.in_set).count()),
        top: share(verdicts.iter().filter(|verdict| verdict.top).count()),
        exact: share(verdicts.iter().filter(|verdict| verdict.exact).count()),
        set: median(verdicts.iter().map(|verdict| verdict.set as f64).collect()),
        seconds: median(verdicts.iter().filter(|v| v.in_set).map(|v| v.found_ns as f64 / 1e9).collect()),
        wrong: verdicts.iter().map(|verdict| verdict.wrong).sum(),
    }
}

fn percent(share: f64, of: usize) -> String {
    if of == 0 { "–".into() } else { format!("{:.0} %", 100.0 * share) }
}

/// The head of a card's table.
pub fn head() -> String {
    let head = "| fault | signals | operation slower | trials that hurt | told | in set | first | itself | set | found after |";
    let rule = "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |";
    format!("{head} others named | milder trials | in set |\n{rule}\n")
}

/// A line of it; times are told in a unit of which a second has so many.
pub fn line_of(what: &str, signals: &str, outcomes: &[TrialOutcome], (units, unit): (f64, &str)) -> String {
    let (milder, sum) = (sum_of(outcomes, false), sum_of(outcomes, true));
    let mut slowdowns: Vec<f64> = outcomes.iter().map(|trial| trial.slowdown).collect();
    let slower = railtwin_diagnosis::robust::median(&mut slowdowns).unwrap_or(0.0);
    let slower = if slower.is_finite() { format!("{:.0} %", 100.0 * slower) } else { "stands".into() };
    let or =
        |value: Option<f64>, unit: &str| value.map_or("–".to_owned(), |value| format!("{value:.0}{unit}"));
    format!(
        "| {what} | {signals} | {slower} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        sum.trials,
        percent(sum.told, sum.trials),
        percent(sum.in_set, sum.trials),
        percent(sum.top, sum.trials),
        percent(sum.exact, sum.trials),
        or(sum.set, ""),
        or(sum.seconds.map(|seconds| seconds * units), unit),
        sum.wrong + milder.wrong,
        milder.trials,
        percent(milder.in_set, milder.trials),
    )
}

/// One card.
pub fn markdown(card: &Card) -> String {
    let mut text = format!("## {} ranks\n\n{}", card.ranks, head());
    for row in &card.rows {
        text += &line_of(row.what.name(), row.signals.name(), &outcomes(row), (1.0, " s"));
    }
    if let Some(healthy) = &card.healthy {
        text += &format!("\n{}\n", quiet(healthy));
    }
    text
}

/// A run without a fault in a sentence.
pub fn quiet(healthy: &Healthy) -> String {
    let [operations, messages, counters, probes] = healthy.records;
    format!(
        "Without a fault: {} simulated hours, {} steps; records of {operations} operations, {messages} messages, \
         {counters} counters and {probes} probes; {} visits of other jobs' flows, {} collisions told; probes asked for \
         {} times in vain; **{} accusations**, {:.1} false alarms a day.",
        healthy.hours,
        healthy.steps,
        healthy.visits,
        healthy.collisions,
        healthy.asked,
        healthy.accusations.len(),
        healthy.alarms_a_day()
    )
}

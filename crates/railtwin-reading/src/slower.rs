//! Runs of which only times of steps are told: whether they became slower for good.
use railtwin_diagnosis::steps::shift::WINDOW;
use railtwin_diagnosis::steps::{
    Drift, Sensitivity, Series, Slower, Step, changes, drifts, levels, sensitivity, strangers,
};
use railtwin_formats::telemetry::{FileNotes, Format, StepSeries};
use railtwin_records::seen::StepSeen;
use railtwin_records::{Component, Evidence, Finding, Since, Suspect, Syndrome};

/// Slowdown that a quiet run shows within three steps, as a share.
const QUIET: f64 = 0.05;
/// Noisy runs that a note names.
const NAMED: usize = 4;
/// Confidence in whom: times of steps tell that a job is slower, and not what of it.
const WHOM: f64 = 0.45;

/// Findings of runs that became slower, and notes on what was read, what was taken for times of steps, and on levels that
/// differ.
pub fn of_steps(read: &[StepSeries], files: &[FileNotes]) -> (Vec<Finding>, Vec<String>) {
    let step = |one: &railtwin_formats::telemetry::StepTime| Step {
        seconds: one.seconds,
        beside: one.beside,
        work: one.work,
    };
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
        let runs = if all.len() == 1 { "1 run".to_owned() } else { format!("{} runs", all.len()) };
        notes.push(format!("{steps} steps of {runs}, each compared with the {WINDOW} before"));
    }
    let is_of_steps = |file: &&FileNotes| {
        matches!(file.format, Format::MlperfLog | Format::StepsCsv | Format::StepsJson | Format::TrainingLog)
    };
    for taken in files.iter().filter(is_of_steps).flat_map(|file| &file.notes) {
        let taken = taken.to_string();
        if !notes.contains(&taken) {
            notes.push(taken);
        }
    }
    for level in levels(&all) {
        notes.push(format!(
            "{} takes {:.1} % longer per step than the other runs of its job from its start: levels of runs differ, which is \
             told and no fault",
            name(level.series),
            100.0 * level.share
        ));
    }
    for row in strangers(&all) {
        notes.push(format!(
            "{}: its steps take more than twice, or less than half, as long as those of the other runs: another job, or \
             another unit of time; not compared with them",
            name(row)
        ));
    }
    notes.extend(shown(&all, &name));
    let (stay, pass): (Vec<Slower>, Vec<Slower>) = changes(&all).into_iter().partition(|one| one.stays);
    if let Some(first) = pass.first() {
        let more =
            if pass.len() > 1 { format!(", and {} times more", pass.len() - 1) } else { String::new() };
        notes.push(format!(
            "{}: steps took longer for a while from step {} on and then as before{more}: no fault that stays",
            name(first.series),
            number_of(&read[first.series], first.from)
        ));
    }
    let mut findings: Vec<Finding> =
        stay.iter().map(|one| of_slower(name(one.series), &read[one.series], one)).collect();
    findings.extend(drifts(&all).iter().map(|one| of_drift(name(one.series), &read[one.series], one)));
    (findings, notes)
}

/// Notes on how small slowdowns the runs show within three steps: the quiet ones together, and noisy ones one by one.
fn shown(all: &[Series], name: &dyn Fn(usize) -> String) -> Vec<String> {
    let known = all.iter().enumerate().filter_map(|(row, run)| Some((row, sensitivity(run)?)));
    let (quiet, mut noisy): (Vec<_>, Vec<_>) = known.partition(|(_, told)| told.share <= QUIET);
    let mut notes = Vec::new();
    let most = quiet.iter().map(|(_, told): &(usize, Sensitivity)| told.share).reduce(f64::max);
    if let Some(most) = most {
        let stalled = quiet.iter().map(|(_, told)| told.stalled).fold(0.0, f64::max);
        let but = match stalled > 0.0 {
            true => format!(", but where one of the three stalls (up to {:.0} % of places)", 100.0 * stalled),
            false => String::new(),
        };
        let runs =
            if all.len() == 1 { "this series shows".into() } else { format!("{} runs show", quiet.len()) };
        notes.push(format!("{runs} slowdowns of at least {:.1} % within three steps{but}", 100.0 * most));
    }
    noisy.sort_by(|a, b| b.1.share.total_cmp(&a.1.share).then(a.0.cmp(&b.0)));
    let least = |told: &Sensitivity| match told.share.is_finite() {
        true => format!("at least {:.0} %", 100.0 * told.share),
        false => "more than 50 %".to_owned(),
    };
    if let ([(_, told)], 1) = (&noisy[..], all.len()) {
        notes.push(format!(
            "this series shows slowdowns of {} within three steps: its own steps change by nearly as much",
            least(told)
        ));
    } else if !noisy.is_empty() {
        let mut each: Vec<String> =
            noisy.iter().take(NAMED).map(|(row, told)| format!("{}: {}", name(*row), least(told))).collect();
        if noisy.len() > NAMED {
            each.push(format!("and {} more", noisy.len() - NAMED));
        }
        notes.push(format!("noisy runs show only larger slowdowns within three steps ({})", each.join("; ")));
    }
    notes
}

/// The number of a step, counted from 1; that of its file where rows there are not numbered one by one from the first: one step
/// in ten is told, or a run that began again at a checkpoint.
fn number_of(series: &StepSeries, at: usize) -> u64 {
    let counted = at as u64 + 1;
    let number = |at: usize| series.steps.get(at).and_then(|step| step.number);
    match (number(0), number(at)) {
        (Some(first), Some(own)) if first > 1 || own.checked_sub(first) != Some(at as u64) => own,
        _ => counted,
    }
}

fn finding(who: String, [was, is]: [f64; 2], seen: StepSeen, advice: &str) -> Finding {
    Finding {
        at_ns: 0,
        since: Since::default(),
        syndrome: Syndrome::NonCommunicationSlow,
        faults: Vec::new(),
        suspects: vec![Suspect { component: Component::Job(who), share: WHOM }],
        confidence: WHOM,
        severity: (is / was - 1.0).clamp(0.0, 1.0),
        cost: None,
        evidence: vec![Evidence::new(seen, is, was)],
        advice: advice.into(),
    }
}

fn of_slower(who: String, series: &StepSeries, one: &Slower) -> Finding {
    let seen = StepSeen::Longer {
        from: number_of(series, one.from),
        seen_at: number_of(series, one.told),
        beside_others: one.of_others,
    };
    let advice = "steps tell that the job became slower and not by what: give a trace of its ranks (Kineto, Megatron), logs \
                  of NCCL Inspector or counters of its hosts from that time";
    finding(who, one.seconds, seen, advice)
}

fn of_drift(who: String, series: &StepSeries, one: &Drift) -> Finding {
    let [from, to] = [one.from, one.steps[1]].map(|step| number_of(series, step));
    let seen = StepSeen::Drift { from, to };
    let advice = "a drift has no moment: sequences that grow, memory or logs that fill, hosts that warm up; counters of the \
                  first and the last hour tell what changed";
    finding(who, one.seconds, seen, advice)
}

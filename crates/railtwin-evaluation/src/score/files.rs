//! The third part of the score card: the judges of files, on files that the ranks of a simulated job would leave.
//!
//! A fault of the first part is put into the same job. What is left of it is one of [`LeftFiles`]: times of steps, durations of
//! operations without a common clock, or dumps of a Flight Recorder. All judges of `diagnose` look at it, as they look at files
//! of a cluster, without a fabric.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use railtwin::Error;
use railtwin::watch::{Rhythm, Watch};
use railtwin_diagnosis::robust;
use railtwin_diagnosis::verdict::{TruthMatch, judge};
use railtwin_formats::telemetry::{
    FlightEntry, FlightGroup, FlightRecorderDump, FlightState, Skipped, StepSeries, Times,
};
use railtwin_reading::{Diagnosed, Inputs, diagnosis_of};
use railtwin_records::{Batch, Directory, NOT_YET, Truth};
use railtwin_telemetry::Jitter;
use rayon::prelude::*;

use super::bench::Bench;
use super::inject::{Injected, draw};
use super::text::{TrialOutcome, sum_of};
use super::trial::{FAULT_AT_S, fault_at, states};

/// Seconds from the fault until somebody collects the files.
const COLLECTED_AFTER_S: f64 = 60.0;
/// Seconds of operations in the files, up to their end: a recorder keeps no more than the last.
const KEPT_S: f64 = 40.0;
/// Operations that a dump of a rank keeps of each group.
const DUMPED: usize = 32;

/// The kind of files that a job leaves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LeftFiles {
    /// The time of each step, as a training log has it.
    Steps,
    /// The duration of each operation at each rank, by clocks of the ranks' own.
    Durations,
    /// Dumps of a Flight Recorder, of all ranks whose process is alive.
    Dumps,
}

impl LeftFiles {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Steps, Self::Durations, Self::Dumps];

    /// The name on the card.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Steps => "times of steps",
            Self::Durations => "durations",
            Self::Dumps => "dumps",
        }
    }
}

/// A job that left files.
struct Left {
    directory: Directory,
    /// Operations of the last [`KEPT_S`] seconds.
    batch: Batch,
    /// Seconds of each step, and how many of them ended before the fault.
    steps: Vec<f64>,
    before: usize,
    /// Whether the job stands still.
    stuck: bool,
    /// Ranks whose process is gone.
    gone: BTreeSet<u32>,
}

/// Outcomes of one fault by one kind of files; the slowdown of a trial is that of its median step.
#[derive(Clone, PartialEq, Debug)]
pub struct FilesRow {
    /// The fault; none for the job without one.
    pub what: Option<Injected>,
    /// The files.
    pub evidence: LeftFiles,
    /// Trials in the order of their seeds.
    pub trials: Vec<TrialOutcome>,
    /// Accusations in trials without a fault.
    pub false_alarms: usize,
}

/// Scores the judges of files; `seeds` draws of each fault and of the job without one.
///
/// # Errors
/// What the replay says of a case that it cannot go through.
pub fn score_files(
    bench: &Bench,
    faults: &[Injected],
    seeds: u32,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Vec<FilesRow>, Error> {
    let asked: Vec<(Option<Injected>, u64)> = std::iter::once(None)
        .chain(faults.iter().filter(|what| **what != Injected::Collision).map(|what| Some(*what)))
        .flat_map(|what| (0..u64::from(seeds)).map(move |seed| (what, seed)))
        .collect();
    let done: Vec<Result<Option<[Judged; 3]>, Error>> = asked
        .par_iter()
        .map(|&(what, seed)| {
            progress(what.map_or("no fault", Injected::name));
            trial(bench, what, seed)
        })
        .collect();
    let mut rows: BTreeMap<(Option<Injected>, LeftFiles), FilesRow> = BTreeMap::new();
    for ((what, _), judged) in asked.into_iter().zip(done) {
        for (evidence, judged) in LeftFiles::ALL.into_iter().zip(judged?.into_iter().flatten()) {
            let empty = FilesRow { what, evidence, trials: Vec::new(), false_alarms: 0 };
            let row = rows.entry((what, evidence)).or_insert(empty);
            row.trials.push(judged.outcome);
            row.false_alarms += judged.false_alarms;
        }
    }
    Ok(rows.into_values().collect())
}

/// The verdict on one kind of files.
struct Judged {
    outcome: TrialOutcome,
    false_alarms: usize,
}

/// One trial with all kinds of files; none where the case has no place for the fault.
fn trial(bench: &Bench, what: Option<Injected>, seed: u64) -> Result<Option<[Judged; 3]>, Error> {
    let (case, truth) = match what {
        None => (bench.case.clone(), None),
        Some(what) => {
            let Some(injection) = draw(bench, what, fault_at(), seed) else { return Ok(None) };
            let (case, truth) = injection.on(bench)?;
            (case, Some(truth))
        }
    };
    let settings =
        railtwin_telemetry::Settings { axes: bench.axes(), messages: false, jitter: Jitter::default(), seed };
    let rates = if truth.is_some() { states(bench, &case) } else { vec![bench.rates.clone()] };
    let rhythm = Rhythm::default();
    let mut watch = Watch::new(&case, 0, bench.durations.clone(), rates, settings, rhythm, Vec::new())?;
    let left = files_of(&mut watch, what, truth.as_ref());
    // The card of streams blames the job's code; files name the rank that runs it otherwise.
    let truth = truth.map(|truth| match case.rank_faults.last() {
        Some(fault) if what == Some(Injected::SizeMismatch) => {
            Truth { component: watch.directory.rank_component(fault.rank), ..truth }
        }
        _ => truth,
    });
    let median = |steps: &[f64]| robust::median(&mut steps.to_vec()).unwrap_or(f64::NAN);
    let (before, after) = left.steps.split_at(left.before);
    let slowdown = if left.stuck { f64::INFINITY } else { median(after) / median(before) - 1.0 };
    let judged = |evidence| -> Result<Judged, Error> {
        let told = diagnosed(&left, evidence)?;
        let verdict = truth.as_ref().and_then(|truth| judge(&watch.places(), truth, &told.findings));
        let is_told = verdict.is_some_and(|verdict: TruthMatch| verdict.in_set)
            || told.findings.iter().any(|finding| finding.suspects.is_empty() || is_of_job(finding));
        let false_alarms = if truth.is_none() { told.accusations() } else { 0 };
        Ok(Judged { outcome: TrialOutcome { slowdown, verdict, told: is_told }, false_alarms })
    };
    let [steps, durations, dumps] = LeftFiles::ALL.map(judged);
    Ok(Some([steps?, durations?, dumps?]))
}

/// Whether a finding names the job alone, as times of steps can.
fn is_of_job(finding: &railtwin_records::Finding) -> bool {
    finding.suspects.iter().all(|suspect| matches!(suspect.component, railtwin_records::Component::Job(_)))
}

/// Runs the job until files are collected.
fn files_of(watch: &mut Watch<'_>, what: Option<Injected>, truth: Option<&Truth>) -> Left {
    let mut turns: Vec<Batch> = Vec::new();
    let (mut steps, mut before) = (Vec::new(), 0);
    while watch.now < FAULT_AT_S + COLLECTED_AFTER_S {
        let stood = watch.replay.is_stuck();
        watch.turn();
        if !watch.replay.is_stuck() && !stood {
            steps.push(watch.replay.last_step_ns() as f64 / 1e9);
            before += usize::from(watch.now < FAULT_AT_S);
        }
        let mut batch = Batch { until_ns: watch.batch.until_ns, ..Batch::default() };
        batch.operations.append(&watch.batch.operations);
        turns.push(batch);
        if watch.replay.is_stuck() && !stood {
            // Nobody waits longer for a job that stands still than its timeout.
            watch.now = watch.now.max(FAULT_AT_S + COLLECTED_AFTER_S - railtwin::watch::IDLE_S);
        }
    }
    let until_ns = turns.last().map_or(0, |turn| turn.until_ns);
    let from_ns = until_ns.saturating_sub((KEPT_S * 1e9) as u64);
    let stuck = watch.replay.is_stuck();
    let mut batch = Batch { until_ns, ..Batch::default() };
    for turn in turns.iter().filter(|turn| turn.until_ns >= from_ns || stuck) {
        batch.operations.append(&turn.operations);
    }
    let dies = matches!(what, Some(Injected::GpuError | Injected::Crash));
    let directory = watch.directory.clone();
    let gone = truth.filter(|_| dies).and_then(|truth| {
        (0..directory.ranks.len() as u32).find(|&rank| directory.rank_component(rank) == truth.component)
    });
    Left { directory, batch, steps, before, stuck, gone: gone.into_iter().collect() }
}

/// The diagnosis of one kind of files.
fn diagnosed(left: &Left, evidence: LeftFiles) -> Result<Diagnosed, Error> {
    let mut inputs = Inputs::default();
    let job = left.directory.jobs.first().cloned().unwrap_or_default();
    match evidence {
        LeftFiles::Steps => {
            inputs.merged.steps.push(StepSeries::of_times("", &job, left.steps.iter().copied()));
        }
        LeftFiles::Durations => {
            let telemetry = &mut inputs.merged.telemetry;
            telemetry.directory = left.directory.clone();
            telemetry.batch = left.batch.clone();
            telemetry.times = Times::Durations;
        }
        LeftFiles::Dumps => {
            inputs.merged.flight_recorder = dumps_of(left);
            inputs.flight_recorder = true;
        }
    }
    Ok(diagnosis_of(inputs, None, &job)?)
}

/// The dumps of all ranks whose process is alive.
fn dumps_of(left: &Left) -> Vec<FlightRecorderDump> {
    let operations = &left.batch.operations;
    // An operation still within comes again when it has ended: the last row counts.
    let mut last: BTreeMap<(u32, u32, u32), usize> = BTreeMap::new();
    for row in 0..operations.len() {
        let key = (operations.rank[row], operations.communicator[row], operations.sequence[row]);
        last.insert(key, row);
    }
    let mut rows: BTreeMap<u32, BTreeMap<u32, Vec<usize>>> = BTreeMap::new();
    for ((rank, communicator, _), row) in last {
        rows.entry(rank).or_default().entry(communicator).or_default().push(row);
    }
    let ranks = (0..left.directory.ranks.len() as u32).filter(|rank| !left.gone.contains(rank));
    ranks.map(|rank| dump_of(left, rank, rows.get(&rank))).collect()
}

fn dump_of(left: &Left, rank: u32, rows: Option<&BTreeMap<u32, Vec<usize>>>) -> FlightRecorderDump {
    let (directory, operations) = (&left.directory, &left.batch.operations);
    let mut groups = Vec::new();
    let mut entries: Vec<FlightEntry> = Vec::new();
    for (row, communicator) in directory.communicators.iter().enumerate() {
        if !communicator.ranks.contains(&rank) {
            continue;
        }
        let numbers = communicator.ranks.iter().map(|&member| directory.ranks[member as usize].rank);
        let (name, description) = (communicator.name.clone(), communicator.axis.clone());
        groups.push(FlightGroup { name, description, ranks: numbers.collect() });
        let of_group = rows.and_then(|rows| rows.get(&(row as u32))).map_or(&[][..], Vec::as_slice);
        for &at in &of_group[of_group.len().saturating_sub(DUMPED)..] {
            let shape = &directory.shapes[operations.shape[at] as usize];
            let has_ended = operations.end_ns[at] != NOT_YET;
            entries.push(FlightEntry {
                group: groups.len() - 1,
                sequence: u64::from(operations.sequence[at]),
                point_to_point: false,
                peer: None,
                record: 0,
                coalesced: false,
                batch: None,
                timeout_ms: None,
                retired: false,
                frame: None,
                kind: shape.kind.clone(),
                data_type: shape.data_type.clone(),
                bytes: shape.bytes,
                empty: false,
                state: if has_ended { FlightState::Completed } else { FlightState::Started },
                created_ns: operations.enter_ns[at],
                started_ns: Some(operations.enter_ns[at]),
                completed_ns: has_ended.then_some(operations.end_ns[at]),
                duration_ns: None,
            });
        }
    }
    entries.sort_by_key(|entry| (entry.created_ns, entry.group, entry.sequence));
    (0..).zip(&mut entries).for_each(|(number, entry)| entry.record = number);
    FlightRecorderDump {
        rank: directory.ranks[rank as usize].rank,
        by_name: false,
        version: "2.4".to_owned(),
        groups,
        entries,
        status: Vec::new(),
        notes: Vec::new(),
        skipped: Skipped::default(),
        unsure: false,
        is_whole: false,
        counts_all: false,
        of_gloo: false,
    }
}

/// The card of files as Markdown.
pub fn markdown(ranks: u32, rows: &[FilesRow]) -> String {
    let mut text = format!(
        "## Files of {ranks} ranks\n\n| fault | files | step slower | trials | told | in set | first | set | others named |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
    );
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    for row in rows.iter().filter(|row| row.what.is_some()) {
        // All trials count: a step hides most of what slows an operation.
        let counted: Vec<TrialOutcome> =
            row.trials.iter().map(|trial| TrialOutcome { slowdown: f64::INFINITY, ..*trial }).collect();
        let sum = sum_of(&counted, true);
        let mut slowdowns: Vec<f64> = row.trials.iter().map(|trial| trial.slowdown).collect();
        let slower = robust::median(&mut slowdowns).unwrap_or(0.0);
        let slower = if slower.is_finite() { percent(slower) } else { "stands".into() };
        let set = sum.set.map_or("–".to_owned(), |set| format!("{set:.0}"));
        let (name, files) = (row.what.map_or("", Injected::name), row.evidence.name());
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "| {name} | {files} | {slower} | {} | {} | {} | {} | {set} | {} |",
            sum.trials,
            percent(sum.told),
            percent(sum.in_set),
            percent(sum.top),
            sum.wrong
        );
    }
    let alarms: Vec<String> = rows
        .iter()
        .filter(|row| row.what.is_none())
        .map(|row| format!("{} {} in {} jobs", row.false_alarms, row.evidence.name(), row.trials.len()))
        .collect();
    let _ = writeln!(text, "\nWithout a fault, accusations by: {}.", alarms.join(", "));
    text
}

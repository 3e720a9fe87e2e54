//! Diagnosis of whatever is given: telemetry of a simulated run or files of a real cluster in, findings out.
//!
//! * [`inputs`]: files and folders, read, side by side in `files`; [`mod@run_folder`]: run folders.
//! * [`mod@windows`]: one big batch as a stream.
//! * [`logs`]: logs of processes and kernels.
//! * [`between`]: measurements of pairs of hosts.
//! * [`tests_between`], [`failed_tests`], [`ras`], [`flags`], [`flight`], [`compute`], [`durations`]: what is not a stream
//!   of operations; [`slow_job`]: traces of whole jobs, replayed; [`slower`]: times of steps.
//! * [`mod@neighbors`]: what ports hear of their neighbors.
//! * [`on_fabric`]: a fabric beside it; [`names`]: names of a cluster as the fabric has them.
//! * [`diagnose`]: all of it; [`answer`]: on one screen; [`sources`]: where evidence stands.
pub mod answer;
mod beside;
pub mod between;
pub mod compute;
mod dump_folders;
pub mod durations;
pub mod failed_tests;
mod files;
pub mod flags;
pub mod flight;
pub mod inputs;
pub mod logs;
pub mod names;
mod neighbors;
pub mod on_fabric;
pub mod ras;
mod run_folder;
mod sentence;
pub mod slow_job;
pub mod slower;
pub mod sources;
mod sysfs_trees;
pub mod tests_between;
pub mod windows;
pub mod words;

use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::hang::dumps::{Dumps, findings_of_dumps};
use railtwin_diagnosis::join::{Places, join};
use railtwin_diagnosis::one_delay::of_one_delay;
use railtwin_diagnosis::rules::{Limits, Safeguard, actions_of, rule_detectors_beside};
use railtwin_diagnosis::wiring::{WrongCables, wiring_of};
use railtwin_diagnosis::{Detector, Diagnosis, Hang, Settings, slow_detectors};
use railtwin_formats::telemetry::{FileNotes, Times};
use railtwin_records::observation::OBSERVED;
use railtwin_records::{
    Action, ActionKind, Batch, Component, Directory, Finding, NOT_YET, Observation, finding_tables,
    telemetry_tables,
};

pub use inputs::{Inputs, Unread};
pub use slow_job::Replay;
pub use sources::{Source, Sources};

use crate::Question;
use crate::error::Error;

/// The class of [`answer::cost`] of what keeps a job from going on.
const STOPS: u8 = 3;

/// What of the notes on files stands in the answer, in this order: what is so now, what a table says and no line of it tells,
/// and counters at the end of their bits, which show less than what was.
const TOLD_OF_FILES: [&str; 4] =
    ["its link is down", "its link runs at", "its table of communicators says", "counts no further"];

/// What diagnosis says of its inputs.
#[derive(Debug)]
pub struct Diagnosed {
    /// Findings, joined: who is accused first, and what costs the job most ([`answer::cost`]).
    pub findings: Vec<Finding>,
    /// Actions that they ask for; each names the row of its finding.
    pub actions: Vec<Action>,
    /// What each file was.
    pub files: Vec<FileNotes>,
    /// Files that could not be read.
    pub unread: Vec<Unread>,
    /// Tests of nccl-tests and perftest that did not come to their end.
    pub failed_tests: usize,
    /// What a reader should know of all files together.
    pub notes: Vec<String>,
    /// Who is who.
    pub directory: Directory,
    /// The records.
    pub batch: Batch,
    /// What times of operations are worth.
    pub times: Times,
    /// From the beginning of observation to its end, in seconds; where nothing tells these, from the first record with a
    /// time to the last of one rank.
    pub seconds: f64,
    /// When observation began and ended, where the records tell it.
    pub observation: Option<Observation>,
    /// Results of nccl-tests, states of RAS and flags of xpu_timer that were looked at.
    pub others: usize,
    /// Lines of logs that say something.
    pub log_lines: usize,
    /// The engine of the run that the records are of; none for files of a cluster.
    pub engine: Option<String>,
    /// Traces that hold all operations of a job's steps, ready to be replayed with ideal ones.
    pub replays: Vec<Replay>,
    /// Dumps of a Flight Recorder, where there are any.
    pub dumps: Option<Dumps>,
    /// Where the evidence of each finding stands, line by line.
    pub sources: Vec<Vec<Sources>>,
}

/// The thresholds of the scenario of a run folder; the defaults for files of a cluster.
fn thresholds(question: Option<&Question>) -> Result<Settings, Error> {
    let Some(question) = question else { return Ok(Settings::default()) };
    let telemetry = question.points()?.into_iter().next().and_then(|point| point.scenario.telemetry);
    Ok(telemetry.map(|telemetry| telemetry.detectors).unwrap_or_default())
}

/// Looks at everything that was read. `fabric` is a scenario whose fabric, and placement of its first job, hold; a run
/// folder brings its own. `job` names the job where files do not.
///
/// # Errors
/// Those of the scenario; [`Error::Argument`] for a fabric that has none of the hosts.
pub fn diagnose(inputs: Inputs, fabric: Option<&Question>, job: &str) -> Result<Diagnosed, Error> {
    let settings = thresholds(inputs.question.as_ref())?;
    let single = inputs::single_readings(&inputs);
    let has_open = inputs.has_open();
    let Inputs {
        merged,
        work,
        flight_recorder,
        question,
        engine,
        observation,
        baselines,
        later,
        later_ras,
        names,
        ways,
        unread,
        notes,
    } = inputs;
    let mut notes = notes;
    let mut merged = merged;
    let mut directory = std::mem::take(&mut merged.telemetry.directory);
    let mut batch = std::mem::take(&mut merged.telemetry.batch);
    let times = merged.telemetry.times;
    let waited = logs::timeouts_note(&merged.logs);
    notes.extend(waited.clone());
    let (mut findings, told) = ras::of_ras(&merged.ras, &later_ras, job, &mut directory);
    notes.extend(told);
    let (found, told) = logs::of_logs(&merged.logs, &merged.nccl_tests, job, &mut directory, &mut batch);
    findings.extend(found);
    notes.extend(told);

    let scenario = fabric.or(question.as_ref());
    let case = match scenario {
        Some(question) => Some((on_fabric::case_of(question)?, question.file.clone())),
        None => None,
    };
    let mut names = names;
    let mut ports = BTreeMap::new();
    if let Some(names) = &mut names {
        if let Some((case, _)) = &case {
            names.check(&case.fabric)?;
        }
        ports = names.place(&mut directory);
        names.rename(&mut findings);
    }
    if let Some((case, file)) = &case {
        if engine.is_some() {
            on_fabric::check(&directory, &case.fabric, file)?;
        } else {
            names::number_nics(&case.fabric, &mut findings);
            neighbors::place(&mut directory, &case.fabric, names.as_mut());
            notes.extend(on_fabric::place(&mut directory, case, &ports)?);
        }
    }
    let fabric = case.as_ref().map(|(case, _)| &*case.fabric);
    let planned = fabric.zip(scenario).filter(|_| !directory.neighbors.is_empty());
    let plan = planned.map(|(fabric, question)| neighbors::plan_of_question(fabric, question)).transpose()?;
    let mut wiring = wiring_of(&directory.neighbors, plan.as_ref());
    if let (None, Some(names)) = (fabric, &mut names) {
        names.rename(&mut wiring.findings);
    }
    // What a run tells it tells at a moment, and detectors see it then.
    if engine.is_none() {
        findings.extend(wiring.findings);
    }
    notes.extend(wiring.notes);

    // Of whom there is a dump, only not one that can be read, nothing is said.
    let mut torn: BTreeSet<u32> = merged.unsure.clone();
    torn.extend(unread.iter().filter(|file| !file.empty).filter_map(|file| file.rank));
    let empty: BTreeSet<u32> = unread.iter().filter(|file| file.empty).filter_map(|file| file.rank).collect();
    let mut all_dumps = None;
    if flight_recorder {
        let again = later.iter().map(|dump| dump.rank).collect();
        let mut dumps = if later.is_empty() {
            flight::dumps_of(&merged.flight_recorder, &torn, &empty)
        } else {
            flight::dumps_of(&[merged.flight_recorder.as_slice(), &later].concat(), &torn, &empty)
        };
        dumps.again = again;
        let (said, other) = flight::timed_out(&dumps, &merged.logs);
        if said.is_some() {
            // It is told as what shows that the job stood still.
            notes.retain(|note| Some(note) != waited.as_ref());
        }
        dumps.timed_out = said;
        dumps.silent = logs::silent(&merged.logs);
        notes.extend(other);
        let (found, told) = findings_of_dumps(&dumps, job);
        findings.extend(found);
        notes.extend(told);
        let unsure = dumps.unsure.iter().filter(|rank| dumps.dumps.iter().any(|dump| dump.rank == **rank));
        notes.extend(unsure_note(&unsure.copied().collect()));
        all_dumps = Some(dumps);
    } else {
        let (found, told) = logs::of_states(&merged.logs, job);
        findings.extend(found);
        notes.extend(told);
    }
    let mut detectors: Vec<Box<dyn Detector>> = Vec::new();
    // What dumps show of hangs is told above: they are of one moment and no stream.
    if has_open && !flight_recorder || observation.is_some() {
        detectors.push(Box::new(Hang::default()));
    }
    // What holds all operations of a job is replayed: detectors that see waits alone would name who waits, too.
    if times == Times::Kernels && work.is_empty() {
        detectors.extend(slow_detectors());
    }
    let mut rules = rule_detectors_beside(Limits::default(), baselines);
    // Whose call differs dumps tell, with all that they know of who waits.
    rules.retain(|rule| !flight_recorder || rule.name() != "size-mismatch");
    detectors.extend(rules);
    if let (Some(plan), true) = (plan, engine.is_some()) {
        detectors.push(Box::new(WrongCables::new(plan)));
    }
    let mut diagnosis = Diagnosis::with(settings, detectors);
    let mut streamed = Vec::new();
    let stream = match &observation {
        Some(observation) => {
            let (stream, ended) = windows::looks(&batch, observation);
            notes.extend(ended.map(|table| not_whole(table, &stream, observation)));
            stream
        }
        None => windows::windows(&batch, directory.ranks.len()),
    };
    for window in stream {
        diagnosis.observe(&directory, fabric, &window, &mut streamed);
    }
    notes.extend(merged.telemetry.notes.iter().cloned());
    if !batch.operations.is_empty() && times == Times::Durations {
        streamed.extend(durations::of_durations(&directory, &batch, &settings));
        notes.push("only durations of operations are told: times of entry are compared with nothing".into());
    }
    if !batch.operations.is_empty() && times == Times::Observed {
        notes.push(
            "times are those at which processes saw operations: good for hangs, too late to tell who is slow"
                .into(),
        );
    }
    findings.extend(streamed);
    let replays: Vec<Replay> = work.into_iter().map(|(file, work)| Replay::of(file, &work)).collect();
    for replay in &replays {
        let (found, told) = replay.judge(job, &settings);
        findings.extend(found);
        notes.extend(told);
    }
    let (found, told) = slower::of_steps(&merged.steps, &merged.files);
    findings.extend(found);
    notes.extend(told);
    let (found, told) = compute::of_kineto(&merged.compute, job, &settings);
    findings.extend(found);
    notes.extend(told);
    findings.extend(flags::of_xpu_timer(&merged.xpu_timer));
    between::tell_other_direction(&mut findings, &merged.pairs);
    let (between, told, failed_between) = between::of_pairs(&merged.pairs, ways.as_ref(), &settings);
    notes.extend(told);
    let (mut tests, told) = tests_between::of_nccl_tests(&merged.nccl_tests, &settings);
    notes.extend(told);
    let (failed, told, failed_tests) = failed_tests::of_failed_tests(&merged.nccl_tests);
    tests.extend(failed);
    tests.extend(between);
    let failed_tests = failed_tests + failed_between;
    notes.extend(told);
    for mark in TOLD_OF_FILES {
        let of_files = merged.files.iter().flat_map(|file| &file.notes);
        notes.extend(of_files.filter(|note| note.contains(mark)).cloned());
    }
    notes.extend(single);
    if let Some(names) = &mut names {
        names.rename(&mut tests);
        notes.extend(names.unused());
    }

    let mut findings = join(&Places { directory: &directory, fabric }, &findings);
    // Tests were made apart from the job and from each other: what each names stands for itself, and
    // what follows from telemetry of the same host is told with it ([`answer::causes`]).
    findings.extend(tests);
    // Where something is told that keeps the job from going on, that is what ran out of its time.
    if !findings.iter().any(|one| answer::cost(one).0 >= STOPS) {
        findings.extend(logs::of_timeouts(&merged.logs).or_else(|| logs::of_victims(&merged.logs)));
    }
    let mut findings = of_one_delay(findings);
    findings.sort_by(answer::by_cost);
    let sources = sources::sources_of(&findings, &merged, &directory, engine.is_some());
    know_hosts(&mut directory, &findings);
    let mut actions = actions_of(&findings, &directory, &Safeguard::of_cluster(directory.hosts.len()));
    actions.iter_mut().for_each(|action| only_known_hosts(action, &findings));
    let results = merged.nccl_tests.iter().flat_map(|(_, tests)| tests).map(|test| test.results.len());
    let steps = merged.steps.iter().map(|series| series.steps.len()).sum::<usize>();
    let of_logs = merged.logs.iter().map(|(_, log)| log.events.len() + log.timeouts.len() + log.states.len());
    let log_lines = of_logs.sum();
    let measured = merged.pairs.iter().filter(|pair| pair.sent == 0 || pair.table == "perftest").count();
    let others =
        measured + results.sum::<usize>() + steps + failed_tests + merged.ras.len() + merged.xpu_timer.len();
    let seconds = observation.as_ref().map_or_else(|| span_s(&batch), Observation::seconds);
    Ok(Diagnosed {
        findings,
        actions,
        files: merged.files,
        unread,
        failed_tests,
        notes,
        directory,
        batch,
        times,
        seconds,
        observation,
        others,
        log_lines,
        engine,
        replays,
        dumps: all_dumps,
        sources,
    })
}

impl Diagnosed {
    /// Findings that accuse somebody: with suspects, at a confidence of one half or more, and no collisions.
    pub fn accusations(&self) -> usize {
        self.findings.iter().filter(|finding| finding.accuses()).count()
    }

    /// Tables of the telemetry and of what was found, for a folder of Parquet files.
    pub fn tables(&self) -> Vec<railtwin_records::Table> {
        let source = self.engine.as_deref().unwrap_or("imported");
        let mut tables = telemetry_tables::tables(&self.directory, &self.batch, source);
        tables.extend(self.observation.as_ref().map(|observation| observation.table(source)));
        tables.extend(finding_tables::tables(&self.findings, &self.actions));
        tables.extend(self.table_of_files());
        tables
    }
}

/// What is said where a table ends before observation does.
fn not_whole(table: usize, judged: &[Batch], observation: &Observation) -> String {
    let until_ns = judged.last().map_or(0, |window| window.until_ns);
    let from_ns = observation.looks.first().map_or(0, |look| look.until_ns);
    format!(
        "the table {} ends after {:.1} of {:.1} s of observation: what came later is not judged",
        OBSERVED[table],
        until_ns.saturating_sub(from_ns) as f64 / 1e9,
        observation.seconds()
    )
}

/// A host that no file names cannot be isolated: the rank is reported.
fn only_known_hosts(action: &mut Action, findings: &[Finding]) {
    let unknown = action.kind == ActionKind::Isolate && action.target.name().starts_with("host-of-rank-");
    let finding = findings.get(action.finding as usize).filter(|_| unknown);
    if let Some(suspect) = finding.and_then(|finding| finding.suspects.first()) {
        action.kind = ActionKind::Report;
        action.target = suspect.component.clone();
        action.reason = "isolate its host, which no file names; --fabric may tell it".into();
    }
}

/// A note on ranks of whose dump the last operations could not be read: how far they have come is not known.
fn unsure_note(unsure: &BTreeSet<u32>) -> Option<String> {
    let names: Vec<String> = unsure.iter().take(8).map(u32::to_string).collect();
    let more = if unsure.len() > names.len() { ", …" } else { "" };
    (!unsure.is_empty()).then(|| {
        format!(
            "what ranks {}{more} did last could not be read in their dumps: nothing is said of them, give these dumps anew",
            names.join(", ")
        )
    })
}

/// Hosts that findings of tests name and no record does: actions need to know them.
fn know_hosts(directory: &mut Directory, findings: &[Finding]) {
    for suspect in findings.iter().flat_map(|finding| &finding.suspects) {
        if let Component::Host(name) = &suspect.component
            && !directory.hosts.iter().any(|host| host.name == *name)
        {
            directory.hosts.push(railtwin_records::HostInfo { name: name.clone() });
        }
    }
}

/// Seconds from the first record to the last, by the clock on which they are furthest apart: those of two hosts need not
/// agree.
fn span_s(batch: &Batch) -> f64 {
    let mut spans: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    let operations = &batch.operations;
    for row in 0..operations.len() {
        let (enter, end) = (operations.enter_ns[row], operations.end_ns[row]);
        let last = if end == NOT_YET { enter } else { end };
        let span = spans.entry(operations.rank[row]).or_insert((enter, last));
        *span = (span.0.min(enter), span.1.max(last));
    }
    let readings = batch.counters.time_ns.iter().chain(&batch.probes.time_ns);
    let (first, last) = (readings.clone().min(), readings.max());
    let of_readings = first.zip(last).map(|(first, last)| last - first);
    let of_ranks = spans.into_values().map(|(first, last)| last.saturating_sub(first));
    of_ranks.chain(of_readings).max().unwrap_or(0) as f64 / 1e9
}

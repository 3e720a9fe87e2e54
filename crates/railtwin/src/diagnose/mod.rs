//! Diagnosis of whatever is given: telemetry of a simulated run or files of a real cluster in, findings out.
//!
//! * [`inputs`]: files and folders, read; [`mod@run_folder`]: run folders.
//! * [`mod@windows`]: one big batch as a stream.
//! * [`tests_between`], [`failed_tests`], [`ras`], [`flags`], [`compute`], [`durations`]: what is not a stream of
//!   operations.
//! * [`on_fabric`]: a fabric beside it.
//! * [`diagnose`]: all of it.
pub mod compute;
pub mod durations;
pub mod failed_tests;
pub mod flags;
pub mod inputs;
pub mod on_fabric;
pub mod ras;
mod run_folder;
mod sentence;
pub mod tests_between;
pub mod windows;

use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::join::{Places, join};
use railtwin_diagnosis::rules::{Limits, Safeguard, actions_of, rule_detectors_beside};
use railtwin_diagnosis::{Detector, Diagnosis, Hang, Settings, slow_detectors};
use railtwin_formats::telemetry::{FileNotes, Times};
use railtwin_records::observation::OBSERVED;
use railtwin_records::{
    Action, ActionKind, Batch, Component, Directory, Evidence, FaultKind, Finding, NOT_YET, Observation,
    Suspect, Syndrome, finding_tables, telemetry_tables,
};

pub use inputs::{Inputs, Unread};

use crate::Question;
use crate::error::Error;

/// What diagnosis says of its inputs.
#[derive(Debug)]
pub struct Diagnosed {
    /// Findings, joined, in order of confidence and severity.
    pub findings: Vec<Finding>,
    /// Actions that they ask for; each names the row of its finding.
    pub actions: Vec<Action>,
    /// What each file was.
    pub files: Vec<FileNotes>,
    /// Files that could not be read.
    pub unread: Vec<Unread>,
    /// Tests of nccl-tests that did not come to their end.
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
    /// The engine of the run that the records are of; none for files of a cluster.
    pub engine: Option<String>,
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
        compute: computed,
        flight_recorder,
        question,
        engine,
        observation,
        baselines,
        unread,
        notes,
    } = inputs;
    let mut notes = notes;
    notes.extend(merged.telemetry.notes.iter().cloned());
    let mut directory = merged.telemetry.directory;
    let batch = merged.telemetry.batch;
    let times = merged.telemetry.times;
    let (mut findings, told) = ras::of_ras(&merged.ras, job, &mut directory);
    notes.extend(told);

    let case = match fabric.or(question.as_ref()) {
        Some(question) => Some((on_fabric::case_of(question)?, question.file.clone())),
        None => None,
    };
    if let Some((case, file)) = &case {
        if engine.is_some() {
            on_fabric::check(&directory, &case.fabric, file)?;
        } else {
            notes.extend(on_fabric::place(&mut directory, case)?);
        }
    }
    let fabric = case.as_ref().map(|(case, _)| &*case.fabric);

    let mut silent = if flight_recorder { leave_out_silent(&mut directory, &batch) } else { Vec::new() };
    // Of whom there is a dump, only not one that can be read, nothing is said.
    let torn: BTreeSet<u32> = unread.iter().filter_map(|file| file.rank).collect();
    silent.retain(|&row| !torn.contains(&directory.ranks[row as usize].rank));
    notes.extend(leave_out_unsure(&mut directory, &merged.unsure));
    let mut detectors: Vec<Box<dyn Detector>> = Vec::new();
    if has_open || observation.is_some() {
        detectors.push(Box::new(Hang::default()));
    }
    if times == Times::Kernels {
        detectors.extend(slow_detectors());
    }
    detectors.extend(rule_detectors_beside(Limits::default(), baselines));
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
    if flight_recorder && has_open {
        // The dump was made because an operation ran out of its time: what stands in it has stood for long.
        let now_ns = batch.until_ns.saturating_add(long_ns(&batch, &settings));
        diagnosis.wait_until(&directory, fabric, now_ns, &mut streamed);
        streamed.iter_mut().for_each(|finding| by_the_dump(finding, batch.until_ns));
        streamed.extend(silent_finding(&directory, &silent, &streamed, batch.until_ns));
        notes.push(
            "dumps of a Flight Recorder are taken as made by a timeout; of a job that was well when they were asked for, \
             they only show where it was"
                .into(),
        );
    }
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
    let (found, told) = compute::of_megatron(&computed, job, &settings);
    findings.extend(found);
    notes.extend(told);
    let (found, told) = compute::of_kineto(&merged.compute, job, &settings);
    findings.extend(found);
    notes.extend(told);
    findings.extend(flags::of_xpu_timer(&merged.xpu_timer));
    let (mut tests, told) = tests_between::of_nccl_tests(&merged.nccl_tests, &settings);
    notes.extend(told);
    let (failed, told, failed_tests) = failed_tests::of_failed_tests(&merged.nccl_tests);
    tests.extend(failed);
    notes.extend(told);
    notes.extend(single);

    let mut findings = join(&Places { directory: &directory, fabric }, &findings);
    // Tests were made apart from the job and from each other: what each names stands for itself.
    findings.extend(tests);
    findings.sort_by(|a, b| {
        b.accuses()
            .cmp(&a.accuses())
            .then(b.severity.total_cmp(&a.severity))
            .then(b.confidence.total_cmp(&a.confidence))
            .then(a.at_ns.cmp(&b.at_ns))
    });
    know_hosts(&mut directory, &findings);
    let mut actions = actions_of(&findings, &directory, &Safeguard::of_cluster(directory.hosts.len()));
    actions.iter_mut().for_each(|action| only_known_hosts(action, &findings));
    let results = merged.nccl_tests.iter().flat_map(|(_, tests)| tests).map(|test| test.results.len());
    let others = results.sum::<usize>() + failed_tests + merged.ras.len() + merged.xpu_timer.len();
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
        engine,
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

/// Longer than anything may take: beyond the hang limit of the slowest operation.
fn long_ns(batch: &Batch, settings: &Settings) -> u64 {
    let operations = &batch.operations;
    let ended = (0..operations.len()).filter(|row| operations.end_ns[*row] != NOT_YET);
    let longest = ended.map(|row| operations.end_ns[row].saturating_sub(operations.enter_ns[row])).max();
    (settings.hang.ps() / 1_000).max(longest.unwrap_or(0).saturating_mul(8)).saturating_mul(2)
}

/// Says of a finding only what dumps show: how long it stood at the last record of any of them, at least.
fn by_the_dump(finding: &mut Finding, until_ns: u64) {
    finding.at_ns = finding.at_ns.min(until_ns);
    let stood_s = until_ns.saturating_sub(finding.since_ns) as f64 / 1e9;
    for line in finding.evidence.iter_mut().filter(|line| line.unit == "s" && line.value > stood_s) {
        line.value = stood_s;
        line.what.push_str(", at the last record of any dump, and on until it was made");
    }
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

/// Takes ranks without any record out of the communicators, and gives them: that a rank has no dump does not say that it
/// entered nothing.
fn leave_out_silent(directory: &mut Directory, batch: &Batch) -> Vec<u32> {
    let seen: BTreeSet<u32> = batch.operations.rank.iter().copied().collect();
    let mut silent = BTreeSet::new();
    for communicator in &mut directory.communicators {
        silent.extend(communicator.ranks.iter().copied().filter(|rank| !seen.contains(rank)));
        communicator.ranks.retain(|rank| seen.contains(rank));
    }
    silent.into_iter().collect()
}

/// Takes ranks of whose dump the last operations could not be read out of the communicators, with a note: how far they have
/// come is not known, so that they neither keep others waiting nor wait.
fn leave_out_unsure(directory: &mut Directory, unsure: &BTreeSet<u32>) -> Option<String> {
    let Directory { ranks, communicators, .. } = directory;
    for communicator in communicators {
        communicator.ranks.retain(|&row| !unsure.contains(&ranks[row as usize].rank));
    }
    let names: Vec<String> = unsure.iter().take(8).map(u32::to_string).collect();
    let more = if unsure.len() > names.len() { ", …" } else { "" };
    (!unsure.is_empty()).then(|| {
        format!(
            "what ranks {}{more} did last could not be read in their dumps: nothing is said of them, give these dumps anew",
            names.join(", ")
        )
    })
}

/// Few ranks without a dump, where all others stand within their operations: it is they who are waited for.
fn silent_finding(directory: &Directory, silent: &[u32], found: &[Finding], at_ns: u64) -> Option<Finding> {
    let stands = found.iter().any(|finding| finding.syndrome == Syndrome::CommunicationHang);
    let few = !silent.is_empty() && silent.len() * 4 <= directory.ranks.len();
    if !(stands && few) {
        return None;
    }
    let share = 0.5 / silent.len() as f64;
    let suspects =
        silent.iter().map(|&rank| Suspect { component: directory.rank_component(rank), share }).collect();
    Some(Finding {
        at_ns,
        since_ns: at_ns,
        syndrome: Syndrome::NonCommunicationHang,
        faults: vec![FaultKind::Crash, FaultKind::Hang, FaultKind::GpuError],
        suspects,
        confidence: 0.5,
        severity: 1.0,
        evidence: vec![Evidence {
            table: "operations",
            what: "ranks of which there is no dump, while all others stand within an operation".into(),
            value: silent.len() as f64,
            expected: 0.0,
            unit: "ranks",
        }],
        advice: "if their dumps were only not given, give them: a rank that crashed leaves none".into(),
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

//! Diagnosis of whatever is given: telemetry of a simulated run or files of a real cluster in, findings out.
//!
//! Four stages, each a type:
//!
//! 1. read: [`Inputs`], files and folders of any format, or one run folder; [`Rows`], with names and places of the [`Site`].
//! 2. judge: [`judges::JUDGES`], one list for streams and whole files; each gives a [`judges::Judgement`].
//! 3. join: findings of the same fault become one, ranked, with actions and sources.
//! 4. answer: [`Diagnosed`]; [`answer`] has it on one screen, [`words`] in a first line.
#![allow(clippy::disallowed_methods, reason = "evidence lies in files and folders")]

pub mod answer;
mod archive;
mod beside;
pub mod between;
pub mod compute;
mod device_words;
mod dump_folders;
pub mod durations;
pub mod error;
pub mod failed_tests;
mod files;
pub mod flags;
pub mod flight;
pub mod inputs;
mod joined;
pub mod judges;
pub mod live;
pub mod logs;
pub mod names;
mod neighbors;
pub mod on_fabric;
mod pair_tests;
pub mod ras;
mod rows;
mod run_folder;
mod sentence;
mod site;
pub mod slow_job;
pub mod slower;
pub mod sources;
mod streams;
mod sysfs_trees;
pub mod tests_between;
pub mod windows;
pub mod words;

use std::collections::BTreeMap;

use railtwin_diagnosis::Settings;
use railtwin_diagnosis::hang::dumps::Dumps;
use railtwin_formats::telemetry::{FileNotes, Note, Times};
use railtwin_records::{
    Action, Batch, Directory, Finding, NOT_YET, Observation, finding_tables, telemetry_tables,
};

pub use inputs::{Inputs, Unread};
pub use live::LiveAnswer;
pub use rows::Rows;
pub use site::{ScenarioText, Site};
pub use slow_job::JobReplay;
pub use sources::{SourcePlace, Sources};

pub use error::Error;

/// Version of the JSON of `railtwin diagnose`: raised whenever a key is removed or changes its meaning. Version 2 has
/// `seen`, the kind of each line of evidence with its fields, and `id` of findings.
pub const SCHEMA: u32 = 2;

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
    pub replays: Vec<JobReplay>,
    /// Dumps of a Flight Recorder, where there are any.
    pub dumps: Option<Dumps>,
    /// Incidents in live records, where there are any.
    pub live: LiveAnswer,
    /// Where the evidence of each finding stands, line by line.
    pub sources: Vec<Vec<Sources>>,
}

/// Looks at everything that was read. `site` is the cluster, where a scenario describes it; `job` names the job where files
/// do not.
///
/// # Errors
/// [`Error::Argument`] for a site that has none of the hosts.
pub fn diagnosis_of(inputs: Inputs, site: Option<&Site>, job: &str) -> Result<Diagnosed, Error> {
    let settings = site.map_or_else(Settings::default, |site| site.thresholds);
    let (mut rows, mut names, notes) = rows::rows_of(inputs, site, settings, job)?;
    let mut judged = judges::judge(&rows, names.as_mut());
    let mut all = notes.first;
    all.append(&mut judged.notes);
    all.extend(notes_of_files(&rows.merged.files));
    all.extend(notes.last);
    all.extend(names.and_then(|names| names.unused()));
    let failed_tests = judged.failed_tests;
    let joined = joined::joined(&mut rows, judged);
    Ok(Diagnosed::of(rows, joined, all, failed_tests))
}

impl Diagnosed {
    fn of(rows: Rows<'_>, joined: joined::Joined, notes: Vec<String>, failed_tests: usize) -> Self {
        let merged = rows.merged;
        let results = merged.nccl_tests.iter().flat_map(|(_, tests)| tests).map(|test| test.results.len());
        let steps = merged.steps.iter().map(|series| series.steps.len()).sum::<usize>();
        let of_logs =
            merged.logs.iter().map(|(_, log)| log.events.len() + log.timeouts.len() + log.states.len());
        let log_lines = of_logs.sum();
        let measured = merged.pairs.iter().filter(|pair| pair.sent == 0 || pair.table == "perftest").count();
        let others = measured
            + results.sum::<usize>()
            + steps
            + failed_tests
            + merged.ras.len()
            + merged.xpu_timer.len();
        let seconds = rows.observation.as_ref().map_or_else(|| span_s(&rows.batch), Observation::seconds);
        Self {
            findings: joined.findings,
            actions: joined.actions,
            sources: joined.sources,
            files: merged.files,
            unread: rows.unread,
            failed_tests,
            notes,
            directory: rows.directory,
            batch: rows.batch,
            times: rows.times,
            seconds,
            observation: rows.observation,
            others,
            log_lines,
            engine: rows.engine,
            replays: rows.replays,
            dumps: rows.dumps,
            live: rows.live,
        }
    }

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

/// Notes on files that an answer needs, in the order of their kinds.
fn notes_of_files(files: &[FileNotes]) -> Vec<String> {
    let notes = files.iter().flat_map(|file| &file.notes);
    let mut ranked: Vec<(u8, &Note)> = notes.filter_map(|note| Some((note.rank()?, note))).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, note)| note.to_string()).collect()
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

//! Several files as one: ranks, hosts and communicators of the same names become the same rows.

use std::collections::BTreeSet;

use railtwin_records::Directory;

use super::builder::Builder;
use super::pair_probe::{name_addresses, pairs_of_perftest, telemetry_of_pairs};
use super::skipped::Skipped;
use super::{
    ClusterLog, ComputeTime, Content, DeviceTable, FlightRecorderDump, Format, Imported, InspectorDump,
    KinetoTrace, NcclTest, Note, PairProbe, PerftestRun, RasSnapshot, StepSeries, Telemetry, Times,
    XpuTimerSnapshot, telemetry_of_flight_recorder, telemetry_of_inspector, telemetry_of_kineto,
};

/// What one file was and what is to be known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileNotes {
    /// Its name.
    pub source: String,
    /// What it was.
    pub format: Format,
    /// What it held, in a few words.
    pub held: String,
    /// Notes on what was left out and why.
    pub notes: Vec<Note>,
    /// Records that are wrong.
    pub skipped: Skipped,
}

/// All that several files told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Merged {
    /// Operations and counters of all files, with notes on how they were joined.
    pub telemetry: Telemetry,
    /// States of NCCL RAS, with the file of each.
    pub ras: Vec<(String, RasSnapshot)>,
    /// Runs of nccl-tests, with the file of each.
    pub nccl_tests: Vec<(String, Vec<NcclTest>)>,
    /// Runs of perftest, with the file of each.
    pub perftest: Vec<(String, Vec<PerftestRun>)>,
    /// What logs say, with the file of each.
    pub logs: Vec<(String, ClusterLog)>,
    /// Measurements between two hosts, those of perftest among them.
    pub pairs: Vec<PairProbe>,
    /// Times of steps of runs.
    pub steps: Vec<StepSeries>,
    /// Gauges of xpu_timer, with the file of each.
    pub xpu_timer: Vec<(String, XpuTimerSnapshot)>,
    /// Time in kernels that are not NCCL's, by rank.
    pub compute: Vec<(u32, ComputeTime)>,
    /// Dumps of a Flight Recorder, in the order in which they were taken.
    pub flight_recorder: Vec<FlightRecorderDump>,
    /// The file of each of them.
    pub flight_files: Vec<String>,
    /// Ranks of whose dump of a Flight Recorder the last operations may be wrong: how far they have come is not known.
    pub unsure: BTreeSet<u32>,
    /// Tables about devices, with the file of each.
    pub devices: Vec<(String, DeviceTable)>,
    /// What each file was.
    pub files: Vec<FileNotes>,
}

/// Takes files in, one after the other, and joins them.
///
/// Files of one format are one job, which is named by the merger; formats that name their job themselves (xpu_timer)
/// keep that name.
#[derive(Default)]
pub struct Merger {
    job: String,
    inspector: Vec<InspectorDump>,
    flight_recorder: Vec<FlightRecorderDump>,
    kineto: Vec<KinetoTrace>,
    telemetry: Vec<Telemetry>,
    merged: Merged,
}

impl Merger {
    /// A merger that calls the job so where files do not name it.
    pub fn new(job: &str) -> Self {
        Self { job: job.to_owned(), ..Self::default() }
    }

    /// Takes a file.
    pub fn add(&mut self, imported: Imported) {
        let held = imported.held();
        let Imported { source, format, content, log, notes, skipped } = imported;
        self.merged.files.push(FileNotes { source: source.clone(), format, held, notes, skipped });
        self.merged.logs.extend(log.map(|log| (source.clone(), *log)));
        match content {
            Content::Inspector(dump) => self.inspector.push(dump),
            Content::FlightRecorder(dump) => {
                self.merged.unsure.extend(dump.unsure.then_some(dump.rank));
                self.merged.flight_files.push(source);
                self.flight_recorder.push(dump);
            }
            Content::Kineto(trace) => self.kineto.push(trace),
            Content::Counters(telemetry) => self.telemetry.push(*telemetry),
            Content::Ras(snapshot) => self.merged.ras.push((source, snapshot)),
            Content::NcclTests(tests) => self.merged.nccl_tests.push((source, tests)),
            Content::Steps(series) => self.merged.steps.extend(series),
            Content::Log => {}
            Content::Perftest(runs) => self.merged.perftest.push((source, runs)),
            Content::Pairs(pairs) => self.merged.pairs.extend(pairs),
            Content::XpuTimer(snapshot) => self.merged.xpu_timer.push((source, snapshot)),
            Content::Devices(table) => self.merged.devices.push((source, table)),
            Content::Neighbors(neighbors) => {
                let directory = Directory { neighbors, ..Directory::default() };
                self.telemetry.push(Telemetry { directory, ..Telemetry::default() });
            }
        }
    }

    /// Takes a file that is a copy of another one, which counts alone.
    pub fn add_copy(&mut self, imported: Imported, of: &str) {
        let held = format!("a copy of {of}, which counts once");
        let Imported { source, format, .. } = imported;
        let (notes, skipped) = (Vec::new(), Skipped::default());
        self.merged.files.push(FileNotes { source, format, held, notes, skipped });
    }

    /// Takes what is to be told of a file whose content goes another way.
    pub fn add_file(&mut self, file: FileNotes) {
        self.merged.files.push(file);
    }

    /// Takes telemetry that did not come from bytes, such as a Megatron trace from its table.
    pub fn add_telemetry(&mut self, source: &str, format: Format, telemetry: Telemetry) {
        let (notes, skipped) = (telemetry.notes.clone(), telemetry.skipped.clone());
        let (operations, counters) = (telemetry.batch.operations.len(), telemetry.batch.counters.len());
        let held = format!("{operations} operations, {counters} readings of counters");
        self.merged.files.push(FileNotes { source: source.to_owned(), format, held, notes, skipped });
        self.telemetry.push(Telemetry { notes: Vec::new(), ..telemetry });
    }

    /// Joins all that was taken. Of times of several qualities the worst is named.
    pub fn finish(self) -> Merged {
        let Self { job, inspector, flight_recorder, kineto, mut telemetry, mut merged } = self;
        let job = if job.is_empty() { "job" } else { &job };
        if !inspector.is_empty() {
            telemetry.push(telemetry_of_inspector(job, &inspector));
        }
        if !flight_recorder.is_empty() {
            telemetry.push(telemetry_of_flight_recorder(job, &flight_recorder));
        }
        if !kineto.is_empty() {
            telemetry.push(telemetry_of_kineto(job, &kineto));
            merged.compute = kineto.iter().map(|trace| (trace.rank, trace.compute)).collect();
            merged.compute.sort_by_key(|(rank, _)| *rank);
        }
        merged.flight_recorder = flight_recorder;
        let (pairs, told) = pairs_of_perftest(&merged.perftest);
        merged.pairs.extend(pairs);
        name_addresses(&mut merged.pairs);
        if !merged.pairs.is_empty() || !told.is_empty() {
            telemetry.push(Telemetry { notes: told, ..telemetry_of_pairs(&merged.pairs) });
        }
        let mut builder = Builder::default();
        let mut times = Times::Kernels;
        let mut notes = Vec::new();
        let mut partial = BTreeSet::new();
        let mut ports = Vec::new();
        for (_, snapshot) in &merged.xpu_timer {
            builder.absorb(&snapshot.directory(), &railtwin_records::Batch::default());
        }
        for part in telemetry {
            builder.absorb(&part.directory, &part.batch);
            if !part.batch.operations.is_empty() {
                times = times.max(part.times);
            }
            notes.extend(part.notes);
            partial.extend(part.partial);
            ports.extend(part.ports);
        }
        let (directory, batch) = builder.finish();
        merged.telemetry =
            Telemetry { directory, batch, times, notes, partial, ports, ..Telemetry::default() };
        merged
    }
}

//! NCCL Inspector: JSON objects one after the other, an operation each.

use std::collections::{BTreeMap, BTreeSet};

use railtwin_records::OperationShape;

use super::builder::Builder;
use super::json::{Node, Place, syntax};
use super::names::operation_kind;
use super::skipped::Skipped;
use super::tree::Tree;
use super::{Telemetry, Times, input};
use crate::error::FormatError;

/// Name of this format in errors.
const FORMAT: &str = "NCCL Inspector";

/// Versions of the output that are read.
const VERSIONS: [&str; 4] = ["v4.0", "v4.1", "v4.2", "v4.3"];

/// One file of the Inspector: what the communicators of one process did.
#[derive(Clone, Debug, PartialEq)]
pub struct InspectorDump {
    /// Operations in the order of the file.
    pub records: Vec<InspectorRecord>,
    /// Point-to-point operations that were skipped.
    pub point_to_point: u64,
    /// What a reader should know: what was left out and why.
    pub notes: Vec<String>,
    /// Objects and records that are wrong.
    pub skipped: Skipped,
}

/// One operation of one rank.
#[derive(Clone, Debug, PartialEq)]
pub struct InspectorRecord {
    /// Id of the communicator, such as `0x7f8c496ae9f661`.
    pub communicator: String,
    /// Its name, where the job gave one.
    pub communicator_name: Option<String>,
    /// Rank within the communicator.
    pub rank: u32,
    /// Ranks of the communicator.
    pub ranks: u32,
    /// Host of the process.
    pub host: String,
    /// Process.
    pub pid: u64,
    /// What it does, in the words of records: `all-reduce`, …
    pub kind: String,
    /// Algorithm in lower case; empty where it is not told.
    pub algorithm: String,
    /// `coll_sn`: number of the operation in its communicator.
    pub sequence: u64,
    /// Bytes of the message as NCCL calls have it: of all-gather and reduce-scatter those of one rank.
    pub bytes: u64,
    /// How long it took, in nanoseconds.
    pub duration_ns: u64,
    /// When it was written out, in nanoseconds on the clock of the host; 0 where it is not told.
    pub dumped_ns: u64,
    /// When its first kernel channel began and its last one ended, in nanoseconds on the clock of the host: only in
    /// verbose dumps.
    pub kernel_ns: Option<(u64, u64)>,
}

impl InspectorRecord {
    /// Bytes as nccl-tests counts them: of all-gather and reduce-scatter what all ranks have together. The Inspector's own
    /// bandwidths take them so too (`inspectorComputeCollBw` of NCCL).
    fn bytes_of_all(&self) -> u64 {
        match self.kind.as_str() {
            "all-gather" | "reduce-scatter" => self.bytes.saturating_mul(u64::from(self.ranks)),
            _ => self.bytes,
        }
    }
}

/// What stands once before records: in v4.3 for all that follow.
#[derive(Clone, Default)]
struct Head {
    communicator: Option<String>,
    communicator_name: Option<String>,
    rank: u32,
    ranks: u32,
    host: String,
    pid: u64,
    dumped_ns: u64,
    version: Option<String>,
}

impl InspectorDump {
    /// Reads a dump, perhaps in gzip: objects one to a line or over several lines. Of v4.3 header and metadata may
    /// stand once and hold for the records that follow.
    ///
    /// A last object that is cut short, as a killed process leaves it, becomes a note. An object that is no JSON, and a
    /// record with a missing or wrong field, are skipped; reading goes on at the next line that begins an object. What
    /// follows an object whose header is wrong has none until the next one: it is not taken for another communicator's.
    ///
    /// # Errors
    /// A file in which nothing can be read: the first that is wrong in it.
    pub fn parse(source_name: &str, bytes: &[u8]) -> Result<Self, FormatError> {
        let text = input::lossy(FORMAT, source_name, bytes)?;
        let mut dump =
            Self { records: Vec::new(), point_to_point: 0, notes: Vec::new(), skipped: Skipped::default() };
        let mut head = Head::default();
        let mut lines = LineOf { text: &text, byte: 0, line: 1 };
        let margin = blank_bytes(text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default());
        let mut base = 0;
        'anew: while base < text.len() {
            let mut documents = serde_json::Deserializer::from_str(&text[base..]).into_iter::<Tree>();
            loop {
                let from = base + documents.byte_offset();
                let Some(document) = documents.next() else { break 'anew };
                let line = lines.of(from + blank_bytes(&text[from..]));
                let place = Place { format: FORMAT, source: source_name, line: Some(line) };
                match document {
                    Ok(value) => dump.take(&Node::root(place, &value), &mut head),
                    Err(error) => {
                        let next = next_object(&text, from + blank_bytes(&text[from..]), margin);
                        if error.is_eof() && next.is_none() && !dump.records.is_empty() {
                            dump.notes.push(format!("line {line}: the last object is cut short and skipped"));
                            break 'anew;
                        }
                        let wrong =
                            line + (error.line() as u64).saturating_sub(1 + breaks(&text[base..from]));
                        dump.skipped.take(syntax(FORMAT, source_name, wrong.max(line), &error));
                        let next = next.unwrap_or(text.len());
                        head.doubt(&text[from..next]);
                        base = next;
                        continue 'anew;
                    }
                }
            }
        }
        if let Some(error) = dump.skipped.all().filter(|_| dump.is_empty()) {
            return Err(error);
        }
        if head.version.is_none() {
            let place = Place { format: FORMAT, source: source_name, line: None };
            return Err(place.error("has no object with header and metadata", "give a dump of the Inspector"));
        }
        if dump.point_to_point > 0 {
            let count = dump.point_to_point;
            let why = "sender and receiver number them apart, so that they cannot be matched";
            dump.notes.push(format!("{count} point-to-point records skipped: {why}"));
        }
        Ok(dump)
    }

    /// Whether nothing was read.
    fn is_empty(&self) -> bool {
        self.records.is_empty() && self.point_to_point == 0
    }

    fn take(&mut self, node: &Node, head: &mut Head) {
        if let Err(error) = head.take(node) {
            self.skipped.take(error);
            return;
        }
        if let Some(records) = node.get("records")
            && let Some(records) = self.skipped.keep(records.items())
        {
            for record in records {
                self.take(&record, head);
            }
        }
        if node.get("p2p_perf").is_some() {
            self.point_to_point += 1;
        }
        if let Some(performance) = node.get("coll_perf") {
            if head.communicator.is_none() {
                let missing = node.need("header").map(|_| ());
                if self.skipped.keep(missing).is_none() {
                    return;
                }
            }
            let all = match performance.value() {
                Tree::List(_) => self.skipped.keep(performance.items()).unwrap_or_default(),
                _ => vec![performance],
            };
            for one in all {
                let record = head.record(&one);
                self.records.extend(self.skipped.keep(record));
            }
        }
        if let Some(lost) = node.get("dump_stats").and_then(|stats| dropped(&stats)) {
            self.notes.push(format!("the Inspector itself dropped {lost} records before this dump"));
        }
    }
}

/// Records that the ring buffer of the Inspector lost, summed over all its counts of drops.
fn dropped(stats: &Node) -> Option<u64> {
    let members = stats.members().ok()?;
    let drops =
        members.iter().filter(|(key, _)| key.contains("drop")).filter_map(|(_, node)| node.u64().ok());
    let sum = drops.fold(0_u64, u64::saturating_add);
    (sum > 0).then_some(sum)
}

impl Head {
    /// Takes over what an object tells for itself and, in v4.3, for those that follow. Where that is wrong, what follows
    /// has no header.
    fn take(&mut self, node: &Node) -> Result<(), FormatError> {
        match self.clone().with(node) {
            Ok(next) => {
                *self = next;
                Ok(())
            }
            Err(error) => {
                self.communicator = None;
                Err(error)
            }
        }
    }

    fn with(mut self, node: &Node) -> Result<Self, FormatError> {
        if let Some(metadata) = node.get("metadata") {
            self.take_metadata(&metadata)?;
        }
        if let Some(header) = node.get("header") {
            self.take_header(&header)?;
        }
        if self.version.is_none() {
            node.need("metadata")?;
        }
        Ok(self)
    }

    /// Forgets the header where one may have stood in what could not be read.
    fn doubt(&mut self, text: &str) {
        if ["\"header\"", "\"metadata\"", "\"id\"", "\"hostname\""].iter().any(|key| text.contains(key)) {
            self.communicator = None;
        }
    }

    fn take_metadata(&mut self, metadata: &Node) -> Result<(), FormatError> {
        let version = metadata.need("inspector_output_format_version")?;
        let text = version.text()?;
        if !VERSIONS.contains(&text) {
            return Err(version.error(
                "is a version that is not read",
                format!("read are {}; Prometheus output of the Inspector is not", VERSIONS.join(", ")),
            ));
        }
        self.version = Some(text.to_owned());
        self.host = metadata.need("hostname")?.text()?.to_owned();
        self.pid = metadata.need("pid")?.u64()?;
        let dumped = metadata.get("dump_timestamp_us").map(|node| node.u64()).transpose()?;
        self.dumped_ns = dumped.unwrap_or_default().saturating_mul(1000);
        Ok(())
    }

    fn take_header(&mut self, header: &Node) -> Result<(), FormatError> {
        self.communicator = Some(header.need("id")?.text_or_number()?);
        self.communicator_name = header.get("comm_name").and_then(|name| name.text().ok()).map(str::to_owned);
        self.rank = header.need("rank")?.u32()?;
        let ranks = header.need("n_ranks")?;
        self.ranks = ranks.u32()?;
        if self.rank >= self.ranks {
            let accepted = format!("rank {} needs more ranks than that", self.rank);
            return Err(ranks.error("is too small", accepted));
        }
        Ok(())
    }

    fn record(&self, performance: &Node) -> Result<InspectorRecord, FormatError> {
        let kernel_ns = performance.get("event_trace_ts").map(|trace| kernel_times(&trace)).transpose()?;
        let algorithm = performance.get("coll_algo").and_then(|node| node.text().ok()).unwrap_or_default();
        Ok(InspectorRecord {
            communicator: self.communicator.clone().unwrap_or_default(),
            communicator_name: self.communicator_name.clone(),
            rank: self.rank,
            ranks: self.ranks,
            host: self.host.clone(),
            pid: self.pid,
            kind: operation_kind(performance.need("coll")?.text()?),
            algorithm: algorithm.to_ascii_lowercase(),
            sequence: performance.need("coll_sn")?.u64()?,
            bytes: performance.need("coll_msg_size_bytes")?.u64()?,
            duration_ns: input::ns_of_us(performance.need("coll_exec_time_us")?.f64()?),
            dumped_ns: self.dumped_ns,
            kernel_ns: kernel_ns.flatten(),
        })
    }
}

/// From the start of the first kernel channel to the end of the last; times of 0 were never taken.
fn kernel_times(trace: &Node) -> Result<Option<(u64, u64)>, FormatError> {
    let Some(events) = trace.get("kernel_events") else { return Ok(None) };
    let (mut start, mut stop) = (u64::MAX, 0);
    for event in events.items()? {
        let time = |key: &str| event.get(key).map(|node| node.u64()).transpose();
        if let Some(at) = time("kernel_start_ts")?.filter(|&at| at > 0) {
            start = start.min(at);
        }
        stop = stop.max(time("kernel_stop_ts")?.unwrap_or_default());
    }
    let ns = |us: u64| us.saturating_mul(1000);
    Ok((start <= stop).then(|| (ns(start), ns(stop))))
}

/// Lines of rising byte offsets, counted from 1.
struct LineOf<'a> {
    text: &'a str,
    byte: usize,
    line: u64,
}

impl LineOf<'_> {
    fn of(&mut self, byte: usize) -> u64 {
        let byte = byte.min(self.text.len()).max(self.byte);
        let newlines =
            self.text.as_bytes()[self.byte..byte].iter().filter(|&&letter| letter == b'\n').count();
        self.line += newlines as u64;
        self.byte = byte;
        self.line
    }
}

/// Where after `from` a line begins an object at the margin of the file.
fn next_object(text: &str, from: usize, margin: usize) -> Option<usize> {
    let mut at = from;
    while let Some(end) = text[at..].find('\n') {
        at += end + 1;
        let line = &text[at..];
        if line.len() > margin && blank_bytes(line) <= margin && line.trim_start().starts_with('{') {
            return Some(at);
        }
    }
    None
}

fn breaks(text: &str) -> u64 {
    text.bytes().filter(|&letter| letter == b'\n').count() as u64
}

fn blank_bytes(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// A process as dumps tell it.
type Process = (String, u64);

/// Makes operations of the dumps of all processes of a job.
///
/// An operation is known by communicator id, kind and `coll_sn`; ranks may have logged different ones. Where a
/// communicator uses one number for two kinds (NCCL may count each kind apart), it becomes one communicator for each
/// kind. With kernel times in every record these are the times of operations. Without them only durations are known:
/// an operation ends when it was dumped and began its duration before, so that only durations mean anything
/// ([`Times::Durations`]).
///
/// Ranks of the job are those of the one communicator that all processes have and that has the most ranks; where
/// there is none, processes are numbered by host and pid, with a note.
pub fn telemetry_of_inspector(job: &str, dumps: &[InspectorDump]) -> Telemetry {
    let mut notes = Vec::new();
    let records: Vec<&InspectorRecord> = dumps.iter().flat_map(|dump| &dump.records).collect();
    let ranks = ranks_of_job(&records, &mut notes);
    let mut builder = Builder::default();
    let job = builder.job(job);
    let gpus = gpus_of(&ranks);
    let row_of: BTreeMap<(Process, u32), u32> = ranks
        .iter()
        .map(|((process, local), &rank)| {
            let gpu = gpus.get(&rank).copied();
            ((process.clone(), *local), builder.rank(job, rank, Some(&process.0), gpu))
        })
        .collect();
    let times = times_of(&records, &mut notes);
    let split = kinds_counted_apart(&records);
    let communicators = communicators(&records, &row_of, &split);
    let mut rows = BTreeMap::new();
    let (mut skipped, mut silent) = (0_u64, BTreeSet::new());
    for record in &records {
        let Some(&rank) = row_of.get(&(process(record), record.rank)) else {
            skipped += 1;
            continue;
        };
        let Ok(sequence) = u32::try_from(record.sequence) else {
            skipped += 1;
            continue;
        };
        let name = communicator_name(record, &split);
        let (members, axis) = &communicators[&name];
        let row = builder.communicator(job, &name, axis, members);
        if (members.len() as u64) < u64::from(record.ranks) {
            silent.insert((name.clone(), members.len(), record.ranks));
        }
        // The last snapshot of a communicator is dumped again until another operation ends.
        if rows.insert((row, rank, sequence), ()).is_none() {
            let shape = OperationShape {
                kind: record.kind.clone(),
                algorithm: record.algorithm.clone(),
                data_type: String::new(),
                bytes: record.bytes_of_all(),
            };
            builder.operation(row, rank, sequence, shape, record.enter_end(times));
        }
    }
    if skipped > 0 {
        notes.push(format!(
            "{skipped} records skipped: their process holds several GPUs, or their number is too large"
        ));
    }
    let partial = silent.iter().map(|(name, ..)| name.clone()).collect();
    for (name, seen, ranks) in silent {
        notes.push(format!("communicator {name}: {seen} of {ranks} ranks logged operations of it"));
    }
    let (directory, batch) = builder.finish();
    Telemetry { directory, batch, times, notes: super::texts(notes), partial, ..Telemetry::default() }
}

/// Which times the operations have; a note where some have only durations.
fn times_of(records: &[&InspectorRecord], notes: &mut Vec<String>) -> Times {
    let timed = records.iter().filter(|record| record.kernel_ns.is_some()).count();
    if !records.is_empty() && timed == records.len() {
        return Times::Kernels;
    }
    if !records.is_empty() {
        notes.push(format!(
            "{} of {} operations have no kernel times (set NCCL_INSPECTOR_DUMP_VERBOSE=1): only durations are known",
            records.len() - timed,
            records.len()
        ));
    }
    Times::Durations
}

impl InspectorRecord {
    /// When the operation began and ended, in nanoseconds: by its kernels, or by its duration before it was dumped.
    fn enter_end(&self, times: Times) -> (u64, u64) {
        self.kernel_ns.filter(|_| times == Times::Kernels).unwrap_or_else(|| {
            let end = self.dumped_ns.max(self.duration_ns);
            (end - self.duration_ns, end)
        })
    }
}

fn process(record: &InspectorRecord) -> Process {
    (record.host.clone(), record.pid)
}

/// The rank in the job of each process and rank within a communicator, as far as they can be told.
fn ranks_of_job(records: &[&InspectorRecord], notes: &mut Vec<String>) -> BTreeMap<(Process, u32), u32> {
    // Of each process: its ranks within each communicator.
    let mut within: BTreeMap<Process, BTreeMap<&str, BTreeSet<u32>>> = BTreeMap::new();
    let mut sizes: BTreeMap<&str, u32> = BTreeMap::new();
    for record in records {
        let of_process = within.entry(process(record)).or_default();
        of_process.entry(&record.communicator).or_default().insert(record.rank);
        sizes.insert(&record.communicator, record.ranks);
    }
    let shared = sizes
        .iter()
        .filter(|(id, _)| within.values().all(|communicators| communicators.contains_key(**id)))
        .max_by_key(|&(id, &size)| (size, std::cmp::Reverse(*id)));
    let several =
        |communicators: &BTreeMap<&str, BTreeSet<u32>>| communicators.values().any(|ranks| ranks.len() > 1);
    let mut ranks = BTreeMap::new();
    for ((process, communicators), next) in within.iter().zip(0_u32..) {
        let several = several(communicators);
        let world = shared.and_then(|(id, _)| communicators.get(*id));
        match world {
            // Several GPUs in one process: only the communicator that gives ranks their numbers tells which is which.
            Some(world) if several => {
                for &rank in world {
                    ranks.insert((process.clone(), rank), rank);
                }
            }
            Some(world) => {
                let rank = world.iter().next().copied().unwrap_or_default();
                for &local in communicators.values().flatten() {
                    ranks.insert((process.clone(), local), rank);
                }
            }
            None if several => {}
            None => {
                for &local in communicators.values().flatten() {
                    ranks.insert((process.clone(), local), next);
                }
            }
        }
    }
    if shared.is_none() && !within.is_empty() {
        notes.push(
            "no communicator was logged by all processes: ranks are numbered by host and pid".to_owned(),
        );
    }
    ranks
}

/// A GPU number for each rank: its place among the ranks of its host.
fn gpus_of(ranks: &BTreeMap<(Process, u32), u32>) -> BTreeMap<u32, u32> {
    let mut of_host: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for ((process, _), &rank) in ranks {
        of_host.entry(&process.0).or_default().insert(rank);
    }
    of_host.values().flat_map(|ranks| ranks.iter().zip(0..).map(|(&rank, gpu)| (rank, gpu))).collect()
}

/// Communicators in which one number stands for operations of two kinds.
fn kinds_counted_apart(records: &[&InspectorRecord]) -> BTreeSet<String> {
    let mut kinds: BTreeMap<(&str, u64), &str> = BTreeMap::new();
    let mut apart = BTreeSet::new();
    for record in records {
        let first = *kinds.entry((&record.communicator, record.sequence)).or_insert(&record.kind);
        if first != record.kind {
            apart.insert(record.communicator.clone());
        }
    }
    apart
}

fn communicator_name(record: &InspectorRecord, split: &BTreeSet<String>) -> String {
    let id = &record.communicator;
    if split.contains(id) { format!("{id} {}", record.kind) } else { id.clone() }
}

/// Members in the communicator's order and axis of each communicator, as far as its ranks logged.
fn communicators(
    records: &[&InspectorRecord],
    row_of: &BTreeMap<(Process, u32), u32>,
    split: &BTreeSet<String>,
) -> BTreeMap<String, (Vec<u32>, String)> {
    let mut members: BTreeMap<&str, (BTreeMap<u32, u32>, String)> = BTreeMap::new();
    for record in records {
        let Some(&row) = row_of.get(&(process(record), record.rank)) else { continue };
        let entry = members.entry(&record.communicator).or_default();
        entry.0.insert(record.rank, row);
        entry.1 = super::names::axis(record.communicator_name.as_deref().unwrap_or_default());
    }
    let named = records.iter().filter_map(|record| {
        let (ranks, axis) = members.get(record.communicator.as_str())?;
        Some((communicator_name(record, split), (ranks.values().copied().collect(), axis.clone())))
    });
    named.collect()
}

//! PyTorch Flight Recorder: the last operations of one rank's process groups, as JSON. Pickles are never read.

use std::collections::{BTreeMap, BTreeSet};

use railtwin_records::{NOT_YET, OperationShape};

use super::builder::Builder;
use super::json::{Node, Place, parse};
use super::names::{axis, data_type, operation_kind, rank_of_name};
use super::skipped::Skipped;
use super::{Telemetry, Times, input, notes_on_repeats};
use crate::error::FormatError;

/// Name of this format in errors.
const FORMAT: &str = "PyTorch Flight Recorder";

/// The dump of one rank.
#[derive(Clone, Debug, PartialEq)]
pub struct FlightRecorderDump {
    /// Rank, from the content or the file name.
    pub rank: u32,
    /// Version of the dump, such as `2.4`.
    pub version: String,
    /// Process groups in the order of the file.
    pub groups: Vec<FlightGroup>,
    /// Entries in the order of the file: the oldest first.
    pub entries: Vec<FlightEntry>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// Groups and entries that are wrong.
    pub skipped: Skipped,
    /// Whether what is wrong may be the last that the rank did in one of its groups: then nobody can tell from the dump
    /// how far the rank has come.
    pub unsure: bool,
}

/// A process group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlightGroup {
    /// Its name.
    pub name: String,
    /// What the job says that it is for.
    pub description: String,
    /// Its ranks, numbered in the job; empty where they are not told.
    pub ranks: Vec<u32>,
}

/// How far an operation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlightState {
    /// Put on its stream.
    Scheduled,
    /// Seen to have begun.
    Started,
    /// Seen to have ended.
    Completed,
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct FlightEntry {
    /// Row of its group.
    pub group: usize,
    /// Number of the collective in its group, or of the point-to-point operation.
    pub sequence: u64,
    /// Whether it is a send or a receive.
    pub point_to_point: bool,
    /// What it does, in the words of records.
    pub kind: String,
    /// Data type of its first tensor; empty where it has none.
    pub data_type: String,
    /// Bytes as nccl-tests counts them: the larger side of inputs and outputs.
    pub bytes: u64,
    /// How far it has come.
    pub state: FlightState,
    /// When the process put it on its stream, in nanoseconds on the clock of the host.
    pub created_ns: u64,
    /// When the watchdog saw that it had begun; late by design.
    pub started_ns: Option<u64>,
    /// When the watchdog saw that it had ended; late by design.
    pub completed_ns: Option<u64>,
    /// How long it took, where the recorder was told to take times.
    pub duration_ns: Option<u64>,
}

/// Whether bytes look like a pickle, or like the zip file that `torch.save` writes.
pub(crate) fn is_pickle(bytes: &[u8]) -> bool {
    matches!(bytes, [0x80, 2..=5, ..]) || bytes.starts_with(b"PK\x03\x04")
}

/// The error for a pickle.
pub(crate) fn pickle_error(source_name: &str) -> FormatError {
    FormatError::new(
        FORMAT,
        source_name,
        "is a pickle, which is never read because reading one runs code",
        "dump JSON: torch._C._distributed_c10d._dump_nccl_trace_json(), or on a machine that you trust load the pickle \
         in Python and write it with json.dump",
    )
}

impl FlightRecorderDump {
    /// Reads the JSON dump of one rank, perhaps in gzip. The rank is `rank` where given, else the file's own `rank`,
    /// else what the file name says (`…rank_3.json`, `nccl_trace_3`).
    ///
    /// # Errors
    /// A pickle, what is not JSON, a version other than 2.x, a rank that nothing tells, a dump of which no entry can be read.
    /// An entry with a missing or wrong field is skipped.
    pub fn parse(source_name: &str, bytes: &[u8], rank: Option<u32>) -> Result<Self, FormatError> {
        if is_pickle(bytes) {
            return Err(pickle_error(source_name));
        }
        let text = input::lossy(FORMAT, source_name, bytes)?;
        let value = parse(FORMAT, source_name, &text)?;
        let root = Node::root(Place { format: FORMAT, source: source_name, line: None }, &value);
        let version = root.need("version")?;
        let number = version.text_or_number()?;
        if number != "2" && !number.starts_with("2.") {
            return Err(version.error("is a version that is not read", "read is 2.x, such as 2.4 or 2.7"));
        }
        let mut skipped = Skipped::default();
        let told = root.get("rank").and_then(|node| skipped.keep(node.u32()));
        let rank = rank.or(told).or_else(|| rank_of_name(source_name)).ok_or_else(|| {
            FormatError::new(
                FORMAT,
                source_name,
                "tells no rank",
                "name the file so that it ends in the rank, such as nccl_trace_rank_3.json",
            )
        })?;
        let mut dump = Self {
            rank,
            version: number,
            groups: Vec::new(),
            entries: Vec::new(),
            notes: Vec::new(),
            skipped,
            unsure: false,
        };
        let mut rows = BTreeMap::new();
        if let Some(groups) = root.get("pg_config") {
            for (key, node) in groups.members()? {
                // Without its ranks the group would be another one than that of its peers, who would wait for the rank.
                let Some(group) = dump.skipped.keep(group(key, &node)) else {
                    dump.unsure = true;
                    continue;
                };
                rows.insert(group.name.clone(), dump.groups.len());
                rows.entry(key.to_owned()).or_insert(dump.groups.len());
                dump.groups.push(group);
            }
        }
        match root.get("entries") {
            Some(entries) => {
                let nodes = entries.items()?;
                let mut gaps = Vec::new();
                for node in &nodes {
                    let entry = dump.entry(node, &mut rows);
                    match dump.skipped.keep(entry) {
                        Some(entry) => dump.entries.push(entry),
                        // Sends and receives are not matched anyway.
                        None if node.get("is_p2p").is_some_and(|told| told.bool() == Ok(true)) => {}
                        None => gaps.push((dump.entries.len(), group_and_number(node, &rows))),
                    }
                }
                if let Some(error) = dump.skipped.all().filter(|_| dump.entries.is_empty()) {
                    return Err(error);
                }
                dump.unsure |= gaps.into_iter().any(|(at, told)| dump.ends_in(at, told));
            }
            None => dump.notes.push("has no entries: the dump was made without collectives".to_owned()),
        }
        Ok(dump)
    }

    /// Whether an entry that could not be read, and that stood before entry `at`, may be the last of its group; of any
    /// group where its own is not told either. It is not where a later one has a larger number.
    fn ends_in(&self, at: usize, (group, number): (Option<usize>, Option<u64>)) -> bool {
        let of_group = |row: usize, entries: &[FlightEntry]| -> BTreeSet<u64> {
            let of = |entry: &&FlightEntry| entry.group == row && !entry.point_to_point;
            entries.iter().filter(of).map(|entry| entry.sequence).collect()
        };
        let open = |row: usize| {
            let later = of_group(row, &self.entries[at..]);
            match number {
                Some(number) if group.is_some() => later.range(number.saturating_add(1)..).next().is_none(),
                // The number is not told: it may be the next one or, of operations that were coalesced, that of a neighbour.
                _ => {
                    let before = of_group(row, &self.entries[..at]).last().copied();
                    later.iter().filter(|&&later| before.is_none_or(|before| later > before)).count() < 2
                }
            }
        };
        match group {
            Some(row) => open(row),
            None => (0..self.groups.len()).any(open),
        }
    }

    fn entry(&mut self, node: &Node, rows: &mut BTreeMap<String, usize>) -> Result<FlightEntry, FormatError> {
        let (name, description) = match node.get("process_group") {
            Some(pair) => {
                let pair = pair.items()?;
                let part = |at: usize| pair.get(at).map(|node| node.text_or_number()).transpose();
                (part(0)?.unwrap_or_default(), part(1)?.unwrap_or_default())
            }
            None => (node.need("pg_id")?.text_or_number()?, String::new()),
        };
        let group = *rows.entry(name.clone()).or_insert_with(|| {
            self.groups.push(FlightGroup { name, description, ranks: Vec::new() });
            self.groups.len() - 1
        });
        let point_to_point = node.get("is_p2p").map_or(Ok(false), |node| node.bool())?;
        let number = node.get(if point_to_point { "p2p_seq_id" } else { "collective_seq_id" });
        let sequence = number.or_else(|| node.get("seq_id")).ok_or_else(|| {
            node.need("collective_seq_id")
                .err()
                .unwrap_or_else(|| node.error("has no number", "collective_seq_id"))
        })?;
        let time = |key: &str| -> Result<Option<u64>, FormatError> {
            Ok(node.get(key).map(|node| node.u64()).transpose()?.filter(|&time| time > 0))
        };
        let state = node.need("state")?;
        let state = match state.text()? {
            "scheduled" => FlightState::Scheduled,
            "started" => FlightState::Started,
            "completed" => FlightState::Completed,
            _ => return Err(state.error("is no state", "states are scheduled, started and completed")),
        };
        let (input_bytes, input_type) = tensors(node, "input_sizes", "input_dtypes")?;
        let (output_bytes, output_type) = tensors(node, "output_sizes", "output_dtypes")?;
        let duration = node.get("duration_ms").map(|node| node.f64()).transpose()?;
        Ok(FlightEntry {
            group,
            sequence: sequence.u64()?,
            point_to_point,
            kind: operation_kind(node.need("profiling_name")?.text()?),
            data_type: if input_type.is_empty() { output_type } else { input_type },
            bytes: input_bytes.max(output_bytes),
            state,
            created_ns: node.need("time_created_ns")?.u64()?,
            started_ns: time("time_discovered_started_ns")?,
            completed_ns: time("time_discovered_completed_ns")?,
            duration_ns: duration.filter(|&ms| ms >= 0.0).map(|ms| input::ns_of_us(ms * 1000.0)),
        })
    }
}

/// One process group of the head of a dump.
fn group(key: &str, node: &Node) -> Result<FlightGroup, FormatError> {
    let text = |field: &str| node.get(field).map(|node| node.text_or_number()).transpose();
    let name = text("name")?.filter(|name| !name.is_empty()).unwrap_or_else(|| key.to_owned());
    let ranks = node.get("ranks").map(|node| node.ranks()).transpose()?.unwrap_or_default();
    Ok(FlightGroup { name, description: text("desc")?.unwrap_or_default(), ranks })
}

/// Group and number of an entry that is wrong, as far as they can be told.
fn group_and_number(node: &Node, rows: &BTreeMap<String, usize>) -> (Option<usize>, Option<u64>) {
    let pair = node.get("process_group").and_then(|pair| pair.items().ok());
    let name = match &pair {
        Some(pair) => pair.first().and_then(|name| name.text_or_number().ok()),
        None => node.get("pg_id").and_then(|name| name.text_or_number().ok()),
    };
    let number = ["collective_seq_id", "seq_id"].iter().find_map(|key| node.get(key));
    (name.and_then(|name| rows.get(&name).copied()), number.and_then(|number| number.u64().ok()))
}

/// Bytes of all tensors of one side and the type of the first; bytes are 0 where a type is not known.
fn tensors(node: &Node, sizes: &str, types: &str) -> Result<(u64, String), FormatError> {
    let Some(sizes) = node.get(sizes) else { return Ok((0, String::new())) };
    let types = node.get(types).map(|list| list.items()).transpose()?.unwrap_or_default();
    let mut first = String::new();
    let mut bytes = 0_u64;
    for (at, tensor) in sizes.items()?.iter().enumerate() {
        let mut elements = 1_u64;
        for size in tensor.items()? {
            elements = elements.saturating_mul(size.u64()?);
        }
        // Some versions tell one type for a list of tensors.
        let Some(told) = types.get(at).or_else(|| types.first()) else { continue };
        let (name, width) = data_type(told.text()?);
        if at == 0 {
            first = name;
        }
        bytes = bytes.saturating_add(elements.saturating_mul(width.unwrap_or_default()));
    }
    Ok((bytes, first))
}

/// Makes operations of the dumps of all ranks of a job, per process group.
///
/// An operation begins when the process put it on its stream and ends when the watchdog saw that it had ended, or
/// after its duration where one is told: good to tell who is where in a hang and who comes late by far, not for
/// kernel times ([`Times::Observed`]). An operation that is scheduled or started has no end. Where a rank's recorder
/// saw starts at all, what is scheduled there has not begun and is left out: the rank has not entered it.
pub fn telemetry_of_flight_recorder(job: &str, dumps: &[FlightRecorderDump]) -> Telemetry {
    let mut builder = Builder::default();
    let mut notes = notes_on_repeats(dumps.iter().map(|dump| dump.rank));
    let job = builder.job(job);
    let mut ranks_of: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for dump in dumps {
        builder.rank(job, dump.rank, None, None);
        for entry in &dump.entries {
            ranks_of.entry(&dump.groups[entry.group].name).or_default().insert(dump.rank);
        }
    }
    let (mut point_to_point, mut waiting, mut too_large) = (0_u64, 0_u64, 0_u64);
    for dump in dumps {
        let rank = builder.rank(job, dump.rank, None, None);
        let sees_starts = dump.entries.iter().any(|entry| entry.started_ns.is_some());
        // Operations that were coalesced share a number: they are one.
        let mut joined: BTreeMap<(usize, u32), (OperationShape, u64, u64)> = BTreeMap::new();
        for entry in &dump.entries {
            if entry.point_to_point {
                point_to_point += 1;
                continue;
            }
            if entry.state == FlightState::Scheduled && sees_starts {
                waiting += 1;
                continue;
            }
            let Ok(sequence) = u32::try_from(entry.sequence) else {
                too_large += 1;
                continue;
            };
            let end = entry.end_ns();
            let shape = OperationShape {
                kind: entry.kind.clone(),
                algorithm: String::new(),
                data_type: entry.data_type.clone(),
                bytes: 0,
            };
            let slot = joined.entry((entry.group, sequence)).or_insert((shape, entry.enter_ns(), end));
            slot.0.bytes = slot.0.bytes.saturating_add(entry.bytes);
            slot.1 = slot.1.min(entry.enter_ns());
            slot.2 = slot.2.max(end);
        }
        for ((group, sequence), (shape, enter, end)) in joined {
            let group = &dump.groups[group];
            let seen = ranks_of.get(group.name.as_str());
            let members: Vec<u32> = match group.ranks.is_empty() {
                true => seen.into_iter().flatten().copied().collect(),
                false => group.ranks.clone(),
            };
            let members: Vec<u32> = members.iter().map(|&rank| builder.rank(job, rank, None, None)).collect();
            let row = builder.communicator(job, &group.name, &axis(&group.description), &members);
            builder.operation(row, rank, sequence, shape, (enter, end));
        }
    }
    if point_to_point > 0 {
        let why = "sender and receiver number them apart, so that they cannot be matched";
        notes.push(format!("{point_to_point} point-to-point entries skipped: {why}"));
    }
    if waiting > 0 {
        notes.push(format!("{waiting} scheduled entries left out: their ranks had not begun them"));
    }
    if too_large > 0 {
        notes.push(format!("{too_large} entries skipped: their number is 2^32 or more"));
    }
    let (directory, batch) = builder.finish();
    let (told, seen) = (directory.ranks.len(), dumps.len());
    if seen < told {
        notes.push(format!("dumps of {seen} of {told} ranks were given: nothing is known of the others"));
    }
    Telemetry { directory, batch, times: Times::Observed, notes, ..Telemetry::default() }
}

impl FlightEntry {
    fn enter_ns(&self) -> u64 {
        match (self.state, self.duration_ns, self.completed_ns) {
            // The duration is exact, the times are not: keep it, and the time at which the process came.
            (FlightState::Completed, Some(_), _) => self.created_ns,
            _ => self.started_ns.map_or(self.created_ns, |started| started.min(self.created_ns)),
        }
    }

    fn end_ns(&self) -> u64 {
        if self.state != FlightState::Completed {
            return NOT_YET;
        }
        match (self.duration_ns, self.completed_ns) {
            (Some(duration), _) => self.created_ns.saturating_add(duration),
            (None, Some(completed)) => completed.max(self.created_ns),
            (None, None) => self.created_ns,
        }
    }
}

//! Entries of a Flight Recorder: one operation of a rank each.

use super::input;
use super::json::Node;
use super::names::{data_type, operation_kind};
use super::watchdog;
use crate::error::FormatError;

/// A send or receive, as its name tells: `nccl:send 0->3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlightPeer {
    /// Whether it sends.
    pub sends: bool,
    /// The other one, by its place in the group.
    pub other: u32,
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
    /// To or from whom, where it is one and its name tells.
    pub peer: Option<FlightPeer>,
    /// Number of the record among all of its rank: in the order of the program. Its place in the file where none is told.
    pub record: u64,
    /// Whether it stands for a batch of operations that were launched together: they have no states of their own.
    pub coalesced: bool,
    /// Number of sends and receives so far, which those of one batch share.
    pub batch: Option<u64>,
    /// After what time the watchdog gives it up, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Whether the watchdog has done with it: it ended or ran out of its time.
    pub retired: bool,
    /// The innermost line of the program that asked for it, outside of PyTorch where there is one, where stacks were
    /// recorded.
    pub frame: Option<String>,
    /// What it does, in the words of records.
    pub kind: String,
    /// Data type of its first tensor; empty where it has none.
    pub data_type: String,
    /// Bytes as nccl-tests counts them: the larger side of inputs and outputs.
    pub bytes: u64,
    /// Whether its tensors are told and have no elements: NCCL launches nothing then.
    pub empty: bool,
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

impl FlightEntry {
    /// Reads an entry of the group in row `group`, at `place` in its file. `of_gloo` becomes true where Gloo wrote it, even if
    /// the rest of it is wrong.
    pub(super) fn read(
        node: &Node,
        group: usize,
        place: u64,
        of_gloo: &mut bool,
    ) -> Result<Self, FormatError> {
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
        let retired = node.get("retired").is_some_and(|node| node.bool() == Ok(true));
        let (input_bytes, input_type) = tensors(node, "input_sizes", "input_dtypes")?;
        let (output_bytes, output_type) = tensors(node, "output_sizes", "output_dtypes")?;
        let duration = node.get("duration_ms").map(|node| node.f64()).transpose()?;
        let name = node.need("profiling_name")?.text()?;
        // Gloo has no events that tell states: its operations stay scheduled, and are retired when they have ended or failed.
        let is_gloo = name.starts_with("gloo:");
        *of_gloo |= is_gloo;
        let state = if retired && is_gloo { FlightState::Completed } else { state };
        Ok(Self {
            group,
            sequence: sequence.u64()?,
            point_to_point,
            peer: peer(name),
            record: match node.get("record_id") {
                Some(record) => record.u64()?,
                None => place,
            },
            coalesced: name.rsplit(':').next() == Some("coalesced"),
            batch: node.get("p2p_seq_id").and_then(|node| node.u64().ok()),
            timeout_ms: node.get("timeout_ms").and_then(|node| node.u64().ok()),
            retired,
            frame: frame(node),
            kind: operation_kind(name),
            data_type: if input_type.is_empty() { output_type } else { input_type },
            bytes: input_bytes.max(output_bytes),
            empty: is_empty(node)?,
            state,
            created_ns: node.need("time_created_ns")?.u64()?,
            started_ns: time("time_discovered_started_ns")?,
            completed_ns: time("time_discovered_completed_ns")?,
            duration_ns: duration.filter(|&ms| ms >= 0.0).map(|ms| input::ns_of_us(ms * 1000.0)),
        })
    }
}

/// The other end of a send or receive: `nccl:send 0->3` of place 0, `nccl:recv 3<-0` of place 3.
fn peer(name: &str) -> Option<FlightPeer> {
    let words = name.rsplit(':').next()?;
    let (verb, ends) = words.split_once(' ')?;
    let sends = match verb {
        "send" => true,
        "recv" => false,
        _ => return None,
    };
    let (_, other) = ends.split_once(if sends { "->" } else { "<-" })?;
    Some(FlightPeer { sends, other: other.trim().parse().ok()? })
}

/// Where an entry was asked for, as `function (file:line)`: PyTorch writes the innermost frame first, which is its own, so the
/// first that is of the program; where none is, the innermost.
fn frame(node: &Node) -> Option<String> {
    let frames = node.get("frames")?.items().ok()?;
    let told = |frame: &Node| {
        let text = |key: &str| frame.get(key).and_then(|node| node.text_or_number().ok());
        let (name, file) = (text("name")?, text("filename")?);
        Some((name, format!("{file}:{}", text("line").unwrap_or_default())))
    };
    let mut all = frames.iter().filter_map(told).peekable();
    let first = all.peek().cloned();
    let (name, place) = all.find(|(_, place)| watchdog::is_of_program(place)).or(first)?;
    Some(watchdog::frame(&name, &place))
}

/// Whether an entry tells its tensors and none has an element.
fn is_empty(node: &Node) -> Result<bool, FormatError> {
    let mut told = false;
    for side in ["input_sizes", "output_sizes"] {
        let Some(sizes) = node.get(side) else { continue };
        for tensor in sizes.items()? {
            told = true;
            let mut is_empty = false;
            for size in tensor.items()? {
                is_empty |= size.u64()? == 0;
            }
            if !is_empty {
                return Ok(false);
            }
        }
    }
    Ok(told)
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

//! NCCL RAS: the state of all communicators of a job at one moment, as JSON; its text is read in [`super::ras_text`].

use std::collections::BTreeMap;

use super::Note;
use super::builder::unknown_host;
use super::input;
use super::json::{Node, Place, parse};
use super::names::operation_kind;
use super::ras_text;
use super::skipped::Skipped;
use crate::error::FormatError;

/// Name of this format in errors.
const FORMAT: &str = "NCCL RAS status";

/// What RAS tells of a job: `ncclras -f json` (NCCL 2.28.7 and later), or the text of `ncclras`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RasSnapshot {
    /// Version of NCCL, such as `2.29.1`.
    pub nccl_version: String,
    /// When it was taken, as the file writes it; empty where it is not told.
    pub timestamp: String,
    /// Communicators.
    pub communicators: Vec<RasCommunicator>,
    /// Times that RAS itself waited in vain for an answer.
    pub timeouts: u64,
    /// What a reader should know.
    pub notes: Vec<Note>,
    /// Communicators and ranks that are wrong: nothing is said of them.
    pub skipped: Skipped,
}

/// A communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RasCommunicator {
    /// Hash of its id.
    pub hash: String,
    /// Ranks that it should have.
    pub size: u32,
    /// Ranks that answered.
    pub ranks: Vec<RasRank>,
    /// Ranks that did not, as far as they are listed.
    pub missing: Vec<RasMissingRank>,
}

/// A rank that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RasRank {
    /// Rank within the communicator.
    pub rank: u32,
    /// Host name or address.
    pub host: String,
    /// Process.
    pub pid: u64,
    /// CUDA device of the process.
    pub gpu: u32,
    /// What NCCL says of it.
    pub status: RasStatus,
    /// Operations that it has launched, by kind in the words of records (`all-reduce`, …).
    pub counts: BTreeMap<String, u64>,
}

/// The code of an asynchronous error of which only that it is there is told, as texts have it.
pub const UNTOLD_ERROR: u32 = u32::MAX;

/// The code of what is still under way (`ncclInProgress`).
pub const IN_PROGRESS: u32 = 7;

/// The state of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RasStatus {
    /// Result code of its initialisation, 0 for success and [`IN_PROGRESS`] before its end.
    pub init_state: u32,
    /// Code of an asynchronous error (`ncclResult_t`), 0 for none, [`UNTOLD_ERROR`] where there is one without its code.
    pub async_error: u32,
    /// Whether the communicator is being finalised.
    pub finalize_called: bool,
    /// Whether it is being destroyed.
    pub destroyed: bool,
    /// Whether it was aborted.
    pub aborted: bool,
    /// Whether its process has no such communicator.
    pub absent: bool,
}

/// A rank that did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RasMissingRank {
    /// Rank within the communicator.
    pub rank: u32,
    /// Host name or address; empty where it is not told.
    pub host: String,
    /// Process; 0 where it is not told.
    pub pid: u64,
    /// CUDA device of the process.
    pub gpu: u32,
    /// Whether its process does not answer.
    pub unresponsive: bool,
    /// Whether RAS holds it for dead.
    pub dead: bool,
}

impl RasMissingRank {
    /// Whether it is counted as missing and no process of it is told.
    pub fn is_unlisted(&self) -> bool {
        self.pid == 0 && self.host == unknown_host(self.rank)
    }
}

impl RasSnapshot {
    /// Reads a status in JSON. NCCL 2.28.9 leaves out the comma before a `status`; it is put in, with a note. A communicator
    /// or rank with a missing or wrong field is skipped as a whole: a rank of which one count were missing would seem to be
    /// behind. The text form names only outliers; see the notes for what it leaves open.
    ///
    /// # Errors
    /// What is neither JSON nor the text of RAS, a file without communicators in which one is wrong.
    pub fn parse(source_name: &str, bytes: &[u8]) -> Result<Self, FormatError> {
        let text = input::lossy(FORMAT, source_name, bytes)?;
        let text = answer(&text);
        if ras_text::is_ras(text) {
            return ras_text::parse_text(source_name, text);
        }
        let mut notes = Vec::new();
        let mended;
        let value = match parse(FORMAT, source_name, text) {
            Ok(value) => value,
            Err(error) => {
                mended = with_commas(text);
                let value = parse(FORMAT, source_name, &mended).map_err(|_| error)?;
                notes.push("a comma was missing before `status`, as NCCL 2.28.9 writes it".to_owned());
                value
            }
        };
        let root = Node::root(Place { format: FORMAT, source: source_name, line: None }, &value);
        let list = root.need("communicators")?.items()?;
        let mut skipped = Skipped::default();
        let mut communicators = Vec::with_capacity(list.len());
        for node in &list {
            let read = communicator(node, &mut skipped, &mut notes);
            communicators.extend(skipped.keep(read));
        }
        if let Some(error) = skipped.all().filter(|_| communicators.is_empty()) {
            return Err(error);
        }
        let mut text_of = |key: &str| {
            let read = root.get(key).map(|node| node.text_or_number()).transpose();
            skipped.keep(read).flatten().unwrap_or_default()
        };
        let (nccl_version, timestamp) = (text_of("nccl_version"), text_of("timestamp"));
        let timeouts = root.get("ras").and_then(|ras| ras.get("timeouts_count"));
        let counted = communicators.iter().flat_map(|communicator| &communicator.ranks);
        if counted.clone().count() > 0 && counted.clone().all(|rank| rank.counts.is_empty()) {
            notes.push("no rank has counts of operations: who is behind cannot be told".to_owned());
        }
        Ok(Self {
            nccl_version,
            timestamp,
            communicators,
            timeouts: timeouts.and_then(|node| skipped.keep(node.u64())).unwrap_or_default(),
            notes: super::texts(notes),
            skipped,
        })
    }
}

impl RasCommunicator {
    /// Ranks that have launched fewer operations of a kind than others, with kind, their count and the largest count:
    /// those that peers wait for.
    pub fn behind(&self) -> Vec<(u32, &str, u64, u64)> {
        let mut most: BTreeMap<&str, u64> = BTreeMap::new();
        for (kind, &count) in self.ranks.iter().flat_map(|rank| &rank.counts) {
            let largest = most.entry(kind).or_default();
            *largest = count.max(*largest);
        }
        let mut behind = Vec::new();
        for rank in &self.ranks {
            for (kind, &largest) in &most {
                let count = rank.counts.get(*kind).copied().unwrap_or_default();
                if count < largest {
                    behind.push((rank.rank, *kind, count, largest));
                }
            }
        }
        behind
    }
}

fn communicator(
    node: &Node,
    skipped: &mut Skipped,
    notes: &mut Vec<String>,
) -> Result<RasCommunicator, FormatError> {
    let hash = node.need("hash")?.text_or_number()?;
    let size = node.need("size")?.u32()?;
    let ranks = node.get("ranks").map(|list| list.items()).transpose()?.unwrap_or_default();
    let missing = node.get("missing_ranks").map(|list| list.items()).transpose()?.unwrap_or_default();
    let counted = node.get("missing_ranks_count").map(|count| count.u64()).transpose()?.unwrap_or_default();
    let read = RasCommunicator {
        hash,
        size,
        ranks: ranks.iter().filter_map(|node| skipped.keep(rank(node, size))).collect(),
        missing: missing.iter().filter_map(|node| skipped.keep(missing_rank(node, size))).collect(),
    };
    Ok(with_unlisted(read, ranks.len(), counted, notes))
}

/// Puts ranks in that are counted as missing and not listed, where the others leave no doubt which they are.
fn with_unlisted(
    mut read: RasCommunicator,
    listed: usize,
    counted: u64,
    notes: &mut Vec<String>,
) -> RasCommunicator {
    let untold = counted.saturating_sub(read.missing.len() as u64);
    if untold == 0 {
        return read;
    }
    let known: std::collections::BTreeSet<u32> =
        read.ranks.iter().map(|rank| rank.rank).chain(read.missing.iter().map(|rank| rank.rank)).collect();
    let rest: Vec<u32> =
        match known.len() as u64 + untold == u64::from(read.size) && listed == read.ranks.len() {
            true => (0..read.size).filter(|rank| !known.contains(rank)).collect(),
            false => Vec::new(),
        };
    if rest.is_empty() {
        let hash = &read.hash;
        notes.push(format!("communicator {hash}: {untold} ranks are counted as missing and not listed"));
    }
    read.missing.extend(rest.into_iter().map(|rank| RasMissingRank {
        rank,
        host: unknown_host(rank),
        pid: 0,
        gpu: 0,
        unresponsive: true,
        dead: false,
    }));
    read
}

fn number(node: &Node, size: u32) -> Result<u32, FormatError> {
    let node = node.need("rank")?;
    let rank = node.u32()?;
    if rank >= size {
        return Err(node.error("is no rank of its communicator", format!("its size is {size}")));
    }
    Ok(rank)
}

fn host_pid_gpu(node: &Node) -> Result<(String, u64, u32), FormatError> {
    let host = node.get("host").map(|node| node.text_or_number()).transpose()?.unwrap_or_default();
    let pid = node.get("pid").map(|node| node.u64()).transpose()?.unwrap_or_default();
    // Devices that are not known are written as -1.
    let gpu = node.get("cuda_dev").and_then(|node| node.u32().ok()).unwrap_or_default();
    Ok((host, pid, gpu))
}

fn rank(node: &Node, size: u32) -> Result<RasRank, FormatError> {
    let (host, pid, gpu) = host_pid_gpu(node)?;
    let mut status = RasStatus::default();
    if let Some(told) = node.get("status") {
        let flag = |key: &str| told.get(key).map_or(Ok(false), |node| node.bool());
        let code = |key: &str| told.get(key).map_or(Ok(0), |node| node.u32());
        status = RasStatus {
            init_state: code("init_state")?,
            async_error: code("async_error")?,
            finalize_called: flag("finalize_called")?,
            destroyed: flag("destroy_flag")?,
            aborted: flag("abort_flag")?,
            absent: false,
        };
    }
    let mut counts = BTreeMap::new();
    if let Some(told) = node.get("collective_counts") {
        for (kind, count) in told.members()? {
            *counts.entry(operation_kind(kind)).or_default() = count.u64()?;
        }
    }
    Ok(RasRank { rank: number(node, size)?, host, pid, gpu, status, counts })
}

fn missing_rank(node: &Node, size: u32) -> Result<RasMissingRank, FormatError> {
    let (host, pid, gpu) = host_pid_gpu(node)?;
    // Early descriptions have the flags beside the rank.
    let status = node.get("status").unwrap_or_else(|| node.clone());
    let flag = |key: &str| status.get(key).map_or(Ok(false), |node| node.bool());
    let (unresponsive, dead) = (flag("unresponsive")?, flag("considered_dead")?);
    Ok(RasMissingRank { rank: number(node, size)?, host, pid, gpu, unresponsive, dead })
}

/// What RAS answers, behind what it says to a client that speaks with it (`nc localhost 28028`): `SERVER PROTOCOL 2`, `OK`.
pub(crate) fn answer(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some((line, after)) = rest.split_once('\n')
        && (line.trim_end() == "OK" || line.starts_with("SERVER PROTOCOL "))
    {
        rest = after.trim_start();
    }
    rest
}

/// Puts the comma in that is missing between a value at the end of a line and a key on the next.
fn with_commas(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut whole = String::with_capacity(text.len() + 64);
    for (at, line) in lines.iter().enumerate() {
        whole.push_str(line);
        let ends_value = line
            .trim_end()
            .ends_with(|letter: char| letter.is_ascii_alphanumeric() || "\"}]".contains(letter));
        let key_follows =
            lines.get(at + 1).is_some_and(|next| next.trim_start().starts_with('"') && next.contains(':'));
        if ends_value && key_follows {
            whole.push(',');
        }
        whole.push('\n');
    }
    whole
}

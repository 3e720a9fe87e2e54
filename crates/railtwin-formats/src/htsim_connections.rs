//! Connection matrices of htsim (`.cm`): who sends how much to whom, and when.
use railtwin_units::SimTime;
use railtwin_workload::traffic::{Transfer, plan_of_transfers};
use railtwin_workload::{Plan, WorkloadError};

use crate::error::FormatError;
use crate::htsim_lines::{Line, Lines, keep};

/// Name of this format in errors.
const FORMAT: &str = "htsim connection matrix";
/// Bound of nodes, as of GPUs in a scenario.
const NODES: (u64, u64) = (1, 1 << 24);
/// Bound of connections.
const CONNECTIONS: (u64, u64) = (0, 1 << 28);
/// Bound of ids: htsim keeps them in signed 32 bits.
const IDS: (u64, u64) = (1, i32::MAX as u64);
/// Bound of sizes in bytes. htsim itself reads no more than 2^31 - 1.
const BYTES: (u64, u64) = (1, 1 << 53);
/// Latest start in picoseconds: floats of 64 bits count up to it one by one, and it is 2.5 hours.
const LATEST: f64 = (1_u64 << 53) as f64;

/// A connection matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HtsimConnections {
    /// Nodes: hosts of one GPU.
    pub nodes: u32,
    /// Connections in file order.
    pub connections: Vec<HtsimConnection>,
}

/// One connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtsimConnection {
    /// Line in the file, counted from 1.
    pub line: u64,
    /// Node that sends.
    pub source: u32,
    /// Node that receives.
    pub target: u32,
    /// Number that the file gives; from 1.
    pub id: Option<u32>,
    /// Start in picoseconds; a fraction is cut off, as htsim does.
    pub start_ps: u64,
    /// Bytes.
    pub bytes: u64,
}

impl HtsimConnections {
    /// Reads a `.cm` file; `source_name` appears in errors.
    ///
    /// # Errors
    /// A word that is not known, a value that is none, a node that is not there, a node that sends to itself, and
    /// triggers, failures and priorities, which are not supported: each names its line.
    pub fn parse(source_name: &str, bytes: &[u8]) -> Result<Self, FormatError> {
        let lines = Lines::new(FORMAT, source_name, bytes)?;
        let is_known = lines.begin_with(&["nodes", "connections"]);
        Self::of(&lines).map_err(|error| if is_known { error } else { error.without_found() })
    }

    fn of(lines: &Lines<'_>) -> Result<Self, FormatError> {
        let (mut nodes, mut count) = (None, None);
        let mut connections = Vec::new();
        for line in lines.iter() {
            match line.words[0] {
                "Nodes" => {
                    let value = lines.only_number(&line, NODES)?;
                    keep(lines, &line, &mut nodes, value as u32)?;
                }
                "Connections" => {
                    let value = lines.only_number(&line, CONNECTIONS)?;
                    keep(lines, &line, &mut count, value)?;
                }
                "Triggers" | "Failures" => {
                    if lines.only_number(&line, (0, u64::MAX))? > 0 {
                        return Err(not_supported(lines, &line, line.words[0]));
                    }
                }
                "trigger" | "failure" => return Err(not_supported(lines, &line, line.words[0])),
                word if word.contains("->") => {
                    let Some((_, nodes)) = nodes else {
                        let accepted = "write a line such as \"Nodes 16\" above it";
                        return Err(lines
                            .error("stands before the number of nodes", accepted)
                            .at_line(line.number));
                    };
                    connections.push(connection(lines, &line, nodes)?);
                }
                word => {
                    let accepted =
                        "write Nodes, Connections, or a connection such as 0->5 start 0 size 2000000";
                    return Err(lines.error("is not known", accepted).at_line(line.number).found(word));
                }
            }
        }
        let Some((_, nodes)) = nodes else {
            return Err(lines.error("has no number of nodes", "write a line such as \"Nodes 16\""));
        };
        let Some((line, count)) = count else {
            let accepted = format!("write a line \"Connections {}\"", connections.len());
            return Err(lines.error("has no number of connections", accepted));
        };
        if count != connections.len() as u64 {
            let problem = format!("is not the number of connections that follow, {}", connections.len());
            let error = lines.error(problem, "write their number").at_line(line);
            return Err(error.field("Connections").found(&count.to_string()));
        }
        Ok(Self { nodes, connections })
    }

    /// The connections as transfers of ranks, rank `n` for node `n`.
    pub fn transfers(&self) -> Vec<Transfer> {
        let transfer = |one: &HtsimConnection| Transfer {
            start: SimTime::from_ps(one.start_ps),
            bytes: one.bytes,
            source: one.source,
            target: one.target,
        };
        self.connections.iter().map(transfer).collect()
    }

    /// The plan: rank `n` for node `n`; connections of one start and one size are one send/receive operation.
    ///
    /// # Errors
    /// [`WorkloadError`] when there is no connection.
    pub fn plan(&self) -> Result<Plan, WorkloadError> {
        if self.connections.is_empty() {
            return Err(WorkloadError::new("Connections", 0, "write one connection or more"));
        }
        Ok(plan_of_transfers(self.nodes, &self.transfers()))
    }
}

fn not_supported(lines: &Lines<'_>, line: &Line<'_>, word: &str) -> FormatError {
    let accepted = "write connections with `start` and `size` only";
    lines.error("is not supported", accepted).at_line(line.number).found(word)
}

/// Reads `a->b [id K] start T size BYTES`.
fn connection(lines: &Lines<'_>, line: &Line<'_>, nodes: u32) -> Result<HtsimConnection, FormatError> {
    let (source, target) = line.words[0].split_once("->").unwrap_or((line.words[0], ""));
    let last = (0, u64::from(nodes) - 1);
    let source = lines.number(line, "node that sends", Some(source), last)? as u32;
    let target = lines.number(line, "node that receives", Some(target), last)? as u32;
    if source == target {
        let accepted = "write two different nodes";
        return Err(lines
            .error("a node sends to itself", accepted)
            .at_line(line.number)
            .found(line.words[0]));
    }
    let (mut id, mut start, mut bytes) = (None, None, None);
    let mut words = line.words[1..].iter().copied();
    while let Some(word) = words.next() {
        let twice = match word {
            "id" => id.replace(lines.number(line, word, words.next(), IDS)? as u32).is_some(),
            "start" => start.replace(start_of(lines, line, words.next())?).is_some(),
            "size" => bytes.replace(lines.number(line, word, words.next(), BYTES)?).is_some(),
            "trigger" | "send_done_trigger" | "recv_done_trigger" | "prio" | "addon" => {
                return Err(not_supported(lines, line, word));
            }
            _ => {
                let accepted = "write id, start or size, each with its value";
                return Err(lines.error("is not known", accepted).at_line(line.number).found(word));
            }
        };
        if twice {
            let error = lines.error("is written twice in one line", "write it once");
            return Err(error.at_line(line.number).field(word));
        }
    }
    let missing = |key: &str, accepted: &str| {
        lines.error("is missing", accepted.to_owned()).at_line(line.number).field(key.to_owned())
    };
    let start_ps = start.ok_or_else(|| missing("start", "write `start` and picoseconds, such as start 0"))?;
    let bytes = bytes.ok_or_else(|| missing("size", "write `size` and bytes, such as size 2000000"))?;
    Ok(HtsimConnection { line: line.number, source, target, id, start_ps, bytes })
}

/// A start: picoseconds, perhaps with a fraction.
fn start_of(lines: &Lines<'_>, line: &Line<'_>, value: Option<&str>) -> Result<u64, FormatError> {
    let accepted = "write picoseconds from 0 to 2^53";
    let Some(value) = value else {
        return Err(lines.error("has no value", accepted).at_line(line.number).field("start"));
    };
    match value.parse::<f64>() {
        Ok(start) if (0.0..=LATEST).contains(&start) => Ok(start as u64),
        _ => Err(lines.refused(line, "start", value, "is no such time", accepted)),
    }
}

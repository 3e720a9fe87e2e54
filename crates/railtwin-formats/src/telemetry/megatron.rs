//! Operation traces of Megatron jobs as ByteDance's straggler study publishes them: a table with a row for each
//! operation of each rank.

use std::collections::{BTreeMap, BTreeSet};

use railtwin_records::{ColumnData, OperationShape, Table};

use super::builder::Builder;
use super::skipped::Skipped;
use super::{Telemetry, Times};
use crate::error::FormatError;

/// Name of this format in errors.
const FORMAT: &str = "Megatron trace";

/// Clipping of gradients, which begins with their norm over all ranks.
const CLIP: &str = "optimizer-clip-main-grad";

/// Seconds that no step lasts: a time beyond them would lay all later steps where no clock goes.
const LONGEST_S: f64 = 1e7;

/// Garbage collection of Python.
const GARBAGE: &str = "gc";

/// Columns that must be there.
pub(crate) const COLUMNS: [&str; 8] =
    ["dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration", "seq_id"];

/// Communication of a job as telemetry, and all that its ranks did, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct MegatronTrace {
    /// Communication as operations.
    pub telemetry: Telemetry,
    /// Names of kinds: those of the trace, but that what a stage sends and the next receives is one kind
    /// (`forward-pp-comm`, `backward-pp-comm`).
    pub kinds: Vec<String>,
    /// All that ranks did, communication included.
    pub operations: Vec<MegatronOperation>,
}

/// What an operation is to the others of its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MegatronRole {
    /// Computation of a microbatch, forward.
    Forward,
    /// Computation of a microbatch, backward.
    Backward,
    /// Activations to the next stage.
    ForwardSend,
    /// Activations from the stage before.
    ForwardReceive,
    /// Gradients to the stage before.
    BackwardSend,
    /// Gradients from the next stage.
    BackwardReceive,
    /// A collective of a communicator.
    Collective,
    /// Anything else that a rank does by itself.
    Alone,
    /// Garbage collection of Python.
    Pause,
}

/// One operation of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MegatronOperation {
    /// Rank in the job.
    pub rank: u32,
    /// Data-parallel rank.
    pub replica: u32,
    /// Pipeline stage of the rank.
    pub stage: u32,
    /// Place among the ranks that share replica and stage.
    pub place: u32,
    /// Which part of the model it works on: the column `gmc` where each value of it is of one stage, else the stage.
    pub chunk: u32,
    /// Step of training, as the trace numbers it.
    pub step: u64,
    /// Row of [`MegatronTrace::kinds`].
    pub kind: u32,
    /// What it is.
    pub role: MegatronRole,
    /// Which communicator runs it; those of the gradient norm (`optimizer-clip-main-grad`) hold all ranks.
    pub group: Option<u32>,
    /// Its number among those of its kind in its step.
    pub number: u64,
    /// Start in nanoseconds on the clock of the telemetry.
    pub start_ns: u64,
    /// How long it took in nanoseconds.
    pub duration_ns: u64,
}

/// One row of the table.
struct Row<'a> {
    dp_rank: u32,
    stage: u32,
    rank: u32,
    step: u64,
    kind: &'a str,
    start_ns: u64,
    duration_ns: u64,
    number: u64,
    chunk: Option<u32>,
}

/// What an operation is told apart by in its communicator: step, kind, number.
type Key<'a> = (u64, &'a str, u64);

/// Where a rank stands: data-parallel rank, stage, place among the ranks that share both.
type Position = (u32, u32, u32);

/// Reads the table of a trace (columns `dp_rank`, `stage`, `rank`, `step`, `optype`, `start_ts` and `duration` in
/// seconds, `seq_id`; of others only `gmc`, the part of the model, is used).
///
/// Times of a row count from the start of its step, on one clock for all ranks. Steps are laid one after the other:
/// each begins when the one before has ended on all ranks. Steps that the publisher left out leave no gap.
///
/// * `grads-reduce-scatter`, `params-all-gather`: over the ranks of a stage with the same place (axis `dp`).
/// * `embedding-grads-all-reduce`: over the stages that have it, per data-parallel rank (axis `other`).
/// * `layernorm-grads-all-reduce`: over the ranks that share data-parallel rank and stage (axis `tp`).
/// * `forward-send` of a stage with `forward-recv` of the next, `backward-send` with `backward-recv` of the one
///   before: send-receives of two ranks (axis `pp`), matched by step and number.
///
/// An operation of a communicator of one rank is left out, with a note. Bytes are not told.
///
/// # Errors
/// A missing column, one of another kind, a table of which no row can be read. A row with a value that is negative or no
/// number where none may be, and one with a time that no step lasts, is skipped.
pub fn megatron_trace(source_name: &str, job: &str, table: &Table) -> Result<MegatronTrace, FormatError> {
    let (mut rows, skipped) = rows(source_name, table)?;
    lay_out_steps(&mut rows);
    let positions = positions(&rows);
    let stages = rows.iter().map(|row| row.stage).max().map_or(0, |stage| stage.saturating_add(1));
    let mut members: BTreeMap<String, (BTreeSet<u32>, &str)> = BTreeMap::new();
    let mut keys: BTreeMap<String, BTreeMap<Key, u64>> = BTreeMap::new();
    let mut communication = Vec::new();
    for row in &rows {
        let Some((name, axis, kind)) = communicator(row, positions[&row.rank], stages) else { continue };
        members.entry(name.clone()).or_insert_with(|| (BTreeSet::new(), axis)).0.insert(row.rank);
        let common = if axis == "pp" { "send-receive" } else { row.kind };
        let first =
            keys.entry(name.clone()).or_default().entry((row.step, common, row.number)).or_insert(u64::MAX);
        *first = row.start_ns.min(*first);
        communication.push((row, name, kind, common));
    }
    let numbers: BTreeMap<&str, BTreeMap<Key, u32>> =
        keys.iter().map(|(name, keys)| (name.as_str(), numbered(keys))).collect();
    let mut builder = Builder::default();
    let job = builder.job(job);
    let all: BTreeSet<u32> = rows.iter().map(|row| row.rank).collect();
    let row_of: BTreeMap<u32, u32> =
        all.iter().map(|&rank| (rank, builder.rank(job, rank, None, None))).collect();
    let mut alone = 0_u64;
    for (row, name, kind, common) in communication {
        let (ranks, axis) = &members[&name];
        if ranks.len() < 2 {
            alone += 1;
            continue;
        }
        let ranks: Vec<u32> = ranks.iter().map(|rank| row_of[rank]).collect();
        let communicator = builder.communicator(job, &name, axis, &ranks);
        let sequence = numbers[name.as_str()][&(row.step, common, row.number)];
        let shape = OperationShape {
            kind: kind.to_owned(),
            algorithm: String::new(),
            data_type: String::new(),
            bytes: 0,
        };
        let times = (row.start_ns, row.start_ns.saturating_add(row.duration_ns));
        builder.operation(communicator, row_of[&row.rank], sequence, shape, times);
    }
    let (directory, batch) = builder.finish();
    let mut notes = Vec::new();
    if alone > 0 {
        notes.push(format!("{alone} operations left out: their communicators have one rank"));
    }
    let telemetry = Telemetry {
        directory,
        batch,
        times: Times::Kernels,
        notes: super::texts(notes),
        skipped,
        ..Telemetry::default()
    };
    let (kinds, operations) = operations(&rows, &positions, stages);
    Ok(MegatronTrace { telemetry, kinds, operations })
}

/// Rows as operations with their roles and groups, and the names of their kinds.
fn operations(
    rows: &[Row],
    positions: &BTreeMap<u32, Position>,
    stages: u32,
) -> (Vec<String>, Vec<MegatronOperation>) {
    let mut kinds: BTreeMap<&str, u32> = BTreeMap::new();
    let mut groups: BTreeMap<String, u32> = BTreeMap::new();
    let stage_of = |row: &Row| row.chunk.map(|chunk| (chunk, row.stage));
    let of_stage: BTreeSet<(u32, u32)> = rows.iter().filter_map(stage_of).collect();
    let chunks: BTreeSet<u32> = of_stage.iter().map(|(chunk, _)| *chunk).collect();
    let told = chunks.len() == of_stage.len();
    let mut operations = Vec::with_capacity(rows.len());
    for row in rows {
        let position = positions[&row.rank];
        let (role, name) = match row.kind {
            "forward-compute" => (MegatronRole::Forward, row.kind),
            "backward-compute" => (MegatronRole::Backward, row.kind),
            "forward-send" => (MegatronRole::ForwardSend, "forward-pp-comm"),
            "forward-recv" => (MegatronRole::ForwardReceive, "forward-pp-comm"),
            "backward-send" => (MegatronRole::BackwardSend, "backward-pp-comm"),
            "backward-recv" => (MegatronRole::BackwardReceive, "backward-pp-comm"),
            kind => match communicator(row, position, stages) {
                Some(_) => (MegatronRole::Collective, kind),
                // The norm of all gradients is needed before any is clipped.
                None if kind == CLIP => (MegatronRole::Collective, kind),
                None if kind == GARBAGE => (MegatronRole::Pause, kind),
                None => (MegatronRole::Alone, kind),
            },
        };
        let group = match role {
            MegatronRole::Collective if row.kind == CLIP => Some(CLIP.to_owned()),
            _ => communicator(row, position, stages).map(|(name, ..)| name),
        };
        let next = groups.len() as u32;
        let group = group.map(|name| *groups.entry(name).or_insert(next));
        let next = kinds.len() as u32;
        operations.push(MegatronOperation {
            rank: row.rank,
            replica: position.0,
            stage: row.stage,
            place: position.2,
            chunk: row.chunk.filter(|_| told).unwrap_or(row.stage),
            step: row.step,
            kind: *kinds.entry(name).or_insert(next),
            role,
            group,
            number: row.number,
            start_ns: row.start_ns,
            duration_ns: row.duration_ns,
        });
    }
    let mut names = vec![String::new(); kinds.len()];
    kinds.into_iter().for_each(|(name, row)| name.clone_into(&mut names[row as usize]));
    (names, operations)
}

/// Name, axis and kind of a row's communicator; none for computation.
fn communicator<'a>(
    row: &Row,
    (dp, stage, place): Position,
    stages: u32,
) -> Option<(String, &'a str, &'a str)> {
    let next = |stage: u32| (stage + 1) % stages.max(1);
    let before = |stage: u32| (stage + stages.max(1) - 1) % stages.max(1);
    let pair = |way: &str, from: u32, to: u32| {
        Some((format!("pp {way} dp {dp} stage {from}>{to} place {place}"), "pp", "send-receive"))
    };
    match row.kind {
        "grads-reduce-scatter" => Some((format!("dp stage {stage} place {place}"), "dp", "reduce-scatter")),
        "params-all-gather" => Some((format!("dp stage {stage} place {place}"), "dp", "all-gather")),
        "embedding-grads-all-reduce" => {
            Some((format!("embedding dp {dp} place {place}"), "other", "all-reduce"))
        }
        "layernorm-grads-all-reduce" => Some((format!("tp dp {dp} stage {stage}"), "tp", "all-reduce")),
        "forward-send" => pair("forward", stage, next(stage)),
        "forward-recv" => pair("forward", before(stage), stage),
        "backward-send" => pair("backward", stage, before(stage)),
        "backward-recv" => pair("backward", next(stage), stage),
        _ => None,
    }
}

/// Numbers operations of a communicator by step and by when the first rank came.
fn numbered<'a>(keys: &BTreeMap<Key<'a>, u64>) -> BTreeMap<Key<'a>, u32> {
    let mut order: Vec<(u64, u64, Key)> = keys.iter().map(|(&key, &first)| (key.0, first, key)).collect();
    order.sort_unstable();
    order.into_iter().zip(0..).map(|((.., key), sequence)| (key, sequence)).collect()
}

fn positions(rows: &[Row]) -> BTreeMap<u32, Position> {
    let mut shared: BTreeMap<(u32, u32), BTreeSet<u32>> = BTreeMap::new();
    for row in rows {
        shared.entry((row.dp_rank, row.stage)).or_default().insert(row.rank);
    }
    let of = |((dp, stage), ranks): (&(u32, u32), &BTreeSet<u32>)| {
        let (dp, stage) = (*dp, *stage);
        ranks.iter().zip(0..).map(move |(&rank, place)| (rank, (dp, stage, place))).collect::<Vec<_>>()
    };
    shared.iter().flat_map(of).collect()
}

/// Adds to the times of each step the lengths of those before.
fn lay_out_steps(rows: &mut [Row]) {
    let mut lengths: BTreeMap<u64, u64> = BTreeMap::new();
    for row in rows.iter() {
        let length = lengths.entry(row.step).or_default();
        *length = (*length).max(row.start_ns.saturating_add(row.duration_ns));
    }
    let mut start = 0_u64;
    let mut starts = BTreeMap::new();
    for (step, length) in lengths {
        starts.insert(step, start);
        start = start.saturating_add(length);
    }
    for row in rows {
        row.start_ns = row.start_ns.saturating_add(starts[&row.step]);
    }
}

fn rows<'a>(source_name: &str, table: &'a Table) -> Result<(Vec<Row<'a>>, Skipped), FormatError> {
    let error = |problem: String, accepted: &str| FormatError::new(FORMAT, source_name, problem, accepted);
    let column = |name: &str| {
        table.column(name).ok_or_else(|| {
            let has: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
            error(format!("has no column {name}"), &format!("its columns are {}", has.join(", "))).foreign()
        })
    };
    let value = |name: &'static str, row: usize| -> Result<f64, FormatError> {
        let value = match column(name)? {
            ColumnData::U64(values) => values[row] as f64,
            ColumnData::U32(values) => f64::from(values[row]),
            ColumnData::F64(values) => values[row],
            _ => return Err(error(format!("column {name} holds no numbers"), "write numbers")),
        };
        // Only the number of an operation that has none may be negative.
        let is_time = ["start_ts", "duration"].contains(&name);
        let most = if is_time { LONGEST_S } else { f64::MAX };
        if value.abs() <= most && (value >= 0.0 || name == "seq_id") {
            return Ok(value);
        }
        let problem = format!("is wrong in row {row}, counted from 0");
        let accepted =
            if is_time { "write seconds of a step, from 0 to 1e7" } else { "write a number from 0 up" };
        Err(error(problem, accepted).field(format!("column {name}")).found(&value.to_string()))
    };
    let ColumnData::Text { dictionary, codes } = column("optype")? else {
        return Err(error("column optype holds no text".to_owned(), "write words such as forward-compute"));
    };
    // A column that is not there is wrong in every row, and no row is to be told for it.
    for name in COLUMNS.iter().filter(|name| **name != "optype") {
        if matches!(column(name)?, ColumnData::Text { .. }) {
            return Err(error(format!("column {name} holds no numbers"), "write numbers"));
        }
    }
    let mut rows = Vec::with_capacity(table.rows());
    let mut skipped = Skipped::default();
    for (row, &code) in codes.iter().enumerate() {
        // The casts clamp what is too large.
        let whole = |name| value(name, row).map(|value| value as u64);
        let small = |name| value(name, row).map(|value| (value as u32).min(u32::MAX / 4));
        let chunk = match table.column("gmc") {
            Some(ColumnData::F64(values)) => Some(values[row]),
            Some(ColumnData::U64(values)) => Some(values[row] as f64),
            Some(ColumnData::U32(values)) => Some(f64::from(values[row])),
            _ => None,
        };
        let ns = |name| value(name, row).map(|seconds| (seconds * 1e9).round() as u64);
        let read = || {
            Ok(Row {
                dp_rank: small("dp_rank")?,
                stage: small("stage")?,
                rank: small("rank")?,
                step: whole("step")?,
                kind: dictionary.get(code as usize).map_or("", String::as_str),
                start_ns: ns("start_ts")?,
                duration_ns: ns("duration")?,
                number: whole("seq_id")?,
                chunk: chunk.filter(|chunk| *chunk >= 0.0).map(|chunk| (chunk as u32).min(u32::MAX / 4)),
            })
        };
        rows.extend(skipped.keep(read()));
    }
    match skipped.all().filter(|_| rows.is_empty()) {
        Some(error) => Err(error),
        None => Ok((rows, skipped)),
    }
}

//! The operations of a step in the order in which the replay goes through them, with what each rank waits for.
use std::ops::Range;

use railtwin_engine::JobGraph;
use railtwin_workload::{Axis, Collective, Operation, OperationId, Pattern, Plan, Work};

use crate::error::TelemetryError;

/// What an operation does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task {
    /// Computes; with the load of experts where it follows an expert-parallel collective.
    Compute { expert: bool },
    /// Runs a pattern, counted within the job.
    Communicate { pattern: u32, bytes: u64 },
}

/// The ends of an operation waited for.
#[derive(Clone, Debug)]
pub(crate) struct Wait {
    /// Where the ends stand.
    pub(crate) slot: u32,
    /// Ranks that they are of.
    pub(crate) ranks: Range<u32>,
    /// No rank takes part in both: all wait for the last.
    pub(crate) barrier: bool,
}

/// One operation.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Row in the plan.
    pub(crate) operation: u32,
    pub(crate) task: Task,
    /// From the first to the last rank that takes part.
    pub(crate) ranks: Range<u32>,
    /// Whether all ranks of the range take part.
    pub(crate) all: bool,
    /// In [`Schedule::waits`].
    pub(crate) waits: Range<u32>,
    /// Where its ends go.
    pub(crate) slot: u32,
}

/// A step.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    pub(crate) entries: Vec<Entry>,
    pub(crate) waits: Vec<Wait>,
    /// Length of each slot.
    pub(crate) slots: Vec<usize>,
}

/// Ranks of each lane: rank classes are contiguous and of one size, as Megatron orders ranks.
fn lane_ranks(plan: &Plan, lane: u32) -> Range<u32> {
    let each = plan.ranks / plan.lanes.len() as u32;
    lane * each..(lane + 1) * each
}

impl Schedule {
    /// Compiles the plan of a job.
    ///
    /// A send stands right before the first operation that needs it, and its receiver enters it when it is through
    /// with the rest that this one waits for: programs post receives in the order in which they need them.
    pub(crate) fn new(graph: &JobGraph) -> Result<Self, TelemetryError> {
        let plan = &graph.plan;
        if plan.lanes.is_empty() || !plan.ranks.is_multiple_of(plan.lanes.len() as u32) {
            let accepted = format!("rank classes of one size: {} ranks in equal parts", plan.ranks);
            return Err(TelemetryError::new("rank classes", plan.lanes.len(), accepted));
        }
        let order = order(plan);
        let mut place = vec![0_u32; order.len()];
        for (at, &operation) in order.iter().enumerate() {
            place[operation as usize] = at as u32;
        }
        let covered = covered(plan);
        let users = first_dependents(plan);
        let needs: Vec<Vec<u32>> = order.iter().map(|&row| needs(plan, row, &users, &place)).collect();
        let mut last_use = vec![0_usize; order.len()];
        for (at, needs) in needs.iter().enumerate() {
            needs.iter().for_each(|&row| last_use[row as usize] = at);
        }
        let (mut slots, mut free): (Vec<usize>, Vec<u32>) = (Vec::new(), Vec::new());
        let mut slot_of = vec![u32::MAX; order.len()];
        let (mut entries, mut waits) = (Vec::with_capacity(order.len()), Vec::new());
        for (at, &row) in order.iter().enumerate() {
            let operation = &plan.operations[row as usize];
            let (ranks, all) = covered[row as usize].clone();
            let slot = free.pop().unwrap_or_else(|| {
                slots.push(0);
                slots.len() as u32 - 1
            });
            slot_of[row as usize] = slot;
            slots[slot as usize] = slots[slot as usize].max(ranks.len());
            let first_wait = waits.len() as u32;
            for &need in &needs[at] {
                let theirs = covered[need as usize].0.clone();
                let barrier = theirs.end <= ranks.start || ranks.end <= theirs.start;
                waits.push(Wait { slot: slot_of[need as usize], ranks: theirs, barrier });
            }
            let task = match operation.work {
                Work::Compute(_) => Task::Compute { expert: is_expert(plan, row) },
                Work::Communicate { pattern, bytes } => Task::Communicate { pattern: pattern.0, bytes },
            };
            let waits = first_wait..waits.len() as u32;
            entries.push(Entry { operation: row, task, ranks, all, waits, slot });
            for &need in &needs[at] {
                if last_use[need as usize] == at {
                    free.push(slot_of[need as usize]);
                    last_use[need as usize] = usize::MAX;
                }
            }
            if last_use[row as usize] <= at {
                free.push(slot);
            }
        }
        Ok(Self { entries, waits, slots })
    }
}

/// Whether a computation waits for an expert-parallel collective.
fn is_expert(plan: &Plan, row: u32) -> bool {
    let waited = plan.dependencies_of(OperationId(row));
    waited.iter().any(|id| plan.operations[id.index()].axis == Axis::Ep)
}

/// The collective of an operation that communicates.
fn collective(plan: &Plan, row: u32) -> Option<Collective> {
    match plan.operations[row as usize].work {
        Work::Communicate { pattern, .. } => Some(plan.patterns[pattern.index()].collective),
        Work::Compute(_) => None,
    }
}

fn first_dependents(plan: &Plan) -> Vec<Option<u32>> {
    let mut first = vec![None; plan.operations.len()];
    for row in 0..plan.operations.len() as u32 {
        for id in plan.dependencies_of(OperationId(row)) {
            first[id.index()].get_or_insert(row);
        }
    }
    first
}

/// Rows of the plan in the order of the replay.
fn order(plan: &Plan) -> Vec<u32> {
    let first = first_dependents(plan);
    let moves =
        |row: u32| first[row as usize].filter(|_| collective(plan, row) == Some(Collective::SendReceive));
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); first.len()];
    for row in 0..first.len() as u32 {
        if let Some(dependent) = moves(row) {
            before[dependent as usize].push(row);
        }
    }
    let mut order = Vec::with_capacity(first.len());
    let mut stack = Vec::new();
    for row in 0..first.len() as u32 {
        if moves(row).is_some() {
            continue;
        }
        // A row is written when those that stand right before it are.
        stack.push((row, false));
        while let Some((row, ready)) = stack.pop() {
            if ready {
                order.push(row);
                continue;
            }
            stack.push((row, true));
            stack.extend(before[row as usize].iter().rev().map(|&send| (send, false)));
        }
    }
    order
}

/// What an operation waits for, by row of the plan.
fn needs(plan: &Plan, row: u32, users: &[Option<u32>], place: &[u32]) -> Vec<u32> {
    let mut needs: Vec<u32> = plan.dependencies_of(OperationId(row)).iter().map(|id| id.0).collect();
    if collective(plan, row) == Some(Collective::SendReceive)
        && let Some(user) = users[row as usize]
    {
        // Work of the receiver alone: it never holds up the sender.
        let lane = plan.operations[row as usize].lane;
        let others = plan.dependencies_of(OperationId(user)).iter().map(|id| id.0);
        needs.extend(others.filter(|&other| {
            let earlier = place[other as usize] < place[row as usize];
            other != row && earlier && plan.operations[other as usize].lane != lane
        }));
    }
    needs.sort_unstable();
    needs.dedup();
    needs
}

/// By operation, the ranks that take part, and whether those are all between the first and the last.
fn covered(plan: &Plan) -> Vec<(Range<u32>, bool)> {
    let of_pattern = |pattern: &Pattern| {
        let mut ranks: Vec<u32> = pattern.communicators.concat();
        ranks.sort_unstable();
        ranks.dedup();
        let (first, last) = (ranks.first()?, ranks.last()?);
        Some((*first..last + 1, ranks.len() as u32 == last + 1 - first))
    };
    let patterns: Vec<_> = plan.patterns.iter().map(of_pattern).collect();
    let of_operation = |operation: &Operation| match operation.work {
        Work::Communicate { pattern, .. } => {
            patterns[pattern.index()].clone().unwrap_or((lane_ranks(plan, operation.lane), false))
        }
        Work::Compute(_) => (lane_ranks(plan, operation.lane), true),
    };
    plan.operations.iter().map(of_operation).collect()
}

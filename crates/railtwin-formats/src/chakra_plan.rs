//! From the Chakra traces of all ranks to one plan.

use std::collections::BTreeMap;

use railtwin_units::SimTime;
use railtwin_workload::{
    Axis, Collective, Operation, OperationId, Pattern, PatternId, Plan, PlanBuilder, Work,
};

use crate::chakra::ChakraTrace;
use crate::chakra_match::{Matched, Unit, UnitKind, match_traces};
use crate::chakra_order::ordered;
use crate::chakra_set::TraceSet;
use crate::error::FormatError;

/// Makes a plan of the traces of all ranks; the index in `traces` is the rank.
///
/// `communicators` are what [`parse_chakra_groups`](crate::parse_chakra_groups) reads; a node without
/// `pg_name`, or with an empty one, or with `"0"` where `communicators` have no 0, runs over all ranks,
/// as in ASTRA-sim. `source_name` appears in errors.
///
/// * Every rank is a lane, `rank 0` and so on.
/// * A compute node computes for its recorded duration. So does a CPU node that only launches a collective.
/// * The collectives of one communicator are matched by their order on each rank (an order that honours
///   the dependencies, lowest node id first) and become one operation in the lane of the communicator's
///   first rank: it waits for the dependencies of all ranks.
/// * A send and a receive are matched by source, target, tag and their order, and become one operation in
///   the sender's lane: it waits for both ends, as NCCL does.
/// * Loads and stores of memory and nodes of unknown kind take no time; metadata nodes vanish, and what
///   waits for one waits for what it waits for.
/// * `comm_size` is one rank's input, as ASTRA-sim counts it: for an all-gather the plan has the bytes of
///   the whole result, `comm_size` times the ranks; for all other collectives it is `comm_size` itself.
/// * A barrier is an all-reduce of 0 bytes.
///
/// [`Plan::notes`] tell what was left out: dependencies on absent nodes, memory nodes, empty collectives.
///
/// # Errors
/// No traces, a node id used twice, a communicator that is not known or that the rank is no member of,
/// a collective that a plan does not have (reduce, gather, scatter), ranks that differ in kind or size of a
/// collective or in the number of them, a send without receive, a circle of dependencies, or times and
/// sizes beyond 64 bits.
pub fn plan_of_chakra(
    source_name: &str,
    traces: &[ChakraTrace],
    communicators: &BTreeMap<u32, Vec<u32>>,
) -> Result<Plan, FormatError> {
    let set = TraceSet::new(source_name, traces, communicators)?;
    let matched = match_traces(&set)?;
    let order = ordered(&matched.waits_for, u64::from).map_err(|circle| circular(&set, &matched, &circle))?;
    let lanes = (0..traces.len()).map(|rank| format!("rank {rank}")).collect();
    let mut writer = Writer {
        set: &set,
        builder: PlanBuilder::new(traces.len() as u32, lanes),
        patterns: BTreeMap::new(),
        operation_of: vec![None; matched.units.len()],
    };
    for unit in order {
        writer.write(unit, &matched);
    }
    let (_, _, notes) = writer.builder.facts();
    *notes = matched.odd.notes();
    Ok(writer.builder.finish())
}

fn circular(set: &TraceSet<'_>, matched: &Matched, circle: &[u32]) -> FormatError {
    let first = matched.units[circle[0] as usize].nodes[0];
    let name = |&unit: &u32| {
        let node = matched.units[unit as usize].nodes[0];
        format!("{} of rank {}", set.node(node).id, node.rank)
    };
    let shown: Vec<String> = circle.iter().map(name).collect();
    set.error(
        first,
        "dependencies",
        "wait for each other in a circle through several ranks",
        "let all ranks issue collectives, sends and receives in orders that fit: each waits for all its ranks",
    )
    .found(&shown.join(", "))
}

/// A pattern by what it runs, over which communicator or between which two ranks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PatternKey {
    Collective(Collective, usize),
    Pair(u32, u32),
}

struct Writer<'a> {
    set: &'a TraceSet<'a>,
    builder: PlanBuilder,
    patterns: BTreeMap<PatternKey, PatternId>,
    /// What stands for a unit: its operation, for a skipped one the operation that it waits for.
    operation_of: Vec<Option<OperationId>>,
}

impl Writer<'_> {
    fn write(&mut self, index: u32, matched: &Matched) {
        let unit = &matched.units[index as usize];
        let waits_for = matched.waits_for[index as usize].iter();
        let mut after: Vec<OperationId> =
            waits_for.filter_map(|&other| self.operation_of[other as usize]).collect();
        after.sort_unstable();
        after.dedup();
        // A skipped node with several dependencies stays as an operation of no time: it keeps long chains
        // of such nodes from multiplying dependencies.
        if matches!(unit.kind, UnitKind::Skip) && after.len() < 2 {
            self.operation_of[index as usize] = after.first().copied();
            return;
        }
        let operation = self.operation(unit);
        self.operation_of[index as usize] = Some(self.builder.push(operation, &after));
    }

    fn operation(&mut self, unit: &Unit) -> Operation {
        let (axis, work, fallback) = match unit.kind {
            UnitKind::Compute(time) => (Axis::Compute, Work::Compute(time), "compute"),
            UnitKind::Nothing | UnitKind::Skip => (Axis::Compute, Work::Compute(SimTime::ZERO), "nothing"),
            UnitKind::Collective { collective, communicator, bytes } => {
                let pattern = self.pattern(PatternKey::Collective(collective, communicator));
                (Axis::Other, Work::Communicate { pattern, bytes }, collective.name())
            }
            UnitKind::Pair { source, target, bytes } => {
                let pattern = self.pattern(PatternKey::Pair(source, target));
                (Axis::Other, Work::Communicate { pattern, bytes }, Collective::SendReceive.name())
            }
        };
        let name = &self.set.node(unit.nodes[0]).name;
        let name = self.builder.name(if name.is_empty() { fallback } else { name });
        Operation { lane: unit.lane, name, axis, work }
    }

    fn pattern(&mut self, key: PatternKey) -> PatternId {
        if let Some(&pattern) = self.patterns.get(&key) {
            return pattern;
        }
        let (collective, ranks) = match key {
            PatternKey::Collective(collective, row) => {
                (collective, self.set.communicators[row].ranks.clone())
            }
            PatternKey::Pair(source, target) => (Collective::SendReceive, vec![source, target]),
        };
        let pattern = Pattern::new(Axis::Other, collective, None, vec![ranks]);
        let id = self.builder.pattern(pattern);
        self.patterns.insert(key, id);
        id
    }
}

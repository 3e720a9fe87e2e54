//! What waits for what in the steps of a job, and how long everything takes by itself.
use std::collections::BTreeMap;
use std::ops::Range;

use super::{Operation, Role, Way, Work};

/// An operation may start this much before the end of what it waited for, by the clocks of streams and processes: what
/// real traces show is up to 12 us.
const SKEW_NS: u64 = 100_000;
/// Share of a kind's groups whose ranks must all have been within the operation at one moment, if the kind is to be a
/// collective of theirs.
const TOGETHER: f64 = 0.9;
/// Operations of a rank among which one that ended before another began is looked for.
const LOOK_BACK: usize = 64;

/// A rank of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RankInfo {
    pub rank: u32,
    pub replica: u32,
    pub stage: u32,
    pub place: u32,
}

/// One computation of a rank, or one operation of all ranks of a group.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Row of [`Work::kinds`].
    pub kind: u32,
    /// Operations that do the same: of one kind and one part of the model.
    pub like: u32,
    /// How long it takes by itself: of a group from when its last rank has come, nanoseconds.
    pub time_ns: f64,
    /// How long its rank did nothing at all right before it, for computation that is not a step's first, nanoseconds.
    pub idle_ns: f64,
    /// The way of a computation; none for everything else.
    pub compute: Option<Way>,
    /// The way of a transfer between stages.
    pub transfer: Option<Way>,
    /// Whether it is no work: [`Role::Pause`].
    pub pause: bool,
    /// Whether its rank does it by itself: [`Role::Alone`].
    pub alone: bool,
    /// When the last of its operations ended.
    pub end_ns: u64,
    /// Part of the model; the first of its operations tells it.
    pub chunk: u32,
    /// Its operation's number.
    pub number: u64,
    /// Its group; none for what one rank does.
    pub group: Option<u32>,
    /// Rows of [`Graph::members`].
    pub members: Range<u32>,
    /// Rows of [`Graph::before`].
    pub before: Range<u32>,
}

/// One step.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub step: u64,
    pub nodes: Range<u32>,
    /// From the first start to the last end, nanoseconds.
    pub recorded_ns: f64,
}

/// The operations of a job's steps as nodes, each behind all that it waits for.
#[derive(Clone, Debug)]
pub struct Graph {
    pub(crate) nodes: Vec<Node>,
    pub(crate) before: Vec<u32>,
    /// Rows of `ranks`.
    pub(crate) members: Vec<u32>,
    pub(crate) ranks: Vec<RankInfo>,
    pub(crate) kinds: Vec<String>,
    pub(crate) likes: u32,
    pub(crate) steps: Vec<Step>,
    /// Steps that are left out, as their operations wait for each other in a circle.
    pub circular: u64,
    /// Transfers between stages of which one end is not in the trace.
    pub one_ended: u64,
}

/// Which operations are one.
type Key = (u32, u32, u64, u32);

impl Graph {
    /// Builds the graph.
    ///
    /// * Computations of a rank follow each other. So do its collectives and what it does alone, each after the
    ///   computation and transfers that had ended when it began; what began after a computation ended, and ended
    ///   before the next began, is between the two.
    /// * A computation waits for what its part of the model receives, and what is sent waits for its computation: the
    ///   n-th with the n-th of the same way, or by time where a rank has not as many of both.
    /// * An operation of a group begins when its last rank has come. It takes from there to its first end.
    ///
    /// A kind whose ranks were never together within it is no collective of these ranks; each waits for itself alone.
    pub fn of(work: &Work) -> Self {
        let mut graph = Self {
            nodes: Vec::new(),
            before: Vec::new(),
            members: Vec::new(),
            ranks: Vec::new(),
            kinds: work.kinds.clone(),
            likes: 0,
            steps: Vec::new(),
            circular: 0,
            one_ended: 0,
        };
        let mut ranks: BTreeMap<u32, RankInfo> = BTreeMap::new();
        let mut steps: BTreeMap<u64, Vec<Operation>> = BTreeMap::new();
        for operation in &work.operations {
            let &Operation { rank, replica, stage, place, .. } = operation;
            ranks.entry(rank).or_insert(RankInfo { rank, replica, stage, place });
            steps.entry(operation.step).or_default().push(*operation);
        }
        graph.ranks = ranks.values().copied().collect();
        let row_of: BTreeMap<u32, u32> = ranks.keys().copied().zip(0..).collect();
        for operations in steps.values_mut() {
            operations
                .sort_by_key(|one| (one.rank, one.start_ns, one.end_ns(), one.kind, one.role, one.number));
        }
        let apart = apart(&steps, work.kinds.len());
        let computations = work.operations.iter().filter(|one| matches!(one.role, Role::Compute(_)));
        let chunks = computations.map(|one| one.chunk);
        let ends = (chunks.clone().min().unwrap_or(0), chunks.max().unwrap_or(0));
        let mut likes: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (&step, operations) in &steps {
            if graph.add_step(step, operations, &row_of, &apart, ends, &mut likes).is_none() {
                graph.circular += 1;
            }
        }
        graph.likes = likes.len() as u32;
        graph
    }

    /// Adds the nodes of one step; none, and nothing added, where they wait in a circle.
    fn add_step(
        &mut self,
        step: u64,
        operations: &[Operation],
        row_of: &BTreeMap<u32, u32>,
        apart: &[bool],
        ends: (u32, u32),
        likes: &mut BTreeMap<(u32, u32), u32>,
    ) -> Option<()> {
        let (node_of, count) = node_of(operations, apart);
        let mut of_node: Vec<Vec<usize>> = vec![Vec::new(); count];
        node_of.iter().enumerate().for_each(|(row, &node)| of_node[node].push(row));
        let (before, idle) = waits_of(operations, &node_of, count, ends);
        let order = order(&before)?;
        let base = self.nodes.len() as u32;
        let mut place = vec![0_u32; count];
        order.iter().zip(base..).for_each(|(&node, at)| place[node] = at);
        for &node in &order {
            let rows = &of_node[node];
            let first = &operations[rows[0]];
            let of_group = rows.len() > 1;
            let transfer = match first.role {
                Role::Send(way) | Role::Receive(way) => Some(way),
                _ => None,
            };
            self.one_ended += u64::from(transfer.is_some() && !of_group);
            // Of a transfer both ends tell another part; that of the sender names it.
            let sender = rows.iter().find(|&&row| matches!(operations[row].role, Role::Send(_)));
            let chunk = sender.map_or(first.chunk, |&row| operations[row].chunk);
            let next = likes.len() as u32;
            let like = *likes.entry((first.kind, chunk)).or_insert(next);
            let members_from = self.members.len() as u32;
            self.members.extend(rows.iter().map(|&row| row_of[&operations[row].rank]));
            let before_from = self.before.len() as u32;
            self.before.extend(before[node].iter().map(|&node| place[node]));
            self.nodes.push(Node {
                kind: first.kind,
                like,
                time_ns: own_time_ns(operations, rows) as f64,
                idle_ns: idle[node],
                compute: if let Role::Compute(way) = first.role { Some(way) } else { None },
                transfer,
                pause: first.role == Role::Pause,
                alone: first.role == Role::Alone,
                end_ns: rows.iter().map(|&row| operations[row].end_ns()).max().unwrap_or(0),
                chunk,
                number: first.number,
                group: first.group.filter(|_| of_group),
                members: members_from..self.members.len() as u32,
                before: before_from..self.before.len() as u32,
            });
        }
        let start = operations.iter().map(|one| one.start_ns).min().unwrap_or(0);
        let end = operations.iter().map(Operation::end_ns).max().unwrap_or(0);
        self.steps.push(Step {
            step,
            nodes: base..self.nodes.len() as u32,
            recorded_ns: end.saturating_sub(start) as f64,
        });
        Some(())
    }

    /// How long each step takes, in nanoseconds, where node `n` takes `time(n)` and begins as soon as all has ended
    /// that it waits for.
    pub fn replay(&self, time: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut end = vec![0.0_f64; self.nodes.len()];
        let of_step = |step: &Step| {
            let mut last = 0.0_f64;
            for node in step.nodes.start as usize..step.nodes.end as usize {
                let range = &self.nodes[node].before;
                let before = &self.before[range.start as usize..range.end as usize];
                let start = before.iter().fold(0.0_f64, |start, &other| start.max(end[other as usize]));
                end[node] = start + time(node).max(0.0);
                last = last.max(end[node]);
            }
            last
        };
        self.steps.iter().map(of_step).collect()
    }

    /// [`Self::replay`], all steps together.
    pub(crate) fn total(&self, time: impl Fn(usize) -> f64) -> f64 {
        self.replay(time).into_iter().sum()
    }

    /// Rows of the ranks of a node.
    pub(crate) fn ranks_of(&self, node: &Node) -> &[u32] {
        &self.members[node.members.start as usize..node.members.end as usize]
    }
}

/// What each of `count` nodes of a step waits for, without doubles, and how long the rank of each did nothing at all right
/// before it, in nanoseconds.
fn waits_of(
    operations: &[Operation],
    node_of: &[usize],
    count: usize,
    ends: (u32, u32),
) -> (Vec<Vec<usize>>, Vec<f64>) {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut idle = vec![0.0; count];
    let mut first = 0;
    for rank in operations.chunk_by(|a, b| a.rank == b.rank) {
        for (from, to) in edges(rank, ends) {
            let (from, to) = (node_of[first + from], node_of[first + to]);
            if from != to {
                before[to].push(from);
            }
        }
        for (row, idle_ns) in idle_before(rank, ends) {
            idle[node_of[first + row]] = idle_ns as f64;
        }
        first += rank.len();
    }
    for list in &mut before {
        list.sort_unstable();
        list.dedup();
    }
    (before, idle)
}

/// How long the operations of a node take by themselves: of a group from when its last rank has come to its first end.
fn own_time_ns(operations: &[Operation], rows: &[usize]) -> u64 {
    if let &[alone] = rows {
        return operations[alone].duration_ns;
    }
    let latest = rows.iter().map(|&row| operations[row].start_ns).max().unwrap_or(0);
    let earliest = rows.iter().map(|&row| operations[row].end_ns()).min().unwrap_or(0);
    earliest.saturating_sub(latest)
}

/// Kinds of collectives whose ranks were not together within them.
fn apart(steps: &BTreeMap<u64, Vec<Operation>>, kinds: usize) -> Vec<bool> {
    let none = vec![false; kinds];
    let mut counts = vec![(0_u64, 0_u64); kinds];
    for operations in steps.values() {
        let (node_of, count) = node_of(operations, &none);
        let mut spans = vec![(0_u64, u64::MAX, None); count];
        for (operation, node) in operations.iter().zip(node_of) {
            let span = &mut spans[node];
            span.0 = operation.start_ns.max(span.0);
            span.1 = operation.end_ns().min(span.1);
            span.2 = (operation.role == Role::Collective).then_some(operation.kind);
        }
        for (latest, earliest, kind) in spans {
            if let Some(count) = kind.and_then(|kind| counts.get_mut(kind as usize)) {
                count.0 += 1;
                count.1 += u64::from(latest <= earliest.saturating_add(SKEW_NS));
            }
        }
    }
    counts.iter().map(|&(all, together)| (together as f64) < TOGETHER * all as f64).collect()
}

/// Which node each operation of a step belongs to, and how many nodes there are.
fn node_of(operations: &[Operation], apart: &[bool]) -> (Vec<usize>, usize) {
    let mut nodes: BTreeMap<Key, usize> = BTreeMap::new();
    // A rank that tells the same operation twice tells two.
    let mut seen: BTreeMap<(u32, u32, u32, u64), u32> = BTreeMap::new();
    let mut count = 0;
    let of = operations.iter().map(|one| {
        let shared = match one.role {
            Role::Send(_) | Role::Receive(_) => one.group,
            Role::Collective if !apart.get(one.kind as usize).copied().unwrap_or(false) => one.group,
            _ => None,
        };
        let mut next = || {
            count += 1;
            count - 1
        };
        let Some(group) = shared else { return next() };
        let times = seen.entry((one.rank, group, one.kind, one.number)).or_default();
        *times += 1;
        *nodes.entry((group, one.kind, one.number, *times)).or_insert_with(next)
    });
    (of.collect(), count)
}

/// What waits for what within a rank: rows of operations that are sorted by start.
fn edges(rank: &[Operation], (first, last): (u32, u32)) -> Vec<(usize, usize)> {
    let mut edges = Vec::new();
    let ended = |row: usize, by: &Operation| rank[row].end_ns() <= by.start_ns.saturating_add(SKEW_NS);
    let (mut computed, mut synced): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut moved: Vec<usize> = Vec::new();
    for (row, one) in rank.iter().enumerate() {
        match one.role {
            Role::Compute(_) => {
                edges.extend(computed.last().map(|&before| (before, row)));
                let between = |&&sync: &&usize| {
                    ended(sync, one) && computed.last().is_none_or(|&before| ended(before, &rank[sync]))
                };
                edges.extend(synced.last().filter(between).map(|&sync| (sync, row)));
                computed.push(row);
            }
            Role::Collective | Role::Alone | Role::Pause => {
                let looked = |list: &[usize]| -> Vec<usize> {
                    let back = list.iter().rev().take(LOOK_BACK).copied();
                    back.filter(|&before| ended(before, one)).collect()
                };
                edges.extend(looked(&synced).into_iter().map(|before| (before, row)));
                edges.extend(looked(&computed).first().map(|&before| (before, row)));
                edges.extend(looked(&moved).into_iter().take(4).map(|before| (before, row)));
                synced.push(row);
            }
            Role::Send(_) | Role::Receive(_) => moved.push(row),
        }
    }
    for way in [Way::Forward, Way::Backward] {
        let of = |role: Role| -> Vec<usize> {
            let mut rows: Vec<usize> = (0..rank.len()).filter(|&row| rank[row].role == role).collect();
            if role != Role::Compute(way) {
                rows.sort_by_key(|&row| (rank[row].number, row));
            }
            rows
        };
        let (sends, receives) = (of(Role::Send(way)), of(Role::Receive(way)));
        let all = of(Role::Compute(way));
        let (from, to) = if way == Way::Forward { (first, last) } else { (last, first) };
        let but = |end: u32| all.iter().copied().filter(move |&row| rank[row].chunk != end);
        let (needing, giving): (Vec<usize>, Vec<usize>) = (but(from).collect(), but(to).collect());
        edges.extend(sends.windows(2).map(|two| (two[0], two[1])));
        edges.extend(receives.windows(2).map(|two| (two[0], two[1])));
        if let Some(&receive) = receives.first() {
            let posted = synced.iter().rev().find(|&&sync| ended(sync, &rank[receive]));
            edges.extend(posted.map(|&sync| (sync, receive)));
        }
        if needing.len() == receives.len() {
            edges.extend(receives.iter().copied().zip(needing));
        } else {
            let next = |&receive: &usize| {
                all.iter().find(|&&row| ended(receive, &rank[row])).map(|&row| (receive, row))
            };
            edges.extend(receives.iter().filter_map(next));
        }
        if giving.len() == sends.len() {
            edges.extend(giving.into_iter().zip(sends));
        } else {
            let last = |&send: &usize| {
                all.iter().rev().find(|&&row| ended(row, &rank[send])).map(|&row| (row, send))
            };
            edges.extend(sends.iter().filter_map(last));
        }
    }
    edges
}

/// For each computation but the first of a rank in a step, how long the rank did nothing before it. None are told where
/// the model is in several parts and the trace holds no receives: a rank that waits for others looks idle then.
fn idle_before(rank: &[Operation], (first, last): (u32, u32)) -> Vec<(usize, u64)> {
    let mut idle = Vec::new();
    if first != last && !rank.iter().any(|one| matches!(one.role, Role::Receive(_))) {
        return idle;
    }
    // Ends of operations too far back to be looked at one by one.
    let mut passed = 0_u64;
    let mut seen = false;
    for (row, one) in rank.iter().enumerate() {
        if row > LOOK_BACK {
            let end = rank[row - LOOK_BACK - 1].end_ns();
            passed = if end <= one.start_ns.saturating_add(SKEW_NS) { passed.max(end) } else { passed };
        }
        if !matches!(one.role, Role::Compute(_)) {
            continue;
        }
        let near = rank[row.saturating_sub(LOOK_BACK)..row].iter().map(Operation::end_ns);
        let ended = near.filter(|&end| end <= one.start_ns.saturating_add(SKEW_NS)).chain([passed]).max();
        if let Some(end) = ended.filter(|&end| end > 0 && seen) {
            idle.push((row, one.start_ns.saturating_sub(end)));
        }
        seen = true;
    }
    idle
}

/// An order in which every node stands behind all that it waits for; none where there is a circle.
fn order(before: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut waits: Vec<usize> = before.iter().map(Vec::len).collect();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); before.len()];
    for (node, list) in before.iter().enumerate() {
        list.iter().for_each(|&other| after[other].push(node));
    }
    let mut order: Vec<usize> = (0..before.len()).filter(|&node| waits[node] == 0).collect();
    let mut at = 0;
    while at < order.len() {
        for &next in &after[order[at]] {
            waits[next] -= 1;
            if waits[next] == 0 {
                order.push(next);
            }
        }
        at += 1;
    }
    (order.len() == before.len()).then_some(order)
}

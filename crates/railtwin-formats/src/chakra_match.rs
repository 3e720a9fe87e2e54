//! Matches the nodes of all ranks' Chakra traces: which of them are one operation.

use std::collections::BTreeMap;

use railtwin_units::SimTime;
use railtwin_workload::Collective;

use crate::chakra::{CommType, NodeKind};
use crate::chakra_set::{NodeRef, TraceSet, dependencies, rank_order};
use crate::error::FormatError;

/// Picoseconds in a microsecond.
const PS_PER_MICRO: u64 = 1_000_000;

/// Nodes that are one operation.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) kind: UnitKind,
    pub(crate) lane: u32,
    /// One for each rank that takes part, in order of ranks; for a pair sender and receiver as they come.
    pub(crate) nodes: Vec<NodeRef>,
}

/// What a unit does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UnitKind {
    Compute(SimTime),
    /// Takes no time.
    Nothing,
    /// Only passes dependencies on.
    Skip,
    Collective {
        collective: Collective,
        /// Row in [`TraceSet::communicators`].
        communicator: usize,
        bytes: u64,
    },
    Pair {
        source: u32,
        target: u32,
        bytes: u64,
    },
}

/// What a reader of the plan should know, counted.
#[derive(Default)]
pub(crate) struct Odd {
    dangling: u64,
    memory: u64,
    unknown: u64,
    launches: u64,
    barriers: u64,
    empty: u64,
}

impl Odd {
    pub(crate) fn notes(&self) -> Vec<String> {
        [
            (self.dangling, "dependencies on nodes that the traces do not hold; they are ignored"),
            (self.memory, "memory loads and stores; they take no time"),
            (self.unknown, "nodes of kinds other than 0 to 7; they take no time"),
            (self.launches, "CPU nodes that launch a collective; they compute for their duration"),
            (self.barriers, "barriers; each is an all-reduce of 0 bytes"),
            (self.empty, "collectives and messages of 0 bytes; they are kept"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect()
    }
}

/// All units and what each waits for.
pub(crate) struct Matched {
    pub(crate) units: Vec<Unit>,
    pub(crate) waits_for: Vec<Vec<u32>>,
    pub(crate) odd: Odd,
}

/// Matches the nodes of all ranks.
pub(crate) fn match_traces(set: &TraceSet<'_>) -> Result<Matched, FormatError> {
    let mut matcher = Matcher {
        set,
        units: Vec::new(),
        collectives: BTreeMap::new(),
        pairs: BTreeMap::new(),
        odd: Odd::default(),
    };
    let mut waits_for: Vec<Vec<u32>> = Vec::new();
    for rank in 0..set.traces.len() as u32 {
        let waits = dependencies(set, rank, &mut matcher.odd.dangling)?;
        let order = rank_order(set, rank, &waits)?;
        let unit_of = matcher.add_rank(rank, &order)?;
        waits_for.resize_with(matcher.units.len(), Vec::new);
        for (&unit, waits) in unit_of.iter().zip(&waits) {
            waits_for[unit as usize].extend(waits.iter().map(|&position| unit_of[position as usize]));
        }
    }
    matcher.check_complete()?;
    for list in &mut waits_for {
        list.sort_unstable();
        list.dedup();
    }
    Ok(Matched { units: matcher.units, waits_for, odd: matcher.odd })
}

/// The ends of a message as they come in: unit, and whether sender and receiver are known.
struct Ends {
    unit: u32,
    sender: Option<NodeRef>,
    receiver: Option<NodeRef>,
}

/// Source, target, tag, and number among those.
type PairKey = (u32, u32, u64, u32);

struct Matcher<'a> {
    set: &'a TraceSet<'a>,
    units: Vec<Unit>,
    /// By row of the communicator and number of the collective in it.
    collectives: BTreeMap<(usize, u32), u32>,
    pairs: BTreeMap<PairKey, Ends>,
    odd: Odd,
}

/// How often a rank has issued in each communicator, and sent and received on each way.
#[derive(Default)]
struct Issued {
    collectives: BTreeMap<usize, u32>,
    messages: BTreeMap<(NodeSide, u32, u32, u64), u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NodeSide {
    Sender,
    Receiver,
}

/// The next number of a counter.
fn next<K: Ord>(counters: &mut BTreeMap<K, u32>, key: K) -> u32 {
    let counter = counters.entry(key).or_default();
    *counter += 1;
    *counter - 1
}

impl Matcher<'_> {
    /// Adds a rank's nodes in the order of issue; returns the unit of each node by position.
    fn add_rank(&mut self, rank: u32, order: &[u32]) -> Result<Vec<u32>, FormatError> {
        let mut issued = Issued::default();
        let mut unit_of = vec![0; order.len()];
        for &position in order {
            let at = NodeRef { rank, position };
            let node = self.set.node(at);
            unit_of[position as usize] = match node.kind {
                NodeKind::Invalid | NodeKind::Metadata => self.add(UnitKind::Skip, rank, at),
                NodeKind::MemoryLoad | NodeKind::MemoryStore => {
                    self.odd.memory += 1;
                    self.add(UnitKind::Nothing, rank, at)
                }
                NodeKind::Other(_) => {
                    self.odd.unknown += 1;
                    self.add(UnitKind::Nothing, rank, at)
                }
                NodeKind::Compute => self.compute(at)?,
                NodeKind::Collective
                    if node.comm_type().is_none() && node.attribute("comm_type").is_none() =>
                {
                    self.odd.launches += 1;
                    self.compute(at)?
                }
                NodeKind::Collective => self.collective(at, &mut issued)?,
                NodeKind::Send => self.message(at, NodeSide::Sender, &mut issued)?,
                NodeKind::Receive => self.message(at, NodeSide::Receiver, &mut issued)?,
            };
        }
        Ok(unit_of)
    }

    fn add(&mut self, kind: UnitKind, lane: u32, at: NodeRef) -> u32 {
        self.units.push(Unit { kind, lane, nodes: vec![at] });
        self.units.len() as u32 - 1
    }

    fn compute(&mut self, at: NodeRef) -> Result<u32, FormatError> {
        let micros = self.set.node(at).duration_micros;
        let time = micros.checked_mul(PS_PER_MICRO).ok_or_else(|| {
            let accepted = format!("write at most {} microseconds", u64::MAX / PS_PER_MICRO);
            self.set.error(at, "duration_micros", "is too long", &accepted).found(&micros.to_string())
        })?;
        Ok(self.add(UnitKind::Compute(SimTime::from_ps(time)), at.rank, at))
    }

    fn collective(&mut self, at: NodeRef, issued: &mut Issued) -> Result<u32, FormatError> {
        let communicator = self.set.communicator_of(at)?;
        let number = next(&mut issued.collectives, communicator);
        let ranks = &self.set.communicators[communicator].ranks;
        let (collective, bytes) = self.work_of(at, ranks.len() as u64)?;
        let Some(&unit) = self.collectives.get(&(communicator, number)) else {
            let lane = ranks[0];
            let unit = self.add(UnitKind::Collective { collective, communicator, bytes }, lane, at);
            self.odd.empty += u64::from(bytes == 0 && !self.is_barrier(at));
            self.odd.barriers += u64::from(self.is_barrier(at));
            self.collectives.insert((communicator, number), unit);
            return Ok(unit);
        };
        let first = self.units[unit as usize].nodes[0];
        let (expected, expected_bytes) = self.work_of(first, ranks.len() as u64)?;
        let accepted = "let all ranks of a communicator issue the same collectives in the same order";
        let other = format!("node {} of rank {}, number {number} too", self.set.node(first).id, first.rank);
        let name = &self.set.communicators[communicator].name;
        if collective != expected {
            let problem =
                format!("is number {number} of communicator {name} here, but {} at {other}", expected.name());
            return Err(self.set.error(at, "comm_type", &problem, accepted).found(collective.name()));
        }
        if bytes != expected_bytes {
            let size = |at| self.set.node(at).comm_size().unwrap_or_default().to_string();
            let problem = format!(
                "is the size of number {number} of communicator {name} here, but {} at {other}",
                size(first)
            );
            return Err(self.set.error(at, "comm_size", &problem, accepted).found(&size(at)));
        }
        self.units[unit as usize].nodes.push(at);
        Ok(unit)
    }

    fn is_barrier(&self, at: NodeRef) -> bool {
        self.set.node(at).comm_type() == Some(CommType::Barrier)
    }

    /// What a collective node of a communicator of `ranks` is in a plan, and its bytes as a plan counts them.
    fn work_of(&self, at: NodeRef, ranks: u64) -> Result<(Collective, u64), FormatError> {
        let node = self.set.node(at);
        let bytes = node.comm_size().unwrap_or_default();
        let collective = match node.comm_type() {
            Some(CommType::AllReduce) => Collective::AllReduce,
            Some(CommType::AllGather) => Collective::AllGather,
            Some(CommType::ReduceScatter | CommType::ReduceScatterBlock) => Collective::ReduceScatter,
            Some(CommType::AllToAll) => Collective::AllToAll,
            Some(CommType::Broadcast) => Collective::Broadcast,
            Some(CommType::Barrier) => return Ok((Collective::AllReduce, 0)),
            Some(CommType::Reduce | CommType::Gather | CommType::Scatter) | None => {
                let accepted = "a plan has all-reduce (0), all-gather (2), broadcast (5), all-to-all (6), \
                                reduce-scatter (7 and 8) and barrier (9)";
                let found = node.attribute("comm_type").and_then(|it| it.value.as_ref());
                let found =
                    found.and_then(|value| value.as_u64()).map_or("?".to_owned(), |it| it.to_string());
                let problem = "is no collective that a plan can hold";
                return Err(self.set.error(at, "comm_type", problem, accepted).found(&found));
            }
        };
        let times = if collective == Collective::AllGather { ranks } else { 1 };
        let total = bytes.checked_mul(times).ok_or_else(|| {
            let accepted = format!("write at most {} bytes", u64::MAX / times.max(1));
            self.set.error(at, "comm_size", "is too large", &accepted).found(&bytes.to_string())
        })?;
        Ok((collective, total))
    }

    fn message(&mut self, at: NodeRef, side: NodeSide, issued: &mut Issued) -> Result<u32, FormatError> {
        let (source, target) = self.end_points(at, side)?;
        let node = self.set.node(at);
        let tag = node.comm_tag().unwrap_or_default();
        let number = next(&mut issued.messages, (side, source, target, tag));
        let key = (source, target, tag, number);
        let Some(ends) = self.pairs.get(&key) else {
            let bytes = node.comm_size().unwrap_or_default();
            let unit = self.add(UnitKind::Pair { source, target, bytes }, source, at);
            let (sender, receiver) = match side {
                NodeSide::Sender => (Some(at), None),
                NodeSide::Receiver => (None, Some(at)),
            };
            self.pairs.insert(key, Ends { unit, sender, receiver });
            return Ok(unit);
        };
        let unit = ends.unit;
        let first = self.units[unit as usize].nodes[0];
        let bytes = match (self.set.node(first).comm_size(), node.comm_size()) {
            (Some(expected), Some(bytes)) if bytes != expected => {
                let other = format!("node {} of rank {}", self.set.node(first).id, first.rank);
                let problem = format!("is the size here, but {expected} at the other end, {other}");
                let accepted = "give a send and its receive the same size and tag, in the same order";
                return Err(self.set.error(at, "comm_size", &problem, accepted).found(&bytes.to_string()));
            }
            (expected, bytes) => expected.or(bytes).unwrap_or_default(),
        };
        self.odd.empty += u64::from(bytes == 0);
        self.units[unit as usize].kind = UnitKind::Pair { source, target, bytes };
        self.units[unit as usize].nodes.push(at);
        if let Some(ends) = self.pairs.get_mut(&key) {
            match side {
                NodeSide::Sender => ends.sender = Some(at),
                NodeSide::Receiver => ends.receiver = Some(at),
            }
        }
        Ok(unit)
    }

    /// Source and target of a send or receive; a node's own end may be left out.
    fn end_points(&self, at: NodeRef, side: NodeSide) -> Result<(u32, u32), FormatError> {
        let node = self.set.node(at);
        let (own, other) = match side {
            NodeSide::Sender => (("comm_src", node.comm_src()), ("comm_dst", node.comm_dst())),
            NodeSide::Receiver => (("comm_dst", node.comm_dst()), ("comm_src", node.comm_src())),
        };
        if let (Some(_), Some(rank)) = (node.attribute(own.0), own.1)
            && rank != u64::from(at.rank)
        {
            let accepted = format!("write {}, the rank of the trace, or leave it out", at.rank);
            return Err(self.set.error(at, own.0, "is another rank", &accepted).found(&rank.to_string()));
        }
        let far = other.1.unwrap_or_default();
        if far >= self.set.traces.len() as u64 {
            let accepted = format!("there are {} traces: write a rank below that", self.set.traces.len());
            return Err(self.set.error(at, other.0, "has no trace", &accepted).found(&far.to_string()));
        }
        Ok(match side {
            NodeSide::Sender => (at.rank, far as u32),
            NodeSide::Receiver => (far as u32, at.rank),
        })
    }

    /// Every collective has all its ranks, every message both its ends.
    fn check_complete(&self) -> Result<(), FormatError> {
        for (&(row, number), &unit) in &self.collectives {
            let communicator = &self.set.communicators[row];
            let nodes = &self.units[unit as usize].nodes;
            if nodes.len() == communicator.ranks.len() {
                continue;
            }
            let absent = |rank: &&u32| !nodes.iter().any(|node| node.rank == **rank);
            let missing = communicator.ranks.iter().find(absent).map_or("?".to_owned(), u32::to_string);
            let problem = format!(
                "is number {number} of communicator {}, of which rank {missing} issues only {number}",
                communicator.name
            );
            let accepted = "let all ranks of a communicator issue the same collectives in the same order";
            let error = self.set.error(nodes[0], "collective", &problem, accepted);
            return Err(error.found(&self.set.node(nodes[0]).name));
        }
        for (&(source, target, tag, _), ends) in &self.pairs {
            let (at, what, end) = match (ends.sender, ends.receiver) {
                (Some(at), None) => (at, "receive", target),
                (None, Some(at)) => (at, "send", source),
                _ => continue,
            };
            let problem = format!("has no {what} on rank {end}");
            let accepted = "give every send one receive of the same source, target and tag";
            let error = self.set.error(at, "message", &problem, accepted);
            return Err(error.found(&format!("{source} to {target} tag {tag}")));
        }
        Ok(())
    }
}

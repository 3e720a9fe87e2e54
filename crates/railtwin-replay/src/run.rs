//! The job in time: steps, operations, stages. Every rank goes on when its own part is over.
use crate::chance::Chance;
use crate::faults::RankFaults;
use crate::network::Network;
use crate::program::{Act, Program};
use crate::trace::{Alone, EdgeTrace, Operation, RankTrace, Stage, Trace};

/// A job to go through.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'a> {
    pub(crate) network: &'a Network,
    pub(crate) program: &'a Program,
    pub(crate) faults: &'a RankFaults,
    pub(crate) chance: &'a Chance,
    pub(crate) steps: u64,
    pub(crate) start: f64,
}

/// Times of each stage by rank: when the rank had it, when the one that it sent began to leave, and was acknowledged.
struct Ring {
    got: Vec<Vec<f64>>,
    acknowledged: Vec<Vec<f64>>,
    started: Vec<Vec<f64>>,
}

impl Job<'_> {
    /// Goes through all steps, or to the one in which the job stands still.
    pub(crate) fn run(&self) -> Trace {
        let ranks = self.network.ranks();
        let mut trace = Trace {
            ranks: vec![RankTrace::default(); ranks],
            edges: vec![EdgeTrace::default(); ranks],
            ..Trace::default()
        };
        let mut now = vec![self.start; ranks];
        for step in 0..self.steps {
            self.step(step, &mut now, &mut trace);
            let finite = now.iter().copied().filter(|at| at.is_finite());
            trace.last = finite.fold(trace.last, f64::max);
            trace.is_stuck = now.iter().any(|at| !at.is_finite());
            // Who still runs waits in the operation that nobody ends.
            if trace.is_stuck && now.iter().all(|at| !at.is_finite()) {
                break;
            }
        }
        for of in &trace.ranks {
            let ends =
                of.operations.iter().flat_map(|one| [one.entered, one.ended]).chain(of.got.iter().copied());
            trace.last = ends.filter(|at| at.is_finite()).fold(trace.last, f64::max);
        }
        trace
    }

    fn step(&self, step: u64, now: &mut [f64], trace: &mut Trace) {
        let ranks = self.network.ranks();
        let mut alone: Vec<(f64, f64)> = vec![(0.0, 0.0); ranks];
        let mut is_told = false;
        for (rank, now) in now.iter_mut().enumerate() {
            let begin = self.faults.runs_from(rank, *now);
            let late = if begin.is_finite() { self.faults.late(rank, step, begin) } else { 0.0 };
            let end = self.faults.work(rank, begin, late, false);
            alone[rank].0 += end - begin;
            *now = end;
        }
        for act in &self.program.acts {
            match *act {
                Act::Load(ns) => self.alone(step, ns, false, now, &mut alone),
                Act::Compute(ns) => self.alone(step, ns, true, now, &mut alone),
                Act::Ring(bytes) => {
                    if !std::mem::replace(&mut is_told, true) {
                        tell(step, now, &alone, trace);
                    }
                    self.ring(bytes, now, trace);
                }
            }
        }
    }

    fn alone(&self, step: u64, ns: f64, computes: bool, now: &mut [f64], alone: &mut [(f64, f64)]) {
        for (rank, now) in now.iter_mut().enumerate() {
            let host = u64::from(self.network.hosts[rank]);
            let times = if computes { self.chance.compute(step, rank as u64, host) } else { 1.0 };
            let begin = self.faults.runs_from(rank, *now);
            let end = self.faults.work(rank, begin, ns * times, computes);
            let spent = if computes { &mut alone[rank].1 } else { &mut alone[rank].0 };
            *spent += end - begin;
            *now = end;
        }
    }

    /// One operation. `now` has when ranks enter, and then when they end.
    fn ring(&self, bytes: u64, now: &mut [f64], trace: &mut Trace) {
        let (network, ranks) = (self.network, self.network.ranks());
        let number = trace.ranks[0].operations.len() as u64;
        let stage_bytes = bytes as f64 * network.share / network.stages as f64;
        let ahead = (network.window / stage_bytes.max(1.0)).floor().max(1.0) as usize;
        let times: Vec<f64> = (0..ranks as u64).map(|edge| self.chance.edge(number, edge)).collect();
        let mut ring = Ring { got: Vec::new(), acknowledged: Vec::new(), started: Vec::new() };
        for stage in 0..network.stages {
            for rank in 0..ranks {
                let have = if stage == 0 { now[rank] } else { ring.got[stage - 1][rank] };
                // The window slides: as the stage before it drains, the next one follows.
                let room = stage
                    .checked_sub(ahead)
                    .map_or(0.0, |before| ring.started[before][rank] + network.hop_ns);
                let ready = self.faults.runs_from(rank, have.max(room));
                let free = trace.edges[rank].stages.last().map_or(0.0, |stage| stage.end);
                let start = ready.max(free);
                let draws = (self.chance, number * network.stages as u64 + stage as u64);
                let end =
                    network.carry(rank, (start, stage_bytes, times[rank]), draws, &mut trace.edges[rank]);
                let one = Stage { ready, start, end, acknowledged: f64::INFINITY, bytes: stage_bytes };
                trace.edges[rank].stages.push(one);
            }
            self.end_stage(now, &mut ring, trace);
        }
        for (rank, now) in now.iter_mut().enumerate() {
            let last = network.stages - 1;
            let over = ring.got[last][rank].max(ring.acknowledged[last][rank]);
            let ended = self.faults.runs_from(rank, over);
            let of = &mut trace.ranks[rank];
            of.operations.push(Operation { entered: *now, ended, bytes });
            of.got.extend(ring.got.iter().map(|stage| stage[rank]));
            *now = ended;
        }
    }

    /// When the ranks have the stage that was just sent, and when it is acknowledged.
    fn end_stage(&self, entered: &[f64], ring: &mut Ring, trace: &mut Trace) {
        let (network, ranks) = (self.network, self.network.ranks());
        ring.started
            .push(trace.edges.iter().map(|edge| edge.stages.last().map_or(0.0, |one| one.start)).collect());
        let ends: Vec<f64> =
            (trace.edges.iter()).map(|edge| edge.stages.last().map_or(0.0, |one| one.end)).collect();
        let got = (0..ranks).map(|rank| {
            let from = network.predecessor[rank];
            let arrived = ends[from] + network.hop(from, ends[from]);
            self.faults.runs_from(rank, arrived.max(entered[rank]))
        });
        ring.got.push(got.collect());
        let acknowledged: Vec<f64> = (0..ranks)
            .map(|rank| network.acknowledged(rank, ends[rank] + network.hop(rank, ends[rank]), &trace.edges))
            .collect();
        for (edge, at) in trace.edges.iter_mut().zip(&acknowledged) {
            if let Some(stage) = edge.stages.last_mut() {
                stage.acknowledged = *at;
            }
        }
        ring.acknowledged.push(acknowledged);
    }
}

fn tell(step: u64, now: &[f64], alone: &[(f64, f64)], trace: &mut Trace) {
    for ((rank, now), (data_ns, compute_ns)) in trace.ranks.iter_mut().zip(now).zip(alone) {
        if now.is_finite() {
            rank.alone.push(Alone { step, end: *now, data_ns: *data_ns, compute_ns: *compute_ns });
        }
    }
}

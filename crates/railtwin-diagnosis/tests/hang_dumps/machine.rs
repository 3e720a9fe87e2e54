//! Jobs as CUDA and NCCL run them, cut at any moment: what the Flight Recorder of each rank would hold.
//!
//! Nothing here knows of who waits for whom. A rank has a program, which its CPU goes through; kernels of computation run on
//! one stream, those of each communicator on a stream of its own, each in order. A kernel of a communicator begins when its
//! CPU has launched it, when what was launched before it on the stream of computation has ended, and when the one before it
//! on its own stream has. It ends when all whom it needs have begun and its time is over. Times are found as the least fixed
//! point of this; what never ends has the time `NEVER`.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::hang::dumps::{DumpedGroup, DumpedOperation, Dumps, RankDump, Work};
use railtwin_units::stream::Stream;
use rand::RngExt;

pub const NEVER: f64 = f64::INFINITY;

/// What an operation is, by whom it needs.
#[derive(Clone, Debug)]
pub enum Kind {
    Whole,
    /// The root ends when it has begun; others need it.
    Broadcast(u32),
    /// Pairs of ranks that have nothing for each other.
    AllToAll(BTreeSet<(u32, u32)>),
    Send(u32),
    Receive(u32),
}

/// What a CPU does next.
#[derive(Clone, Debug)]
pub enum Item {
    /// It works for itself, in seconds.
    Cpu(f64),
    /// It launches a kernel of computation.
    Compute(f64),
    /// It launches an operation of a communicator: number in the job, communicator, what it is.
    Launch { operation: usize, group: usize, kind: Kind },
    /// It has the stream of computation wait for an operation.
    Wait(usize),
    /// It waits until its GPU has done all.
    Sync,
}

#[derive(Clone, Debug)]
pub struct Job {
    pub groups: Vec<DumpedGroup>,
    pub programs: Vec<Vec<Item>>,
    /// How long each operation takes from when all have begun.
    pub takes: Vec<f64>,
}

/// What goes wrong at a rank.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fault {
    /// Its CPU stops before this item of its program.
    CpuStops(usize),
    /// Its kernel of computation of this item, or the next one, does not end.
    KernelHangs(usize),
    /// From this item on its process sees no end any more, its GPU goes on for some, and its CPU stops after some more.
    Blind { from: usize, gpu: usize, cpu: usize },
}

/// One operation at one rank.
#[derive(Clone, Copy, Debug)]
struct Launched {
    rank: u32,
    group: usize,
    record: u64,
    created: f64,
    ready: f64,
    end: f64,
    /// Whether its process sees its end.
    seen: bool,
}

/// All times of a job.
pub struct Past {
    launched: BTreeMap<(usize, u32), Launched>,
    kinds: BTreeMap<(usize, u32), Kind>,
    pub last: f64,
}

/// Runs a job until nothing changes.
pub fn run(job: &Job, faults: &BTreeMap<u32, Fault>) -> Past {
    let mut ends: BTreeMap<(usize, u32), f64> = BTreeMap::new();
    loop {
        let mut past = Past { launched: BTreeMap::new(), kinds: BTreeMap::new(), last: 0.0 };
        for (rank, program) in job.programs.iter().enumerate() {
            go_through(job, rank as u32, program, faults.get(&(rank as u32)), &ends, &mut past);
        }
        let mut found = BTreeMap::new();
        for (&(operation, rank), one) in &past.launched {
            let peer_ready =
                |peer: u32| past.launched.get(&(operation, peer)).map_or(NEVER, |launched| launched.ready);
            let members = job.groups[one.group].ranks.iter().copied().filter(|peer| *peer != rank);
            let needed: Vec<u32> = match &past.kinds[&(operation, rank)] {
                Kind::Whole => members.collect(),
                Kind::Broadcast(root) if *root == rank => Vec::new(),
                Kind::Broadcast(root) => vec![*root],
                Kind::AllToAll(empty) => members
                    .filter(|peer| !empty.contains(&(rank, *peer)) || !empty.contains(&(*peer, rank)))
                    .collect(),
                Kind::Send(peer) | Kind::Receive(peer) => vec![*peer],
            };
            let begun = needed.into_iter().map(peer_ready).fold(one.ready, f64::max);
            found.insert((operation, rank), begun + job.takes[operation]);
        }
        if found == ends {
            for (key, one) in &mut past.launched {
                one.end = found[key];
                past.last = [past.last, one.end, one.created]
                    .into_iter()
                    .filter(|time| time.is_finite())
                    .fold(0.0, f64::max);
            }
            return past;
        }
        ends = found;
    }
}

fn go_through(
    job: &Job,
    rank: u32,
    program: &[Item],
    fault: Option<&Fault>,
    ends: &BTreeMap<(usize, u32), f64>,
    past: &mut Past,
) {
    let (mut cpu, mut stream) = (0.0_f64, 0.0_f64);
    let mut of_group: BTreeMap<(usize, u32), f64> = BTreeMap::new();
    let mut records = 0;
    for (at, item) in program.iter().enumerate() {
        let (mut hangs, mut seen, mut gpu) = (false, true, true);
        match fault {
            Some(Fault::CpuStops(stop)) if at >= *stop => return,
            Some(Fault::KernelHangs(from)) => hangs = at >= *from,
            Some(Fault::Blind { from, gpu: stops, cpu }) => {
                if at >= *cpu {
                    return;
                }
                (seen, gpu) = (at < *from, at < *stops);
            }
            _ => {}
        }
        match item {
            Item::Cpu(time) => cpu += time,
            Item::Compute(time) => stream = if hangs { NEVER } else { cpu.max(stream) + time },
            Item::Launch { operation, group, kind } => {
                cpu += 1e-5;
                // Sends and receives of a pair have a stream of their own.
                let lane = match kind {
                    Kind::Send(peer) | Kind::Receive(peer) => (*group, *peer),
                    _ => (*group, u32::MAX),
                };
                let before = of_group.get(&lane).copied().unwrap_or(0.0);
                let ready = if gpu { cpu.max(stream).max(before) } else { NEVER };
                let end = ends.get(&(*operation, rank)).copied().unwrap_or(NEVER);
                of_group.insert(lane, end.max(ready));
                records += 1;
                let one = Launched { rank, group: *group, record: records, created: cpu, ready, end, seen };
                past.launched.insert((*operation, rank), one);
                past.kinds.insert((*operation, rank), kind.clone());
            }
            Item::Wait(operation) => {
                stream = stream.max(ends.get(&(*operation, rank)).copied().unwrap_or(NEVER));
            }
            Item::Sync => cpu = cpu.max(stream),
        }
        if cpu == NEVER {
            return;
        }
    }
    let _ = job;
}

/// How dumps are made.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// When.
    pub at: f64,
    /// By how much dumps of ranks are earlier, at most.
    pub apart: f64,
    /// How late a watchdog sees an end, at most.
    pub lag: f64,
    /// Whether only what has not ended is in them.
    pub only_open: bool,
    /// Whether starts are recorded.
    pub starts: bool,
}

/// The dumps of all ranks at one moment.
pub fn dumps(job: &Job, past: &Past, cut: Cut, rng: &mut Stream) -> Dumps {
    let mut all = Dumps { groups: job.groups.clone(), ..Dumps::default() };
    for rank in 0..job.programs.len() as u32 {
        let mut dump = RankDump { rank, is_whole: !cut.only_open, counts_all: true, ..RankDump::default() };
        let at = cut.at - cut.apart * rng.random::<f64>().powi(3);
        let lags: Vec<f64> = job.groups.iter().map(|_| cut.lag * rng.random::<f64>()).collect();
        let mut own: Vec<(usize, &Launched)> = (past.launched.iter())
            .filter(|((_, of), one)| *of == rank && one.created <= at)
            .map(|((operation, _), one)| (*operation, one))
            .collect();
        own.sort_by_key(|(_, one)| one.record);
        let mut numbers: BTreeMap<(usize, bool), u64> = BTreeMap::new();
        for (operation, one) in own {
            let kind = &past.kinds[&(operation, one.rank)];
            let work = match kind {
                Kind::Whole => Work::Whole,
                Kind::Broadcast(_) | Kind::AllToAll(_) => Work::Partial,
                Kind::Send(peer) => Work::Peers([(*peer, true)].into()),
                Kind::Receive(peer) => Work::Peers([(*peer, false)].into()),
            };
            let number = numbers.entry((one.group, matches!(work, Work::Peers(_)))).or_insert(0);
            *number += 1;
            let completed = one.seen && one.end <= at - lags[one.group];
            let status = dump.status.entry(one.group).or_insert((None, Some(0)));
            status.0 = Some(*number);
            if completed {
                status.1 = Some(*number);
            }
            if completed && cut.only_open {
                continue;
            }
            let ns = |time: f64| if time.is_finite() { (time * 1e9) as u64 } else { 0 };
            dump.operations.push(DumpedOperation {
                group: one.group,
                sequence: *number,
                record: one.record,
                work,
                name: format!("{kind:?}").split(['(', ' ']).next().unwrap_or_default().to_owned(),
                call: Some(format!("{kind:?}")),
                started: cut.starts.then_some(one.ready <= at - lags[one.group]),
                completed,
                given_up: false,
                created_ns: ns(one.created),
                last_ns: ns(if completed { one.end } else { one.created }),
                timeout_ns: Some(600_000_000_000),
                frame: None,
            });
        }
        all.dumps.push(dump);
    }
    all
}

/// A job drawn at random: data-parallel only with overlapped buckets, or tensor, pipeline and expert parallelism.
pub fn draw(rng: &mut Stream) -> Job {
    if rng.random_bool(0.3) { data_parallel(rng) } else { megatron(rng) }
}

fn data_parallel(rng: &mut Stream) -> Job {
    let ranks = rng.random_range(2..9_u32);
    let mut draft = Draft::of(ranks as usize, rng.random_range(0.0..0.5));
    let all = draft.group("0", (0..ranks).collect());
    let (steps, buckets) = (rng.random_range(3..7), rng.random_range(1..6));
    let sync = rng.random_bool(0.5);
    for _ in 0..steps {
        let mut open = Vec::new();
        draft.everyone(Item::Cpu(2e-4), rng);
        for _ in 0..buckets {
            draft.everyone(Item::Compute(1e-3), rng);
            open.push(draft.collective(all, Kind::Whole, 5e-4));
        }
        for operation in open {
            draft.everyone(Item::Wait(operation), rng);
        }
        if sync {
            draft.everyone(Item::Sync, rng);
        }
    }
    draft.job
}

fn megatron(rng: &mut Stream) -> Job {
    let tensor = rng.random_range(1..3_u32);
    let data = rng.random_range(1..4_u32) * if tensor == 1 { 2 } else { 1 };
    let stages = rng.random_range(1..4_u32);
    let per_stage = tensor * data;
    let mut draft = Draft::of((per_stage * stages) as usize, rng.random_range(0.0..0.3));
    let rank = |stage: u32, d: u32, t: u32| stage * per_stage + d * tensor + t;
    let mut of_tensor = BTreeMap::new();
    let mut of_stage = Vec::new();
    for stage in 0..stages {
        for d in 0..data {
            if tensor > 1 {
                let name = format!("t{stage}.{d}");
                of_tensor
                    .insert((stage, d), draft.group(&name, (0..tensor).map(|t| rank(stage, d, t)).collect()));
            }
        }
        let members = || (stage * per_stage..(stage + 1) * per_stage).collect::<Vec<u32>>();
        of_stage.push((
            draft.group(&format!("e{stage}"), members()),
            draft.group(&format!("d{stage}"), members()),
        ));
    }
    let pipes: Vec<Vec<usize>> = (0..data)
        .map(|d| {
            (0..tensor)
                .map(|t| draft.group(&format!("p{d}.{t}"), (0..stages).map(|s| rank(s, d, t)).collect()))
                .collect()
        })
        .collect();
    let sync = rng.random_bool(0.6);
    for _ in 0..rng.random_range(1..4) {
        for _ in 0..rng.random_range(1..4) {
            for back in [false, true] {
                let order: Vec<u32> = if back { (0..stages).rev().collect() } else { (0..stages).collect() };
                for (place, &stage) in order.iter().enumerate() {
                    let from = place.checked_sub(1).map(|before| order[before]);
                    for d in 0..data {
                        for t in 0..tensor {
                            if let Some(from) = from {
                                draft.send(
                                    pipes[d as usize][t as usize],
                                    rank(from, d, t),
                                    rank(stage, d, t),
                                    1e-4,
                                );
                            }
                        }
                        if let Some(&group) = of_tensor.get(&(stage, d)) {
                            if rng.random_bool(0.3) {
                                draft.collective_waited(group, Kind::Broadcast(rank(stage, d, 0)), 5e-5);
                            }
                            draft.some(stage * per_stage..(stage + 1) * per_stage, Item::Compute(5e-4), rng);
                            draft.collective_waited(group, Kind::Whole, 1e-4);
                        }
                    }
                    let (expert, gather) = of_stage[stage as usize];
                    if per_stage > 1 {
                        draft.collective_waited(gather, Kind::Whole, 5e-5);
                        let members = stage * per_stage..(stage + 1) * per_stage;
                        if sync {
                            draft.some(members.clone(), Item::Sync, rng);
                        }
                        let mut empty = BTreeSet::new();
                        for a in members.clone() {
                            empty.extend(
                                members.clone().filter(|b| *b != a && rng.random_bool(0.2)).map(|b| (a, b)),
                            );
                        }
                        for _ in 0..2 {
                            draft.collective_waited(expert, Kind::AllToAll(empty.clone()), 2e-4);
                            draft.some(members.clone(), Item::Compute(3e-4), rng);
                        }
                    }
                }
            }
        }
        for &(_, group) in &of_stage {
            if per_stage > 1 {
                draft.collective_waited(group, Kind::Whole, 1e-3);
            }
        }
        draft.everyone(Item::Sync, rng);
    }
    draft.job
}

/// A job in the making.
struct Draft {
    job: Job,
    /// By how much times of ranks differ.
    jitter: f64,
}

impl Draft {
    fn of(ranks: usize, jitter: f64) -> Self {
        let job = Job { groups: Vec::new(), programs: vec![Vec::new(); ranks], takes: Vec::new() };
        Self { job, jitter }
    }

    fn group(&mut self, name: &str, ranks: Vec<u32>) -> usize {
        self.job.groups.push(DumpedGroup { name: name.into(), description: String::new(), ranks });
        self.job.groups.len() - 1
    }

    fn some(&mut self, ranks: std::ops::Range<u32>, item: Item, rng: &mut Stream) {
        for rank in ranks {
            let factor = 1.0 + self.jitter * rng.random::<f64>();
            let item = match &item {
                Item::Cpu(time) => Item::Cpu(time * factor),
                Item::Compute(time) => Item::Compute(time * factor),
                other => other.clone(),
            };
            self.job.programs[rank as usize].push(item);
        }
    }

    fn everyone(&mut self, item: Item, rng: &mut Stream) {
        self.some(0..self.job.programs.len() as u32, item, rng);
    }

    fn launch(&mut self, rank: u32, operation: usize, group: usize, kind: Kind) {
        self.job.programs[rank as usize].push(Item::Launch { operation, group, kind });
    }

    fn collective(&mut self, group: usize, kind: Kind, takes: f64) -> usize {
        self.job.takes.push(takes);
        let operation = self.job.takes.len() - 1;
        for rank in self.job.groups[group].ranks.clone() {
            self.launch(rank, operation, group, kind.clone());
        }
        operation
    }

    fn collective_waited(&mut self, group: usize, kind: Kind, takes: f64) {
        let operation = self.collective(group, kind, takes);
        for rank in self.job.groups[group].ranks.clone() {
            self.job.programs[rank as usize].push(Item::Wait(operation));
        }
    }

    /// A send that nobody waits for and a receive that the computation does.
    fn send(&mut self, group: usize, from: u32, to: u32, takes: f64) {
        self.job.takes.push(takes);
        let operation = self.job.takes.len() - 1;
        self.launch(from, operation, group, Kind::Send(to));
        self.launch(to, operation, group, Kind::Receive(from));
        self.job.programs[to as usize].push(Item::Wait(operation));
    }
}

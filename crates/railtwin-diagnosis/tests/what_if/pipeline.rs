//! A pipeline-parallel job that is played through operation by operation, with no graph: each rank does what is next in
//! its schedule as soon as what it needs is there.
use std::collections::BTreeMap;

use railtwin_diagnosis::what_if::{Operation, Role, Way, Work};

use crate::common::Lot;

/// Kinds of operations.
pub const KINDS: [&str; 9] = [
    "forward-compute",
    "backward-compute",
    "forward-pp-comm",
    "backward-pp-comm",
    "grads-reduce-scatter",
    "params-all-gather",
    "optimizer-clip-main-grad",
    "optimizer",
    "gc",
];

/// A job: one forward, one backward (1F1B), gradients over replicas at the end of the step.
#[derive(Clone, Debug)]
pub struct Job {
    pub replicas: u32,
    pub stages: u32,
    pub microbatches: u32,
    pub steps: u64,
    /// Forward computation of a microbatch, nanoseconds; backward takes twice as long.
    pub forward_ns: f64,
    /// Times that the last stage takes.
    pub last_stage: f64,
    /// Deviations of time, as shares: of a rank, of a replica (its data).
    pub jitter: [f64; 2],
    /// Deviation of the logarithm of a microbatch's work.
    pub lengths: f64,
    /// Chance of a pause of three forward computations before each, and whether it is recorded.
    pub pauses: (f64, bool),
    /// Rank, times that its computation takes, share of steps in which it does.
    pub slow: Vec<(u32, f64, f64)>,
    /// Replica and times that all its computation takes.
    pub slow_replica: Option<(u32, f64)>,
    /// Replica, stage, times that transfers with the next stage take.
    pub slow_pair: Option<(u32, u32, f64)>,
    /// Stage and times that the reduce-scatter of its replicas takes.
    pub slow_group: Option<(u32, f64)>,
    /// Rank and times that its optimizer takes.
    pub slow_optimizer: Vec<(u32, f64)>,
    /// Step, and times that all computation takes in it; of one rank alone, or of all.
    pub long_step: Option<(u64, f64, Option<u32>)>,
    /// Whether a receive is recorded from when it is posted or only while bytes move.
    pub posted: bool,
    pub seed: u64,
}

impl Job {
    pub fn healthy(replicas: u32, stages: u32, seed: u64) -> Self {
        Self {
            replicas,
            stages,
            microbatches: 8,
            steps: 32,
            forward_ns: 1e7,
            last_stage: 1.0,
            // What the real trace ST has beside what all of its ranks share.
            jitter: [0.0023, 0.0050],
            lengths: 0.0,
            pauses: (0.0, false),
            slow: Vec::new(),
            slow_replica: None,
            slow_pair: None,
            slow_group: None,
            slow_optimizer: Vec::new(),
            long_step: None,
            posted: true,
            seed,
        }
    }

    pub fn rank(&self, replica: u32, stage: u32) -> u32 {
        stage * self.replicas + replica
    }

    /// Plays the job through. Times of each step start at the end of the one before. Also gives the time of each step.
    pub fn play(&self) -> (Work, Vec<f64>) {
        let mut work = Work { kinds: KINDS.map(str::to_owned).to_vec(), operations: Vec::new() };
        let mut lot = Lot(self.seed);
        let (mut base, mut took) = (1e9, Vec::new());
        for step in 0..self.steps {
            let end = Step { job: self, step, base, lot: &mut lot, work: &mut work }.play();
            took.push(end - base);
            base = end + 1e6;
        }
        (work, took)
    }
}

/// What has come to pass in one replica's step.
#[derive(Default)]
struct Books {
    /// What a transfer takes.
    transfer: f64,
    /// When the step's first computation may begin.
    started: f64,
    /// By stage, when it is through with what it computed.
    free: Vec<f64>,
    /// When inputs of a stage and microbatch are there.
    arrived: BTreeMap<(u32, u32, Way), f64>,
    /// Ends of the last receives and sends of a stage.
    last_receive: BTreeMap<(u32, Way), f64>,
    last_send: BTreeMap<(u32, Way), f64>,
}

struct Step<'a> {
    job: &'a Job,
    step: u64,
    base: f64,
    lot: &'a mut Lot,
    work: &'a mut Work,
}

/// Order of computations of a stage, as microbatch and way: warm-up, one forward one backward, the rest.
fn schedule(stage: u32, stages: u32, microbatches: u32) -> Vec<(u32, Way)> {
    let warm = (stages - 1 - stage).min(microbatches);
    let mut all: Vec<(u32, Way)> = (0..warm).map(|one| (one, Way::Forward)).collect();
    for one in 0..microbatches - warm {
        all.extend([(warm + one, Way::Forward), (one, Way::Backward)]);
    }
    all.extend((microbatches - warm..microbatches).map(|one| (one, Way::Backward)));
    all
}

impl Step<'_> {
    fn put(
        &mut self,
        replica: u32,
        stage: u32,
        kind: u32,
        role: Role,
        group: Option<u32>,
        what: (u64, f64, f64),
    ) {
        let (number, start, end) = what;
        self.work.operations.push(Operation {
            rank: self.job.rank(replica, stage),
            replica,
            stage,
            place: 0,
            chunk: stage,
            step: self.step,
            kind,
            role,
            group,
            number,
            start_ns: start.round() as u64,
            duration_ns: (end.round() - start.round()).max(0.0) as u64,
        });
    }

    fn play(&mut self) -> f64 {
        let job = self.job;
        let transfer = job.forward_ns / 50.0;
        // Parameters are gathered before all else.
        let started = self.base + job.forward_ns / 10.0;
        for replica in 0..job.replicas {
            for stage in 0..job.stages {
                self.put(replica, stage, 5, Role::Collective, Some(stage), (0, self.base, started));
            }
        }
        let lengths: Vec<Vec<f64>> = (0..job.replicas)
            .map(|_| (0..job.microbatches).map(|_| (job.lengths * self.lot.normal()).exp()).collect())
            .collect();
        let mut done = vec![vec![0.0; job.stages as usize]; job.replicas as usize];
        for replica in 0..job.replicas {
            self.pipeline(
                replica,
                started,
                transfer,
                &lengths[replica as usize],
                &mut done[replica as usize],
            );
        }
        // Gradients of a stage over replicas, then the norm over all, then the optimizer.
        let mut synced = 0.0_f64;
        let mut ends = vec![0.0; job.stages as usize];
        for stage in 0..job.stages as usize {
            let latest = done.iter().map(|of| of[stage]).fold(0.0, f64::max);
            let slow =
                job.slow_group.filter(|(slow, _)| *slow as usize == stage).map_or(1.0, |(_, times)| times);
            ends[stage] = latest + slow * job.forward_ns / 5.0;
            synced = synced.max(ends[stage]);
            for replica in 0..job.replicas {
                let what = (0, done[replica as usize][stage], ends[stage]);
                self.put(replica, stage as u32, 4, Role::Collective, Some(stage as u32), what);
            }
        }
        let clipped = synced + job.forward_ns / 40.0;
        let mut end = clipped;
        for replica in 0..job.replicas {
            for stage in 0..job.stages {
                let all = Some(1_000_000);
                self.put(replica, stage, 6, Role::Collective, all, (0, ends[stage as usize], clipped));
                let rank = job.rank(replica, stage);
                let slow = job.slow_optimizer.iter().find(|(slow, _)| *slow == rank);
                let through = clipped + slow.map_or(1.0, |(_, times)| *times) * job.forward_ns / 20.0;
                self.put(replica, stage, 7, Role::Alone, None, (0, clipped, through));
                end = end.max(through);
            }
        }
        end
    }

    fn time(&mut self, replica: u32, stage: u32, shared: f64, way: Way) -> f64 {
        let job = self.job;
        let rank = job.rank(replica, stage);
        let mut time = job.forward_ns * if way == Way::Forward { 1.0 } else { 2.0 } * shared;
        time *= 1.0 + job.jitter[0] * self.lot.normal();
        if stage + 1 == job.stages {
            time *= job.last_stage;
        }
        for &(slow, times, share) in &job.slow {
            // Steps are slow in stretches of four.
            let part = (Lot(job.seed ^ (0x9e37 * (self.step / 4 + 1))).uniform() * 1e6) % 1.0;
            if slow == rank && part < share {
                time *= times;
            }
        }
        if let Some((_, times, _)) =
            job.long_step.filter(|&(long, _, of)| long == self.step && of.is_none_or(|of| of == rank))
        {
            time *= times;
        }
        if job.slow_replica.is_some_and(|(slow, _)| slow == replica) {
            time *= job.slow_replica.map_or(1.0, |(_, times)| times);
        }
        time
    }

    fn pipeline(&mut self, replica: u32, started: f64, transfer: f64, lengths: &[f64], done: &mut [f64]) {
        let job = self.job;
        let shared = 1.0 + job.jitter[1] * self.lot.normal();
        let orders: Vec<Vec<(u32, Way)>> =
            (0..job.stages).map(|stage| schedule(stage, job.stages, job.microbatches)).collect();
        let mut next = vec![0_usize; job.stages as usize];
        let mut books =
            Books { transfer, started, free: vec![started; job.stages as usize], ..Books::default() };
        let mut moved = true;
        while moved {
            moved = false;
            for stage in 0..job.stages {
                let at = stage as usize;
                let Some(&(batch, way)) = orders[at].get(next[at]) else { continue };
                let first = if way == Way::Forward { 0 } else { job.stages - 1 };
                let arrived = books.arrived.get(&(stage, batch, way)).copied();
                let ready = if stage == first { Some(started) } else { arrived };
                let Some(ready) = ready else { continue };
                let mut start = books.free[at].max(ready);
                let mut time = self.time(replica, stage, shared * lengths[batch as usize], way);
                if way == Way::Forward && self.lot.uniform() < job.pauses.0 {
                    let pause = 3.0 * job.forward_ns;
                    if job.pauses.1 {
                        self.put(replica, stage, 8, Role::Pause, None, (batch.into(), start, start + pause));
                        start += pause;
                    } else {
                        // The process launches its kernels late: it looks as if the computation took longer.
                        time += pause;
                    }
                }
                books.free[at] = self.computed(replica, stage, batch, way, start, time);
                self.hand_on(replica, stage, (batch, way), &mut books);
                next[at] += 1;
                moved = true;
            }
        }
        done.copy_from_slice(&books.free);
    }

    fn computed(&mut self, replica: u32, stage: u32, batch: u32, way: Way, start: f64, time: f64) -> f64 {
        let kind = u32::from(way == Way::Backward);
        self.put(replica, stage, kind, Role::Compute(way), None, (batch.into(), start, start + time));
        start + time
    }

    /// Sends what was computed to the stage that is next.
    fn hand_on(&mut self, replica: u32, stage: u32, (batch, way): (u32, Way), books: &mut Books) {
        let job = self.job;
        let to = match way {
            Way::Forward if stage + 1 < job.stages => stage + 1,
            Way::Backward if stage > 0 => stage - 1,
            _ => return,
        };
        let pair = stage.min(to);
        let slow =
            job.slow_pair.filter(|&(r, s, _)| (r, s) == (replica, pair)).map_or(1.0, |(.., times)| times);
        let time = books.transfer * slow * (1.0 + 0.02 * self.lot.normal());
        let posted = books.last_receive.get(&(to, way)).copied().unwrap_or(books.started);
        let begun =
            books.free[stage as usize].max(books.last_send.get(&(stage, way)).copied().unwrap_or(0.0));
        let through = begun.max(posted) + time;
        let group = 1000 + 2 * (replica * job.stages + pair) + u32::from(way == Way::Backward);
        let kind = 2 + u32::from(way == Way::Backward);
        let number = u64::from(batch);
        self.put(replica, stage, kind, Role::Send(way), Some(group), (number, begun, through));
        let from = if job.posted { posted } else { begun.max(posted) };
        self.put(replica, to, kind, Role::Receive(way), Some(group), (number, from, through));
        books.arrived.insert((to, batch, way), through);
        books.last_receive.insert((to, way), through);
        books.last_send.insert((stage, way), through);
    }
}

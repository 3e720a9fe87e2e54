//! Which operations may start: dependencies counted down, computations timed, communicators in turn.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use railtwin_engine::{Beside, RankFault, RunLog, WorkGraph};
use railtwin_units::SimTime;
use railtwin_workload::{Axis, OperationId, Plan, Work};

use crate::flight::Flight;
use crate::ranks::Ranks;

/// Operations of a step that the next one waits for.
fn in_step(plan: &Plan) -> u32 {
    (plan.operations.len() - plan.occasional.iter().filter(|one| one.loose).count()) as u32
}

/// One job's operations and what they wait for.
#[derive(Debug)]
struct Job {
    /// Successors of each operation of a step.
    successor_start: Vec<u32>,
    successors: Vec<u32>,
    step: u32,
    /// Operations of the step that the next one waits for.
    left_in_step: u32,
    /// Of all steps those that none waits for.
    loose_left: u64,
    /// A queue pair died: nothing of the job starts or ends any more.
    halted: bool,
}

/// The operations of a case in the order in which they may start.
#[derive(Debug)]
pub struct WorkOrder<'a> {
    work: &'a WorkGraph,
    draw: u64,
    jobs: Vec<Job>,
    waiting: Vec<u32>,
    /// Ends of computations and of latencies after transfers, by time and operation.
    ends: BinaryHeap<Reverse<(SimTime, u32)>>,
    /// Operations that may start now.
    ready: Vec<u32>,
    /// Jobs that start later.
    starts: Vec<(SimTime, usize)>,
    /// Jobs whose processes are ended at a time, the first behind.
    quits: Vec<(SimTime, usize)>,
    /// Jobs whose processes were ended while they were at work.
    quit: Vec<bool>,
    /// By job: when a rank stops for good; never where none does.
    stands_from: Vec<SimTime>,
    start: Vec<SimTime>,
    end: Vec<SimTime>,
    last_end: SimTime,
    /// Jobs all of whose operations have ended, of which nobody was told.
    over: Vec<u32>,
    /// Ranks in trouble.
    ranks: Ranks,
    /// Operations that are ready and wait for a rank in trouble, by the time at which it comes.
    held: BinaryHeap<Reverse<(SimTime, u32)>>,
    /// What computes beside collectives.
    beside: Beside,
}

impl<'a> WorkOrder<'a> {
    /// All operations waiting; some ranks are in trouble. `draw` is that of the replicate.
    pub fn new(work: &'a WorkGraph, faults: &[RankFault], draw: u64) -> Self {
        let mut order = Self {
            work,
            draw,
            jobs: Vec::new(),
            waiting: Vec::with_capacity(work.operations),
            ends: BinaryHeap::new(),
            ready: Vec::new(),
            starts: Vec::new(),
            quits: Vec::new(),
            quit: vec![false; work.jobs.len()],
            stands_from: Vec::new(),
            start: vec![SimTime::NEVER; work.operations],
            end: vec![SimTime::NEVER; work.operations],
            last_end: SimTime::ZERO,
            over: Vec::new(),
            ranks: Ranks::new(work, faults),
            held: BinaryHeap::new(),
            beside: Beside::default(),
        };
        for (row, job) in work.jobs.iter().enumerate() {
            order.stands_from.push(RankFault::for_good(faults, row as u32).unwrap_or(SimTime::NEVER));
            let plan = &job.plan;
            let count = plan.operations.len();
            let waits = |i: usize| plan.dependency_start[i + 1] - plan.dependency_start[i];
            for _ in 0..job.steps {
                order.waiting.extend((0..count).map(waits));
            }
            order.jobs.push(Job {
                successor_start: Vec::new(),
                successors: Vec::new(),
                step: 0,
                left_in_step: in_step(&job.plan),
                loose_left: u64::from(count as u32 - in_step(&job.plan)) * u64::from(job.steps),
                halted: false,
            });
            order.index_successors(row);
            if job.steps > 0 && count > 0 {
                order.starts.push((job.start, row));
                if job.until < SimTime::NEVER {
                    order.quits.push((job.until, row));
                }
            }
        }
        order.quits.sort_unstable_by(|a, b| b.cmp(a));
        order.starts.sort_unstable_by(|a, b| b.cmp(a));
        order
    }

    fn index_successors(&mut self, row: usize) {
        let plan = &self.work.jobs[row].plan;
        let count = plan.operations.len();
        let mut start = vec![0_u32; count + 1];
        for dependency in &plan.dependencies {
            start[dependency.index() + 1] += 1;
        }
        for i in 0..count {
            start[i + 1] += start[i];
        }
        let mut fill = start.clone();
        let mut successors = vec![0; plan.dependencies.len()];
        for i in 0..count {
            for dependency in plan.dependencies_of(OperationId::from_index(i)) {
                successors[fill[dependency.index()] as usize] = i as u32;
                fill[dependency.index()] += 1;
            }
        }
        self.jobs[row].successor_start = start;
        self.jobs[row].successors = successors;
    }

    /// Whether a job whose processes are ended at a time had come to stand still for good before.
    fn stood_still(&self, row: usize, quit: SimTime) -> bool {
        self.jobs[row].halted || self.stands_from[row] < quit
    }

    /// When something happens next here; `moving` says whether anything in flight goes on. Where nothing is left but the end
    /// of processes that stand still, nothing happens any more.
    pub fn next_time(&self, moving: bool) -> Option<SimTime> {
        let end = self.ends.peek().map(|Reverse((time, _))| *time);
        let start = self.starts.last().map(|(time, _)| *time);
        let held = self.held.peek().map(|Reverse((time, _))| *time);
        let quit = self.quits.last().map(|(time, _)| *time);
        let work = [end, start, held].into_iter().flatten().min();
        let ends_work =
            moving || work.is_some() || !self.quits.iter().all(|&(at, row)| self.stood_still(row, at));
        work.into_iter().chain(quit.filter(|_| ends_work)).min()
    }

    /// Starts the jobs of time zero.
    pub fn release(&mut self, flight: &mut Flight) {
        self.start_jobs(SimTime::ZERO);
        self.start_ready(SimTime::ZERO, flight);
    }

    fn start_jobs(&mut self, now: SimTime) {
        while let Some(&(time, row)) = self.starts.last()
            && time <= now
        {
            self.starts.pop();
            self.release_step(row, now);
        }
    }

    /// Makes the operations of a job's current step ready that wait for nothing.
    fn release_step(&mut self, row: usize, now: SimTime) {
        self.ranks.begin_step(row, self.jobs[row].step, now);
        let job = &self.work.jobs[row];
        let count = job.plan.operations.len() as u32;
        let first = job.first_operation + self.jobs[row].step * count;
        let free = (first..first + count).filter(|&operation| self.waiting[operation as usize] == 0);
        self.ready.extend(free);
    }

    /// Handles all ends and starts due at `now`.
    pub fn advance(&mut self, now: SimTime, flight: &mut Flight) {
        self.start_jobs(now);
        while let Some(&Reverse((time, operation))) = self.held.peek()
            && time <= now
        {
            self.held.pop();
            self.ready.push(operation);
        }
        self.start_ready(now, flight);
        while let Some(&Reverse((time, operation))) = self.ends.peek()
            && time <= now
        {
            self.ends.pop();
            if self.is_due_at(time, operation) {
                self.end_operation(now, operation);
                self.start_ready(now, flight);
            }
        }
    }

    /// Tells that the last byte of an operation arrives at `time`.
    pub fn ends_at(&mut self, operation: u32, time: SimTime) {
        self.ends.push(Reverse((time, operation)));
    }

    fn start_ready(&mut self, now: SimTime, flight: &mut Flight) {
        // In the order of the plan: a communicator runs operations in the order in which they were issued.
        self.ready.sort_unstable();
        for operation in std::mem::take(&mut self.ready) {
            let (row, step, index) = self.work.locate(OperationId(operation));
            if self.jobs[row].halted {
                continue;
            }
            if !self.work.jobs[row].plan.is_due(index, step) {
                self.start[operation as usize] = now;
                self.ends_at(operation, now);
                continue;
            }
            let found = self.work.operation(OperationId(operation));
            let start = &mut self.start[operation as usize];
            let at = self.ranks.may_start(row, &found, now);
            if at > now {
                // Peers enter what they cannot finish; what never comes is never looked at again.
                if matches!(found.work, Work::Communicate { .. }) {
                    *start = now.min(*start);
                }
                if at < SimTime::NEVER {
                    self.held.push(Reverse((at, operation)));
                }
                continue;
            }
            *start = now.min(*start);
            match found.work {
                Work::Compute(time) => {
                    let time = self.work.computing(time, (row, step), self.draw);
                    let end = self.ranks.computed(row, found.lane, now, time);
                    let (lane, speed) = ((row as u32, found.lane), self.work.jobs[row].beside);
                    let end = self.beside.computes(now, lane, speed, u64::from(operation), end);
                    self.ends_at(operation, end);
                }
                Work::Communicate { pattern, bytes } => {
                    if let Some(end) = flight.offer(now, pattern, operation, bytes) {
                        self.ends_at(operation, end);
                    }
                    self.collective(now, row, index, true);
                }
            }
        }
    }

    /// Whether an operation whose end was due at `time` ends then: a computation may end later, or have ended before.
    fn is_due_at(&mut self, time: SimTime, operation: u32) -> bool {
        let (row, step, index) = self.work.locate(OperationId(operation));
        let job = &self.work.jobs[row];
        let found = &job.plan.operations[index.index()];
        let computes =
            job.beside < 1.0 && matches!(found.work, Work::Compute(_)) && job.plan.is_due(index, step);
        !computes || self.beside.is_over(time, (row as u32, found.lane), u64::from(operation))
    }

    /// A collective of a job begins or ends: what its lane computes goes on slower or faster.
    fn collective(&mut self, now: SimTime, row: usize, index: OperationId, begins: bool) {
        let job = &self.work.jobs[row];
        let found = &job.plan.operations[index.index()];
        if job.beside == 1.0 || !matches!(found.work, Work::Communicate { .. }) || found.axis == Axis::Storage
        {
            return;
        }
        let lane = (row as u32, found.lane);
        let later = match begins {
            true => self.beside.begins(now, lane, job.beside),
            false => self.beside.ends(now, lane, job.beside),
        };
        self.ends.extend(later.iter().map(|&(operation, end)| Reverse((end, operation as u32))));
    }

    /// Corrects the start of an operation that waited for its communicator.
    pub fn begins_at(&mut self, operation: u32, time: SimTime) {
        self.start[operation as usize] = time;
    }

    /// Whether all operations of all steps of a job have ended.
    pub fn is_over(&self, job: u32) -> bool {
        let (state, graph) = (&self.jobs[job as usize], &self.work.jobs[job as usize]);
        state.left_in_step == 0 && state.step + 1 >= graph.steps && state.loose_left == 0
    }

    /// Jobs whose processes are ended by `now`, of those that have operations left; who calls stops them.
    pub fn quits_due(&mut self, now: SimTime) -> Vec<u32> {
        let mut due = Vec::new();
        while let Some(&(time, row)) = self.quits.last()
            && time <= now
        {
            self.quits.pop();
            if !self.is_over(row as u32) {
                // One that stood still before had its end not by this.
                if !self.stood_still(row, time) {
                    self.quit[row] = true;
                    self.last_end = self.last_end.max(time);
                }
                self.over.push(row as u32);
                due.push(row as u32);
            }
        }
        due
    }

    /// Stops a job: what of it has not ended never will.
    pub fn halt(&mut self, job: u32) {
        self.jobs[job as usize].halted = true;
        // Nobody waits for the end of what it computed.
        let of_job = self.work.jobs[job as usize].operations();
        let stays =
            |&Reverse((_, operation)): &Reverse<(SimTime, u32)>| !of_job.contains(&(operation as usize));
        self.ends.retain(stays);
        self.held.retain(stays);
    }

    fn end_operation(&mut self, now: SimTime, operation: u32) {
        let (row, step, index) = self.work.locate(OperationId(operation));
        if self.jobs[row].halted {
            return;
        }
        self.end[operation as usize] = now;
        self.last_end = self.last_end.max(now);
        if self.work.jobs[row].plan.is_due(index, step) {
            self.collective(now, row, index, false);
        }
        let count = self.work.jobs[row].plan.operations.len() as u32;
        let first = self.work.jobs[row].first_operation + step * count;
        let job = &mut self.jobs[row];
        let range =
            job.successor_start[index.index()] as usize..job.successor_start[index.index() + 1] as usize;
        for &successor in &job.successors[range] {
            let waiting = &mut self.waiting[(first + successor) as usize];
            *waiting -= 1;
            if *waiting == 0 {
                self.ready.push(first + successor);
            }
        }
        let last = job.step + 1 >= self.work.jobs[row].steps;
        let plan = &self.work.jobs[row].plan;
        if !plan.ends_step(index) {
            job.loose_left -= 1;
        } else {
            job.left_in_step -= 1;
            if job.left_in_step == 0 && !last {
                job.step += 1;
                job.left_in_step = in_step(plan);
                return self.release_step(row, now);
            }
        }
        if last && job.left_in_step == 0 && job.loose_left == 0 {
            self.over.push(row as u32);
            self.quits.retain(|&(_, other)| other != row);
        }
    }

    /// Jobs that have ended since this was last asked.
    pub fn take_over(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.over)
    }

    /// Writes the times into the log.
    pub fn finish(self, log: &mut RunLog) {
        // What another job goes on with ends there.
        let jobs = self.work.jobs.iter().zip(&self.quit);
        let jobs = jobs.filter(|(job, quit)| !**quit && job.goes_on_as.is_none());
        let left = jobs.map(|(job, _)| {
            let operations = job.operations();
            self.end[operations].iter().filter(|&&end| end == SimTime::NEVER).count() as u64
        });
        log.unfinished = left.sum();
        log.end = self.last_end;
        log.times.start = self.start;
        log.times.end = self.end;
    }
}

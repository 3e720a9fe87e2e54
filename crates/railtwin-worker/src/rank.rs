//! The process of a rank: connects, steps, writes events.
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::getppid;

use crate::checkpoint;
use crate::clock;
use crate::closing::close_all;
use crate::collective::{fill, is_right, stop_votes};
use crate::connect::connect_all;
use crate::connections::{Break, Interruption};
use crate::control::{self, Control};
use crate::cost;
use crate::error::WorkerError;
use crate::events::{Channel, Event, StepPhase, Word};
use crate::exchange::Exchange;
use crate::job::{Algorithm, Job, Spending};
use crate::links::Links;
use crate::schedule::{ELEMENT, Schedule};

/// A rank that finds a connection closed stays connected until its observer has written that down, but no longer than this:
/// else those behind it could be recorded as its victims before it is recorded as one.
const WRITTEN_DOWN: Duration = Duration::from_secs(1);

/// A rank with all that it needs for steps.
struct RankState<'a> {
    job: &'a Job,
    rank: usize,
    channel: &'a Channel,
    links: Links,
    schedules: Vec<Schedule>,
    buffers: Vec<Vec<u8>>,
    exchange: Exchange,
    control: Option<PathBuf>,
    /// Number of the next operation.
    operation: u64,
    events: u64,
}

/// Runs a rank to the end of the job. `shared` names the memory of its observer.
///
/// # Errors
/// A rank did not come up, a connection broke, a result was wrong, or a checkpoint was not written.
pub(crate) fn run(job: &Job, rank: usize, shared: &Path) -> Result<(), WorkerError> {
    // The observer has blocked signals for itself, and a child inherits that.
    // An interrupt of the terminal goes to the observer, which lets the job end in order.
    let mut interrupt = SigSet::empty();
    interrupt.add(Signal::SIGINT);
    let set = SigSet::all().thread_unblock().and_then(|()| interrupt.thread_block());
    set.map_err(|errno| WorkerError::Failed(format!("cannot set signals: {errno}")))?;
    let ends = nix::sys::prctl::set_pdeathsig(Signal::SIGKILL);
    ends.map_err(|errno| WorkerError::Failed(format!("cannot follow the observer: {errno}")))?;
    let channel = Channel::open(shared)
        .map_err(|error| WorkerError::Failed(format!("the observer of rank {rank} is gone: {error}")))?;
    let links = connect_all(job, rank, &channel)?;
    let schedules: Vec<Schedule> =
        job.collectives.iter().map(|spec| Schedule::new(spec, job.ranks(), rank)).collect();
    let mut state = RankState {
        job,
        rank,
        channel: &channel,
        links,
        buffers: schedules.iter().map(|schedule| vec![0; schedule.buffer]).collect(),
        exchange: Exchange::for_schedules(schedules.iter()),
        schedules,
        control: job.control.as_ref().map(|folder| control::path(folder, rank)),
        operation: 0,
        events: 0,
    };
    let first = state.resume()?;
    channel.set(Word::Running, 1);
    let outcome = state.steps(first);
    let per = cost::calibrate();
    let cost_ns = state.events as f64 * per.event_ns + state.exchange.clock_reads as f64 * per.clock_ns;
    channel.set(Word::CostNs, cost_ns as u64);
    outcome?;
    close_all(job, &mut state.links, &channel)
}

impl RankState<'_> {
    fn write(&mut self, event: Event) {
        self.channel.write(event);
        self.events += 1;
    }

    fn steps(&mut self, first: u64) -> Result<(), WorkerError> {
        let begin_ns = clock::monotonic_ns();
        let end_ns = self.job.seconds.map_or(u64::MAX, |seconds| begin_ns + (seconds * 1e9) as u64);
        let last = self.job.steps.map_or(u64::MAX, |steps| steps - 1);
        let mut step = first;
        let mut is_last = step > last;
        while !is_last {
            let from_ns = clock::monotonic_ns();
            self.channel.set(Word::Step, step);
            self.alone(step);
            let stops = step >= last || from_ns >= end_ns || self.channel.get(Word::Stop) > 0;
            for at in 0..self.schedules.len() {
                is_last |= self.collective(at, stops)?;
            }
            step += 1;
            if let Some(spec) = self.job.checkpoint.as_ref().filter(|spec| step.is_multiple_of(spec.every)) {
                self.channel.set(Word::Phase, StepPhase::Checkpoint as u64);
                checkpoint::write(spec, self.rank, step)?;
            }
            self.channel.set(Word::Steps, step - first);
            self.channel.add(Word::StepsNs, clock::monotonic_ns() - from_ns);
        }
        Ok(())
    }

    /// The phases of a step that the rank spends alone.
    fn alone(&mut self, step: u64) {
        let Control { compute_factor, data_ms } = control::read(self.control.as_deref());
        let from_ns = clock::monotonic_ns();
        self.channel.set(Word::Phase, StepPhase::Data as u64);
        spend(self.job.data.ms + data_ms, self.job.data.how);
        let between_ns = clock::monotonic_ns();
        self.channel.set(Word::Phase, StepPhase::Compute as u64);
        spend(self.job.compute.ms * compute_factor, self.job.compute.how);
        let t = clock::monotonic_ns();
        let (data, comp) = ((between_ns - from_ns) / 1_000, (t - between_ns) / 1_000);
        self.exchange.clock_reads += 3;
        self.write(Event::Step { t, step, data, comp });
    }

    /// Runs collective `at` of the step; returns whether a rank votes that this step is the last.
    fn collective(&mut self, at: usize, stops: bool) -> Result<bool, WorkerError> {
        let (ranks, rank, operation) = (self.job.ranks(), self.rank, self.operation);
        fill(&self.schedules[at], ranks, rank, operation, stops, &mut self.buffers[at]);
        self.enter(operation, self.schedules[at].bytes as u64);
        let entered = clock::monotonic_ns();
        let outcome = {
            let schedule = &self.schedules[at];
            self.exchange.run(schedule, &mut self.links, &mut self.buffers[at], self.channel)
        };
        outcome.map_err(|interruption| self.interrupted(operation, interruption))?;
        self.leave(at, operation, entered);
        self.operation += 1;
        let (schedule, buffer) = (&self.schedules[at], &self.buffers[at]);
        if operation.is_multiple_of(self.job.check_every)
            && !is_right(schedule, ranks, rank, operation, buffer)
        {
            let name = schedule.algorithm.name();
            return Err(WorkerError::Failed(format!(
                "rank {rank}: wrong result of {name}, operation {operation}"
            )));
        }
        Ok(stop_votes(schedule, ranks, rank, buffer) > 0)
    }

    fn enter(&mut self, operation: u64, bytes: u64) {
        self.channel.set(Word::Phase, StepPhase::Communication as u64);
        self.channel.set(Word::Received, 0);
        self.channel.set(Word::Sent, 0);
        self.channel.set(Word::Operation, operation);
        self.channel.set(Word::Inside, 1);
        self.exchange.clock_reads += 1;
        self.write(Event::Entered { t: clock::monotonic_ns(), seq: operation, bytes });
    }

    fn leave(&mut self, at: usize, operation: u64, entered: u64) {
        self.channel.set(Word::Inside, 0);
        let t = clock::monotonic_ns();
        self.exchange.clock_reads += 2;
        for stage in 0..self.exchange.waits.len() {
            let waits = self.exchange.waits[stage];
            self.write(Event::Stage { waits });
        }
        let (to, from) = (self.schedules[at].to, self.schedules[at].from);
        self.write(Event::Ended { t, seq: operation, entered, to, from });
    }

    fn interrupted(&mut self, operation: u64, interruption: Interruption) -> WorkerError {
        match interruption {
            Interruption::Broken(broken) => self.broke(operation, broken),
            Interruption::Ended(message) => WorkerError::Failed(format!("rank {}: {message}", self.rank)),
        }
    }

    /// Records a broken connection, and waits until the observer has written it down.
    fn broke(&mut self, operation: u64, broken: Break) -> WorkerError {
        let Break { peer, sends, errno } = broken;
        let t = clock::monotonic_ns();
        self.write(Event::Broken { t, seq: operation, sends, peer: peer as u32, errno });
        // An observer that is gone has ended this process as well.
        let _ = kill(getppid(), Signal::SIGUSR1);
        let until_ns = clock::monotonic_ns() + WRITTEN_DOWN.as_nanos() as u64;
        while self.channel.get(Word::Flushed) < self.channel.get(Word::Head)
            && clock::monotonic_ns() < until_ns
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        let what = match errno {
            0 => "it closed the connection".to_owned(),
            errno => std::io::Error::from_raw_os_error(errno).to_string(),
        };
        WorkerError::Failed(format!(
            "rank {}: rank {peer} is gone in operation {operation}: {what}",
            self.rank
        ))
    }

    /// Agrees with the others on the step to begin with: all ranks have the checkpoint of it.
    fn resume(&mut self) -> Result<u64, WorkerError> {
        let Some(spec) = &self.job.checkpoint else { return Ok(0) };
        let own = checkpoint::newest(spec, self.rank).unwrap_or(0);
        let all = self.gather(own)?;
        let step = all.into_iter().min().unwrap_or(0);
        if step > 0 && !checkpoint::has(spec, self.rank, step) {
            let (rank, folder) = (self.rank, spec.folder.display());
            let text =
                format!("rank {rank} has no checkpoint of step {step} in {folder}, which others resume from");
            return Err(WorkerError::Failed(text));
        }
        Ok(step)
    }

    /// Gathers a number of each rank over the connections of the first collective.
    fn gather(&mut self, own: u64) -> Result<Vec<u64>, WorkerError> {
        let ranks = self.job.ranks();
        let mut spec = self.job.collectives[0];
        // Two elements of each rank: an all-reduce of numbers of which each is brought in by one rank alone. In an
        // all-to-all each block is the own number.
        let row = 2 * ELEMENT;
        spec.bytes = (ranks * row) as u64;
        let schedule = Schedule::new(&spec, ranks, self.rank);
        let mut buffer = vec![0; schedule.buffer];
        let bytes = own.to_le_bytes();
        let is_direct = spec.algorithm == Algorithm::AllToAll;
        if is_direct {
            let rows = (0..ranks).map(|to| crate::schedule::block_to(schedule.bytes, ranks, to).0);
            let mine = crate::schedule::block_from(schedule.bytes, ranks, self.rank, self.rank).0;
            rows.chain([mine]).for_each(|at| buffer[at..at + row].copy_from_slice(&bytes));
        } else {
            buffer[self.rank * row..(self.rank + 1) * row].copy_from_slice(&bytes);
        }
        let mut exchange = Exchange::for_schedules(std::iter::once(&schedule));
        let outcome = exchange.run(&schedule, &mut self.links, &mut buffer, self.channel);
        outcome.map_err(|interruption| self.interrupted(0, interruption))?;
        let at = |rank: usize| match is_direct {
            true => crate::schedule::block_from(schedule.bytes, ranks, self.rank, rank).0,
            false => rank * row,
        };
        let number = |rank: usize| {
            let bytes: [u8; 8] = buffer[at(rank)..at(rank) + row].try_into().unwrap_or_default();
            u64::from_le_bytes(bytes)
        };
        Ok((0..ranks).map(number).collect())
    }
}

fn spend(ms: f64, how: Spending) {
    let span = Duration::from_secs_f64(ms / 1e3);
    match how {
        Spending::Sleep if span.is_zero() => {}
        Spending::Sleep => std::thread::sleep(span),
        Spending::Spin => {
            let until_ns = clock::monotonic_ns() + span.as_nanos() as u64;
            while clock::monotonic_ns() < until_ns {
                std::hint::spin_loop();
            }
        }
    }
}

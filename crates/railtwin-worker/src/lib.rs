//! A real job of several processes: collectives over TCP that reduce data, and live records of it.
//!
//! Each rank is two processes. The *observer* is what the user starts; the *rank* is its child. The rank writes fixed-size
//! events into shared memory, without system calls. The observer reads them at each heartbeat, reads TCP_INFO of the
//! rank's connections and the state of its process, pings the other observers, and writes JSON lines of schema version 1
//! (`docs/reference/live-records.md`). It goes on when the rank is stopped, and for two seconds when it was killed.
//!
//! [`Job`] is the job file; [`run_rank`] and [`run_all`] run it. Linux only.
#![allow(
    clippy::disallowed_methods,
    reason = "a real job: processes, files, clocks and sockets are its matter"
)]

mod all;
mod busiest;
mod checkpoint;
mod clock;
mod collective;
mod connect;
mod control;
mod cost;
mod events;
mod exchange;
mod host_clock;
pub mod job;
mod json;
mod observer;
mod ping;
mod process;
mod rank;
mod record_file;
mod schedule;
mod shared;
mod tcp_info;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use job::Job;

/// Why a job did not run.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The job file or the call is wrong.
    #[error("{message}")]
    Input {
        /// What is wrong, with file and line.
        message: String,
        /// What is accepted.
        accepted: String,
    },
    /// A rank did not come up, broke off, or did not end in order.
    #[error("{0}")]
    Failed(String),
}

impl WorkerError {
    fn input(message: impl Into<String>, accepted: impl Into<String>) -> Self {
        Self::Input { message: message.into(), accepted: accepted.into() }
    }
}

/// How this program is started again for a rank: its file, the words before, and the job file.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file of the program.
    pub file: PathBuf,
    /// Words that stand before the job file, the name of a subcommand for one.
    pub words: Vec<OsString>,
    /// The job file.
    pub job: PathBuf,
}

impl Program {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.file);
        command.args(&self.words).arg(&self.job);
        command
    }
}

/// What recording costs a rank, for each step: CPU time, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankCost {
    /// The rank.
    pub rank: usize,
    /// Steps that it ran.
    pub steps: u64,
    /// Events and readings of the clock in the rank: their calibrated CPU time times their number.
    pub rank_ns: u64,
    /// CPU time of the observer's process: events, heartbeats, TCP_INFO, pings, files.
    pub observer_ns: u64,
    /// Time of a step.
    pub step_ns: u64,
}

impl RankCost {
    /// Both costs over the time of a step.
    pub fn share(&self) -> f64 {
        (self.rank_ns + self.observer_ns) as f64 / self.step_ns.max(1) as f64
    }

    /// One line, which [`RankCost::parse`] reads.
    pub fn line(&self) -> String {
        let Self { rank, steps, rank_ns, observer_ns, step_ns } = self;
        format!("cost {rank} {steps} {rank_ns} {observer_ns} {step_ns}")
    }

    /// Reads a line that [`RankCost::line`] made.
    pub fn parse(line: &str) -> Option<Self> {
        let mut numbers = line.strip_prefix("cost ")?.split(' ').map(str::parse);
        let mut next = || numbers.next()?.ok();
        let rank = next()? as usize;
        Some(Self { rank, steps: next()?, rank_ns: next()?, observer_ns: next()?, step_ns: next()? })
    }
}

/// Runs one rank with its observer; `follows` ends the job in order when the parent process ends.
///
/// # Errors
/// The rank did not end in order, or records cannot be written.
pub fn run_rank(job: &Job, rank: usize, program: &Program, follows: bool) -> Result<RankCost, WorkerError> {
    if rank >= job.ranks() {
        let (message, ranks) = (format!("--rank: {rank}"), job.ranks());
        return Err(WorkerError::input(message, format!("the job has ranks 0 to {}", ranks - 1)));
    }
    if follows {
        let set = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGTERM);
        set.map_err(|errno| WorkerError::Failed(format!("cannot follow the parent process: {errno}")))?;
    }
    observer::run(job, rank, program)
}

/// Runs all ranks on this host. Returns what recording cost each.
///
/// # Errors
/// A rank cannot be started or did not end in order.
pub fn run_all(job: &Job, program: &Program) -> Result<Vec<RankCost>, WorkerError> {
    all::run(job, program)
}

/// The process of a rank, which its observer starts; `shared` names the memory between them.
///
/// # Errors
/// A rank did not come up, a connection broke, a result was wrong, or a checkpoint was not written.
pub fn run_inner(job: &Job, rank: usize, shared: &Path) -> Result<(), WorkerError> {
    rank::run(job, rank, shared)
}

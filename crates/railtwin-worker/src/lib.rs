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
mod attempt;
mod busiest;
mod checkpoint;
mod clock;
mod closing;
mod collective;
mod connect;
mod connections;
mod control;
mod cost;
mod error;
mod events;
mod exchange;
mod greeting;
mod host_clock;
pub mod job;
mod json;
mod lane;
mod lane_groups;
mod links;
mod moves;
#[cfg(test)]
mod moves_tests;
mod network_check;
mod network_spec;
mod newcomer;
mod observer;
mod path_lines;
mod path_master;
mod ping;
mod process;
mod program;
mod rank;
mod rank_cost;
mod record_file;
mod replay;
mod schedule;
mod shared;
mod tcp_info;
mod tcp_options;
mod wait;

use std::path::Path;

pub use error::WorkerError;
pub use job::Job;
pub use network_spec::{PathsSpec, TcpSpec};
pub use program::Program;
pub use rank_cost::RankCost;

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
    tcp_options::check(job, &program.job.display().to_string())?;
    observer::run(job, rank, program)
}

/// Runs all ranks on this host. Returns what recording cost each.
///
/// # Errors
/// A rank cannot be started or did not end in order.
pub fn run_all(job: &Job, program: &Program) -> Result<Vec<RankCost>, WorkerError> {
    tcp_options::check(job, &program.job.display().to_string())?;
    all::run(job, program)
}

/// The process of a rank, which its observer starts; `shared` names the memory between them.
///
/// # Errors
/// A rank did not come up, a connection broke, a result was wrong, or a checkpoint was not written.
pub fn run_inner(job: &Job, rank: usize, shared: &Path) -> Result<(), WorkerError> {
    rank::run(job, rank, shared)
}

//! All ranks of a job on this host: one observer process for each.
use std::io::Read;
use std::process::{Child, Stdio};

use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::SignalFd;
use nix::unistd::Pid;

use crate::error::WorkerError;
use crate::job::Job;
use crate::program::Program;
use crate::rank_cost::RankCost;

/// Runs all ranks as processes and waits for them. Returns what recording cost each.
///
/// # Errors
/// A process cannot be started, or ranks did not end in order: how many, and the first of them.
pub(crate) fn run(job: &Job, program: &Program) -> Result<Vec<RankCost>, WorkerError> {
    let failed = |what: &str, error: &dyn std::fmt::Display| WorkerError::Failed(format!("{what}: {error}"));
    let mut set = SigSet::empty();
    for signal in [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT] {
        set.add(signal);
    }
    set.thread_block().map_err(|errno| failed("cannot block signals", &errno))?;
    let signals = SignalFd::new(&set).map_err(|errno| failed("cannot read signals", &errno))?;
    let start = |rank: usize| {
        let mut command = program.command();
        command.arg("--rank").arg(rank.to_string()).arg("--cost").arg("--follow").stdout(Stdio::piped());
        command.spawn().map_err(|error| failed("cannot start a rank", &error))
    };
    let mut children = Vec::new();
    for rank in 0..job.ranks() {
        match start(rank) {
            Ok(child) => children.push(child),
            Err(error) => {
                children.iter_mut().for_each(|child: &mut Child| {
                    let _ = child.kill();
                });
                return Err(error);
            }
        }
    }
    wait(&mut children, &signals);
    let mut costs = Vec::new();
    let mut bad = Vec::new();
    for (rank, child) in children.iter_mut().enumerate() {
        let is_good = child.wait().is_ok_and(|status| status.success());
        if !is_good {
            bad.push(rank);
        }
        let mut text = String::new();
        if let Some(out) = &mut child.stdout {
            // What cannot be read is no cost.
            let _ = out.read_to_string(&mut text);
        }
        costs.extend(text.lines().filter_map(RankCost::parse));
    }
    match bad.first() {
        None => Ok(costs),
        Some(first) => {
            let text = format!(
                "{} of {} ranks did not end in order, rank {first} among them",
                bad.len(),
                job.ranks()
            );
            Err(WorkerError::Failed(text))
        }
    }
}

/// Waits until all have ended. A signal to stop is passed on.
fn wait(children: &mut [Child], signals: &SignalFd) {
    while children.iter_mut().any(|child| matches!(child.try_wait(), Ok(None))) {
        let Ok(Some(signal)) = signals.read_signal() else { continue };
        if signal.ssi_signo == Signal::SIGCHLD as u32 {
            continue;
        }
        for child in
            children.iter_mut().filter_map(|child| matches!(child.try_wait(), Ok(None)).then_some(child))
        {
            // One that ends meanwhile needs no signal.
            let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM);
        }
    }
}

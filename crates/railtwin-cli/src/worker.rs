//! `railtwin worker`: a real job of several processes over TCP, with live records.
use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use railtwin::cost::Cost;
use railtwin_worker::{Job, Program, RankCost, WorkerError};

use crate::foreseen::goes_on;
use crate::table::TextTable;
use crate::{CliError, Streams};

/// Arguments of `worker`.
#[derive(Args, Debug)]
pub struct WorkerArgs {
    /// The job file (TOML)
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// Run this rank
    #[arg(long, value_name = "RANK", required_unless_present = "all", conflicts_with = "all")]
    rank: Option<usize>,
    /// Run all ranks as processes on this host
    #[arg(long)]
    all: bool,
    /// Print what recording costs: CPU time over the time of a step
    #[arg(long)]
    cost: bool,
    /// Memory of the observer that starts this process
    #[arg(long, hide = true, requires = "rank")]
    shared: Option<PathBuf>,
    /// End in order when the parent process ends
    #[arg(long, hide = true, requires = "rank")]
    follow: bool,
}

impl From<WorkerError> for CliError {
    fn from(error: WorkerError) -> Self {
        match error {
            WorkerError::Input { message, accepted } => Self::input(message, accepted),
            WorkerError::Failed(message) => Self::Worker(message),
        }
    }
}

pub(crate) fn run(args: &WorkerArgs, own: &[OsString], streams: &mut Streams<'_>) -> Result<(), CliError> {
    if !goes_on(&Cost::least("the processes of a job"), streams)? {
        return Ok(());
    }
    let job = Job::read(&args.job)?;
    if let (Some(rank), Some(shared)) = (args.rank, &args.shared) {
        return Ok(railtwin_worker::run_inner(&job, rank, shared)?);
    }
    let (file, before) = match own.split_first() {
        Some((first, rest)) => (PathBuf::from(first), rest.to_vec()),
        None => (std::env::current_exe()?, Vec::new()),
    };
    let words = before.into_iter().chain(["worker".into()]).collect();
    let program = Program { file, words, job: args.job.clone() };
    if let Some(rank) = args.rank {
        let cost = railtwin_worker::run_rank(&job, rank, &program, args.follow)?;
        if args.cost {
            writeln!(streams.out, "{}", cost.line())?;
        }
        return Ok(());
    }
    let costs = railtwin_worker::run_all(&job, &program)?;
    if args.cost {
        write!(streams.out, "{}", table(&costs))?;
    }
    Ok(())
}

/// Cost of recording by rank, each step.
fn table(costs: &[RankCost]) -> String {
    let mut table = TextTable::default();
    table.row(["rank", "steps", "step", "in the rank", "observer", "share"].map(str::to_owned));
    for cost in costs {
        let us = |ns: u64| format!("{:.0} us", ns as f64 / 1e3);
        table.row([
            cost.rank.to_string(),
            cost.steps.to_string(),
            format!("{:.1} ms", cost.step_ns as f64 / 1e6),
            us(cost.rank_ns),
            us(cost.observer_ns),
            format!("{:.3} %", 100.0 * cost.share()),
        ]);
    }
    let most = costs.iter().map(RankCost::share).fold(0.0, f64::max);
    let mean = costs.iter().map(RankCost::share).sum::<f64>() / costs.len().max(1) as f64;
    format!(
        "{}recording: mean {:.3} %, most {:.3} % of a step (CPU time; rank: calibrated cost of an event x events, \
         observer: its process)\n",
        table.text(),
        100.0 * mean,
        100.0 * most
    )
}

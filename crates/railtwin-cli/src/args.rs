//! The arguments of the command.
use clap::{Parser, Subcommand};
use railtwin_units::Bytes;

use crate::calibrate::CalibrateArgs;
use crate::check::CheckArgs;
use crate::cluster::ClusterArgs;
use crate::compare::CompareArgs;
use crate::design::DesignArgs;
use crate::diagnose::DiagnoseArgs;
use crate::downtime::DowntimeArgs;
use crate::explain::ExplainArgs;
use crate::export::ExportArgs;
use crate::foreseen::Form;
use crate::impact::ImpactArgs;
use crate::import::ImportArgs;
use crate::interference::InterferenceArgs;
use crate::intranode::IntranodeArgs;
use crate::lab::LabArgs;
use crate::paths::PathsArgs;
use crate::report::ReportArgs;
use crate::reproduce::ReproduceArgs;
use crate::run::RunArgs;
use crate::run_point::RunPointArgs;
use crate::schedule_args::ScheduleArgs;
use crate::score::ScoreArgs;
use crate::sweep::SweepArgs;
use crate::triage::TriageArgs;
use crate::tune::TuneArgs;
use crate::upgrade::UpgradeArgs;
use crate::watch::WatchArgs;
use crate::worker::WorkerArgs;

/// Twin of a GPU training cluster's network: design a fabric, simulate training on it, schedule, watch.
#[derive(Parser, Debug)]
#[command(name = "railtwin", version, arg_required_else_help = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
    /// Most bytes that are read or unpacked of a file [default: 16 MiB of a text, 1 GiB of data]
    #[arg(long, global = true, value_name = "SIZE", value_parser = size)]
    pub input_limit: Option<u64>,
    /// Memory that the command may use, such as 16GiB [default: what the machine has to spare]
    #[arg(long, global = true, value_name = "SIZE", value_parser = |text: &str| text.parse::<Bytes>())]
    pub memory: Option<Bytes>,
    /// Print the memory and time that the command would take, and run nothing
    #[arg(
        long,
        global = true,
        value_name = "FORM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "text"
    )]
    pub estimate: Option<Form>,
}

/// A limit of what is read.
fn size(text: &str) -> Result<u64, String> {
    railtwin_store::input::size(text)
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Verb {
    /// Count what a fabric consists of: switches, cables, ports, oversubscription
    Design(DesignArgs),
    /// Simulate a scenario and write its run folder and report
    Run(RunArgs),
    /// Print the figures of the papers beside ours
    Reproduce(ReproduceArgs),
    /// Simulate all points of a scenario in processes side by side; takes up where it was interrupted
    Sweep(SweepArgs),
    /// Hold two run folders against each other: figures, tables and a page with both
    Compare(CompareArgs),
    /// Write the report of a run folder again, with the page of this program
    Report(ReportArgs),
    /// Give every queue pair of a list of demands its path and UDP source port
    Paths(PathsArgs),
    /// Say what jobs on one fabric cost each other: each alone on its hosts, and all together
    Interference(InterferenceArgs),
    /// Simulate weeks of jobs that share a fabric: queue, placement, contention under Crux and others
    Cluster(ClusterArgs),
    /// Simulate traffic inside hosts and between them over loads: GPUs, the switch of a host, its NIC, credits
    Intranode(IntranodeArgs),
    /// Say which jobs and ranks a leaf, cable, NIC or host touches, and what draining it now would cost
    Impact(ImpactArgs),
    /// Say in which order switches get new software, and whether all hosts reach each other meanwhile
    Upgrade(UpgradeArgs),
    /// Say whose communication goes first, and by which path, when jobs share links (Crux and others)
    Schedule(ScheduleArgs),
    /// Say what a file of SimAI, Chakra or Lingjun holds, and write a scenario around it
    Import(ImportArgs),
    /// Write a fabric for other programs: cable list, configuration of switches and hosts, captures
    Export(ExportArgs),
    /// Say from telemetry, simulated or of a real cluster, which rank, host, NIC, cable or switch is at fault
    Diagnose(DiagnoseArgs),
    /// Follow a folder that a cluster writes to, and keep incidents: opened, updated, closed, each told once
    Watch(WatchArgs),
    /// Diagnose, then say what each culprit costs the jobs, what to take out first and which host replaces it
    Triage(TriageArgs),
    /// Say what a measured bandwidth or step time may have as its cause, each cause simulated, and what to measure next
    Explain(ExplainArgs),
    /// Fit what collectives and transfers cost hosts to a cluster's own logs: caps that scenarios take
    Calibrate(CalibrateArgs),
    /// Search algorithm, protocol, channels and buffer of a collective for a network's round trip
    Tune(TuneArgs),
    /// Say whether bandwidths are normal, cables as planned, and settings of switches and hosts right
    Check(CheckArgs),
    /// Score the detectors: faults injected by lot into simulated jobs, and what detectors say of them
    Score(ScoreArgs),
    /// Book the downtime of jobs by cause, or say what to expect, what it costs and how to checkpoint
    Downtime(Box<DowntimeArgs>),
    /// Run a real job of several processes over TCP, with live records of each rank
    Worker(WorkerArgs),
    /// Emulate a small fabric on this host: real routers in namespaces, real packets, faults, the simulation beside them
    Lab(LabArgs),
    /// Print the JSON Schema of a scenario
    Schema,
    /// Simulates one point of a sweep, which stands on standard input
    #[command(hide = true)]
    RunPoint(RunPointArgs),
}

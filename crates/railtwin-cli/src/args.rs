//! The arguments of the command.
use clap::{Parser, Subcommand};

use crate::design::DesignArgs;
use crate::reproduce::ReproduceArgs;
use crate::run::RunArgs;

/// Twin of a GPU training cluster's network: design a fabric, simulate training on it, schedule, watch.
#[derive(Parser, Debug)]
#[command(name = "railtwin", version, arg_required_else_help = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
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
    /// Print the JSON Schema of a scenario
    Schema,
}

//! `railtwin check`: whether measurements are normal, cables as planned, and settings right.
use clap::{Args, Subcommand};

use crate::check_bandwidth::{self, BandwidthArgs};
use crate::check_config::{self, CheckConfigArgs};
use crate::check_wiring::{self, WiringArgs};
use crate::{CliError, Streams};

/// Arguments of `check`.
#[derive(Args, Debug)]
#[command(arg_required_else_help = true)]
pub struct CheckArgs {
    #[command(subcommand)]
    what: What,
}

/// What to check.
#[derive(Subcommand, Debug)]
enum What {
    /// Say of nccl-tests logs whether their bandwidths are normal: against line rate, and against each other
    Bandwidth(BandwidthArgs),
    /// Find mistakes in settings of switches and hosts: LACP, ARP, BGP, hashes, the lossless class
    Config(CheckConfigArgs),
    /// Hold cables as they were seen against a plan: wrong ones, and the least moves that repair them
    Wiring(WiringArgs),
}

pub(crate) fn run(args: &CheckArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    match &args.what {
        What::Bandwidth(args) => check_bandwidth::run(args, streams),
        What::Config(args) => check_config::run(args, streams),
        What::Wiring(args) => check_wiring::run(args, streams),
    }
}

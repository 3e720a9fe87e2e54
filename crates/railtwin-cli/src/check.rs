//! `railtwin check`: whether what was measured is normal.
use clap::{Args, Subcommand};

use crate::check_bandwidth::{self, BandwidthArgs};
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
}

pub(crate) fn run(args: &CheckArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    match &args.what {
        What::Bandwidth(args) => check_bandwidth::run(args, streams),
    }
}

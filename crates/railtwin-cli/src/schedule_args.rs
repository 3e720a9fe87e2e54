//! Arguments of `schedule`.
use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use railtwin::schedule::SharingPolicy;
use railtwin_units::SimTime;

/// Arguments of `schedule`.
#[derive(Args, Debug)]
pub struct ScheduleArgs {
    /// A TOML file with [[link]] and [[job]], or a scenario, of which what its run hands out is told
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Who decides; default crux, or what the scenario says
    #[arg(long, value_name = "POLICY", value_parser = PossibleValuesParser::new(SharingPolicy::NAMES))]
    pub(crate) policy: Option<String>,
    /// Instead: the utilization under every policy
    #[arg(long, conflicts_with = "policy")]
    pub(crate) compare: bool,
    /// Try all paths and levels, too: at most 6 jobs and 1024 ways to choose paths
    #[arg(long)]
    pub(crate) optimum: bool,
    /// Measure intensities as Crux's daemon does, each job first for this long, such as "30 s"
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) profile: Option<SimTime>,
    /// Instead: the placements of a scenario's last job, the best first, before it is placed; FILE is a scenario
    #[arg(long, conflicts_with_all = ["policy", "compare", "optimum", "profile"])]
    pub(crate) what_if: bool,
    /// The [[job]] that is to be placed, in place of the last
    #[arg(long, value_name = "NAME", requires = "what_if")]
    pub(crate) job: Option<String>,
    /// Of placements: draws of starts, hash seeds and computing times [default: 50, and of a scenario with one job its
    /// replicates]
    #[arg(long, value_name = "COUNT", requires = "what_if", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) draws: Option<u32>,
    /// Of a scenario: the replicate, whose draws give queue-pair numbers and hash seeds; default 0
    #[arg(long, value_name = "NUMBER")]
    pub(crate) replicate: Option<u32>,
    /// Print all as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn time(text: &str) -> Result<SimTime, String> {
    let time = text.parse::<SimTime>().map_err(|error| error.to_string())?;
    if time == SimTime::ZERO { Err("write more than 0 s".to_owned()) } else { Ok(time) }
}

//! `railtwin score`: the score card of the detectors.

use clap::Args;
use indicatif::ProgressBar;
use railtwin::Error;
use railtwin_evaluation::score::baselines::{Baseline, elastic_text};
use railtwin_evaluation::score::bench::Bench;
use railtwin_evaluation::score::broken::Broken;
use railtwin_evaluation::score::cost;
use railtwin_evaluation::score::curve::curve;
use railtwin_evaluation::score::files;
use railtwin_evaluation::score::healthy::healthy;
use railtwin_evaluation::score::inject::Injected;
use railtwin_evaluation::score::packets::{self as of_packets, PacketBench, score_packets};
use railtwin_evaluation::score::text::{markdown, quiet};
use railtwin_evaluation::score::{Options, averages, curve_text, detectors, errors, score, score_with};

use crate::foreseen::goes_on;
use crate::{CliError, Streams};

/// Arguments of `score`.
#[derive(Args, Debug)]
pub struct ScoreArgs {
    /// Ranks of the job: 128, 1024, 16384
    #[arg(long, value_delimiter = ',', default_value = "128")]
    ranks: Vec<u32>,
    /// Draws of each fault
    #[arg(long, default_value_t = 20)]
    seeds: u32,
    /// Simulated hours without a fault, in which nobody may be accused
    #[arg(long, default_value_t = 0.0)]
    healthy_hours: f64,
    /// Simulated hours of a job with experts on 128 ranks beside a neighbor's, in which nobody may be accused
    #[arg(long, default_value_t = 0.0)]
    expert_hours: f64,
    /// Only faults whose name on the card contains this
    #[arg(long, value_name = "TEXT")]
    fault: Option<String>,
    /// Instead: what the four causes behind one error are told as
    #[arg(long, conflicts_with_all = ["averages", "baselines"])]
    errors: bool,
    /// Instead: how far a slow rank stands out in samples of 1 ms to 10 s
    #[arg(long, conflicts_with = "baselines")]
    averages: bool,
    /// Instead: the same card for the baselines, ranking by kernel time and the timeout of the elastic agent
    #[arg(long)]
    baselines: bool,
    /// Instead: sensitivity against false alarms over a row of settings; needs --healthy-hours
    #[arg(long, conflicts_with_all = ["errors", "averages", "baselines", "fault", "expert_hours"])]
    curve: bool,
    /// Instead: the second part of the card: faults in packet runs of 64 ranks, and as many runs without one
    #[arg(long, conflicts_with_all = ["errors", "averages", "baselines", "curve", "healthy_hours", "expert_hours", "ranks"])]
    packets: bool,
    /// Instead: the third part of the card: times of steps, durations and dumps that the job leaves, by the judges of files
    #[arg(long, conflicts_with_all = ["errors", "averages", "baselines", "curve", "packets", "healthy_hours", "expert_hours"])]
    files: bool,
    /// Print what was found in every trial
    #[arg(long)]
    verbose: bool,
}

pub(crate) fn run(args: &ScoreArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    if args.packets {
        return packets(args, streams);
    }
    let sizes: Vec<u32> = Bench::sizes().collect();
    if let Some(wrong) = args.ranks.iter().find(|ranks| !sizes.contains(ranks)) {
        return Err(CliError::input(format!("--ranks {wrong}"), format!("there are {sizes:?}")));
    }
    for (flag, hours) in [("--healthy-hours", args.healthy_hours), ("--expert-hours", args.expert_hours)] {
        if !(hours.is_finite() && hours >= 0.0) {
            return Err(CliError::input(format!("{flag} {hours}"), "0 or more is needed"));
        }
    }
    if args.curve && args.healthy_hours == 0.0 {
        return Err(CliError::input("--healthy-hours 0", "--curve needs more than 0"));
    }
    if args.curve && args.seeds == 0 {
        return Err(CliError::input("--seeds 0", "--curve needs 1 or more"));
    }
    let wanted = |what: &Injected| args.fault.as_ref().is_none_or(|part| what.name().contains(part.as_str()));
    let faults: Vec<Injected> = Injected::ALL.into_iter().filter(wanted).collect();
    if faults.is_empty() {
        let names = Injected::ALL.map(Injected::name).join(", ");
        let part = args.fault.as_deref().unwrap_or_default();
        return Err(CliError::input(format!("--fault {part:?} is in no name"), format!("there are {names}")));
    }
    let hours = args.healthy_hours + args.expert_hours;
    let cost = match args.files {
        true => cost::of_files(&args.ranks, faults.len(), args.seeds),
        false => cost::of_ranks(&args.ranks, (faults.len(), args.seeds), hours),
    };
    if !goes_on(&cost, streams)? {
        return Ok(());
    }
    let options =
        Options { ranks: args.ranks.clone(), seeds: args.seeds, healthy_hours: args.healthy_hours, faults };
    let spinner = ProgressBar::new_spinner();
    for &ranks in &options.ranks {
        let progress = |what: &str| {
            spinner.set_message(format!("{ranks} ranks: {what}"));
            spinner.tick();
        };
        if args.errors || args.averages || args.curve {
            let Some(bench) = Bench::of(ranks).map_err(|error| CliError::of(error, ""))? else { continue };
            let text = if args.curve {
                curve(&bench, args.seeds, args.healthy_hours, &progress)
                    .map(|curve| curve_text::markdown(&curve))
            } else if args.errors {
                errors::errors(&bench, args.seeds).map(|matrices| errors::markdown(ranks, &matrices))
            } else {
                let found = averages::FACTORS
                    .iter()
                    .map(|&factor| averages::averages(&bench, factor, &averages::WIDTHS_MS, bench.case.seed))
                    .collect::<Result<Vec<_>, _>>();
                found.map(|all| {
                    all.iter().map(|one| averages::markdown(ranks, one)).collect::<Vec<_>>().join("\n")
                })
            };
            let text = text.map_err(|error| CliError::of(error, ""))?;
            spinner.suspend(|| writeln!(streams.out, "{text}"))?;
            continue;
        }
        if args.files {
            let text = of_files(&options, ranks, &progress).map_err(|error| CliError::of(error, ""))?;
            spinner.suspend(|| writeln!(streams.out, "{text}"))?;
            continue;
        }
        if args.baselines {
            let text = baselines(&options, ranks, &progress).map_err(|error| CliError::of(error, ""))?;
            spinner.suspend(|| writeln!(streams.out, "{text}"))?;
            continue;
        }
        let card = score(&options, ranks, &progress).map_err(|error| CliError::of(error, ""))?;
        let Some(card) = card else { continue };
        spinner.suspend(|| writeln!(streams.out, "{}", markdown(&card)))?;
        if args.verbose {
            for trial in card.rows.iter().flat_map(|row| &row.trials) {
                writeln!(streams.notes, "{trial:#?}")?;
            }
            if let Some(healthy) = &card.healthy {
                writeln!(streams.notes, "{:#?}", healthy.accusations)?;
            }
        }
    }
    if args.expert_hours > 0.0 {
        spinner.set_message("experts beside a neighbor");
        let bench = Bench::with_experts().map_err(|error| CliError::of(error, ""))?;
        let found =
            healthy(&bench, args.expert_hours, &detectors).map_err(|error| CliError::of(error, ""))?;
        let text = format!("## Experts on {} ranks, beside a neighbor\n\n{}\n", bench.ranks, quiet(&found));
        spinner.suspend(|| writeln!(streams.out, "{text}"))?;
        if args.verbose {
            writeln!(streams.notes, "{:#?}", found.accusations)?;
        }
    }
    spinner.finish_and_clear();
    Ok(())
}

/// The card of packet runs.
fn packets(args: &ScoreArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let wanted = |what: &Broken| args.fault.as_ref().is_none_or(|part| what.name().contains(part.as_str()));
    let faults: Vec<Broken> = Broken::ALL.into_iter().filter(wanted).collect();
    if faults.is_empty() {
        let names = Broken::ALL.map(Broken::name).join(", ");
        let part = args.fault.as_deref().unwrap_or_default();
        return Err(CliError::input(format!("--fault {part:?} is in no name"), format!("there are {names}")));
    }
    if !goes_on(&cost::of_packets(faults.len(), args.seeds), streams)? {
        return Ok(());
    }
    let spinner = ProgressBar::new_spinner();
    let progress = |what: &str| {
        spinner.set_message(format!("packets: {what}"));
        spinner.tick();
    };
    let bench = PacketBench::new().map_err(|error| CliError::of(error, ""))?;
    let card = score_packets(&bench, (&faults, args.seeds), &detectors, &progress);
    let card = card.map_err(|error| CliError::of(error, ""))?;
    spinner.finish_and_clear();
    writeln!(streams.out, "{}", of_packets::markdown(&card))?;
    if args.verbose {
        for row in &card.rows {
            for trial in &row.trials {
                writeln!(streams.notes, "{} {:?} {trial:#?}", row.what.name(), row.signals)?;
            }
        }
        for quiet in &card.quiet {
            writeln!(streams.notes, "{} {:#?}", quiet.name, quiet.runs)?;
        }
    }
    Ok(())
}

/// The third part of the card.
fn of_files(options: &Options, ranks: u32, progress: &(dyn Fn(&str) + Sync)) -> Result<String, Error> {
    let Some(bench) = Bench::of(ranks)? else { return Ok(String::new()) };
    let rows = files::score_files(&bench, &options.faults, options.seeds, progress)?;
    Ok(files::markdown(ranks, &rows))
}

/// The card of each baseline.
fn baselines(options: &Options, ranks: u32, progress: &(dyn Fn(&str) + Sync)) -> Result<String, Error> {
    let mut text = String::new();
    for baseline in Baseline::ALL {
        let Some(card) = score_with(options, ranks, &|| baseline.detectors(), progress)? else { continue };
        text += &format!("# Baseline: {}\n\n{}\n", baseline.name(), markdown(&card));
    }
    if let Some(bench) = Bench::of(ranks)? {
        text += "The timeout by itself, on faults that stop the job, watched for an hour:\n\n";
        text += &elastic_text(&bench, &options.faults, options.seeds)?;
    }
    Ok(text)
}

//! `railtwin score`: the score card of the detectors.

use clap::Args;
use indicatif::ProgressBar;
use railtwin::Error;
use railtwin::score::baselines::{Baseline, elastic_text};
use railtwin::score::bench::Bench;
use railtwin::score::inject::Injected;
use railtwin::score::text::markdown;
use railtwin::score::{Options, averages, errors, score, score_with};

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
    /// Print what was found in every trial
    #[arg(long)]
    verbose: bool,
}

pub(crate) fn run(args: &ScoreArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let sizes: Vec<u32> = Bench::sizes().collect();
    if let Some(wrong) = args.ranks.iter().find(|ranks| !sizes.contains(ranks)) {
        return Err(CliError::input(format!("--ranks {wrong}"), format!("there are {sizes:?}")));
    }
    if !(args.healthy_hours.is_finite() && args.healthy_hours >= 0.0) {
        return Err(CliError::input(
            format!("--healthy-hours {}", args.healthy_hours),
            "0 or more is needed",
        ));
    }
    let wanted = |what: &Injected| args.fault.as_ref().is_none_or(|part| what.name().contains(part.as_str()));
    let faults: Vec<Injected> = Injected::ALL.into_iter().filter(wanted).collect();
    if faults.is_empty() {
        let names = Injected::ALL.map(Injected::name).join(", ");
        let part = args.fault.as_deref().unwrap_or_default();
        return Err(CliError::input(format!("--fault {part:?} is in no name"), format!("there are {names}")));
    }
    let options =
        Options { ranks: args.ranks.clone(), seeds: args.seeds, healthy_hours: args.healthy_hours, faults };
    let spinner = ProgressBar::new_spinner();
    for &ranks in &options.ranks {
        let progress = |what: &str| {
            spinner.set_message(format!("{ranks} ranks: {what}"));
            spinner.tick();
        };
        if args.errors || args.averages {
            let Some(bench) = Bench::of(ranks).map_err(|error| CliError::of(error, ""))? else { continue };
            let text = if args.errors {
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
    spinner.finish_and_clear();
    Ok(())
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

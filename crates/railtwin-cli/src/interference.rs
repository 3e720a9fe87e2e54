//! `railtwin interference`: what jobs on one fabric cost each other.
use std::path::Path;
use std::thread::available_parallelism;

use clap::Args;
use railtwin::Question;
use railtwin::cost::Cost;
use railtwin::cost_json::of_interference;
use railtwin::interference::{Interference, Options, interference};
use railtwin_fabric::Fabric;

use crate::foreseen::goes_on;
use crate::meter::Meter;
use crate::table::TextTable;
use crate::units::shown;
use crate::{CliError, Streams};

/// Links of a table, beyond which they are counted.
const LINKS_SHOWN: usize = 10;

/// Arguments of `interference`.
#[derive(Args, Debug)]
pub struct InterferenceArgs {
    /// A scenario with several jobs
    #[arg(value_name = "SCENARIO")]
    scenario: String,
    /// Draws of starts, hash seeds and computing times
    #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    draws: u32,
    /// Steps of the slowest job over which each draw is measured
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    steps: u32,
    /// Print all as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &InterferenceArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let question = Question::read(Path::new(&args.scenario)).map_err(|error| CliError::of(error, ""))?;
    let wrong = |error| CliError::of(error, &question.text);
    let mut points = question.points().map_err(wrong)?;
    if points.len() != 1 {
        let message = format!("{} has {} points", args.scenario, points.len());
        return Err(CliError::input(
            message,
            "`interference` wants one: write one value for each key of [sweep]",
        ));
    }
    let resolved = question.resolve(&points.remove(0).scenario).map_err(wrong)?;
    let cores = available_parallelism().map_or(1, usize::from);
    // Each draw runs all jobs together, and each of them alone: as much again.
    let steps = resolved.case.work.jobs.iter().map(|job| job.steps).max().unwrap_or(1);
    let runs = (2 * u64::from(args.draws), f64::from(args.steps) / f64::from(steps.max(1)));
    let cost = Cost::of_runs(&resolved, runs, cores, railtwin::memory::limit()).map_err(wrong)?;
    if !goes_on(&cost, streams)? {
        return Ok(());
    }
    let meter = Meter::new(u64::from(args.draws), "replicates");
    let options = Options { draws: args.draws, steps: args.steps };
    let engine = railtwin::engines::engine_of(&resolved);
    let found = interference(&resolved.case, &*engine, options, &|| meter.tick()).map_err(wrong)?;
    meter.finish();
    let fabric = &*resolved.case.fabric;
    match args.json {
        true => writeln!(streams.out, "{:#}", of_interference(&found, fabric))?,
        false => write!(streams.out, "{}", text(&found, fabric))?,
    }
    Ok(())
}

fn text(found: &Interference, fabric: &Fabric) -> String {
    let mut table = TextTable::default();
    let head = ["job", "GPUs", "alone", "together", "slowdown", "5 to 95 %"];
    table.noted_row(head.map(str::to_owned), "shares links with");
    for job in &found.jobs {
        let others = job.shares.iter().map(|&(other, links)| format!("{} ({links})", found.jobs[other].name));
        let others: Vec<String> = others.collect();
        let cells = [
            job.name.clone(),
            job.gpus.to_string(),
            shown(Some(job.alone.median), "s"),
            shown(Some(job.together.median), "s"),
            format!("{:.3}", job.slowdown.median),
            format!("{:.3} to {:.3}", job.slowdown.p5, job.slowdown.p95),
        ];
        table.noted_row(
            cells,
            if others.is_empty() { "nobody".to_owned() } else { others.join(", ") }.as_str(),
        );
    }
    let mut text = format!("step times, medians over {} draws of starts\n\n{}", found.draws, table.text());
    if found.links.is_empty() {
        return text + "\nno link of the network is used by two jobs\n";
    }
    let mut links = TextTable::default();
    links.noted_row(["shared link", "asked for"].map(str::to_owned), "by");
    for link in found.links.iter().take(LINKS_SHOWN) {
        let of = |(&job, share): (&usize, &f64)| format!("{} {share:.3}", found.jobs[job].name);
        let by: Vec<String> = link.jobs.iter().zip(&link.asked).map(of).collect();
        links.noted_row([fabric.link_name(link.link), format!("{:.3}", link.all())], &by.join(", "));
    }
    text += &format!("\n{}", links.text());
    if found.links.len() > LINKS_SHOWN {
        text += &format!("and {} more; --json has all\n", found.links.len() - LINKS_SHOWN);
    }
    text
}

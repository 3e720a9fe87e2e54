//! `railtwin impact`: jobs, ranks and queue pairs on devices, and the cost of draining these devices now.
use std::thread::available_parallelism;

use clap::Args;
use railtwin::cost::Cost;
use railtwin::cost_json::of_impact;
use railtwin::impact::{Impact, Impacts, JobImpact, StepTime, draws_of, impact};
use railtwin::what_if::options_of;
use railtwin_fabric::{Fabric, HostId};
use railtwin_scenario::EngineName;

use crate::foreseen::goes_on;
use crate::meter::Meter;
use crate::one_point::one_point;
use crate::table::TextTable;
use crate::units::shown;
use crate::{CliError, Streams};

/// Runs of numbers that are shown, beyond which the rest is counted.
const RUNS_SHOWN: usize = 6;

/// Arguments of `impact`.
#[derive(Args, Debug)]
pub struct ImpactArgs {
    /// A scenario
    #[arg(value_name = "SCENARIO")]
    scenario: String,
    /// Leaves, spines, cores, hosts, NICs or cables, by the names that reports use: leaf-3, host-5/nic-0, leaf-0:uplink-2;
    /// of several each alone and all together
    #[arg(value_name = "DEVICE", required = true)]
    devices: Vec<String>,
    /// Draws of starts, hash seeds and computing times; step times are medians and bands over them [default: 50, and of a
    /// scenario with one job its replicates]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    draws: Option<u32>,
    /// Print all as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ImpactArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let (question, scenario) = one_point(&args.scenario, "impact")?;
    let wrong = |error| match error {
        railtwin::Error::Argument(message) => CliError::refused(&message),
        error => CliError::of(error, &question.text),
    };
    let resolved = question.resolve(&scenario).map_err(wrong)?;
    let options = options_of(&scenario, args.draws);
    let steps = resolved.case.work.jobs.iter().map(|job| job.steps).max().unwrap_or(1);
    let runs = (draws_of(args.devices.len(), options), f64::from(options.steps) / f64::from(steps.max(1)));
    let cores = available_parallelism().map_or(1, usize::from);
    let cost = Cost::of_runs(&resolved, runs, cores, railtwin::memory::limit()).map_err(wrong)?;
    if !goes_on(&cost, streams)? {
        return Ok(());
    }
    let meter = Meter::new(draws_of(args.devices.len(), options), "replicates");
    let engine = railtwin::engines::engine(EngineName::Flow, 1);
    let found = impact(&resolved.case, &*engine, &args.devices, options, &|| meter.tick()).map_err(wrong)?;
    meter.finish();
    match args.json {
        true => writeln!(streams.out, "{:#}", of_impact(&found, &resolved.case.fabric))?,
        false => write!(streams.out, "{}", text(&found, &resolved.case.fabric))?,
    }
    if options.draws == 1 {
        writeln!(streams.notes, "one draw of the hashes: another may say otherwise; write --draws 20")?;
    }
    Ok(())
}

/// A block for each device, and one for all of them together.
fn text(found: &Impacts, fabric: &Fabric) -> String {
    let blocks = found.each.iter().chain(&found.together).map(|one| block(one, fabric));
    blocks.collect::<Vec<String>>().join("\n")
}

fn block(found: &Impact, fabric: &Fabric) -> String {
    let mut text = match found.subjects.as_slice() {
        [one] => format!("{} {}: {} cables", one.kind, one.name, one.cables.len()),
        all => format!("all {} together", all.len()),
    };
    let hosts = || found.subjects.iter().filter_map(|subject| subject.host);
    for host in hosts().filter(|&host| fabric.host(host).spare) {
        text += &format!("; {} is a backup host", fabric.host_name(host));
    }
    for one in &found.stand_ins {
        let what = if fabric.host(one.by).spare { "backup host" } else { "free host" };
        let (by, lost, place) = (fabric.host_name(one.by), fabric.host_name(one.lost), place(one.by, fabric));
        text += &format!("; drained, {what} {by} in {place} has the ranks of {lost}");
    }
    let needs_hosts =
        hosts().next().is_some() || found.jobs.iter().any(|job| !(job.gone.is_empty() && job.cut.is_empty()));
    if needs_hosts {
        text += &format!("\nfree hosts left: {}", free_hosts(&found.free, fabric));
    }
    let mut table = TextTable::default();
    table.noted_row(["job", "ranks", "touched", "queue pairs", "step", "drained"].map(str::to_owned), "");
    for job in &found.jobs {
        let cells = [
            job.name.clone(),
            job.ranks.to_string(),
            job.touched.len().to_string(),
            format!("{} of {}", job.queue_pairs, job.all_queue_pairs),
            time(&job.before),
            time(&job.after),
        ];
        table.noted_row(cells, &verdict(job));
    }
    text += &format!("\n\n{}", table.text());
    let touched = found.jobs.iter().filter(|job| !job.touched.is_empty());
    let lines = touched.map(|job| format!("{}: ranks {}\n", job.name, ranges(&job.touched)));
    let lines: String = lines.collect();
    if lines.is_empty() {
        text + "\nno job has a rank or a queue pair there\n"
    } else {
        format!("{text}\n{lines}")
    }
}

/// The segment of a host, with its pod where there are several.
fn place(host: HostId, fabric: &Fabric) -> String {
    let place = fabric.host(host);
    match fabric.pods() {
        0 | 1 => format!("segment {}", place.segment),
        _ => format!("segment {} of pod {}", place.segment, place.pod),
    }
}

/// Hosts by segment: `segment 0: 3 (backup); segment 1: 4–6`.
fn free_hosts(free: &[HostId], fabric: &Fabric) -> String {
    let key = |host: HostId| (place(host, fabric), fabric.host(host).spare);
    let groups: Vec<&[HostId]> = free.chunk_by(|one, next| key(*one) == key(*next)).collect();
    let words = groups.iter().take(RUNS_SHOWN).map(|group| {
        let (place, is_backup) = key(group[0]);
        let numbers: Vec<u32> = group.iter().map(|host| host.0).collect();
        format!("{place}: {}{}", ranges(&numbers), if is_backup { " (backup)" } else { "" })
    });
    let mut text = words.collect::<Vec<String>>().join("; ");
    let rest: usize = groups.iter().skip(RUNS_SHOWN).map(|group| group.len()).sum();
    if rest > 0 {
        text += &format!("; {rest} more; --json has all");
    }
    if text.is_empty() { "none".to_owned() } else { text }
}

/// What draining costs a job, in words.
fn verdict(job: &JobImpact) -> String {
    match (&job.before, &job.after) {
        (StepTime::Seconds(before), StepTime::Seconds(after)) => match after.median / before.median - 1.0 {
            change if change.abs() < 5e-5 => "no change".to_owned(),
            change => format!("{:+.2} %", change * 100.0),
        },
        (_, StepTime::None(reason)) if !job.gone.is_empty() => {
            let ranks = if job.gone.len() == 1 { "rank loses its GPU" } else { "ranks lose their GPUs" };
            format!("cannot run: {} {ranks}, and {reason}", job.gone.len())
        }
        (_, StepTime::None(reason)) if job.cut.is_empty() => format!("cannot run: {reason}"),
        (_, StepTime::None(_)) => {
            let ranks = if job.cut.len() == 1 { "rank loses its" } else { "ranks lose their" };
            format!("cannot run: {} {ranks} only way", job.cut.len())
        }
        (StepTime::None(reason), _) => format!("as it is it cannot run: {reason}"),
    }
}

/// Numbers that ascend as runs: `0–7, 16`.
fn ranges(ranks: &[u32]) -> String {
    let runs: Vec<&[u32]> = ranks.chunk_by(|a, b| a + 1 == *b).collect();
    let words = runs.iter().take(RUNS_SHOWN).map(|run| match run {
        [one] => one.to_string(),
        run => format!("{}–{}", run[0], run[run.len() - 1]),
    });
    let mut text = words.collect::<Vec<String>>().join(", ");
    let rest: usize = runs.iter().skip(RUNS_SHOWN).map(|run| run.len()).sum();
    if rest > 0 {
        text += &format!(" and {rest} more; --json has all");
    }
    text
}

/// A step time in a table: the median, and where draws differ from which to which 5 to 95 % of them lie.
pub(crate) fn time(step: &StepTime) -> String {
    let median = shown(step.seconds(), "s");
    let band = step.band().map(|band| (shown(Some(band.p5), "s"), shown(Some(band.p95), "s")));
    match band {
        Some((p5, p95)) if p5 != median || p95 != median => format!("{median} ({p5} to {p95})"),
        _ => median,
    }
}

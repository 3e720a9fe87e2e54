//! `railtwin impact`: what a device touches, and what draining it now would cost.
use clap::Args;
use railtwin::cost_json::of_impact;
use railtwin::impact::{Impact, JobImpact, StepTime, impact};
use railtwin::what_if::options_of;
use railtwin_fabric::Fabric;
use railtwin_scenario::EngineName;

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
    /// A leaf, spine, core, host, NIC or cable, by the name that reports use: leaf-3, host-5/nic-0, leaf-0:uplink-2
    #[arg(value_name = "DEVICE")]
    device: String,
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
    let meter = Meter::new(2 * u64::from(options.draws), "replicates");
    let engine = railtwin::engines::engine(EngineName::Flow, 1);
    let found = impact(&resolved.case, &*engine, &args.device, options, &|| meter.tick()).map_err(wrong)?;
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

fn text(found: &Impact, fabric: &Fabric) -> String {
    let subject = &found.subject;
    let mut text = format!("{} {}: {} cables", subject.kind, subject.name, subject.cables.len());
    if let Some(host) = subject.host.filter(|&host| fabric.host(host).spare) {
        text += &format!("; host-{} is a backup host", host.0);
    }
    if let Some(spare) = found.stand_in {
        text += &format!("; drained, host-{} has its ranks", spare.0);
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

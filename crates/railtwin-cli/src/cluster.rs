//! `railtwin cluster`: weeks of jobs on one fabric.
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use clap::Args;
use clap::builder::PossibleValuesParser;
use railtwin::Question;
use railtwin::cluster::{Band, ClusterQuestion, FIGURES, Told, compared, page, ranks};
use railtwin::cost::Cost;
use railtwin::schedule::SharingPolicy;
use serde_json::json;

use crate::foreseen::goes_on;
use crate::meter::Meter;
use crate::report::{note_stand_in, write_page};
use crate::table::TextTable;
use crate::units::shown;
use crate::{CliError, Streams};

/// Lines about single runs below the table, beyond which the rest is counted.
const LINES_MOST: usize = 8;

/// Arguments of `cluster`.
#[derive(Args, Debug)]
pub struct ClusterArgs {
    /// A scenario with [cluster]
    #[arg(value_name = "SCENARIO")]
    scenario: PathBuf,
    /// Who decides about paths and priorities, in place of what the scenario says; several side by side
    #[arg(long, value_name = "POLICY", value_delimiter = ',', value_parser = PossibleValuesParser::new(SharingPolicy::NAMES))]
    policy: Vec<String>,
    /// All of them
    #[arg(long, conflicts_with = "policy")]
    compare: bool,
    /// So many seeds from that of the scenario on, each with jobs and hashes of its own
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Of a scenario with several points: the figure that is printed of each
    #[arg(long, value_name = "NAME", default_value = "gpu_utilization", value_parser = PossibleValuesParser::new(FIGURES))]
    figure: String,
    /// Print all as JSON: figures, jobs, hours, who contended with whom
    #[arg(long)]
    json: bool,
    /// Write all of it as one page, which opens offline
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

pub(crate) fn run(args: &ClusterArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let question = Question::read(Path::new(&args.scenario)).map_err(|error| CliError::of(error, ""))?;
    let wrong = |error| CliError::of(error, &question.text);
    let points = question.points().map_err(wrong)?;
    if points.len() != 1 && args.report.is_some() {
        let message = format!("{} has {} points", args.scenario.display(), points.len());
        return Err(CliError::input(message, "--report wants one: write one value for each key"));
    }
    // Each point would run every policy that is named, and points of one sharing would be alike.
    let is_swept = points.iter().flat_map(|point| &point.label).any(|(key, _)| key == "cluster.sharing");
    if is_swept && (args.compare || !args.policy.is_empty()) {
        let message = format!("{} has several policies in `cluster.sharing`", args.scenario.display());
        let named = if args.compare { "--compare" } else { "--policy" };
        return Err(CliError::input(
            message,
            format!("leave {named} away, or write one value for `sharing`"),
        ));
    }
    let described = points[0].scenario.description.clone().unwrap_or_default();
    let mut asked = Vec::with_capacity(points.len());
    for point in &points {
        asked.push((&point.label, question.cluster(&point.scenario).map_err(wrong)?));
    }
    if points.iter().any(|point| !point.scenario.expect.is_empty() || point.scenario.gain.is_some()) {
        writeln!(streams.notes, "[expect] and [gain] are judged by `railtwin run` and `sweep`")?;
    }
    let policies: Vec<SharingPolicy> = match (args.compare, args.policy.is_empty()) {
        (true, _) => SharingPolicy::ALL.to_vec(),
        (false, true) => vec![asked[0].1.spec.sharing],
        (false, false) => args.policy.iter().filter_map(|name| SharingPolicy::named(name)).collect(),
    };
    let Some(told) = told_of(args, &asked, &policies, &wrong, streams)? else { return Ok(()) };
    for note in of_gate(&told) {
        writeln!(streams.notes, "{note}")?;
    }
    if let Some(path) = &args.report {
        write_page(path, &page(&asked[0].1, &described, &told[0]))?;
        note_stand_in(streams)?;
    }
    let (_, first) = &asked[0];
    if asked.len() > 1 {
        let labels: Vec<_> = asked.iter().map(|(label, _)| label.as_slice()).collect();
        if args.json {
            let points: Vec<_> = labels.iter().zip(&told).map(|(label, runs)| point(label, runs)).collect();
            return Ok(writeln!(streams.out, "{:#}", json!({ "name": first.name, "points": points }))?);
        }
        return Ok(write!(streams.out, "{}", choices(&first.name, args, &labels, &told))?);
    }
    if args.json {
        return Ok(writeln!(streams.out, "{:#}", json!({ "name": first.name, "runs": told[0] }))?);
    }
    write!(streams.out, "{}", text(first, &policies, &told[0]))?;
    if let Some(path) = &args.report {
        writeln!(streams.out, "\nreport  {}", path.display())?;
    }
    Ok(())
}

/// Why the gate changed nothing, where it did not in any run.
fn of_gate(told: &[Vec<Told>]) -> Vec<&str> {
    let mut notes = Vec::new();
    for run in told.iter().flatten() {
        let Some(note) = run.idle_gate.as_deref() else { return Vec::new() };
        notes.push(note);
    }
    notes.sort_unstable();
    notes.dedup();
    notes
}

/// Points with their labels, resolved.
type Points<'a> = [(&'a Vec<(String, String)>, ClusterQuestion)];

/// Runs of each point, policy after policy, behind what is to be said before they begin; none where the cost alone was
/// asked for.
fn told_of(
    args: &ClusterArgs,
    asked: &Points<'_>,
    policies: &[SharingPolicy],
    wrong: &dyn Fn(railtwin::Error) -> CliError,
    streams: &mut Streams<'_>,
) -> Result<Option<Vec<Vec<Told>>>, CliError> {
    let own: Vec<[SharingPolicy; 1]> = asked.iter().map(|(_, cluster)| [cluster.spec.sharing]).collect();
    let policies_of = |point: usize| match args.policy.is_empty() && !args.compare {
        true => &own[point][..],
        false => policies,
    };
    let cores = available_parallelism().map_or(1, usize::from) as u64;
    let mut all: Option<Cost> = None;
    for (point, (_, cluster)) in asked.iter().enumerate() {
        let one = cluster.cost(policies_of(point).len() as u64 * args.seeds, cores).map_err(wrong)?;
        all = Some(match all {
            Some(all) => all.then(&one),
            None => one,
        });
    }
    if let Some(cost) = all
        && !goes_on(&cost, streams)?
    {
        return Ok(None);
    }
    for (point, (_, cluster)) in asked.iter().enumerate() {
        for note in cluster.notes.iter().cloned().chain(cluster.idle_keys(policies_of(point))) {
            writeln!(streams.notes, "{note}")?;
        }
    }
    let runs = policies.len() as u64 * args.seeds * asked.len() as u64;
    let meter = Meter::new(runs, "runs");
    if runs > 1 {
        let of = [(asked.len(), "point"), (policies.len(), "policy"), (args.seeds as usize, "seed")];
        meter.announce(&runs_in_words(runs, of), streams.notes)?;
    }
    let mut told = Vec::with_capacity(asked.len());
    for (point, (_, cluster)) in asked.iter().enumerate() {
        let policies = policies_of(point);
        let seeds: Vec<u64> = (0..args.seeds).map(|number| cluster.seed.wrapping_add(number)).collect();
        told.push(cluster.told(policies, &seeds, &|| meter.tick()).map_err(wrong)?);
    }
    meter.finish();
    Ok(Some(told))
}

fn point(label: &[(String, String)], runs: &[Told]) -> serde_json::Value {
    let label = label.iter().map(|(key, value)| (key.clone(), value.clone().into()));
    json!({ "label": label.collect::<serde_json::Map<_, _>>(), "runs": runs })
}

/// A line for each point, a column for each policy: one figure, its median over seeds.
fn choices(name: &str, args: &ClusterArgs, labels: &[&[(String, String)]], told: &[Vec<Told>]) -> String {
    let mut policies: Vec<&str> = Vec::new();
    for one in told.iter().flatten() {
        if !policies.contains(&one.policy) {
            policies.push(one.policy);
        }
    }
    let figure = args.figure.as_str();
    let mut table = TextTable::default();
    table.row(std::iter::once("point").chain(policies.iter().copied()).map(str::to_owned));
    for (label, runs) in labels.iter().zip(told) {
        let of_policy = |policy: &&str| {
            let bands = compared(&runs.iter().filter(|one| one.policy == *policy).collect::<Vec<_>>());
            let band = bands.into_iter().find(|band| band.name == figure);
            band.map_or("–".to_owned(), |band| cell(band.unit, band.median))
        };
        let label: Vec<String> = label.iter().map(|(key, value)| format!("{key}={value}")).collect();
        table.row(std::iter::once(label.join(" ")).chain(policies.iter().map(of_policy)));
    }
    let over = if args.seeds > 1 { format!(", medians of {} seeds", args.seeds) } else { String::new() };
    format!("{name}: {figure} at {} points{over}\n\n{}", labels.len(), table.text())
}

/// A column for each policy, a line for each figure; over several seeds its median, and least and most below it.
fn text(cluster: &ClusterQuestion, policies: &[SharingPolicy], told: &[Told]) -> String {
    let names: Vec<&str> = policies.iter().map(|policy| policy.name()).collect();
    let bands: Vec<Vec<Band>> = names
        .iter()
        .map(|name| compared(&told.iter().filter(|one| one.policy == *name).collect::<Vec<_>>()))
        .collect();
    let mut table = TextTable::default();
    table.row(std::iter::once("figure").chain(names.iter().copied()).map(str::to_owned));
    for name in FIGURES {
        let of: Vec<Option<&Band>> =
            bands.iter().map(|all| all.iter().find(|one| one.name == name)).collect();
        if of.iter().all(Option::is_none) {
            continue;
        }
        let mut line = |name: &str, value: fn(&Band) -> f64| {
            let cells =
                of.iter().map(|one| one.map_or("–".to_owned(), |band| cell(band.unit, value(band))));
            table.row(std::iter::once(name.to_owned()).chain(cells));
        };
        line(name, |band| band.median);
        if of.iter().flatten().any(|band| band.least != band.most) {
            line("  least", |band| band.least);
            line("  most", |band| band.most);
        }
    }
    let seeds = told.len() / policies.len().max(1);
    if seeds > 1 && policies.len() > 1 {
        let ranks = ranks(&names, told).into_iter().map(|rank| format!("{rank:.2}"));
        table.row(std::iter::once("place by gpu_utilization, mean".to_owned()).chain(ranks));
    }
    let jobs = told.iter().map(|one| one.jobs.len());
    let (least, most) = (jobs.clone().min().unwrap_or(0), jobs.max().unwrap_or(0));
    let jobs = if least == most { counted(least as f64, "job") } else { format!("{least} to {most} jobs") };
    let over = if seeds > 1 { format!(", medians of {seeds} seeds") } else { String::new() };
    format!(
        "{}: {} GPUs, {}, {jobs}{over}\n\n{}",
        cluster.name,
        cluster.gpus(),
        counted(cluster.spec.days, "day"),
        table.text() + &below(cluster, told)
    )
}

/// Lines below the table: figures without a value, figures that leave jobs out, and what was assumed.
fn below(cluster: &ClusterQuestion, told: &[Told]) -> String {
    let spec = &cluster.spec;
    let is_asked = |name: &str| {
        (spec.checkpoint.is_some() || !name.starts_with("checkpoint"))
            && (spec.read.is_some() || !name.starts_with("read"))
            && (spec.inference.is_some() || !name.starts_with("inference"))
    };
    let run = |one: &Told| match told.len() {
        1 => String::new(),
        _ => format!("{}, seed {}: ", one.policy, one.seed),
    };
    let mut lines: Vec<String> = Vec::new();
    for one in told {
        let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
        for figure in one.figures.iter().filter(|figure| figure.value.is_none() && is_asked(figure.name)) {
            match by_reason.iter_mut().find(|(reason, _)| *reason == figure.reason) {
                Some((_, names)) => names.push(figure.name),
                None => by_reason.push((figure.reason, vec![figure.name])),
            }
        }
        let missing = by_reason.iter();
        lines.extend(
            missing.map(|(reason, names)| format!("no value  {}{}: {reason}", run(one), names.join(", "))),
        );
        let noted =
            one.figures.iter().filter(|figure| figure.name == "waiting_mean" && !figure.note.is_empty());
        lines.extend(noted.map(|figure| format!("left out  {}{}: {}", run(one), figure.name, figure.note)));
    }
    let rest = lines.len().saturating_sub(LINES_MOST);
    lines.truncate(LINES_MOST);
    if rest > 0 {
        lines.push(format!("and {rest} more such lines; --json has all"));
    }
    lines.extend(cluster.assumed().into_iter().map(|line| format!("assumed  {line}")));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// `12 runs: 2 policies, 6 seeds`.
fn runs_in_words(runs: u64, of: [(usize, &str); 3]) -> String {
    let words = |(count, what): (usize, &str)| match what.strip_suffix('y') {
        Some(stem) => format!("{count} {stem}ies"),
        None => format!("{count} {what}s"),
    };
    let several: Vec<String> = of.into_iter().filter(|(count, _)| *count > 1).map(words).collect();
    format!("{runs} runs: {}", several.join(", "))
}

/// `1 job`, `2 jobs`.
fn counted(count: f64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1.0 { "" } else { "s" })
}

fn cell(unit: &str, value: f64) -> String {
    match unit {
        "s" => shown(Some(value), "s"),
        _ if value.fract() == 0.0 && value.abs() >= 10.0 => format!("{value:.0}"),
        _ => format!("{value:.4}"),
    }
}

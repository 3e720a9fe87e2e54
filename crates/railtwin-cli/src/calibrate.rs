//! `railtwin calibrate`: what collectives and transfers cost the hosts of a cluster, from its own logs.
use std::path::PathBuf;

use clap::Args;
use railtwin::cost::files::{Reading, of_files};
use railtwin_calibration::calibrate::{self, Calibration, Fitted, Sources};
use railtwin_fabric::HostModel;
use railtwin_scenario::{CapsFile, host_caps};
use railtwin_store::write_whole;
use railtwin_workload::Collective;

use crate::calibrate_plain::{percent, size};
use crate::check_bandwidth::host_of;
use crate::evidence::evidence;
use crate::foreseen::goes_on;
use crate::table::TextTable;
use crate::{CliError, Streams, calibrate_held_back, calibrate_plain, calibrate_scale};

/// Arguments of `calibrate`.
#[derive(Args, Debug)]
pub struct CalibrateArgs {
    /// Logs of nccl-tests and perftest, step logs of jobs (NCCL Inspector, PyTorch profiler), or folders of them
    #[arg(value_name = "LOGS", required_unless_present = "known")]
    logs: Vec<PathBuf>,
    /// Print the caps that are known of a host model, such as hgx-h100, instead: what `measured` stands for
    #[arg(long, value_name = "HOST", conflicts_with_all = ["logs", "out", "fabric", "json"])]
    known: Option<String>,
    /// File that gets the caps: `[fabric.host] caps` takes it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// What the hosts are: a preset by name, such as hpn, or a scenario file; default as the name of the GPUs tells
    #[arg(long, value_name = "PRESET|SCENARIO")]
    fabric: Option<String>,
    /// GPUs of a host, for step logs that name no hosts: ranks are numbered host by host
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), conflicts_with = "known")]
    gpus: Option<u32>,
    /// Of a table with several settings the one to fit; --out needs it there
    #[arg(long, value_name = "NAME", conflicts_with = "known")]
    setting: Option<String>,
    /// Fits on clusters of at most so many GPUs, and holds the larger ones of the logs against what is predicted of them
    #[arg(long, value_name = "GPUS", value_parser = clap::value_parser!(u32).range(2..=1_048_576),
          conflicts_with_all = ["known", "out", "ask"])]
    fit_up_to: Option<u32>,
    /// GPUs of larger clusters, whose times are predicted, size by size: 512,2048
    #[arg(long, value_name = "GPUS", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(2..=1_048_576),
          conflicts_with = "known")]
    ask: Vec<u32>,
    /// Print all as JSON
    #[arg(long)]
    json: bool,
}

/// Collectives whose errors are told together.
const TOGETHER: [(&str, &[Collective]); 3] = [
    (
        "all-reduce, all-gather, reduce-scatter",
        &[Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter],
    ),
    ("all-to-all", &[Collective::AllToAll]),
    ("send/receive", &[Collective::SendReceive]),
];
/// Which sizes were fitted where the others were left out.
const TURNS: [&str; 2] = ["1st, 3rd, …", "2nd, 4th, …"];
/// Below this latency of all steps in seconds a fit says nothing of it: the measurements' own scatter is as much.
const LATENCY: f64 = 1e-6;

pub(crate) fn run(args: &CalibrateArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    if let Some(model) = &args.known {
        let text = host_caps::text_of_model(model).ok_or_else(|| {
            let names = host_caps::models().join(", ");
            CliError::refused(&format!("--known: no caps are known of {model:?}; write one of {names}"))
        })?;
        write!(streams.out, "{text}")?;
        return Ok(streams.out.flush()?);
    }
    let host = host_of(args.fabric.as_deref())?;
    if let Some(path) = &args.out {
        let holds_caps = |path: &PathBuf| {
            let text = railtwin_store::input::read_text(path).ok();
            text.is_some_and(|text| CapsFile::parse("", &text).is_ok())
        };
        if path.symlink_metadata().is_ok() && !holds_caps(path) {
            let message = format!("{} exists already and holds no caps", path.display());
            return Err(CliError::input(message, "choose another name"));
        }
    }
    if !goes_on(&of_files(&args.logs, Reading::EVIDENCE), streams)? {
        return Ok(());
    }
    if let Some(most) = args.fit_up_to {
        return calibrate_held_back::run(
            &args.logs,
            args.setting.as_deref(),
            most,
            host.as_ref(),
            args.json,
            streams,
        );
    }
    let (found, unread) = calibration_of(&args.logs, host.as_ref(), args.gpus, args.setting.as_deref())?;
    let mut settings: Vec<&str> = found.scaling.iter().map(|one| one.series.setting.as_str()).collect();
    settings.dedup();
    if args.out.is_some() && settings.len() > 1 {
        let message = format!("--out: these logs have {} settings, and caps are of one", settings.len());
        return Err(CliError::input(message, format!("add --setting with one of {}", settings.join(", "))));
    }
    let asked = calibrate_scale::asked(&found, &args.ask, host.as_ref())?;
    match args.json {
        true => {
            let mut data = data(&found);
            if !asked.is_empty() {
                data["asked"] = calibrate_scale::asked_data(&asked);
            }
            writeln!(streams.out, "{data:#}")?;
        }
        false => write!(streams.out, "{}{}", shown(&found, unread), calibrate_scale::asked_text(&asked))?,
    }
    if let Some(path) = &args.out {
        let text = file(&found);
        write_whole(path, text.as_bytes())
            .map_err(|error| CliError::input(format!("cannot write {}: {error}", path.display()), ""))?;
        if !args.json {
            writeln!(streams.out, "\n{}: [fabric.host] caps = \"…\" takes it", path.display())?;
        }
    }
    streams.out.flush()?;
    Ok(())
}

/// Reads logs and fits them; also the number of recognized files that could not be read.
pub(crate) fn calibration_of(
    paths: &[PathBuf],
    host: Option<&HostModel>,
    gpus: Option<u32>,
    setting: Option<&str>,
) -> Result<(Calibration, usize), CliError> {
    let mut inputs = evidence(paths, "job")?;
    calibrate_scale::of_setting(&mut inputs.merged.nccl_tests, setting)?;
    let sources = Sources {
        nccl_tests: &inputs.merged.nccl_tests,
        perftest: &inputs.merged.perftest,
        steps: Some(&inputs.merged.telemetry),
        gpus,
    };
    let found = calibrate::calibrate_all(&sources, host);
    if found.fitted.is_empty() && found.plain.is_empty() {
        let what = paths.first().map_or(String::new(), |path| path.display().to_string());
        let none = || "no results of nccl-tests or perftest, and no collectives of step logs".to_owned();
        let why = found.aside.first().map_or_else(none, |aside| format!("{}: {}", aside.kind, aside.why));
        let help = "give what tests such as all_reduce_perf or ib_write_lat print, or step logs of all ranks, with two \
                    sizes or more";
        return Err(CliError::input(format!("nothing to calibrate in {what}: {why}"), help));
    }
    Ok((found, inputs.unread.iter().filter(|file| file.known).count()))
}

/// The caps as text, with what they are of.
pub(crate) fn file(found: &Calibration) -> String {
    let model = found.model.as_deref().unwrap_or("hosts of an unknown model");
    let mut text =
        format!("# What collectives cost {model}: `railtwin calibrate` over {}.\n", counted(found));
    if found.fitted.iter().any(|one| !one.steps) {
        text.push_str("# Logs do not say which algorithm ran; it is taken from what was reached.\n");
    }
    for (name, collectives) in TOGETHER {
        if let Some((median, tail, sizes)) = found.left_out(0, collectives) {
            text.push_str(&format!(
                "# {name}: fitted on every other size, the {sizes} others are off by {} (median) and {} (90th percentile).\n",
                percent(median),
                percent(tail)
            ));
        }
    }
    if let Some((median, tail, sizes)) = found.plain_left_out(0) {
        text.push_str(&format!(
            "# plain transfers: fitted on every other size, the {sizes} others are off by {} (median) and {} (90th percentile).\n",
            percent(median),
            percent(tail)
        ));
    }
    for one in &found.scaling {
        let most = one.fit.model.ranks();
        let priors = match one.fit.priors.as_slice() {
            [] => "no constant of it is a prior".to_owned(),
            priors => format!(
                "priors, measured elsewhere: {}; a probe of a larger cluster among the logs replaces them",
                priors.join(", ")
            ),
        };
        text.push_str(&format!(
            "# {} over any number of hosts: fitted on at most {most} GPUs; {priors}.\n",
            one.series.name()
        ));
    }
    text.push('\n');
    text.push_str(&found.file().to_toml());
    text
}

fn shown(found: &Calibration, unread: usize) -> String {
    let model = found.model.as_deref().unwrap_or("hosts of an unknown model");
    let kinds = found.fitted.len() + found.plain.len();
    let mut text = format!("{kinds} kinds of tests, {}, {model}\n", counted(found));
    if !found.fitted.is_empty() {
        text.push_str(&format!("\n{}", collectives(found)));
    }
    if !found.plain.is_empty() {
        text.push_str(&format!("\n{}", calibrate_plain::shown(&found.plain)));
    }
    text.push_str(&calibrate_scale::shown(found));
    text.push_str("\nerrors over sizes that were left out of the fit (median, 90th percentile)\n");
    let mut errors = TextTable::default();
    let all = TOGETHER.iter().map(|(name, collectives)| (*name, Some(*collectives)));
    for (name, collectives) in all.chain([("plain transfers", None)]) {
        for (turn, fitted) in TURNS.iter().enumerate() {
            let left_out = match collectives {
                Some(collectives) => found.left_out(turn, collectives),
                None => found.plain_left_out(turn),
            };
            let Some((median, tail, sizes)) = left_out else { continue };
            let mut words = format!("{sizes} sizes, fitted on the {fitted}");
            if let Some(collectives) = collectives.filter(|_| turn == 1)
                && let (Some(between), Some(below)) = found.between_and_below(collectives)
            {
                let (between, below) = (percent(between.1), percent(below.1));
                words.push_str(&format!("; 90th percentiles between them {between}, below them {below}"));
            }
            errors.noted_row([name.to_owned(), percent(median), percent(tail)], &words);
        }
    }
    text.push_str(&errors.text());
    let unknown = unidentified(found);
    if !unknown.is_empty() {
        text.push_str("\nnot identified by these logs\n");
        unknown.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    }
    for aside in &found.aside {
        text.push_str(&format!("left aside: {}: {}\n", aside.kind, aside.why));
    }
    if unread > 0 {
        text.push_str(&format!("{unread} files could not be read\n"));
    }
    text
}

/// How many tests, runs and operations there are.
fn counted(found: &Calibration) -> String {
    let of = |steps: bool| {
        found.fitted.iter().filter(|one| one.steps == steps).map(|one| one.tests).sum::<usize>()
    };
    let runs: usize = found.plain.iter().map(|one| one.runs).sum();
    let parts = [
        (of(false), "tests of nccl-tests"),
        (of(true), "operations of step logs"),
        (runs, "runs of perftest"),
    ];
    let parts =
        parts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    parts.collect::<Vec<_>>().join(", ")
}

/// The table of collectives.
fn collectives(found: &Calibration) -> String {
    let mut table = TextTable::default();
    let heads =
        ["collective", "hosts x GPUs", "sizes", "algorithm", "step us", "GB/s bus", "limited by", "error"];
    table.row(heads.map(str::to_owned));
    for one in &found.fitted {
        for (row, range) in one.fit.ranges.iter().enumerate() {
            let until = range.until.map_or("up".to_owned(), |until| format!("to {}", size(until)));
            let worst = one.errors.iter().map(|error| error.abs()).fold(0.0, f64::max);
            table.row([
                one.collective.name().to_owned(),
                format!("{} x {}", one.group.hosts, one.group.local),
                format!("{} {until}", size(range.from)),
                one.algorithms[row].name().to_owned(),
                format!("{:.2}", one.step(row) * 1e6),
                format!("{:.1}", one.busbw(row) / 1e9),
                limit(one, row).to_owned(),
                if row == 0 { percent(worst) } else { String::new() },
            ]);
        }
        if one.steps {
            let words =
                format!("  of {} operations of step logs, of each the shortest time of its ranks", one.tests);
            table.noted_row([], &words);
        }
        if let Some(channels) = one.fit.channels {
            let words = format!(
                "  channels reach {:.1} GB/s up to {}, and twice as much at twice the size",
                channels.bandwidth / 1e9,
                size(channels.bytes)
            );
            table.noted_row([], &words);
        }
    }
    table.text()
}

fn limit(one: &Fitted, row: usize) -> &'static str {
    match one.at_the_limit[row] {
        Some(true) => "network",
        Some(false) => "hosts",
        None => "-",
    }
}

/// Constants that the logs say nothing of.
fn unidentified(found: &Calibration) -> Vec<String> {
    let mut lines = Vec::new();
    let kinds = |wanted: &dyn Fn(&Fitted, usize) -> bool| -> Vec<String> {
        let all = found.fitted.iter().flat_map(|one| (0..one.fit.ranges.len()).map(move |row| (one, row)));
        let all = all.filter(|(one, row)| wanted(one, *row));
        let mut names: Vec<String> = all
            .map(|(one, _)| format!("{} {} x {}", one.collective.name(), one.group.hosts, one.group.local))
            .collect();
        names.dedup();
        names
    };
    let network = kinds(&|one, row| one.at_the_limit[row] == Some(true));
    if !network.is_empty() {
        lines.push(format!("what hosts would reach beyond their NICs: {}", network.join(", ")));
    }
    let quick = kinds(&|one, row| one.fit.ranges[row].latency < LATENCY);
    if !quick.is_empty() {
        lines.push(format!("latency of a step: {}", quick.join(", ")));
    }
    if found.fitted.iter().any(|one| !one.steps) {
        lines.push(
            "which algorithm and protocol ran: the logs do not say, the table has what fits".to_owned(),
        );
    }
    if found.fitted.iter().any(|one| one.steps) {
        lines.push(
            "what of step logs' times is the network shared with other communicators of the job".to_owned(),
        );
    }
    lines.extend(calibrate_plain::unidentified(&found.plain));
    let smallest = found.fitted.iter().filter_map(|one| one.fit.ranges.first()).map(|range| range.from).min();
    if let Some(smallest) = smallest {
        lines.push(format!("sizes below {}: NCCL's model stands there", size(smallest)));
    }
    lines
}

/// The calibration as JSON.
pub(crate) fn data(found: &Calibration) -> serde_json::Value {
    let row = |one: &Fitted| {
        let ranges = one.fit.ranges.iter().enumerate().map(|(row, range)| {
            serde_json::json!({
                "from_bytes": range.from,
                "until_bytes": range.until,
                "algorithm": one.algorithms[row].name(),
                "step_us": one.step(row) * 1e6,
                "bus_gb_per_s": one.busbw(row) / 1e9,
                "network_limits": one.at_the_limit[row],
            })
        });
        serde_json::json!({
            "collective": one.collective.name(),
            "hosts": one.group.hosts,
            "gpus": one.group.local,
            "tests": one.tests,
            "step_logs": one.steps,
            "ranges": ranges.collect::<Vec<_>>(),
            "channels": one.fit.channels.map(|channels| serde_json::json!({
                "gb_per_s": channels.bandwidth / 1e9, "bytes": channels.bytes,
            })),
            "errors": one.errors,
            "errors_left_out": one.left_out,
        })
    };
    let aside = found.aside.iter().map(|one| serde_json::json!({ "kind": one.kind, "why": one.why }));
    serde_json::json!({
        "host_model": found.model,
        "kinds": found.fitted.iter().map(row).collect::<Vec<_>>(),
        "plain": found.plain.iter().map(calibrate_plain::data).collect::<Vec<_>>(),
        "models": calibrate_scale::data(found),
        "not_identified": unidentified(found),
        "left_aside": aside.collect::<Vec<_>>(),
    })
}

//! `railtwin explain`: causes that a measured bus bandwidth or step time may have, the likeliest first.
use std::path::PathBuf;

use clap::Args;
use railtwin::cost::files::{Reading, of_files};
use railtwin_answers::explain::{Explained, Weighed, figure, json_of};
use railtwin_store::one_line;

use crate::explain_request::ExplainRequest;
use crate::foreseen::goes_on;
use crate::meter::Meter;
use crate::table::TextTable;
use crate::{CliError, Streams};

/// Arguments of `explain`.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// Logs of nccl-tests, other logs and telemetry of the job, or one run folder
    #[arg(value_name = "FILES")]
    files: Vec<PathBuf>,
    /// A scenario with the fabric and the job that was measured
    #[arg(long, value_name = "SCENARIO")]
    scenario: Option<PathBuf>,
    /// Measured bus bandwidth, such as "180 GB/s"
    #[arg(long, value_name = "BANDWIDTH", conflicts_with = "step_time")]
    busbw: Option<String>,
    /// Measured time of a step, such as "1.2 s"
    #[arg(long, value_name = "TIME")]
    step_time: Option<String>,
    /// Hosts of the test, without a scenario
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100_000), conflicts_with = "scenario")]
    hosts: Option<u32>,
    /// GPUs of each host in the test [default: all]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1024), conflicts_with = "scenario")]
    gpus: Option<u32>,
    /// Host model [default: the one that the log tells, else hgx-h100]
    #[arg(long, value_name = "MODEL", conflicts_with = "scenario")]
    host: Option<String>,
    /// The collective, without a scenario [default: all-reduce]
    #[arg(long, value_name = "NAME", conflicts_with = "scenario")]
    collective: Option<String>,
    /// Size of the buffer [default: the largest of the log, else 4 GiB]
    #[arg(long, value_name = "SIZE", conflicts_with = "scenario")]
    bytes: Option<String>,
    /// The job of the scenario that was measured [default: the first]
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
    /// Draws of hash seeds for flows that collide
    #[arg(long, value_name = "COUNT", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    draws: u32,
    /// Print all as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ExplainArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    if !goes_on(&of_files(&args.files, Reading::EVIDENCE), streams)? {
        return Ok(());
    }
    let posed = request_of(args).posed()?;
    if !goes_on(&posed.cost()?, streams)? {
        return Ok(());
    }
    let meter = Meter::new(posed.ticks(), "runs");
    let found = posed.explained(args.draws, &|| meter.tick())?;
    meter.finish();
    match args.json {
        true => writeln!(streams.out, "{:#}", json_of(&found))?,
        false => write!(streams.out, "{}", text(&found))?,
    }
    Ok(streams.out.flush()?)
}

fn request_of(args: &ExplainArgs) -> ExplainRequest {
    ExplainRequest {
        files: args.files.clone(),
        scenario: args.scenario.clone(),
        busbw: args.busbw.clone(),
        step_time: args.step_time.clone(),
        hosts: args.hosts,
        gpus: args.gpus,
        host: args.host.clone(),
        collective: args.collective.clone(),
        bytes: args.bytes.clone(),
        job: args.job.clone(),
        draws: args.draws,
    }
}

fn text(found: &Explained) -> String {
    let unit = found.measured.unit();
    let mut text = format!("{}\n\n", one_line(&found.answer()));
    let mut table = TextTable::default();
    table.row(["    cause", "simulated", "band", "measured is", "where"].map(str::to_owned));
    for (row, one) in found.ranked.iter().enumerate() {
        table.row(cells(row + 1, one, found));
    }
    text += &table.text();
    for (row, one) in found.ranked.iter().enumerate() {
        for line in &one.shown_by {
            text += &format!("{}. is shown: {}\n", row + 1, one_line(line));
        }
        if !one.remedy.is_empty() {
            text += &format!("{}. remedy: {}\n", row + 1, one_line(&one.remedy));
        }
    }
    text.push('\n');
    let looked_at = if found.is_better() { 0 } else { 2 };
    let firsts: Vec<&Weighed> = found.ranked.iter().take(looked_at).collect();
    for (row, one) in firsts.iter().enumerate().filter(|(_, one)| one.shown_by.is_empty()) {
        if !one.hypothesis.sign.is_empty() {
            text += &format!("look: for cause {}, {}\n", row + 1, one.hypothesis.sign);
        }
    }
    match &found.next {
        Some(next) => {
            text += &format!(
                "measure: {}: {} {unit} if cause 1, {} {unit} if cause 2\n",
                next.how,
                figure(next.first),
                figure(next.second)
            );
        }
        None if found.ranked.len() > 1 && !found.is_better() => {
            text += "measure: no test that was tried parts the first two causes; look for their signs\n";
        }
        None => {}
    }
    for one in &found.not_simulated {
        let why = one.not_simulated.as_deref().unwrap_or_default();
        text += &format!("not simulated: {}: {}\n", one_line(&one.hypothesis.says), one_line(why));
    }
    for line in &found.notes {
        text += &format!("also: {}\n", one_line(line));
    }
    for line in &found.assumed {
        text += &format!("assumed: {}\n", one_line(line));
    }
    text
}

fn cells(row: usize, one: &Weighed, found: &Explained) -> [String; 5] {
    let unit = found.measured.unit();
    let share = one.share.map_or(String::new(), |share| format!(", at {:.0} % of it", 100.0 * share));
    let shown = if one.shown_by.is_empty() { "" } else { ", shown" };
    let band = one.band.map_or(String::new(), |(low, high)| format!("{} to {}", figure(low), figure(high)));
    let off = match one.off(found.measured) {
        Some(_) if one.share.is_some() => "fitted".to_owned(),
        Some(off) => format!("{:+.0} %", 100.0 * off),
        None => "–".to_owned(),
    };
    [
        format!("{row:>2}. {}{share}{shown}", one.hypothesis.says),
        one.figure.map_or("–".to_owned(), |value| format!("{} {unit}", figure(value))),
        band,
        off,
        one.hypothesis.area.name().to_owned(),
    ]
}

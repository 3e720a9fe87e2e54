//! `railtwin triage`: what is wrong, what it costs each job, what to take out first, and which host replaces it.
use std::path::PathBuf;

use clap::Args;
use railtwin::cost::files::{Reading, of_files};
use railtwin::impact::Impact;
use railtwin_answers::triage::{JobCost, RestartHours, Triage, TriageCulprit, TriageOrder, json_of};
use railtwin_fabric::Fabric;
use railtwin_store::one_line;

use crate::anonymize::Anonymizer;
use crate::foreseen::goes_on;
use crate::impact::time;
use crate::meter::Meter;
use crate::table::TextTable;
use crate::triage_request::TriageRequest;
use crate::{CliError, Streams};

/// Arguments of `triage`.
#[derive(Args, Debug)]
pub struct TriageArgs {
    /// Files of telemetry, folders and archives of them, as `diagnose` takes them
    #[arg(value_name = "FILES", required = true)]
    files: Vec<PathBuf>,
    /// A scenario with the fabric and the jobs that run on it
    #[arg(long, value_name = "SCENARIO", conflicts_with = "fabric")]
    scenario: Option<PathBuf>,
    /// In place of it, a scenario whose fabric alone counts; without --jobs no costs are told
    #[arg(long, value_name = "SCENARIO")]
    fabric: Option<PathBuf>,
    /// The jobs on that fabric: a CSV with the columns job and hosts, such as train,"host-[0-15]"
    #[arg(long, value_name = "FILE", requires = "fabric")]
    jobs: Option<PathBuf>,
    /// Names of hosts, NICs and GPUs as the fabric has them
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// A folder in which all was well
    #[arg(long, value_name = "FOLDER")]
    baseline: Option<PathBuf>,
    /// Dumps or states of RAS of the same job that were made later
    #[arg(long, value_name = "FILES", num_args = 1..)]
    later: Vec<PathBuf>,
    /// Time between two checkpoints of a job: half of it is lost with a restart
    #[arg(long, value_name = "TIME", default_value = "3 h")]
    checkpoint_interval: String,
    /// Draws of starts, hash seeds and computing times; step times are medians over them
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    draws: Option<u32>,
    /// Replace names of hosts, addresses and users in what is printed, for public reports
    #[arg(long)]
    anonymize: bool,
    /// Print all as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &TriageArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let request = request_of(args);
    request.restart()?;
    let read: Vec<PathBuf> = args.files.iter().chain(&args.baseline).chain(&args.later).cloned().collect();
    if !goes_on(&of_files(&read, Reading::EVIDENCE), streams)? {
        return Ok(());
    }
    let posed = request.posed()?;
    if let Some(cost) = posed.cost()?
        && !goes_on(&cost, streams)?
    {
        return Ok(());
    }
    let meter = Meter::new(posed.draws(), "replicates");
    let found = posed.ordered(&|| meter.tick())?;
    meter.finish();
    let fabric = posed.fabric();
    let printed = match args.json {
        true => format!("{:#}\n", json_of(&found, fabric)),
        false => text(&found, fabric, posed.has_jobs()),
    };
    match args.anonymize {
        true => write!(streams.out, "{}", Anonymizer::of(posed.told()).apply(&printed))?,
        false => write!(streams.out, "{printed}")?,
    }
    streams.out.flush()?;
    if posed.is_well() { Ok(()) } else { Err(CliError::Accused) }
}

fn request_of(args: &TriageArgs) -> TriageRequest {
    TriageRequest {
        files: args.files.clone(),
        scenario: args.scenario.clone(),
        fabric: args.fabric.clone(),
        jobs: args.jobs.clone(),
        names: args.names.clone(),
        baseline: args.baseline.clone(),
        later: args.later.clone(),
        checkpoint_interval: args.checkpoint_interval.clone(),
        draws: args.draws,
    }
}

fn text(found: &Triage, fabric: &Fabric, has_jobs: bool) -> String {
    let mut text = format!("{}\n", one_line(&found.sentence));
    let wrong = found.orders.len();
    if wrong > 0 {
        let (word, first) = (if wrong == 1 { "culprit" } else { "culprits" }, &found.orders[0].culprit.name);
        text += &format!("\n{wrong} {word}; take out {first} first\n");
    }
    for (row, order) in found.orders.iter().enumerate() {
        let costs = if has_jobs { jobs(order) } else { String::new() };
        text += &format!("\n{}. {}\n{costs}", row + 1, heading(order, fabric));
        let out = order.culprit.faults.is_empty();
        if out && !order.culprit.advice.is_empty() {
            text += &format!("   {}\n", one_line(&order.culprit.advice));
        }
    }
    if let Some(together) = &found.together {
        text += &format!("\nall {wrong} taken out\n{}", together_lines(together, fabric));
    }
    for culprit in &found.unsure {
        text += &format!("\nnot sure: {}\n", named(culprit));
        if !culprit.advice.is_empty() {
            text += &format!("   {}\n", one_line(&culprit.advice));
        }
    }
    if !found.unplaced.is_empty() {
        let names: Vec<String> =
            found.unplaced.iter().map(|one| format!("{} {}", one.kind(), one_line(one.name()))).collect();
        text += &format!("\nwithout a place in the fabric: {}\n", names.join(", "));
    }
    if wrong > 0 && has_jobs {
        let RestartHours { interval_h, isolation_h, restart_h } = found.restart;
        text += &format!(
            "\na restart costs {:.2} h of a job: half of a checkpoint interval of {interval_h:.2} h, {:.2} h until the host is \
             out and steps run\n",
            found.restart.hours(),
            isolation_h + restart_h
        );
    }
    text
}

/// The culprit, its fault and confidence, and the host that replaces it.
fn heading(order: &TriageOrder, fabric: &Fabric) -> String {
    let mut line = named(&order.culprit);
    for one in &order.impact.stand_ins {
        let word = if fabric.host(one.by).spare { "backup host" } else { "free host" };
        line += &format!("; {word} {} replaces it", fabric.host_name(one.by));
    }
    let leaves = order.impact.subjects.iter().any(|subject| subject.host.is_some());
    if leaves && order.impact.stand_ins.is_empty() && !order.jobs.is_empty() {
        line += "; no host is free to replace it";
    }
    line
}

fn named(culprit: &TriageCulprit) -> String {
    let faults: Vec<&str> = culprit.faults.iter().map(|fault| fault.name()).collect();
    let parts: Vec<String> = (culprit.suspects.iter())
        .filter(|suspect| suspect.name() != culprit.name)
        .map(|suspect| format!("{} {}", suspect.kind(), one_line(suspect.name())))
        .collect();
    let mut text = culprit.name.clone();
    if !parts.is_empty() {
        text += &format!(" ({})", parts.join(", "));
    }
    if !faults.is_empty() {
        text += &format!(": {}", faults.join(" or "));
    }
    text + &format!(", confidence {:.2}", culprit.confidence)
}

/// A line for each job that the culprit touches.
fn jobs(order: &TriageOrder) -> String {
    if order.jobs.is_empty() {
        return "   no job runs on it\n".to_owned();
    }
    let mut table = TextTable::default();
    table.noted_row(
        ["   job", "GPUs", "touched", "lost now", "restart", "step", "without it"].map(str::to_owned),
        "",
    );
    for job in &order.jobs {
        let steps = order.impact.jobs.iter().find(|one| one.name == job.name);
        let (before, after) =
            steps.map_or((String::new(), String::new()), |one| (time(&one.before), time(&one.after)));
        let cells = [
            format!("   {}", job.name),
            job.gpus.to_string(),
            job.touched.to_string(),
            job.gpu_hours_per_hour.map_or("not known".to_owned(), |lost| format!("{lost:.1} GPU-h/h")),
            format!("{:.0} GPU-h", job.restart_gpu_hours),
            before,
            after,
        ];
        table.noted_row(cells, &verdict(job));
    }
    table.text()
}

fn verdict(job: &JobCost) -> String {
    match job.break_even_h() {
        _ if job.lost_share.is_some_and(|share| share >= 1.0) => "the job stands".to_owned(),
        None => String::new(),
        Some(0.0) => "drain it now".to_owned(),
        Some(hours) => format!("a restart pays after {hours:.1} h"),
    }
}

fn together_lines(together: &Impact, fabric: &Fabric) -> String {
    let mut text = String::new();
    for one in &together.stand_ins {
        text += &format!("   {} replaces {}\n", fabric.host_name(one.by), fabric.host_name(one.lost));
    }
    for job in together.jobs.iter().filter(|job| !job.touched.is_empty()) {
        text += &format!("   {}: step {}, then {}\n", job.name, time(&job.before), time(&job.after));
    }
    text
}

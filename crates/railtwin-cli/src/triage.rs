//! `railtwin triage`: what is wrong, what it costs each job, what to take out first, and which host replaces it.
use std::path::PathBuf;
use std::thread::available_parallelism;

use clap::Args;
use railtwin::cost::Cost;
use railtwin::cost::files::{Reading, of_files};
use railtwin::impact::{Impact, draws_of};
use railtwin::what_if::options_of;
use railtwin_answers::triage::{
    JobCost, RestartHours, Triage, TriageCulprit, TriageOrder, culprits, json_of, triage,
};
use railtwin_fabric::Fabric;
use railtwin_scenario::EngineName;
use railtwin_store::one_line;

use crate::diagnose::told_of;
use crate::diagnose_request::DiagnoseRequest;
use crate::downtime_text::time as hours_of;
use crate::foreseen::goes_on;
use crate::impact::time;
use crate::meter::Meter;
use crate::one_point::one_point;
use crate::table::TextTable;
use crate::{CliError, Streams};

/// Arguments of `triage`.
#[derive(Args, Debug)]
pub struct TriageArgs {
    /// Files of telemetry, folders and archives of them, as `diagnose` takes them
    #[arg(value_name = "FILES", required = true)]
    files: Vec<PathBuf>,
    /// A scenario with the fabric and the jobs that run on it
    #[arg(long, value_name = "SCENARIO")]
    scenario: String,
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
    /// Print all as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &TriageArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let interval_h = hours_of(&args.checkpoint_interval).filter(|hours| *hours > 0.0).ok_or_else(|| {
        let shown = &args.checkpoint_interval;
        CliError::input(
            format!("--checkpoint-interval cannot be {shown:?}"),
            "write a time such as 30 min or 3 h",
        )
    })?;
    let (question, scenario) = one_point(&args.scenario, "triage")?;
    let resolved = question.resolve(&scenario).map_err(|error| CliError::of(error, &question.text))?;
    let read: Vec<PathBuf> = args.files.iter().chain(&args.baseline).chain(&args.later).cloned().collect();
    if !goes_on(&of_files(&read, Reading::EVIDENCE), streams)? {
        return Ok(());
    }
    let told = told_of(&DiagnoseRequest {
        files: args.files.clone(),
        fabric: Some(PathBuf::from(&args.scenario)),
        names: args.names.clone(),
        baseline: args.baseline.clone(),
        later: args.later.clone(),
        hang_limit: None,
        job: resolved.case.work.jobs.first().map_or("job", |job| &job.name).to_owned(),
    })?;
    let options = options_of(&scenario, args.draws);
    let sure = culprits(&told, &resolved.case).placed.iter().filter(|one| one.is_sure).count();
    let draws = if sure == 0 { 0 } else { draws_of(sure, options) };
    if draws > 0 {
        let steps = resolved.case.work.jobs.iter().map(|job| job.steps).max().unwrap_or(1);
        let runs = (draws, f64::from(options.steps) / f64::from(steps.max(1)));
        let cores = available_parallelism().map_or(1, usize::from);
        let cost = Cost::of_runs(&resolved, runs, cores, railtwin::memory::limit());
        if !goes_on(&cost.map_err(|error| CliError::of(error, &question.text))?, streams)? {
            return Ok(());
        }
    }
    let meter = Meter::new(draws, "replicates");
    let engine = railtwin::engines::engine(EngineName::Flow, 1);
    let restart = RestartHours { interval_h, ..RestartHours::default() };
    let found = triage(&told, &resolved.case, &*engine, options, restart, &|| meter.tick())
        .map_err(|error| CliError::of(error, &question.text))?;
    meter.finish();
    let fabric = &resolved.case.fabric;
    match args.json {
        true => writeln!(streams.out, "{:#}", json_of(&found, fabric))?,
        false => write!(streams.out, "{}", text(&found, fabric))?,
    }
    streams.out.flush()?;
    if told.is_well() { Ok(()) } else { Err(CliError::Accused) }
}

fn text(found: &Triage, fabric: &Fabric) -> String {
    let mut text = format!("{}\n", one_line(&found.sentence));
    let wrong = found.orders.len();
    if wrong > 0 {
        let (word, first) = (if wrong == 1 { "culprit" } else { "culprits" }, &found.orders[0].culprit.name);
        text += &format!("\n{wrong} {word}; take out {first} first\n");
    }
    for (row, order) in found.orders.iter().enumerate() {
        text += &format!("\n{}. {}\n{}", row + 1, heading(order, fabric), jobs(order));
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
    if wrong > 0 {
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

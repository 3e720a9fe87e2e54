//! `railtwin diagnose`: what telemetry says of who is at fault.
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use railtwin::Question;
use railtwin::cost::files::{Reading, of_files};
use railtwin::diagnose::answer::{json_of, measured};
use railtwin::diagnose::names::Names;
use railtwin::diagnose::{Diagnosed, SCHEMA, Unread, diagnose};
use railtwin::diagnosed_page::page;
use railtwin_formats::telemetry::{FileNotes, Skipped};
use railtwin_records::{Finding, Table};
use railtwin_store::atomic::write_folder;
use railtwin_store::{StoreError, one_line, parquet_write};
use railtwin_units::SimTime;
use serde_json::{Value, json};

use crate::anonymize::Anonymizer;
use crate::diagnose_request::DiagnoseRequest;
use crate::diagnose_what_if as what_if;
use crate::evidence::{evidence, refused};
use crate::foreseen::goes_on;
use crate::overwritten::{is_same, refuse_evidence};
use crate::report::{note_stand_in, write_page};
use crate::{CliError, Streams, diagnose_live, schedule_args};

/// Most suspects that are shown of a finding; `--json` has all.
const SUSPECTS: usize = 8;
/// Most lines of evidence that are shown of a finding.
const EVIDENCE: usize = 5;
/// Most files that are listed one by one.
const FILES: usize = 12;
/// Most arguments that the title of a page names.
const TITLED: usize = 3;

/// Arguments of `diagnose`.
#[derive(Args, Debug)]
pub struct DiagnoseArgs {
    /// Files of telemetry, folders and archives (.tar, .tar.gz) of them, - for standard input, or one run folder
    #[arg(value_name = "FILES", required = true)]
    files: Vec<PathBuf>,
    /// A scenario whose fabric the hosts are in, so that suspects have NICs, cables and switches
    #[arg(long, value_name = "SCENARIO")]
    fabric: Option<PathBuf>,
    /// Names of hosts, NICs and GPUs as the fabric has them: a file of lines such as `node017/mlx5_3,host-16/nic-3`
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// A run folder, or a folder of files of a cluster, in which all was well: its probes, tables of probes and logs of
    /// perftest say how long paths take and what they carry
    #[arg(long, value_name = "FOLDER")]
    baseline: Option<PathBuf>,
    /// Dumps of a Flight Recorder, or states of RAS, of the same job that were made later: equal ones show that it stood still
    #[arg(long, value_name = "FILES", num_args = 1..)]
    later: Vec<PathBuf>,
    /// A job of which live records show no progress for so long hangs
    #[arg(long, value_name = "TIME", value_parser = schedule_args::time)]
    hang_limit: Option<SimTime>,
    /// Name of the job where files do not tell it
    #[arg(long, value_name = "NAME", default_value = "job")]
    job: String,
    /// Replay traces that hold all operations of a slow job with ideal ones, and print what each part of it costs
    #[arg(long)]
    what_if: bool,
    /// Print every finding with its evidence, and every file, instead of one screen
    #[arg(long, conflicts_with = "json")]
    all: bool,
    /// Print all as JSON
    #[arg(long)]
    json: bool,
    /// Replace names of hosts, addresses and users in what is printed, for public reports
    #[arg(long, conflicts_with_all = ["report", "out"])]
    anonymize: bool,
    /// Write the page of it to this file: the answer, causes with their evidence, a lattice of a hang, what-if bars
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write telemetry and findings as Parquet tables into a new folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &DiagnoseArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    check_outputs(args)?;
    let read: Vec<PathBuf> = args.files.iter().chain(&args.baseline).chain(&args.later).cloned().collect();
    if !goes_on(&of_files(&read, Reading::EVIDENCE), streams)? {
        return Ok(());
    }
    let told = told_of(&DiagnoseRequest {
        files: args.files.clone(),
        fabric: args.fabric.clone(),
        names: args.names.clone(),
        baseline: args.baseline.clone(),
        later: args.later.clone(),
        hang_limit: args.hang_limit,
        job: args.job.clone(),
    })?;
    let replayed = if args.what_if { what_if::replayed(&told)? } else { Vec::new() };
    let text = printed(args, &told, &replayed);
    match args.anonymize {
        true => write!(streams.out, "{}", Anonymizer::of(&told).apply(&text))?,
        false => write!(streams.out, "{text}")?,
    }
    streams.out.flush()?;
    if let Some(path) = &args.report {
        write_page(path, &page(&title(&args.files), &told, &replayed)).map_err(unwritten)?;
        note_stand_in(streams)?;
        writeln!(streams.notes, "report in {}", path.display())?;
    }
    if let Some(out) = &args.out {
        write_tables(out, &told).map_err(unwritten)?;
        writeln!(streams.notes, "tables in {}", out.display())?;
    }
    if told.is_well() { Ok(()) } else { Err(CliError::Accused) }
}

/// The answer as it is asked for.
fn printed(args: &DiagnoseArgs, told: &Diagnosed, replayed: &[(String, what_if::WhatIf)]) -> String {
    if args.json {
        let mut value = data(told);
        if args.what_if {
            value["what_if"] = what_if::data(replayed);
        }
        return format!("{value:#}\n");
    }
    let answer = match args.all {
        true => shown(told),
        false => told.screen().iter().map(|line| format!("{}\n", one_line(line))).collect(),
    };
    answer + &what_if::shown(replayed, args.all)
}

/// Reads what a request names, and diagnoses it.
pub(crate) fn told_of(request: &DiagnoseRequest) -> Result<Diagnosed, CliError> {
    let stored = |error: railtwin::diagnose::Error| refused(error.into(), "");
    let question = request.fabric.as_deref().map(Question::read).transpose();
    let question = question.map_err(|error| refused(error, ""))?;
    let mut inputs = evidence(&request.files, &request.job)?;
    if let Some(folder) = &request.baseline {
        inputs.compare_with(folder).map_err(stored)?;
    }
    if !request.later.is_empty() {
        inputs.look_again(&request.later, &request.job).map_err(stored)?;
    }
    inputs.names = request.names.as_deref().map(Names::read).transpose().map_err(stored)?;
    inputs.hang_limit = request.hang_limit;
    let text = question.as_ref().map_or(String::new(), |question| question.text.clone());
    diagnose(inputs, question.as_ref(), &request.job).map_err(|error| refused(error, &text))
}

/// Refuses places to write to, before anything is read.
fn check_outputs(args: &DiagnoseArgs) -> Result<(), CliError> {
    if let Some(out) = args.out.as_deref().filter(|out| out.exists()) {
        let message = format!("--out {}: is there already", out.display());
        return Err(CliError::input(message, "name a folder that is not there"));
    }
    let no_folder = |path: &Path| path.parent().is_some_and(|on| !on.as_os_str().is_empty() && !on.is_dir());
    if let Some(page) = args.report.as_deref().filter(|page| no_folder(page)) {
        let message = format!("--report {}: there is no such folder", page.display());
        return Err(CliError::input(message, "name a file in a folder that is there"));
    }
    let Some(page) = args.report.as_deref() else { return Ok(()) };
    let read =
        args.files.iter().chain(&args.names).chain(&args.fabric).chain(&args.baseline).chain(&args.later);
    refuse_evidence("--report", page, &read.map(PathBuf::as_path).collect::<Vec<_>>())?;
    let shown = page.display();
    match &args.out {
        Some(out) if is_same(page, out) => {
            let message = format!("--report {shown}: --out makes a folder of that name");
            Err(CliError::input(message, "name another file"))
        }
        _ => Ok(()),
    }
}

/// What a page is called: a pattern of a shell may name thousands of files.
fn title(files: &[PathBuf]) -> String {
    let named = files.iter().take(TITLED).map(|file| file.display().to_string());
    let more = files.len().saturating_sub(TITLED);
    named.chain((more > 0).then(|| format!("and {more} more"))).collect::<Vec<_>>().join(" ")
}

/// A file that cannot be written is no finding: the status of those is one of them alone.
fn unwritten(error: CliError) -> CliError {
    match error {
        CliError::Folder(message) => CliError::Input { message, help: None },
        other => other,
    }
}

/// All tables into a new folder, which appears whole or not at all.
fn write_tables(out: &Path, told: &Diagnosed) -> Result<(), CliError> {
    let failed =
        |error: &dyn std::fmt::Display| CliError::Folder(format!("cannot write {}: {error}", out.display()));
    let file = |table: &Table| Ok((format!("{}.parquet", table.name), parquet_write::encode(table)?));
    let files: Result<Vec<_>, StoreError> = told.tables().iter().map(file).collect();
    write_folder(out, &files.map_err(|error| failed(&error))?).map_err(|error| failed(&error))
}

/// The diagnosis as JSON.
pub(crate) fn data(told: &Diagnosed) -> Value {
    json!({
        "schema": SCHEMA,
        "answer": told.sentence(),
        "accusations": told.accusations(),
        "operations": told.batch.operations.len(),
        "ranks": told.directory.ranks.len(),
        "counters": told.batch.counters.len(),
        "seconds": told.seconds,
        "causes": told.causes().iter().map(|cause| json!({
            "findings": cause.findings, "follows": cause.follows, "confidence": cause.confidence,
        })).collect::<Vec<_>>(),
        "findings": told.findings.iter().map(json_of::finding).collect::<Vec<_>>(),
        "incidents": diagnose_live::data(&told.live),
        "actions": told.actions.iter().map(|action| json!({
            "finding": action.finding, "kind": action.kind.name(), "target": json_of::component(&action.target),
            "reason": action.reason,
        })).collect::<Vec<_>>(),
        "files": told.files.iter().map(|file| json!({
            "file": file.source, "format": file.format.name(), "held": file.held, "notes": file.notes,
            "skipped": { "count": file.skipped.count(), "first": file.skipped.first().collect::<Vec<_>>() },
        })).collect::<Vec<_>>(),
        "unread": told.unread.iter().map(|file| json!({
            "file": file.source, "reason": file.reason, "recognized": file.known,
        })).collect::<Vec<_>>(),
        "failed_tests": told.failed_tests,
        "notes": told.notes,
    })
}

/// The answer for people: the sentence, findings, files, notes.
fn shown(told: &Diagnosed) -> String {
    let mut text = format!("{}\n", one_line(&told.sentence()));
    let start = [&told.batch.operations.enter_ns, &told.batch.counters.time_ns, &told.batch.probes.time_ns];
    let of_live = Some(told.live.first_ns).filter(|_| !told.live.is_empty());
    let start = start.into_iter().flatten().copied().chain(of_live).min();
    for (row, finding) in told.findings.iter().enumerate() {
        text.push('\n');
        // Writing to a string does not fail.
        let _ = show_finding(&mut text, told, row, finding, start.unwrap_or(0));
    }
    text.push_str(&diagnose_live::shown(&told.live));
    let _ = show_files(&mut text, told);
    for note in &told.notes {
        let _ = writeln!(text, "note: {}", one_line(&note.to_string()));
    }
    text
}

fn show_finding(
    text: &mut String,
    told: &Diagnosed,
    row: usize,
    finding: &Finding,
    start_ns: u64,
) -> std::fmt::Result {
    let when = match finding.at_ns {
        0 => String::new(),
        at => format!(" at {:.1} s", at.saturating_sub(start_ns) as f64 / 1e9),
    };
    let faults: Vec<&str> = finding.faults.iter().map(|fault| fault.name()).collect();
    let (syndrome, confidence) = (finding.syndrome.name(), finding.confidence);
    writeln!(text, "{}. {syndrome}{when}, confidence {confidence:.2}", row + 1)?;
    if !faults.is_empty() {
        writeln!(text, "   may be    {}", faults.join(", "))?;
    }
    if finding.suspects.is_empty() {
        writeln!(text, "   suspects  none: not enough evidence")?;
    }
    for (place, suspect) in finding.suspects.iter().take(SUSPECTS).enumerate() {
        let label = if place == 0 { "suspects" } else { "" };
        let (kind, name) = (suspect.component.kind(), one_line(suspect.component.name()));
        writeln!(text, "   {label:<8}  {kind} {name}  {:.0} %", 100.0 * suspect.share)?;
    }
    if finding.suspects.len() > SUSPECTS {
        writeln!(text, "             and {} more", finding.suspects.len() - SUSPECTS)?;
    }
    for (place, line) in finding.evidence.iter().take(EVIDENCE).enumerate() {
        let label = if place == 0 { "evidence" } else { "" };
        writeln!(text, "   {label:<8}  {}: {}", one_line(&line.words()), measured(line))?;
    }
    if finding.evidence.len() > EVIDENCE {
        writeln!(text, "             and {} more lines", finding.evidence.len() - EVIDENCE)?;
    }
    if !finding.advice.is_empty() {
        writeln!(text, "   advice    {}", one_line(&finding.advice))?;
    }
    for action in told.actions.iter().filter(|action| action.finding as usize == row) {
        let (kind, target) = (action.kind.name(), &action.target);
        let (name, reason) = (one_line(target.name()), one_line(&action.reason));
        writeln!(text, "   action    {kind} {} {name}: {reason}", target.kind())?;
    }
    Ok(())
}

fn show_files(text: &mut String, told: &Diagnosed) -> std::fmt::Result {
    if told.files.is_empty() && told.unread.is_empty() {
        return Ok(());
    }
    text.push('\n');
    // What is not whole is shown even where it stands behind many.
    let whole = |file: &FileNotes| file.skipped.count() == 0;
    let (first, others) = told.files.split_at(told.files.len().min(FILES));
    let torn: Vec<&FileNotes> = others.iter().filter(|file| !whole(file)).take(FILES).collect();
    for file in first.iter().chain(torn.iter().copied()) {
        writeln!(text, "{}: {}, {}", one_line(&file.source), file.format.name(), one_line(&file.held))?;
        for note in &file.notes {
            writeln!(text, "  {}", one_line(&note.to_string()))?;
        }
        show_skipped(text, &file.skipped)?;
    }
    let more = others.len() - torn.len();
    if more > 0 {
        let mut formats = std::collections::BTreeMap::<&str, u32>::new();
        told.files.iter().for_each(|file| *formats.entry(file.format.name()).or_default() += 1);
        let counts: Vec<String> = formats.iter().map(|(format, count)| format!("{count} {format}")).collect();
        writeln!(text, "and {more} more; in all {}", counts.join(", "))?;
    }
    for (known, what) in [(true, "not read"), (false, "not recognized")] {
        let files: Vec<&Unread> = told.unread.iter().filter(|file| file.known == known).collect();
        for file in files.iter().take(FILES) {
            writeln!(text, "{}: {what}: {}", one_line(&file.source), one_line(&file.reason))?;
        }
        if files.len() > FILES {
            writeln!(text, "and {} more {what}", files.len() - FILES)?;
        }
    }
    Ok(())
}

/// How many records of a file are wrong, and the first of them.
fn show_skipped(text: &mut String, skipped: &Skipped) -> std::fmt::Result {
    if skipped.count() == 0 {
        return Ok(());
    }
    let first: Vec<String> = skipped.first().collect();
    let more = if skipped.count() > first.len() as u64 { ", …" } else { "" };
    let first = one_line(&first.join(", ")).into_owned();
    writeln!(text, "  {} wrong records skipped: {first}{more}", skipped.count())
}

//! `railtwin sweep`: all points of a scenario in processes side by side; what is complete is not run again.
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use clap::Args;
use railtwin::{Estimate, Question};
use railtwin_scenario::Scenario;
use railtwin_store::sweep_index::SweepCase;
use railtwin_store::{RunFolder, Status, StoreError, SweepIndex};
use serde_json::json;

use crate::engine_args::EngineArgs;
use crate::meter::Meter;
use crate::run::{Point, is_complete, json_of, not_judged, verdict, write_answers, write_warnings};
use crate::sweep_processes::{Report, Task, Width, program, run_all};
use crate::{CliError, Streams, sweep_table};

/// Arguments of `sweep`.
#[derive(Args, Debug)]
pub struct SweepArgs {
    /// A scenario file; a list where one value is wanted is an axis
    #[arg(value_name = "SCENARIO")]
    scenario: PathBuf,
    /// Folder in which the sweep folder is made
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    out: PathBuf,
    /// Points that run at the same time; default one for each core, fewer with more threads
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    #[command(flatten)]
    engine: EngineArgs,
    /// Run all points again, also those that are complete
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A point of the sweep.
struct SweptPoint {
    label: Vec<(String, String)>,
    run_id: String,
    scenario: Scenario,
    /// Memory that it will take; 0 where it is complete.
    bytes: f64,
}

/// Reasons that the error of failed points names.
const REASONS_MAX: usize = 3;
pub(crate) fn run(args: &SweepArgs, call: &OsStr, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let question = Question::read(&args.scenario).map_err(|error| CliError::of(error, ""))?;
    let question = args.engine.ask(question, streams.notes);
    let memory = args.engine.memory();
    let points = points_of(&question, &args.out, args.force, memory)?;
    let name = points.first().map_or("sweep", |point| point.scenario.name.as_str());
    let folder = args.out.join(name);
    let mut index = index_of(&folder, name, &points, args.force)?;
    let base = args.scenario.parent().filter(|base| !base.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // So many points at a time as there is memory for, unless somebody says how many.
    let largest = points.iter().map(|point| point.bytes).fold(1.0, f64::max);
    let fitting = (memory as f64 / largest).clamp(1.0, f64::from(u32::MAX)) as u32;
    let width =
        Width { jobs: args.jobs, fitting, threads: args.engine.threads.min(railtwin::engines::cores()) };
    let Ended { seconds, failures } = run_pending(&mut index, &points, base, call, width)?;
    let done = done_points(&index, points, &seconds)?;
    write_warnings(&done, streams.notes)?;
    if args.json {
        let mut value = json_of(&question, &done)?;
        value["sweep"] = json!(folder);
        value["failed"] = json!(failures);
        writeln!(streams.out, "{}", serde_json::to_string_pretty(&value).expect("a JSON value is text"))?;
    } else {
        write_text(&question, &done, &folder, streams.out)?;
    }
    if !failures.is_empty() {
        let (failed, points) = (failures.len(), index.cases().len());
        let reasons = failures.into_values().take(REASONS_MAX).collect();
        return Err(CliError::Points { failed, points, reasons });
    }
    verdict(&done)
}

/// All points, each resolved once: a point that is wrong or too large is found before anything runs or is written.
fn points_of(question: &Question, out: &Path, force: bool, memory: u64) -> Result<Vec<SweptPoint>, CliError> {
    let points = question.points().map_err(|error| CliError::of(error, &question.text))?;
    let swept = points.into_iter().map(|point| {
        let resolved = question.resolve(&point.scenario);
        let resolved = resolved.map_err(|error| CliError::of_point(error, &question.text, &point.label))?;
        let run_id = railtwin::run::id_of(&resolved);
        let folder = out.join(&point.scenario.name).join(&run_id);
        let estimate = Estimate::of(&resolved, available_parallelism().map_or(1, usize::from));
        let mut bytes = estimate.bytes;
        if force || !is_complete(&folder).map_err(|error| CliError::of(error, ""))? {
            let fits = estimate.check(&resolved, memory);
            fits.map_err(|error| CliError::of_point(error, &question.text, &point.label))?;
        } else {
            bytes = 0.0;
        }
        Ok(SweptPoint { label: point.label, run_id, scenario: point.scenario, bytes })
    });
    swept.collect()
}

fn index_of(folder: &Path, name: &str, points: &[SweptPoint], force: bool) -> Result<SweepIndex, CliError> {
    let cases = points.iter().map(|point| {
        let label: Vec<(&str, &str)> = point.label.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        SweepCase::waiting(&label, &point.run_id)
    });
    let fail = |error: StoreError| CliError::of(error.into(), "");
    let mut index = SweepIndex::resume(folder, name, cases.collect()).map_err(fail)?;
    if force {
        index.remove_runs().map_err(fail)?;
    }
    Ok(index)
}

/// What became of the points that were run, by run id.
#[derive(Default)]
struct Ended {
    /// Wall seconds of those that are complete.
    seconds: BTreeMap<String, f64>,
    /// Why the others are not.
    failures: BTreeMap<String, String>,
}

/// Runs what is not complete.
fn run_pending(
    index: &mut SweepIndex,
    points: &[SweptPoint],
    base: &Path,
    call: &OsStr,
    width: Width,
) -> Result<Ended, CliError> {
    let by_id: BTreeMap<&str, &SweptPoint> = points.iter().map(|p| (p.run_id.as_str(), p)).collect();
    let task = |case: &SweepCase| Task {
        run_id: case.run_id.clone(),
        folder: index.run_path(case),
        text: by_id[case.run_id.as_str()].scenario.to_toml(),
    };
    let tasks: Vec<Task> = index.pending().map(task).collect();
    let replicates = |id: &str| by_id[id].scenario.run.replicates;
    let meter = Meter::new(points.iter().map(|point| u64::from(replicates(&point.run_id))).sum());
    for case in index.cases().iter().filter(|case| case.status == Status::Complete) {
        meter.skip(replicates(&case.run_id));
    }
    let (mut ended, mut written) = (Ended::default(), Ok(()));
    let (total, program) = (tasks.len(), program(call)?);
    let mut note = |index: &mut SweepIndex, id: &str, status| {
        // Later points still run: their folders, not the index, are the truth.
        if let Err(error) = index.set_status(id, status) {
            written = Err(CliError::of(error.into(), ""));
        }
    };
    run_all(tasks, base, &program, width, &mut |report| match report {
        Report::Started(id) => note(index, &id, Status::Running),
        Report::Tick => meter.tick(),
        Report::Ended(id, Ok(wall)) => {
            note(index, &id, Status::Complete);
            ended.seconds.insert(id, wall);
            meter.say(&format!("({} of {total} points done)", ended.seconds.len()));
        }
        Report::Ended(id, Err(reason)) => {
            note(index, &id, Status::Interrupted);
            let label = crate::run::label_text(&by_id[id.as_str()].label);
            ended.failures.insert(id, format!("{label}: {reason}"));
        }
    });
    meter.finish();
    written.map(|()| ended)
}

/// The points that are complete, from their run folders.
fn done_points(
    index: &SweepIndex,
    points: Vec<SweptPoint>,
    seconds: &BTreeMap<String, f64>,
) -> Result<Vec<Point>, CliError> {
    let mut done = Vec::new();
    for (case, point) in index.cases().iter().zip(points) {
        if case.status != Status::Complete {
            continue;
        }
        let folder = index.run_path(case);
        let info = RunFolder::open(&folder).and_then(|folder| folder.info());
        let info = info.map_err(|error| CliError::unreadable(&error))?;
        let unexpected = railtwin::run::unexpected(&point.scenario.expect, &info.figures);
        let seconds = seconds.get(&case.run_id).copied();
        done.push(Point { label: point.label, folder: Some(folder), info, unexpected, seconds });
    }
    Ok(done)
}

fn write_text(
    question: &Question,
    points: &[Point],
    folder: &Path,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    write!(out, "{}", sweep_table::text(points))?;
    write_answers(question, points, out)?;
    if let Some(line) = not_judged(question)? {
        writeln!(out, "{line}")?;
    }
    crate::told::write(points, out)?;
    let ran = points.iter().filter(|point| point.seconds.is_some()).count();
    Ok(writeln!(
        out,
        "sweep  {}  ({ran} run now, {} taken as they were)",
        folder.display(),
        points.len() - ran
    )?)
}

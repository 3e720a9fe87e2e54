//! `railtwin sweep`: all points of a scenario in processes side by side; what is complete is not run again.
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use clap::Args;
use railtwin::Question;
use railtwin::cost::Cost;
use railtwin_scenario::{Scenario, SweepPoint};
use railtwin_store::sweep_index::SweepCase;
use railtwin_store::{RunFolder, Status, StoreError, SweepIndex};
use serde_json::json;

use crate::engine_args::EngineArgs;
use crate::meter::Meter;
use crate::run::{Point, json_of, not_judged, verdict, write_gains, write_warnings};
use crate::sweep_processes::{Program, Report, Task, Width, run_all};
use crate::sweep_ray::Cluster;
use crate::sweep_slurm::{self, Call};
use crate::{CliError, Streams, foreseen, sweep_table};

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
    /// Where points run: `processes` here, `ray` (a cluster that is there, else one made here), `ray:ADDRESS` or
    /// `ray://HOST:PORT`
    #[arg(long, value_name = "WHERE", default_value = "processes", value_parser = On::of)]
    on: On,
    /// Run the I-th of N shares of the points, such as 3/8: for a job array, whose tasks share one sweep folder
    #[arg(long, value_name = "I/N", value_parser = Share::of, conflicts_with_all = ["force", "json", "on"])]
    points: Option<Share>,
    /// Print the batch file of a Slurm job array that runs the points
    #[arg(long, conflicts_with_all = ["force", "json", "on", "points"])]
    sbatch: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Where points run.
#[derive(Clone, Debug)]
enum On {
    Processes,
    /// At an address; none where Ray itself is to find or make a cluster.
    Ray(Option<String>),
}

impl On {
    fn of(text: &str) -> Result<Self, String> {
        match text.strip_prefix("ray") {
            None if text == "processes" => Ok(Self::Processes),
            Some("") => Ok(Self::Ray(None)),
            Some(rest) if rest.strip_prefix("://").is_some_and(|host| !host.is_empty()) => {
                Ok(Self::Ray(Some(text.to_owned())))
            }
            Some(rest) if rest.len() > 1 && rest.starts_with(':') && !rest.starts_with("://") => {
                Ok(Self::Ray(Some(rest[1..].to_owned())))
            }
            _ => Err("write processes, ray, ray:ADDRESS or ray://HOST:PORT".to_owned()),
        }
    }
}

/// One of so many shares of the points, from 1.
#[derive(Clone, Copy, Debug)]
struct Share {
    which: usize,
    of: usize,
}

impl Share {
    fn of(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((which, of)) if (1..=of).contains(&which) => Ok(Self { which, of }),
            _ => Err("write I/N with I from 1 to N, such as 3/8".to_owned()),
        }
    }

    /// Every N-th point: neighbours, which often take alike, are in different shares.
    fn has(self, point: usize) -> bool {
        point % self.of == self.which - 1
    }
}

/// A point of the sweep.
struct SweptPoint {
    label: Vec<(String, String)>,
    run_id: String,
    scenario: Scenario,
    /// Files that it names.
    files: Vec<String>,
    folder: PathBuf,
    is_complete: bool,
    /// Memory that it will take; 0 where it is complete.
    bytes: f64,
    /// Wall seconds that it will take, counted under `--estimate` alone.
    seconds: f64,
    /// Times that its progress is heard.
    ticks: u64,
    names_of_ticks: &'static str,
}

/// Reasons that the error of failed points names.
const REASONS_MAX: usize = 3;
pub(crate) fn run(args: &SweepArgs, program: &Program, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let question = Question::read(&args.scenario).map_err(|error| CliError::of(error, ""))?;
    let question = args.engine.ask(question, streams.notes);
    let mut points = points_of(&question, args)?;
    if foreseen::is_asked() {
        let cost = cost_of(&points, width_of(args, &points).at_once());
        return foreseen::goes_on(&cost, streams).map(drop);
    }
    let name = points.first().map_or_else(|| "sweep".to_owned(), |point| point.scenario.name.clone());
    if args.sbatch {
        let largest = points.iter().map(|point| point.bytes).fold(0.0, f64::max);
        return sweep_slurm::write(&call_of(args), &name, points.len(), largest, program, streams.out);
    }
    if let Some(share) = args.points {
        let mut at = 0..;
        points.retain(|_| at.next().is_some_and(|at| share.has(at)));
    }
    let base = args.scenario.parent().filter(|base| !base.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Before anything is written: where there is no cluster there is no sweep.
    let is_pending = points.iter().any(|point| !point.is_complete);
    let cluster = match &args.on {
        On::Ray(address) if is_pending => {
            Some(Cluster::find(program, address.as_deref(), [&args.out, base], streams.notes)?)
        }
        _ => None,
    };
    let folder = args.out.join(&name);
    // Tasks of a job array run side by side: their run folders are the truth, and whoever calls next writes the index.
    let mut index = match args.points {
        None => Some(index_of(&folder, &name, &points, args.force)?),
        Some(_) => None,
    };
    // What another sweep of the same folder has done meanwhile is done.
    for (point, case) in points.iter_mut().zip(index.iter().flat_map(SweepIndex::cases)) {
        point.is_complete |= case.status == Status::Complete;
    }
    let ended = match cluster {
        None => {
            let width = width_of(args, &points);
            let mut run = |tasks, hear: &mut dyn FnMut(Report)| run_all(tasks, base, program, width, hear);
            run_pending(&mut index, &points, &mut run)?
        }
        Some(mut cluster) => {
            let (jobs, threads) = (args.jobs, args.engine.threads.min(railtwin::engines::cores()));
            let mut run =
                |tasks, hear: &mut dyn FnMut(Report)| cluster.run_all(tasks, base, jobs, threads, hear);
            run_pending(&mut index, &points, &mut run)?
        }
    };
    let Ended { seconds, failures } = ended;
    let count = points.len();
    let done = done_points(points, &seconds)?;
    write_warnings(&done, streams.notes)?;
    if args.json {
        let mut value = json_of(&question, &done)?;
        value["sweep"] = json!(folder);
        value["failed"] = json!(failures);
        writeln!(streams.out, "{}", serde_json::to_string_pretty(&value).expect("a JSON value is text"))?;
    } else {
        let question = Some(&question).filter(|_| args.points.is_none());
        write_text(question, &done, &folder, streams.out)?;
    }
    if !failures.is_empty() {
        let failed = failures.len();
        let reasons = failures.into_values().take(REASONS_MAX).collect();
        return Err(CliError::Points { failed, points: count, reasons });
    }
    verdict(&done)
}

/// The call that runs the same sweep, for a batch file.
fn call_of(args: &SweepArgs) -> Call<'_> {
    Call { scenario: &args.scenario, out: &args.out, engine: &args.engine, jobs: args.jobs }
}

/// So many points at a time as there is memory for, unless somebody says how many.
fn width_of(args: &SweepArgs, points: &[SweptPoint]) -> Width {
    let largest = points.iter().map(|point| point.bytes).fold(1.0, f64::max);
    let fitting = (railtwin::memory::limit() as f64 / largest).clamp(1.0, f64::from(u32::MAX)) as u32;
    Width { jobs: args.jobs, fitting, threads: args.engine.threads.min(railtwin::engines::cores()) }
}

/// Cost of the points that are not complete: `at_once` of them run at a time, each in its own process.
fn cost_of(points: &[SweptPoint], at_once: usize) -> Cost {
    let pending = points.iter().filter(|point| !point.is_complete).count();
    let at_once = at_once.clamp(1, pending.max(1)) as f64;
    let largest = points.iter().map(|point| point.bytes).fold(0.0, f64::max);
    Cost {
        rows: format!("{pending} points, {at_once} at a time"),
        bytes: largest * at_once,
        seconds: points.iter().map(|point| point.seconds).sum::<f64>() / at_once,
        remedy: "fewer --jobs",
    }
}

/// All points, each resolved once: a point that is wrong or too large is found before anything runs or is written.
fn points_of(question: &Question, args: &SweepArgs) -> Result<Vec<SweptPoint>, CliError> {
    // Elsewhere a point has the cores that it asks for, and what memory there is, the others know.
    let is_here = matches!(args.on, On::Processes) && !args.sbatch;
    let (side_by_side, memory) = match is_here {
        true => (available_parallelism().map_or(1, usize::from), railtwin::memory::limit()),
        false => (args.engine.threads as usize, railtwin::memory::said().unwrap_or(u64::MAX)),
    };
    let points = question.points().map_err(|error| CliError::of(error, &question.text))?;
    let swept = points.into_iter().map(|point| {
        let resolved = question.runnable(&point.scenario);
        let resolved = resolved.map_err(|error| CliError::of_point(error, &question.text, &point.label))?;
        let run_id = resolved.run_id();
        let folder = args.out.join(&point.scenario.name).join(&run_id);
        let is_complete = !args.force && !args.sbatch && is_complete(&folder, &run_id)?;
        let (mut bytes, mut seconds) = (0.0, 0.0);
        if !is_complete {
            let fits = resolved.bytes_within(side_by_side, memory);
            bytes = fits.map_err(|error| CliError::of_point(error, &question.text, &point.label))?;
            if foreseen::is_asked() {
                seconds = resolved.cost(1).seconds;
            }
        }
        let (files, ticks) = (resolved.files().to_vec(), resolved.ticks());
        let names_of_ticks = resolved.names_of_ticks();
        let SweepPoint { label, scenario, .. } = point;
        Ok(SweptPoint {
            label,
            run_id,
            scenario,
            files,
            folder,
            is_complete,
            bytes,
            seconds,
            ticks,
            names_of_ticks,
        })
    });
    swept.collect()
}

fn is_complete(folder: &Path, run_id: &str) -> Result<bool, CliError> {
    let info = RunFolder::find(folder).and_then(|found| found.map(|run| run.info()).transpose());
    let info = info.map_err(|error| CliError::of(error.into(), ""))?;
    Ok(info.is_some_and(|info| info.status == Status::Complete && info.run_id == run_id))
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

/// What runs tasks and reports.
type RunAll<'a> = &'a mut dyn FnMut(Vec<Task>, &mut dyn FnMut(Report));

/// Runs what is not complete.
fn run_pending(
    index: &mut Option<SweepIndex>,
    points: &[SweptPoint],
    run_all: RunAll<'_>,
) -> Result<Ended, CliError> {
    let task = |point: &SweptPoint| Task {
        run_id: point.run_id.clone(),
        folder: point.folder.clone(),
        text: point.scenario.to_toml(),
        files: point.files.clone(),
        bytes: point.bytes,
    };
    let by_id: BTreeMap<&str, &SweptPoint> = points.iter().map(|p| (p.run_id.as_str(), p)).collect();
    let tasks: Vec<Task> = points.iter().filter(|point| !point.is_complete).map(task).collect();
    let meter = Meter::new(
        points.iter().map(|point| point.ticks).sum(),
        points.first().map_or("points", |point| point.names_of_ticks),
    );
    points.iter().filter(|point| point.is_complete).for_each(|point| meter.skip(point.ticks));
    let (mut ended, mut written) = (Ended::default(), Ok(()));
    let total = tasks.len();
    let mut note = |id: &str, status| {
        // Later points still run: their folders, not the index, are the truth.
        if let Some(Err(error)) = index.as_mut().map(|index| index.set_status(id, status)) {
            written = Err(CliError::of(error.into(), ""));
        }
    };
    run_all(tasks, &mut |report| match report {
        Report::Started(id) => note(&id, Status::Running),
        Report::Ticks(count) => meter.skip(count),
        Report::Ended(id, Ok(wall)) => {
            note(&id, Status::Complete);
            ended.seconds.insert(id, wall);
            meter.say(&format!("({} of {total} points done)", ended.seconds.len()));
        }
        Report::Ended(id, Err(reason)) => {
            note(&id, Status::Interrupted);
            let label = crate::label::label_text(&by_id[id.as_str()].label);
            ended.failures.insert(id, format!("{label}: {reason}"));
        }
    });
    meter.finish();
    written.map(|()| ended)
}

/// The points that are complete, from their run folders.
fn done_points(points: Vec<SweptPoint>, seconds: &BTreeMap<String, f64>) -> Result<Vec<Point>, CliError> {
    let mut done = Vec::new();
    for point in points {
        let seconds = seconds.get(&point.run_id).copied();
        if !point.is_complete && seconds.is_none() {
            continue;
        }
        let info = RunFolder::open(&point.folder).and_then(|folder| folder.info());
        let info = info.map_err(|error| CliError::unreadable(&error))?;
        let unexpected = railtwin::run::unexpected(&point.scenario.expect, &info.figures);
        done.push(Point { label: point.label, folder: Some(point.folder), info, unexpected, seconds });
    }
    Ok(done)
}

/// The table of points; answers of the whole question where there is one.
fn write_text(
    question: Option<&Question>,
    points: &[Point],
    folder: &Path,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    write!(out, "{}", sweep_table::text(points))?;
    if let Some(question) = question {
        write_gains(question, points, out)?;
        if let Some(line) = not_judged(question)? {
            writeln!(out, "{line}")?;
        }
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

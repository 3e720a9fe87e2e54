//! `railtwin run`: a scenario, simulated, as a run folder with its report.
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use railtwin::{Question, Resolved, Run};
use railtwin_store::{RunFolder, Status};
use serde_json::{Map, Value, json};

use crate::engine_args::EngineArgs;
use crate::meter::{Meter, memory_peak_bytes};
use crate::table::TextTable;
use crate::{CliError, Streams, units};

/// Arguments of `run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// A scenario file
    #[arg(value_name = "SCENARIO")]
    scenario: PathBuf,
    /// Folder in which the run folder is made
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    out: PathBuf,
    #[command(flatten)]
    engine: EngineArgs,
    /// Only print the figures, write no run folder
    #[arg(long)]
    no_folder: bool,
    /// Run again although the run folder is complete
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What a point of a question came to.
pub(crate) struct Point {
    pub(crate) label: Vec<(String, String)>,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) info: railtwin_store::RunInfo,
    pub(crate) unexpected: Vec<railtwin::Unexpected>,
    /// Wall seconds; none where a complete run folder was there already.
    pub(crate) seconds: Option<f64>,
}

pub(crate) fn run(args: &RunArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let question = Question::read(&args.scenario).map_err(|error| CliError::of(error, ""))?;
    let question = args.engine.ask(question, streams.notes);
    let out = (!args.no_folder).then_some(args.out.as_path());
    let points = run_points(&question, out, args.force)?;
    if args.json {
        let value = json_of(&question, &points)?;
        writeln!(streams.out, "{}", serde_json::to_string_pretty(&value).expect("a JSON value is text"))?;
    } else {
        write_text(&question, &points, streams.out)?;
    }
    let missed: Vec<String> = points.iter().flat_map(missed).collect();
    if missed.is_empty() { Ok(()) } else { Err(CliError::Unexpected(missed)) }
}

/// Runs all points one after another; complete run folders are taken as they are unless `force`.
pub(crate) fn run_points(
    question: &Question,
    out: Option<&Path>,
    force: bool,
) -> Result<Vec<Point>, CliError> {
    let wrong = |error| CliError::of(error, &question.text);
    let points = question.points().map_err(wrong)?;
    // Resolve all before anything runs: a wrong point costs no time and leaves no folder.
    let resolved: Vec<_> = points
        .iter()
        .map(|point| {
            let resolved = question.resolve(&point.scenario);
            resolved.map_err(|error| CliError::of_point(error, &question.text, &point.label))
        })
        .collect::<Result<_, _>>()?;
    let meter = Meter::new(resolved.iter().map(|point| u64::from(point.scenario.run.replicates)).sum());
    let mut done = Vec::new();
    for (point, resolved) in points.into_iter().zip(resolved) {
        done.push(run_point(point.label, resolved, out, force, &meter).map_err(wrong)?);
    }
    meter.finish();
    Ok(done)
}

/// Packet-hops from which a person is told how many there are.
const MANY_HOPS: f64 = 5e8;

fn run_point(
    label: Vec<(String, String)>,
    resolved: Resolved,
    out: Option<&Path>,
    force: bool,
    meter: &Meter,
) -> Result<Point, railtwin::Error> {
    let name = format!("{}-{}", resolved.scenario.name, railtwin::run::id_of(&resolved));
    let path = out.map(|out| out.join(name));
    if let Some(path) = &path
        && let Some(folder) = RunFolder::find(path)?
    {
        let info = folder.info()?;
        if info.status == Status::Complete && !force {
            let unexpected = railtwin::run::unexpected(&resolved.scenario.expect, &info.figures);
            meter.skip(resolved.scenario.run.replicates);
            return Ok(Point { label, folder: Some(path.clone()), info, unexpected, seconds: None });
        }
        folder.remove()?;
    }
    // Made before the simulation, so that readers find it, and a place that cannot be written costs no time.
    let folder = path.as_ref().map(|path| railtwin::run::begin(&resolved, path)).transpose()?;
    if let Some(hops) = railtwin::engines::packet_hops(&resolved).filter(|&hops| hops > MANY_HOPS) {
        meter.say(format!("{:.1} billion packet-hops a replicate, at some millions a second", hops * 1e-9));
    }
    let start = Instant::now();
    let run = Run::of_into(resolved, folder.as_ref(), &|| meter.tick())?;
    let seconds = start.elapsed().as_secs_f64();
    if let Some(folder) = &folder {
        run.write_into(folder)?;
    }
    let unexpected = run.unexpected();
    Ok(Point { label, folder: path, info: run.info, unexpected, seconds: Some(seconds) })
}

/// What is not as the scenario expects, in words.
pub(crate) fn missed(point: &Point) -> Vec<String> {
    let words = |miss: &railtwin::Unexpected| {
        let value = miss.value.map_or("missing".to_owned(), |value| format!("{value}"));
        format!("{} is {value}, expected {}", miss.figure, miss.expected)
    };
    point.unexpected.iter().map(words).collect()
}

/// The label of a point as one text: `fabric.planes=true job.0.hosts=4`.
pub(crate) fn label_text(label: &[(String, String)]) -> String {
    label.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
}

/// One object: `figures` of the only point, or of all points by label, with the gains of the scenario.
pub(crate) fn json_of(question: &Question, points: &[Point]) -> Result<Value, CliError> {
    let object = |figures: &[railtwin_store::Figure]| -> Map<String, Value> {
        figures.iter().map(|figure| (figure.name.clone(), json!(figure.value))).collect()
    };
    let mut figures = Map::new();
    if let [only] = points {
        figures = object(&only.info.figures);
    }
    let answers = answers(question, points)?;
    figures.extend(object(&answers));
    let runs: Vec<Value> = points
        .iter()
        .map(|point| {
            json!({
                "label": point.label.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
                "name": point.info.name,
                "run_id": point.info.run_id,
                "folder": point.folder,
                "figures": object(&point.info.figures),
                "warnings": point.info.warnings,
                "unexpected": missed(point),
                "wall_s": point.seconds,
            })
        })
        .collect();
    let mut answer = json!({ "figures": figures, "runs": runs });
    if let Some(line) = not_judged(question)? {
        answer["expectations"] = json!(line);
    }
    Ok(answer)
}

/// What to say where the scenario's expectations are of another engine than the one that was asked.
pub(crate) fn not_judged(question: &Question) -> Result<Option<String>, CliError> {
    let points = question.points().map_err(|error| CliError::of(error, &question.text))?;
    let engines = points.into_iter().find_map(|point| point.expectations_of);
    Ok(engines.map(|engines| format!("expectations are of the {engines} engine, not judged")))
}

/// The gains that the scenario asks for.
pub(crate) fn answers(
    question: &Question,
    points: &[Point],
) -> Result<Vec<railtwin_store::Figure>, CliError> {
    let rows: Vec<_> =
        points.iter().map(|point| (point.label.as_slice(), point.info.figures.as_slice())).collect();
    let wanted = question.points().map_err(|error| CliError::of(error, &question.text))?;
    let gain = wanted.first().and_then(|point| point.scenario.gain.clone());
    Ok(gain.map_or_else(Vec::new, |gain| railtwin::gain::gains(&gain, &rows)))
}

fn write_text(question: &Question, points: &[Point], out: &mut dyn Write) -> Result<(), CliError> {
    for point in points {
        if !point.label.is_empty() {
            writeln!(out, "{}", label_text(&point.label))?;
        }
        let mut table = TextTable::default();
        let has_jobs = point.info.figure("step_time").is_some();
        let design = |name: &str| has_jobs && !railtwin::figures::is_of_run(name);
        for figure in point.info.figures.iter().filter(|figure| !design(&figure.name)) {
            table.row([figure.name.clone(), units::shown(figure.value, &figure.unit)]);
        }
        write!(out, "{}", table.text())?;
        if let Some(folder) = &point.folder {
            writeln!(out, "report  {}", folder.join("report.html").display())?;
        }
    }
    for gain in answers(question, points)? {
        writeln!(out, "{}  {}", gain.name, units::shown(gain.value, &gain.unit))?;
    }
    if let Some(line) = not_judged(question)? {
        writeln!(out, "{line}")?;
    }
    if points.iter().any(|point| point.seconds.is_some()) {
        let seconds: f64 = points.iter().filter_map(|point| point.seconds).sum();
        let memory = units::shown(memory_peak_bytes().map(|bytes| bytes as f64), "bytes");
        writeln!(out, "simulated in {seconds:.1} s, {memory} at the peak")?;
    }
    Ok(())
}

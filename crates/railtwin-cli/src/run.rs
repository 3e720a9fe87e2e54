//! `railtwin run`: a scenario, simulated, as a run folder with its report.
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::Instant;

use clap::Args;
use railtwin::cost::Cost;
use railtwin::figures::declared::Better;
use railtwin::gain::Gains;
use railtwin::{Question, Runnable};
use railtwin_scenario::GainSpec;
use railtwin_store::{RunFolder, Status};
use serde_json::{Map, Value, json};

use crate::engine_args::EngineArgs;
use crate::label::label_text;
use crate::meter::{Meter, memory_peak_bytes};
use crate::table::TextTable;
use crate::{CliError, Streams, foreseen, run_live, units};

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
    /// Also write what ranks of the job would record live: a folder with a file for each rank, for `railtwin diagnose`
    #[arg(long, value_name = "FOLDER")]
    live_records: Option<PathBuf>,
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
    if foreseen::is_asked() {
        return estimate(&question, streams);
    }
    if let Some(folder) = &args.live_records {
        run_live::refuse_filled(folder)?;
    }
    let live = args.live_records.as_deref().map(|folder| Ok((folder, run_live::replayed(&question)?)));
    let live = live.transpose().map_err(|error: CliError| error)?;
    let points = run_points(&question, out, args.force, railtwin::memory::limit(), streams.notes)?;
    write_warnings(&points, streams.notes)?;
    if let Some((folder, job)) = &live {
        run_live::write(job, folder)?;
    }
    if args.json {
        let value = json_of(&question, &points)?;
        writeln!(streams.out, "{}", serde_json::to_string_pretty(&value).expect("a JSON value is text"))?;
    } else {
        write_text(&question, &points, streams.out)?;
    }
    verdict(&points)
}

/// Prints what all points take, one after another.
fn estimate(question: &Question, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let threads = available_parallelism().map_or(1, usize::from);
    let mut all = None;
    for point in question.points().map_err(|error| CliError::of(error, &question.text))? {
        let ready = question.runnable(&point.scenario);
        let ready = ready.map_err(|error| CliError::of_point(error, &question.text, &point.label))?;
        let one = ready.cost(threads);
        all = Some(match all {
            Some(all) => Cost::then(all, &one),
            None => one,
        });
    }
    foreseen::goes_on(&all.unwrap_or_else(|| Cost::least("no points")), streams).map(drop)
}

/// What the points came to together: simulated time that was up, or figures that are not as expected, each with the
/// label of its point where there are several.
pub(crate) fn verdict(points: &[Point]) -> Result<(), CliError> {
    let named = |point: &Point, words: String| {
        if point.label.is_empty() { words } else { format!("{}: {words}", label_text(&point.label)) }
    };
    let up =
        points.iter().filter_map(|point| Some(named(point, railtwin::time_up::of(&point.info)?.to_owned())));
    let up: Vec<String> = up.collect();
    let missed: Vec<String> =
        points.iter().flat_map(|point| missed(point).into_iter().map(|words| named(point, words))).collect();
    match (up.is_empty(), missed.is_empty()) {
        (false, _) => Err(CliError::TimeUp(up)),
        (true, false) => Err(CliError::Unexpected(missed)),
        (true, true) => Ok(()),
    }
}

/// What readers of the figures should know, each once, with the first point that says it. That simulated time was up is
/// left to the end.
pub(crate) fn write_warnings(points: &[Point], notes: &mut dyn Write) -> Result<(), CliError> {
    let mut said = std::collections::BTreeSet::new();
    for point in points {
        let last = railtwin::time_up::of(&point.info);
        for warning in point.info.warnings.iter().filter(|warning| Some(warning.as_str()) != last) {
            if said.insert(warning) {
                let of = label_text(&point.label);
                let of = if of.is_empty() { of } else { format!(" ({of})") };
                writeln!(notes, "warning{of}: {warning}")?;
            }
        }
    }
    Ok(())
}

/// Runs all points one after another; complete run folders are taken as they are unless `force`.
pub(crate) fn run_points(
    question: &Question,
    out: Option<&Path>,
    force: bool,
    memory: u64,
    notes: &mut dyn Write,
) -> Result<Vec<Point>, CliError> {
    let wrong = |error| CliError::of(error, &question.text);
    let points = question.points().map_err(wrong)?;
    // Resolve all before anything runs: a wrong point costs no time and leaves no folder.
    let mut resolved: Vec<Runnable> = Vec::with_capacity(points.len());
    for point in &points {
        let ready = question.runnable(&point.scenario);
        let mut ready = ready.map_err(|error| CliError::of_point(error, &question.text, &point.label))?;
        if let Some(last) = resolved.last() {
            ready.share_fabric(last);
        }
        resolved.push(ready);
    }
    let threads = available_parallelism().map_or(1, usize::from);
    let mut is_done = Vec::new();
    for (point, resolved) in points.iter().zip(&resolved) {
        // What is complete takes no memory.
        let path = folder_of(resolved, out).filter(|_| !force);
        let done = path.map(|path| is_complete(&path)).transpose().map_err(wrong)?.unwrap_or(false);
        if !done {
            let fits = resolved.bytes_within(threads, memory);
            fits.map_err(|error| CliError::of_point(error, &question.text, &point.label))?;
        }
        is_done.push(done);
    }
    let meter = Meter::new(
        resolved.iter().map(Runnable::ticks).sum(),
        resolved.first().map_or("points", Runnable::names_of_ticks),
    );
    let mut done = Vec::new();
    for ((point, resolved), is_done) in points.into_iter().zip(resolved).zip(is_done) {
        if let Some(words) = (!is_done).then(|| resolved.words(threads)).flatten() {
            meter.announce(&words, notes)?;
        }
        done.push(run_point(point.label, resolved, out, force, &meter).map_err(wrong)?);
    }
    meter.finish();
    Ok(done)
}

/// Where the run folder of a point goes.
fn folder_of(resolved: &Runnable, out: Option<&Path>) -> Option<PathBuf> {
    let name = format!("{}-{}", resolved.scenario().name, resolved.run_id());
    out.map(|out| out.join(name))
}

/// Whether there is a run folder that is complete.
pub(crate) fn is_complete(path: &Path) -> Result<bool, railtwin::Error> {
    let folder = RunFolder::find(path)?;
    Ok(folder.map(|folder| folder.info()).transpose()?.is_some_and(|info| info.status == Status::Complete))
}

fn run_point(
    label: Vec<(String, String)>,
    resolved: Runnable,
    out: Option<&Path>,
    force: bool,
    meter: &Meter,
) -> Result<Point, railtwin::Error> {
    let path = folder_of(&resolved, out);
    if let Some(path) = &path
        && let Some(folder) = RunFolder::find(path)?
    {
        let info = folder.info()?;
        if info.status == Status::Complete && !force {
            let unexpected = railtwin::run::unexpected(&resolved.scenario().expect, &info.figures);
            meter.skip(resolved.ticks());
            return Ok(Point { label, folder: Some(path.clone()), info, unexpected, seconds: None });
        }
        folder.remove()?;
    }
    // Made before the simulation, so that readers find it, and a place that cannot be written costs no time.
    let folder = path.as_ref().map(|path| resolved.begin(path)).transpose()?;
    let start = Instant::now();
    let run = resolved.run_into(folder.as_ref(), &|| meter.tick())?;
    let seconds = start.elapsed().as_secs_f64();
    if let Some(folder) = &folder {
        run.write_into(folder)?;
    }
    let unexpected = run.unexpected();
    Ok(Point { label, folder: path, info: run.info().clone(), unexpected, seconds: Some(seconds) })
}

/// What is not as the scenario expects, in words.
pub(crate) fn missed(point: &Point) -> Vec<String> {
    point.unexpected.iter().map(ToString::to_string).collect()
}

/// One object: `figures` of the only point, or of all points by label, with the gains of the scenario; beside them, in
/// `reasons`, why some have no value.
pub(crate) fn json_of(question: &Question, points: &[Point]) -> Result<Value, CliError> {
    let object = |figures: &[railtwin_store::Figure]| -> Map<String, Value> {
        figures.iter().map(|figure| (figure.name.clone(), json!(figure.value))).collect()
    };
    let (mut figures, mut reasons) = (Map::new(), Map::new());
    if let [only] = points {
        (figures, reasons) = (object(&only.info.figures), reasons_of(&only.info.figures));
    }
    let gains = gains(question, points)?;
    if let Some((_, gains)) = &gains {
        figures.extend(object(&gains.figures));
        reasons.extend(reasons_of(&gains.figures));
    }
    let runs: Vec<Value> = points
        .iter()
        .map(|point| {
            json!({
                "label": point.label.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
                "name": point.info.name,
                "run_id": point.info.run_id,
                "headline": point.info.headline,
                "evidence": point.info.evidence,
                "folder": point.folder,
                "figures": object(&point.info.figures),
                "assumed": railtwin::assumed::of_info(&point.info),
                "reasons": reasons_of(&point.info.figures),
                "warnings": point.info.warnings,
                "unexpected": missed(point),
                "wall_s": point.seconds,
            })
        })
        .collect();
    let mut answer = json!({ "figures": figures, "reasons": reasons, "runs": runs });
    if let Some((spec, gains)) = gains {
        answer["gain"] = json!({
            "figure": spec.figure, "axis": spec.axis, "over": spec.over, "better": gains.better.name(),
        });
    }
    if let Some(line) = not_judged(question)? {
        answer["expectations"] = json!(line);
    }
    Ok(answer)
}

/// Why figures have no value, by name.
fn reasons_of(figures: &[railtwin_store::Figure]) -> Map<String, Value> {
    let missing = figures.iter().filter(|figure| figure.value.is_none());
    missing.map(|figure| (figure.name.clone(), json!(figure.reason))).collect()
}

/// What to say where the scenario's expectations are of another engine than the one that was asked.
pub(crate) fn not_judged(question: &Question) -> Result<Option<String>, CliError> {
    let points = question.points().map_err(|error| CliError::of(error, &question.text))?;
    let engines = points.into_iter().find_map(|point| point.expectations_of);
    Ok(engines.map(|engines| format!("expectations are of the {engines} engine, not judged")))
}

/// The `[gain]` of the scenario and its gains; none without one.
pub(crate) fn gains(question: &Question, points: &[Point]) -> Result<Option<(GainSpec, Gains)>, CliError> {
    let rows: Vec<_> =
        points.iter().map(|point| (point.label.as_slice(), point.info.figures.as_slice())).collect();
    let wanted = question.points().map_err(|error| CliError::of(error, &question.text))?;
    let spec = wanted.first().and_then(|point| point.scenario.gain.clone());
    Ok(spec.map(|spec| {
        let gains = railtwin::gain::gains(&spec, &rows);
        (spec, gains)
    }))
}

/// The gains of the scenario below a line that names their base, one a line in percent of it.
pub(crate) fn write_gains(
    question: &Question,
    points: &[Point],
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let Some((spec, gains)) = gains(question, points)? else { return Ok(()) };
    let sign = match gains.better {
        Better::Less => "less is better; + is less",
        Better::More => "more is better; + is more",
        Better::Neither => "neither way is better; + is more",
    };
    writeln!(out, "gain in {}, in % of its value at {} = {} ({sign})", spec.figure, spec.axis, spec.over)?;
    let over_all = gains.figures.len() - gains.compared.len();
    for (row, gain) in gains.figures.iter().enumerate() {
        let compared = row.checked_sub(over_all).map(|row| &gains.compared[row]);
        let behind = match compared {
            Some(of) if gain.value.is_some() => {
                format!("({}, base {})", units::shown(of.value, &of.unit), units::shown(of.base, &of.unit))
            }
            _ => gain.reason.clone(),
        };
        writeln!(out, "{}", format!("{}  {} {behind}", gain.name, units::change(gain.value)).trim_end())?;
    }
    Ok(())
}

fn write_text(question: &Question, points: &[Point], out: &mut dyn Write) -> Result<(), CliError> {
    for point in points {
        if !point.label.is_empty() {
            writeln!(out, "{}", label_text(&point.label))?;
        }
        if !point.info.headline.is_empty() {
            writeln!(out, "{}", point.info.headline)?;
        }
        for line in &point.info.evidence {
            writeln!(out, "  {line}")?;
        }
        let mut table = TextTable::default();
        let has_jobs = railtwin::figures::of_a_run(&point.info.figures);
        let design = |name: &str| has_jobs && !railtwin::figures::is_of_run(name);
        for figure in point.info.figures.iter().filter(|figure| !design(&figure.name)) {
            table.noted_row([figure.name.clone(), units::shown(figure.value, &figure.unit)], &figure.reason);
        }
        write!(out, "{}", table.text())?;
        if let Some(storage) = crate::storage_table::table(&point.info) {
            write!(out, "\n{}\n", storage.text())?;
        }
        crate::told::write(std::slice::from_ref(point), out)?;
        if let Some(folder) = &point.folder {
            writeln!(out, "report  {}", folder.join("report.html").display())?;
        }
    }
    write_gains(question, points, out)?;
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

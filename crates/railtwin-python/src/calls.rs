//! The calls of the module: run, sweep, open, design, schedule, schema.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::PyMapping;
use railtwin::Runnable;
use railtwin::schedule::{STEPS_MOST, SharingPolicy, has_fabric, of_scenario, profiled, run_policy};
use railtwin_fabric::design::DesignReport;
use railtwin_store::{RunFolder, Status};
use railtwin_units::SimTime;
use serde_json::{Value, json};

use crate::controllers::Controllers;
use crate::run::Run;
use crate::scenario::{Asked, By, Placed, only_case, only_runnable, points};
use crate::watch::{Progress, watch};
use crate::{convert, errors};

type Label = BTreeMap<String, String>;

/// Runs a scenario that is one point. With a folder, a complete run of the same case in it is taken as it is.
#[pyfunction]
pub(crate) fn run_one(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    folder: Option<PathBuf>,
    progress: Option<&Bound<'_, PyAny>>,
    engine: Option<&str>,
    threads: i64,
    controllers: &Bound<'_, PyAny>,
) -> PyResult<Run> {
    let by = By::of(py, engine, threads)?;
    let controllers = Controllers::of(controllers)?;
    let asked = Asked::of(scenario)?;
    let stand = controllers.clone();
    let run = watch(py, progress, move |progress| {
        let ready = stand.beside(only_runnable(asked, by)?)?;
        progress.expect(ready.ticks());
        run_point(Label::new(), ready, folder, progress)
    })?;
    run.map_err(|placed| controllers.raised(&placed.error).unwrap_or_else(|| placed.raise(py)))
}

/// Runs all points of a scenario; with a folder, each in a run folder within it, named as the command names it.
#[pyfunction]
pub(crate) fn run_sweep(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    folder: Option<PathBuf>,
    progress: Option<&Bound<'_, PyAny>>,
    engine: Option<&str>,
    threads: i64,
    controllers: &Bound<'_, PyAny>,
) -> PyResult<Vec<Run>> {
    let by = By::of(py, engine, threads)?;
    let controllers = Controllers::of(controllers)?;
    let asked = Asked::of(scenario)?;
    let stand = controllers.clone();
    let runs = watch(py, progress, move |progress| {
        let points = points(asked, by)?.into_iter();
        let points = points.map(|(point, ready)| Ok((point, stand.beside(ready)?)));
        let points = points.collect::<Result<Vec<_>, Placed>>()?;
        progress.expect(points.iter().map(|(_, ready)| ready.ticks()).sum());
        let run = |(point, ready): (railtwin_scenario::SweepPoint, Runnable)| {
            let name = format!("{}-{}", ready.scenario().name, ready.run_id());
            let path = folder.as_ref().map(|folder| folder.join(name));
            run_point(point.label.into_iter().collect(), ready, path, progress)
        };
        points.into_iter().map(run).collect::<Result<Vec<_>, Placed>>()
    })?;
    runs.map_err(|placed| controllers.raised(&placed.error).unwrap_or_else(|| placed.raise(py)))
}

/// The points whose runs are not complete in `folder`, as what another machine needs to run them. What they left
/// unfinished makes room.
#[pyfunction]
pub(crate) fn missing_points(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    folder: PathBuf,
    engine: Option<&str>,
    threads: i64,
) -> PyResult<Py<PyAny>> {
    let by = By::of(py, engine, threads)?;
    let asked = Asked::of(scenario)?;
    let missing = watch(py, None, move |_| {
        let mut missing = Vec::new();
        for (point, ready) in points(asked, by)? {
            let run_id = ready.run_id();
            let name = format!("{}-{run_id}", ready.scenario().name);
            if complete_run(&folder.join(&name), &ready)?.is_none() {
                missing.push(json!({
                    "run_id": run_id, "name": name, "text": point.scenario.to_toml(), "files": ready.files(),
                    "bytes": ready.bytes(threads as usize),
                    "label": point.label.into_iter().collect::<Label>(), "replicates": ready.ticks(),
                }));
            }
        }
        Ok::<_, Placed>(Value::from(missing))
    })?;
    convert::python_of(py, &missing.map_err(|placed| placed.raise(py))?)
}

fn run_point(
    label: Label,
    ready: Runnable,
    path: Option<PathBuf>,
    progress: &Progress,
) -> Result<Run, Placed> {
    if let Some(path) = &path
        && let Some(done) = complete_run(path, &ready)?
    {
        progress.advance(ready.ticks());
        return Ok(Run::of_folder(done, label)?);
    }
    // A process that is killed takes the notebook along.
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    ready.bytes_within(threads, railtwin::memory::available())?;
    // Made before the simulation: another process that wants the folder is told at once.
    let folder = path.as_ref().map(|path| ready.begin(path)).transpose()?;
    let begun = Begun(folder);
    let run = ready.run_into(begun.0.as_ref(), &|| progress.advance(1))?;
    if let Some(folder) = &begun.0 {
        run.write_into(folder)?;
    }
    begun.keep();
    Ok(Run::of_memory(run, label, path))
}

/// The folder of a run that has begun. What does not come to its end, by an error or by Ctrl-C, leaves none: a notebook
/// has no one who would take it up.
struct Begun(Option<RunFolder>);

impl Begun {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        // Where it cannot be removed it says itself that it is no complete run.
        let _ = self.0.take().map(RunFolder::remove);
    }
}

/// The complete run of this very case at `path`, if it is there. An unfinished one makes room; any other is
/// left alone, and in the way.
fn complete_run(path: &Path, ready: &Runnable) -> Result<Option<RunFolder>, railtwin::Error> {
    let Some(folder) = RunFolder::find(path)? else { return Ok(None) };
    let info = folder.info()?;
    if info.run_id != ready.run_id() {
        return Err(railtwin_store::StoreError::Exists { path: path.to_owned() }.into());
    }
    // What controllers of one's own do is in no hash: nobody can tell that this was done by the same ones.
    let is_own = matches!(ready, Runnable::Steps(resolved) if resolved.case.own.is_some());
    if info.status == Status::Complete && is_own {
        return Err(railtwin_store::StoreError::Exists { path: path.to_owned() }.into());
    }
    if info.status == Status::Complete {
        return Ok(Some(folder));
    }
    folder.remove()?;
    Ok(None)
}

/// Opens a run folder.
#[pyfunction]
pub(crate) fn open_folder(py: Python<'_>, folder: PathBuf) -> PyResult<Run> {
    let run = RunFolder::open(&folder).map_err(railtwin::Error::from);
    let run = run.and_then(|folder| Run::of_folder(folder, Label::new()));
    run.map_err(|error| errors::of(py, &error, ""))
}

/// Counts what a fabric consists of: a preset with settings, or a scenario's fabric.
#[pyfunction]
pub(crate) fn design(
    py: Python<'_>,
    what: &Bound<'_, PyAny>,
    settings: Option<&Bound<'_, PyMapping>>,
) -> PyResult<Py<PyAny>> {
    let preset = what.extract::<String>().ok().filter(|name| is_preset_name(name));
    let asked = match (preset, settings) {
        (Some(preset), settings) => {
            let mut fabric = toml::Table::new();
            fabric.insert("preset".into(), preset.into());
            if let Some(settings) = settings {
                fabric.extend(convert::toml_table(settings, "fabric")?);
            }
            let mut table = toml::Table::new();
            table.insert("schema".into(), i64::from(railtwin_scenario::SCHEMA).into());
            table.insert("name".into(), "design".into());
            table.insert("fabric".into(), fabric.into());
            Asked::of_table(py, &table)?
        }
        (None, Some(settings)) if !settings.is_empty()? => {
            let hint = "change [fabric] of the scenario";
            return Err(errors::argument(
                py,
                "settings go with a preset; the scenario says its fabric",
                hint,
            ));
        }
        (None, _) => Asked::of(what)?,
    };
    let report = watch(py, None, move |_| {
        let resolved = only_case(asked, By::SCENARIO)?;
        Ok::<_, Placed>(DesignReport::of(&resolved.case.fabric))
    })?;
    let report = report.map_err(|placed| placed.raise(py))?;
    let report = serde_json::to_value(&report).map_err(|error| errors::internal(py, &error.to_string()))?;
    convert::python_of(py, &report)
}

/// A bare word is a preset's name; a path to a scenario has a dot or a separator, a text has line breaks.
fn is_preset_name(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Who goes first, by which path, when jobs share links: of a file, a text or a dictionary with links and jobs, or of a
/// scenario what Crux's controller hands out in its run.
#[pyfunction]
pub(crate) fn schedule(
    py: Python<'_>,
    jobs: &Bound<'_, PyAny>,
    policy: Option<String>,
    profile: Option<&str>,
    optimum: bool,
    replicate: u32,
) -> PyResult<Py<PyAny>> {
    let hint = "write a time above 0 s, such as \"30 s\"";
    let profile = profile.map(|text| match text.parse::<SimTime>() {
        Ok(time) if time > SimTime::ZERO => Ok(time),
        Ok(_) => Err(errors::argument(py, &format!("profile cannot be {text:?}"), hint)),
        Err(error) => Err(errors::argument(py, &format!("profile: {error}"), hint)),
    });
    let profile = profile.transpose()?;
    let known = policy.as_deref().map(|name| (name, SharingPolicy::named(name)));
    if let Some((name, None)) = known {
        let hint = format!("write one of {}", SharingPolicy::NAMES.join(", "));
        return Err(errors::argument(py, &format!("{name:?} is no policy"), &hint));
    }
    let asked = Asked::of(jobs)?;
    let answer = watch(py, None, move |_| {
        let question = asked.question()?;
        let of_text = |error| Placed { error, text: question.text.clone() };
        let value = match has_fabric(&question.text) {
            true => of_run(&question, policy.as_deref(), profile.is_some() || optimum, replicate),
            false if replicate > 0 => Err(railtwin::Error::Argument(
                "replicate is of scenarios, whose runs draw; jobs that share links have a seed".to_owned(),
            )),
            false => of_jobs(&question, policy.as_deref().unwrap_or("crux"), profile, optimum),
        };
        value.map_err(of_text)
    })?;
    let answer = answer.map_err(|placed| placed.raise(py))?;
    convert::python_of(py, &answer)
}

/// The schedule of a run of a scenario.
fn of_run(
    question: &railtwin::Question,
    policy: Option<&str>,
    of_jobs: bool,
    replicate: u32,
) -> Result<Value, railtwin::Error> {
    if of_jobs {
        let message = "profile and optimum are of files with link and job, not of scenarios".to_owned();
        return Err(railtwin::Error::Argument(message));
    }
    let (schedule, warnings) = of_scenario(question, policy.map(run_policy).transpose()?, replicate)?;
    let mut value = json!(schedule);
    value["warnings"] = json!(warnings);
    Ok(value)
}

/// The schedule of jobs that share links.
fn of_jobs(
    question: &railtwin::Question,
    policy: &str,
    profile: Option<SimTime>,
    optimum: bool,
) -> Result<Value, railtwin::Error> {
    let mut asked = railtwin::schedule::Asked::parse(&question.file, &question.text)?;
    if let Some(window) = profile {
        let steps = asked.steps_within(window);
        if steps > STEPS_MOST {
            let message =
                format!("profile has {steps:.0} steps of all jobs: write a time with at most {STEPS_MOST}");
            return Err(railtwin::Error::Argument(message));
        }
        asked = profiled(&asked, window).0;
    }
    if optimum {
        return railtwin::schedule::optimum(&asked)
            .map(|plan| json!(plan))
            .map_err(railtwin::Error::Argument);
    }
    let policy = SharingPolicy::named(policy).expect("the call was checked");
    Ok(json!(railtwin::schedule::schedule(&asked, policy)))
}

/// What becomes of weeks of jobs under each policy and seed, as `railtwin cluster --json` has it.
#[pyfunction]
pub(crate) fn cluster(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    policies: Vec<String>,
    seeds: u64,
    controllers: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let controllers = Controllers::of(controllers)?;
    let own = controllers.own();
    let mut named = Vec::with_capacity(policies.len());
    for policy in &policies {
        let Some(policy) = SharingPolicy::named(policy) else {
            let hint = format!("write one of {}", SharingPolicy::NAMES.join(", "));
            return Err(errors::argument(py, &format!("{policy:?} is no policy"), &hint));
        };
        named.push(policy);
    }
    let asked = Asked::of(scenario)?;
    let answer = watch(py, None, move |_| {
        let question = asked.question()?;
        let placed = |error| Placed { error, text: question.text.clone() };
        let mut points = question.points().map_err(placed)?;
        if points.len() != 1 {
            let message = format!("the scenario has {} points: write one value for each key", points.len());
            return Err(placed(railtwin::Error::Argument(message)));
        }
        let mut cluster = question.cluster(&points.remove(0).scenario).map_err(placed)?;
        if let Some(own) = own {
            cluster = cluster.with_controllers(own).map_err(placed)?;
        }
        let policies = if named.is_empty() { vec![cluster.spec.sharing] } else { named };
        let seeds: Vec<u64> = (0..seeds.max(1)).map(|number| cluster.seed.wrapping_add(number)).collect();
        cluster.told(&policies, &seeds, &|| ()).map_err(placed)
    })?;
    let raised = |placed: Placed| controllers.raised(&placed.error).unwrap_or_else(|| placed.raise(py));
    let answer = answer.map_err(raised)?;
    let answer = serde_json::to_value(&answer).map_err(|error| errors::internal(py, &error.to_string()))?;
    convert::python_of(py, &answer)
}

/// The JSON Schema of a scenario.
#[pyfunction]
pub(crate) fn schema(py: Python<'_>) -> PyResult<Py<PyAny>> {
    convert::python_of(py, &railtwin_scenario::json_schema())
}

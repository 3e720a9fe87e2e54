//! What jobs cost each other: interference, placements before placing, what a device touches.
use pyo3::prelude::*;
use railtwin::Question;
use railtwin::cost_json::{of_impact, of_interference, of_what_if};
use railtwin::engines::{engine, engine_of};
use railtwin::interference::Options;
use railtwin_scenario::{EngineName, Scenario};
use serde_json::Value;

use crate::scenario::{Asked, By, Placed, only_case};
use crate::watch::watch;
use crate::{convert, errors};

/// Draws and steps that a call may ask for, as the command has them.
const MOST_DRAWS: i64 = 100_000;
const MOST_STEPS: i64 = 10_000;

/// A whole number from 1 up to `most`.
fn count(py: Python<'_>, name: &str, value: i64, most: i64) -> PyResult<u32> {
    match u32::try_from(value) {
        Ok(value) if value >= 1 && i64::from(value) <= most => Ok(value),
        _ => {
            let hint = format!("write a whole number from 1 to {most}");
            Err(errors::argument(py, &format!("{name} cannot be {value}"), &hint))
        }
    }
}

/// The scenario of a question with one point.
fn one_point(asked: Asked) -> Result<(Question, Scenario), Placed> {
    let question = asked.question()?;
    let placed = |error| Placed { error, text: question.text.clone() };
    let mut points = question.points().map_err(placed)?;
    if points.len() != 1 {
        let message = format!("the scenario has {} points: write one value for each key", points.len());
        return Err(placed(railtwin::Error::Argument(message)));
    }
    let scenario = points.remove(0).scenario;
    Ok((question, scenario))
}

fn told(py: Python<'_>, answer: Result<Value, Placed>) -> PyResult<Py<PyAny>> {
    convert::python_of(py, &answer.map_err(|placed| placed.raise(py))?)
}

/// What jobs on one fabric cost each other, as `railtwin interference --json` has it.
#[pyfunction]
pub(crate) fn interference(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    draws: i64,
    steps: i64,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let draws = count(py, "draws", draws, MOST_DRAWS)?;
    let options = Options { draws, steps: count(py, "steps", steps, MOST_STEPS)? };
    let asked = Asked::of(scenario)?;
    let answer = watch(py, progress, move |progress| {
        let resolved = only_case(asked, By::SCENARIO)?;
        progress.expect(u64::from(options.draws));
        let by = engine_of(&resolved);
        let tick = || progress.advance(1);
        let found = railtwin::interference::interference(&resolved.case, &*by, options, &tick)?;
        Ok::<_, Placed>(of_interference(&found, &resolved.case.fabric))
    })?;
    told(py, answer)
}

/// The placements of a job before it is placed, as `railtwin schedule --what-if --json` has them.
#[pyfunction]
pub(crate) fn what_if(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    job: Option<String>,
    draws: Option<i64>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let draws = draws.map(|draws| count(py, "draws", draws, MOST_DRAWS)).transpose()?;
    let asked = Asked::of(scenario)?;
    let answer = watch(py, progress, move |progress| {
        let (question, scenario) = one_point(asked)?;
        let placed = |error| Placed { error, text: question.text.clone() };
        let row = railtwin::what_if::row_of(&scenario, job.as_deref()).map_err(placed)?;
        let options = railtwin::what_if::options_of(&scenario, draws);
        progress.expect(railtwin::what_if::draws_most(&scenario, row, options));
        let (by, tick) = (engine(EngineName::Flow, 1), || progress.advance(1));
        let ways = railtwin::what_if::what_if(&question, &scenario, row, (&*by, options), &tick);
        Ok::<_, Placed>(of_what_if(&scenario.jobs[row].name, &ways.map_err(placed)?))
    })?;
    told(py, answer)
}

/// Jobs on devices and what draining these costs, as `railtwin impact --json` has it.
#[pyfunction]
pub(crate) fn impact(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    devices: Vec<String>,
    draws: Option<i64>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let draws = draws.map(|draws| count(py, "draws", draws, MOST_DRAWS)).transpose()?;
    let asked = Asked::of(scenario)?;
    let answer = watch(py, progress, move |progress| {
        let (question, scenario) = one_point(asked)?;
        let placed = |error| Placed { error, text: question.text.clone() };
        let resolved = question.resolve(&scenario).map_err(placed)?;
        let options = railtwin::what_if::options_of(&scenario, draws);
        progress.expect(railtwin::impact::draws_of(devices.len(), options));
        let (by, tick) = (engine(EngineName::Flow, 1), || progress.advance(1));
        let found =
            railtwin::impact::impact(&resolved.case, &*by, &devices, options, &tick).map_err(placed)?;
        Ok::<_, Placed>(of_impact(&found, &resolved.case.fabric))
    })?;
    told(py, answer)
}

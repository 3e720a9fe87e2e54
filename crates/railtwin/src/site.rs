//! The site of a scenario: what readers of evidence know of a cluster.
use railtwin_diagnosis::Settings;
use railtwin_engine::Case;

use crate::Question;
use railtwin_reading::{Diagnosed, Inputs, Site, diagnosis_of};

use crate::error::Error;
use crate::wiring::plan_of;

/// The case of a scenario's first point.
///
/// # Errors
/// Those of [`Question::points`] and [`Question::resolve`].
pub fn case_of(question: &Question) -> Result<Case, Error> {
    let mut points = question.points()?;
    if points.is_empty() {
        return Err(Error::Argument(format!(
            "{}: has no point; write one value for each key",
            question.file
        )));
    }
    Ok(question.resolve(&points.remove(0).scenario)?.case)
}

/// Diagnoses inputs beside the fabric, and placement of the first job, of a scenario. A run folder brings its own.
///
/// # Errors
/// Those of the scenario; [`Error::Argument`] for a fabric that has none of the hosts.
pub fn diagnose(inputs: Inputs, fabric: Option<&Question>, job: &str) -> Result<Diagnosed, Error> {
    let own = inputs.scenario.as_ref();
    let own = own.map(|scenario| Question::of_text(&scenario.file, &scenario.text, &scenario.folder));
    let thresholds = thresholds(own.as_ref())?;
    let has_neighbors = !inputs.merged.telemetry.directory.neighbors.is_empty();
    let site = match fabric.or(own.as_ref()) {
        Some(question) => Some(site_of(question, thresholds, has_neighbors)?),
        None => None,
    };
    Ok(diagnosis_of(inputs, site.as_ref(), job)?)
}

/// The thresholds of the scenario of a run folder; the defaults for files of a cluster.
fn thresholds(question: Option<&Question>) -> Result<Settings, Error> {
    let Some(question) = question else { return Ok(Settings::default()) };
    let telemetry = question.points()?.into_iter().next().and_then(|point| point.scenario.telemetry);
    Ok(telemetry.map(|telemetry| telemetry.detectors).unwrap_or_default())
}

/// The site of a scenario's first point. Its plan is made where neighbors are to be held against it.
fn site_of(question: &Question, thresholds: Settings, is_planned: bool) -> Result<Site, Error> {
    let case = case_of(question)?;
    let plan = match is_planned {
        true => {
            let point = question.points()?.into_iter().next();
            Some(plan_of(&case.fabric, &point.map(|point| point.scenario.faults).unwrap_or_default()))
        }
        false => None,
    };
    let places = case.placements.first().into_iter().flatten().map(|place| (place.host, place.gpu)).collect();
    Ok(Site { file: question.file.clone(), fabric: case.fabric, places, plan, thresholds })
}

//! The one point of a scenario that a verb asks about.
use std::path::Path;

use railtwin::Question;
use railtwin_scenario::Scenario;

use crate::CliError;

/// Reads a scenario of one point.
pub(crate) fn one_point(file: &str, verb: &str) -> Result<(Question, Scenario), CliError> {
    let question = Question::read(Path::new(file)).map_err(|error| CliError::of(error, ""))?;
    let mut points = question.points().map_err(|error| CliError::of(error, &question.text))?;
    if points.len() != 1 {
        let message = format!("{file} has {} points", points.len());
        let help = format!("`{verb}` wants one: write one value for each key of [sweep]");
        return Err(CliError::input(message, help));
    }
    let scenario = points.remove(0).scenario;
    Ok((question, scenario))
}

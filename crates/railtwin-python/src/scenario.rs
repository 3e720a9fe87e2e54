//! What Python hands over as a scenario: a path, a TOML text, or a dictionary of the same structure.
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyString};
use railtwin::{Question, Resolved, Runnable};
use railtwin_scenario::{EngineName, Scenario, SweepPoint};

use crate::{convert, errors};

/// Name that errors show for a text.
const OF_TEXT: &str = "<text>";
/// Name that errors show for a dictionary; places are those in the TOML that it stands for.
const OF_DICT: &str = "<dict>";

/// A scenario as Python says it. Text with a line break is TOML (no scenario fits on one line); other text is a
/// path. Paths in a text or dictionary are relative to the current folder.
#[derive(Debug)]
pub(crate) enum Asked {
    Path(PathBuf),
    Text { name: &'static str, text: String },
}

impl Asked {
    pub(crate) fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = value.cast::<PyString>() {
            let text = text.to_cow()?.into_owned();
            return Ok(match text.contains('\n') {
                true => Self::Text { name: OF_TEXT, text },
                false => Self::Path(text.into()),
            });
        }
        if let Ok(mapping) = value.cast::<PyMapping>() {
            return Self::of_table(value.py(), &convert::toml_table(mapping, "")?);
        }
        match value.extract::<PathBuf>() {
            Ok(path) => Ok(Self::Path(path)),
            Err(_) => {
                let message = format!("{} is no scenario", value.repr()?);
                Err(errors::argument(value.py(), &message, "give a path, a TOML text or a dictionary"))
            }
        }
    }

    /// A table as the text that stands for it.
    pub(crate) fn of_table(py: Python<'_>, table: &toml::Table) -> PyResult<Self> {
        match toml::to_string(table) {
            Ok(text) => Ok(Self::Text { name: OF_DICT, text }),
            Err(error) => Err(errors::argument(py, &format!("the dictionary is no TOML: {error}"), "")),
        }
    }

    /// Reads the file, if it is one.
    pub(crate) fn question(self) -> Result<Question, railtwin::Error> {
        match self {
            Self::Path(path) => Question::read(&path),
            Self::Text { name, text } => Ok(Question::of_text(name, &text, Path::new(""))),
        }
    }
}

/// Which engine is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct By {
    engine: Option<EngineName>,
    threads: u32,
}

impl By {
    /// What the scenario says, in one thread.
    pub(crate) const SCENARIO: Self = Self { engine: None, threads: 1 };
    /// Threads that a run may have.
    const MOST_THREADS: u32 = 1024;

    /// An engine by name, or that of the scenario, with so many threads for each run of the packet engine.
    pub(crate) fn of(py: Python<'_>, engine: Option<&str>, threads: i64) -> PyResult<Self> {
        let named = |name: &str| {
            let hint = format!("write one of {}", EngineName::NAMES.join(", "));
            EngineName::named(name)
                .ok_or_else(|| errors::argument(py, &format!("{name:?} is no engine"), &hint))
        };
        let engine = engine.map(named).transpose()?;
        match u32::try_from(threads) {
            Ok(threads @ 1..=Self::MOST_THREADS) => Ok(Self { engine, threads }),
            _ => {
                let hint = format!("write a number from 1 to {}", Self::MOST_THREADS);
                Err(errors::argument(py, &format!("a run cannot have {threads} threads"), &hint))
            }
        }
    }

    fn ask(self, question: Question) -> Question {
        question.with_engine(self.engine).with_threads(self.threads)
    }
}

/// An error, and the text that its places are in.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) error: railtwin::Error,
    pub(crate) text: String,
}

impl Placed {
    pub(crate) fn raise(&self, py: Python<'_>) -> PyErr {
        errors::of(py, &self.error, &self.text)
    }
}

impl From<railtwin::Error> for Placed {
    fn from(error: railtwin::Error) -> Self {
        Self { error, text: String::new() }
    }
}

/// The points of a question, each resolved before anything runs: a wrong point costs no time and leaves no folder.
pub(crate) fn points(asked: Asked, by: By) -> Result<Vec<(SweepPoint, Runnable)>, Placed> {
    let question = by.ask(asked.question()?);
    let placed = |error| Placed { error, text: question.text.clone() };
    let points = question.points().map_err(placed)?;
    let resolve = |point: SweepPoint| question.runnable(&point.scenario).map(|ready| (point, ready));
    points.into_iter().map(resolve).collect::<Result<_, _>>().map_err(placed)
}

/// The case of the only point of a question.
pub(crate) fn only_case(asked: Asked, by: By) -> Result<Resolved, Placed> {
    only_point(asked, by, Question::resolve)
}

/// The only point of a question, ready to run.
pub(crate) fn only_runnable(asked: Asked, by: By) -> Result<Runnable, Placed> {
    only_point(asked, by, Question::runnable)
}

fn only_point<T>(
    asked: Asked,
    by: By,
    ready: impl Fn(&Question, &Scenario) -> Result<T, railtwin::Error>,
) -> Result<T, Placed> {
    let question = by.ask(asked.question()?);
    let placed = |error| Placed { error, text: question.text.clone() };
    let mut points = question.points().map_err(placed)?;
    let count = points.len();
    let (Some(point), true) = (points.pop(), count == 1) else {
        let message = format!("{} is a sweep of {count} points; sweep runs them all", question.file);
        return Err(railtwin::Error::Argument(message).into());
    };
    ready(&question, &point.scenario).map_err(placed)
}

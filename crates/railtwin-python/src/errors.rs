//! Errors of the façade as the exception classes of `python/railtwin/errors.py`.
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use railtwin_scenario::ScenarioError;
use railtwin_store::{StoreError, printable};

/// Makes an exception of a class of `railtwin.errors`.
fn make<'py>(
    py: Python<'py>,
    class: &str,
    message: &str,
    fill: impl FnOnce(&Bound<'py, PyDict>) -> PyResult<()>,
) -> PyErr {
    // A traceback ends on a terminal.
    let message = printable(message);
    let made = || {
        let keywords = PyDict::new(py);
        fill(&keywords)?;
        py.import("railtwin.errors")?.getattr(class)?.call((&*message,), Some(&keywords))
    };
    made().map_or_else(|error| error, PyErr::from_value)
}

/// An error of the façade; `text` is the scenario's, for the lines that it quotes.
pub(crate) fn of(py: Python<'_>, error: &railtwin::Error, text: &str) -> PyErr {
    match error {
        railtwin::Error::Scenario(error) => scenario(py, error, text),
        railtwin::Error::Store(error) => folder(py, error),
        railtwin::Error::File { path, .. } => {
            let hint = "name a file that is there and readable";
            make(py, "FileError", &error.to_string(), |keywords| {
                keywords.set_item("path", path)?;
                keywords.set_item("hint", hint)
            })
        }
        railtwin::Error::Controller { .. } => controller(py, &error.to_string(), ""),
        other => argument(py, &other.to_string(), ""),
    }
}

fn scenario(py: Python<'_>, error: &ScenarioError, text: &str) -> PyErr {
    make(py, "ScenarioError", &error.to_string(), |keywords| {
        let problems = PyList::empty(py);
        let class = py.import("railtwin.errors")?.getattr("Problem")?;
        for problem in &error.problems {
            let quoted = text.lines().nth(problem.line.saturating_sub(1)).unwrap_or_default();
            let values = (problem.line, problem.column, &problem.message, &problem.hint, quoted);
            problems.append(class.call1(values)?)?;
        }
        keywords.set_item("path", &error.file)?;
        keywords.set_item("problems", problems)
    })
}

/// An error of a run folder.
pub(crate) fn folder(py: Python<'_>, error: &StoreError) -> PyErr {
    let message = error.to_string();
    // The store writes "path: what is wrong; what to do".
    let hint = message.split_once("; ").map(|(_, hint)| hint);
    let path = message.split_once(": ").map(|(path, _)| path);
    make(py, "FolderError", &message, |keywords| {
        keywords.set_item("path", path)?;
        keywords.set_item("hint", hint)
    })
}

/// A file that cannot be read or written.
pub(crate) fn file(py: Python<'_>, path: &std::path::Path, problem: &std::io::Error) -> PyErr {
    let error = railtwin::Error::File { path: path.display().to_string(), problem: problem.to_string() };
    of(py, &error, "")
}

/// An argument that does not fit.
pub(crate) fn argument(py: Python<'_>, message: &str, hint: &str) -> PyErr {
    make(py, "ArgumentError", message, |keywords| match hint {
        "" => Ok(()),
        hint => keywords.set_item("hint", hint),
    })
}

/// A controller that does what none can.
pub(crate) fn controller(py: Python<'_>, message: &str, hint: &str) -> PyErr {
    make(py, "ControllerError", message, |keywords| match hint {
        "" => Ok(()),
        hint => keywords.set_item("hint", hint),
    })
}

/// A package that is not installed.
pub(crate) fn missing(py: Python<'_>, package: &str) -> PyErr {
    let message = format!("{package} is not installed");
    make(py, "MissingPackageError", &message, |keywords| {
        keywords.set_item("hint", format!("pip install {package}"))
    })
}

/// A defect of railtwin itself.
pub(crate) fn internal(py: Python<'_>, message: &str) -> PyErr {
    make(py, "InternalError", message, |keywords| {
        keywords.set_item("hint", "this is a defect of railtwin: please report it with the scenario")
    })
}

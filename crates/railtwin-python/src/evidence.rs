//! Telemetry, logs and measured bandwidths: diagnose, check_bandwidth, calibrate.
use std::path::PathBuf;

use pyo3::prelude::*;
use railtwin_cli::CliError;
use railtwin_cli::asked::{self, DiagnoseRequest};
use railtwin_units::SimTime;
use serde_json::Value;

use crate::watch::watch;
use crate::{convert, errors};

/// Most GPUs of a host, as the command has it.
const MOST_GPUS: i64 = 1024;

/// Refuses paths that are not there, before anything is read.
pub(crate) fn check(py: Python<'_>, paths: &[PathBuf]) -> PyResult<()> {
    if paths.is_empty() {
        return Err(errors::argument(py, "no files are given", "name files of telemetry or folders of them"));
    }
    for path in paths {
        std::fs::metadata(path).map_err(|problem| errors::file(py, path, &problem))?;
    }
    Ok(())
}

pub(crate) fn told(py: Python<'_>, answer: Result<Value, CliError>) -> PyResult<Py<PyAny>> {
    let value = answer.map_err(|error| match &error {
        CliError::Scenario { error, text } => errors::of(py, &railtwin::Error::Scenario(error.clone()), text),
        CliError::Input { message, help } => {
            errors::argument(py, message, help.as_deref().unwrap_or_default())
        }
        other => errors::argument(py, &other.to_string(), ""),
    })?;
    convert::python_of(py, &value)
}

/// A diagnosis, as `railtwin diagnose --json` has it.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python calls it by position")]
pub(crate) fn diagnose(
    py: Python<'_>,
    files: Vec<PathBuf>,
    fabric: Option<PathBuf>,
    names: Option<PathBuf>,
    baseline: Option<PathBuf>,
    later: Vec<PathBuf>,
    hang_limit: Option<String>,
    job: String,
) -> PyResult<Py<PyAny>> {
    let time = |text: String| {
        let hint = "write a time such as 5 s";
        let refused = |_| errors::argument(py, &format!("hang_limit cannot be {text:?}"), hint);
        text.parse::<SimTime>().map_err(refused)
    };
    let hang_limit = hang_limit.map(time).transpose()?;
    check(py, &files)?;
    let others = fabric.iter().chain(&names).chain(&baseline).chain(&later).cloned().collect::<Vec<_>>();
    if !others.is_empty() {
        check(py, &others)?;
    }
    let request = DiagnoseRequest { files, fabric, names, baseline, later, hang_limit, job };
    told(py, watch(py, None, move |_| asked::diagnosis(&request))?)
}

/// Bandwidths against hardware and peers, as `railtwin check bandwidth --json` has them.
#[pyfunction]
pub(crate) fn check_bandwidth(
    py: Python<'_>,
    logs: Vec<PathBuf>,
    fabric: Option<String>,
) -> PyResult<Py<PyAny>> {
    check(py, &logs)?;
    told(py, watch(py, None, move |_| asked::bandwidth(&logs, fabric.as_deref()))?)
}

/// Costs of collectives fitted to logs, as `railtwin calibrate --json` has them, and the caps file.
#[pyfunction]
pub(crate) fn calibrate(
    py: Python<'_>,
    logs: Vec<PathBuf>,
    fabric: Option<String>,
    gpus: Option<i64>,
) -> PyResult<Py<PyAny>> {
    check(py, &logs)?;
    let whole = |count: i64| match u32::try_from(count) {
        Ok(whole @ 1..) if count <= MOST_GPUS => Ok(whole),
        _ => {
            let hint = format!("write a whole number from 1 to {MOST_GPUS}");
            Err(errors::argument(py, &format!("gpus cannot be {count}"), &hint))
        }
    };
    let gpus = gpus.map(whole).transpose()?;
    told(py, watch(py, None, move |_| asked::calibration(&logs, fabric.as_deref(), gpus))?)
}

//! Answers that need evidence and a simulation: explain, triage.
use std::path::PathBuf;

use pyo3::prelude::*;
use railtwin_cli::asked::{self, ExplainRequest, TriageRequest};

use crate::evidence::{check, told};
use crate::watch::watch;

/// A number of a setting, or why it is none.
fn whole(py: Python<'_>, (name, most): (&str, u32), value: Option<i64>) -> PyResult<Option<u32>> {
    let parse = |count: i64| match u32::try_from(count) {
        Ok(whole) if (1..=most).contains(&whole) => Ok(whole),
        _ => {
            let hint = format!("write a whole number from 1 to {most}");
            Err(crate::errors::argument(py, &format!("{name} cannot be {count}"), &hint))
        }
    };
    value.map(parse).transpose()
}

/// Causes of a measured figure, as `railtwin explain --json` has them.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python calls it by position")]
pub(crate) fn explain(
    py: Python<'_>,
    files: Vec<PathBuf>,
    scenario: Option<PathBuf>,
    busbw: Option<String>,
    step_time: Option<String>,
    hosts: Option<i64>,
    gpus: Option<i64>,
    host: Option<String>,
    collective: Option<String>,
    size: Option<String>,
    job: Option<String>,
    draws: i64,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let read: Vec<PathBuf> = files.iter().chain(&scenario).cloned().collect();
    if !read.is_empty() {
        check(py, &read)?;
    }
    let request = ExplainRequest {
        files,
        scenario,
        busbw,
        step_time,
        hosts: whole(py, ("hosts", 100_000), hosts)?,
        gpus: whole(py, ("gpus", 1024), gpus)?,
        host,
        collective,
        bytes: size,
        job,
        draws: whole(py, ("draws", 10_000), Some(draws))?.unwrap_or(1),
    };
    told(py, watch(py, progress.as_ref(), move |heard| asked::explanation(&request, &|| heard.advance(1)))?)
}

/// Culprits in the order in which to act, as `railtwin triage --json` has them.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python calls it by position")]
pub(crate) fn triage(
    py: Python<'_>,
    files: Vec<PathBuf>,
    scenario: Option<PathBuf>,
    fabric: Option<PathBuf>,
    jobs: Option<PathBuf>,
    names: Option<PathBuf>,
    baseline: Option<PathBuf>,
    later: Vec<PathBuf>,
    checkpoint_interval: String,
    draws: Option<i64>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    check(py, &files)?;
    let others = scenario.iter().chain(&fabric).chain(&jobs).chain(&names).chain(&baseline).chain(&later);
    let others: Vec<PathBuf> = others.cloned().collect();
    if !others.is_empty() {
        check(py, &others)?;
    }
    let draws = whole(py, ("draws", 100_000), draws)?;
    let request =
        TriageRequest { files, scenario, fabric, jobs, names, baseline, later, checkpoint_interval, draws };
    told(py, watch(py, progress.as_ref(), move |heard| asked::triage(&request, &|| heard.advance(1)))?)
}

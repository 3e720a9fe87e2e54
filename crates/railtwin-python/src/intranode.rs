//! Traffic inside hosts and between them.
use pyo3::prelude::*;
use railtwin::intranode::{answer, regressions, told};

use crate::scenario::{Asked, Placed};
use crate::watch::watch;
use crate::{convert, errors};

/// Threads of one point, as the command has them.
const MOST_THREADS: i64 = 256;

/// All points of a scenario with `[intranode]`, as `railtwin intranode --json` has them.
#[pyfunction]
pub(crate) fn intranode(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    threads: i64,
    regress: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let threads = match u32::try_from(threads) {
        Ok(count @ 1..) if threads <= MOST_THREADS => count,
        _ => {
            let hint = format!("write a whole number from 1 to {MOST_THREADS}");
            return Err(errors::argument(py, &format!("threads cannot be {threads}"), &hint));
        }
    };
    let asked = Asked::of(scenario)?;
    let found = watch(py, progress, move |progress| {
        let question = asked.question()?;
        let placed = |error| Placed { error, text: question.text.clone() };
        let points = question.points().map_err(placed)?;
        let asked = question.intranode_points(&points, threads).map_err(placed)?;
        progress.expect(asked.len() as u64);
        let all = told(&asked, threads == 1, &|| progress.advance(1));
        let found = regress.then(|| regressions(&asked, &all)).transpose()?;
        Ok::<_, Placed>(answer(&asked, &all, found.as_deref()))
    })?;
    convert::python_of(py, &found.map_err(|placed| placed.raise(py))?)
}

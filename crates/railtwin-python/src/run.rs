//! A run for Python: in memory after `run`, or in a folder after `open`.
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use railtwin_scenario::Scenario;
use railtwin_store::input::{self, Kind};
use railtwin_store::{RunFolder, RunInfo, one_line, printable, write_whole};

use crate::shown::{html, shown};
use crate::table::Table;
use crate::{convert, errors};

/// A number that sums up a run.
#[pyclass(frozen, get_all, module = "railtwin")]
pub struct Figure {
    /// Name, unique in the run.
    name: String,
    /// The value; None when there is none.
    value: Option<f64>,
    /// Unit of value, low and high.
    unit: String,
    /// What it means or how it was made; may be empty.
    note: String,
    /// Lowest over what the figure sums up, such as replicates.
    low: Option<f64>,
    /// Highest over what the figure sums up.
    high: Option<f64>,
    /// Why there is no value; empty where there is one.
    reason: String,
}

fn shown_figure(figure: &railtwin_store::Figure) -> String {
    shown(figure.value, &figure.unit, &figure.reason)
}

#[pymethods]
impl Figure {
    fn __repr__(&self) -> String {
        one_line(&format!("Figure({} = {})", self.name, shown(self.value, &self.unit, &self.reason)))
            .into_owned()
    }
}

/// Where a run's tables come from.
pub(crate) enum Source {
    /// A simulation of this process.
    Memory(Box<railtwin::Ran>),
    /// A folder that was written before.
    Folder(RunFolder),
}

/// One run: its figures, its tables, its report.
#[pyclass(frozen, module = "railtwin")]
pub struct Run {
    source: Source,
    info: RunInfo,
    /// What was chosen on each axis of a sweep.
    #[pyo3(get)]
    label: BTreeMap<String, String>,
    /// The run folder; None when the run is in memory alone.
    #[pyo3(get)]
    folder: Option<PathBuf>,
    /// Tables that were asked for, so that asking again gives the same memory.
    tables: Mutex<BTreeMap<String, Py<Table>>>,
}

impl Run {
    pub(crate) fn of_memory(
        run: railtwin::Ran,
        label: BTreeMap<String, String>,
        folder: Option<PathBuf>,
    ) -> Self {
        let info = run.info().clone();
        Self { source: Source::Memory(Box::new(run)), info, label, folder, tables: Mutex::default() }
    }

    pub(crate) fn of_folder(
        folder: RunFolder,
        label: BTreeMap<String, String>,
    ) -> Result<Self, railtwin::Error> {
        let (info, path) = (folder.info()?, folder.path().to_path_buf());
        Ok(Self { source: Source::Folder(folder), info, label, folder: Some(path), tables: Mutex::default() })
    }

    fn known(&self, name: &str, py: Python<'_>) -> Option<Py<Table>> {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.get(name).map(|table| table.clone_ref(py))
    }

    /// Keeps tables; those that another thread kept meanwhile stay.
    fn keep(&self, py: Python<'_>, made: Vec<railtwin_records::Table>) -> PyResult<()> {
        for table in made {
            let name = table.name.clone();
            let table = Table::of(table).map_err(|error| errors::internal(py, &error.to_string()))?;
            let table = Py::new(py, table)?;
            self.tables.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_insert(table);
        }
        Ok(())
    }

    /// All tables of a run in memory are made together.
    fn make_tables(&self, py: Python<'_>, run: &railtwin::Ran) -> PyResult<()> {
        if self.tables.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
            let made = py.detach(|| run.tables());
            self.keep(py, made)?;
        }
        Ok(())
    }

    /// Figures of the simulation; those of the fabric where nothing was simulated.
    fn key_figures(&self) -> impl Iterator<Item = &railtwin_store::Figure> {
        let ran = railtwin::figures::of_a_run(&self.info.figures);
        self.info.figures.iter().filter(move |figure| !ran || railtwin::figures::is_of_run(&figure.name))
    }

    fn scenario_text(&self, py: Python<'_>) -> PyResult<String> {
        match &self.source {
            Source::Memory(run) => Ok(run.scenario().to_toml()),
            Source::Folder(folder) => folder.scenario().map_err(|error| errors::folder(py, &error)),
        }
    }
}

#[pymethods]
impl Run {
    /// Name of the scenario.
    #[getter]
    fn name(&self) -> &str {
        &self.info.name
    }

    /// The figures by name, in the order to show them; None where there is no value.
    #[getter]
    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyDict>> {
        let figures = pyo3::types::PyDict::new(py);
        for figure in &self.info.figures {
            figures.set_item(&figure.name, figure.value)?;
        }
        Ok(figures)
    }

    /// Why figures have no value, by name: ``halted at 12.5 s``. Those that have one are not in it.
    #[getter]
    fn reasons(&self) -> BTreeMap<String, String> {
        let missing = self.info.figures.iter().filter(|figure| figure.value.is_none());
        missing.map(|figure| (figure.name.clone(), figure.reason.clone())).collect()
    }

    /// A figure with its unit, its note and its spread.
    ///
    /// >>> import railtwin as rt
    /// >>> run = rt.run({"schema": 1, "name": "two", "fabric": {"preset": "fat-tree", "k": 4},
    /// ...     "job": [{"gpus": 2, "collective": {"kind": "all-reduce", "bytes": "1 GB"}}]})
    /// >>> run.figure("busbw_mean").unit
    /// 'bits_per_s'
    fn figure(&self, py: Python<'_>, name: &str) -> PyResult<Figure> {
        let Some(figure) = self.info.figure(name).cloned() else {
            let message = format!("the run has no figure {name:?}");
            return Err(errors::argument(py, &message, "the keys of `figures` are their names"));
        };
        let railtwin_store::Figure { name, value, unit, note, low, high, reason } = figure;
        Ok(Figure { name, value, unit, note, low, high, reason })
    }

    /// Names of the tables, in alphabetical order.
    #[getter]
    fn tables(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        match &self.source {
            Source::Folder(folder) => folder.table_names().map_err(|error| errors::folder(py, &error)),
            Source::Memory(run) => {
                self.make_tables(py, run)?;
                Ok(self.tables.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect())
            }
        }
    }

    /// A table by name. Asking again gives the same memory.
    ///
    /// >>> import railtwin as rt
    /// >>> run = rt.run({"schema": 1, "name": "two", "fabric": {"preset": "fat-tree", "k": 4},
    /// ...     "job": [{"gpus": 2, "collective": {"kind": "all-reduce", "bytes": "1 GB"}}]})
    /// >>> run.table("steps").columns
    /// ['replicate', 'job', 'step', 'start_ps', 'duration_ps']
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Py<Table>> {
        if let Some(table) = self.known(name, py) {
            return Ok(table);
        }
        match &self.source {
            Source::Memory(run) => self.make_tables(py, run)?,
            Source::Folder(folder) => {
                let table = py.detach(|| folder.table(name)).map_err(|error| errors::folder(py, &error))?;
                self.keep(py, vec![table])?;
            }
        }
        self.known(name, py).map_or_else(
            || {
                let message = format!("the run has no table {name:?}");
                let hint = match self.tables(py)?.join(", ") {
                    names if names.is_empty() => "it has no tables: the scenario has no job".to_owned(),
                    names => format!("its tables are {names}"),
                };
                Err(errors::argument(py, &message, &hint))
            },
            Ok,
        )
    }

    /// Writes the run folder: tables, report and ``run.json``. Returns the folder.
    ///
    /// >>> import pathlib, tempfile
    /// >>> import railtwin as rt
    /// >>> run = rt.run({"schema": 1, "name": "two", "fabric": {"preset": "fat-tree", "k": 4},
    /// ...     "job": [{"gpus": 2, "collective": {"kind": "all-reduce", "bytes": "1 GB"}}]})
    /// >>> folder = run.write(pathlib.Path(tempfile.mkdtemp()) / "two")
    /// >>> rt.open(folder).figures == run.figures
    /// True
    fn write(&self, py: Python<'_>, folder: PathBuf) -> PyResult<PathBuf> {
        match &self.source {
            Source::Memory(run) => {
                py.detach(|| run.write(&folder)).map_err(|error| errors::of(py, &error, ""))?;
                Ok(folder)
            }
            Source::Folder(own) => {
                let message = format!("the run stands in {} already", own.path().display());
                Err(errors::argument(py, &message, "copy that folder"))
            }
        }
    }

    /// Writes the report, one HTML page that opens from disk. Returns its path.
    ///
    /// >>> import pathlib, tempfile
    /// >>> import railtwin as rt
    /// >>> run = rt.run({"schema": 1, "name": "two", "fabric": {"preset": "fat-tree", "k": 4},
    /// ...     "job": [{"gpus": 2, "collective": {"kind": "all-reduce", "bytes": "1 GB"}}]})
    /// >>> run.report(pathlib.Path(tempfile.mkdtemp()) / "two.html").stat().st_size > 1000
    /// True
    fn report(&self, py: Python<'_>, path: PathBuf) -> PyResult<PathBuf> {
        let page = match &self.source {
            Source::Memory(run) => py.detach(|| run.page()).map(String::into_bytes),
            Source::Folder(folder) => {
                let from = folder.path().join("report.html");
                from.exists()
                    .then(|| input::read(&from, Kind::Data).map_err(|error| errors::file(py, &from, &error)))
                    .transpose()?
            }
        };
        let Some(page) = page else {
            let message = format!("the run {:?} has no report", self.info.name);
            return Err(errors::argument(py, &message, "a report shows a simulation: add a job"));
        };
        write_whole(&path, &page).map_err(|error| errors::file(py, &path, &error))?;
        Ok(path)
    }

    /// What the reader of the results ought to know.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.info.warnings.clone()
    }

    /// What stands in ``run.json``: status, counters, facts and more.
    #[getter]
    fn info(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let info = serde_json::to_value(&self.info);
        convert::python_of(py, &info.map_err(|error| errors::internal(py, &error.to_string()))?)
    }

    /// The scenario as TOML text.
    #[getter]
    fn scenario(&self, py: Python<'_>) -> PyResult<String> {
        self.scenario_text(py)
    }

    /// Figures that are not what the scenario expects, each as a sentence.
    #[getter]
    fn unexpected(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let text = self.scenario_text(py)?;
        let scenario = Scenario::parse("scenario.toml", &text)
            .map_err(|error| errors::of(py, &railtwin::Error::Scenario(error), &text))?;
        let misses = railtwin::run::unexpected(&scenario.expect, &self.info.figures);
        Ok(misses.iter().map(ToString::to_string).collect())
    }

    fn __repr__(&self) -> String {
        let head = format!("Run({:?}, {} engine, {})", self.info.name, self.info.engine, self.info.run_id);
        let label = self.label.iter().map(|(axis, value)| format!("\n  {axis} = {value}"));
        let width = self.key_figures().map(|figure| figure.name.len()).max().unwrap_or(0);
        let figures =
            self.key_figures().map(|figure| format!("\n  {:<width$}  {}", figure.name, shown_figure(figure)));
        let warnings = self.info.warnings.iter().map(|warning| format!("\n  warning: {warning}"));
        let text: String = std::iter::once(head).chain(label).chain(figures).chain(warnings).collect();
        printable(&text).into_owned()
    }

    fn _repr_html_(&self) -> String {
        let label = self.label.iter().map(|(axis, value)| format!(" {axis}={value}")).collect::<String>();
        let row = |figure: &railtwin_store::Figure| {
            let (name, value) = (html(&figure.name), html(&shown_figure(figure)));
            let note = html(&figure.note);
            format!("<tr><th>{name}</th><td>{value}</td><td>{note}</td></tr>")
        };
        let rows: String = self.key_figures().map(row).collect();
        let warnings: String =
            self.info.warnings.iter().map(|warning| format!("<p>warning: {}</p>", html(warning))).collect();
        format!(
            "<table><caption>{}{} · {}</caption>{rows}</table>{warnings}",
            html(&self.info.name),
            html(&label),
            html(&self.info.engine)
        )
    }
}

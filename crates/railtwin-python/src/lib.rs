//! `railtwin._native`: the façade as a Python module.
//!
//! It converts and forwards; what a network does is decided in the crates below, and what a call looks like to
//! Python stands in `python/railtwin`.
//!
//! * [`scenario`]: a path, a text or a dictionary becomes a question.
//! * [`calls`]: run, sweep, open, design, cluster, schedule, schema.
//! * [`costs`]: what jobs cost each other.
//! * [`evidence`]: telemetry, logs and measured bandwidths.
//! * [`intranode`]: traffic inside hosts.
//! * [`controllers`]: controllers that are Python objects; [`sight`]: what they can ask.
//! * [`run`]: a run, its figures and its tables.
//! * [`table`]: tables by the Arrow C data interface, without copying.
//! * [`watch`]: long calls, off the interpreter, that hear Ctrl-C and tell how far they are.
//! * [`errors`]: errors of the façade as classes under `railtwin.Error`.
//! * [`command`]: the `railtwin` command on Python's streams.
#![allow(clippy::disallowed_methods, reason = "a door: files are touched here")]

mod answers;
mod calls;
mod command;
mod controllers;
mod convert;
mod costs;
mod errors;
mod evidence;
mod intranode;
mod run;
mod scenario;
mod shown;
mod sight;
mod table;
mod watch;

/// The module.
#[pyo3::pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use crate::answers::{explain, triage};
    #[pymodule_export]
    use crate::calls::{cluster, design, missing_points, open_folder, run_one, run_sweep, schedule, schema};
    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::costs::{impact, interference, what_if};
    #[pymodule_export]
    use crate::evidence::{calibrate, check_bandwidth, diagnose};
    #[pymodule_export]
    use crate::intranode::intranode;
    #[pymodule_export]
    use crate::run::{Figure, Run};
    #[pymodule_export]
    use crate::sight::Fabric;
    #[pymodule_export]
    use crate::table::Table;

    /// Takes the limit of what is read from the environment, as the command does.
    #[pymodule_init]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use railtwin_store::input;
        let limit = input::limit_of_environment().map_err(pyo3::exceptions::PyValueError::new_err)?;
        input::set_limit(limit);
        Ok(())
    }

    /// Version of the module.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name that Python expects")]
    const __version__: &str = railtwin::VERSION;
}

//! A request for a diagnosis, of the command and of other callers.
use std::path::PathBuf;

use railtwin_units::SimTime;

/// A request for a diagnosis: the files and settings of `railtwin diagnose`.
#[derive(Clone, Debug)]
pub struct DiagnoseRequest {
    /// Files of telemetry, folders and archives of them, or one run folder.
    pub files: Vec<PathBuf>,
    /// A scenario whose fabric the hosts are in.
    pub fabric: Option<PathBuf>,
    /// A file with the names of hosts, NICs and GPUs in the fabric.
    pub names: Option<PathBuf>,
    /// A run folder, or a folder of files, in which all was well.
    pub baseline: Option<PathBuf>,
    /// Dumps or states of the same job that were made later.
    pub later: Vec<PathBuf>,
    /// A job that stands still for so long hangs; none: 30 s, or as the scenario's thresholds have it.
    pub hang_limit: Option<SimTime>,
    /// The name of the job where files do not tell it.
    pub job: String,
}

//! The cluster that telemetry is of, as far as a scenario describes it.
use std::path::PathBuf;
use std::sync::Arc;

use railtwin_diagnosis::Settings;
use railtwin_diagnosis::wiring::Plan;
use railtwin_fabric::{Fabric, HostId};

/// A fabric with the places of a job, the planned wiring and the thresholds of detectors.
#[derive(Debug)]
pub struct Site {
    /// Name for messages: the file of the scenario.
    pub file: String,
    /// The fabric.
    pub fabric: Arc<Fabric>,
    /// Host and GPU of each rank of the first job; empty without a job.
    pub places: Vec<(HostId, u32)>,
    /// Cables as they were planned; none where no neighbors are to be held against them.
    pub plan: Option<Plan>,
    /// Thresholds of the detectors.
    pub thresholds: Settings,
}

/// The scenario that lies in a run folder, as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioText {
    /// Name for messages.
    pub file: String,
    /// TOML.
    pub text: String,
    /// The run folder, against which its paths are resolved.
    pub folder: PathBuf,
}

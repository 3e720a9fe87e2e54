//! The answers of `diagnose`, `check bandwidth`, `calibrate`, `explain` and `triage` as JSON, for callers other than the command.
use std::path::PathBuf;

use serde_json::Value;

pub use crate::diagnose_request::DiagnoseRequest;
pub use crate::explain_request::ExplainRequest;
pub use crate::triage_request::TriageRequest;
use crate::{CliError, calibrate, check_bandwidth, check_bandwidth_json, diagnose};

/// Diagnoses; the value is that of `railtwin diagnose --json`.
///
/// # Errors
/// [`CliError::Input`] and [`CliError::Scenario`] for files that cannot be read or hold no telemetry.
pub fn diagnosis(request: &DiagnoseRequest) -> Result<Value, CliError> {
    diagnose::told_of(request).map(|told| diagnose::data(&told))
}

/// Checks bandwidths of nccl-tests; the value is that of `railtwin check bandwidth --json`.
///
/// # Errors
/// [`CliError::Input`] for logs without tests and for an unknown fabric.
pub fn bandwidth(logs: &[PathBuf], fabric: Option<&str>) -> Result<Value, CliError> {
    let host = check_bandwidth::host_of(fabric)?;
    check_bandwidth::answer_of(logs, fabric, host).map(|answer| check_bandwidth_json::data(&answer))
}

/// Fits costs of collectives to logs; the value is that of `railtwin calibrate --json`, with the text of the caps file as
/// `caps`. `gpus` are those of a host, for step logs that name no hosts.
///
/// # Errors
/// [`CliError::Input`] for logs without measurements and for an unknown fabric.
pub fn calibration(logs: &[PathBuf], fabric: Option<&str>, gpus: Option<u32>) -> Result<Value, CliError> {
    let host = check_bandwidth::host_of(fabric)?;
    let (found, _) = calibrate::calibration_of(logs, host.as_ref(), gpus, None)?;
    let mut value = calibrate::data(&found);
    value["caps"] = Value::from(calibrate::file(&found));
    Ok(value)
}

/// Explains a measured figure; the value is that of `railtwin explain --json`. `progress` hears of each run of the engine.
///
/// # Errors
/// [`CliError::Input`] and [`CliError::Scenario`] for files that cannot be read, for an unknown job, and where nothing says
/// what was measured.
pub fn explanation(request: &ExplainRequest, progress: &(dyn Fn() + Sync)) -> Result<Value, CliError> {
    request
        .posed()?
        .explained(request.draws, progress)
        .map(|found| railtwin_answers::explain::json_of(&found))
}

/// Orders culprits; the value is that of `railtwin triage --json`. `progress` hears of each draw.
///
/// # Errors
/// As of [`diagnosis`], and those of the scenario.
pub fn triage(request: &TriageRequest, progress: &(dyn Fn() + Sync)) -> Result<Value, CliError> {
    let posed = request.posed()?;
    let found = posed.ordered(progress)?;
    Ok(railtwin_answers::triage::json_of(&found, posed.fabric()))
}

//! The answers of `diagnose`, `check bandwidth` and `calibrate` as JSON, for callers other than the command.
use std::path::PathBuf;

use serde_json::Value;

pub use crate::diagnose_request::DiagnoseRequest;
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
    let (found, _) = calibrate::calibration_of(logs, host.as_ref(), gpus)?;
    let mut value = calibrate::data(&found);
    value["caps"] = Value::from(calibrate::file(&found));
    Ok(value)
}

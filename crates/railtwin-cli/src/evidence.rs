//! Evidence that commands read, and the errors of files that hold none.
use std::path::PathBuf;

use railtwin::diagnose::Inputs;
use railtwin_formats::telemetry::detect_format;
use railtwin_store::input;

use crate::errors::CliError;
use crate::import::title_of;
use crate::other_command::{hint, scenario_hint};
use crate::topology_files::files_of;

/// Files of a folder that are looked at.
const LOOKED_AT: usize = 8;

/// Reads the evidence of a job. If no file holds any, the error names the command that reads these files.
pub(crate) fn evidence(paths: &[PathBuf], job: &str) -> Result<Inputs, CliError> {
    Inputs::read(paths, job).map_err(|error| match (refused(error.into(), ""), hint_beside_evidence(paths)) {
        (CliError::Input { message, .. }, Some(help)) => CliError::input(message, help),
        (error, _) => error,
    })
}

/// The hint for the first path; none if a file of it holds evidence, or if no command reads it.
fn hint_beside_evidence(paths: &[PathBuf]) -> Option<String> {
    let path = paths.first()?;
    let files = if path.is_dir() { files_of(path).ok()? } else { vec![path.clone()] };
    let mut known = None;
    for file in files.iter().take(LOOKED_AT) {
        let Ok(bytes) = input::read_unpacked(file) else { continue };
        if detect_format(&bytes).is_some() {
            return None;
        }
        let of_scenario = scenario_hint(&bytes);
        let imported = title_of((file.clone(), bytes)).map(|title| hint(title, "import"));
        known = known.or(imported).or(of_scenario);
    }
    known
}

/// Errors of inputs say the remedy in their last words.
pub(crate) fn refused(error: railtwin::Error, scenario: &str) -> CliError {
    match error {
        railtwin::Error::Argument(text) => match text.rsplit_once("; ") {
            Some((message, help)) => CliError::input(message, help),
            None => CliError::Input { message: text, help: None },
        },
        railtwin::Error::File { path, problem } => {
            CliError::input(format!("cannot read {path}: {problem}"), "name a file of telemetry or a folder")
        }
        railtwin::Error::Format(error) => {
            let text = error.to_string();
            match text.rsplit_once("; ") {
                Some((message, help)) => CliError::input(message, help),
                None => CliError::Input { message: text, help: None },
            }
        }
        railtwin::Error::Store(error) => CliError::unreadable(&error),
        other => CliError::of(other, scenario),
    }
}

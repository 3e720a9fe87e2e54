//! Evidence that commands read. Who gives a file that another command reads is told which.
use std::path::PathBuf;

use railtwin::diagnose::Inputs;
use railtwin_formats::telemetry::detect_format;
use railtwin_store::input;

use crate::errors::CliError;
use crate::import::title_of;
use crate::other_command::{pointer, scenario};
use crate::topology_files::files_of;

/// Files of a folder that are looked at.
const LOOKED_AT: usize = 8;

/// Reads evidence of a job. Where there is none, the error names the command that reads what there is.
pub(crate) fn evidence(paths: &[PathBuf], job: &str) -> Result<Inputs, CliError> {
    Inputs::read(paths, job).map_err(|error| match (refused(error.into(), ""), beside_evidence(paths)) {
        (CliError::Input { message, .. }, Some(help)) => CliError::input(message, help),
        (error, _) => error,
    })
}

/// What the first path is, if no file of it is evidence, and the command that reads it.
fn beside_evidence(paths: &[PathBuf]) -> Option<String> {
    let path = paths.first()?;
    let files = if path.is_dir() { files_of(path).ok()? } else { vec![path.clone()] };
    let mut known = None;
    for file in files.iter().take(LOOKED_AT) {
        let Ok(bytes) = input::read_unpacked(file) else { continue };
        if detect_format(&bytes).is_some() {
            return None;
        }
        let imported = || title_of(file, &bytes).map(|title| pointer(title, "import"));
        known = known.or_else(imported).or_else(|| scenario(&bytes));
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

//! `railtwin run --live-records`: the records that ranks of the simulated job would write, a file a rank.
use std::fs;
use std::path::Path;

use railtwin::{Error, Question};
use railtwin_replay::{LiveReplay, ReplaySettings, replay};

use crate::CliError;

/// The job of a question as live records.
///
/// # Errors
/// An input error where the scenario has several points, or a job that live records have no words for.
pub(crate) fn replayed(question: &Question) -> Result<LiveReplay, CliError> {
    let wrong = |error| CliError::of(error, &question.text);
    let mut points = question.points().map_err(wrong)?;
    if points.len() != 1 {
        let message = format!("--live-records takes one point; this scenario has {}", points.len());
        return Err(CliError::input(message, "write one value for each key"));
    }
    let resolved = question.resolve(&points.remove(0).scenario).map_err(wrong)?;
    replay(&resolved, &ReplaySettings::default()).map_err(wrong)
}

/// Refuses a folder that holds anything: records of another job in it would be read as of this one.
///
/// # Errors
/// An input error that names the folder.
pub(crate) fn refuse_filled(folder: &Path) -> Result<(), CliError> {
    let is_filled = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if !is_filled {
        return Ok(());
    }
    let message = format!("--live-records {}: the folder is not empty", folder.display());
    Err(CliError::input(message, "name a new folder, or empty this one"))
}

/// Writes the files of all ranks.
///
/// # Errors
/// [`Error::File`] for a file that cannot be written.
pub(crate) fn write(job: &LiveReplay, folder: &Path) -> Result<(), CliError> {
    let failed = |path: &Path, error: std::io::Error| {
        CliError::of(Error::File { path: path.display().to_string(), problem: error.to_string() }, "")
    };
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for rank in 0..job.ranks() {
        let path = folder.join(format!("r{rank}.jsonl"));
        fs::write(&path, job.lines(rank)).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

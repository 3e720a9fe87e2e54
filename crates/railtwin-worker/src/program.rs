//! How this program is started again for each process of a job.
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// How this program is started again for a rank: its file, the words before, and the job file.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file of the program.
    pub file: PathBuf,
    /// Words that stand before the job file, the name of a subcommand for one.
    pub words: Vec<OsString>,
    /// The job file.
    pub job: PathBuf,
}

impl Program {
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.file);
        command.args(&self.words).arg(&self.job);
        command
    }
}

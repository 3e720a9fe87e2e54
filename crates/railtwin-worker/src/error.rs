//! Errors of a job.

/// Why a job did not run.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The job file or the call is wrong.
    #[error("{message}")]
    Input {
        /// The problem, with file and line.
        message: String,
        /// Accepted values.
        accepted: String,
    },
    /// A rank did not come up, broke off, or did not end in order.
    #[error("{0}")]
    Failed(String),
}

impl WorkerError {
    pub(crate) fn input(message: impl Into<String>, accepted: impl Into<String>) -> Self {
        Self::Input { message: message.into(), accepted: accepted.into() }
    }
}

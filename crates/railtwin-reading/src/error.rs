//! Errors between files and an answer.
use railtwin_formats::FormatError;
use railtwin_store::StoreError;

/// An error of reading or placing evidence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A run folder could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file could not be read.
    #[error("{path}: {problem}")]
    File {
        /// The file.
        path: String,
        /// The system's message.
        problem: String,
    },
    /// Telemetry of a real cluster that cannot be read.
    #[error(transparent)]
    Format(Box<FormatError>),
    /// An argument that does not fit the rest.
    #[error("{0}")]
    Argument(String),
}

impl From<FormatError> for Error {
    fn from(error: FormatError) -> Self {
        Self::Format(Box::new(error))
    }
}

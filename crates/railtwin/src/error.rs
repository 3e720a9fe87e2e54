//! What can go wrong between a scenario's text and its run folder.
use railtwin_engine::own::Halt;
use railtwin_scenario::ScenarioError;
use railtwin_store::StoreError;

/// An error of the façade.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The scenario's text, or what it names, is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A run folder could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file could not be read or written.
    #[error("{path}: {problem}")]
    File {
        /// The file.
        path: String,
        /// What the system says.
        problem: String,
    },
    /// A page whose data cannot be read.
    #[error("not a report of railtwin: {0}")]
    Report(String),
    /// A run whose telemetry cannot be told.
    #[error(transparent)]
    Telemetry(#[from] railtwin_telemetry::TelemetryError),
    /// Telemetry of a real cluster that cannot be read.
    #[error(transparent)]
    Format(Box<railtwin_formats::FormatError>),
    /// A run that would not fit into memory.
    #[error("{message}; {remedy}")]
    TooLarge {
        /// What it would take, and what there is.
        message: String,
        /// What would be smaller.
        remedy: String,
    },
    /// A controller of one's own that cannot go on.
    #[error("{}: {}", of_replicate(.halt, *.replicate), .halt.why)]
    Controller {
        /// Which, and why.
        halt: Halt,
        /// The replicate in which it was; none where paths were asked for outside one.
        replicate: Option<u32>,
    },
    /// An argument that does not fit the rest.
    #[error("{0}")]
    Argument(String),
}

fn of_replicate(halt: &Halt, replicate: Option<u32>) -> String {
    let name = &halt.controller;
    replicate.map_or_else(
        || format!("controller {name}"),
        |replicate| format!("controller {name}, replicate {replicate}"),
    )
}

impl From<railtwin_reading::Error> for Error {
    fn from(error: railtwin_reading::Error) -> Self {
        use railtwin_reading::Error as Reading;
        match error {
            Reading::Store(error) => Self::Store(error),
            Reading::File { path, problem } => Self::File { path, problem },
            Reading::Format(error) => Self::Format(error),
            other => Self::Argument(other.to_string()),
        }
    }
}

impl From<railtwin_formats::FormatError> for Error {
    fn from(error: railtwin_formats::FormatError) -> Self {
        Self::Format(Box::new(error))
    }
}

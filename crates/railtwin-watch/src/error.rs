//! Errors of a watch.
use std::path::{Path, PathBuf};

/// Why a watch cannot begin or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The folder to watch is none.
    #[error("{}: {problem}; name a folder that is there", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// Something in the folder of the state cannot be read or written.
    #[error("cannot {verb} {}: {problem}; name another folder by --state, or mend this one", .path.display())]
    State {
        /// The attempted action.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        problem: String,
    },
    /// Another watch writes there.
    #[error("{}: another watch keeps its state there; end it, or name another folder by --state", .0.display())]
    Busy(PathBuf),
    /// The state is that of another folder.
    #[error("{}: is the state of a watch of {}; name another folder by --state", .state.display(), .other.display())]
    Other {
        /// Folder of the state.
        state: PathBuf,
        /// The folder that it is of.
        other: PathBuf,
    },
    /// The address for metrics cannot be listened at.
    #[error("--metrics {address}: {problem}; give HOST:PORT of a free port")]
    Metrics {
        /// The address.
        address: String,
        /// The error of the system.
        problem: String,
    },
    /// The scenario of the fabric, or the file of names, cannot be read.
    #[error(transparent)]
    Site(#[from] railtwin::Error),
}

impl WatchError {
    pub(crate) fn state(verb: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |error| Self::State { verb, path, problem: error.to_string() }
    }
}

//! Evidence from snapshots of NCCL RAS.
use serde::Serialize;

use super::{cut_list, seen};

/// The code of `ncclResult_t` for a failure of another process or of the network.
const REMOTE_ERROR: u32 = 6;

/// The state of ranks in a snapshot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RasState {
    /// RAS holds them for dead.
    Dead,
    /// They do not answer.
    Silent,
    /// They report an error without its code.
    AsyncError,
    /// They report an error.
    Error {
        /// Code of `ncclResult_t` (NCCL user guide, Types).
        code: u32,
    },
    /// They have aborted a communicator.
    Aborted,
    /// Their communicator is still being initialised.
    NotInitialised,
    /// They have no such communicator.
    Absent,
    /// They have called more than most.
    Ahead,
    /// They have launched less than most.
    Behind {
        /// Operations by which the last is behind.
        by: u64,
    },
}

impl RasState {
    /// Words for the error of a code of `ncclResult_t`.
    fn error(code: u32) -> String {
        let meaning = match code {
            1 => "a call to CUDA failed",
            2 => "a call to the system failed",
            3 => "internal error",
            4 => "invalid argument",
            5 => "invalid usage",
            REMOTE_ERROR => "another process ended or the network failed",
            _ => "unknown",
        };
        format!("error {code} of NCCL ({meaning})")
    }

    /// The state of one rank in a first line, such as `does not answer RAS`; none where others wait for it.
    pub fn of_one(self) -> Option<String> {
        Some(match self {
            Self::Silent => "does not answer RAS".to_owned(),
            Self::AsyncError => "reports an asynchronous error".to_owned(),
            Self::Error { code } => format!("reports {}", Self::error(code)),
            Self::Aborted => "has aborted a communicator".to_owned(),
            Self::Ahead => "has called more than most of their communicator".to_owned(),
            Self::NotInitialised => {
                "has not ended the initialisation of a communicator that others have".to_owned()
            }
            Self::Absent => "has no communicator that others have".to_owned(),
            Self::Dead | Self::Behind { .. } => return None,
        })
    }

    fn words(self) -> String {
        match self {
            Self::Dead => "ranks that RAS holds for dead".to_owned(),
            Self::Silent => "ranks that do not answer RAS".to_owned(),
            Self::AsyncError => "ranks that report an asynchronous error".to_owned(),
            Self::Error { code } => format!("ranks that report {}", Self::error(code)),
            Self::Aborted => "ranks that have aborted a communicator".to_owned(),
            Self::NotInitialised => {
                "ranks that have not ended the initialisation of a communicator that others have".to_owned()
            }
            Self::Absent => "ranks that have no communicator that others have".to_owned(),
            Self::Ahead => "ranks that have called more than most of their communicator".to_owned(),
            Self::Behind { by } => {
                format!(
                    "ranks that have launched fewer operations than most of their communicator, by up to {by}"
                )
            }
        }
    }
}

seen! {
    /// Snapshots of NCCL RAS.
    RasSeen in "ras":
    RasRanks { state: RasState, ranks: Vec<String> } ["ranks"] format!("{}: {}", state.words(), cut_list(ranks));
}

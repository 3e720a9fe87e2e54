//! `workload = { traffic = … }`: plain transfers by a pattern, without a file.
use railtwin_units::Bytes;
use railtwin_workload::Traffic;
use serde::{Deserialize, Serialize};

/// Who sends to whom; every transfer has the same bytes and starts with the job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "traffic", rename_all = "kebab-case")]
pub enum TrafficSpec {
    /// Every rank to one other and from one other.
    Permutation {
        /// Bytes of a transfer.
        bytes: Bytes,
        /// Seed of the draw; none = the scenario's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seed: Option<u64>,
    },
    /// Every rank to the one that comes so many ranks later.
    Shift {
        /// Bytes of a transfer.
        bytes: Bytes,
        /// By how many ranks.
        #[serde(default = "one")]
        shift: u32,
    },
    /// Several ranks to one.
    Incast {
        /// Bytes of a transfer.
        bytes: Bytes,
        /// How many of the other ranks, from the first on; none = all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sources: Option<u32>,
        /// The rank that receives.
        #[serde(default)]
        target: u32,
    },
    /// Every rank to every other.
    AllToAll {
        /// Bytes of a transfer.
        bytes: Bytes,
    },
}

fn one() -> u32 {
    1
}

impl TrafficSpec {
    /// Names of the patterns.
    pub const NAMES: [&'static str; 4] = ["permutation", "shift", "incast", "all-to-all"];

    /// Bytes of a transfer.
    pub fn bytes(&self) -> Bytes {
        match *self {
            Self::Permutation { bytes, .. }
            | Self::Shift { bytes, .. }
            | Self::Incast { bytes, .. }
            | Self::AllToAll { bytes } => bytes,
        }
    }

    /// Sets the bytes of a transfer.
    pub fn set_bytes(&mut self, size: Bytes) {
        match self {
            Self::Permutation { bytes, .. }
            | Self::Shift { bytes, .. }
            | Self::Incast { bytes, .. }
            | Self::AllToAll { bytes } => *bytes = size,
        }
    }

    /// The pattern over `ranks`; `seed` is the scenario's.
    pub(crate) fn pattern(&self, ranks: u32, seed: u64) -> Traffic {
        match *self {
            Self::Permutation { seed: own, .. } => Traffic::Permutation { seed: own.unwrap_or(seed) },
            Self::Shift { shift, .. } => Traffic::Shift { by: shift },
            Self::Incast { sources, target, .. } => {
                Traffic::Incast { sources: sources.unwrap_or(ranks.saturating_sub(1)), target }
            }
            Self::AllToAll { .. } => Traffic::AllToAll,
        }
    }
}

//! `workload = { traffic = … }`: plain transfers by a pattern, without a file.
use railtwin_units::Bytes;
use railtwin_units::keys::whole;
use railtwin_workload::Traffic;

use super::MOST_GPUS;

railtwin_units::section! {
    /// Transfers of which there is nothing more to say.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Transfers "`workload`" {
        /// Bytes of each transfer.
        pub bytes: Bytes,
    }
}

railtwin_units::section! {
    /// Every rank to one other and from one other.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Permutation "`workload`" {
        /// Bytes of each transfer.
        pub bytes: Bytes,
        /// Seed of the draw; default the scenario's.
        pub seed: Option<u64> = None,
    }
}

railtwin_units::section! {
    /// Every rank to the one that comes so many ranks later.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Shift "`workload`" {
        /// Bytes of each transfer.
        pub bytes: Bytes,
        /// By how many ranks each sends.
        pub shift: u32 [whole(1..=MOST_GPUS)] = 1,
    }
}

railtwin_units::section! {
    /// Several ranks to one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Incast "`workload`" {
        /// Bytes of each transfer.
        pub bytes: Bytes,
        /// How many of the other ranks send, from the first on; default all.
        pub sources: Option<u32> [whole(1..=MOST_GPUS)] = None,
        /// The rank that receives.
        pub target: u32 [whole(0..=MOST_GPUS)] = 0,
    }
}

railtwin_units::variants! {
    /// Who sends to whom; every transfer has the same bytes and starts with the job.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TrafficSpec "`workload`" by "traffic", "Plain transfers by a pattern." {
        /// Every rank to one other and from one other.
        Permutation(Permutation) = "permutation",
        /// Every rank to the one that comes so many ranks later.
        Shift(Shift) = "shift",
        /// Several ranks to one.
        Incast(Incast) = "incast",
        /// Every rank to every other.
        AllToAll(Transfers) = "all-to-all",
    }
}

impl TrafficSpec {
    /// Bytes of a transfer.
    pub fn bytes(&self) -> Bytes {
        match self {
            Self::Permutation(Permutation { bytes, .. })
            | Self::Shift(Shift { bytes, .. })
            | Self::Incast(Incast { bytes, .. })
            | Self::AllToAll(Transfers { bytes }) => *bytes,
        }
    }

    /// Sets the bytes of a transfer.
    pub fn set_bytes(&mut self, size: Bytes) {
        match self {
            Self::Permutation(Permutation { bytes, .. })
            | Self::Shift(Shift { bytes, .. })
            | Self::Incast(Incast { bytes, .. })
            | Self::AllToAll(Transfers { bytes }) => *bytes = size,
        }
    }

    /// The pattern over `ranks`; `seed` is the scenario's.
    pub(crate) fn pattern(&self, ranks: u32, seed: u64) -> Traffic {
        match self {
            Self::Permutation(own) => Traffic::Permutation { seed: own.seed.unwrap_or(seed) },
            Self::Shift(own) => Traffic::Shift { by: own.shift },
            Self::Incast(own) => Traffic::Incast {
                sources: own.sources.unwrap_or(ranks.saturating_sub(1)),
                target: own.target,
            },
            Self::AllToAll(_) => Traffic::AllToAll,
        }
    }
}

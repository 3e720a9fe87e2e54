//! Kinds of collectives, algorithms that carry them out, and bandwidths as nccl-tests defines them.
use crate::error::WorkloadError;

/// What an operation over a communicator achieves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Collective {
    /// Every rank ends with the sum of all buffers; bytes = one buffer.
    AllReduce,
    /// Every rank ends with all parts; bytes = the whole result.
    AllGather,
    /// Every rank ends with its part of the sum; bytes = the whole input.
    ReduceScatter,
    /// Every rank sends a part to every rank; bytes = all that one rank holds.
    AllToAll,
    /// One rank's buffer reaches all; bytes = the buffer.
    Broadcast,
    /// Pairs of ranks: the first of each pair sends to the second; bytes = one message.
    SendReceive,
}

impl Collective {
    /// All kinds.
    pub const ALL: [Collective; 6] = [
        Self::AllReduce,
        Self::AllGather,
        Self::ReduceScatter,
        Self::AllToAll,
        Self::Broadcast,
        Self::SendReceive,
    ];

    /// The name in scenarios and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllToAll => "all-to-all",
            Self::Broadcast => "broadcast",
            Self::SendReceive => "send-receive",
        }
    }

    /// The kind called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// How a collective is carried out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Algorithm {
    /// Rings through all ranks, one channel for each NIC of a host.
    Ring,
    /// Reduction in the NVSwitch, then a ring among hosts on each rail.
    Nvls,
    /// Reduction in the NVSwitch, then double binary trees among hosts on each rail.
    NvlsTree,
    /// Every rank to every other at once.
    Direct,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Algorithm; 4] = [Self::Ring, Self::Nvls, Self::NvlsTree, Self::Direct];

    /// The name in scenarios and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Nvls => "nvls",
            Self::NvlsTree => "nvls-tree",
            Self::Direct => "direct",
        }
    }

    /// The algorithm called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// What a collective uses unless told otherwise: rings, and direct for all-to-all and send/receive.
    pub fn default_for(collective: Collective) -> Self {
        match collective {
            Collective::AllToAll | Collective::SendReceive => Self::Direct,
            _ => Self::Ring,
        }
    }

    /// Checks that the algorithm can carry out the collective.
    ///
    /// # Errors
    /// [`WorkloadError`] with the collectives that it can carry out.
    pub fn check(self, collective: Collective) -> Result<(), WorkloadError> {
        let able = match self {
            Self::Ring => !matches!(collective, Collective::AllToAll | Collective::SendReceive),
            Self::Nvls | Self::NvlsTree => collective == Collective::AllReduce,
            Self::Direct => collective != Collective::Broadcast,
        };
        let accepted = match self {
            Self::Ring => "a ring carries out all-reduce, all-gather, reduce-scatter and broadcast",
            Self::Nvls | Self::NvlsTree => "nvls and nvls-tree carry out all-reduce",
            Self::Direct => "direct carries out all but broadcast",
        };
        if able { Ok(()) } else { Err(WorkloadError::new("algorithm", self.name(), accepted)) }
    }
}

/// Bus bandwidth over algorithm bandwidth for `ranks`, as nccl-tests defines it (its PERFORMANCE page):
/// what each rank must send at least, over the bytes of the operation.
pub fn bus_factor(collective: Collective, ranks: u32) -> f64 {
    let n = f64::from(ranks.max(1));
    match collective {
        Collective::AllReduce => 2.0 * (n - 1.0) / n,
        Collective::AllGather | Collective::ReduceScatter | Collective::AllToAll => (n - 1.0) / n,
        Collective::Broadcast | Collective::SendReceive => 1.0,
    }
}

/// Bus bandwidth in bytes per second of an operation of `bytes` over `ranks` that took `seconds`.
pub fn busbw(collective: Collective, ranks: u32, bytes: u64, seconds: f64) -> f64 {
    bytes as f64 / seconds * bus_factor(collective, ranks)
}

//! Kinds of collectives, algorithms that carry them out, and bandwidths as nccl-tests defines them.
use crate::error::WorkloadError;

railtwin_units::choice! {
    /// What an operation over a communicator achieves.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum Collective {
        /// Every rank ends with the sum of all buffers; bytes = one buffer.
        AllReduce = "all-reduce",
        /// Every rank ends with all parts; bytes = the whole result.
        AllGather = "all-gather",
        /// Every rank ends with its part of the sum; bytes = the whole input.
        ReduceScatter = "reduce-scatter",
        /// Every rank sends a part to every rank; bytes = all that one rank holds.
        AllToAll = "all-to-all",
        /// One rank's buffer reaches all; bytes = the buffer.
        Broadcast = "broadcast",
        /// Pairs of ranks: the first of each pair sends to the second; bytes = one message.
        SendReceive = "send-receive",
        /// Every rank sends tokens to the ranks of their experts; bytes = all that one rank has for experts, a token once
        /// for each of its own.
        ExpertDispatch = "expert-dispatch",
        /// Every rank receives the results of its tokens from their experts; bytes as they leave experts.
        ExpertCombine = "expert-combine",
    }
}

railtwin_units::choice! {
    /// How a collective is carried out.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum Algorithm {
        /// Rings through all ranks, one channel for each NIC of a host.
        Ring = "ring",
        /// Double binary trees among hosts, a chain inside each, one channel for each NIC of a host.
        Tree = "tree",
        /// Reduction in the NVSwitch of one host. Over several hosts NCCL has it with CollNet only.
        Nvls = "nvls",
        /// Reduction in the NVSwitch, then a ring among hosts on each rail: hierarchical, not one of NCCL's.
        NvlsRing = "nvls-ring",
        /// Reduction in the NVSwitch, then double binary trees among hosts on each rail.
        NvlsTree = "nvls-tree",
        /// Parallel aggregated trees: steps over distances of 1, 2, 4 … ranks, one rank on each host.
        Pat = "pat",
        /// Every rank to every other at once.
        Direct = "direct",
        /// Tokens once to each host over the sender's rail, and over NVLink on to the ranks of their experts.
        Forward = "forward",
    }
}

impl Collective {
    /// Whether it exchanges tokens with experts.
    pub const fn is_of_experts(self) -> bool {
        matches!(self, Self::ExpertDispatch | Self::ExpertCombine)
    }
}

impl Algorithm {
    /// What a collective uses where nobody chooses: rings, and direct for all-to-all and send/receive.
    pub fn default_for(collective: Collective) -> Self {
        match collective {
            Collective::AllToAll
            | Collective::SendReceive
            | Collective::ExpertDispatch
            | Collective::ExpertCombine => Self::Direct,
            _ => Self::Ring,
        }
    }

    /// Checks that the algorithm can carry out the collective.
    ///
    /// # Errors
    /// [`WorkloadError`] with the collectives that it can carry out.
    pub fn check(self, collective: Collective) -> Result<(), WorkloadError> {
        let able = match self {
            Self::Ring => {
                !matches!(collective, Collective::AllToAll | Collective::SendReceive)
                    && !collective.is_of_experts()
            }
            Self::Tree | Self::Nvls | Self::NvlsRing | Self::NvlsTree => collective == Collective::AllReduce,
            Self::Pat => matches!(collective, Collective::AllGather | Collective::ReduceScatter),
            Self::Direct => collective != Collective::Broadcast,
            Self::Forward => collective.is_of_experts(),
        };
        let accepted = match self {
            Self::Ring => "a ring carries out all-reduce, all-gather, reduce-scatter and broadcast",
            Self::Tree | Self::Nvls | Self::NvlsRing | Self::NvlsTree => {
                "tree, nvls, nvls-ring and nvls-tree carry out all-reduce"
            }
            Self::Pat => "pat carries out all-gather and reduce-scatter",
            Self::Direct => "direct carries out all but broadcast",
            Self::Forward => "forward carries out expert-dispatch and expert-combine",
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
        Collective::AllGather
        | Collective::ReduceScatter
        | Collective::AllToAll
        | Collective::ExpertDispatch
        | Collective::ExpertCombine => (n - 1.0) / n,
        Collective::Broadcast | Collective::SendReceive => 1.0,
    }
}

/// Bus bandwidth in bytes per second of an operation of `bytes` over `ranks` that took `seconds`.
pub fn busbw(collective: Collective, ranks: u32, bytes: u64, seconds: f64) -> f64 {
    bytes as f64 / seconds * bus_factor(collective, ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bus over algorithm bandwidth as the sources of nccl-tests compute it, n ranks.
    #[test]
    fn bus_bandwidth_is_that_of_nccl_tests() {
        for n in [1_u32, 2, 8, 448] {
            let ranks = f64::from(n);
            let expected = [
                (Collective::AllReduce, 2.0 * (ranks - 1.0) / ranks),
                (Collective::AllGather, (ranks - 1.0) / ranks),
                (Collective::ReduceScatter, (ranks - 1.0) / ranks),
                (Collective::AllToAll, (ranks - 1.0) / ranks),
                (Collective::Broadcast, 1.0),
                (Collective::SendReceive, 1.0),
                // As an all-to-all: what a rank has for its own experts stays.
                (Collective::ExpertDispatch, (ranks - 1.0) / ranks),
                (Collective::ExpertCombine, (ranks - 1.0) / ranks),
            ];
            assert_eq!(expected.map(|(collective, _)| collective), Collective::ALL);
            for (collective, factor) in expected {
                assert_eq!(bus_factor(collective, n), factor, "{} over {n}", collective.name());
                // 4 GB in 20 ms are an algorithm bandwidth of 200 GB/s, whatever carries them out.
                let ours = busbw(collective, n, 4_000_000_000, 0.02);
                assert!((ours - 200e9 * factor).abs() < 1.0);
            }
        }
    }

    #[test]
    fn an_algorithm_says_what_it_cannot_carry_out() {
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::named(algorithm.name()), Some(algorithm));
            let able = Collective::ALL.into_iter().filter(|&c| algorithm.check(c).is_ok()).count();
            assert!((1..Collective::ALL.len()).contains(&able), "{}", algorithm.name());
        }
        let error = Algorithm::Tree.check(Collective::AllGather).unwrap_err().to_string();
        assert!(error.contains("carry out all-reduce"), "{error}");
    }
}

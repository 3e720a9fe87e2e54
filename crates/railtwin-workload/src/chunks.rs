//! How much of a collective goes through its phases at a time: NCCL's chunks under the protocol Simple.
//!
//! While one chunk is among hosts, the next is summed inside them. So chunks tell how soon a phase can begin, and how
//! long the last chunk needs when all others are done. NCCL takes smaller ones for smaller operations.
//! Sizes are those of `calcCollChunking` in NCCL's enqueue.cc (2.24), for the tree those of `computeColl` (2.4 to 2.18),
//! with the buffer of 4 MiB in eight slots.

/// Chunk of a send to one peer over the network (NCCL_P2P_NET_CHUNKSIZE).
const PEER_CHUNK: u64 = 128 << 10;
/// Slots of a channel's buffer (NCCL_STEPS): each holds a chunk.
const SLOTS: u64 = 8;
/// A slot of 4 MiB (NCCL_BUFFSIZE).
const SLOT: u64 = (4 << 20) / SLOTS;
/// NCCL_NVLS_CHUNKSIZE.
const SWITCH_CHUNK: u64 = 128 << 10;
/// Largest chunk of NVLS with trees on so many hosts or more (NCCL_NVLSTREE_MAX_CHUNKSIZE).
const TREE_CHUNK: (u64, u32) = (64 << 10, 4);
/// Channels of NVLS on Hopper (NVLS_NCHANNELS_SM90).
const SWITCH_CHANNELS: u64 = 16;

/// What bounds the pieces of a bundle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Cut {
    /// Messages alone: a stage is gone through once.
    #[default]
    Messages,
    /// Chunks of a library's sends from peer to peer: all-to-all, send and receive.
    Peers,
    /// Chunks of a tree over all GPUs.
    Tree {
        /// Channels that share the operation.
        channels: u32,
        /// Longest way to the root, in hops.
        depth: u32,
    },
    /// Chunks that the NVSwitch sums and rings carry among hosts: all stages are gone through once for each round.
    Switch {
        /// GPUs of a host, each of which is the head of one part of the buffer.
        heads: u32,
        /// Hosts.
        hosts: u32,
    },
    /// Chunks that the NVSwitch sums and trees carry among hosts.
    SwitchTree {
        /// As above.
        heads: u32,
        /// Hosts.
        hosts: u32,
    },
}

impl Cut {
    /// Most bytes of a piece of an operation of `bytes`, where messages have `message` at most.
    pub fn piece(self, bytes: u64, message: u64) -> u64 {
        self.chunk(bytes).unwrap_or(message).min(message).max(1)
    }

    /// Bytes of a chunk of an operation of `bytes`; none where messages alone bound pieces.
    fn chunk(self, bytes: u64) -> Option<u64> {
        // Halved while so many of them, or more, would be too few.
        let halve = |chunk: &mut u64, least: u64, few: &dyn Fn(u64) -> bool| {
            while *chunk > least && few(*chunk) {
                *chunk /= 2;
            }
        };
        let chunk = match self {
            Self::Messages => return None,
            Self::Peers => PEER_CHUNK,
            Self::Tree { channels, depth } => {
                let own = bytes / u64::from(channels.max(1));
                let mut chunk = SLOT;
                for (times, least) in [(8, 128 << 10), (4, 64 << 10), (1, 32 << 10)] {
                    halve(&mut chunk, least, &|chunk| own / chunk < times * u64::from(depth));
                }
                chunk
            }
            Self::Switch { heads, .. } | Self::SwitchTree { heads, .. } => {
                let (mut chunk, steps) = match self {
                    Self::SwitchTree { hosts, .. } => {
                        let most = if hosts >= TREE_CHUNK.1 { TREE_CHUNK.0 } else { SWITCH_CHUNK };
                        (most, [(4, 64 << 10), (1, 32 << 10), (0, 0)])
                    }
                    _ => (SWITCH_CHUNK, [(64, 64 << 10), (8, 32 << 10), (2, 16 << 10)]),
                };
                let at_once = SWITCH_CHANNELS * u64::from(heads.max(1));
                for (times, least) in steps {
                    if bytes < (times * at_once).saturating_mul(chunk) && chunk > least {
                        chunk = least;
                    }
                }
                chunk
            }
        };
        Some(chunk)
    }

    /// Pieces that may be on their way to a receiver that has not handed them on; none where only messages bound them.
    /// A ring has no need of it: it waits for what comes round.
    pub fn slots(self, bytes: u64, message: u64) -> Option<u64> {
        let slots = match self {
            Self::Messages | Self::Peers | Self::Switch { .. } => return None,
            Self::Tree { .. } => SLOTS,
            // Half of the channels for each of both trees.
            Self::SwitchTree { .. } => SLOTS * SWITCH_CHANNELS / 2,
        };
        Some(slots * self.chunk(bytes)?.div_ceil(self.piece(bytes, message)))
    }

    /// How often the stages of a bundle are gone through. A round takes as many pieces in each stage as a buffer has
    /// slots: a neighbor has room for no more of them.
    pub fn rounds(self, bytes: u64, message: u64) -> u64 {
        match self {
            Self::Switch { heads, hosts } if hosts > 1 => {
                let of_stage = bytes / (u64::from(heads.max(1)) * u64::from(hosts));
                of_stage.div_ceil(SLOTS * self.piece(bytes, message)).max(1)
            }
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_those_of_nccl() {
        let tree = Cut::Tree { channels: 16, depth: 9 };
        let ring = Cut::Switch { heads: 8, hosts: 4 };
        let trees = |hosts| Cut::SwitchTree { heads: 8, hosts };
        let kib = |cut: Cut, bytes: u64| cut.piece(bytes, 512 << 10) >> 10;
        for (mib, chunks) in [
            (1, [32, 16, 32, 32]),
            (16, [64, 32, 64, 64]),
            (256, [128, 64, 128, 64]),
            (4096, [512, 128, 128, 64]),
        ] {
            let bytes = mib << 20;
            let found = [kib(tree, bytes), kib(ring, bytes), kib(trees(2), bytes), kib(trees(4), bytes)];
            assert_eq!(found, chunks, "{mib} MiB");
        }
        assert_eq!(tree.piece(1 << 30, 4_096), 4_096, "no piece is more than a message");
        assert_eq!(Cut::Messages.piece(1 << 40, 1 << 19), 1 << 19);
        assert_eq!(Cut::Peers.piece(1 << 40, 1 << 19), 128 << 10);
        assert_eq!(
            Cut::Peers.slots(1 << 40, 1 << 19),
            None,
            "its receiver clears it as it clears any message"
        );
    }

    #[test]
    fn rounds_are_gone_through_by_rings_among_hosts_only() {
        let ring = Cut::Switch { heads: 8, hosts: 4 };
        // 4 GiB: 128 MiB of a rail in each stage, 1 MiB of them in a round.
        assert_eq!(ring.rounds(4 << 30, 512 << 10), 128);
        assert_eq!(ring.rounds(1, 512 << 10), 1);
        assert_eq!(Cut::Switch { heads: 8, hosts: 1 }.rounds(4 << 30, 512 << 10), 1);
        assert_eq!(Cut::SwitchTree { heads: 8, hosts: 4 }.rounds(4 << 30, 512 << 10), 1);
    }
}

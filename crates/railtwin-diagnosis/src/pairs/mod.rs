//! Measurements between pairs of hosts: delays are judged here, bandwidths by `railtwin-pairs`.
pub mod delay;

/// Fewest pairs of a test among which a slow one can be told: three hosts give three pairs, of which none is usual.
const PAIRS_MIN: usize = 6;
/// Fewest pairs of a host from which its own part can be told from that of its partners.
const OF_HOST_MIN: usize = 3;

/// A host of a test is slow when it lacks this share of the usual bandwidth: hosts of a healthy H100 cluster lack up to 0.06
/// in single tests.
pub const PAIR_SHARE: f64 = 0.1;

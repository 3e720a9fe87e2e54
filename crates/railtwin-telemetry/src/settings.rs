//! Settings of a replay.
use railtwin_workload::Axis;

use crate::jitter::Jitter;

/// What is replayed, and how much it varies.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// Axes whose operations are told; all are simulated. Leave out `tp` where it stays inside hosts and the rows are
    /// too many.
    pub axes: Vec<Axis>,
    /// Whether queue pairs tell of their messages.
    pub messages: bool,
    /// How much healthy runs vary.
    pub jitter: Jitter,
    /// Seed of all draws.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        let axes = Axis::ALL.into_iter().filter(|axis| *axis != Axis::Compute).collect();
        Self { axes, messages: true, jitter: Jitter::default(), seed: 0 }
    }
}

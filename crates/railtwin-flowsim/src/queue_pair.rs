//! A queue pair of a bundle.

/// What waits as one: the bundle of a static split, whose slowest queue pair decides, or one queue pair.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct QueuePair {
    /// Bundle.
    pub bundle: u32,
    /// Strand, counted within the bundle; [`QueuePair::ALL`] for all of them.
    pub strand: u32,
}

impl QueuePair {
    /// All queue pairs of a bundle.
    pub const ALL: u32 = u32::MAX;
}

//! Times of ranks and edges of the job, ns; infinite for events that never came.

/// A stretch in which an edge carried at one rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Piece {
    pub(crate) from: f64,
    pub(crate) until: f64,
    pub(crate) bytes: f64,
    /// Packets that were sent again meanwhile.
    pub(crate) resent: f64,
}

/// A stage over an edge.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Stage {
    /// When the sender handed it over.
    pub(crate) ready: f64,
    /// When its first byte left.
    pub(crate) start: f64,
    /// When its last byte left.
    pub(crate) end: f64,
    /// When it was acknowledged.
    pub(crate) acknowledged: f64,
    pub(crate) bytes: f64,
}

/// One edge, by the rank that sends; stages of all operations one after another.
#[derive(Clone, Default, Debug)]
pub(crate) struct EdgeTrace {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) stages: Vec<Stage>,
    /// Bytes that the bucket of its link holds, and since when: see [`crate::ReplaySettings::burst_bytes`].
    pub(crate) tokens: (f64, f64),
}

/// The phases of a step that a rank spent alone.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Alone {
    pub(crate) step: u64,
    pub(crate) end: f64,
    pub(crate) data_ns: f64,
    pub(crate) compute_ns: f64,
}

/// One operation at a rank.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Operation {
    pub(crate) entered: f64,
    pub(crate) ended: f64,
    pub(crate) bytes: u64,
}

/// One rank.
#[derive(Clone, Default, Debug)]
pub(crate) struct RankTrace {
    pub(crate) alone: Vec<Alone>,
    pub(crate) operations: Vec<Operation>,
    /// When it had each stage, of all operations one after another.
    pub(crate) got: Vec<f64>,
}

/// All of it.
#[derive(Clone, Default, Debug)]
pub(crate) struct Trace {
    pub(crate) ranks: Vec<RankTrace>,
    pub(crate) edges: Vec<EdgeTrace>,
    /// Whether some rank waits for what will not come.
    pub(crate) is_stuck: bool,
    /// The last moment at which anything ended.
    pub(crate) last: f64,
}

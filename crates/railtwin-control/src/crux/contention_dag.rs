//! Jobs that contend, as a graph.

/// Who contends with whom, and what it costs to treat both alike.
#[derive(Clone, Debug, PartialEq)]
pub struct ContentionDag {
    pub(super) jobs: usize,
    /// Weight of the edge from row to column; 0 where there is none.
    pub(super) weights: Vec<f64>,
    /// Jobs, the highest priority first.
    pub(super) order: Vec<usize>,
}

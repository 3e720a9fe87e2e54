//! All connections of a rank, and the service that moves them.
use crate::connections::Connections;
use crate::job::Algorithm;
use crate::moves::PathService;

/// All connections of a rank.
#[derive(Debug)]
pub(crate) struct Links {
    /// By algorithm, in the order of [`crate::connect::algorithms`].
    pub(crate) all: Vec<(Algorithm, Connections)>,
    /// Moves lanes to other source ports, where the job has a path master.
    pub(crate) service: Option<PathService>,
}

impl Links {
    /// Place of an algorithm's connections.
    pub(crate) fn place(&self, algorithm: Algorithm) -> Option<usize> {
        self.all.iter().position(|one| one.0 == algorithm)
    }
}

//! All connections of a rank, and how a run over them is interrupted.
use std::collections::BTreeMap;
use std::io;

use crate::job::Algorithm;
use crate::lane::{ReceiveLane, SendLane};
use crate::moves::PathService;

/// Lanes of one algorithm by the rank at the other end. A connection both ways is in both.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    pub(crate) sends: BTreeMap<usize, Vec<SendLane>>,
    pub(crate) receives: BTreeMap<usize, Vec<ReceiveLane>>,
}

impl Connections {
    /// Lanes to a rank.
    pub(crate) fn outgoing(&self, peer: usize) -> &[SendLane] {
        self.sends.get(&peer).map_or(&[], Vec::as_slice)
    }

    /// Lanes from a rank.
    pub(crate) fn incoming(&self, peer: usize) -> &[ReceiveLane] {
        self.receives.get(&peer).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn outgoing_mut(&mut self, peer: usize) -> &mut [SendLane] {
        self.sends.get_mut(&peer).map_or(&mut [], Vec::as_mut_slice)
    }

    pub(crate) fn incoming_mut(&mut self, peer: usize) -> &mut [ReceiveLane] {
        self.receives.get_mut(&peer).map_or(&mut [], Vec::as_mut_slice)
    }
}

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

/// A connection that broke.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Break {
    pub(crate) peer: usize,
    pub(crate) sends: bool,
    /// Error number of Linux; 0: end of file.
    pub(crate) errno: i32,
}

impl Break {
    pub(crate) fn of(sends: bool, peer: usize, error: &io::Error) -> Self {
        Self { peer, sends, errno: error.raw_os_error().unwrap_or(-1) }
    }
}

/// Why a collective did not end.
#[derive(Debug)]
pub(crate) enum Interruption {
    /// A connection broke.
    Broken(Break),
    /// The path master ended the job, or a lane cannot go on: the message.
    Ended(String),
}

impl From<Break> for Interruption {
    fn from(broken: Break) -> Self {
        Self::Broken(broken)
    }
}

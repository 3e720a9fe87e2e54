//! Connections of an algorithm, and how a run over them is interrupted.
use std::collections::BTreeMap;
use std::io;

use crate::lane::{ReceiveLane, SendLane};

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

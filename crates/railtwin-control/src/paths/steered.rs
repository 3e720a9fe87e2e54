//! Connections whose queue pairs are to be steered, and the source ports that they get.
use railtwin_fabric::DeviceId;

use super::assignment::{JobId, Reason};

/// The queue pairs of a connection between two NICs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueuePairs {
    /// Job that opened them.
    pub job: JobId,
    /// Source NIC.
    pub source: DeviceId,
    /// Target NIC.
    pub target: DeviceId,
    /// Row of the first, counted over all connections.
    pub first: u32,
    /// Their number; number `q` of them leaves by port `q mod ports` of the NIC.
    pub count: u32,
    /// Backend ports of the source NIC.
    pub ports: u32,
}

impl QueuePairs {
    /// Rows of those that leave by a port of the NIC.
    pub(super) fn by_port(&self, port: u32) -> impl Iterator<Item = u32> + use<> {
        let first = self.first;
        (port..self.count).step_by(self.ports as usize).map(move |queue_pair| first + queue_pair)
    }
}

/// The source port of every queue pair, by its row; none where there is no live path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SteeredPorts {
    pub(super) ports: Vec<Option<u16>>,
    pub(super) reasons: Vec<Option<Reason>>,
}

impl SteeredPorts {
    pub(super) fn none(connections: &[QueuePairs]) -> Self {
        let total = connections.iter().map(|one| one.first + one.count).max().unwrap_or(0);
        Self { ports: vec![None; total as usize], reasons: vec![None; total as usize] }
    }

    /// The source port of a queue pair.
    pub fn port(&self, queue_pair: u32) -> Option<u16> {
        self.ports.get(queue_pair as usize).copied().flatten()
    }

    /// Why a controller chose the path of a queue pair; none where hosts choose.
    pub fn reason(&self, queue_pair: u32) -> Option<Reason> {
        self.reasons.get(queue_pair as usize).copied().flatten()
    }
}

//! Connections whose queue pairs are to be steered.
use railtwin_fabric::DeviceId;

use super::assignment::JobId;

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

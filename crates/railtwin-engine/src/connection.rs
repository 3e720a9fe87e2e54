//! A connection between two NICs.
use railtwin_fabric::DeviceId;

/// A connection between two NICs and its queue pairs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Connection {
    /// Job that opened it.
    pub job: u32,
    /// Source NIC.
    pub source: DeviceId,
    /// Target NIC.
    pub target: DeviceId,
    /// First of its queue pairs.
    pub first: u32,
    /// Number of its queue pairs; queue pair `q` leaves by port `q mod ports` of the NIC.
    pub count: u32,
    /// Backend ports of the source NIC.
    pub ports: u32,
    /// Bytes that a step of the job sends over it.
    pub bytes: f64,
}

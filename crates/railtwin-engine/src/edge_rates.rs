//! What each queue pair of each network edge carries while its pattern runs alone, and what it could carry.
//!
//! Engines move bundles; telemetry is of queue pairs. This is the bridge: one table for each state of the network.
use railtwin_units::SimTime;

/// Rates of all queue pairs of a case in one state of the network, as columns.
///
/// Patterns are counted over the case, bundles over the patterns as shapes have them (never joined by class), and a
/// *row* is one queue pair of one network edge of one bundle.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EdgeRates {
    /// The moment whose state it is.
    pub at: SimTime,
    /// CSR: bundles of pattern `p` are `pattern_start[p]..pattern_start[p + 1]`.
    pub pattern_start: Vec<u32>,
    /// Serial latency of a pattern, part of every operation whatever its bytes.
    pub latency: Vec<SimTime>,
    /// Communicator of a bundle, counted within its pattern.
    pub communicator: Vec<u32>,
    /// Bundle, counted within its communicator: the channel of its algorithm.
    pub channel: Vec<u32>,
    /// Serial stages of the bundle.
    pub stages: Vec<u32>,
    /// Hops where the bundle is a ring, else 0.
    pub ring_hops: Vec<u32>,
    /// Whether each stage of the bundle has edges of its own.
    pub aggregated: Vec<bool>,
    /// Seconds that the bundle takes for each byte of the operation; infinite where it cannot end.
    pub seconds_per_byte: Vec<f64>,
    /// CSR: rows of bundle `b` are `row_start[b]..row_start[b + 1]`.
    pub row_start: Vec<u32>,
    /// Edge of the row, counted within its bundle.
    pub edge: Vec<u32>,
    /// Sending host and its NIC.
    pub source: Vec<(u32, u32)>,
    /// Receiving host and its NIC.
    pub target: Vec<(u32, u32)>,
    /// Port of the sending NIC among its network ports.
    pub nic_port: Vec<u32>,
    /// Number of the queue pair at the source.
    pub queue_pair: Vec<u32>,
    /// UDP source port.
    pub source_port: Vec<u16>,
    /// Bytes of the queue pair for each byte of the operation.
    pub share: Vec<f64>,
    /// Bytes per second that it carries while the pattern runs alone.
    pub pace: Vec<f64>,
    /// Bytes per second that it could carry if its bundle did not hold it back: over its links the least of its own
    /// rate and what is spare. The queue pair over the narrowest link of a bundle has its pace; the others have more.
    pub rate: Vec<f64>,
    /// CSR: links of row `r` are `link_start[r]..link_start[r + 1]`.
    pub link_start: Vec<u32>,
    /// Links from NIC to NIC, in the order in which packets cross them; none without a route.
    pub links: Vec<u32>,
}

impl EdgeRates {
    /// Bundles of a pattern.
    pub fn bundles_of(&self, pattern: usize) -> std::ops::Range<usize> {
        self.pattern_start[pattern] as usize..self.pattern_start[pattern + 1] as usize
    }

    /// Rows of a bundle.
    pub fn rows_of(&self, bundle: usize) -> std::ops::Range<usize> {
        self.row_start[bundle] as usize..self.row_start[bundle + 1] as usize
    }

    /// Links of a row.
    pub fn links_of(&self, row: usize) -> &[u32] {
        &self.links[self.link_start[row] as usize..self.link_start[row + 1] as usize]
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.edge.len()
    }
}

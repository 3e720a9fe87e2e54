//! What an engine hands back: when operations ran and what links carried.
use railtwin_units::SimTime;

use crate::fault::Fault;

/// Start and end of every operation, by operation id; [`SimTime::NEVER`] where it did not happen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OperationTimes {
    /// Starts.
    pub start: Vec<SimTime>,
    /// Ends.
    pub end: Vec<SimTime>,
}

/// A fault that acted.
pub type Incident = Fault;

/// The record of one run of one replicate.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunLog {
    /// When operations ran.
    pub times: OperationTimes,
    /// End of the last operation that ended.
    pub end: SimTime,
    /// Operations that never ended because a bundle had no route or no capacity.
    pub unfinished: u64,
    /// Bytes carried by each link, by link id.
    pub link_bytes: Vec<f64>,
    /// Bytes that each pattern's operations asked for, by pattern id.
    pub pattern_bytes: Vec<f64>,
    /// Faults that acted, in order.
    pub incidents: Vec<Incident>,
    /// Times that the max-min problem was solved.
    pub solves: u64,
    /// Bundles in all those solves together.
    pub solved_bundles: u64,
    /// Events handled.
    pub events: u64,
}

//! Counters that the devices of one thread share.
use std::collections::BTreeMap;

use crate::histogram::Histogram;

/// What devices of one thread count together.
#[derive(Debug, Default)]
pub struct Tally {
    /// Times from data to its acknowledgement.
    pub round_trip: Histogram,
    /// When something of a queue pair was last lost to a dead cable or for want of a route, by queue pair.
    pub lost: BTreeMap<u32, u64>,
}

impl Tally {
    /// A packet of the queue pair goes nowhere; none where the packet is of none.
    pub fn lose(&mut self, now: u64, queue_pair: Option<u32>) {
        if let Some(queue_pair) = queue_pair {
            self.lost.insert(queue_pair, now);
        }
    }

    /// Adds what another thread counted.
    pub fn merge(&mut self, other: &Self) {
        self.round_trip.merge(&other.round_trip);
        for (&queue_pair, &at) in &other.lost {
            let last = self.lost.entry(queue_pair).or_insert(at);
            *last = at.max(*last);
        }
    }
}

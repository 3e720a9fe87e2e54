//! The first source ports of a queue pair, and what is known of each: a list that is gone through from its least sum on.
//!
//! While queue pairs are placed uses only grow, so a sum that was once found of a port stays a lower bound. The next
//! queue pair that differs in nothing looks anew only at ports that are no worse than the best, most often at one or two.

use super::bounds::OVER;
use super::flow::{Flow, Found, Landing};
use super::layers::Layers;
use super::search::Scratch;

/// Ports that may do, ascending.
#[derive(Clone, Debug, Default)]
pub(super) struct Shortlist {
    /// Numbers from the first port on.
    ports: Vec<u32>,
    /// By port: the sum of its way is at least this; [`OVER`] where it has none that will do.
    sums: Vec<u32>,
    /// The least sum of all ways when the list was made.
    pub(super) least: u64,
    /// The search before had to list ports, so the next may do so at once: it finds the same.
    pub(super) was_needed: bool,
}

impl Shortlist {
    /// Takes a port in whose way has that sum now.
    #[inline]
    pub(super) fn push(&mut self, port: u32, sum: u32) {
        self.ports.push(port);
        self.sums.push(sum);
    }

    /// Forgets all ports.
    pub(super) fn clear(&mut self) {
        self.ports.clear();
        self.sums.clear();
    }
}

impl Scratch {
    /// Of the listed ports that take a way within `limit` the one of the least sum, and of several the lowest.
    pub(super) fn best_listed(
        &mut self,
        flow: &Flow<'_, '_>,
        layers: &Layers,
        landing: Landing,
        limit: u64,
    ) -> Option<Found> {
        self.know_words(flow, layers);
        let mut shortlist = std::mem::take(&mut self.shortlist);
        let Shortlist { ports, sums, .. } = &mut shortlist;
        let found = loop {
            let least = sums.iter().copied().min().filter(|&least| least != OVER);
            let Some(least) = least else { break None };
            let listed = ports.iter().zip(sums.iter_mut()).filter(|(_, sum)| **sum == least);
            let found = listed.into_iter().find_map(|(&port, sum)| {
                let found = self.trace(flow, layers, port, landing);
                let within = found.filter(|found| found.burden.0 <= limit);
                *sum = within.map_or(OVER, |found| found.burden.1 as u32);
                within.filter(|_| *sum == least)
            });
            if found.is_some() {
                break found;
            }
        };
        self.shortlist = shortlist;
        found
    }
}

//! Pings between all ranks: which pairs are dead, and which pairs a rank slows.
use std::collections::{BTreeMap, BTreeSet};

use super::state::State;

/// The newest pings of a pair that must all be lost before the pair is dead: one is lost by chance on a link that loses a
/// hundredth.
const DEAD: usize = 2;
/// A ping that is older, in heartbeats, says nothing of now.
const OLD_BEATS: u64 = 4;

/// Pairs of ranks of which newest pings are told, and dead ones.
#[derive(Clone, Copy, Default, Debug)]
struct Counted {
    pairs: u32,
    dead: u32,
}

impl Counted {
    fn add(&mut self, is_dead: bool) {
        self.pairs += 1;
        self.dead += u32::from(is_dead);
    }

    fn share(self) -> Option<f64> {
        (self.pairs > 0).then(|| f64::from(self.dead) / f64::from(self.pairs))
    }
}

/// Pairs of ranks, dead or alive.
#[derive(Clone, Default, Debug)]
pub(super) struct Pairs {
    all: Counted,
    /// By rank: the pairs that it is in, and with whom.
    with: BTreeMap<u32, (Counted, BTreeSet<u32>)>,
}

impl Pairs {
    /// Pairs of the newest heartbeats of all ranks.
    pub(super) fn now(now_ns: u64, interval_ns: u64, state: &State) -> Self {
        let from_ns = now_ns.saturating_sub(OLD_BEATS * interval_ns);
        let mut found = Self::default();
        for (from, rank) in state.living() {
            let mut newest: BTreeMap<u32, (usize, bool)> = BTreeMap::new();
            for pings in rank.pings.iter().rev().filter(|pings| pings.time_ns >= from_ns) {
                // A rank that has ended takes its observer along, which answers pings.
                for (to, trip) in pings.trips.iter().filter(|trip| !state.has_ended(trip.0)) {
                    let seen = newest.entry(*to).or_insert((0, true));
                    if seen.0 < DEAD {
                        *seen = (seen.0 + 1, seen.1 && trip.is_none());
                    }
                }
            }
            for (to, (_, is_dead)) in newest.into_iter().filter(|(_, (count, _))| *count == DEAD) {
                found.all.add(is_dead);
                for (rank, other) in [(from, to), (to, from)] {
                    let with = found.with.entry(rank).or_default();
                    with.0.add(is_dead);
                    with.1.insert(other);
                }
            }
        }
        found
    }

    /// Shares of dead pairs: of those with a rank, and of the others. None for a rank with fewer than two others, as the
    /// only one may be the dead one.
    pub(super) fn shares(&self, rank: u32) -> Option<(f64, f64)> {
        let (own, others) =
            self.with.get(&rank).filter(|with| with.1.len() >= 2).map(|with| (with.0, self.all))?;
        let others = Counted { pairs: others.pairs - own.pairs, dead: others.dead - own.dead };
        Some((own.share()?, others.share()?))
    }
}

/// The lower quartile of newest round trips of pairs with a rank, and of the pairs without it, us; `beside` is a rank whose
/// pairs are left out. A low quantile: an answer that waited for a processor is late, and none is early.
pub(super) fn quartiles(from_ns: u64, state: &State, rank: u32, beside: Option<u32>) -> Option<(f64, f64)> {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for (from, seen) in state.living() {
        for pings in seen.pings.iter().filter(|pings| pings.time_ns >= from_ns) {
            for (to, trip) in &pings.trips {
                let is_left_out = beside.is_some_and(|beside| beside == from || beside == *to);
                let Some(trip) = trip.filter(|_| !is_left_out) else { continue };
                let of = if from == rank || *to == rank { &mut with } else { &mut without };
                of.push(trip);
            }
        }
    }
    let quartile = |of: &mut Vec<u32>| {
        of.sort_unstable();
        of.get(of.len() / 4).map(|trip| f64::from(*trip))
    };
    Some((quartile(&mut with)?, quartile(&mut without)?))
}

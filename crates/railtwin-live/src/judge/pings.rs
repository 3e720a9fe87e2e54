//! Pings between all ranks: which pairs are dead, and which pairs a rank slows.
use std::collections::{BTreeMap, BTreeSet};

use super::state::State;

/// The newest pings of a pair that must all be lost before the pair is dead: one is lost by chance on a link that loses a
/// hundredth.
const DEAD: usize = 2;
/// A ping that is older, in heartbeats, says nothing of now.
const OLD_BEATS: u64 = 4;

/// Pairs of ranks, dead or alive.
#[derive(Clone, Default, Debug)]
pub(super) struct Pairs {
    /// By from and to, whether the newest pings of the pair are all lost.
    dead: BTreeMap<(u32, u32), bool>,
}

impl Pairs {
    /// Pairs of the newest heartbeats of all ranks.
    pub(super) fn now(now_ns: u64, interval_ns: u64, state: &State) -> Self {
        let from_ns = now_ns.saturating_sub(OLD_BEATS * interval_ns);
        let mut dead = BTreeMap::new();
        for (from, rank) in state.living() {
            let mut newest: BTreeMap<u32, (usize, bool)> = BTreeMap::new();
            for pings in rank.pings.iter().rev().filter(|pings| pings.time_ns >= from_ns) {
                for (to, trip) in &pings.trips {
                    let seen = newest.entry(*to).or_insert((0, true));
                    if seen.0 < DEAD {
                        *seen = (seen.0 + 1, seen.1 && trip.is_none());
                    }
                }
            }
            let told = newest.into_iter().filter(|(_, (count, _))| *count == DEAD);
            dead.extend(told.map(|(to, (_, is_dead))| ((from, to), is_dead)));
        }
        Self { dead }
    }

    /// Shares of dead pairs: of those with a rank, in which at least two other ranks are, and of the others.
    pub(super) fn shares(&self, rank: u32) -> Option<(f64, f64)> {
        let is_with = |pair: &(u32, u32)| pair.0 == rank || pair.1 == rank;
        let share = |with: bool| {
            let of = self.dead.iter().filter(|(pair, _)| is_with(pair) == with);
            let (count, dead) =
                of.fold((0_u32, 0_u32), |(count, dead), (_, is)| (count + 1, dead + u32::from(*is)));
            (count > 0).then(|| f64::from(dead) / f64::from(count))
        };
        let others: BTreeSet<u32> =
            self.dead.keys().filter(|pair| is_with(pair)).flat_map(|pair| [pair.0, pair.1]).collect();
        // With the rank itself three: its only other rank may be the dead one.
        (others.len() >= 3).then_some(())?;
        Some((share(true)?, share(false)?))
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

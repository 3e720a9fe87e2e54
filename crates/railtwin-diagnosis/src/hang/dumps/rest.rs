//! Whether the ranks that nothing names are at rest, so that the job waits for the named ranks alone.
//!
//! A wait graph of one moment shows for whom the ranks wait, and not for how long. In a job that moves, the dumps of its ranks
//! are never of one place: each process launches at its own pace, and each watchdog looks at its own times. So each rank lags
//! by some operations behind the peers that are furthest, a *lag*: of its process, operations that peers put on their streams
//! and it did not; of its reports, operations that peers report as ended and it does not. If the job stands, every process has
//! come to the operation in which it blocks and every watchdog has caught up: all lags are gone, but those of the ranks that
//! broke.
//!
//! The null hypothesis is a job that moves, whose lags are exponential with one unknown mean: a rank that is late is as likely
//! late by one operation more, however late it is. The gaps between sorted exponential draws are independent and exponential,
//! so the gap from the largest lag of `k` ranks to the lag of a named rank, over the sum of what the `k` ranks show, has an F
//! distribution (the total time on test of Epstein and Sobel, 1953), and a gap as wide has the chance
//! `(1 + gap / (sum + largest))^-k`. Lags are whole numbers, so each of the `k` counts as one more than is seen, which favors
//! the null hypothesis. One rank is the furthest by definition, and is no draw. Several named ranks may be late for one
//! reason, so each is held against the others alone, and they do not add to each other.
//!
//! So a gap is wide or narrow by how many ranks are at rest, and how still they are: beside 2 ranks without a lag nothing is
//! shown, beside 7 a rank must lag by 17 operations, beside 15 by 11, beside 63 by 9.

/// Chance, at most, that a job which moves shows such a gap: one look in a thousand at ranks that hold all others up in the
/// wait graph. Looks at healthy jobs seldom show such ranks at all.
const CHANCE: f64 = 1e-3;

/// Lags of the ranks that nothing names.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Rest {
    /// How many of them tell how far ranks of this job lag: all but the furthest.
    draws: i32,
    /// Sum of their lags and the largest lag, operations, each rounded up to the next whole number.
    sum: f64,
    largest: f64,
}

impl Rest {
    /// The lags of ranks that nothing names, in operations.
    pub(super) fn of(lags: impl Iterator<Item = u64>) -> Self {
        let mut lags: Vec<u64> = lags.collect();
        lags.sort_unstable();
        let mut bounds = lags.iter().skip(1).map(|lag| *lag as f64 + 1.0);
        Self {
            draws: bounds.len().try_into().unwrap_or(i32::MAX),
            sum: bounds.clone().sum(),
            largest: bounds.next_back().unwrap_or(1.0),
        }
    }

    /// Chance that a rank lags so far behind these in a job that moves.
    pub(super) fn chance(&self, lag: u64) -> f64 {
        let gap = (lag as f64 - self.largest).max(0.0);
        (1.0 + gap / (self.sum + self.largest)).powi(-self.draws)
    }

    /// Returns whether these are at rest beside a rank that lags so far.
    pub(super) fn is_shown_by(&self, lag: u64) -> bool {
        self.chance(lag) <= CHANCE
    }
}

/// Returns whether so many blind ranks are likelier broken than watched by slow watchdogs.
///
/// Watchdogs look now and then, all of them in one way: in a burst of operations an unknown share of them has not looked yet.
/// If each share is as likely, each number of late ones from 0 to `n` of `n` comparisons has the chance `1 / (n + 1)`. Ranks
/// compare in pairs at least, so `n` is half of their number. Dumps are made because of one rank that broke, so that `b` ranks
/// broke has the chance `1 / (e b!)` (Poisson, mean 1).
pub(super) fn are_few(blind: usize, ranks: usize) -> bool {
    let orders: f64 = (1..=blind).map(|one| one as f64).product();
    (ranks / 2 + 1) as f64 >= std::f64::consts::E * orders
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least lag that shows rest beside so many ranks without one.
    fn least(ranks: usize) -> Option<u64> {
        let rest = Rest::of(std::iter::repeat_n(0, ranks));
        (1..1_000_u64).find(|&lag| rest.is_shown_by(lag))
    }

    #[test]
    fn a_lag_must_be_wide_or_the_ranks_at_rest_many() {
        assert_eq!([2, 3, 7, 15, 63].map(least), [None, Some(93), Some(17), Some(11), Some(9)]);
        assert!(!Rest::of(std::iter::empty()).is_shown_by(u64::MAX));
        // Others that lag as well take the evidence away.
        assert!(Rest::of([0; 15].into_iter()).is_shown_by(12));
        assert!(!Rest::of((0..15).map(|rank| rank % 4)).is_shown_by(12));
    }

    #[test]
    fn few_blind_ranks_are_broken_and_many_are_watchdogs() {
        let most = |ranks: usize| (1..).take_while(|&blind| are_few(blind, ranks)).last();
        assert_eq!([2, 4, 8, 16, 64, 4_096].map(most), [None, Some(1), Some(1), Some(2), Some(3), Some(6)]);
    }
}

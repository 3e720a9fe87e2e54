//! What two of a thing save: leaves of a leaf set, or the two access cables of a NIC.
//!
//! With one leaf to a NIC each failure of a leaf or access cable crashes the jobs behind it (HPN, section 2.3). With
//! two, only a second failure of the same pair before the first is repaired does. Failures are independent: the
//! coupled failures of stacked leaves (HPN, section 4.1) are not in here.
use serde::Serialize;

use crate::failure_rates::{Draw, HPN_ACCESS_CABLE, HPN_LEAF, MONTH_H};

/// Pairs of parts of one kind.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Pairs {
    /// How many pairs.
    pub pairs: u32,
    /// Failures of one part in a month.
    pub per_month: f64,
    /// Hours until a failed part works again.
    pub repair: f64,
}

/// Failures over a time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct PairFailures {
    /// Of single parts: crashes if nothing stands in for them.
    pub single: f64,
    /// Of both parts of a pair at once.
    pub both: f64,
}

/// How often both of a pair are down, per hour, in the first order of the time of repair: either fails, and the
/// other within the repair. `rate` is per hour and part, `repair` in hours.
pub fn pair_rate(rate: f64, repair: f64) -> f64 {
    2.0 * rate * -f64::exp_m1(-rate * repair)
}

impl Pairs {
    /// Leaves of an HPN pod: 15 segments of 8 leaf sets; 0.051 % of leaves fail in a month (HPN, section 2.3).
    pub fn hpn_leaves(repair: f64) -> Self {
        Self { pairs: 15 * 8, per_month: HPN_LEAF, repair }
    }

    /// Access cables of an HPN pod: two to each of 15,360 NICs; 0.057 % fail in a month.
    pub fn hpn_access(repair: f64) -> Self {
        Self { pairs: 15_360, per_month: HPN_ACCESS_CABLE, repair }
    }

    /// What to expect in `months`.
    pub fn expected(&self, months: f64) -> PairFailures {
        let pairs = f64::from(self.pairs);
        PairFailures {
            single: 2.0 * pairs * self.per_month * months,
            both: pairs * pair_rate(self.per_month / MONTH_H, self.repair) * months * MONTH_H,
        }
    }

    /// The mean over `histories` of `months` each, by lot.
    pub fn simulate(&self, months: f64, histories: u32, seed: u64) -> PairFailures {
        let mut draw = Draw::new(seed, "pairs");
        let hours = months * MONTH_H;
        let mean = MONTH_H / (2.0 * f64::from(self.pairs) * self.per_month);
        let (mut single, mut both) = (0u64, 0u64);
        for _ in 0..histories {
            // When each failed part works again; a part that is down cannot fail.
            let mut down = std::collections::BTreeMap::new();
            let mut at = draw.exponential(mean);
            while at < hours {
                let part = draw.below(2 * self.pairs);
                let is_down = |part: u32| down.get(&part).is_some_and(|&back| back > at);
                if !is_down(part) {
                    single += 1;
                    both += u64::from(is_down(part ^ 1));
                    down.insert(part, at + self.repair);
                }
                at += draw.exponential(mean);
            }
        }
        let per_history = |count: u64| count as f64 / f64::from(histories.max(1));
        PairFailures { single: per_history(single), both: per_history(both) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lots_agree_with_the_formula() {
        let pairs = Pairs { pairs: 50, per_month: 0.05, repair: 24.0 };
        let (expected, drawn) = (pairs.expected(8.0), pairs.simulate(8.0, 20_000, 3));
        // 40 failures and 0.067 pairs a history: standard errors of 0.05 and 0.002.
        assert!((expected.single / drawn.single - 1.0).abs() < 0.01, "{expected:?} {drawn:?}");
        assert!((expected.both - drawn.both).abs() < 0.008, "{expected:?} {drawn:?}");
    }

    #[test]
    fn eight_months_of_a_pod_see_leaves_fail_and_no_pair() {
        let leaves = Pairs::hpn_leaves(24.0);
        let expected = leaves.expected(8.0);
        assert!((expected.single - 0.979).abs() < 1e-3 && expected.both < 1e-4, "{expected:?}");
        assert_eq!(leaves.simulate(8.0, 200, 1).both, 0.0);
        assert!(Pairs::hpn_access(24.0).expected(8.0).both < 0.01);
    }
}

//! How much of a connection's bytes each of its queue pairs carries: more on those that were faster of late.
use railtwin_units::SimTime;

/// Parts into which a connection's bytes are divided.
pub const WHOLE: u32 = 1 << 16;

/// A balance that cannot be set up.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadBalanceError {
    /// Nothing to balance.
    #[error("a connection of 0 queue pairs has nothing to balance; it needs 1 or more")]
    NoQueuePairs,
    /// A weight of the newest measurement outside 0..=1.
    #[error("smoothing {0} is no share; write a number above 0 and up to 1")]
    Smoothing(f64),
    /// The floors together exceed the whole.
    #[error(
        "a floor of {floor}/65536 for each of {queue_pairs} queue pairs exceeds the whole; at most {most}/65536 fits"
    )]
    Floor {
        /// Least share of each, in parts of [`WHOLE`].
        floor: u32,
        /// Queue pairs.
        queue_pairs: usize,
        /// Highest floor that fits.
        most: u32,
    },
}

/// Shares of one connection's queue pairs by their measured pace (C4P, C4 section III-B: the communication library
/// measures the completion of messages on each path and prefers the fastest).
///
/// Each queue pair has an estimate of its rate, smoothed exponentially: `r ← (1 − a) r + a · bytes / time`. Shares are
/// a floor for each and the rest in proportion to the rates; a queue pair without a measurement counts with the mean
/// of the others. The floor keeps measurements coming from a path that was slow once.
#[derive(Clone, PartialEq, Debug)]
pub struct LoadBalance {
    smoothing: f64,
    floor: u32,
    /// Bytes per second, none before the first message.
    rates: Vec<Option<f64>>,
    shares: Vec<u32>,
}

impl LoadBalance {
    /// Equal shares for `queue_pairs`. `smoothing` is the weight of the newest measurement, in 0..=1; `floor` the
    /// least share in parts of [`WHOLE`].
    ///
    /// # Errors
    /// [`LoadBalanceError`] naming the value and what would be accepted.
    pub fn new(queue_pairs: usize, smoothing: f64, floor: u32) -> Result<Self, LoadBalanceError> {
        if queue_pairs == 0 {
            return Err(LoadBalanceError::NoQueuePairs);
        }
        if !(smoothing > 0.0 && smoothing <= 1.0) {
            return Err(LoadBalanceError::Smoothing(smoothing));
        }
        let most = u32::try_from(u64::from(WHOLE) / queue_pairs as u64).expect("at most the whole");
        if floor > most {
            return Err(LoadBalanceError::Floor { floor, queue_pairs, most });
        }
        let shares = apportion(u64::from(WHOLE), &vec![1; queue_pairs]);
        let shares = shares.into_iter().map(|share| share as u32).collect();
        Ok(Self { smoothing, floor, rates: vec![None; queue_pairs], shares })
    }

    /// Takes up that a message of `bytes` took `time` from posting to completion on a queue pair. A message without
    /// bytes or time tells nothing.
    ///
    /// # Panics
    /// If there is no such queue pair.
    pub fn observe(&mut self, queue_pair: usize, bytes: u64, time: SimTime) {
        let seconds = time.seconds();
        if bytes == 0 || seconds <= 0.0 {
            return;
        }
        let rate = bytes as f64 / seconds;
        let a = self.smoothing;
        let known = &mut self.rates[queue_pair];
        *known = Some(known.map_or(rate, |old| (1.0 - a) * old + a * rate));
    }

    /// Sets the shares by the rates of now. Their sum stays [`WHOLE`].
    pub fn rebalance(&mut self) {
        let known: Vec<f64> = self.rates.iter().flatten().copied().collect();
        if known.is_empty() {
            return;
        }
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        // Whole bytes per second; 0 would never be measured again were it not for the floor.
        let rates: Vec<u64> = self.rates.iter().map(|rate| (rate.unwrap_or(mean) as u64).max(1)).collect();
        let rest = u64::from(WHOLE) - u64::from(self.floor) * rates.len() as u64;
        let above = apportion(rest, &rates);
        self.shares = above.into_iter().map(|share| self.floor + share as u32).collect();
    }

    /// The shares in parts of [`WHOLE`]; their sum is [`WHOLE`].
    pub fn shares(&self) -> &[u32] {
        &self.shares
    }

    /// Divides `bytes` by the shares; the parts sum up to `bytes`.
    pub fn split(&self, bytes: u64) -> Vec<u64> {
        let shares: Vec<u64> = self.shares.iter().map(|&share| u64::from(share)).collect();
        apportion(bytes, &shares)
    }
}

/// Divides `whole` in proportion to `weights`, not all 0: largest remainders first, ties to the first (Hamilton's
/// method). The parts sum up to `whole`.
fn apportion(whole: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
    let exact = |weight: u64| u128::from(whole) * u128::from(weight);
    let mut parts: Vec<u64> = weights.iter().map(|&weight| (exact(weight) / sum) as u64).collect();
    let left = whole - parts.iter().sum::<u64>();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(exact(weights[index]) % sum));
    for &index in order.iter().take(left as usize) {
        parts[index] += 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_slow_queue_pair_carries_less() {
        let mut balance = LoadBalance::new(4, 0.5, 1024).unwrap();
        assert_eq!(balance.shares(), [16_384; 4]);
        for _ in 0..20 {
            for (queue_pair, micros) in [(0, 100), (1, 100), (2, 100), (3, 300)] {
                balance.observe(queue_pair, 1 << 20, SimTime::from_ns(micros * 1000));
            }
            balance.rebalance();
        }
        // 61,440 parts above the floors at rates 3 : 3 : 3 : 1.
        assert_eq!(balance.shares(), [19_456, 19_456, 19_456, 7_168]);
        assert_eq!(balance.split(10), [3, 3, 3, 1]);
    }

    #[test]
    fn what_cannot_be_set_up_is_named() {
        let text = |queue_pairs, smoothing, floor| {
            LoadBalance::new(queue_pairs, smoothing, floor).unwrap_err().to_string()
        };
        assert!(text(0, 0.5, 0).contains("needs 1 or more"));
        assert!(text(2, 0.0, 0).contains("smoothing 0"));
        assert!(text(2, f64::NAN, 0).contains("NaN"));
        assert!(text(4, 0.5, 20_000).contains("at most 16384"));
    }

    proptest! {
        #[test]
        fn shares_are_bounded_and_their_sum_is_kept(
            count in 1usize..20, smoothing in 0.01..1.0, share in 0.0..1.0,
            seen in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>(), 0u64..1 << 50), 0..60),
            bytes: u64,
        ) {
            let floor = (f64::from(WHOLE) / count as f64 * share) as u32;
            let mut balance = LoadBalance::new(count, smoothing, floor).unwrap();
            for (queue_pair, bytes, ps) in seen {
                balance.observe(queue_pair.index(count), bytes, SimTime::from_ps(ps));
                balance.rebalance();
                prop_assert_eq!(balance.shares().iter().sum::<u32>(), WHOLE);
                prop_assert!(balance.shares().iter().all(|&share| share >= floor));
            }
            let parts = balance.split(bytes);
            prop_assert_eq!(parts.iter().map(|&part| u128::from(part)).sum::<u128>(), u128::from(bytes));
        }
    }
}

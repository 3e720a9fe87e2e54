//! Shares of a connection's queue pairs that are not even: which of them takes the next message, and how much of one
//! that is split.

/// Shares of the queue pairs of a connection, whose sum is 1.
#[derive(Clone, PartialEq, Debug)]
pub struct Weights {
    shares: Vec<f64>,
    /// Bytes posted to each since the shares are these, over its share: who is least is furthest behind.
    posted: Vec<f64>,
}

impl Weights {
    /// Nothing posted yet.
    pub fn new(shares: &[f64]) -> Self {
        Self { shares: shares.to_vec(), posted: vec![0.0; shares.len()] }
    }

    /// The shares.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// The queue pair of the next message: the one that is least ahead of its share with it; of several the first.
    pub fn next(&mut self, bytes: u64) -> u32 {
        let bytes = bytes.max(1) as f64;
        let after = |one: usize| {
            if self.shares[one] > 0.0 { self.posted[one] + bytes / self.shares[one] } else { f64::INFINITY }
        };
        let least = (0..self.shares.len()).min_by(|&a, &b| after(a).total_cmp(&after(b))).unwrap_or(0);
        self.posted[least] = after(least);
        least as u32
    }

    /// The first byte after the part of queue pair `one` of a message: the last part ends with it.
    pub fn end(&self, one: u32, bytes: u64) -> u64 {
        let until = one as usize + 1;
        if until >= self.shares.len() {
            return bytes;
        }
        let share: f64 = self.shares[..until].iter().sum();
        ((bytes as f64 * share).round() as u64).min(bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Weights;

    proptest! {
        #[test]
        fn messages_and_parts_follow_shares(
            parts in prop::collection::vec(1_u32..1_000, 1..9), bytes in 1_u64..1 << 40, count in 1_usize..600,
        ) {
            let sum: u32 = parts.iter().sum();
            let shares: Vec<f64> = parts.iter().map(|&part| f64::from(part) / f64::from(sum)).collect();
            let mut weights = Weights::new(&shares);
            let mut got = vec![0_usize; parts.len()];
            for _ in 0..count {
                got[weights.next(4_096) as usize] += 1;
            }
            // No queue pair is ever further than a message from its share but for the number of them.
            for (got, share) in got.iter().zip(&shares) {
                prop_assert!((*got as f64 - share * count as f64).abs() <= parts.len() as f64);
            }
            let ends: Vec<u64> = (0..parts.len() as u32).map(|one| weights.end(one, bytes)).collect();
            prop_assert!(ends.is_sorted());
            prop_assert_eq!(ends.last(), Some(&bytes));
        }
    }

    #[test]
    fn who_has_no_share_gets_nothing() {
        let mut weights = Weights::new(&[0.0, 0.75, 0.25]);
        let got: Vec<u32> = (0..8).map(|_| weights.next(10)).collect();
        assert_eq!(got, [1, 1, 1, 2, 1, 1, 1, 2]);
        assert_eq!([weights.end(0, 8), weights.end(1, 8), weights.end(2, 8)], [0, 6, 8]);
    }
}

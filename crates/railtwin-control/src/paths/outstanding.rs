//! Each message on the queue pair with the least bytes under way.

/// Bytes posted and not yet completed on each queue pair of a connection (HPN appendix B, algorithm 2). A slow path
/// completes late, keeps its counter high and so gets less.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeastOutstanding {
    bytes: Vec<u64>,
}

/// A completion of more bytes than are under way.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{bytes} bytes completed on queue pair {queue_pair}, which has {outstanding} under way")]
pub struct TooManyCompleted {
    /// Index of the queue pair.
    pub queue_pair: usize,
    /// Bytes completed.
    pub bytes: u64,
    /// Bytes under way.
    pub outstanding: u64,
}

impl LeastOutstanding {
    /// Nothing under way on any of `queue_pairs`.
    pub fn new(queue_pairs: usize) -> Self {
        Self { bytes: vec![0; queue_pairs] }
    }

    /// Bytes under way on each queue pair.
    pub fn outstanding(&self) -> &[u64] {
        &self.bytes
    }

    /// Posts a message: names the queue pair with the least bytes under way, the first of several, and counts it
    /// there. None if there is no queue pair.
    pub fn post(&mut self, bytes: u64) -> Option<usize> {
        let (queue_pair, _) = self.bytes.iter().enumerate().min_by_key(|&(_, under_way)| under_way)?;
        self.bytes[queue_pair] = self.bytes[queue_pair].saturating_add(bytes);
        Some(queue_pair)
    }

    /// Takes a completed message off its queue pair's counter.
    ///
    /// # Errors
    /// [`TooManyCompleted`] if so much is not under way there, or there is no such queue pair; nothing changes then.
    pub fn complete(&mut self, queue_pair: usize, bytes: u64) -> Result<(), TooManyCompleted> {
        let outstanding = self.bytes.get(queue_pair).copied().unwrap_or(0);
        match (self.bytes.get_mut(queue_pair), outstanding.checked_sub(bytes)) {
            (Some(counter), Some(left)) => {
                *counter = left;
                Ok(())
            }
            _ => Err(TooManyCompleted { queue_pair, bytes, outstanding }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_slow_queue_pair_gets_less() {
        // Queue pair 0 completes every fourth turn, queue pair 1 each turn.
        let mut counters = LeastOutstanding::new(2);
        let (mut posted, mut under_way) = ([0; 2], [0u64; 2]);
        for turn in 0..400 {
            let chosen = counters.post(10).unwrap();
            posted[chosen] += 1;
            under_way[chosen] += 1;
            for (queue_pair, every) in [(0, 4), (1, 1)] {
                if turn % every == 0 && under_way[queue_pair] > 0 {
                    counters.complete(queue_pair, 10).unwrap();
                    under_way[queue_pair] -= 1;
                }
            }
        }
        assert!(posted[1] > 2 * posted[0], "{posted:?}");
    }

    proptest! {
        #[test]
        fn counters_are_what_is_under_way(count in 1usize..8, turns in prop::collection::vec((any::<bool>(), 0u64..1 << 40), 0..200)) {
            let mut counters = LeastOutstanding::new(count);
            let mut under_way: Vec<(usize, u64)> = Vec::new();
            for (posts, draw) in turns {
                if posts {
                    let least = counters.outstanding().iter().min().copied().unwrap();
                    let chosen = counters.post(draw).unwrap();
                    prop_assert_eq!(counters.outstanding()[chosen], least + draw);
                    under_way.push((chosen, draw));
                } else if !under_way.is_empty() {
                    let (queue_pair, bytes) = under_way.swap_remove(draw as usize % under_way.len());
                    prop_assert_eq!(counters.complete(queue_pair, bytes), Ok(()));
                }
                for queue_pair in 0..count {
                    let sum: u64 = under_way.iter().filter(|(at, _)| *at == queue_pair).map(|(_, bytes)| bytes).sum();
                    prop_assert_eq!(counters.outstanding()[queue_pair], sum);
                    let before = counters.clone();
                    prop_assert!(counters.complete(queue_pair, sum + 1).is_err());
                    prop_assert_eq!(&counters, &before);
                }
            }
            prop_assert!(counters.complete(count, 0).is_err());
        }
    }
}

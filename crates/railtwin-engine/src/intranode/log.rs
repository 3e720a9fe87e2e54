//! What a run inside hosts leaves behind.

/// Names of the seven parts of a message's latency, in the order in which it passes them (SAURON figure 8).
pub const PARTS: [&str; 7] =
    ["source_gpu", "source_intra", "source_nic", "inter", "target_nic", "target_intra", "target_gpu"];

/// Times of one message, ps, by [`PARTS`]; they add up to its latency.
pub type Components = [u64; 7];

/// Latencies of the messages of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Latencies {
    /// Messages.
    pub count: u64,
    /// Sums of their parts, ps.
    pub sums: [u128; 7],
    /// Sum of the squares of whole latencies, ps².
    pub squares: u128,
    /// The longest latency, ps.
    pub longest: u64,
}

/// Share of the mean latency by which both halves of a window may differ where latency has settled.
const AGREES: f64 = 0.05;
/// Standard errors that chance alone may put between the means of both halves.
const ERRORS: f64 = 3.0;

impl Latencies {
    /// Adds a message.
    pub fn add(&mut self, parts: &Components) {
        self.count += 1;
        for (sum, part) in self.sums.iter_mut().zip(parts) {
            *sum += u128::from(*part);
        }
        let whole: u64 = parts.iter().sum();
        self.squares += u128::from(whole) * u128::from(whole);
        self.longest = self.longest.max(whole);
    }

    /// Adds those of others.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.squares += other.squares;
        self.longest = self.longest.max(other.longest);
        for (sum, more) in self.sums.iter_mut().zip(&other.sums) {
            *sum += more;
        }
    }

    /// Mean of a part, s; none without messages.
    pub fn mean(&self, part: usize) -> Option<f64> {
        (self.count > 0).then(|| self.sums[part] as f64 * 1e-12 / self.count as f64)
    }

    /// Mean latency, s; none without messages.
    pub fn mean_whole(&self) -> Option<f64> {
        let whole: u128 = self.sums.iter().sum();
        (self.count > 0).then(|| whole as f64 * 1e-12 / self.count as f64)
    }

    /// Square of the standard error of the mean latency, s²; none without messages.
    fn squared_error(&self) -> Option<f64> {
        let mean = self.mean_whole()?;
        let square = self.squares as f64 * 1e-24 / self.count as f64;
        Some((square - mean * mean).max(0.0) / self.count as f64)
    }

    /// Latencies without those of `late`, which are among them; `longest` stays that of all.
    fn without(&self, late: &Self) -> Self {
        let mut early = *self;
        early.count -= late.count;
        early.squares -= late.squares;
        early.sums.iter_mut().zip(&late.sums).for_each(|(sum, part)| *sum -= part);
        early
    }

    /// Growth of the mean latency from the first half of the window to the second, as a share of the first; `late` are the
    /// messages of the second half. None where either half has no message.
    pub fn growth(&self, late: &Self) -> Option<f64> {
        Some(late.mean_whole()? / self.without(late).mean_whole()? - 1.0)
    }

    /// Whether latency has settled: both halves of the window agree within 5 % or within chance, and the `warm_up`, ps, was
    /// no shorter than the longest latency. `late` are the messages of the second half. True without any message.
    pub fn is_settled(&self, late: &Self, warm_up: u64) -> bool {
        let early = self.without(late);
        let Some(mean) = self.mean_whole() else { return true };
        let (Some(first), Some(second)) = (early.mean_whole(), late.mean_whole()) else { return false };
        let errors = early.squared_error().unwrap_or(0.0) + late.squared_error().unwrap_or(0.0);
        let chance = ERRORS * errors.sqrt();
        (second - first).abs() <= chance.max(AGREES * mean) && self.longest <= warm_up
    }
}

/// Counts of messages between GPUs and the functional units of their host: to units, and from them. Bytes as in
/// [`IntranodeLog`], which has none of these.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UnitsLog {
    /// What was to be sent, refused or not.
    pub offered_bytes: [u64; 2],
    /// Of that, what found its queue full.
    pub refused_bytes: [u64; 2],
    /// What was received.
    pub bytes: [u64; 2],
    /// Messages that arrived after the warm-up.
    pub latencies: [Latencies; 2],
    /// Of these, messages that arrived in the second half of the time that is counted.
    pub late: [Latencies; 2],
}

/// Counts over all hosts, of messages between GPUs. Bytes are those between warm-up and end, as they are on the links of hosts: headers in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IntranodeLog {
    /// Time over which is counted, ps.
    pub span_ps: u64,
    /// What GPUs wanted to send, refused or not, inside their host and to others.
    pub offered_bytes: [u64; 2],
    /// Of that, what found their queue full.
    pub refused_bytes: [u64; 2],
    /// What GPUs received from the same host.
    pub intra_bytes: u64,
    /// What GPUs received from other hosts.
    pub inter_bytes: u64,
    /// Payload of both.
    pub payload_bytes: u64,
    /// Bytes that NICs sent to their leaf, as they are between hosts.
    pub network_bytes: u64,
    /// Messages inside hosts and between them that arrived after the warm-up.
    pub latencies: [Latencies; 2],
    /// Of these, messages that arrived in the second half of the time that is counted.
    pub late: [Latencies; 2],
    /// When counting began, ps.
    pub warm_up_ps: u64,
    /// Messages to and from functional units, which are in none of the above.
    pub units: UnitsLog,
    /// Messages that arrived whole, over the whole run; those of units too, as in what follows.
    pub messages: u64,
    /// Messages that GPUs and units took into their queues, over the whole run.
    pub accepted: u64,
    /// When the last message had arrived, ps.
    pub last_ps: u64,
    /// Packets that crossed a link.
    pub packet_hops: u64,
    /// Events worked off.
    pub events: u64,
    /// Bytes that stood in buffers or were under way when the run ended; 0 once all has drained.
    pub left_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(latencies: impl Iterator<Item = u64>) -> Latencies {
        let mut all = Latencies::default();
        latencies.for_each(|latency| all.add(&[latency, 0, 0, 0, 0, 0, 0]));
        all
    }

    #[test]
    fn latency_that_grows_has_not_settled() {
        let judged = |first: Latencies, late: Latencies, warm_up: u64| {
            let mut all = first;
            all.merge(&late);
            (all.is_settled(&late, warm_up), all.growth(&late))
        };
        let even = |from: u64| of((0..1000).map(|row| from + row % 7));
        assert_eq!(judged(even(1000), even(1000), 1006), (true, Some(0.0)));
        assert!(!judged(even(1000), even(1000), 1005).0, "a warm-up shorter than the longest latency");
        let (is_settled, growth) = judged(even(1000), even(1100), 10_000);
        assert!(!is_settled && (growth.unwrap() - 0.1).abs() < 0.01, "{growth:?}");
        assert!(!judged(even(1100), even(1000), 10_000).0, "latency that falls has not settled either");
        // Two messages that differ by chance say nothing against it; a half without a message nothing for it.
        assert!(judged(of([500, 1500].into_iter()), of([600, 1700].into_iter()), 10_000).0);
        assert_eq!(judged(even(1000), Latencies::default(), 10_000), (false, None));
        assert!(Latencies::default().is_settled(&Latencies::default(), 0));
    }
}

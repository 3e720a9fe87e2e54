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
    /// The longest latency, ps.
    pub longest: u64,
}

impl Latencies {
    /// Adds a message.
    pub fn add(&mut self, parts: &Components) {
        self.count += 1;
        for (sum, part) in self.sums.iter_mut().zip(parts) {
            *sum += u128::from(*part);
        }
        self.longest = self.longest.max(parts.iter().sum());
    }

    /// Adds those of others.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
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

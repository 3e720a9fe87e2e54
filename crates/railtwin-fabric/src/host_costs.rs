//! What a host costs communication beside its links: contexts in NICs, thread blocks, the proxy that posts, copies.
use railtwin_units::keys::{sizes, whole};
use railtwin_units::{Bytes, Rate, SimTime};

railtwin_units::section! {
    /// What hosts cost communication beside links and caps. Each is off unless written: what was measured of collectives,
    /// and NCCL's model of its latencies, have the costs of the hosts that they speak of in them.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct HostCosts "[fabric.host.costs]" sparse {
        /// Contexts of queue pairs that a NIC holds on its chip. Of q of them that it has, at either end, a message finds its
        /// own with probability `contexts` / q, and waits for `context_fetch` else; default all that there are. A
        /// ConnectX-5 has about 2 MB for contexts of 375 B and all else (Kalia et al. 2019): 5,500 at most.
        pub contexts: Option<u32> [whole(1..=16_777_216)] = None,
        /// Time in which a NIC fetches a context from host memory, while its line is idle: the median of a read of 64 B over
        /// PCIe (Neugebauer et al. 2018).
        pub context_fetch: SimTime = SimTime::from_ns(547),
        /// Channels of a collective on each GPU, one thread block and so one multiprocessor each, as in NCCL: computation
        /// beside a collective has those that are left; default computation loses nothing.
        pub channels: Option<u32> [whole(1..=1024)] = None,
        /// Multiprocessors of a GPU; default those of the model: 132 of H100 and H800, 108 of A100, 148 of B200.
        pub multiprocessors: Option<u32> [whole(1..=4096)] = None,
        /// Time of the CPU proxy for each message that it posts: once in each serial step of a collective, and a GPU sends no
        /// more than a message in this time. NCCL takes it for 1 us with CPUs of Intel and 2 us with those of AMD.
        pub post: SimTime = SimTime::ZERO,
        /// Rate at which one channel copies, from the sender's memory into its buffer and out of the receiver's: a message is
        /// copied before it is posted. NCCL has 36.7 GB/s for H100 and 20 for A100; default copies take no time.
        pub copy: Option<Rate> = None,
        /// Rate at which one channel reduces, where a step reduces instead of copying; default as it copies.
        pub reduce: Option<Rate> = None,
        /// Buffer of one channel: over a connection no more is in flight than `channels` of them, one where `channels` is not
        /// said. Packets have `packet.window` and `packet.channels` for it.
        #[key(flow)]
        pub buffer: Option<Bytes> [sizes(1..=1 << 40)] = None,
    }
}

impl HostCosts {
    /// Whether nothing is asked for.
    pub fn is_off(&self) -> bool {
        *self == Self::default()
    }

    /// Share of the messages of a NIC with so many queue pairs that wait for their context: each is of a queue pair drawn
    /// evenly, so whatever the NIC keeps, it has `contexts` of them.
    pub fn missed(&self, queue_pairs: u32) -> f64 {
        self.contexts.map_or(0.0, |held| (1.0 - f64::from(held) / f64::from(queue_pairs.max(1))).max(0.0))
    }

    /// Share of a line that a NIC with so many queue pairs fills with messages that take `message` on it: the fetch of a
    /// context passes in vain.
    pub fn line_share(&self, queue_pairs: u32, message: SimTime) -> f64 {
        let (missed, time) = (self.missed(queue_pairs), message.seconds());
        if missed == 0.0 { 1.0 } else { time / (time + missed * self.context_fetch.seconds()) }
    }

    /// Most bytes of a connection in flight; none without a bound.
    pub fn in_flight(&self) -> Option<u64> {
        self.buffer.map(|buffer| buffer.0.saturating_mul(u64::from(self.channels.unwrap_or(1))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,024 queue pairs and 256 contexts: three messages of four wait. A message of 10.7 us on the line, 3/4 of a
    /// microsecond on average in vain.
    #[test]
    fn a_nic_fetches_the_contexts_that_it_does_not_hold() {
        let costs =
            HostCosts { contexts: Some(256), context_fetch: SimTime::from_ns(1_000), ..HostCosts::default() };
        assert_eq!(costs.missed(1_024), 0.75);
        assert_eq!([costs.missed(256), costs.missed(0)], [0.0, 0.0]);
        let share = costs.line_share(1_024, SimTime::from_ns(10_700));
        assert!((share - 10.7 / 11.45).abs() < 1e-12, "{share}");
        assert_eq!(costs.line_share(256, SimTime::from_ns(10_700)), 1.0);
    }

    #[test]
    fn nothing_is_asked_for_by_default() {
        let off = HostCosts::default();
        assert!(off.is_off());
        assert_eq!((off.line_share(u32::MAX, SimTime::from_ns(1)), off.in_flight()), (1.0, None));
        let bound = HostCosts { channels: Some(2), buffer: Some(Bytes(4 << 20)), ..off };
        assert_eq!((bound.is_off(), bound.in_flight()), (false, Some(8 << 20)));
    }
}

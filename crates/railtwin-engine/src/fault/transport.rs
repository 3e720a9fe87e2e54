//! How a reliable queue pair lives through a path that carries nothing: retransmissions, and its death.
use railtwin_units::SimTime;
use railtwin_units::keys::whole;

railtwin_units::choice! {
    /// When a queue pair that lost packets goes on over another path.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Resume {
        /// At once: a packet on the new path meets a receiver that still waits for an earlier one, whose negative
        /// acknowledgement makes the sender go back (go-back-N).
        Nak = "nak",
        /// At its next retransmission: all packets in flight were lost and none follows them.
        Timeout = "timeout",
    }
}

railtwin_units::section! {
    /// Timers of reliable connections (InfiniBand specification, section 9.7.6.1.3); the defaults are NCCL's own.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Transport "[transport]" {
        /// Exponent of the local ACK timeout, which is 4.096 us times two to its power.
        pub timeout: u32 [whole(1..=31)] = 20,
        /// Retransmissions without an answer before a queue pair dies.
        pub retry_count: u32 [whole(0..=7)] = 7,
        /// When a queue pair that lost packets goes on over a new path.
        #[key(flow)]
        pub resume: Resume = Resume::Nak,
    }
}

impl Transport {
    /// The local ACK timeout: what passes between retransmissions.
    pub const fn ack_timeout(&self) -> SimTime {
        let exponent = if self.timeout > 31 { 31 } else { self.timeout };
        SimTime::from_ns(4_096 << exponent)
    }

    /// When retransmission `number` (from 1) of packets first lost at `first_loss` goes out.
    pub fn retransmission(&self, first_loss: SimTime, number: u32) -> SimTime {
        first_loss.saturating_add(SimTime::from_ps(self.ack_timeout().ps().saturating_mul(number.into())))
    }

    /// When the queue pair dies (work completion error 12, `IBV_WC_RETRY_EXC_ERR`): one timeout after its last
    /// retransmission. A path that is back before that retransmission saves it.
    pub fn death(&self, first_loss: SimTime) -> SimTime {
        self.retransmission(first_loss, self.retry_count + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_retries_last_as_long_as_the_exponent_says() {
        let last = |timeout| {
            let transport = Transport { timeout, ..Transport::default() };
            let last = transport.retransmission(SimTime::ZERO, 7).seconds();
            assert_eq!(transport.death(SimTime::ZERO).seconds(), last / 7.0 * 8.0);
            (last * 100.0).round() / 100.0
        };
        assert_eq!([18, 20, 21, 22].map(last), [7.52, 30.06, 60.13, 120.26]);
    }
}

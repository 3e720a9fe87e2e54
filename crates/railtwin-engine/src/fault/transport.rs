//! How a reliable queue pair lives through a path that carries nothing: retransmissions, and its death.
use railtwin_units::SimTime;

/// When a queue pair that lost packets goes on over another path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resume {
    /// At once: a packet on the new path meets a receiver that still waits for an earlier one, whose negative
    /// acknowledgement makes the sender go back (go-back-N).
    Nak,
    /// At its next retransmission: all packets in flight were lost and none follows them.
    Timeout,
}

/// Timers of a reliable connection (InfiniBand specification, section 9.7.6.1.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transport {
    /// Exponent of the local ACK timeout, 1..=31: 4.096 us · 2^timeout.
    pub timeout: u32,
    /// Retransmissions without an answer before the queue pair dies, 0..=7.
    pub retry_count: u32,
    /// When a queue pair goes on over another path than the one that it lost packets on.
    pub resume: Resume,
}

impl Default for Transport {
    /// NCCL's own: timeout 20, seven retries.
    fn default() -> Self {
        Self { timeout: 20, retry_count: 7, resume: Resume::Nak }
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

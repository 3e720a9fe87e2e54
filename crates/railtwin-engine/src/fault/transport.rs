//! How a reliable queue pair lives through a path that carries nothing: retransmissions, and its death.
use railtwin_units::SimTime;
use railtwin_units::keys::whole;

railtwin_units::choice! {
    /// When a queue pair that lost packets goes on.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Resume {
        /// At once, as after a failover inside the NIC: a packet on the new path meets a receiver that still waits for an
        /// earlier one, whose negative acknowledgement makes the sender go back (go-back-N).
        Nak = "nak",
        /// At its next retransmission: all packets in flight were lost and none follows them.
        Timeout = "timeout",
        /// At once where its path, the old or a new one, carries before its window is used up, else at its next
        /// retransmission: what packets do.
        Window = "window",
    }
}

railtwin_units::section! {
    /// Timers of reliable connections (InfiniBand specification, section 9.7.6.1.3); the defaults are NCCL's own.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Transport "[transport]" {
        /// Exponent of the local ACK timeout, which is 4.096 us times two to its power.
        pub timeout: u32 [whole(1..=31)] = 20,
        /// How many of these pass until a queue pair sends again: the specification lets it be one to four, and NICs differ,
        /// so that how long an outage lasts is a range, of which 1 is the near end.
        #[key(sparse)]
        pub timeout_factor: u32 [whole(1..=4)] = 1,
        /// Retransmissions without an answer before a queue pair dies.
        pub retry_count: u32 [whole(0..=7)] = 7,
        /// When a queue pair that lost packets goes on over a new path. `nak` stands for failover inside the NIC or its bond
        /// (HPN section 4: both ports share the context of the queue pair): packets follow those that were lost, and the
        /// peer's negative acknowledgement brings the sender back as soon as the path carries. `timeout` is the
        /// alternative, where a whole window was lost and nothing follows: only the timer for retransmissions does.
        /// `window` has `[packet] window` decide, on the old path and on a new one: packets follow until it is used up.
        /// That is what packets do whatever this says; under `nak` it decides on the old path.
        #[key(flow)]
        pub resume: Resume = Resume::Nak,
    }
}

impl Transport {
    /// What passes between retransmissions: the local ACK timeout T, or up to four times it, as the specification allows
    /// (InfiniBand Architecture Specification, volume 1, section 9.7.6.1.3).
    pub const fn ack_timeout(&self) -> SimTime {
        let exponent = if self.timeout > 31 { 31 } else { self.timeout };
        SimTime::from_ns((4_096 << exponent) * self.timeout_factor as u64)
    }
}

/// The tries of a queue pair that waits for an answer: its local ACK timer, and how often that ran out in a row.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tries {
    since: SimTime,
    count: u32,
    dead: bool,
}

/// What a queue pair does when its timer runs out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimedOut {
    /// It sends again, for so many times in a row now.
    Again(u32),
    /// It dies (work completion error 12, `IBV_WC_RETRY_EXC_ERR`): one timeout after its last retransmission. A path
    /// that is back before that retransmission saves it.
    Dies,
}

impl Tries {
    /// It waits from `since` on.
    pub const fn from(since: SimTime) -> Self {
        Self { since, count: 0, dead: false }
    }

    /// Since when the timer runs: the last answer, or the last time it sent with nothing else on its way.
    #[inline]
    pub const fn since(&self) -> SimTime {
        self.since
    }

    /// Whether it died, of too many or with its job.
    #[inline]
    pub const fn is_dead(&self) -> bool {
        self.dead
    }

    /// When the timer runs out: it sends again then, or dies.
    #[inline]
    pub fn due(&self, transport: &Transport) -> SimTime {
        self.since.saturating_add(transport.ack_timeout())
    }

    /// The timer runs anew; what ran out before still counts.
    #[inline]
    pub const fn restart(&mut self, now: SimTime) {
        self.since = now;
    }

    /// An answer is here: whether it ends a wait that was longer than the timer.
    #[inline]
    pub const fn answered(&mut self, now: SimTime) -> bool {
        let waited = self.count > 0 && !self.dead;
        (self.since, self.count) = (now, 0);
        waited
    }

    /// It dies with its job.
    pub const fn give_up(&mut self) {
        self.dead = true;
    }

    /// The timer has run out at `now`.
    pub fn time_out(&mut self, now: SimTime, transport: &Transport) -> TimedOut {
        if self.count >= transport.retry_count {
            self.dead = true;
            return TimedOut::Dies;
        }
        self.count += 1;
        self.since = now;
        TimedOut::Again(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_retries_last_as_long_as_the_exponent_says() {
        let last = |timeout| {
            let transport = Transport { timeout, ..Transport::default() };
            let mut tries = Tries::default();
            for number in 1..=7 {
                assert_eq!(tries.time_out(tries.due(&transport), &transport), TimedOut::Again(number));
            }
            let (last, death) = (tries.since().seconds(), tries.due(&transport));
            assert_eq!(tries.time_out(death, &transport), TimedOut::Dies);
            assert_eq!(death.seconds(), last / 7.0 * 8.0);
            (last * 100.0).round() / 100.0
        };
        assert_eq!([18, 20, 21, 22].map(last), [7.52, 30.06, 60.13, 120.26]);
    }

    #[test]
    fn a_timer_may_take_four_times_as_long() {
        let transport = Transport { timeout: 14, timeout_factor: 4, ..Transport::default() };
        assert_eq!(transport.ack_timeout(), SimTime::from_ns(4 * 4_096 * 16_384));
        let longest = Transport { timeout: 31, timeout_factor: 4, ..Transport::default() };
        assert_eq!(longest.ack_timeout().seconds().round(), 35_184.0);
    }

    #[test]
    fn an_answer_gives_back_all_tries_but_to_the_dead() {
        let transport = Transport { retry_count: 1, ..Transport::default() };
        let mut tries = Tries::from(SimTime::from_ns(5));
        assert!(!tries.answered(SimTime::from_ns(7)), "it waited for less than a timeout");
        assert_eq!(tries.due(&transport), SimTime::from_ns(7) + transport.ack_timeout());
        for _ in 0..2 {
            assert_eq!(tries.time_out(tries.due(&transport), &transport), TimedOut::Again(1));
            assert!(tries.answered(tries.since()));
        }
        assert_eq!(tries.time_out(tries.due(&transport), &transport), TimedOut::Again(1));
        assert_eq!(tries.time_out(tries.due(&transport), &transport), TimedOut::Dies);
        assert!(tries.is_dead() && !tries.answered(tries.since()) && tries.is_dead());
    }
}

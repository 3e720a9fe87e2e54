//! Sessions between the two ends of a cable that joins switches: BGP with its hold time (RFC 4271), or BFD beside it
//! (RFC 5880).
use railtwin_units::SimTime;

/// What keeps a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keeper {
    /// Keepalives of BGP, each third of the hold time.
    Bgp {
        /// After how long without a message the peer is given up.
        hold: SimTime,
    },
    /// Control packets of BFD, each third of the detection time (a detection multiplier of 3).
    Bfd {
        /// After how long without a packet the peer is given up.
        detection: SimTime,
    },
}

impl Keeper {
    /// After how long without a message the peer is given up.
    pub const fn limit(self) -> SimTime {
        match self {
            Self::Bgp { hold } => hold,
            Self::Bfd { detection } => detection,
        }
    }

    /// From one message to the next.
    pub const fn period(self) -> SimTime {
        SimTime::from_ps(self.limit().ps() / 3)
    }

    /// When each of two ends gives the other up. `deaf` says since when each hears nothing, none where it still does;
    /// `ages` how long before that moment (or, of an end that still hears, before the other became deaf) the end heard the
    /// last message, each at most a period.
    ///
    /// An end that hears nothing gives up `limit` after the last message. What becomes of an end that still hears depends
    /// on the protocol. BFD's packets are datagrams: the deaf end says that it is down in each of them (RFC 5880 section
    /// 6.8.6), so both know at once. BGP runs over TCP, and acknowledgements of the deaf end's messages get lost with
    /// everything else: after its first message into the void TCP is in loss recovery and sends nothing new, so neither
    /// further keepalives nor the notification of RFC 4271 section 6.5 come out. The end that hears has heard one more
    /// keepalive than the other, and gives up `limit` after that: 1 to 4/3 of the hold time after the fault.
    pub fn given_up(self, deaf: [Option<SimTime>; 2], ages: [SimTime; 2]) -> [SimTime; 2] {
        let alone = |end: usize| {
            let since = deaf[end]?;
            Some(since.saturating_add(self.limit().since(ages[end])))
        };
        let mut at = [0, 1].map(|end| alone(end).unwrap_or(SimTime::NEVER));
        for end in [0, 1] {
            let (None, Some(since)) = (deaf[end], deaf[1 - end]) else { continue };
            at[end] = match self {
                Self::Bfd { .. } => at[1 - end],
                Self::Bgp { hold } => {
                    since.saturating_add(self.period().since(ages[end])).saturating_add(hold)
                }
            };
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> SimTime {
        SimTime::from_ns(ms * 1_000_000)
    }

    #[test]
    fn two_deaf_ends_give_up_for_themselves() {
        let bgp = Keeper::Bgp { hold: ms(3_000) };
        assert_eq!(bgp.given_up([Some(ms(10_000)); 2], [ms(0), ms(1_000)]), [ms(13_000), ms(12_000)]);
    }

    #[test]
    fn one_deaf_end_tells_the_other_by_bfd_and_not_by_bgp() {
        let deaf = [Some(ms(10_000)), None];
        let bfd = Keeper::Bfd { detection: ms(300) };
        assert_eq!(bfd.given_up(deaf, [ms(50), ms(20)]), [ms(10_250); 2]);
        let bgp = Keeper::Bgp { hold: ms(3_000) };
        // The end that hears got a keepalive 0.4 s before and gets one more 0.6 s after the fault.
        assert_eq!(bgp.given_up(deaf, [ms(500), ms(400)]), [ms(12_500), ms(13_600)]);
    }
}

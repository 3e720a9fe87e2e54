//! How long each stage of the network's reaction to a fault takes.
use railtwin_routing::protocol::lacp::LacpRate;
use railtwin_routing::protocol::session::Keeper;
use railtwin_units::keys::Kind;
use railtwin_units::{SimTime, TimeRange};

use super::{CableState, Ways};

/// So many milliseconds.
const fn ms(ms: u64) -> SimTime {
    SimTime::from_ns(ms * 1_000_000)
}

railtwin_units::section! {
    /// Spans of the stages, of which a range is drawn from for every cable that breaks. Which of them a flow waits for
    /// follows from the place of the fault: see [`super::timeline()`] and `docs/models/faults.md`, which also names the
    /// source of each default.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Reaction "[reaction]" {
        /// From the loss of light until a port counts as down at both ends; what is shorter goes unnoticed.
        pub detection: TimeRange = TimeRange::at(ms(10)),
        /// Then, until the bond of a NIC has moved its queue pairs to another port.
        pub lag_failover: TimeRange = TimeRange::at(ms(100)),
        /// After detection, until a switch leaves its own dead port out of its groups; where a session ended and the port
        /// did not, that takes as long as `withdrawal`.
        pub ecmp_regroup: TimeRange = TimeRange::at(ms(50)),
        /// After detection, until a switch has withdrawn the routes that it lost.
        pub withdrawal: TimeRange = TimeRange::at(ms(100)),
        /// Then, until all switches follow the changed routes.
        pub convergence: TimeRange = TimeRange::at(ms(500)),
        /// From the moment in which one switch follows a changed route until the next one does: with it routes spread from
        /// switch to switch, and all follow when the last one does, in place of `convergence`.
        #[key(sparse)]
        pub hop: Option<TimeRange> = None,
        /// Whether leaves answer ARP with their own address, so that a segment's own traffic is routed (HPN section
        /// 4.2); otherwise it is bridged to a dead port until `mac_aging` has passed.
        #[key(flow)]
        pub arp_proxy: bool = true,
        /// Life of a MAC address in a leaf's table.
        #[key(flow)]
        pub mac_aging: SimTime = ms(300_000),
        /// From the repair of a NIC's cable until its port is in its bond again.
        pub lacp: SimTime = ms(2_000),
        /// Then, until the leaf has learned the host's address again and announces it.
        pub arp: SimTime = ms(1_000),
        /// How often the two ends of a NIC's cable send each other LACPDUs, 1 s or 30 s. Without loss of carrier they are
        /// what tells of a dead cable: each end gives the other up three periods after the last one that came, so 2 to 3
        /// of them after the fault.
        #[key(sparse)]
        pub lacp_rate: LacpRate = LacpRate::Slow,
        /// How long a switch holds a BGP session whose keepalives, sent each third of it, stay away: what tells of a dead
        /// cable between switches without loss of carrier, 2/3 of it to all of it after the fault.
        #[key(sparse)]
        pub bgp_hold: SimTime [Kind::Span] = ms(90_000),
        /// Detection time of BFD between switches, three of its intervals, in place of `bgp_hold`; default no BFD.
        #[key(sparse)]
        pub bfd: Option<SimTime> [Kind::Span] = None,
    }
}

impl Reaction {
    /// When all switches follow a change of cables to `state` at `at`, ARP proxies given, at the latest.
    pub fn complete_after(&self, at: SimTime, state: CableState) -> SimTime {
        let (bond, session) = (self.silence(true).most(), self.silence(false).most());
        let seen = match state {
            CableState::Silent(Ways::Both) => bond.max(session),
            // Who still hears learns of it when the other has gone by defaults, or by its own hold time.
            CableState::Silent(_) | CableState::Mute(_) => {
                let told = bond.saturating_add(LacpRate::Fast.timeout());
                told.max(if self.bfd.is_some() { session } else { session + self.keeper().period() })
            }
            CableState::Down | CableState::Up | CableState::Headless(_) => self.detection.most(),
        };
        // From a leaf by spine, core and spine to another leaf.
        let converged = self.hop.map_or(self.convergence.most(), |hop| hop.most() * 4);
        at + seen + self.ecmp_regroup.most().max(self.withdrawal.most() + converged)
    }

    /// From the moment in which a cable goes silent, its carrier kept, until an end of it has given the other up: that of
    /// a NIC's cable (`access`) by LACP, any other by BFD or BGP.
    ///
    /// Who hears nothing gives up a fixed time after the last message, and the last one came up to a period before the
    /// fault: two to three periods remain (IEEE 802.1AX section 6.4.4, `Short_Timeout_Time` and `Long_Timeout_Time`; RFC
    /// 4271 section 4.4, keepalives of a third of the hold time; RFC 5880 section 6.8.4 with a detection multiplier of 3).
    pub fn silence(&self, access: bool) -> TimeRange {
        let longest = match access {
            true => self.lacp_rate.timeout(),
            false => self.keeper().limit(),
        };
        TimeRange::between(longest - SimTime::from_ps(longest.ps() / 3), longest)
    }

    /// What keeps the sessions between switches.
    pub fn keeper(&self) -> Keeper {
        match self.bfd {
            Some(detection) => Keeper::Bfd { detection },
            None => Keeper::Bgp { hold: self.bgp_hold },
        }
    }
}

impl Reaction {
    /// A network that knows everything at once: for questions in which the reaction does not matter.
    pub const INSTANT: Self = Self {
        detection: TimeRange::ZERO,
        lag_failover: TimeRange::ZERO,
        ecmp_regroup: TimeRange::ZERO,
        withdrawal: TimeRange::ZERO,
        convergence: TimeRange::ZERO,
        hop: None,
        arp_proxy: true,
        mac_aging: SimTime::ZERO,
        lacp: SimTime::ZERO,
        arp: SimTime::ZERO,
        lacp_rate: LacpRate::Fast,
        bgp_hold: SimTime::ZERO,
        bfd: None,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_cable_is_given_up_after_two_to_three_periods() {
        let seconds = |range: TimeRange| (range.least().ps() as f64 / 1e12, range.most().ps() as f64 / 1e12);
        let slow = Reaction::default();
        assert_eq!((seconds(slow.silence(true)), seconds(slow.silence(false))), ((60.0, 90.0), (60.0, 90.0)));
        let fast = Reaction { lacp_rate: LacpRate::Fast, bfd: Some(ms(150)), ..slow };
        assert_eq!((seconds(fast.silence(true)), seconds(fast.silence(false))), ((2.0, 3.0), (0.1, 0.15)));
        let tuned = Reaction { bgp_hold: ms(9_000), ..slow };
        assert_eq!(seconds(tuned.silence(false)), (6.0, 9.0));
        // Routes follow at the latest when the slower of the two was given up.
        let late = ms(90_000 + 600);
        assert_eq!(fast.complete_after(SimTime::ZERO, CableState::Silent(Ways::Both)), ms(3_000 + 600));
        assert_eq!(slow.complete_after(SimTime::ZERO, CableState::Silent(Ways::Both)), late);
        assert_eq!(slow.complete_after(SimTime::ZERO, CableState::Down), ms(610));
    }
}

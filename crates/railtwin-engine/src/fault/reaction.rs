//! How long each stage of the network's reaction to a fault takes.
use railtwin_units::SimTime;

/// So many milliseconds.
const fn ms(ms: u64) -> SimTime {
    SimTime::from_ns(ms * 1_000_000)
}

railtwin_units::section! {
    /// Spans of the stages. Which of them a flow waits for follows from the place of the fault: see
    /// [`super::timeline()`] and `docs/models/faults.md`, which also names the source of each default.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Reaction "[reaction]" {
        /// From the loss of light until a port counts as down at both ends; what is shorter goes unnoticed.
        pub detection: SimTime = ms(10),
        /// Then, until the bond of a NIC has moved its queue pairs to another port.
        pub lag_failover: SimTime = ms(100),
        /// After detection, until a switch leaves its own dead port out of its groups.
        pub ecmp_regroup: SimTime = ms(50),
        /// After detection, until a switch has withdrawn the routes that it lost.
        pub withdrawal: SimTime = ms(100),
        /// Then, until all switches follow the changed routes.
        pub convergence: SimTime = ms(500),
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
    }
}

impl Reaction {
    /// When all switches follow a change of cables at `at`, ARP proxies given.
    pub fn complete_after(&self, at: SimTime) -> SimTime {
        at + self.detection + self.ecmp_regroup.max(self.withdrawal + self.convergence)
    }
}

impl Reaction {
    /// A network that knows everything at once: for questions in which the reaction does not matter.
    pub const INSTANT: Self = Self {
        detection: SimTime::ZERO,
        lag_failover: SimTime::ZERO,
        ecmp_regroup: SimTime::ZERO,
        withdrawal: SimTime::ZERO,
        convergence: SimTime::ZERO,
        arp_proxy: true,
        mac_aging: SimTime::ZERO,
        lacp: SimTime::ZERO,
        arp: SimTime::ZERO,
    };
}

//! Balancers: who picks the path of a queue pair, and all that others go by.
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_units::SimTime;

railtwin_units::choice! {
    /// Who picks the path of a queue pair, and how.
    ///
    /// One more is a name here, its [`Properties`], its paths in [`choose`](crate::choose), and, where switches pick
    /// packet by packet in a new way, that way in the packet engine: the compiler asks for each.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum Balancer {
        /// Switches by hash; source ports as NCCL and Linux make them from the two queue-pair numbers.
        Ecmp = "ecmp",
        /// The same with the destination queue pair in the hash (E-ECMP, Meta RoCE section 4.2.2).
        EEcmp = "e-ecmp",
        /// Leaves by the destination's slice (path pinning, Meta RoCE section 4.1.2).
        Pinned = "pinned",
        /// Leaves by load when a queue pair starts (flowlet switching, Meta RoCE section 4.5).
        Flowlet = "flowlet",
        /// Switches, every packet in turn to each link of the group.
        Spray = "spray",
        /// Switches, every packet to the least loaded link of the group.
        Adaptive = "adaptive",
        /// Switches by the destination's number modulo the links (D-mod-K).
        DModK = "d-mod-k",
        /// Leaves by entries of a central controller, with E-ECMP behind them (Meta RoCE section 4.3).
        Te = "te",
        /// Hosts: queue pairs on source ports by lot, which may share links, and to each what it can carry; with feedback
        /// in `[control]` queue pairs whose packets keep arriving marked take other ports instead.
        MultipathEcn = "multipath-ecn",
        /// Hosts: source ports that reach link-disjoint paths (HPN appendix B).
        Disjoint = "disjoint",
        /// A controller for all jobs: source ports that reach the least used paths (C4P, C4 section III-B).
        C4p = "c4p",
        /// A controller for all jobs that knows what their steps compute: the most intense job first on the least congested
        /// paths, and priorities of jobs (Crux, SIGCOMM 2024, section 4).
        Crux = "crux",
        /// The same with a priority for each job, up to the eight that there are (Crux, section 6.3).
        CruxPsPa = "crux-ps-pa",
        /// Priorities as before, over paths by lot (Crux, section 6.3).
        CruxPa = "crux-pa",
        /// Paths by lot, priorities in Sincronia's order of what a step sends (SIGCOMM 2018, algorithm 1).
        Sincronia = "sincronia",
        /// The same in Varys's order, smallest effective bottleneck first (SIGCOMM 2014).
        Varys = "varys",
        /// Paths and priorities of jobs with longer ways first (TACCL* of the Crux paper, section 4.4).
        Taccl = "taccl",
    }
}

/// How switches pick while packets come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BySwitch {
    /// Every switch, every packet: in turn to each link.
    InTurn,
    /// Every switch, every packet: to the least loaded link.
    LeastLoaded,
    /// Leaves, when a queue pair sends again after a pause: to the link that carried least.
    Flowlets,
}

impl BySwitch {
    /// Whether the packets of one queue pair take several paths at once, and so overtake each other.
    pub const fn spreads(self) -> bool {
        match self {
            Self::InTurn | Self::LeastLoaded => true,
            Self::Flowlets => false,
        }
    }

    /// Why a queue pair has no path of its own before it sends.
    pub const fn why(self) -> &'static str {
        match self {
            Self::InTurn | Self::LeastLoaded => "switches choose the path of every packet",
            Self::Flowlets => {
                "leaves choose the path by their load at the time when a queue pair starts to send"
            }
        }
    }
}

/// What a balancer is for all who do not pick paths themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Properties {
    /// How switches pick while packets come; none where a queue pair's path is known before it sends.
    pub by_switch: Option<BySwitch>,
    /// Whether switches hash the destination queue pair too.
    pub hashes_target: bool,
    /// Whether hosts draw source ports by lot.
    pub draws_ports: bool,
    /// Whether messages are split by what queue pairs can carry, whatever the case says, where no feedback tells hosts.
    pub is_dynamic: bool,
    /// Whether hosts keep the queue pairs of a connection off each other's links.
    pub is_disjoint: bool,
    /// How often it plans paths anew where the case does not say; none where it does so once after each change.
    pub plans_every: Option<SimTime>,
    /// Why a queue pair has its path, in a word, where nobody planned it for a reason of its own.
    pub reason: &'static str,
}

/// How often traffic engineering plans (Meta RoCE section 4.3.1).
pub const TE_PERIOD: SimTime = railtwin_control::te::controller::PERIOD;

impl Balancer {
    /// All that others go by.
    pub const fn properties(self) -> Properties {
        const HASHED: Properties = Properties {
            by_switch: None,
            hashes_target: false,
            draws_ports: false,
            is_dynamic: false,
            is_disjoint: false,
            plans_every: None,
            reason: "hashed",
        };
        match self {
            Self::Ecmp => HASHED,
            Self::EEcmp => Properties { hashes_target: true, ..HASHED },
            Self::Pinned => Properties { reason: "pinned", ..HASHED },
            Self::Flowlet => Properties { by_switch: Some(BySwitch::Flowlets), ..HASHED },
            Self::Spray => Properties { by_switch: Some(BySwitch::InTurn), ..HASHED },
            Self::Adaptive => Properties { by_switch: Some(BySwitch::LeastLoaded), ..HASHED },
            Self::DModK => Properties { reason: "destination", ..HASHED },
            Self::Te => {
                Properties { hashes_target: true, plans_every: Some(TE_PERIOD), reason: "placed", ..HASHED }
            }
            Self::MultipathEcn => {
                Properties { draws_ports: true, is_dynamic: true, reason: "drawn", ..HASHED }
            }
            Self::Disjoint => Properties { is_disjoint: true, reason: "disjoint", ..HASHED },
            Self::C4p => HASHED,
            Self::Crux | Self::CruxPsPa | Self::CruxPa | Self::Sincronia | Self::Varys | Self::Taccl => {
                HASHED
            }
        }
    }

    /// Whether it splits messages by what queue pairs can carry, whatever the case says, where no feedback tells hosts.
    pub const fn is_dynamic(self) -> bool {
        self.properties().is_dynamic
    }

    /// What the controller decides by that ranks jobs; none where there is none.
    pub const fn sharing(self) -> Option<SharingPolicy> {
        match self {
            Self::Crux => Some(SharingPolicy::Crux),
            Self::CruxPsPa => Some(SharingPolicy::CruxPsPa),
            Self::CruxPa => Some(SharingPolicy::CruxPa),
            Self::Sincronia => Some(SharingPolicy::Sincronia),
            Self::Varys => Some(SharingPolicy::Varys),
            Self::Taccl => Some(SharingPolicy::Taccl),
            _ => None,
        }
    }

    /// Whether a controller decides its paths, on hosts or for all of them.
    pub const fn has_controller(self) -> bool {
        matches!(self, Self::Te | Self::C4p | Self::Disjoint) || self.sharing().is_some()
    }

    /// Whether it sends the packets of one queue pair over several paths, where they overtake each other.
    pub const fn is_spread(self) -> bool {
        match self.properties().by_switch {
            Some(by_switch) => by_switch.spreads(),
            None => false,
        }
    }
}

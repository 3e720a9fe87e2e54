//! `[[fault]]`: what breaks or is mended, when, and how bad it is.
//!
//! [`rules`](self::rules) says which kind goes with what; [`resolve`](self::resolve), [`cables`](self::cables) and
//! [`planes`](self::planes) make of it what engines run.
pub(crate) mod cables;
pub(crate) mod planes;
pub(crate) mod resolve;
pub(crate) mod rules;

pub use railtwin_records::{FaultCause, FaultKind};
use railtwin_units::SimTime;
use railtwin_units::keys::{Kind, whole};

/// Flaps of one fault; each makes events for every cable of the thing.
const MOST_FLAPS: i64 = 10_000;

railtwin_units::section! {
    /// Something that breaks or is mended.
    #[derive(Clone, Debug, PartialEq)]
    pub struct FaultSpec "[[fault]]" {
        /// When; what is down at 0 s has been down for long.
        pub at: SimTime,
        /// What.
        pub subject: FaultSubject [flat],
        /// What happens to it.
        pub kind: FaultKind,
        /// When what went down is mended, or what was bad is well; default never.
        pub until: Option<SimTime> = None,
        /// How it is bad, and how much.
        pub measure: FaultMeasure [flat] = FaultMeasure::default(),
        /// The cable that a wrong cable has swapped its far end with, by the name of one of its ends.
        pub with: Option<String> = None,
    }
}

impl FaultSpec {
    /// A fault without any of the keys that belong to some kinds only.
    pub fn new(at: SimTime, subject: FaultSubject, kind: FaultKind) -> Self {
        Self { at, subject, kind, until: None, measure: FaultMeasure::default(), with: None }
    }
}

railtwin_units::section! {
    /// How a fault is bad, and how much: keys of which each kind has some.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct FaultMeasure "a fault" {
        /// How often it flaps; default 1.
        pub flaps: Option<u32> [whole(1..=MOST_FLAPS)] = None,
        /// From one flap to the next.
        pub period: Option<SimTime> = None,
        /// How long each flap lasts.
        pub length: Option<SimTime> = None,
        /// Whether what goes down keeps its carrier, so that its ports take it for up and only protocols that hear nothing
        /// tell: `lacp_rate`, `bgp_hold` and `bfd` of `[reaction]`; default false, the loss of light tells.
        pub carrier: Option<bool> = None,
        /// Which links: out of the named end, into it, or both; default both, for latency of a switch out. What goes down
        /// has it with `carrier = true` only: a loss of light takes both.
        pub direction: Option<Direction> = None,
        /// Share that is left: of a link's rate, for small-buffer of the buffer.
        pub capacity: Option<f64> = None,
        /// Share of packets that are lost.
        pub loss: Option<f64> = None,
        /// What is added: to every packet for latency, to a step for data and storage.
        pub delay: Option<SimTime> = None,
        /// How many times as long computations take.
        pub factor: Option<f64> [Kind::Share(1.0, 1000.0)] = None,
        /// Why a GPU fails or a process crashes.
        pub cause: Option<FaultCause> = None,
        /// In every which step storage stalls; default 1, each.
        pub every: Option<u32> [whole(1..=1_000_000)] = None,
    }
}

railtwin_units::choice! {
    /// Which of the links of what is named, seen from it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Direction {
        /// Those that leave it.
        Out = "out",
        /// Those that enter it.
        In = "in",
        /// All.
        Both = "both",
    }
}

railtwin_units::one_of! {
    /// What breaks, by name: all cables of a device go with it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum FaultSubject {
        /// A cable, by the name of one end, such as leaf-0:uplink-3.
        Cable(String) = "cable",
        /// A port, and the cable in it, such as host-0/nic-0:port-1.
        Port(String) = "port",
        /// A NIC, such as host-0/nic-0.
        Nic(String) = "nic",
        /// A leaf, such as leaf-0.
        Leaf(String) = "leaf",
        /// A spine, such as spine-0.
        Spine(String) = "spine",
        /// Any switch, NIC or host, such as core-0 or host-3.
        Device(String) = "device",
        /// A rank of a job, such as job-0/3.
        Rank(String) = "rank",
        /// A GPU, such as host-3/gpu-1.
        Gpu(String) = "gpu",
        /// A host, such as host-3: all its ranks or GPUs.
        Host(String) = "host",
        /// A job by name: all its ranks.
        Job(String) = "job",
        /// Storage as a whole: all ranks of all jobs.
        Storage(String) [Kind::Choice(&["all"])] = "storage",
    }
}

impl FaultSubject {
    /// The key and the name.
    pub fn parts(&self) -> (&'static str, &str) {
        let name = match self {
            Self::Cable(name)
            | Self::Port(name)
            | Self::Nic(name)
            | Self::Leaf(name)
            | Self::Spine(name)
            | Self::Device(name)
            | Self::Rank(name)
            | Self::Gpu(name)
            | Self::Host(name)
            | Self::Job(name)
            | Self::Storage(name) => name,
        };
        (self.key(), name)
    }
}

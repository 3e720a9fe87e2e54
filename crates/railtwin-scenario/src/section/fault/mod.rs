//! `[[fault]]`: what breaks or is mended, when, and how bad it is.
//!
//! [`rules`](self::rules) says which kind goes with what; [`resolve`](self::resolve) and [`cables`](self::cables) make
//! of it what engines run.
pub(crate) mod cables;
pub(crate) mod resolve;
pub(crate) mod rules;

pub use railtwin_records::{FaultCause, FaultKind};
use railtwin_units::SimTime;
use railtwin_units::keys::{Key, Kind, Table, joined, key, whole};
use serde::{Deserialize, Serialize};

/// Flaps of one fault; each makes events for every cable of the thing.
const MOST_FLAPS: i64 = 10_000;

/// Something that breaks or is mended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultSpec {
    /// When.
    pub at: SimTime,
    /// What.
    #[serde(flatten)]
    pub subject: FaultSubject,
    /// What happens to it.
    pub kind: FaultKind,
    /// When what went down is mended; none = never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<SimTime>,
    /// How it is bad, and how much.
    #[serde(flatten)]
    pub measure: FaultMeasure,
    /// The cable that a wrong cable has swapped its far end with, by the name of one of its ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
}

impl FaultSpec {
    /// A fault without any of the keys that belong to some kinds only.
    pub fn new(at: SimTime, subject: FaultSubject, kind: FaultKind) -> Self {
        Self { at, subject, kind, until: None, measure: FaultMeasure::default(), with: None }
    }

    /// How the section is described.
    pub(crate) const TABLE: Table = Table {
        title: "[[fault]]",
        keys: &joined::<{ HEAD.len() + FaultMeasure::TABLE.keys.len() + WITH.len() }>(&[
            HEAD,
            FaultMeasure::TABLE.keys,
            WITH,
        ]),
        exactly_one: &FaultSubject::KEYS,
        ..Table::EMPTY
    };
}

const HEAD: &[Key] = &[
    key("at", Kind::Time, "When; what is down at 0 s has been down for long.").required(),
    key("cable", Kind::Text, "A cable, by the name of one end, such as leaf-0:uplink-3."),
    key("port", Kind::Text, "A port, such as host-0/nic-0:port-1."),
    key("nic", Kind::Text, "A NIC, such as host-0/nic-0."),
    key("leaf", Kind::Text, "A leaf, such as leaf-0."),
    key("spine", Kind::Text, "A spine, such as spine-0."),
    key("device", Kind::Text, "Any switch, NIC or host, such as core-0 or host-3."),
    key("rank", Kind::Text, "A rank of a job, such as job-0/3."),
    key("gpu", Kind::Text, "A GPU, such as host-3/gpu-1."),
    key("host", Kind::Text, "A host, such as host-3: all its ranks or GPUs."),
    key("job", Kind::Text, "A job by name: all its ranks."),
    key("storage", Kind::Choice(&["all"]), "Storage as a whole: all ranks of all jobs."),
    key("kind", Kind::Choice(&FaultKind::NAMES), "What happens to it.").required(),
    key("until", Kind::Time, "When what went down is mended, or what was bad is well; default never."),
];

const WITH: &[Key] = &[key("with", Kind::Text, "The cable that a wrong cable has swapped its far end with.")];

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
        /// Which links: out of the named end, into it, or both; default both, for latency of a switch out.
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

/// What breaks, by name: all cables of a device go with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultSubject {
    /// A cable, by the name of one of its ends.
    Cable(String),
    /// A port, and the cable in it.
    Port(String),
    /// A NIC.
    Nic(String),
    /// A leaf.
    Leaf(String),
    /// A spine.
    Spine(String),
    /// Any switch, NIC or host.
    Device(String),
    /// A rank, as `job/rank`.
    Rank(String),
    /// A GPU.
    Gpu(String),
    /// A host: all its ranks or GPUs.
    Host(String),
    /// A job: all its ranks.
    Job(String),
    /// Storage: `all`.
    Storage(String),
}

impl FaultSubject {
    /// The keys, of which a fault has one.
    pub(crate) const KEYS: [&'static str; 11] =
        ["cable", "port", "nic", "leaf", "spine", "device", "rank", "gpu", "host", "job", "storage"];

    /// The key and the name.
    pub fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Cable(name) => ("cable", name),
            Self::Port(name) => ("port", name),
            Self::Nic(name) => ("nic", name),
            Self::Leaf(name) => ("leaf", name),
            Self::Spine(name) => ("spine", name),
            Self::Device(name) => ("device", name),
            Self::Rank(name) => ("rank", name),
            Self::Gpu(name) => ("gpu", name),
            Self::Host(name) => ("host", name),
            Self::Job(name) => ("job", name),
            Self::Storage(name) => ("storage", name),
        }
    }
}

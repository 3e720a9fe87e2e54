//! `[[fault]]`, `[reaction]`, `[transport]`: what breaks, how the network reacts, how queue pairs live through it.
use railtwin_units::SimTime;
use serde::{Deserialize, Serialize};

use crate::exact;

/// Something that breaks or is mended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultSpec {
    /// When.
    #[serde(serialize_with = "exact::write")]
    pub at: SimTime,
    /// What.
    #[serde(flatten)]
    pub subject: FaultSubject,
    /// What happens to it.
    pub kind: FaultKind,
    /// When what went down is mended; none = never.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "exact::write_option")]
    pub until: Option<SimTime>,
    /// How often it flaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaps: Option<u32>,
    /// From one flap to the next.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "exact::write_option")]
    pub period: Option<SimTime>,
    /// How long each flap lasts.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "exact::write_option")]
    pub length: Option<SimTime>,
    /// Which links of what is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// Share that is left, of a link's rate or of a buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<f64>,
    /// Share of packets that are lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// What is added to every packet, or to a step.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "exact::write_option")]
    pub delay: Option<SimTime>,
    /// How many times as long computations take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// Why a GPU fails or a process crashes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<FaultCause>,
    /// In every which step storage stalls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
    /// The cable that a wrong cable has swapped its far end with, by the name of one of its ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
}

impl FaultSpec {
    /// A fault without any of the keys that belong to some kinds only.
    pub fn new(at: SimTime, subject: FaultSubject, kind: FaultKind) -> Self {
        Self {
            at,
            subject,
            kind,
            until: None,
            flaps: None,
            period: None,
            length: None,
            direction: None,
            capacity: None,
            loss: None,
            delay: None,
            factor: None,
            cause: None,
            every: None,
            with: None,
        }
    }
}

/// Which of the links of what is named, seen from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Those that leave it.
    Out,
    /// Those that enter it.
    In,
    /// All.
    Both,
}

/// Why a GPU fails or a process crashes (C4 Table I's kinds of crashes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FaultCause {
    /// Memory of a GPU that cannot be corrected.
    Ecc,
    /// NVLink of a GPU.
    Nvlink,
    /// Any other CUDA error.
    Cuda,
    /// The process was evicted for want of memory.
    OutOfMemory,
    /// The program has a bug.
    Bug,
}

impl FaultCause {
    /// The names in scenarios.
    pub const NAMES: [&'static str; 5] = ["ecc", "nvlink", "cuda", "out-of-memory", "bug"];

    /// Whether it is a GPU that failed.
    pub fn is_of_gpu(self) -> bool {
        matches!(self, Self::Ecc | Self::Nvlink | Self::Cuda)
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

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FaultKind {
    /// It stops carrying anything.
    Down,
    /// It is mended, whatever fault of the same thing came before.
    Up,
    /// It goes down for a short while, once or again and again.
    Flap,
    /// Its links carry a share of their rate.
    Slow,
    /// Its links lose packets.
    Lossy,
    /// Its links take longer for every packet.
    Latency,
    /// Its far end and that of another cable are swapped, from the start of the run on.
    WrongCable,
    /// A NIC pauses its leaf without end.
    PauseStorm,
    /// A switch has less buffer than it believes.
    SmallBuffer,
    /// A GPU computes slower.
    SlowGpu,
    /// A GPU fails and takes its process along.
    GpuError,
    /// A process is gone.
    Crash,
    /// A rank lives and enters nothing more.
    Hang,
    /// A rank waits for its input in every step.
    SlowData,
    /// Storage holds ranks up in some steps.
    StorageStall,
    /// A rank hands another number of bytes to collectives.
    SizeMismatch,
}

impl FaultKind {
    /// All of them, in the order of their names.
    pub const ALL: [Self; 16] = [
        Self::Down,
        Self::Up,
        Self::Flap,
        Self::Slow,
        Self::Lossy,
        Self::Latency,
        Self::WrongCable,
        Self::PauseStorm,
        Self::SmallBuffer,
        Self::SlowGpu,
        Self::GpuError,
        Self::Crash,
        Self::Hang,
        Self::SlowData,
        Self::StorageStall,
        Self::SizeMismatch,
    ];

    /// The names in scenarios, in the order of the kinds.
    pub const NAMES: [&'static str; 16] = [
        "down",
        "up",
        "flap",
        "slow",
        "lossy",
        "latency",
        "wrong-cable",
        "pause-storm",
        "small-buffer",
        "slow-gpu",
        "gpu-error",
        "crash",
        "hang",
        "slow-data",
        "storage-stall",
        "size-mismatch",
    ];

    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The kind of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The kind that records call so; none where no scenario can say it.
    pub fn of_record(kind: railtwin_records::fault::FaultKind) -> Option<Self> {
        Self::named(kind.name())
    }

    /// The kind in records; none for a repair.
    pub fn recorded(self) -> Option<railtwin_records::fault::FaultKind> {
        railtwin_records::fault::FaultKind::named(self.name())
    }
}

/// How long each stage of the network's reaction takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReactionSpec {
    /// From the loss of light until a port counts as down.
    #[serde(serialize_with = "exact::write")]
    pub detection: SimTime,
    /// Then, until a NIC's bond has moved its queue pairs.
    #[serde(serialize_with = "exact::write")]
    pub lag_failover: SimTime,
    /// After detection, until a switch leaves its dead port out.
    #[serde(serialize_with = "exact::write")]
    pub ecmp_regroup: SimTime,
    /// After detection, until a switch has withdrawn routes.
    #[serde(serialize_with = "exact::write")]
    pub withdrawal: SimTime,
    /// Then, until all switches follow.
    #[serde(serialize_with = "exact::write")]
    pub convergence: SimTime,
    /// Whether leaves route the traffic of their own segment (HPN section 4.2).
    pub arp_proxy: bool,
    /// Life of a MAC address in a leaf's table.
    #[serde(serialize_with = "exact::write")]
    pub mac_aging: SimTime,
    /// From a repair until the port is in its bond again.
    #[serde(serialize_with = "exact::write")]
    pub lacp: SimTime,
    /// Then, until the leaf announces the host again.
    #[serde(serialize_with = "exact::write")]
    pub arp: SimTime,
}

impl Default for ReactionSpec {
    fn default() -> Self {
        let railtwin_engine::Reaction {
            detection,
            lag_failover,
            ecmp_regroup,
            withdrawal,
            convergence,
            arp_proxy,
            mac_aging,
            lacp,
            arp,
        } = railtwin_engine::Reaction::default();
        Self {
            detection,
            lag_failover,
            ecmp_regroup,
            withdrawal,
            convergence,
            arp_proxy,
            mac_aging,
            lacp,
            arp,
        }
    }
}

/// Timers of reliable connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TransportSpec {
    /// Exponent of the local ACK timeout.
    pub timeout: u32,
    /// Retransmissions before a queue pair dies.
    pub retry_count: u32,
    /// When a queue pair goes on over a new path.
    pub resume: Resume,
}

impl Default for TransportSpec {
    fn default() -> Self {
        let railtwin_engine::Transport { timeout, retry_count, .. } = railtwin_engine::Transport::default();
        Self { timeout, retry_count, resume: Resume::Nak }
    }
}

/// When a queue pair that lost packets goes on over a new path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resume {
    /// At once, by a negative acknowledgement.
    Nak,
    /// At its next retransmission.
    Timeout,
}

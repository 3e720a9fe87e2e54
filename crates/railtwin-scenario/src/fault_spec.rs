//! `[[fault]]`, `[reaction]`, `[transport]`: what breaks, how the network reacts, how queue pairs live through it.
use railtwin_units::SimTime;
use serde::{Deserialize, Serialize};

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
    /// How often it flaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaps: Option<u32>,
    /// From one flap to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<SimTime>,
    /// How long each flap lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

railtwin_units::choice! {
    /// Why a GPU fails or a process crashes (C4 Table I's kinds of crashes).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum FaultCause {
        /// Memory of a GPU that cannot be corrected.
        Ecc = "ecc",
        /// NVLink of a GPU.
        Nvlink = "nvlink",
        /// Any other CUDA error.
        Cuda = "cuda",
        /// The process was evicted for want of memory.
        OutOfMemory = "out-of-memory",
        /// The program has a bug.
        Bug = "bug",
    }
}

impl FaultCause {
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

railtwin_units::choice! {
    /// What happens.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum FaultKind {
        /// It stops carrying anything.
        Down = "down",
        /// It is mended, whatever fault of the same thing came before.
        Up = "up",
        /// It goes down for a short while, once or again and again.
        Flap = "flap",
        /// Its links carry a share of their rate.
        Slow = "slow",
        /// Its links lose packets.
        Lossy = "lossy",
        /// Its links take longer for every packet.
        Latency = "latency",
        /// Its far end and that of another cable are swapped, from the start of the run on.
        WrongCable = "wrong-cable",
        /// A NIC pauses its leaf without end.
        PauseStorm = "pause-storm",
        /// A switch has less buffer than it believes.
        SmallBuffer = "small-buffer",
        /// A GPU computes slower.
        SlowGpu = "slow-gpu",
        /// A GPU fails and takes its process along.
        GpuError = "gpu-error",
        /// A process is gone.
        Crash = "crash",
        /// A rank lives and enters nothing more.
        Hang = "hang",
        /// A rank waits for its input in every step.
        SlowData = "slow-data",
        /// Storage holds ranks up in some steps.
        StorageStall = "storage-stall",
        /// A rank hands another number of bytes to collectives.
        SizeMismatch = "size-mismatch",
    }
}

impl FaultKind {
    /// The kind that records call so; none where no scenario can say it.
    pub fn of_record(kind: railtwin_records::fault::FaultKind) -> Option<Self> {
        Self::named(kind.name())
    }

    /// The kind in records; none for a repair.
    pub fn recorded(self) -> Option<railtwin_records::fault::FaultKind> {
        railtwin_records::fault::FaultKind::named(self.name())
    }
}

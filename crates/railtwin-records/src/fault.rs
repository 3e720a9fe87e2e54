//! Every kind of fault that can be injected, and that a finding can name: one library for both.

/// What is wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
#[non_exhaustive]
pub enum FaultKind {
    /// A cable, or all cables of a port, NIC or switch, carry nothing.
    Down,
    /// The same for short whiles, again and again.
    Flap,
    /// A link carries less than its capacity.
    Slow,
    /// A link loses or damages packets (HPN section 10: local fault signals that the far end ignores).
    Lossy,
    /// A switch takes longer for every packet and drops none (Meta RoCE section 6.4.1: a changed image).
    Latency,
    /// A cable ends at another port than the blueprint says.
    WrongCable,
    /// A NIC sends pause frames without end (Meta RoCE section 6.3.2).
    PauseStorm,
    /// A switch with less buffer than it should have (Meta RoCE section 6.3.2: SRAM misconfiguration).
    SmallBuffer,
    /// A GPU computes slower.
    SlowGpu,
    /// A GPU dies of an ECC, NVLink or CUDA error and takes its process along.
    GpuError,
    /// A process is gone: evicted for want of memory, or crashed.
    Crash,
    /// A rank lives but enters no further operation.
    Hang,
    /// A rank waits for its input in every step.
    SlowData,
    /// Storage does not answer: checkpoints take long or do not end.
    StorageStall,
    /// A rank hands another number of bytes to a collective than its peers: a bug of the job.
    SizeMismatch,
}

impl FaultKind {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 15] = [
        Self::Down,
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

    /// The name in scenarios and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Flap => "flap",
            Self::Slow => "slow",
            Self::Lossy => "lossy",
            Self::Latency => "latency",
            Self::WrongCable => "wrong-cable",
            Self::PauseStorm => "pause-storm",
            Self::SmallBuffer => "small-buffer",
            Self::SlowGpu => "slow-gpu",
            Self::GpuError => "gpu-error",
            Self::Crash => "crash",
            Self::Hang => "hang",
            Self::SlowData => "slow-data",
            Self::StorageStall => "storage-stall",
            Self::SizeMismatch => "size-mismatch",
        }
    }

    /// The kind of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A fault that was injected, as ground truth beside what telemetry shows.
#[derive(Clone, PartialEq, Debug)]
pub struct Truth {
    /// When it began.
    pub from_ns: u64,
    /// When it ended; [`u64::MAX`] where it did not.
    pub until_ns: u64,
    /// What it was.
    pub kind: FaultKind,
    /// Where, as findings name it.
    pub component: crate::Component,
    /// How bad, in the kind's own measure: capacity left, loss rate, times slower, seconds of delay; 0 where it has none.
    pub severity: f64,
    /// Where it comes from: [`Truth::WRITTEN`], or the process and rate that it was drawn from.
    pub source: String,
}

impl Truth {
    /// The source of a fault that the scenario names one by one.
    pub const WRITTEN: &'static str = "scenario";

    /// Whether it was drawn by chance.
    pub fn is_drawn(&self) -> bool {
        self.source != Self::WRITTEN
    }
}

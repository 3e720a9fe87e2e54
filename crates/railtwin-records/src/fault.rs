//! Every kind of fault that can be injected, and that a finding can name: one library for both.

railtwin_units::choice! {
    /// What is wrong: what a scenario injects, and what a finding names.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    #[repr(u8)]
    pub enum FaultKind {
        /// A cable, or all cables of a port, NIC or switch, carry nothing.
        Down = "down",
        /// It is mended, whatever fault of the same thing came before: no fault, but told as one.
        Up = "up",
        /// The same as down for short whiles, again and again.
        Flap = "flap",
        /// A link carries less than its capacity.
        Slow = "slow",
        /// A link loses or damages packets (HPN section 10: local fault signals that the far end ignores).
        Lossy = "lossy",
        /// A link loses one packet: the first positive acknowledgement that it would have carried.
        LoseAcknowledgement = "lose-acknowledgement",
        /// A switch takes longer for every packet and drops none (Meta RoCE section 6.4.1: a changed image).
        Latency = "latency",
        /// The data plane of a switch stands still while its ports stay up and its control plane lives (HPN section 4.1).
        DataPlane = "data-plane",
        /// The control plane of a switch is dead while its ports stay up and its chip forwards: it has no routes.
        ControlPlane = "control-plane",
        /// A switch gets another version of its software.
        Upgrade = "upgrade",
        /// A cable ends at another port than the blueprint says.
        WrongCable = "wrong-cable",
        /// A NIC sends pause frames without end (Meta RoCE section 6.3.2).
        PauseStorm = "pause-storm",
        /// A switch with less buffer than it should have (Meta RoCE section 6.3.2: SRAM misconfiguration).
        SmallBuffer = "small-buffer",
        /// A GPU computes slower.
        SlowGpu = "slow-gpu",
        /// A GPU dies of an ECC, NVLink or CUDA error and takes its process along.
        GpuError = "gpu-error",
        /// A process is gone: evicted for want of memory, or crashed.
        Crash = "crash",
        /// A rank lives but enters no further operation.
        Hang = "hang",
        /// A rank waits for its input in every step.
        SlowData = "slow-data",
        /// Storage does not answer: checkpoints take long or do not end.
        StorageStall = "storage-stall",
        /// A rank hands another number of bytes to a collective than its peers: a bug of the job.
        SizeMismatch = "size-mismatch",
    }
}

railtwin_units::choice! {
    /// Why a GPU fails or a process crashes (C4 Table I's kinds of crashes).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Why a GPU failed or a process crashed; none of other kinds.
    pub cause: Option<FaultCause>,
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

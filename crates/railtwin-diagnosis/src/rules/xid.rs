//! What the numbers mean that NVIDIA's driver logs for GPU errors (docs.nvidia.com/deploy/xid-errors, and its catalog for A100 and
//! newer, `analyzing-xid-catalog`: what is to be done at once).

/// Whose fault an Xid is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Xid {
    /// Memory of the GPU: an error that could not be corrected, or rows that could not be replaced.
    Memory,
    /// Memory of the GPU, contained: a row was replaced, or only the process that touched it died.
    MemoryContained,
    /// NVLink.
    NvLink,
    /// The GPU does not answer on its bus.
    OffBus,
    /// NVLink 5: the number does not tell whether it is fatal; where it is, an Xid 154 follows that says what to do.
    NvLinkEvent,
    /// The driver says that the GPU must be reset, or its host started anew, before it works again.
    Reset,
    /// The GPU's own firmware stopped or does not answer.
    Firmware,
    /// The program on the GPU: a wrong address or instruction; seldom the GPU.
    Application,
    /// A process was cleaned up: what follows another cause, and is none.
    Follows,
}

impl Xid {
    /// A few words for evidence.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Memory => "uncorrected memory error",
            Self::MemoryContained => "contained memory error",
            Self::NvLink => "NVLink error",
            Self::NvLinkEvent => "NVLink event, which may be harmless",
            Self::Reset => "GPU must be reset",
            Self::OffBus => "GPU has fallen off the bus",
            Self::Firmware => "GPU firmware stopped",
            Self::Application => "error of the program",
            Self::Follows => "clean-up after another error",
        }
    }

    /// How surely it is the GPU that must go, 0..1.
    pub const fn hardware(self) -> f64 {
        match self {
            Self::OffBus | Self::Memory => 0.95,
            Self::NvLink | Self::Firmware | Self::Reset => 0.85,
            Self::MemoryContained => 0.6,
            // Below an accusation.
            Self::NvLinkEvent => 0.4,
            Self::Application => 0.15,
            Self::Follows => 0.0,
        }
    }
}

/// The meaning of an Xid; none for 0 and for numbers that tell nothing about who is at fault.
pub const fn xid_meaning(number: u32) -> Option<Xid> {
    match number {
        // Double-bit error; replacement of a row or page failed; uncontained error; error that no row was replaced for; what
        // newer drivers say beside 48 of memory and of caches.
        48 | 64 | 95 | 140 | 171 | 172 => Some(Xid::Memory),
        // Row or page set aside; high rate of single bits; contained error.
        63 | 92 | 94 => Some(Xid::MemoryContained),
        // Error of a link; training of a link failed.
        74 | 136 => Some(Xid::NvLink),
        144..=150 => Some(Xid::NvLinkEvent),
        // `RESET_GPU` in the catalog: engines that do not stop; context switch that does not end; security fault; start of the
        // GPU failed; parts set aside, which takes a reset; timeout that is fatal. And the action that the driver asks for.
        46 | 109 | 110 | 143 | 154 | 156 | 158 => Some(Xid::Reset),
        79 => Some(Xid::OffBus),
        // Micro-controller halt; GSP firmware does not answer or failed.
        62 | 119 | 120 => Some(Xid::Firmware),
        // Graphics engine exception; page fault; stopped processing after an error of the program.
        13 | 31 | 43 => Some(Xid::Application),
        45 => Some(Xid::Follows),
        _ => None,
    }
}

//! Classes of port counters: the side of the cable or connection that a growing counter speaks of.
use serde::Serialize;

/// Meaning of a counter of a NIC or switch port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortClass {
    /// Pauses that the port sends: its host or device takes packets in too slowly.
    PauseSent,
    /// Packets that the port drops for want of buffers or receive requests.
    Drop,
    /// Damaged packets or signals at the port itself.
    OwnError,
    /// Packets lost on the paths of the port, as its transport notices.
    Loss,
    /// Errors that the far end of a connection reports, or causes.
    PeerError,
    /// Pauses or missing credits that keep the port from sending: its far end causes them.
    PauseReceived,
    /// Marks and notifications of congestion control: normal under load.
    Congestion,
    /// Errors that the hardware corrects: normal.
    Corrected,
    /// Packets, bytes and requests.
    Traffic,
    /// Consequences of other errors, settings and events that accuse nobody.
    Harmless,
}

impl PortClass {
    /// Sentence part for a port that counts this.
    pub const fn words(self) -> &'static str {
        match self {
            Self::PauseSent => "sends pauses",
            Self::Drop => "drops packets",
            Self::OwnError => "receives damaged packets or has errors of its own",
            Self::Loss => "packets are lost on its paths",
            Self::PeerError => "errors at its peer or on the way to it",
            Self::PauseReceived => "is held up by its far end",
            Self::Congestion => "congestion control works",
            Self::Corrected => "errors are corrected",
            Self::Traffic => "traffic",
            Self::Harmless => "no fault",
        }
    }

    /// Whether the component that counts is itself the likely fault.
    pub const fn is_own(self) -> bool {
        matches!(self, Self::PauseSent | Self::Drop | Self::OwnError)
    }

    /// Whether growth of such a counter can be a symptom.
    pub const fn is_symptom(self) -> bool {
        self.is_own() || matches!(self, Self::Loss | Self::PeerError | Self::PauseReceived)
    }
}

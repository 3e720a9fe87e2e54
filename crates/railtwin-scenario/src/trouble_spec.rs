//! `[[trouble]]`: what goes wrong with packets while cables are up, for the packet engine.
use railtwin_units::SimTime;
use serde::{Deserialize, Serialize};

/// A trouble in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TroubleSpec {
    /// What it is.
    #[serde(flatten)]
    pub kind: TroubleKind,
    /// When it begins.
    #[serde(default)]
    pub from: SimTime,
    /// When it ends; none = never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<SimTime>,
}

/// What goes wrong, with the name of where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TroubleKind {
    /// One direction of a cable loses packets.
    Loss {
        /// The cable, by the name of one of its ends.
        cable: String,
        /// The direction.
        towards: Towards,
        /// Share of packets lost.
        share: f64,
    },
    /// One direction of a cable loses one packet, the first without payload.
    LoseAcknowledgement {
        /// The cable, by the name of one of its ends.
        cable: String,
        /// The direction.
        towards: Towards,
    },
    /// A NIC takes packets in at a share of its rate.
    SlowReceiver {
        /// The NIC.
        nic: String,
        /// Share of the rate of its port.
        share: f64,
    },
    /// A NIC port pauses its leaf without end.
    PauseStorm {
        /// The port of the NIC.
        port: String,
    },
    /// A switch drops what finds more than a share of its buffer filled.
    SmallBuffer {
        /// The switch.
        switch: String,
        /// Share of the buffer that works.
        share: f64,
    },
}

impl TroubleKind {
    /// The names in scenarios.
    pub const NAMES: [&'static str; 5] =
        ["loss", "lose-acknowledgement", "slow-receiver", "pause-storm", "small-buffer"];
}

railtwin_units::choice! {
    /// Which of the two links of a cable.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Towards {
        /// From the switch down to the host or the lower switch.
        Host = "host",
        /// From the host or the lower switch up.
        Network = "network",
    }
}

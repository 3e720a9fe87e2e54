//! `[[fault]]`, `[reaction]`, `[transport]`: what breaks, how the network reacts, how queue pairs live through it.
use railtwin_units::SimTime;
use serde::{Deserialize, Serialize};

use crate::exact;

/// Something that breaks or is mended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
}

impl FaultSubject {
    /// The keys, of which a fault has one.
    pub(crate) const KEYS: [&'static str; 6] = ["cable", "port", "nic", "leaf", "spine", "device"];

    /// The key and the name.
    pub fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Cable(name) => ("cable", name),
            Self::Port(name) => ("port", name),
            Self::Nic(name) => ("nic", name),
            Self::Leaf(name) => ("leaf", name),
            Self::Spine(name) => ("spine", name),
            Self::Device(name) => ("device", name),
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

//! A line of the table.
use railtwin_units::Rate;
use serde::Serialize;

use crate::money::{Money, Power};

railtwin_units::choice! {
    /// Kind of a part, the name of its table in TOML.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum PartKind {
        /// A switch with its ports, without optics.
        Switch = "switch",
        /// A network adapter.
        Nic = "nic",
        /// A transceiver: one end of a fibre.
        Optic = "optic",
        /// A cable with both of its ends: copper, or active optical.
        Cable = "cable",
        /// Fibre between two transceivers.
        Fibre = "fibre",
        /// A host with its GPUs, without what it takes to reach the network.
        Host = "host",
    }
}

railtwin_units::choice! {
    /// What carries the signal.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum Medium {
        /// Passive copper.
        Copper = "copper",
        /// Copper with a retimer or an amplifier.
        ActiveCopper = "active-copper",
        /// Fibre whose transceivers cannot be unplugged.
        ActiveOptical = "active-optical",
        /// Multimode fibre between transceivers.
        Multimode = "multimode",
        /// Single-mode fibre between transceivers.
        SingleMode = "single-mode",
    }
}

/// A price that follows another one.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct PriceShare {
    /// Name of the other part.
    pub of: String,
    /// Its share of the other price.
    pub share: f64,
    /// Whether the share is assumed.
    pub is_assumed: bool,
}

/// A part.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Part {
    /// Name, unique in a catalog.
    pub name: String,
    /// Kind.
    pub kind: PartKind,
    /// Ports of a switch or NIC; 0 otherwise.
    pub ports: u32,
    /// Capacity of a port, or of the link that a transceiver or cable carries; zero for fibre and hosts.
    pub rate: Rate,
    /// Medium of an optic, cable or fibre.
    pub medium: Option<Medium>,
    /// Longest link, metres; 0 where it does not apply.
    pub reach_m: f64,
    /// Price of one, US dollars; of fibre its ends.
    pub usd: f64,
    /// Price of a metre, US dollars.
    pub usd_per_m: f64,
    /// Power of one, watts; of a cable both its ends.
    pub watts: f64,
    /// Where the figures come from that are not assumed.
    pub source: Option<String>,
    /// Whether the price is assumed.
    pub is_usd_assumed: bool,
    /// Whether the power is assumed.
    pub is_watts_assumed: bool,
    /// The part whose price this one's is a share of.
    pub share_of: Option<PriceShare>,
}

impl Part {
    /// An empty line of a name.
    pub(crate) fn new(kind: PartKind, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            ports: 0,
            rate: Rate::ZERO,
            medium: None,
            reach_m: 0.0,
            usd: 0.0,
            usd_per_m: 0.0,
            watts: 0.0,
            source: None,
            is_usd_assumed: false,
            is_watts_assumed: false,
            share_of: None,
        }
    }

    /// Price of one of `metres`.
    pub fn price(&self, metres: f64) -> Money {
        Money::new(self.usd + self.usd_per_m * metres, self.is_usd_assumed)
    }

    /// Power of one.
    pub const fn power(&self) -> Power {
        Power::new(self.watts, self.is_watts_assumed)
    }

    /// Capacity of all ports.
    pub fn capacity(&self) -> Rate {
        self.rate * u64::from(self.ports)
    }
}

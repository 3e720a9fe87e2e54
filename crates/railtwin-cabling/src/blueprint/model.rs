//! The model of a design: classes, zones and links by rows, and the names of devices and ports.
use railtwin_fabric::cable_list::DeviceRole;
use railtwin_units::Rate;

use crate::error::{CablingError, Refused};

railtwin_units::choice! {
    /// Which switch of a class an interface of a server goes to.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Homing {
        /// Interfaces of a link in turn over all switches: the first to the first switch.
        Port = "port",
        /// By rail: a switch for each rail, repeated for the next servers when a zone is full; where there are fewer switches
        /// than rails, neighbouring rails share one.
        Rail = "rail",
        /// Servers in turn over all switches; all interfaces of a link of a server on one switch.
        Server = "server",
        /// Servers in runs: the first run on the first switch.
        Block = "block",
    }
}

railtwin_units::choice! {
    /// How ports of a zone go to the switches of another class.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum PortSpread {
        /// In turn.
        Alternate = "alternate",
        /// In runs.
        Block = "block",
    }
}

/// Switches or servers with ports of which each is named.
#[derive(Clone, PartialEq, Debug)]
pub struct Blueprint {
    /// Name of the design.
    pub name: String,
    /// File of parts that the design names, for a bill of materials.
    pub parts: Option<String>,
    /// Classes of switches.
    pub switches: Vec<SwitchClass>,
    /// Classes of servers, in the order in which they take ports.
    pub servers: Vec<ServerClass>,
    /// Names of ports of switches: `{}` stands for the port, or port and lane.
    pub(crate) port_name: String,
    /// Digits of numbers of servers and of switches.
    pub(crate) digits: [usize; 2],
    /// Source of the design, for errors.
    pub(crate) source_name: String,
}

/// A class of switches.
#[derive(Clone, PartialEq, Debug)]
pub struct SwitchClass {
    /// Name of the class; switches are `name-01` and so on.
    pub name: String,
    /// Leaf, spine or core.
    pub role: DeviceRole,
    /// Fabric whose tiers uplinks join.
    pub fabric: String,
    /// Switches.
    pub count: u32,
    /// Part of the switch in the table of parts.
    pub part: Option<String>,
    /// Zones of ports.
    pub zones: Vec<PortZone>,
    pub(crate) line: u64,
}

/// Ports of a switch that serve one purpose.
#[derive(Clone, PartialEq, Debug)]
pub struct PortZone {
    /// Name of the zone in its class.
    pub name: String,
    /// Purpose.
    pub use_: ZoneUse,
    /// Physical ports in the order in which they are handed out.
    pub ports: Vec<u32>,
    /// Lanes of a port; with more than one, lane `l` of port `p` is `p/l`.
    pub lanes: u32,
    /// Capacity of a lane.
    pub rate: Rate,
    /// Transceiver of a port in the table of parts.
    pub optic: Option<String>,
}

/// Purpose of a zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ZoneUse {
    /// For links of servers, and for peers.
    Attach,
    /// To the next tier of the fabric.
    Up,
    /// For uplinks of the tier below.
    Down,
    /// To the other switches of the fabric that have such a zone: so many cables to each; none shares all ports.
    Mesh(Option<u32>),
    /// To a zone of another class, by rows.
    Peer {
        /// Row of the class.
        class: u32,
        /// Row of the zone in it.
        zone: u32,
        /// How ports go to its switches.
        spread: PortSpread,
    },
}

/// A class of servers.
#[derive(Clone, PartialEq, Debug)]
pub struct ServerClass {
    /// Name of the class.
    pub name: String,
    /// Name of its devices, the class's name unless said: `device-001` and so on.
    pub device: String,
    /// Number of the first.
    pub first: u32,
    /// Servers.
    pub count: u32,
    /// Part of the server in the table of parts.
    pub part: Option<String>,
    /// NICs by name, with their part.
    pub nics: Vec<(String, String)>,
    /// Links, in the order in which they take ports.
    pub links: Vec<Link>,
    pub(crate) line: u64,
}

/// Interfaces of each server of a class that go to one zone.
#[derive(Clone, PartialEq, Debug)]
pub struct Link {
    /// Interfaces, each with its rail.
    pub interfaces: Vec<(String, u32)>,
    /// Row of the class of switches.
    pub class: u32,
    /// Row of the zone in it.
    pub zone: u32,
    /// Which switch of the class.
    pub homing: Homing,
    /// Transceiver at the server in the table of parts.
    pub optic: Option<String>,
}

impl PortZone {
    /// Logical ports: lanes of all ports.
    #[inline]
    pub fn slots(&self) -> u32 {
        self.ports.len() as u32 * self.lanes
    }

    /// Physical port and lane of a slot; no lane where a port has one.
    pub(crate) fn slot(&self, slot: u32) -> (u32, Option<u32>) {
        let port = self.ports[(slot / self.lanes) as usize];
        (port, (self.lanes > 1).then_some(slot % self.lanes + 1))
    }
}

/// An end of a cable by rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WireEnd {
    Server { class: u32, index: u32, link: u32, port: u32 },
    Switch { class: u32, index: u32, zone: u32, slot: u32 },
}

/// A cable by rows; its last end is a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wire {
    pub(crate) ends: [WireEnd; 2],
}

impl Blueprint {
    pub(crate) fn error(&self, field: String, line: u64, refused: Refused) -> CablingError {
        let Refused { problem, accepted } = refused;
        CablingError { source_name: self.source_name.clone(), line, field, problem, accepted }
    }

    pub(super) fn role(&self, end: WireEnd) -> DeviceRole {
        match end {
            WireEnd::Server { .. } => DeviceRole::Host,
            WireEnd::Switch { class, .. } => self.switches[class as usize].role,
        }
    }

    /// Rate of a cable: that of the lane at its last end, which is a switch.
    pub(super) fn rate(&self, wire: &Wire) -> Rate {
        match wire.ends[1] {
            WireEnd::Switch { class, zone, .. } => self.switches[class as usize].zones[zone as usize].rate,
            WireEnd::Server { .. } => Rate::ZERO,
        }
    }

    pub(crate) fn device_name(&self, end: WireEnd) -> String {
        match end {
            WireEnd::Server { class, index, .. } => {
                let class = &self.servers[class as usize];
                format!(
                    "{}-{:0width$}",
                    class.device,
                    u64::from(class.first) + u64::from(index),
                    width = self.digits[0]
                )
            }
            WireEnd::Switch { class, index, .. } => {
                let name = &self.switches[class as usize].name;
                format!("{name}-{:0width$}", index + 1, width = self.digits[1])
            }
        }
    }

    pub(crate) fn port_name(&self, end: WireEnd) -> String {
        match end {
            WireEnd::Server { class, link, port, .. } => {
                self.servers[class as usize].links[link as usize].interfaces[port as usize].0.clone()
            }
            WireEnd::Switch { class, zone, slot, .. } => {
                let (port, lane) = self.switches[class as usize].zones[zone as usize].slot(slot);
                let number = lane.map_or_else(|| port.to_string(), |lane| format!("{port}/{lane}"));
                self.port_name.replace("{}", &number)
            }
        }
    }
}

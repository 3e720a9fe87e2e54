//! The list itself: devices, ports and cables with dense rows.
use std::collections::BTreeMap;

use railtwin_units::{Rate, SimTime};

use crate::graph::NONE;

railtwin_units::choice! {
    /// What a device of a cable list is.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum DeviceRole {
        /// A host with GPUs.
        Host = "host",
        /// A backup host.
        SpareHost = "spare-host",
        /// A host that stores, or any other without GPUs.
        StorageHost = "storage-host",
        /// A host by which requests come.
        Gateway = "gateway",
        /// A switch whose ports lead to hosts.
        Leaf = "leaf",
        /// A switch above leaves.
        Spine = "spine",
        /// A switch above spines.
        Core = "core",
    }
}

impl DeviceRole {
    /// Whether it is a host of any kind.
    #[inline]
    pub const fn is_host(self) -> bool {
        matches!(self, Self::Host | Self::SpareHost | Self::StorageHost | Self::Gateway)
    }

    /// Distance from hosts: 0 for hosts, 1 for leaves, 2 for spines, 3 for cores.
    #[inline]
    pub const fn tier(self) -> u8 {
        match self {
            Self::Leaf => 1,
            Self::Spine => 2,
            Self::Core => 3,
            _ => 0,
        }
    }
}

railtwin_units::choice! {
    /// The networks of a cluster, which are told apart even where they share switches.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum CableNetwork {
        /// That of GPUs' NICs.
        Backend = "backend",
        /// That of frontend NICs.
        Frontend = "frontend",
        /// One of its own for storage.
        Storage = "storage",
        /// Management: BMCs, consoles.
        OutOfBand = "oob",
    }
}

/// Place that a list states for a device; [`NONE`] in a field that does not apply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatedPlace {
    /// Pod.
    pub pod: u32,
    /// Segment in the pod.
    pub segment: u32,
    /// Rail.
    pub rail: u32,
    /// Plane.
    pub plane: u32,
    /// Index among its like.
    pub index: u32,
}

/// A device of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedDevice {
    /// Its name.
    pub name: String,
    /// Its role, where the list states it.
    pub role: Option<DeviceRole>,
    /// Its network, where the list states it.
    pub network: Option<CableNetwork>,
    /// Its place, where the list states it.
    pub place: Option<StatedPlace>,
    /// Its rack, where the list states it.
    pub rack: Option<String>,
    /// Its ports, by row.
    pub ports: Vec<u32>,
}

/// Place of a device; [`NONE`] in a field that does not apply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListedPlace {
    /// Its role.
    pub role: DeviceRole,
    /// Its network; of a host the first that it is on.
    pub network: CableNetwork,
    /// Pod.
    pub pod: u32,
    /// Segment in the pod, of hosts and leaves.
    pub segment: u32,
    /// Rail, of leaves that do not serve all.
    pub rail: u32,
    /// Plane, of switches where there are several.
    pub plane: u32,
    /// Index among its like.
    pub index: u32,
}

/// Site of a port of a host: network, NIC in that network, port of the NIC. Of a switch only the network counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortSite {
    /// Its network.
    pub network: CableNetwork,
    /// NIC among those of the host in this network.
    pub nic: u32,
    /// Port of the NIC.
    pub port: u32,
}

/// A port of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedPort {
    /// Row of its device.
    pub device: u32,
    /// Its name on the device.
    pub name: String,
    /// Its capacity; none where the list does not say.
    pub rate: Option<Rate>,
    /// Row of its cable; [`NONE`] where it is free.
    pub cable: u32,
    /// Line of the file, from 1; 0 for lists that are not of a file.
    pub line: u64,
}

/// A cable of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListedCable {
    /// Rows of its ports.
    pub ports: [u32; 2],
    /// Propagation delay; none where the list does not say.
    pub delay: Option<SimTime>,
}

/// A cable list with dense rows.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct CableList {
    /// Name of the fabric, where the list states it.
    pub title: Option<String>,
    /// Latency of its switches, where the list states it.
    pub switch_latency: Option<SimTime>,
    devices: Vec<ListedDevice>,
    ports: Vec<ListedPort>,
    cables: Vec<ListedCable>,
    device_rows: BTreeMap<String, u32>,
    port_rows: Vec<BTreeMap<String, u32>>,
}

impl CableList {
    /// The devices.
    #[inline]
    pub fn devices(&self) -> &[ListedDevice] {
        &self.devices
    }

    /// The ports.
    #[inline]
    pub fn ports(&self) -> &[ListedPort] {
        &self.ports
    }

    /// The cables, in the order of the list.
    #[inline]
    pub fn cables(&self) -> &[ListedCable] {
        &self.cables
    }

    /// A device, for what the list states of it.
    #[inline]
    pub fn device_mut(&mut self, device: u32) -> &mut ListedDevice {
        &mut self.devices[device as usize]
    }

    /// States a device's role, network and place.
    pub fn state_place(&mut self, device: u32, at: &ListedPlace) {
        let &ListedPlace { role, network, pod, segment, rail, plane, index } = at;
        let device = &mut self.devices[device as usize];
        (device.role, device.network) = (Some(role), Some(network));
        device.place = Some(StatedPlace { pod, segment, rail, plane, index });
    }

    /// Row of the device of a name; enters it where it is new.
    pub fn device(&mut self, name: &str) -> u32 {
        if let Some(&row) = self.device_rows.get(name) {
            return row;
        }
        let row = self.devices.len() as u32;
        self.device_rows.insert(name.to_owned(), row);
        self.port_rows.push(BTreeMap::new());
        self.devices.push(ListedDevice {
            name: name.to_owned(),
            role: None,
            network: None,
            place: None,
            rack: None,
            ports: Vec::new(),
        });
        row
    }

    /// Row of a port of a device; enters it where it is new.
    pub fn port(&mut self, device: u32, name: &str, rate: Option<Rate>, line: u64) -> u32 {
        if let Some(&row) = self.port_rows[device as usize].get(name) {
            return row;
        }
        let row = self.ports.len() as u32;
        self.port_rows[device as usize].insert(name.to_owned(), row);
        self.devices[device as usize].ports.push(row);
        self.ports.push(ListedPort { device, name: name.to_owned(), rate, cable: NONE, line });
        row
    }

    /// Joins two free ports.
    ///
    /// # Errors
    /// The port that holds a cable already.
    pub fn join(&mut self, ports: [u32; 2], delay: Option<SimTime>) -> Result<u32, u32> {
        for port in ports {
            if self.ports[port as usize].cable != NONE || ports[0] == ports[1] {
                return Err(port);
            }
        }
        let row = self.cables.len() as u32;
        for port in ports {
            self.ports[port as usize].cable = row;
        }
        self.cables.push(ListedCable { ports, delay });
        Ok(row)
    }

    /// Row of a device by name.
    pub fn device_named(&self, name: &str) -> Option<u32> {
        self.device_rows.get(name).copied()
    }

    /// Row of a port of a device by name.
    pub fn port_named(&self, device: u32, name: &str) -> Option<u32> {
        self.port_rows.get(device as usize)?.get(name).copied()
    }

    /// The port at the other end of the cable of a port; none where the port is free.
    #[inline]
    pub fn peer(&self, port: u32) -> Option<u32> {
        let cable = self.cables.get(self.ports[port as usize].cable as usize)?;
        Some(if cable.ports[0] == port { cable.ports[1] } else { cable.ports[0] })
    }

    /// Row of the device of a port.
    #[inline]
    pub fn device_of(&self, port: u32) -> u32 {
        self.ports[port as usize].device
    }
}

/// Name of a port as messages have it: `host-3/nic-1:port-0` of a host, `leaf-5:uplink-2` of a switch.
pub fn full_name(device: &str, port: &str, is_host: bool) -> String {
    format!("{device}{}{port}", if is_host { '/' } else { ':' })
}

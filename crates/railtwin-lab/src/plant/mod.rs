//! A fabric as namespaces of this host: which there are, and which pairs of virtual Ethernet join them.
//!
//! A veth pair stands for a cable. At a leaf it has the name that the configuration of the switch routes by, and the
//! names of the ports of the bond beside that, since the kernel here may have no bonding driver; at a host it has the name
//! of the NIC port.
mod build;
mod daemons;
mod shape;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use railtwin_fabric::{CableId, DeviceId, Fabric, HostId, LinkId};
use railtwin_formats::switch_config::{FabricPlan, HostNic};

use crate::host::LabRefusal;

pub(crate) use build::{build, restore_routes};
pub use daemons::{Frr, FrrSetting, routes_within, wait_for_routes};
pub(crate) use daemons::{kill_daemon, run_folder};
pub(crate) use shape::{Drop, drop_packets, stop_dropping};

/// Most switches and hosts of a lab: each switch runs three daemons of about 13 MiB together.
pub const NODES_MAX: usize = 96;

/// One end of a cable: a namespace and an interface in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlantEnd {
    /// Namespace, with the name of the switch or host.
    pub node: String,
    /// Interface.
    pub interface: String,
    /// Another name of the interface: that of the port where the interface is named as a bond.
    pub port: Option<String>,
}

/// One cable.
#[derive(Clone, Debug)]
pub struct PlantCable {
    /// Cable of the fabric.
    pub cable: CableId,
    /// Its ends, in the order of the fabric.
    pub ends: [PlantEnd; 2],
    /// Capacity each way, Mbit/s.
    pub mbit: u64,
}

/// A NIC of a host.
#[derive(Clone, Debug)]
pub struct PlantNic {
    /// Device of the fabric.
    pub nic: DeviceId,
    /// Host.
    pub host: HostId,
    /// Namespace.
    pub node: String,
    /// Address, on the loopback interface of the host.
    pub address: Ipv4Addr,
    /// Address of the gateway, which each leaf of the set has.
    pub gateway: Ipv4Addr,
    /// Interfaces, by port.
    pub interfaces: Vec<String>,
}

/// A fabric as namespaces.
#[derive(Clone, Debug)]
pub struct Plant {
    /// The fabric.
    pub fabric: Fabric,
    /// Addresses and numbers.
    pub plan: FabricPlan,
    /// Cables in the order of their ids.
    pub cables: Vec<PlantCable>,
    /// NICs in the order of hosts.
    pub nics: Vec<PlantNic>,
    /// Link that leaves a namespace by an interface.
    links: BTreeMap<(String, String), LinkId>,
}

impl Plant {
    /// Lays a fabric out.
    ///
    /// # Errors
    /// [`LabRefusal`] where it is too large, has a frontend network, or a NIC has several cables into one leaf.
    pub fn new(fabric: Fabric, plan: FabricPlan) -> Result<Self, LabRefusal> {
        let nodes = plan.switches.len() + plan.hosts.len();
        if nodes > NODES_MAX {
            let message = format!("{nodes} switches and hosts are more than a lab runs, {NODES_MAX}");
            return Err(LabRefusal::new(message, "write a smaller fabric"));
        }
        if plan.hosts.iter().any(|host| host.nics.iter().any(|nic| nic.is_frontend)) {
            return Err(LabRefusal::new("a lab has no frontend network", "leave [frontend] out"));
        }
        let mut plant = Self { fabric, plan, cables: Vec::new(), nics: Vec::new(), links: BTreeMap::new() };
        plant.lay_cables()?;
        plant.place_nics();
        for (row, cable) in plant.cables.iter().enumerate() {
            let ports = plant.fabric.cable_ports(cable.cable);
            for (end, port) in cable.ends.iter().zip(ports) {
                let link = plant.fabric.link_from(plant.cables[row].cable, port);
                plant.links.insert((end.node.clone(), end.interface.clone()), link);
            }
        }
        Ok(plant)
    }

    fn lay_cables(&mut self) -> Result<(), LabRefusal> {
        for cable in self.fabric.cables() {
            let ports = self.fabric.cable_ports(cable);
            let is_network =
                ports.iter().all(|&port| self.fabric.is_network(self.fabric.link_from(cable, port)));
            if !is_network {
                continue;
            }
            let end = |port| {
                let device = self.fabric.port_device(port);
                match self.fabric.switch_row(device) {
                    Some(row) => self.switch_end(row as usize, self.fabric.port_index(port)),
                    None => self.host_end(device, cable),
                }
            };
            let ends = [end(ports[0])?, end(ports[1])?];
            let mbit = self.fabric.capacity(cable.forward()).bits_per_s() / 1_000_000;
            if mbit == 0 {
                let message = format!("{}:{} carries less than 1 Mbps", ends[0].node, ends[0].interface);
                return Err(LabRefusal::new(message, "write rates from 1 Mbps on"));
            }
            self.cables.push(PlantCable { cable, ends, mbit });
        }
        Ok(())
    }

    fn switch_end(&self, row: usize, port: u32) -> Result<PlantEnd, LabRefusal> {
        let switch = &self.plan.switches[row];
        let node = switch.name.clone();
        if let Some(found) = switch.ports.iter().find(|one| one.port == port) {
            return Ok(PlantEnd { node, interface: found.interface.clone(), port: None });
        }
        let has_port = |one: &&railtwin_formats::switch_config::Attachment| {
            one.members.iter().any(|(member, _)| *member == port)
        };
        let found = switch.attachments.iter().find(has_port);
        let Some(found) = found else {
            return Err(LabRefusal::new(
                format!("the plan of {node} has no port {port}"),
                "plan this fabric",
            ));
        };
        match found.members.as_slice() {
            [(_, name)] => {
                let port = (*name != found.interface).then(|| name.clone());
                Ok(PlantEnd { node, interface: found.interface.clone(), port })
            }
            several => Err(LabRefusal::new(
                format!("{} has {} cables into {node}", found.nic, several.len()),
                "a lab has one cable from a NIC to each leaf, as there is no bonding driver to count on",
            )),
        }
    }

    fn host_end(&self, nic: DeviceId, cable: CableId) -> Result<PlantEnd, LabRefusal> {
        let host = self.fabric.host_of(nic).map(|host| (host, &self.plan.hosts[host.index()]));
        let Some((host, plan)) = host else {
            let message = format!("{} is no NIC of a host", self.fabric.device_name(nic));
            return Err(LabRefusal::new(message, "write a fabric of hosts and switches"));
        };
        let is_it =
            |port: &u32| self.fabric.access_link(nic, *port).is_some_and(|link| link.cable() == cable);
        let mut ports = (0..).take_while(|&port| self.fabric.access_link(nic, port).is_some());
        let port = ports.find(is_it).unwrap_or(0);
        let index =
            (0..plan.nics.len() as u32).find(|&index| self.fabric.nic(host, index) == nic).unwrap_or(0);
        Ok(PlantEnd { node: plan.name.clone(), interface: format!("nic{index}p{port}"), port: None })
    }

    fn place_nics(&mut self) {
        for (row, host) in self.plan.hosts.iter().enumerate() {
            for (index, nic) in host.nics.iter().enumerate() {
                let HostNic { address, subnet, ports, .. } = nic;
                let host_id = HostId::from_index(row);
                self.nics.push(PlantNic {
                    nic: self.fabric.nic(host_id, index as u32),
                    host: host_id,
                    node: host.name.clone(),
                    address: *address,
                    gateway: subnet.gateway(),
                    interfaces: (0..*ports).map(|port| format!("nic{index}p{port}")).collect(),
                });
            }
        }
    }

    /// Names of all namespaces, switches first.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        let switches = self.plan.switches.iter().map(|switch| switch.name.as_str());
        switches.chain(self.plan.hosts.iter().map(|host| host.name.as_str()))
    }

    /// The NIC with an address.
    pub fn nic_at(&self, address: Ipv4Addr) -> Option<&PlantNic> {
        self.nics.iter().find(|nic| nic.address == address)
    }

    /// The NIC of a device.
    pub fn nic_of(&self, device: DeviceId) -> Option<&PlantNic> {
        self.nics.iter().find(|nic| nic.nic == device)
    }

    /// The link that leaves a namespace by an interface.
    pub fn link(&self, node: &str, interface: &str) -> Option<LinkId> {
        self.links.get(&(node.to_owned(), interface.to_owned())).copied()
    }

    /// The two ends of a link: where it leaves, where it arrives.
    pub fn ends(&self, link: LinkId) -> Option<[&PlantEnd; 2]> {
        let cable = self.cables.iter().find(|one| one.cable == link.cable())?;
        let ports = self.fabric.cable_ports(cable.cable);
        let [a, b] = &cable.ends;
        Some(if self.fabric.link_from(cable.cable, ports[0]) == link { [a, b] } else { [b, a] })
    }

    /// The cable with a name, such as `leaf-0:uplink-3`, `host-0/nic-0:port-1` or, by its interface, `leaf-0:up3`.
    ///
    /// # Errors
    /// [`LabRefusal`] where no cable has this name; it lists three that exist.
    pub fn cable_named(&self, name: &str) -> Result<(&PlantCable, usize), LabRefusal> {
        let by_interface = self.cables.iter().find_map(|cable| {
            let is_it = |end: &PlantEnd| {
                name.split_once(':').is_some_and(|(node, interface)| {
                    end.node == node && (end.interface == interface || end.port.as_deref() == Some(interface))
                })
            };
            cable.ends.iter().position(is_it).map(|end| (cable, end))
        });
        let by_fabric = || {
            let cable = self.fabric.cable_named(name)?;
            let found = self.cables.iter().find(|one| one.cable == cable)?;
            let device = name.split_once(':').map_or(name, |(device, _)| device);
            let ports = self.fabric.cable_ports(cable);
            let end = ports
                .iter()
                .position(|&port| self.fabric.device_name(self.fabric.port_device(port)) == device);
            Some((found, end.unwrap_or(0)))
        };
        by_interface.or_else(by_fabric).ok_or_else(|| {
            let some: Vec<String> = self
                .cables
                .iter()
                .take(3)
                .map(|one| format!("{}:{}", one.ends[0].node, one.ends[0].interface))
                .collect();
            let accepted = format!("cables are named by an end, such as {}", some.join(", "));
            LabRefusal::new(format!("there is no cable {name:?}"), accepted)
        })
    }
}

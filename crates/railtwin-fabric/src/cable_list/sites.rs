//! Networks of ports and switches, and which NIC of a host a port is of.
use std::collections::BTreeMap;

use super::list::{CableList, CableNetwork, DeviceRole, PortSite};
use super::names::{NaturalName, is_adapter, natural, network_of, nic_and_port};

/// Ports of a host by network and NIC: number of the port, its name, its row.
type PortsOfNics<'a> = BTreeMap<(CableNetwork, NaturalName, &'a str), Vec<(u32, NaturalName, u32)>>;

/// Networks of all devices and sites of all ports, of a list with the roles of its devices. A host without ports into
/// the backend becomes one without GPUs.
pub(super) fn sites(list: &CableList, roles: &mut [DeviceRole]) -> (Vec<CableNetwork>, Vec<PortSite>) {
    let switches = networks_of_switches(list, roles);
    let mut networks = networks_of_ports(list, roles, &switches);
    for (row, device) in list.devices().iter().enumerate() {
        let on_backend = |&port: &u32| networks[port as usize] == CableNetwork::Backend;
        let is_service = match roles[row] {
            DeviceRole::Host => !device.ports.iter().any(on_backend),
            role => matches!(role, DeviceRole::StorageHost | DeviceRole::Gateway),
        };
        if roles[row] == DeviceRole::Host && is_service {
            roles[row] = DeviceRole::StorageHost;
        }
        // Hosts without GPUs have no NICs of one network or the other: their ports are of the leaf's.
        let in_band = |&&port: &&u32| networks[port as usize] != CableNetwork::OutOfBand;
        for &port in device.ports.iter().filter(in_band).filter(|_| is_service).collect::<Vec<_>>() {
            if let Some(peer) = list.peer(port) {
                networks[port as usize] = switches[list.device_of(peer) as usize];
            }
        }
    }
    let of_devices = list.devices().iter().enumerate().map(|(row, device)| match roles[row].is_host() {
        true => {
            device.ports.iter().map(|&port| networks[port as usize]).min().unwrap_or(CableNetwork::Backend)
        }
        false => switches[row],
    });
    let of_devices = of_devices.collect();
    (of_devices, numbered(list, roles, &networks))
}

/// Networks of switches: stated, of their names, of the ports of hosts at a leaf, of the switches below.
fn networks_of_switches(list: &CableList, roles: &[DeviceRole]) -> Vec<CableNetwork> {
    let devices = list.devices();
    let mut networks: Vec<Option<CableNetwork>> = devices
        .iter()
        .zip(roles)
        .map(|(device, role)| device.network.or_else(|| network_of(&device.name).filter(|_| !role.is_host())))
        .collect();
    for tier in 1..=3 {
        for (row, device) in devices.iter().enumerate().filter(|(row, _)| roles[*row].tier() == tier) {
            if networks[row].is_some() {
                continue;
            }
            let peers = device.ports.iter().filter_map(|&port| list.peer(port));
            let below = peers.filter_map(|peer| {
                let other = list.device_of(peer) as usize;
                match roles[other].tier() {
                    0 => network_of(&list.ports()[peer as usize].name),
                    lower if lower < tier => networks[other],
                    _ => None,
                }
            });
            // A leaf of several networks is one of the backend, if that is among them.
            networks[row] = Some(below.min().unwrap_or(CableNetwork::Backend));
        }
    }
    networks.into_iter().map(|network| network.unwrap_or(CableNetwork::Backend)).collect()
}

/// Networks of ports: of a host's port by its name, else by its leaf; of a switch's port that of the switch.
fn networks_of_ports(list: &CableList, roles: &[DeviceRole], switches: &[CableNetwork]) -> Vec<CableNetwork> {
    let named = |device: u32| {
        let one = &list.devices()[device as usize];
        one.network.or_else(|| network_of(&one.name))
    };
    let of = |row: usize, device: u32, name: &str| {
        if !roles[device as usize].is_host() {
            return switches[device as usize];
        }
        let leaf = list.peer(row as u32).map(|peer| list.device_of(peer));
        network_of(name).unwrap_or_else(|| match leaf {
            Some(leaf) if is_adapter(name) => named(leaf).unwrap_or(CableNetwork::Backend),
            Some(leaf) => switches[leaf as usize],
            None => CableNetwork::Backend,
        })
    };
    list.ports().iter().enumerate().map(|(row, port)| of(row, port.device, &port.name)).collect()
}

/// Numbers NICs and their ports, by network of each host.
fn numbered(list: &CableList, roles: &[DeviceRole], networks: &[CableNetwork]) -> Vec<PortSite> {
    let mut sites: Vec<PortSite> =
        networks.iter().map(|&network| PortSite { network, nic: 0, port: 0 }).collect();
    for (_, device) in list.devices().iter().enumerate().filter(|(row, _)| roles[*row].is_host()) {
        let mut nics: PortsOfNics<'_> = BTreeMap::new();
        for &port in &device.ports {
            let name = &list.ports()[port as usize].name;
            let (nic, number) = nic_and_port(name);
            let key = (networks[port as usize], natural(nic), nic);
            nics.entry(key).or_default().push((number, natural(name), port));
        }
        let mut next = BTreeMap::new();
        for ((network, ..), mut ports) in nics {
            let nic = next.entry(network).or_insert(0_u32);
            ports.sort();
            for (number, (.., port)) in (0..).zip(ports) {
                sites[port as usize] = PortSite { network, nic: *nic, port: number };
            }
            *nic += 1;
        }
    }
    sites
}

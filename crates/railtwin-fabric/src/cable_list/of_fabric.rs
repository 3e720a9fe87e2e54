//! The cable list of a fabric: its network by name, each device with its place.
use super::infer::Inference;
use super::list::{CableList, CableNetwork, DeviceRole, ListedPlace, PortSite};
use crate::graph::{DeviceId, DeviceKind, Fabric, HostId, NONE, PortRole};

/// The list of a fabric and the places of its devices. Rows of cables are in the order of the fabric's ids; free ports of
/// NICs and switches are in it. What is inside hosts is not.
///
/// Hosts are devices, `host-3` with port `nic-1:port-0`, so that names are those of the fabric.
pub fn list_of(fabric: &Fabric) -> (CableList, Inference) {
    let mut list = CableList::default();
    list.title = Some(fabric.name().to_owned());
    list.switch_latency = Some(fabric.switch_latency());
    let mut found = Inference { places: Vec::new(), sites: Vec::new() };
    let mut row_of_port = vec![NONE; fabric.port_count()];
    let mut host_row: Option<(HostId, u32)> = None;
    for device in fabric.devices() {
        match fabric.kind(device) {
            DeviceKind::Nic => {
                let host = fabric.host_of(device).unwrap_or(HostId(0));
                let row = match host_row.filter(|(known, _)| *known == host) {
                    Some((_, row)) => row,
                    None => enter_host(fabric, host, &mut list, &mut found),
                };
                host_row = Some((host, row));
                let name = fabric.device_name(device);
                let nic = name.split_once('/').map_or(name.as_str(), |(_, nic)| nic);
                let ports = fabric.ports(device).filter(|&port| fabric.port_role(port).is_network());
                for (number, port) in (0..).zip(ports) {
                    let network = network_of(fabric.port_role(port));
                    let first = if network == CableNetwork::Frontend && !fabric.is_service(host) {
                        fabric.host_model(host).nics
                    } else {
                        0
                    };
                    let index = device.0.saturating_sub(fabric.nic(host, first).0);
                    let rate = Some(fabric.port_capacity(port));
                    row_of_port[port.index()] = list.port(row, &format!("{nic}:port-{number}"), rate, 0);
                    found.sites.push(PortSite { network, nic: index, port: number });
                }
            }
            DeviceKind::Switch => enter_switch(fabric, device, &mut list, &mut found, &mut row_of_port),
            _ => {}
        }
    }
    for cable in fabric.cables().filter(|cable| fabric.is_network(cable.forward())) {
        let ports = fabric.cable_ports(cable).map(|port| row_of_port[port.index()]);
        // Ports of a fabric hold one cable each.
        let _ = list.join(ports, Some(fabric.delay(cable.forward())));
    }
    (list, found)
}

/// Enters a switch with its ports.
fn enter_switch(
    fabric: &Fabric,
    device: DeviceId,
    list: &mut CableList,
    found: &mut Inference,
    row_of_port: &mut [u32],
) {
    let Some(place) = fabric.place(device) else { return };
    let row = list.device(&fabric.device_name(device));
    let network = if place.tier > 3 { CableNetwork::Frontend } else { CableNetwork::Backend };
    let role = match (place.tier - 1) % 3 {
        0 => DeviceRole::Leaf,
        1 => DeviceRole::Spine,
        _ => DeviceRole::Core,
    };
    let (pod, segment, rail, plane, index) = (place.pod, place.segment, place.rail, place.plane, place.index);
    enter(list, found, row, ListedPlace { role, network, pod, segment, rail, plane, index });
    let mut next = [0_u32; 3];
    for port in fabric.ports(device) {
        let (kind, count) = match fabric.port_role(port) {
            PortRole::Up => ("uplink", &mut next[1]),
            PortRole::Peer => ("peer", &mut next[2]),
            _ => ("downlink", &mut next[0]),
        };
        let rate = Some(fabric.port_capacity(port));
        row_of_port[port.index()] = list.port(row, &format!("{kind}-{count}"), rate, 0);
        *count += 1;
        found.sites.push(PortSite { network, nic: 0, port: 0 });
    }
}

fn network_of(role: PortRole) -> CableNetwork {
    if role == PortRole::Frontend { CableNetwork::Frontend } else { CableNetwork::Backend }
}

fn enter_host(fabric: &Fabric, host: HostId, list: &mut CableList, found: &mut Inference) -> u32 {
    let (one, name) = (fabric.host(host), fabric.host_name(host));
    let role = match (fabric.is_service(host), one.spare) {
        (true, _) if name.starts_with("gateway") => DeviceRole::Gateway,
        (true, _) => DeviceRole::StorageHost,
        (false, true) => DeviceRole::SpareHost,
        (false, false) => DeviceRole::Host,
    };
    let on_backend = fabric.host_model(host).nics > 0;
    let network = if on_backend { CableNetwork::Backend } else { CableNetwork::Frontend };
    let row = list.device(&name);
    let (pod, segment, index) = (one.pod, one.segment, one.index);
    enter(list, found, row, ListedPlace { role, network, pod, segment, rail: NONE, plane: NONE, index });
    row
}

fn enter(list: &mut CableList, found: &mut Inference, row: u32, place: ListedPlace) {
    list.state_place(row, &place);
    found.places.push(place);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostSpec;
    use crate::cable_list::CableDesign;
    use crate::preset::{Collapsed, Jupiter, Layout, Mesh, RailOnly, SingleTor, Torus};

    /// Cables between switches of one tier and between NICs come back from the list too.
    #[test]
    fn fabrics_with_peer_cables_come_back_from_their_lists() {
        let rails = RailOnly { domains: 2, ..RailOnly::default() };
        let jupiter = Jupiter {
            blocks: 3,
            racks: 2,
            middle_blocks: 2,
            uplinks: 4,
            spine_blocks: 4,
            ..Jupiter::default()
        };
        let presets: [&dyn Layout; 7] = [
            &Mesh { leaves: 4, hosts_per_leaf: 2, ..Mesh::default() },
            &Torus { x: 4, y: 2, z: 3, ..Torus::default() },
            &Collapsed { joined: 2, ..Collapsed::default() },
            &Jupiter { direct: true, ..jupiter.clone() },
            &jupiter,
            &rails,
            &SingleTor { racks: 3, hosts: 1, ..SingleTor::default() },
        ];
        for preset in presets {
            let fabric = preset.fabric(0).unwrap();
            let (list, found) = list_of(&fabric);
            assert_eq!(Inference::of(&list).unwrap(), found, "{}", fabric.name());
            let host = HostSpec::named(&fabric.host_models()[0].name);
            let built = list.fabric(&found, &CableDesign { host, rate: None }).unwrap();
            assert!(built.fabric == fabric, "{} {:?}", fabric.name(), built.notes);
        }
    }
}

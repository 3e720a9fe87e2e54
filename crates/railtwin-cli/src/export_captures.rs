//! `export --to captures`: the frames that each port receives from its neighbor when all cables are as planned.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::{DeviceId, DeviceKind, Fabric, PortId};
use railtwin_formats::frames::{LldpFrame, LldpId, LldpTlv, encode_capture, encode_lacp, encode_lldp};
use railtwin_routing::protocol::lacp::{Lacpdu, Mac, PortState};

use crate::export_site::Site;

/// Ports of a device, each with the frames that it hears.
type Ports = Vec<(String, Vec<Vec<u8>>)>;

/// Time to live of an LLDPDU, seconds: four intervals of 30 s, the default of lldpd.
const LIFE_S: u16 = 120;

/// A capture for each switch and host, by its file: LLDPDUs of neighbors, and at hosts the LACPDUs of their leaves.
pub(crate) fn captures(site: &Site) -> Vec<(String, Vec<u8>)> {
    let fabric = &site.fabric;
    let set = site.scenario.as_ref().map_or_else(Default::default, |scenario| scenario.dual_tor);
    let mut heard: BTreeMap<String, Ports> = BTreeMap::new();
    for cable in fabric.cables().filter(|cable| fabric.is_network(cable.forward())) {
        let [one, other] = fabric.cable_ports(cable);
        for (near, far) in [(one, other), (other, one)] {
            let mut frames = vec![encode_lldp(&frame_of(fabric, far))];
            let (device, leaf) = (fabric.port_device(near), fabric.port_device(far));
            if fabric.kind(device) == DeviceKind::Nic && fabric.kind(leaf) == DeviceKind::Switch {
                let first = fabric.ports(leaf).next().map_or(far.0, |first| first.0);
                let mut actor = set.port(member(fabric, device, leaf), far.0 - first + 1);
                let bits = [PortState::ACTIVITY, PortState::SHORT_TIMEOUT, PortState::AGGREGATION];
                actor.state = bits.into_iter().fold(actor.state, |state, bit| state.with(bit, true));
                let pdu = Lacpdu { actor, ..Lacpdu::default() };
                frames.push(encode_lacp(station(leaf), &pdu));
            }
            let (file, port) = place(fabric, near);
            heard.entry(file).or_default().push((port, frames));
        }
    }
    heard.into_iter().map(|(file, ports)| (format!("{file}.pcapng"), encode_capture(&ports))).collect()
}

/// Which of the leaves of a NIC a leaf is.
fn member(fabric: &Fabric, nic: DeviceId, leaf: DeviceId) -> u32 {
    let all: BTreeSet<DeviceId> = fabric.neighbors(nic).iter().map(|(_, far)| *far).collect();
    let leaves = all.iter().filter(|&&far| fabric.kind(far) == DeviceKind::Switch);
    leaves.take_while(|&&other| other != leaf).count() as u32
}

/// File of a port, and its name there: `leaf-0` and `uplink-3`, `host-2` and `nic-1:port-0`.
fn place(fabric: &Fabric, port: PortId) -> (String, String) {
    let name = fabric.port_name(port);
    let (file, port) = name.split_once('/').or_else(|| name.split_once(':')).unwrap_or((&name, ""));
    (file.to_owned(), port.to_owned())
}

/// A locally administered address for a device.
fn station(device: DeviceId) -> Mac {
    let [a, b, c, d] = device.0.to_be_bytes();
    Mac([0x02, 0, a, b, c, d])
}

/// The LLDPDU that a device sends by a port.
fn frame_of(fabric: &Fabric, port: PortId) -> LldpFrame {
    let device = fabric.port_device(port);
    let (system, name) = place(fabric, port);
    let station = station(device);
    LldpFrame {
        source: station,
        // Subtypes: a MAC address, and the name of an interface.
        chassis: LldpId { subtype: 4, bytes: station.0.to_vec(), is_port: false },
        port: LldpId { subtype: 5, bytes: name.clone().into_bytes(), is_port: true },
        life_s: LIFE_S,
        others: vec![
            LldpTlv { kind: 4, value: name.into_bytes() },
            LldpTlv { kind: 5, value: system.into_bytes() },
        ],
    }
}

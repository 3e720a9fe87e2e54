//! Roles of switches by their distance from hosts, for forms that do not name them.
use railtwin_fabric::cable_list::{CableNetwork, DeviceRole};

use crate::about::DeviceClass;
use crate::topology::Topology;

/// Enters tier and role of every switch without one: 1 + its distance from the nearest host, along cables between
/// switches. Switches that no cable leads to from a host keep none, and are a finding of kind `switch-without-hosts`. So do
/// those of the network of management, a finding `out-of-band-switch`: no tier is theirs, and no way leads through them.
pub fn by_distance(topology: &mut Topology) {
    set_apart(topology);
    let devices = topology.list.devices().len();
    let mut tier: Vec<Option<u8>> = vec![None; devices];
    let hosts: Vec<u32> = topology.hosts().collect();
    let switches: Vec<u32> = topology.switches().collect();
    let mut front = neighbors(topology, &hosts);
    let mut next = 1_u8;
    while !front.is_empty() {
        front.retain(|&device| {
            topology.about[device as usize].class == DeviceClass::Switch
                && !topology.is_apart(device)
                && tier[device as usize].is_none()
        });
        front.sort_unstable();
        front.dedup();
        for &device in &front {
            tier[device as usize] = Some(next);
        }
        front = neighbors(topology, &front);
        next = next.saturating_add(1);
    }
    for switch in switches.into_iter().filter(|&switch| !topology.is_apart(switch)).collect::<Vec<_>>() {
        match tier[switch as usize] {
            Some(found) => state(topology, switch, found),
            None if topology.tier(switch).is_none() => {
                let name = topology.list.devices()[switch as usize].name.clone();
                topology.find("switch-without-hosts", name, "no cable leads to it from a host");
            }
            None => {}
        }
    }
}

/// Words of names and roles that speak of the network of management.
const OUT_OF_BAND: [&str; 5] = ["oob", "mgmt", "management", "ipmi", "bmc"];

/// Whether a name or a role of a switch speaks of the network of management: `oob-sw1`, `mgmt_tor`, `out-of-band`.
pub(crate) fn is_out_of_band(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let mut words = lower.split(|letter: char| !letter.is_ascii_alphabetic());
    let is_known = |word: &str| OUT_OF_BAND.iter().any(|known| word == *known || starts_switch(word, known));
    words.any(is_known) || lower.replace(['-', '_', ' '], "").contains("outofband")
}

/// Whether a word is a known one with a word for a switch behind it: `oobsw`, `mgmtswitch`.
fn starts_switch(word: &str, known: &str) -> bool {
    let rest = word.strip_prefix(known);
    rest.is_some_and(|rest| ["sw", "switch", "leaf", "tor", "net", "router"].contains(&rest))
}

/// States the network of switches without a role whose names speak of that of management.
fn set_apart(topology: &mut Topology) {
    for switch in topology.switches().collect::<Vec<_>>() {
        let device = &topology.list.devices()[switch as usize];
        let speaks = device.network.is_none() && is_out_of_band(&device.name);
        if topology.tier(switch).is_some() || !(speaks || topology.is_apart(switch)) {
            continue;
        }
        topology.list.device_mut(switch).network = Some(CableNetwork::OutOfBand);
        let name = topology.list.devices()[switch as usize].name.clone();
        let seen = "it is of the network of management, and of no tier of the fabric";
        topology.find("out-of-band-switch", name, seen);
    }
}

/// States the tier of a switch where nothing states it yet.
pub fn state(topology: &mut Topology, switch: u32, tier: u8) {
    if topology.tier(switch).is_some() {
        return;
    }
    topology.about_mut(switch).tier = Some(tier);
    let role = match tier {
        1 => Some(DeviceRole::Leaf),
        2 => Some(DeviceRole::Spine),
        3 => Some(DeviceRole::Core),
        _ => None,
    };
    topology.list.device_mut(switch).role = role;
}

fn neighbors(topology: &Topology, devices: &[u32]) -> Vec<u32> {
    let list = &topology.list;
    let ports = devices.iter().flat_map(|&device| &list.devices()[device as usize].ports);
    ports.filter_map(|&port| list.peer(port)).map(|peer| list.device_of(peer)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_of_the_tier_of_their_distance() {
        let mut topology = Topology::new("test");
        let host = topology.host("h");
        let switches: Vec<u32> = ["a", "b", "c", "d", "alone"].map(|name| topology.switch(name)).to_vec();
        topology.join([(host, "0"), (switches[0], "0")], None, None, 0);
        for (row, pair) in switches[..4].windows(2).enumerate() {
            topology.join([(pair[0], &format!("u{row}")), (pair[1], &format!("d{row}"))], None, None, 0);
        }
        by_distance(&mut topology);
        let tiers: Vec<Option<u8>> = switches.iter().map(|&switch| topology.tier(switch)).collect();
        assert_eq!(tiers, [Some(1), Some(2), Some(3), Some(4), None]);
        assert_eq!(topology.findings.len(), 1);
        assert_eq!(topology.findings[0].kind, "switch-without-hosts");
    }
}

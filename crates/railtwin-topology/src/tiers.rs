//! Roles of switches by their distance from hosts, for forms that do not name them.
use railtwin_fabric::cable_list::DeviceRole;

use crate::about::DeviceClass;
use crate::topology::Topology;

/// Enters tier and role of every switch without one: 1 + its distance from the nearest host, along cables between
/// switches. Switches that no cable leads to from a host keep none, and are a finding of kind `switch-without-hosts`.
pub fn by_distance(topology: &mut Topology) {
    let devices = topology.list.devices().len();
    let mut tier: Vec<Option<u8>> = vec![None; devices];
    let hosts: Vec<u32> = topology.hosts().collect();
    let switches: Vec<u32> = topology.switches().collect();
    let mut front = neighbors(topology, &hosts);
    let mut next = 1_u8;
    while !front.is_empty() {
        front.retain(|&device| {
            topology.about[device as usize].class == DeviceClass::Switch && tier[device as usize].is_none()
        });
        front.sort_unstable();
        front.dedup();
        for &device in &front {
            tier[device as usize] = Some(next);
        }
        front = neighbors(topology, &front);
        next = next.saturating_add(1);
    }
    for switch in switches {
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

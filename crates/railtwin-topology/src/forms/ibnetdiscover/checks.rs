//! Tiers of switches, and links that are slower than their like.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::cable_list::{DeviceRole, role_of};
use railtwin_units::Rate;

use super::devices::NodePlace;
use super::dump::Dump;
use crate::tiers;
use crate::topology::{Topology, tier_name};

/// Enters tiers: 1 + the distance from hosts along all links that are named, those of missing nodes among them. A host at a
/// switch that is named as a spine, and that leads to leaves, does not make it a leaf: such are servers of management.
pub(super) fn tiers(dump: &Dump, places: &[NodePlace], topology: &mut Topology) {
    let count = topology.list.devices().len();
    let mut neighbors: Vec<Vec<u32>> = vec![Vec::new(); count];
    for claim in &dump.claims {
        let [from, to] = [&places[claim.from.0 as usize], &places[claim.to.0 as usize]];
        if !from.is_aggregation() && !to.is_aggregation() && from.device != to.device {
            neighbors[from.device as usize].push(to.device);
            neighbors[to.device as usize].push(from.device);
        }
    }
    let mut is_switch = vec![false; count];
    topology.switches().for_each(|switch| is_switch[switch as usize] = true);
    let hosts: Vec<u32> = topology.hosts().collect();
    let mut front: BTreeSet<u32> = hosts
        .iter()
        .flat_map(|&host| &neighbors[host as usize])
        .copied()
        .filter(|&at| is_switch[at as usize])
        .collect();
    for (switch, above) in above_leaves(&front, &neighbors, topology) {
        front.remove(&switch);
        topology.find("host-above-leaf", topology.list.devices()[switch as usize].name.clone(), above);
    }
    let mut tier: Vec<Option<u8>> = vec![None; count];
    let mut next = 1_u8;
    while !front.is_empty() {
        front.iter().for_each(|&switch| tier[switch as usize] = Some(next));
        let behind = front.iter().flat_map(|&switch| &neighbors[switch as usize]).copied();
        front = behind.filter(|&at| is_switch[at as usize] && tier[at as usize].is_none()).collect();
        next = next.saturating_add(1);
    }
    for switch in 0..count as u32 {
        if let Some(tier) = tier[switch as usize] {
            tiers::state(topology, switch, tier);
        }
    }
}

/// Switches next to hosts that are named as spines or cores, and that lead to switches next to hosts that are not.
fn above_leaves(front: &BTreeSet<u32>, neighbors: &[Vec<u32>], topology: &Topology) -> Vec<(u32, String)> {
    let devices = topology.list.devices();
    let is_above =
        |at: u32| matches!(role_of(&devices[at as usize].name), Some(DeviceRole::Spine | DeviceRole::Core));
    let above: BTreeSet<u32> = front.iter().copied().filter(|&at| is_above(at)).collect();
    let leads =
        |at: &&u32| neighbors[**at as usize].iter().any(|peer| front.contains(peer) && !above.contains(peer));
    let seen = |&at: &u32| {
        let host = neighbors[at as usize]
            .iter()
            .find(|&&peer| devices[peer as usize].role.is_some_and(DeviceRole::is_host));
        let host = host.map_or("a host", |&host| devices[host as usize].name.as_str());
        (at, format!("{host} is linked to it, and so are leaves"))
    };
    above.iter().filter(leads).map(seen).collect()
}

/// Rate of a cable, and its ports, that of the switch first.
type RatedCable = (Rate, [u32; 2]);

/// Findings of cables whose rate is below that of more than half of the cables of their like: those from one switch to one
/// tier, seen from the lower end, and from a switch to hosts.
pub(super) fn slow_links(topology: &mut Topology) {
    let tier = |device: u32| match topology.list.devices()[device as usize].role {
        Some(role) if role.is_host() => Some(0),
        _ => topology.tier(device),
    };
    // Switch and tier at the other end: cables with their rate.
    let mut groups: BTreeMap<(u32, u8), Vec<RatedCable>> = BTreeMap::new();
    for cable in topology.list.cables() {
        let Some(rate) = topology.list.ports()[cable.ports[0] as usize].rate else { continue };
        let [a, b] = cable.ports.map(|port| tier(topology.list.device_of(port)));
        let (Some(a), Some(b)) = (a, b) else { continue };
        let (near, far) = match (a, b) {
            (0, 0) => continue,
            (0, _) => (1, 0),
            (_, 0) => (0, 1),
            _ if a <= b => (0, 1),
            _ => (1, 0),
        };
        let ends = [cable.ports[near], cable.ports[far]];
        let at = topology.list.device_of(ends[0]);
        groups.entry((at, [a, b][far])).or_default().push((rate, ends));
    }
    let mut found = Vec::new();
    for ((switch, tier), cables) in &groups {
        let mut counts: BTreeMap<Rate, usize> = BTreeMap::new();
        cables.iter().for_each(|(rate, _)| *counts.entry(*rate).or_default() += 1);
        let Some((&usual, &count)) = counts.iter().find(|(_, count)| **count * 2 > cables.len()) else {
            continue;
        };
        let like = if *tier == 0 {
            "hosts".to_owned()
        } else {
            format!("switches of tier {}", tier_name(Some(*tier)))
        };
        for (rate, ends) in cables.iter().filter(|(rate, _)| *rate < usual) {
            let [near, far] = ends.map(|port| &topology.list.ports()[port as usize]);
            let peer = &topology.list.devices()[far.device as usize].name;
            let seen = format!(
                "port {} to {peer} port {} runs at {rate}; {count} of {} links to {like} run at {usual}",
                near.name,
                far.name,
                cables.len()
            );
            found.push((topology.list.devices()[*switch as usize].name.clone(), seen));
        }
    }
    for (switch, seen) in found {
        topology.find("slow-link", switch, seen);
    }
}

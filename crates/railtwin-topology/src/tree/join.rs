//! The tree of a network of cables: switches that stand beside each other over the same devices are one.
use railtwin_fabric::NONE;
use railtwin_fabric::cable_list::CableNetwork;

use super::Groups;
use crate::about::DeviceClass;
use crate::tiers;
use crate::topology::Topology;

/// Sets that are joined: each row leads to the first of its set.
struct Sets(Vec<u32>);

impl Sets {
    fn first(&mut self, row: u32) -> u32 {
        let mut at = row;
        while self.0[at as usize] != at {
            let above = self.0[self.0[at as usize] as usize];
            self.0[at as usize] = above;
            at = above;
        }
        at
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.first(a), self.first(b));
        let (low, high) = (a.min(b), a.max(b));
        self.0[high as usize] = low;
    }
}

/// The groups of a network: of each host the switches of its first network, and above them tier by tier.
pub(super) fn groups(topology: &Topology) -> Groups {
    let with_tiers;
    let topology = if topology.switches().any(|switch| topology.tier(switch).is_none()) {
        let mut copy = topology.clone();
        tiers::by_distance(&mut copy);
        with_tiers = copy;
        &with_tiers
    } else {
        topology
    };
    let devices = topology.list.devices().len();
    let mut sets = Sets((0..devices as u32).collect());
    let switches = switches_of(topology);
    let (hosts, loose) = join_leaves(topology, &switches, &mut sets);
    let above = join_above(topology, &switches, &mut sets);

    let mut groups = Groups { loose, ..Groups::default() };
    let mut group_of = vec![NONE; devices];
    for switch in topology.switches() {
        let first = sets.first(switch) as usize;
        if group_of[first] == NONE {
            group_of[first] = groups.members.len() as u32;
            groups.members.push(Vec::new());
        }
        group_of[switch as usize] = group_of[first];
        groups.members[group_of[first] as usize].push(switch);
    }
    groups.hosts = vec![Vec::new(); groups.members.len()];
    groups.parent = vec![NONE; groups.members.len()];
    for (host, leaf) in hosts {
        groups.hosts[group_of[leaf as usize] as usize].push(host);
    }
    for (below, &parent) in above.iter().enumerate() {
        let (group, over) = (group_of[below], if parent == NONE { NONE } else { group_of[parent as usize] });
        if over != NONE && group != over && groups.parent[group as usize] == NONE {
            groups.parent[group as usize] = over;
        }
    }
    groups
}

/// Joins the switches of each host; gives each host with one of them, and hosts without any.
fn join_leaves(topology: &Topology, of: &[Vec<u32>], sets: &mut Sets) -> (Vec<(u32, u32)>, Vec<u32>) {
    let (mut placed, mut loose) = (Vec::new(), Vec::new());
    for host in topology.hosts() {
        let switches = || of[host as usize].iter().copied();
        let network =
            |switch: u32| topology.list.devices()[switch as usize].network.unwrap_or(CableNetwork::Backend);
        let Some(own) = switches().map(network).min() else {
            loose.push(host);
            continue;
        };
        let mut leaves = switches().filter(|&switch| network(switch) == own);
        let Some(first) = leaves.next() else { continue };
        leaves.for_each(|leaf| sets.join(first, leaf));
        placed.push((host, first));
    }
    (placed, loose)
}

/// Joins switches over the same group, from the lowest tier up; gives by the first row of a group a switch above it.
fn join_above(topology: &Topology, of: &[Vec<u32>], sets: &mut Sets) -> Vec<u32> {
    let tier = |switch: u32| topology.tier(switch).unwrap_or(0);
    let mut order: Vec<u32> = topology.switches().filter(|&switch| tier(switch) > 1).collect();
    order.sort_by_key(|&switch| tier(switch));
    let mut above = vec![NONE; topology.list.devices().len()];
    for same in order.chunk_by(|&a, &b| tier(a) == tier(b)) {
        let mut anchors: Vec<(u32, u32)> = Vec::new();
        for &switch in same {
            for &below in of[switch as usize].iter().filter(|&&other| tier(other) < tier(switch)) {
                let group = sets.first(below);
                if above[group as usize] == NONE {
                    anchors.push((group, switch));
                }
            }
        }
        anchors.sort_unstable();
        anchors.dedup();
        for of_group in anchors.chunk_by(|a, b| a.0 == b.0) {
            let (group, first) = of_group[0];
            of_group.iter().for_each(|&(_, switch)| sets.join(first, switch));
            above[group as usize] = first;
        }
    }
    above
}

/// Switches at the other ends of each device's cables, then of its links to devices that the file does not describe.
fn switches_of(topology: &Topology) -> Vec<Vec<u32>> {
    let list = &topology.list;
    let is_switch = |device: u32| {
        let role = list.devices()[device as usize].role;
        let is_one = topology.about[device as usize].class == DeviceClass::Switch;
        (is_one || role.is_some_and(|role| role.tier() > 0)) && !topology.is_apart(device)
    };
    let mut found: Vec<Vec<u32>> = Vec::with_capacity(list.devices().len());
    for device in list.devices() {
        let peers = device.ports.iter().filter_map(|&port| list.peer(port));
        found.push(peers.map(|peer| list.device_of(peer)).filter(|&peer| is_switch(peer)).collect());
    }
    for &[a, b] in &topology.links_to_missing {
        for (device, peer) in [(a, b), (b, a)] {
            if is_switch(peer) {
                found[device as usize].push(peer);
            }
        }
    }
    found
}

//! The topology of a graph.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::NONE;
use railtwin_fabric::cable_list::{CableNetwork, DeviceRole};

use super::attributes::{self, NodeRole};
use super::{Graph, GraphEdge, GraphNode};
use crate::tiers;
use crate::topology::Topology;

/// The topology of a graph.
///
/// A device is a node, by its id; by its label where ids are numbers such as `n12` and labels differ. Its role is that of
/// its attributes, else of its name, else of the group that it stands in. Of the rest, where no host is known, those with one
/// neighbor are hosts; all others are switches. Tiers that nothing tells are distances from hosts.
///
/// A cable is an edge; the two directions of an edge are one cable. Ends without a port get one, `to-leaf1-0`.
///
/// Findings: `link-down` for edges that are said to be down, `loop` for edges of a node to itself, `unknown-device` for edges
/// to nodes that a closed form does not declare, `host-without-switch`, `switch-without-hosts`, `port-with-two-cables`.
pub(in crate::forms) fn topology(form: &'static str, graph: &Graph) -> Topology {
    let mut topology = Topology::new(form);
    topology.list.title = graph.title.clone();
    topology.is_tree = graph.marks.get("istree").is_some_and(|value| value == "true");
    let rows = devices(graph, &mut topology);
    let mut cables = Cables::default();
    for edge in &graph.edges {
        cables.enter(graph, edge, &rows, &mut topology);
    }
    if cables.made_up > 0 {
        let count = cables.made_up;
        topology.notes.push(format!("{count} ends of cables name no port: ports were made up for them"));
    }
    roles(graph, &rows, &mut topology);
    tiers::by_distance(&mut topology);
    without_cables(&mut topology);
    topology
}

/// Rows of devices by row of nodes; [`NONE`] for nodes that a closed form does not declare.
fn devices(graph: &Graph, topology: &mut Topology) -> Vec<u32> {
    let names = names(graph);
    let mut rows = Vec::with_capacity(graph.nodes.len());
    for (node, name) in graph.nodes.iter().zip(names) {
        if graph.is_closed && !node.is_declared {
            rows.push(NONE);
            continue;
        }
        let row = topology.device(name);
        rows.push(row);
        let mark = |key: &str| node.marks.get(key).map(|value| value.trim().to_owned());
        let about = topology.about_mut(row);
        about.gpus = mark("gpus").and_then(|gpus| gpus.parse().ok());
        (about.domain, about.subdomain, about.model) = (mark("domain"), mark("subdomain"), mark("model"));
        let adapters = mark("adapters").unwrap_or_default();
        about.adapters =
            adapters.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let device = topology.list.device_mut(row);
        (device.rack, device.network) = (mark("rack"), attributes::network(&node.marks));
    }
    rows
}

/// Names by row of nodes: labels where ids are mere numbers and labels differ, else ids.
fn names(graph: &Graph) -> Vec<&str> {
    let is_number = |id: &str| {
        let bare = id.trim_start_matches("node").trim_start_matches(['n', 'v', '_']);
        !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit() || byte == b':' || byte == b'n')
    };
    let labels: BTreeSet<&str> = graph.nodes.iter().filter_map(label).collect();
    if labels.len() == graph.nodes.len() && graph.nodes.iter().all(|node| is_number(&node.id)) {
        graph.nodes.iter().map(|node| label(node).unwrap_or(&node.id)).collect()
    } else {
        graph.nodes.iter().map(|node| node.id.as_str()).collect()
    }
}

/// The label of a node, of one line.
fn label(node: &GraphNode) -> Option<&str> {
    let label = ["label", "name", "hostname"].iter().find_map(|key| node.marks.get(*key))?.trim();
    Some(label).filter(|label| !label.is_empty() && !label.contains('\n'))
}

/// Cables so far.
#[derive(Default)]
struct Cables {
    /// Edges with a direction and without ports, by their devices.
    seen: BTreeMap<(u32, u32), u32>,
    /// Ports that were made up, by device and peer.
    next: BTreeMap<(u32, u32), u32>,
    made_up: u32,
}

impl Cables {
    fn enter(&mut self, graph: &Graph, edge: &GraphEdge, rows: &[u32], topology: &mut Topology) {
        let [a, b] = edge.ends.map(|node| rows[node as usize]);
        let name = |row: u32, topology: &Topology| topology.list.devices()[row as usize].name.clone();
        if let Some(node) =
            edge.ends.iter().find(|&&node| graph.is_closed && !graph.nodes[node as usize].is_declared)
        {
            let seen = format!("line {}: an edge names it, and no node is declared so", edge.line);
            topology.find("unknown-device", graph.nodes[*node as usize].id.as_str(), seen);
            topology.links_missing += 1;
            return;
        }
        let found = attributes::ports(&edge.marks);
        let [mut port_a, mut port_b] = edge.ports.clone();
        port_a = port_a.or_else(|| found[0].clone());
        port_b = port_b.or_else(|| found[1].clone());
        if a == b && port_a == port_b {
            topology.find("loop", name(a, topology), "an edge leads from it to itself");
            return;
        }
        if attributes::is_down(&edge.marks) {
            let seen = format!("the link to {} is said to be down", name(b, topology));
            topology.find("link-down", name(a, topology), seen);
            topology.links_missing += 1;
            return;
        }
        if (port_a.is_none() || port_b.is_none())
            && self.is_other_direction(edge, [a, b], [&port_a, &port_b], topology)
        {
            return;
        }
        let port_a = port_a.unwrap_or_else(|| self.make_up(a, b, topology));
        let port_b = port_b.unwrap_or_else(|| self.make_up(b, a, topology));
        let (rate, delay) = (attributes::rate(&edge.marks), attributes::delay(&edge.marks));
        topology.join([(a, &port_a), (b, &port_b)], rate, delay, edge.line);
    }

    /// Whether an edge is the other direction of a cable that is known.
    fn is_other_direction(
        &mut self,
        edge: &GraphEdge,
        [a, b]: [u32; 2],
        ports: [&Option<String>; 2],
        topology: &Topology,
    ) -> bool {
        for (device, peer, port) in [(a, b, ports[0]), (b, a, ports[1])] {
            let known = port.as_ref().and_then(|port| topology.list.port_named(device, port));
            let far = known.and_then(|port| topology.list.peer(port));
            if far.is_some_and(|far| topology.list.device_of(far) == peer) {
                return true;
            }
        }
        if !edge.is_directed {
            return false;
        }
        let forward = self.seen.entry((a, b)).or_default();
        *forward += 1;
        let forward = *forward;
        self.seen.get(&(b, a)).is_some_and(|&back| forward <= back)
    }

    /// A port of a device towards another.
    fn make_up(&mut self, device: u32, peer: u32, topology: &Topology) -> String {
        self.made_up += 1;
        let next = self.next.entry((device, peer)).or_default();
        loop {
            let port = format!("to-{}-{next}", topology.list.devices()[peer as usize].name);
            *next += 1;
            if topology.list.port_named(device, &port).is_none() {
                return port;
            }
        }
    }
}

/// Enters roles.
fn roles(graph: &Graph, rows: &[u32], topology: &mut Topology) {
    let mut open = Vec::new();
    let mut has_hosts = false;
    for (node, &row) in graph.nodes.iter().zip(rows).filter(|(_, row)| **row != NONE) {
        let name = topology.list.devices()[row as usize].name.clone();
        let told = attributes::role(&node.marks).or_else(|| attributes::role_of_word(&name));
        let is_host = matches!(told, Some(NodeRole::Role(role)) if role.is_host());
        if !is_host && (tiers::is_out_of_band(&name) || attributes::is_out_of_band(&node.marks)) {
            topology.switch(&name);
            topology.list.device_mut(row).network = Some(CableNetwork::OutOfBand);
            continue;
        }
        match told {
            Some(NodeRole::Role(role)) => {
                let name = name.as_str();
                has_hosts |= role.is_host();
                let _ = if role.is_host() { topology.host(name) } else { topology.switch(name) };
                topology.list.device_mut(row).role = Some(role);
                topology.about_mut(row).tier = Some(role.tier()).filter(|&tier| tier > 0);
            }
            Some(NodeRole::Switch(tier)) => {
                topology.switch(&name);
                if let Some(tier) = tier {
                    tiers::state(topology, row, tier);
                }
            }
            None => open.push((row, name)),
        }
    }
    for (row, name) in &open {
        let list = &topology.list;
        let ports = &list.devices()[*row as usize].ports;
        let peers: BTreeSet<u32> =
            ports.iter().filter_map(|&port| list.peer(port)).map(|peer| list.device_of(peer)).collect();
        let _ = if !has_hosts && peers.len() == 1 { topology.host(name) } else { topology.switch(name) };
    }
    if !open.is_empty() {
        let count = open.len();
        let taken = if has_hosts {
            "they are taken for switches"
        } else {
            "those with one neighbor are taken for hosts, all others for switches"
        };
        topology.notes.push(format!("nothing tells the role of {count} devices: {taken}"));
    }
}

/// Findings of hosts without a cable.
fn without_cables(topology: &mut Topology) {
    let list = &topology.list;
    let is_alone =
        |&host: &u32| list.devices()[host as usize].ports.iter().all(|&port| list.peer(port).is_none());
    let alone: Vec<String> =
        topology.hosts().filter(is_alone).map(|host| list.devices()[host as usize].name.clone()).collect();
    for name in alone {
        topology.find("host-without-switch", name, "no edge leads to it");
    }
}

/// What a node is written as: role, or tier of a switch without one.
pub(in crate::forms) fn role_word(topology: &Topology, device: u32) -> Option<&'static str> {
    let role = topology.list.devices()[device as usize].role;
    let is_switch = || topology.about[device as usize].class == crate::about::DeviceClass::Switch;
    role.map(DeviceRole::name).or_else(|| is_switch().then_some("switch"))
}

/// Attributes of a device that graphs are written with, by name, role first.
pub(in crate::forms) fn node_marks(topology: &Topology, device: u32) -> Vec<(&'static str, String)> {
    let (listed, about) = (&topology.list.devices()[device as usize], &topology.about[device as usize]);
    let tier = topology.tier(device).filter(|_| listed.role.is_none()).map(|tier| tier.to_string());
    let adapters = about.adapters.iter().map(String::as_str).collect::<Vec<_>>().join(",");
    let all = [
        ("role", role_word(topology, device).map(str::to_owned)),
        ("tier", tier),
        ("network", listed.network.map(|network| network.name().to_owned())),
        ("rack", listed.rack.clone()),
        ("domain", about.domain.clone()),
        ("subdomain", about.subdomain.clone()),
        ("gpus", about.gpus.map(|gpus| gpus.to_string())),
        ("adapters", Some(adapters).filter(|names| !names.is_empty())),
        ("model", about.model.clone()),
    ];
    all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

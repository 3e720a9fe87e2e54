//! Which node of a dump is which device of the topology.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::NONE;

use super::dump::{Dump, Node};
use super::lines::NodeKind;
use super::names::{AGGREGATION_ID, AdapterName, adapter_name, switch_names};
use crate::topology::Topology;

/// Place of a node: its device, [`NONE`] for an aggregation adapter, and the adapter of it, empty for a switch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct NodePlace {
    pub device: u32,
    pub adapter: String,
}

impl NodePlace {
    /// Whether the node is within a switch.
    pub(super) fn is_aggregation(&self) -> bool {
        self.device == NONE
    }

    /// Name of a port on the device: its number, behind the adapter for hosts.
    pub(super) fn port(&self, number: u32) -> String {
        if self.adapter.is_empty() { number.to_string() } else { format!("{}/{number}", self.adapter) }
    }
}

/// Enters the devices of all nodes; places by row of nodes.
pub(super) fn enter(dump: &Dump, topology: &mut Topology) -> Vec<NodePlace> {
    let adapters = adapters(dump);
    let hosts = Hosts::of(dump, &adapters, topology);
    let names = names_of_switches(dump, &hosts, topology);
    let mut places = Vec::with_capacity(dump.nodes.len());
    for (row, node) in dump.nodes.iter().enumerate() {
        let place = match node.kind {
            NodeKind::Switch => {
                let device = topology.switch(&names[&row]);
                let about = topology.about_mut(device);
                about.id = Some(node.id.clone());
                about.model = Some(node.description.clone()).filter(|text| !text.is_empty());
                NodePlace { device, adapter: String::new() }
            }
            NodeKind::Adapter => match &adapters[row] {
                AdapterName::Aggregation => NodePlace { device: NONE, adapter: String::new() },
                name => host_place(node, name, &hosts.names[&row], topology),
            },
            NodeKind::Router | NodeKind::Unknown => other_place(node, topology),
        };
        places.push(place);
    }
    places
}

/// Names of adapters by row of nodes. What stands in the system of a switch is an aggregation adapter, whatever its name.
fn adapters(dump: &Dump) -> Vec<AdapterName> {
    let switches = dump.nodes.iter().filter(|node| node.kind == NodeKind::Switch);
    let systems: BTreeSet<u64> = switches.filter_map(|node| node.system).collect();
    let inner = at_inner_ports(dump);
    let named = |(row, node): (u32, &Node)| {
        let within = node.system.is_some_and(|system| systems.contains(&system));
        let name = adapter_name(&node.description);
        let names_host = matches!(name, AdapterName::Named { .. });
        if node.kind == NodeKind::Adapter
            && (within || node.device_id == Some(AGGREGATION_ID) || (inner.contains(&row) && !names_host))
        {
            AdapterName::Aggregation
        } else {
            name
        }
    };
    (0..).zip(&dump.nodes).map(named).collect()
}

/// Adapters without a block at the port of a switch that leads inwards: the last of an odd count, as 41 of a QM8700 and 65 of
/// a QM9700, with a GUID that differs from that of the switch in the last byte alone.
fn at_inner_ports(dump: &Dump) -> BTreeSet<u32> {
    let is_inner = |from: (u32, u32), to: (u32, u32)| {
        let [switch, adapter] = [from.0, to.0].map(|row| &dump.nodes[row as usize]);
        let is_last = switch.ports % 2 == 1 && from.1 == switch.ports;
        is_last
            && switch.kind == NodeKind::Switch
            && adapter.kind == NodeKind::Adapter
            && !adapter.has_block
            && guid(&switch.id).zip(guid(&adapter.id)).is_some_and(|(a, b)| a >> 8 == b >> 8)
    };
    let inner = dump.claims.iter().filter(|claim| is_inner(claim.from, claim.to));
    inner.map(|claim| claim.to.0).collect()
}

/// Names of hosts by row of nodes.
struct Hosts {
    names: BTreeMap<usize, String>,
}

impl Hosts {
    fn of(dump: &Dump, adapters: &[AdapterName], topology: &mut Topology) -> Self {
        let is_host = |row: &usize| {
            dump.nodes[*row].kind == NodeKind::Adapter && adapters[*row] != AdapterName::Aggregation
        };
        let rows: Vec<usize> = (0..dump.nodes.len()).filter(is_host).collect();
        let mut names = named_hosts(dump, adapters, &rows, topology);
        let mut of_system: BTreeMap<u64, String> = BTreeMap::new();
        for (&row, name) in &names {
            if let Some(system) = dump.nodes[row].system {
                of_system.entry(system).or_insert_with(|| name.clone());
            }
        }
        for &row in &rows {
            if names.contains_key(&row) {
                continue;
            }
            let node = &dump.nodes[row];
            let known = node.system.and_then(|system| of_system.get(&system).cloned());
            let name = known.unwrap_or_else(|| node.id.clone());
            if let Some(system) = node.system {
                of_system.entry(system).or_insert_with(|| name.clone());
            }
            if is_guid(&node.id) {
                let seen = match node.description.as_str() {
                    "" => format!("adapter {} has no description", node.id),
                    described => {
                        format!("adapter {} is described as {described:?}, which names no host", node.id)
                    }
                };
                topology.find("unnamed-host", name.as_str(), seen);
            }
            names.insert(row, name);
        }
        Self { names }
    }
}

/// The system of an adapter, or its id where no system is known.
type Part<'a> = (u64, &'a str);

/// Names of the hosts whose descriptions name them. Adapters of one description and of different systems are of hosts of
/// equal names, which are numbered.
fn named_hosts(
    dump: &Dump,
    adapters: &[AdapterName],
    rows: &[usize],
    topology: &mut Topology,
) -> BTreeMap<usize, String> {
    let mut of_description: BTreeMap<(&str, Option<&str>), BTreeSet<Part<'_>>> = BTreeMap::new();
    let named = |row: usize| match &adapters[row] {
        AdapterName::Named { host, adapter } => Some((host.as_str(), adapter.as_deref())),
        _ => None,
    };
    // The system, or the node where no system is known.
    let part = |row: usize| {
        let node = &dump.nodes[row];
        node.system.map_or((0, node.id.as_str()), |system| (system, ""))
    };
    for &row in rows {
        if let Some(name) = named(row) {
            of_description.entry(name).or_default().insert(part(row));
        }
    }
    for ((host, adapter), parts) in &of_description {
        if parts.len() > 1 {
            let seen = match adapter {
                Some(adapter) => format!(
                    "{} adapters of different systems are described as \"{host} {adapter}\": taken for {} hosts",
                    parts.len(),
                    parts.len()
                ),
                None => format!(
                    "{} adapters of different systems are described as \"{host}\": taken for one host",
                    parts.len()
                ),
            };
            topology.find("duplicate-name", *host, seen);
        }
    }
    let mut names = BTreeMap::new();
    for &row in rows {
        let Some((host, adapter)) = named(row) else { continue };
        let parts = &of_description[&(host, adapter)];
        let index = if adapter.is_some() { parts.range(..part(row)).count() } else { 0 };
        let name = if index == 0 { host.to_owned() } else { format!("{host} ({})", index + 1) };
        names.insert(row, name);
    }
    names
}

/// Names of switches by row of nodes: the first of theirs that no other device has, else the id.
fn names_of_switches(dump: &Dump, hosts: &Hosts, topology: &mut Topology) -> BTreeMap<usize, String> {
    let switches = || dump.nodes.iter().enumerate().filter(|(_, node)| node.kind == NodeKind::Switch);
    let taken: BTreeSet<&str> = hosts.names.values().map(String::as_str).collect();
    let mut uses: BTreeMap<String, u32> = BTreeMap::new();
    let mut described: BTreeMap<&str, u32> = BTreeMap::new();
    for (_, node) in switches() {
        for name in switch_names(&node.description).into_iter().collect::<BTreeSet<_>>() {
            *uses.entry(name).or_default() += 1;
        }
        *described.entry(&node.description).or_default() += 1;
    }
    let mut names = BTreeMap::new();
    for (row, node) in switches() {
        let candidates = switch_names(&node.description);
        let shared = described.get(node.description.as_str()).is_some_and(|&count| count > 1);
        if candidates.is_empty() && is_guid(&node.id) {
            let seen = format!("the switch is described as {:?}, which names none", node.description);
            topology.find("unnamed-switch", node.id.as_str(), seen);
        } else if shared && !candidates.is_empty() {
            let seen = format!("several switches are described as {:?}", node.description);
            topology.find("duplicate-name", node.id.as_str(), seen);
        }
        let free = candidates.into_iter().find(|name| uses[name] == 1 && !taken.contains(name.as_str()));
        names.insert(row, free.unwrap_or_else(|| node.id.clone()));
    }
    names
}

/// Enters the host of an adapter, and the adapter.
fn host_place(node: &Node, name: &AdapterName, host: &str, topology: &mut Topology) -> NodePlace {
    let device = topology.host(host);
    let told = match name {
        AdapterName::Named { adapter, .. } | AdapterName::Unnamed { adapter } => adapter.as_deref(),
        AdapterName::Aggregation => None,
    };
    let adapters = &mut topology.about_mut(device).adapters;
    let told = told.filter(|told| !adapters.contains(*told));
    let adapter = told.unwrap_or(node.id.as_str()).to_owned();
    adapters.insert(adapter.clone());
    NodePlace { device, adapter }
}

/// Enters a router, or a node that only links name and whose id says nothing.
fn other_place(node: &Node, topology: &mut Topology) -> NodePlace {
    let free = !node.description.is_empty() && topology.list.device_named(&node.description).is_none();
    let device = topology.device(if free { &node.description } else { &node.id });
    topology.about_mut(device).id = Some(node.id.clone());
    match node.kind {
        NodeKind::Router => topology.notes.push(format!("{} is a router to another subnet", node.id)),
        _ => topology.find(
            "unknown-device",
            node.id.as_str(),
            "links lead to it, and no block says what it is",
        ),
    }
    NodePlace { device, adapter: String::new() }
}

/// Whether an id is that of a GUID, `H-e09d730300858f00`: ids of hand-written nets are names.
fn is_guid(id: &str) -> bool {
    guid(id).is_some()
}

/// The GUID of an id.
fn guid(id: &str) -> Option<u64> {
    let (_, digits) = id.split_once('-')?;
    let is_whole = digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| is_whole)
}

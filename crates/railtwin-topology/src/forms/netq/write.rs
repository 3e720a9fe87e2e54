//! Writes NetQ's graph.
use std::collections::BTreeMap;

use railtwin_formats::FormatError;
use serde::Serialize;

use super::BETWEEN;
use crate::form::{WriteOptions, Written};
use crate::topology::Topology;

/// Tier of devices that NetQ saw over LLDP alone.
const UNCLASSIFIED: i64 = -1;

#[derive(Serialize)]
struct Graph<'a> {
    links: Vec<Link<'a>>,
    nodes: Vec<Tier<'a>>,
}

#[derive(Serialize)]
struct Tier<'a> {
    compounded_nodes: Vec<Device<'a>>,
    id: String,
    name: String,
    node_type: &'static str,
    size: usize,
    tier: i64,
}

#[derive(Serialize)]
struct Device<'a> {
    device_type: &'static str,
    id: String,
    name: &'a str,
    node_type: &'static str,
    size: u32,
    tier: i64,
}

#[derive(Serialize)]
struct Link<'a> {
    compounded_links: Vec<Cable<'a>>,
    id: String,
    interfaces: [End; 2],
    size: usize,
    src: String,
    target: String,
}

#[derive(Serialize)]
struct End {
    node: String,
}

#[derive(Serialize)]
struct Cable<'a> {
    id: String,
    interfaces: [Interface<'a>; 2],
}

#[derive(Serialize)]
struct Interface<'a> {
    interface: &'a str,
    node: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Record<'a> {
    #[serde(rename = "DomainUUID")]
    domain: &'a str,
    #[serde(rename = "ID")]
    id: String,
    location_info: Location<'a>,
    name: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Location<'a> {
    chassis_serial_number: &'a str,
}

/// Writes the graph, and compute nodes where hosts have domains. Rates, delays, free ports and kinds of hosts are left out:
/// the form has no place for them.
///
/// # Errors
/// None is known; the type is that of all writers.
pub(super) fn write(topology: &Topology, _options: &WriteOptions) -> Result<Vec<Written>, FormatError> {
    let mut tiers: BTreeMap<i64, Vec<Device<'_>>> = BTreeMap::new();
    let switches =
        topology.switches().map(|row| (row, topology.tier(row).map_or(UNCLASSIFIED, i64::from), "switch"));
    let hosts = topology.hosts().map(|row| (row, UNCLASSIFIED, "discovered_via_lldp"));
    for (row, tier, device_type) in hosts.chain(switches) {
        let name = &topology.list.devices()[row as usize].name;
        let device = Device { device_type, id: id(row), name, node_type: "device", size: 1, tier };
        tiers.entry(tier).or_default().push(device);
    }
    let nodes = tiers.into_iter().map(|(tier, devices)| {
        let name = if tier == UNCLASSIFIED { "tier-unclassified".to_owned() } else { format!("tier-{tier}") };
        let size = devices.len();
        Tier { compounded_nodes: devices, id: name.clone(), name, node_type: "tier", size, tier }
    });
    let graph = Graph { links: links(topology), nodes: nodes.collect() };
    let mut files = vec![file("topology_graph.json", &[graph])?];
    let records: Vec<Record<'_>> = topology.hosts().filter_map(|row| record(topology, row)).collect();
    if !records.is_empty() {
        files.push(file("compute_nodes.json", &records)?);
    }
    Ok(files)
}

fn links(topology: &Topology) -> Vec<Link<'_>> {
    let list = &topology.list;
    let mut cables: Vec<[(u32, &str); 2]> = list
        .cables()
        .iter()
        .map(|cable| {
            let mut ends =
                cable.ports.map(|port| (list.device_of(port), list.ports()[port as usize].name.as_str()));
            ends.sort_unstable();
            ends
        })
        .collect();
    // Cables of a pair stay in the order of the list.
    cables.sort_by_key(|ends| ends.map(|(row, _)| row));
    let pairs = cables.chunk_by(|a, b| a.map(|end| end.0) == b.map(|end| end.0));
    pairs
        .map(|of_pair| {
            let [a, b] = of_pair[0].map(|(row, _)| id(row));
            let cable = |ends: &[(u32, &'_ str); 2]| format!("{a}:{}{BETWEEN}{b}:{}", ends[0].1, ends[1].1);
            let compounded_links = of_pair.iter().map(|ends| Cable {
                id: cable(ends),
                interfaces: ends.map(|(row, interface)| Interface { interface, node: id(row) }),
            });
            Link {
                compounded_links: compounded_links.collect(),
                id: format!("{a}{BETWEEN}{b}"),
                interfaces: [End { node: a.clone() }, End { node: b.clone() }],
                size: of_pair.len(),
                src: a.clone(),
                target: b.clone(),
            }
        })
        .collect()
}

fn record(topology: &Topology, host: u32) -> Option<Record<'_>> {
    let about = &topology.about[host as usize];
    Some(Record {
        domain: about.domain.as_deref()?,
        id: id(host),
        location_info: Location { chassis_serial_number: about.subdomain.as_deref().unwrap_or("") },
        name: &topology.list.devices()[host as usize].name,
    })
}

fn id(row: u32) -> String {
    format!("node{row}")
}

fn file<T: Serialize + ?Sized>(path: &str, value: &T) -> Result<Written, FormatError> {
    let text = serde_json::to_string_pretty(value).map_err(|error| {
        FormatError::new("netq", path, format!("cannot be written: {error}"), "a topology that JSON can hold")
    })?;
    Ok(Written { path: path.to_owned(), text: text + "\n" })
}

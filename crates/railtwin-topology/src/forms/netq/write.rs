//! Writes NetQ's graph.
use std::collections::BTreeMap;

use railtwin_formats::FormatError;
use serde_json::{Value, json};

use super::BETWEEN;
use crate::form::{WriteOptions, Written};
use crate::topology::Topology;

/// Tier of devices that NetQ saw over LLDP alone.
const UNCLASSIFIED: i64 = -1;

/// Writes the graph, and compute nodes where hosts have domains. Rates, delays, free ports and kinds of hosts are left out:
/// the form has no place for them.
///
/// # Errors
/// None; the type is that of all writers.
pub(super) fn write(topology: &Topology, _options: &WriteOptions) -> Result<Vec<Written>, FormatError> {
    let mut tiers: BTreeMap<i64, Vec<Value>> = BTreeMap::new();
    let switches = topology.switches().map(|row| (row, topology.tier(row).map_or(UNCLASSIFIED, i64::from), "switch"));
    let hosts = topology.hosts().map(|row| (row, UNCLASSIFIED, "discovered_via_lldp"));
    for (row, tier, kind) in hosts.chain(switches) {
        let name = &topology.list.devices()[row as usize].name;
        let device = json!({
            "device_type": kind, "id": id(row), "name": name, "node_type": "device", "size": 1, "tier": tier,
        });
        tiers.entry(tier).or_default().push(device);
    }
    let nodes: Vec<Value> = tiers
        .into_iter()
        .map(|(tier, devices)| {
            let name = if tier == UNCLASSIFIED { "tier-unclassified".to_owned() } else { format!("tier-{tier}") };
            json!({
                "compounded_nodes": devices, "id": name, "name": name, "node_type": "tier", "size": devices.len(), "tier": tier,
            })
        })
        .collect();
    let mut files = vec![file("topology_graph.json", &json!([{ "links": links(topology), "nodes": nodes }]))];
    let records: Vec<Value> = topology.hosts().filter_map(|row| record(topology, row)).collect();
    if !records.is_empty() {
        files.push(file("compute_nodes.json", &Value::from(records)));
    }
    Ok(files)
}

fn links(topology: &Topology) -> Vec<Value> {
    let list = &topology.list;
    let mut pairs: BTreeMap<[u32; 2], Vec<Value>> = BTreeMap::new();
    for cable in list.cables() {
        let mut ends = cable.ports.map(|port| (list.device_of(port), list.ports()[port as usize].name.as_str()));
        ends.sort_unstable();
        let interfaces = ends.map(|(row, port)| json!({ "interface": port, "node": id(row) }));
        let name = format!("{}:{}{BETWEEN}{}:{}", id(ends[0].0), ends[0].1, id(ends[1].0), ends[1].1);
        let cables = pairs.entry(ends.map(|(row, _)| row)).or_default();
        cables.push(json!({ "id": name, "interfaces": interfaces }));
    }
    let links = pairs.into_iter().map(|([a, b], cables)| {
        let size = cables.len();
        json!({
            "compounded_links": cables,
            "id": format!("{}{BETWEEN}{}", id(a), id(b)),
            "interfaces": [{ "node": id(a) }, { "node": id(b) }],
            "size": size,
            "src": id(a),
            "target": id(b),
        })
    });
    links.collect()
}

fn record(topology: &Topology, host: u32) -> Option<Value> {
    let about = &topology.about[host as usize];
    let domain = about.domain.as_ref()?;
    Some(json!({
        "DomainUUID": domain,
        "ID": id(host),
        "LocationInfo": { "ChassisSerialNumber": about.subdomain.as_deref().unwrap_or("") },
        "Name": topology.list.devices()[host as usize].name,
    }))
}

fn id(row: u32) -> String {
    format!("node{row}")
}

fn file(path: &str, value: &Value) -> Written {
    Written { path: path.to_owned(), text: format!("{value:#}\n") }
}

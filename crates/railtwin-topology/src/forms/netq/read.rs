//! Reads NetQ's graph.
use std::collections::BTreeMap;

use railtwin_fabric::cable_list::DeviceRole;
use railtwin_formats::FormatError;
use serde::Deserialize;

use super::BETWEEN;
use crate::form::SourceFile;
use crate::tiers;
use crate::topology::Topology;
use crate::yaml::text_of;

const NAME: &str = "netq";
const ACCEPTED: &str = "the answer of NetQ's fetch-topology, and that of NMX's compute-nodes beside it";

#[derive(Deserialize, Default)]
#[serde(default)]
struct Graph {
    links: Option<Vec<Link>>,
    nodes: Option<Vec<Node>>,
}

/// A tier, a group in it, or a device.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Node {
    id: Option<String>,
    name: Option<String>,
    tier: Option<i64>,
    device_type: Option<String>,
    compounded_nodes: Option<Vec<Node>>,
}

/// A link between two devices, or a cable of one.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Link {
    id: Option<String>,
    size: Option<u32>,
    compounded_links: Option<Vec<Link>>,
    interfaces: Option<Vec<Interface>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Interface {
    interface: Option<String>,
    node: Option<String>,
}

/// A record of NMX.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct ComputeNode {
    #[serde(rename = "ID")]
    id: Option<String>,
    name: Option<String>,
    #[serde(rename = "DomainUUID")]
    domain: Option<String>,
    health: Option<String>,
    #[serde(rename = "GpuIDList")]
    gpus: Option<Vec<serde::de::IgnoredAny>>,
    location_info: Option<Location>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct Location {
    chassis_serial_number: Option<String>,
}

/// Reads graphs, then compute nodes: the domain of a host is the UUID of its NVLink domain, the part of it its chassis.
///
/// # Errors
/// [`FormatError`] for what is no JSON of either kind, and files without a graph.
pub(super) fn read(sources: &[SourceFile<'_>]) -> Result<Topology, FormatError> {
    let mut topology = Topology::new(NAME);
    let (mut graphs, mut records) = (Vec::new(), Vec::new());
    for source in sources {
        let text = text_of(NAME, source)?;
        if super::is_one(source) || text.contains("\"links\"") {
            graphs.extend(parse::<Graph>(source, text)?);
        } else {
            records.extend(parse::<ComputeNode>(source, text)?);
        }
    }
    if graphs.iter().all(|graph| graph.nodes.is_none() && graph.links.is_none()) {
        let name = sources.first().map_or("", |source| source.name);
        return Err(FormatError::new(NAME, name, "has no graph", ACCEPTED).foreign());
    }
    let mut devices = BTreeMap::new();
    for graph in &graphs {
        for node in graph.nodes.iter().flatten() {
            enter_nodes(&mut topology, node, node.tier, &mut devices);
        }
    }
    for link in graphs.iter().flat_map(|graph| graph.links.iter().flatten()) {
        enter_link(&mut topology, link, &devices);
    }
    for record in records {
        enter_record(&mut topology, record);
    }
    for switch in topology.switches().collect::<Vec<_>>() {
        if topology.list.devices()[switch as usize].ports.is_empty() {
            let name = topology.list.devices()[switch as usize].name.clone();
            topology.find("switch-without-hosts", name, "no link leads to it");
        }
    }
    tiers::by_distance(&mut topology);
    Ok(topology)
}

/// One, or a list of them.
fn parse<'a, T: Deserialize<'a>>(source: &SourceFile<'_>, text: &'a str) -> Result<Vec<T>, FormatError> {
    let read = match text.trim_start().starts_with('[') {
        true => serde_json::from_str(text),
        false => serde_json::from_str(text).map(|one| vec![one]),
    };
    read.map_err(|error| {
        FormatError::new(NAME, source.name, format!("cannot be read: {error}"), ACCEPTED)
            .at_line(error.line() as u64)
    })
}

/// Enters the devices of a tier. JSON that is read at all is no deeper than its reader goes.
fn enter_nodes(topology: &mut Topology, node: &Node, tier: Option<i64>, devices: &mut BTreeMap<String, u32>) {
    if let Some(within) = &node.compounded_nodes {
        for inner in within {
            enter_nodes(topology, inner, inner.tier.or(tier), devices);
        }
        return;
    }
    let Some(id) = node.id.as_deref().or(node.name.as_deref()) else {
        topology.find("unnamed-device", "", "a device of the graph has no id and no name");
        return;
    };
    let name = node.name.as_deref().filter(|name| !name.is_empty()).unwrap_or(id);
    let name = match topology.list.device_named(name) {
        Some(_) => {
            topology.find(
                "duplicate-name",
                name,
                format!("names more than one device; {id} is {name} ({id})"),
            );
            format!("{name} ({id})")
        }
        None => name.to_owned(),
    };
    if devices.contains_key(id) {
        topology.find("duplicate-name", id, "is the id of more than one device");
        return;
    }
    let tier = tier.unwrap_or(0);
    let row = match tier > 0 || node.device_type.as_deref() == Some("switch") {
        true => topology.switch(&name),
        false => topology.host(&name),
    };
    if let Ok(tier @ 1..) = u8::try_from(tier) {
        tiers::state(topology, row, tier);
    }
    topology.about_mut(row).id = Some(id.to_owned());
    devices.insert(id.to_owned(), row);
}

fn enter_link(topology: &mut Topology, link: &Link, devices: &BTreeMap<String, u32>) {
    let id = link.id.as_deref().unwrap_or("");
    let cables = link.compounded_links.as_deref().unwrap_or(&[]);
    let size = link.size.unwrap_or(cables.len() as u32);
    if cables.is_empty() {
        enter_unlisted(topology, id, size.max(1), devices);
        return;
    }
    if size as usize != cables.len() {
        topology.find("count-differs", id, format!("of size {size}, and lists {} cables", cables.len()));
    }
    for cable in cables {
        let ends: Vec<(&str, &str)> = cable
            .interfaces
            .iter()
            .flatten()
            .filter_map(|end| Some((end.node.as_deref()?, end.interface.as_deref()?)))
            .collect();
        let [a, b] = ends[..] else {
            topology.links_missing += 1;
            let of = cable.id.as_deref().unwrap_or(id);
            topology.find("one-sided-link", of, format!("{} of its ends are named", ends.len()));
            continue;
        };
        match (devices.get(a.0), devices.get(b.0)) {
            (Some(&lower), Some(&upper)) => {
                topology.join([(lower, a.1), (upper, b.1)], None, None, 0);
            }
            (first, _) => unknown(topology, if first.is_none() { a.0 } else { b.0 }, id, 1),
        }
    }
}

/// A link without its cables: they get numbers for ports.
fn enter_unlisted(topology: &mut Topology, id: &str, size: u32, devices: &BTreeMap<String, u32>) {
    /// Most cables of a link (assumed): no two switches have more ports than this.
    const CABLES_MAX: u32 = 1 << 10;
    let Some((a, b)) = id.split_once(BETWEEN) else {
        topology.links_missing = topology.links_missing.saturating_add(size);
        topology.find("one-sided-link", id, "the link names no two devices");
        return;
    };
    match (devices.get(a), devices.get(b)) {
        (Some(&lower), Some(&upper)) => {
            let known = |row: u32| topology.list.devices()[row as usize].name.clone();
            let names = [known(lower), known(upper)];
            for cable in 0..size.min(CABLES_MAX) {
                let ports = [format!("{}-{cable}", names[1]), format!("{}-{cable}", names[0])];
                topology.join([(lower, &ports[0]), (upper, &ports[1])], None, None, 0);
            }
        }
        (first, _) => unknown(topology, if first.is_none() { a } else { b }, id, size),
    }
}

fn unknown(topology: &mut Topology, device: &str, link: &str, cables: u32) {
    topology.links_missing = topology.links_missing.saturating_add(cables);
    topology.find("unknown-device", device, format!("link {link} leads to it, and no tier lists it"));
}

fn enter_record(topology: &mut Topology, record: ComputeNode) {
    let Some(name) = record.name.filter(|name| !name.is_empty()) else {
        let id = record.id.unwrap_or_default();
        topology.find("unnamed-host", id, "a compute node has no name");
        return;
    };
    let row = match topology.list.device_named(&name) {
        Some(row) if topology.list.devices()[row as usize].role.is_some_and(DeviceRole::is_host) => row,
        Some(_) => {
            topology.find("duplicate-name", name, "names a compute node and a switch");
            return;
        }
        None => {
            topology.find("host-without-switch", name.as_str(), "a compute node that is not in the graph");
            topology.host(&name)
        }
    };
    if let Some(health) = record.health.filter(|health| health != "HEALTHY") {
        topology.find("unhealthy-host", name, format!("its health is {health}"));
    }
    let about = topology.about_mut(row);
    let chassis = record.location_info.and_then(|location| location.chassis_serial_number);
    let told = |text: Option<String>| text.filter(|text| !text.is_empty());
    let (domain, chassis) = (told(record.domain), told(chassis));
    about.domain = domain.or_else(|| chassis.clone());
    about.subdomain = chassis;
    about.gpus = record.gpus.map(|gpus| gpus.len() as u32).filter(|&gpus| gpus > 0);
    about.id = about.id.take().or(record.id);
}

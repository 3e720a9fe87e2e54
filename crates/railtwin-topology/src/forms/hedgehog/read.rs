//! From wiring objects to a topology.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::cable_list::{DeviceRole, role_of};
use railtwin_formats::FormatError;
use railtwin_units::Rate;
use serde_yaml_ng::Value;

use super::FORMAT;
use crate::about::DeviceClass;
use crate::form::SourceFile;
use crate::tiers;
use crate::topology::Topology;
use crate::wiring::{self, End};

/// Most levels of lists of objects within each other.
const MOST_LISTS: u32 = 4;

/// Reads wiring objects of one or several files.
///
/// # Errors
/// A file that is not YAML, with its line, and files without a switch, server or connection.
pub(super) fn read(sources: &[SourceFile<'_>]) -> Result<Topology, FormatError> {
    let mut reading = Reading { topology: Topology::new("hedgehog"), ..Reading::default() };
    let mut connections = Vec::new();
    for source in sources {
        let mut names = BTreeSet::new();
        for (line, document) in documents(wiring::text(FORMAT, source)?) {
            let value: Value = serde_yaml_ng::from_str(document).map_err(|error| {
                let within = error.location().map_or(1, |place| place.line().max(1)) as u64;
                let problem = format!("is not YAML: {error}");
                FormatError::new(FORMAT, source.name, problem, "write the object anew")
                    .at_line(line + within - 1)
            })?;
            reading.object(value, line, 0, &mut names, &mut connections);
        }
    }
    if reading.topology.list.devices().is_empty() && connections.is_empty() {
        let name = sources.first().map_or("", |source| source.name);
        let accepted = "give objects of kind Switch, Server and Connection";
        return Err(FormatError::new(FORMAT, name, "has no wiring", accepted).foreign());
    }
    for (name, spec, line) in &connections {
        reading.connection(name, spec, *line);
    }
    Ok(reading.finish())
}

/// The documents of a YAML stream with the line at which each begins.
fn documents(text: &str) -> Vec<(u64, &str)> {
    let mut documents = Vec::new();
    let (mut start, mut first, mut at) = (0, 1, 0);
    for (line, number) in text.split_inclusive('\n').zip(1_u64..) {
        let mark = line.trim_end();
        let is_start = mark == "---" || mark.starts_with("--- ");
        if is_start || mark == "..." {
            documents.push((first, &text[start..at]));
            // What stands behind the mark is of the document; the mark of an end is not.
            (start, first) = (at + 3, number);
        }
        at += line.len();
    }
    documents.push((first, &text[start..]));
    documents.retain(|(_, document)| !document.trim().is_empty());
    documents
}

/// What an object says of the ports of a switch.
#[derive(Default)]
struct SwitchPorts {
    /// Count and rate of the parts of a port.
    breakouts: BTreeMap<String, (u32, Option<Rate>)>,
    speeds: BTreeMap<String, Rate>,
}

/// Name of a port without the letter that versions differ in: `E1/3` is `1/3`.
fn bare(port: &str) -> &str {
    port.strip_prefix('E').unwrap_or(port)
}

impl SwitchPorts {
    fn of(spec: &Value) -> Self {
        let texts = |key: &str| {
            let pairs = spec.get(key).and_then(Value::as_mapping).into_iter().flatten();
            pairs.filter_map(|(port, value)| Some((bare(port.as_str()?).to_owned(), value.as_str()?)))
        };
        let breakouts = texts("portBreakouts").filter_map(|(port, text)| Some((port, breakout(text)?)));
        let speeds = texts("portSpeeds").filter_map(|(port, text)| Some((port, wiring::rate(text)?)));
        Self { breakouts: breakouts.collect(), speeds: speeds.collect() }
    }

    /// Rate of a port, and whether the switch has it.
    fn rate(&self, port: &str) -> (Option<Rate>, bool) {
        let port = bare(port);
        if let Some(rate) = self.speeds.get(port) {
            return (Some(*rate), true);
        }
        if let Some((_, rate)) = self.breakouts.get(port) {
            return (*rate, true);
        }
        let part = port.rsplit_once('/').and_then(|(whole, part)| Some((self.breakouts.get(whole)?, part)));
        match part {
            Some(((count, rate), part)) => {
                let is_one = part.parse().is_ok_and(|part: u32| (1..=*count).contains(&part));
                (rate.filter(|_| is_one), is_one)
            }
            None => (None, true),
        }
    }
}

/// `2x400G`, `1x50G(2)`: parts of a port and their rate.
fn breakout(text: &str) -> Option<(u32, Option<Rate>)> {
    let (count, rate) = text.trim().split_once('x')?;
    let rate = rate.split('(').next().unwrap_or(rate);
    Some((count.parse().ok()?, wiring::rate(rate)))
}

/// A topology while it is read.
#[derive(Default)]
struct Reading {
    topology: Topology,
    ports: BTreeMap<u32, SwitchPorts>,
    described: BTreeSet<u32>,
    /// Connections that are not cables of the fabric, by kind.
    outside: BTreeMap<&'static str, u32>,
}

impl Reading {
    /// Enters an object; connections are put aside until all devices are known.
    fn object(
        &mut self,
        mut value: Value,
        line: u64,
        depth: u32,
        names: &mut BTreeSet<(String, String)>,
        connections: &mut Vec<(String, Value, u64)>,
    ) {
        let kind = value.get("kind").and_then(Value::as_str).unwrap_or("").to_owned();
        if kind.ends_with("List") && depth < MOST_LISTS {
            let items = value.get_mut("items").and_then(Value::as_sequence_mut).map(std::mem::take);
            for item in items.into_iter().flatten() {
                self.object(item, line, depth + 1, names, connections);
            }
            return;
        }
        let is_known = ["Switch", "Server", "Gateway", "Connection"].contains(&kind.as_str());
        let name = value.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Value::as_str);
        let Some(name) = name.map(str::to_owned).filter(|name| !name.is_empty()) else {
            if is_known {
                let unnamed = if kind == "Server" { "unnamed-host" } else { "unnamed-switch" };
                self.topology.find(unnamed, format!("line {line}"), format!("a {kind} has no name"));
            }
            return;
        };
        if is_known && !names.insert((kind.clone(), name.clone())) {
            self.topology.find("duplicate-name", name.as_str(), format!("a second {kind} on line {line}"));
        }
        match kind.as_str() {
            "Connection" => {
                let spec = value.get_mut("spec").map(std::mem::take).unwrap_or_default();
                connections.push((name, spec, line));
            }
            "Switch" => self.switch(&name, &value),
            "Server" | "Gateway" => {
                let row = self.topology.host(&name);
                let told = stated_role(&value).filter(|role| role.is_host());
                let is_gateway = kind == "Gateway";
                let role = told.unwrap_or_else(|| match is_gateway {
                    true => DeviceRole::Gateway,
                    false => wiring::host_role(&[&name]),
                });
                self.topology.list.device_mut(row).role = Some(role);
                self.described.insert(row);
            }
            _ => {}
        }
    }

    fn switch(&mut self, name: &str, value: &Value) {
        let none = Value::Null;
        let spec = value.get("spec").unwrap_or(&none);
        let row = self.topology.switch(name);
        let text = |path: &[&str]| {
            let found = path.iter().try_fold(spec, |value, key| value.get(key));
            found.and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let role = match text(&["role"]).as_deref() {
            Some("spine") => Some(DeviceRole::Spine),
            Some("server-leaf" | "border-leaf" | "mixed-leaf") => Some(DeviceRole::Leaf),
            other => other.and_then(role_of).filter(|role| !role.is_host()),
        };
        let role = role.or_else(|| role_of(name).filter(|role| !role.is_host()));
        let device = self.topology.list.device_mut(row);
        device.role = role;
        device.rack = text(&["location", "rack"]);
        let about = self.topology.about_mut(row);
        about.model = text(&["profile"]);
        about.id = text(&["boot", "mac"]).or_else(|| text(&["boot", "serial"]));
        if let Some(group) = text(&["redundancy", "group"]) {
            about.labels.insert("redundancy.group".to_owned(), group);
        }
        self.ports.insert(row, SwitchPorts::of(spec));
        self.described.insert(row);
    }

    /// Enters the cables of a connection: links are objects of two ends, each with a `port`.
    fn connection(&mut self, name: &str, spec: &Value, line: u64) {
        let mut has_links = false;
        for (kind, body) in spec.as_mapping().into_iter().flatten() {
            let kind = kind.as_str().unwrap_or("");
            if kind == "topology" {
                continue;
            }
            let outside = match kind {
                "external" => Some("links to externals"),
                "staticExternal" => Some("static links to externals"),
                "vpcLoopback" => Some("loopbacks of switches"),
                _ => None,
            };
            for (key, links) in body.as_mapping().into_iter().flatten() {
                let all = match key.as_str().unwrap_or("") {
                    "link" => std::slice::from_ref(links),
                    "links" | "peerLinks" | "sessionLinks" => {
                        links.as_sequence().map_or(&[][..], Vec::as_slice)
                    }
                    _ => continue,
                };
                has_links = has_links || !all.is_empty();
                match outside {
                    Some(kind) => *self.outside.entry(kind).or_default() += all.len() as u32,
                    None => all.iter().for_each(|link| self.link(name, link, line)),
                }
            }
        }
        if !has_links {
            self.topology.find("connection-without-links", name, "the connection names no link");
        }
    }

    fn link(&mut self, connection: &str, link: &Value, line: u64) {
        let ends = link.as_mapping().into_iter().flatten().filter_map(|(side, end)| {
            let port = end.get("port").and_then(Value::as_str)?;
            let (device, port) = port.split_once('/')?;
            (!device.is_empty() && !port.is_empty()).then(|| (side.as_str().unwrap_or(""), device, port))
        });
        let mut ends: Vec<(&str, &str, &str)> = ends.collect();
        // Order of sides in a file does not count: hosts and leaves come first.
        ends.sort_by_key(|(side, ..)| match *side {
            "server" | "leaf" | "leaf1" | "switch1" => 0,
            _ => 1,
        });
        let &[a, b] = ends.as_slice() else {
            self.topology.links_missing += 1;
            let seen = format!("a link on line {line} has {} ends with a device and a port", ends.len());
            self.topology.find("one-sided-link", connection, seen);
            return;
        };
        let [a, b] = [a, b].map(|(side, device, port)| {
            let device = self.device(connection, side, device);
            (device, port)
        });
        let [a, b] = [a, b].map(|(device, port)| {
            let (rate, is_there) = self.ports.get(&device).map_or((None, true), |ports| ports.rate(port));
            if !is_there {
                let name = self.topology.list.devices()[device as usize].name.clone();
                let seen = format!("connection {connection} uses port {port}, which no breakout makes");
                self.topology.find("unknown-port", name, seen);
            }
            End { device, port, rate }
        });
        wiring::join(&mut self.topology, [a, b], None, line);
    }

    /// Row of a device that a link names.
    fn device(&mut self, connection: &str, side: &str, name: &str) -> u32 {
        if let Some(row) = self.topology.list.device_named(name).filter(|row| self.described.contains(row)) {
            return row;
        }
        let class = match side {
            "server" | "gateway" => DeviceClass::Host,
            _ => DeviceClass::Switch,
        };
        let row = match (side, class) {
            // Gateways are nodes of the fabric, which other files describe.
            ("gateway", _) => self.topology.host(name),
            _ => {
                let seen = format!("connection {connection} names it, and no object describes it");
                wiring::undescribed(&mut self.topology, name, class, &seen)
            }
        };
        let role = match side {
            "gateway" => Some(DeviceRole::Gateway),
            "spine" => Some(DeviceRole::Spine),
            "leaf" | "leaf1" | "leaf2" => Some(DeviceRole::Leaf),
            _ => None,
        };
        if role.is_some() {
            self.topology.list.device_mut(row).role = role;
        }
        self.described.insert(row);
        row
    }

    fn finish(mut self) -> Topology {
        for (kind, count) in &self.outside {
            self.topology.notes.push(format!("{count} {kind} are not cables of the fabric"));
        }
        let hosts: Vec<u32> = self.topology.hosts().collect();
        for host in hosts {
            let device = &self.topology.list.devices()[host as usize];
            if device.ports.is_empty() {
                let name = device.name.clone();
                self.topology.find("host-without-switch", name, "no connection names it");
            }
        }
        wiring::adapters_by_port(&mut self.topology);
        tiers::by_distance(&mut self.topology);
        self.topology
    }
}

/// The role that an annotation of this project states, where names do not tell it.
fn stated_role(object: &Value) -> Option<DeviceRole> {
    let annotations = object.get("metadata")?.get("annotations")?;
    DeviceRole::named(annotations.get(super::write::ROLE)?.as_str()?)
}

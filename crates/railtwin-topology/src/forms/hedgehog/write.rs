//! From a topology to wiring objects.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use railtwin_fabric::NONE;
use railtwin_fabric::cable_list::{CableList, DeviceRole};
use railtwin_formats::FormatError;
use railtwin_units::Rate;

use super::FORMAT;
use crate::form::{WriteOptions, Written};
use crate::topology::Topology;
use crate::wiring::{host_role, rate_text};

/// Annotation with the role of a host whose name tells another.
pub(super) const ROLE: &str = "railtwin/role";

/// Namespaces that every switch is of: those that `hhfab init` writes.
const NAMESPACES: &str = "\
---
apiVersion: wiring.githedgehog.com/v1beta1
kind: VLANNamespace
metadata:
  name: default
  namespace: default
spec:
  ranges:
  - from: 1000
    to: 2999
---
apiVersion: vpc.githedgehog.com/v1beta1
kind: IPv4Namespace
metadata:
  name: default
  namespace: default
spec:
  subnets:
  - 10.0.0.0/16
";

/// Writes `wiring.yaml`: switches, servers, an unbundled connection for each cable of a host, a fabric connection for each
/// leaf with each of its spines, a mesh connection for leaves that are joined. Delays, free ports and names of networks
/// have no place in it. The profile of a switch is its model.
///
/// # Errors
/// A switch that is neither leaf nor spine, a cable between two spines or two hosts, and names that `device/port` cannot
/// tell apart.
pub(super) fn write(topology: &Topology, _options: &WriteOptions) -> Result<Vec<Written>, FormatError> {
    let writer = Writer { topology, list: &topology.list };
    let mut text = NAMESPACES.to_owned();
    for (row, device) in (0..).zip(topology.list.devices()) {
        if device.name.is_empty() || device.name.contains(['/', '\n', '\r']) {
            return Err(wrong(&device.name, "is a name that no port can have before its slash"));
        }
        match device.role {
            Some(role) if role.is_host() => writer.server(&mut text, row, role),
            _ => writer.switch(&mut text, row)?,
        }
    }
    writer.connections(&mut text)?;
    Ok(vec![Written { path: "wiring.yaml".to_owned(), text }])
}

fn wrong(found: &str, problem: &str) -> FormatError {
    FormatError::new(FORMAT, "wiring.yaml", problem, "Hedgehog has leaves, spines and servers").found(found)
}

/// A text in single quotes where YAML would read it as something else.
fn quoted(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    let starts_plain = text.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let is_word = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
        .contains(&text.to_ascii_lowercase().as_str());
    match starts_plain && !is_word && text.chars().all(is_plain) {
        true => text.to_owned(),
        false if text.chars().any(char::is_control) => serde_json::Value::from(text).to_string(),
        false => format!("'{}'", text.replace('\'', "''")),
    }
}

struct Writer<'a> {
    topology: &'a Topology,
    list: &'a CableList,
}

/// Links of one connection: ports of both sides.
type Links = Vec<[u32; 2]>;

impl Writer<'_> {
    fn head(&self, text: &mut String, group: &str, kind: &str, name: &str) {
        let _ = write!(
            text,
            "---\napiVersion: {group}\nkind: {kind}\nmetadata:\n  name: {}\n  namespace: default\n",
            quoted(name)
        );
    }

    fn server(&self, text: &mut String, row: u32, role: DeviceRole) {
        let name = &self.list.devices()[row as usize].name;
        match role {
            DeviceRole::Gateway => self.head(text, "gateway.githedgehog.com/v1alpha1", "Gateway", name),
            _ => self.head(text, "wiring.githedgehog.com/v1beta1", "Server", name),
        }
        if role != DeviceRole::Gateway && host_role(&[name]) != role {
            let _ = write!(text, "  annotations:\n    {ROLE}: {role}\n");
        }
        text.push_str("spec: {}\n");
    }

    fn switch(&self, text: &mut String, row: u32) -> Result<(), FormatError> {
        let device = &self.list.devices()[row as usize];
        let role = match device.role {
            Some(DeviceRole::Leaf) => "server-leaf",
            Some(DeviceRole::Spine) => "spine",
            _ => return Err(wrong(&device.name, "is a switch that is neither leaf nor spine")),
        };
        self.head(text, "wiring.githedgehog.com/v1beta1", "Switch", &device.name);
        let _ = write!(text, "spec:\n  role: {role}\n");
        let about = &self.topology.about[row as usize];
        if let Some(model) = &about.model {
            let _ = writeln!(text, "  profile: {}", quoted(model));
        }
        if let Some(id) = &about.id {
            let _ = write!(text, "  boot:\n    mac: {}\n", quoted(id));
        }
        let ports = device.ports.iter().map(|&port| &self.list.ports()[port as usize]);
        let used: Vec<(&str, Rate)> = ports
            .filter(|port| port.cable != NONE)
            .filter_map(|port| Some((port.name.as_str(), port.rate?)))
            .collect();
        let (breakouts, speeds) = split(&used);
        for (title, lines) in [("portBreakouts", breakouts), ("portSpeeds", speeds)] {
            if !lines.is_empty() {
                let _ = writeln!(text, "  {title}:");
                lines.iter().for_each(|(port, value)| {
                    let _ = writeln!(text, "    {}: {value}", quoted(port));
                });
            }
        }
        Ok(())
    }

    fn connections(&self, text: &mut String) -> Result<(), FormatError> {
        // Connections in the order of their first cables.
        let mut fabric: BTreeMap<[u32; 2], Links> = BTreeMap::new();
        let mut order: Vec<[u32; 2]> = Vec::new();
        let mut names = BTreeSet::new();
        for cable in self.list.cables() {
            let mut ports = cable.ports;
            let tier = |port: u32| {
                let device = &self.list.devices()[self.list.device_of(port) as usize];
                device.role.map_or(0, DeviceRole::tier)
            };
            if tier(ports[0]) > tier(ports[1]) {
                ports.swap(0, 1);
            }
            for port in ports {
                let port = &self.list.ports()[port as usize];
                if port.name.is_empty() || port.name.contains(['\n', '\r']) {
                    return Err(wrong(&port.name, "is no name of a port"));
                }
            }
            match (tier(ports[0]), tier(ports[1])) {
                (0, 0) => return Err(wrong(&self.full(ports[0]), "has a cable to another host")),
                (0, _) => self.unbundled(text, ports, &mut names),
                (1, _) => {
                    let key = ports.map(|port| self.list.device_of(port));
                    let links = fabric.entry(key).or_insert_with(|| {
                        order.push(key);
                        Links::new()
                    });
                    links.push(ports);
                }
                _ => return Err(wrong(&self.full(ports[0]), "has a cable from spine to spine")),
            }
        }
        for key in order {
            self.fabric(text, key, &fabric[&key], &mut names);
        }
        Ok(())
    }

    /// `device/port`.
    fn full(&self, port: u32) -> String {
        let port = &self.list.ports()[port as usize];
        format!("{}/{}", self.list.devices()[port.device as usize].name, port.name)
    }

    fn unbundled(&self, text: &mut String, [host, switch]: [u32; 2], names: &mut BTreeSet<String>) {
        let far = &self.list.devices()[self.list.device_of(switch) as usize].name;
        let device = &self.list.devices()[self.list.device_of(host) as usize];
        let (kind, side) = match device.role {
            Some(DeviceRole::Gateway) => ("gateway", "gateway"),
            _ => ("unbundled", "server"),
        };
        let name = unique(names, &format!("{}--{kind}--{far}", self.full(host)));
        self.head(text, "wiring.githedgehog.com/v1beta1", "Connection", &name);
        let (host, switch) = (quoted(&self.full(host)), quoted(&self.full(switch)));
        let _ = match side {
            "gateway" => write!(
                text,
                "spec:\n  gateway:\n    links:\n    - gateway:\n        port: {host}\n      switch:\n        port: {switch}\n"
            ),
            _ => write!(
                text,
                "spec:\n  unbundled:\n    link:\n      server:\n        port: {host}\n      switch:\n        port: {switch}\n"
            ),
        };
    }

    fn fabric(&self, text: &mut String, key: [u32; 2], links: &Links, names: &mut BTreeSet<String>) {
        let [low, high] = key.map(|device| &self.list.devices()[device as usize]);
        let is_mesh = high.role == Some(DeviceRole::Leaf);
        let (kind, sides) =
            if is_mesh { ("mesh", ["leaf1", "leaf2"]) } else { ("fabric", ["leaf", "spine"]) };
        let name = unique(names, &format!("{}--{kind}--{}", high.name, low.name));
        self.head(text, "wiring.githedgehog.com/v1beta1", "Connection", &name);
        let _ = write!(text, "spec:\n  {kind}:\n    links:\n");
        for ports in links {
            let [a, b] = ports.map(|port| quoted(&self.full(port)));
            let _ = write!(
                text,
                "    - {}:\n        port: {a}\n      {}:\n        port: {b}\n",
                sides[0], sides[1]
            );
        }
    }
}

/// A name of an object, which Kubernetes wants in small letters, digits, `-` and `.`, that is not taken yet.
fn unique(names: &mut BTreeSet<String>, name: &str) -> String {
    let plain = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() || letter == '.' => letter.to_ascii_lowercase(),
        _ => '-',
    };
    let name: String = name.chars().map(plain).collect();
    let free = std::iter::once(name.clone()).chain((2_u32..).map(|number| format!("{name}-{number}")));
    let name = free.into_iter().find(|name| !names.contains(name)).unwrap_or(name);
    names.insert(name.clone());
    name
}

/// Lines of breakouts and of speeds: ports of the names `E1/3` and `E1/3/2` are made by breakouts, others have a speed.
fn split<'a>(used: &[(&'a str, Rate)]) -> (BTreeMap<&'a str, String>, BTreeMap<&'a str, String>) {
    let mut parts: BTreeMap<&str, Vec<(u32, &str, Rate)>> = BTreeMap::new();
    let (mut breakouts, mut speeds) = (BTreeMap::new(), BTreeMap::new());
    for &(port, rate) in used {
        let numbers: Option<Vec<u32>> =
            port.strip_prefix('E').and_then(|rest| rest.split('/').map(|part| part.parse().ok()).collect());
        match numbers.as_deref() {
            Some(&[_, _]) => {
                breakouts.insert(port, format!("1x{}", rate_text(rate)));
            }
            Some(&[_, _, part @ 1..=8]) => {
                let whole = port.rsplit_once('/').map_or(port, |(whole, _)| whole);
                parts.entry(whole).or_default().push((part, port, rate));
            }
            _ => {
                speeds.insert(port, rate_text(rate));
            }
        }
    }
    for (whole, parts) in parts {
        let highest = parts.iter().map(|part| part.0).max().unwrap_or(1);
        let rate = parts[0].2;
        if parts.iter().all(|part| part.2 == rate) && !breakouts.contains_key(whole) {
            breakouts.insert(whole, format!("{}x{}", highest.next_power_of_two(), rate_text(rate)));
        } else {
            speeds.extend(parts.iter().map(|&(_, port, rate)| (port, rate_text(rate))));
        }
    }
    (breakouts, speeds)
}

//! From minigraphs to a topology.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::cable_list::role_of;
use railtwin_formats::FormatError;
use railtwin_units::Rate;
use roxmltree::{Document, Node};

use super::FORMAT;
use crate::about::DeviceClass;
use crate::form::SourceFile;
use crate::forms::sonic_types::{DeviceType, state};
use crate::tiers;
use crate::topology::Topology;
use crate::wiring::{self, End};

/// What is accepted.
const ACCEPTED: &str = "give the minigraph.xml of a switch";

/// Reads the minigraphs of one or several switches as one network.
///
/// # Errors
/// A file that is not XML, or has no `DeviceMiniGraph`.
pub(super) fn read(sources: &[SourceFile<'_>]) -> Result<Topology, FormatError> {
    let mut topology = Topology::new("sonic-minigraph");
    let mut reading = Reading::default();
    wiring::each(&mut topology, sources, |topology, source| {
        let text = wiring::text(FORMAT, source)?;
        let document = Document::parse(text).map_err(|error| {
            let line = u64::from(error.pos().row);
            FormatError::new(FORMAT, source.name, format!("is not XML: {error}"), ACCEPTED).at_line(line)
        })?;
        let root = document.root_element();
        if root.tag_name().name() != "DeviceMiniGraph" {
            let found = root.tag_name().name();
            let error = FormatError::new(FORMAT, source.name, "is no minigraph", ACCEPTED);
            return Err(error.found(found).foreign());
        }
        reading.graph(topology, &document, root);
        Ok(())
    })?;
    reading.finish(&mut topology);
    Ok(topology)
}

/// The child of a name, whatever its namespace.
fn child<'a, 'b>(node: Node<'a, 'b>, name: &str) -> Option<Node<'a, 'b>> {
    node.children().find(|child| child.tag_name().name() == name)
}

/// Text of the child of a name; none where it is empty.
fn text<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    child(node, name)?.text().map(str::trim).filter(|text| !text.is_empty())
}

/// The last part of `i:type`.
fn type_of<'a>(node: Node<'a, '_>) -> Option<&'a str> {
    let attribute = node.attributes().find(|attribute| attribute.name() == "type")?;
    attribute.value().rsplit(':').next().map(str::trim).filter(|text| !text.is_empty())
}

/// Content of several minigraphs together.
#[derive(Default)]
struct Reading {
    /// Names as first written, by their small letters: SONiC compares them so.
    names: BTreeMap<String, String>,
    described: BTreeSet<u32>,
    /// Ports at mux cables.
    mux: BTreeSet<(u32, String)>,
    mux_cables: BTreeSet<String>,
    left_out: BTreeMap<&'static str, u32>,
}

impl Reading {
    fn name(&mut self, name: &str) -> String {
        self.names.entry(name.to_ascii_lowercase()).or_insert_with(|| name.to_owned()).clone()
    }

    fn graph(&mut self, topology: &mut Topology, document: &Document<'_>, root: Node<'_, '_>) {
        let Some(png) = child(root, "PngDec") else {
            topology.notes.push("a minigraph has no PngDec: it tells no link".to_owned());
            return;
        };
        let owner = text(root, "Hostname").map(|name| self.name(name));
        let speeds = speeds(root, text(root, "HwSku"));
        let devices = child(png, "Devices").into_iter().flat_map(|node| node.children());
        for device in devices.filter(|node| node.tag_name().name() == "Device") {
            self.device(topology, device);
        }
        let links = child(png, "DeviceInterfaceLinks").into_iter().flat_map(|node| node.children());
        let links: Vec<Node<'_, '_>> =
            links.filter(|node| node.tag_name().name() == "DeviceLinkBase").collect();
        for &link in &links {
            if text(link, "ElementType") == Some("LogicalLink")
                && let (Some(device), Some(port)) = (text(link, "EndDevice"), text(link, "EndPort"))
            {
                let device = self.name(device);
                let row = self.row(topology, &device);
                self.mux.insert((row, port.to_owned()));
                self.mux_cables.extend(text(link, "StartDevice").map(str::to_owned));
            }
        }
        for &link in &links {
            let line = u64::from(document.text_pos_at(link.range().start).row);
            self.link(topology, link, line, owner.as_deref(), &speeds);
        }
    }

    fn device(&mut self, topology: &mut Topology, node: Node<'_, '_>) {
        let kind = text(node, "ElementType").or_else(|| type_of(node)).unwrap_or("");
        let Some(name) = text(node, "Hostname").map(|name| self.name(name)) else {
            topology.find("unnamed-host", kind, "a device has no Hostname");
            return;
        };
        let kind = DeviceType::of(kind);
        if kind == DeviceType::MuxCable {
            self.mux_cables.insert(name);
            return;
        }
        // Chips of a switch are parts of it.
        if kind == DeviceType::Chip {
            return;
        }
        let row = topology.device(&name);
        self.described.insert(row);
        state(topology, row, kind);
        let about = topology.about_mut(row);
        let model = text(node, "HwSku").map(str::to_owned);
        about.model = model.or_else(|| about.model.take());
        if let Some(cluster) = text(node, "ClusterName") {
            about.labels.insert("cluster".to_owned(), cluster.to_owned());
        }
    }

    /// Row of a device that a link names.
    fn row(&mut self, topology: &mut Topology, name: &str) -> u32 {
        match topology.list.device_named(name).filter(|row| self.described.contains(row)) {
            Some(row) => row,
            None => {
                let seen = "a link names it, and Devices does not";
                let row = wiring::undescribed(topology, name, DeviceClass::Unknown, seen);
                self.described.insert(row);
                row
            }
        }
    }

    fn link(
        &mut self,
        topology: &mut Topology,
        link: Node<'_, '_>,
        line: u64,
        owner: Option<&str>,
        speeds: &BTreeMap<String, Rate>,
    ) {
        let kind = text(link, "ElementType").or_else(|| type_of(link)).unwrap_or("");
        let what = match kind {
            "DeviceInterfaceLink" | "UnderlayInterfaceLink" => None,
            "LogicalLink" => return,
            "DeviceSerialLink" => Some("links of consoles"),
            "DeviceMgmtLink" => Some("links of management"),
            _ => Some("links of other kinds"),
        };
        let is_inner = text(link, "ChassisInternal").is_some_and(|text| text.eq_ignore_ascii_case("true"));
        let what = what.or_else(|| is_inner.then_some("links inside switches"));
        if let Some(what) = what {
            *self.left_out.entry(what).or_default() += 1;
            return;
        }
        let end =
            |side: &str| Some((text(link, &format!("{side}Device"))?, text(link, &format!("{side}Port"))?));
        let (Some(start), Some(end)) = (end("Start"), end("End")) else {
            let known = text(link, "StartDevice").or_else(|| text(link, "EndDevice")).unwrap_or("a link");
            topology.links_missing += 1;
            let seen = format!("a link on line {line} does not name device and port of both ends");
            topology.find("one-sided-link", known, seen);
            return;
        };
        let bandwidth = text(link, "Bandwidth").and_then(wiring::rate);
        let mut ends = [start, end].map(|(device, port)| {
            let device = self.name(device);
            let own = speeds.get(port).copied().filter(|_| owner == Some(device.as_str()));
            (self.row(topology, &device), port.to_owned(), bandwidth.or(own))
        });
        // A mux cable has one end at a server and one at each of two switches: each is a port of the server.
        for side in 0..2 {
            let (far, far_port) = (ends[1 - side].0, ends[1 - side].1.clone());
            let (device, port) = (ends[side].0, ends[side].1.clone());
            let taken = topology.list.port_named(device, &port).and_then(|port| topology.list.peer(port));
            let is_other = taken.is_some_and(|peer| topology.list.device_of(peer) != far);
            if is_other && self.mux.contains(&(far, far_port)) {
                ends[side].1 = format!("{port}:{}", topology.list.devices()[far as usize].name);
            }
        }
        let ends =
            [&ends[0], &ends[1]].map(|(device, port, rate)| End { device: *device, port, rate: *rate });
        wiring::join(topology, ends, None, line);
    }

    fn finish(&self, topology: &mut Topology) {
        for (what, count) in &self.left_out {
            topology.notes.push(format!("{count} {what} are left out"));
        }
        if !self.mux_cables.is_empty() {
            let count = self.mux_cables.len();
            topology
                .notes
                .push(format!("{count} mux cables: each has a second end at the other switch of its pair"));
        }
        for row in 0..topology.list.devices().len() as u32 {
            let device = &topology.list.devices()[row as usize];
            let (name, is_alone) = (device.name.clone(), device.ports.is_empty());
            let class = topology.about[row as usize].class;
            match class {
                DeviceClass::Host if is_alone => {
                    topology.find("host-without-switch", name, "no link leads to it");
                }
                DeviceClass::Switch if is_alone => {
                    topology.notes.push(format!("{name} has no link in these files"));
                }
                DeviceClass::Unknown if role_of(&name).is_none() => {
                    topology.find("unknown-device", name, "its type tells neither host nor switch");
                }
                _ => {}
            }
        }
        wiring::adapters_by_port(topology);
        tiers::by_distance(topology);
    }
}

/// Speeds of the ports of the switch that a minigraph is of, by their names.
fn speeds(root: Node<'_, '_>, model: Option<&str>) -> BTreeMap<String, Rate> {
    let infos = child(root, "DeviceInfos").into_iter().flat_map(|node| node.children());
    let infos = infos.filter(|node| node.tag_name().name() == "DeviceInfo");
    let own =
        infos.filter(|info| model.is_none() || text(*info, "HwSku").is_none_or(|sku| Some(sku) == model));
    let ports = own.filter_map(|info| child(info, "EthernetInterfaces")).flat_map(|node| node.children());
    let speed = |port: Node<'_, '_>| {
        Some((text(port, "InterfaceName")?.to_owned(), wiring::rate(text(port, "Speed")?)?))
    };
    ports.filter_map(speed).collect()
}

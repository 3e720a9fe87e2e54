//! From NetBox's records to a topology.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::cable_list::{CableNetwork, DeviceRole, role_of};
use railtwin_formats::FormatError;
use railtwin_units::Rate;
use serde_json::Value;

use super::FORMAT;
use super::records::{Records, id_of, name_of, text_of};
use crate::about::DeviceClass;
use crate::form::SourceFile;
use crate::tiers;
use crate::topology::Topology;
use crate::wiring;

/// Reads the records of one or several files as one inventory.
///
/// # Errors
/// A file that is not JSON, and files without devices, interfaces or cables.
pub(super) fn read(sources: &[SourceFile<'_>]) -> Result<Topology, FormatError> {
    let mut topology = Topology::new("netbox");
    let mut records = Records::default();
    let mut found = false;
    wiring::each(&mut topology, sources, |_, source| {
        found |= records.take(wiring::json(FORMAT, source)?);
        Ok(())
    })?;
    if !found {
        let name = sources.first().map_or("", |source| source.name);
        let accepted = "give lists of devices, interfaces and cables";
        return Err(FormatError::new(
            FORMAT,
            name,
            "has no record of devices, interfaces or cables",
            accepted,
        )
        .foreign());
    }
    let mut reading = Reading { topology, ..Reading::default() };
    reading.counts(&records);
    for (number, device) in (1..).zip(&records.devices) {
        reading.device(device, number);
    }
    reading.has_devices = !records.devices.is_empty();
    for (number, interface) in (1..).zip(&records.interfaces) {
        reading.interface(interface, number);
    }
    for (number, cable) in (1..).zip(&records.cables) {
        reading.cable(cable, number);
    }
    for interface in &records.interfaces {
        reading.through_panels(interface);
    }
    Ok(reading.finish())
}

/// An interface as its record tells it.
pub(super) struct Interface {
    /// Row of its device.
    pub device: u32,
    /// Its name.
    pub name: String,
    /// Its rate.
    pub rate: Option<Rate>,
    /// Whether it is enabled.
    pub is_enabled: bool,
}

/// A topology while it is read.
#[derive(Default)]
pub(super) struct Reading {
    pub topology: Topology,
    /// Rows of devices by id.
    devices: BTreeMap<u64, u32>,
    has_devices: bool,
    described: BTreeSet<u32>,
    pub interfaces: Vec<Interface>,
    /// Rows of `interfaces` by id, and by device and name.
    pub by_id: BTreeMap<u64, usize>,
    pub by_name: BTreeMap<(u32, String), usize>,
    /// Ends of cables at what is no interface.
    pub other_ends: u32,
    pub planned: u32,
    pub branches: u32,
}

impl Reading {
    fn counts(&mut self, records: &Records) {
        for &(kind, stated, found) in &records.stated {
            if stated != found {
                let seen = format!("the file states {stated} {kind} and has {found}");
                self.topology.find("count-differs", kind, seen);
            }
        }
        let (stated, found) = records
            .pages
            .iter()
            .fold((0_u64, 0_u64), |(stated, found), page| (stated.max(page.0), found.saturating_add(page.1)));
        let is_cut = records.pages.iter().any(|page| page.1 < page.0);
        if is_cut && found < stated {
            let seen = format!("a page is of {stated} records, and the files have {found}: fetch all pages");
            self.topology.find("count-differs", "pages", seen);
        }
    }

    fn device(&mut self, record: &Value, number: u32) {
        let id = id_of(record, "id");
        let stated = text_of(record, "role").or_else(|| text_of(record, "device_role"));
        let fields = record.get("custom_field_data").or_else(|| record.get("custom_fields"));
        let field = |key: &str| fields.and_then(|fields| text_of(fields, key));
        let named = text_of(record, "name");
        let class_name = field("hedgehog_class");
        let (class, role) = class_of(stated, named.unwrap_or(""), class_name);
        let name = match (named, id) {
            (Some(name), _) => name.to_owned(),
            (None, id) => {
                let name = format!("device-{}", id.unwrap_or(u64::from(number)));
                let kind = if class == DeviceClass::Host { "unnamed-host" } else { "unnamed-switch" };
                self.topology.find(kind, name.as_str(), "the record of the device has no name");
                name
            }
        };
        let name = match self.topology.list.device_named(&name) {
            // Names are of a site: another one may use them anew.
            Some(_) => {
                let other = format!("{name}#{}", id.unwrap_or(u64::from(number)));
                let seen = format!("a second device has this name; it is {other} here");
                self.topology.find("duplicate-name", name, seen);
                other
            }
            None => name,
        };
        let row = match class {
            DeviceClass::Host => self.topology.host(&name),
            DeviceClass::Switch => self.topology.switch(&name),
            _ => self.topology.device(&name),
        };
        let network = [field("hedgehog_fabric"), class_name].into_iter().flatten().find_map(network);
        let says = class == DeviceClass::Switch && stated.is_some_and(tiers::is_out_of_band);
        let network = network.or(says.then_some(CableNetwork::OutOfBand));
        let device = self.topology.list.device_mut(row);
        (device.role, device.network) = (role, network);
        device.rack = name_of(record, "rack").map(str::to_owned);
        let about = self.topology.about_mut(row);
        about.model = text_of(record, "device_type").map(str::to_owned);
        about.id = field("boot_mac").or_else(|| text_of(record, "serial")).map(str::to_owned);
        for key in ["site", "location", "status"] {
            if let Some(text) = text_of(record, key) {
                about.labels.insert(key.to_owned(), text.to_owned());
            }
        }
        self.described.insert(row);
        if let Some(id) = id {
            self.devices.entry(id).or_insert(row);
        }
    }

    /// Row of the device that a record is of; enters it where no device record does.
    pub fn device_of(&mut self, record: &Value) -> Option<u32> {
        let id = id_of(record, "device_id").or_else(|| id_of(record, "device"));
        if let Some(&row) = id.and_then(|id| self.devices.get(&id)) {
            return Some(row);
        }
        let name = name_of(record, "device").or_else(|| name_of(record, "device_name"))?;
        if let Some(row) = self.topology.list.device_named(name) {
            return Some(row);
        }
        let row = if self.has_devices {
            let seen = "an interface or cable names it, and no record describes it";
            wiring::undescribed(&mut self.topology, name, DeviceClass::Unknown, seen)
        } else {
            // Cables alone: names are all that tells.
            let (class, role) = class_of(None, name, None);
            let row = self.topology.device(name);
            self.topology.about_mut(row).class = class;
            self.topology.list.device_mut(row).role = role;
            row
        };
        if let Some(id) = id {
            self.devices.entry(id).or_insert(row);
        }
        Some(row)
    }

    fn interface(&mut self, record: &Value, number: u32) {
        let Some(name) = text_of(record, "name").map(str::to_owned) else {
            let seen = format!("interface record {number} has no name");
            self.topology.find("unnamed-port", format!("interface {number}"), seen);
            return;
        };
        let Some(device) = self.device_of(record) else {
            self.topology.find("unknown-device", name, format!("interface record {number} is of no device"));
            return;
        };
        let kind = text_of(record, "type").unwrap_or("").to_ascii_lowercase();
        if ["virtual", "bridge", "lag"].contains(&kind.as_str()) {
            return;
        }
        let speed = record.get("speed").and_then(Value::as_u64).filter(|&speed| speed > 0);
        // NetBox's unit is kilobits per second.
        let speed = speed.and_then(|speed| speed.checked_mul(1_000)).map(Rate::from_bits_per_s);
        let rate = speed.or_else(|| rate_of_type(&kind));
        let is_enabled = record.get("enabled").and_then(Value::as_bool) != Some(false);
        let row = self.interfaces.len();
        if self.by_name.insert((device, name.clone()), row).is_some() {
            let device = self.topology.list.devices()[device as usize].name.clone();
            self.topology.find("duplicate-name", device, format!("two interfaces are {name}"));
        }
        if let Some(id) = id_of(record, "id") {
            self.by_id.insert(id, row);
        }
        self.topology.list.port(device, &name, rate, u64::from(number));
        self.interfaces.push(Interface { device, name, rate, is_enabled });
    }

    fn finish(mut self) -> Topology {
        let notes = [
            (self.other_ends, "ends of cables are at panels, consoles, power or circuits, and no interfaces"),
            (self.planned, "cables are planned"),
            (self.branches, "cables branch: their common port stands here once for each branch"),
        ];
        for (count, what) in notes.into_iter().filter(|(count, _)| *count > 0) {
            self.topology.notes.push(format!("{count} {what}"));
        }
        for row in 0..self.topology.list.devices().len() as u32 {
            let device = &self.topology.list.devices()[row as usize];
            let (name, is_free) = (
                device.name.clone(),
                device.ports.iter().all(|&port| self.topology.list.peer(port).is_none()),
            );
            match self.topology.about[row as usize].class {
                DeviceClass::Host if is_free => {
                    self.topology.find("host-without-switch", name, "no cable leads to it");
                }
                DeviceClass::Unknown if !is_free && self.described.contains(&row) => {
                    self.topology.find(
                        "unknown-device",
                        name,
                        "neither its role nor its name tells what it is",
                    );
                }
                _ => {}
            }
        }
        wiring::adapters_by_port(&mut self.topology);
        tiers::by_distance(&mut self.topology);
        self.topology
    }
}

/// Role of a device, by its role, name and class in a plan.
fn class_of(role: Option<&str>, name: &str, plan: Option<&str>) -> (DeviceClass, Option<DeviceRole>) {
    if let Some(role) = role.and_then(DeviceRole::named) {
        let class = if role.is_host() { DeviceClass::Host } else { DeviceClass::Switch };
        return (class, Some(role));
    }
    let stated = role.and_then(role_of);
    let is_switch_word = |text: &str| {
        let text = text.to_ascii_lowercase();
        ["switch", "router", "tor"].iter().any(|word| text.contains(word))
    };
    match stated {
        // A server may be one that stores, which its name or class alone tells.
        Some(DeviceRole::Host) => (DeviceClass::Host, Some(wiring::host_role(&[plan.unwrap_or(""), name]))),
        Some(role) if role.is_host() => (DeviceClass::Host, Some(role)),
        Some(role) => (DeviceClass::Switch, Some(role)),
        None if role.is_some_and(is_switch_word) => {
            (DeviceClass::Switch, role_of(name).filter(|role| role.tier() > 0))
        }
        None => match [plan.unwrap_or(""), name].into_iter().find_map(role_of) {
            Some(role) if role.is_host() => (DeviceClass::Host, Some(role)),
            Some(role) => (DeviceClass::Switch, Some(role)),
            None if is_switch_word(name) => (DeviceClass::Switch, None),
            None => (DeviceClass::Unknown, None),
        },
    }
}

/// The network that the name of a fabric in a plan tells; a converged one is none of them.
fn network(text: &str) -> Option<CableNetwork> {
    let text = text.to_ascii_lowercase().replace('_', "-");
    if let Some(network) = CableNetwork::named(&text) {
        return Some(network);
    }
    let words = [
        ("oob", CableNetwork::OutOfBand),
        ("frontend", CableNetwork::Frontend),
        ("fe-", CableNetwork::Frontend),
        ("backend", CableNetwork::Backend),
        ("be-", CableNetwork::Backend),
    ];
    words.iter().find(|(word, _)| text.starts_with(word)).map(|(_, network)| *network)
}

/// The rate that the type of an interface has in its name: `400gbase-x-qsfpdd`, `2.5gbase-t`, `infiniband-ndr` with the
/// usual four lanes.
fn rate_of_type(kind: &str) -> Option<Rate> {
    let lanes = [("qdr", 40), ("fdr", 56), ("edr", 100), ("hdr", 200), ("ndr", 400), ("xdr", 800)];
    if let Some(speed) = kind.strip_prefix("infiniband-") {
        let known = lanes.iter().find(|(name, _)| *name == speed);
        return known.map(|(_, gbps)| Rate::from_gbps(*gbps));
    }
    let (number, _) = kind.split_once("base")?;
    match number.strip_suffix('g') {
        Some(gbps) => wiring::rate(&format!("{gbps}G")),
        None => wiring::rate(number),
    }
}

//! From neighbors of many devices to a topology.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::cable_list::{natural, role_of};
use railtwin_formats::FormatError;
use railtwin_formats::telemetry::{Hints, parse_lldp};

use super::chassis::{AllChassis, Chassis};
use super::heard::Heard;
use super::table;
use crate::about::DeviceClass;
use crate::form::SourceFile;
use crate::tiers;
use crate::topology::Topology;
use crate::wiring::{self, End, is_mac};

/// Reads files of neighbors, each of one device.
///
/// # Errors
/// Files of which none is of a form of neighbors.
pub(super) fn read(sources: &[SourceFile<'_>]) -> Result<Topology, FormatError> {
    let mut topology = Topology::new("lldp");
    let mut fabric = Fabric::default();
    wiring::each(&mut topology, sources, |topology, source| fabric.file(topology, source))?;
    fabric.classes(&mut topology);
    fabric.join_all(&mut topology);
    wiring::adapters_by_port(&mut topology);
    tiers::by_distance(&mut topology);
    Ok(topology)
}

/// Name of a device by that of its file, or of its folder where the file's says nothing.
fn name_of(source: &SourceFile<'_>) -> String {
    const WORDS: [&str; 9] =
        ["lldp", "lldpcli", "lldpctl", "neighbors", "neighbours", "neighbor", "show", "table", "keyvalue"];
    const ENDS: [&str; 7] = [".json", ".json0", ".txt", ".log", ".out", ".gz", ".kv"];
    let bare = |name: &str| {
        let mut name = name;
        while let Some(rest) = ENDS.iter().find_map(|end| name.strip_suffix(end)) {
            name = rest;
        }
        let is_word = |part: &str| WORDS.contains(&part.to_ascii_lowercase().as_str());
        for cut in ['_', '-', '.'] {
            while let Some((rest, _)) = name.rsplit_once(cut).filter(|(_, last)| is_word(last)) {
                name = rest;
            }
            while let Some((_, rest)) = name.split_once(cut).filter(|(first, _)| is_word(first)) {
                name = rest;
            }
        }
        (!name.is_empty() && !is_word(name)).then(|| name.to_owned())
    };
    let mut parts = source.name.rsplit(['/', '\\']);
    let file = parts.next().unwrap_or(source.name);
    bare(file).or_else(|| parts.next().and_then(bare)).unwrap_or_else(|| source.stem().to_owned())
}

/// Whether a port is one of a switch by its name.
fn is_switch_port(name: &str) -> bool {
    name.starts_with("Ethernet")
        || name.starts_with("swp")
        || name.starts_with("Management")
        || name.contains('/')
}

/// Whether a port of a switch is that of its management.
fn is_management(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "eth0" || ["management", "mgmt", "oob", "fxp0", "em0"].iter().any(|word| name.starts_with(word))
}

/// Content of all files.
#[derive(Default)]
struct Fabric {
    /// Neighbors by the device whose files they are of.
    heard: BTreeMap<String, Vec<Heard>>,
    chassis: BTreeMap<String, Chassis>,
    /// Names by identity.
    names: BTreeMap<String, String>,
    /// Devices with files by the first part of their names; none where several share it.
    short: BTreeMap<String, Option<String>>,
}

/// A neighbor with rows of devices: device, port, neighbor, and what was heard.
struct Told<'a> {
    device: u32,
    far: u32,
    heard: &'a Heard,
}

impl Fabric {
    fn file(&mut self, topology: &mut Topology, source: &SourceFile<'_>) -> Result<(), FormatError> {
        let text = String::from_utf8_lossy(source.bytes);
        let all = AllChassis::of(&text);
        let device = all.local.or_else(|| table::prompt(&text)).unwrap_or_else(|| name_of(source));
        let heard = if table::has_header(&text) {
            table::parse(&text)
        } else {
            let hints = Hints { host: Some(device.clone()), ..Hints::default() };
            let told = parse_lldp(source.name, source.bytes, &hints)?;
            if let Some(first) = told.skipped.first().next() {
                let seen = format!("{} entries are skipped, the first: {first}", told.skipped.count());
                topology.find("unnamed-switch", device.as_str(), seen);
            }
            let neighbors = told.neighbors.into_iter().map(|info| Heard {
                port: info.port.get(device.len() + 1..).unwrap_or("").to_owned(),
                is_bridge: all.by_name.get(&info.neighbor).is_some_and(|chassis| chassis.is_bridge),
                is_station: all
                    .by_name
                    .get(&info.neighbor)
                    .is_some_and(|one| one.is_station && !one.is_bridge),
                device: info.neighbor,
                far_port: info.neighbor_port,
                ..Heard::default()
            });
            neighbors.collect()
        };
        if heard.is_empty() && all.by_name.is_empty() && !super::is_one(source) {
            let accepted = "neighbors as lldpcli prints them, or a table of show lldp";
            return Err(FormatError::new("lldp", source.name, "tells of no neighbor", accepted).foreign());
        }
        for (name, chassis) in all.by_name {
            if let Some(id) = chassis.id.clone().filter(|_| !is_mac(&name)) {
                self.names.entry(id.to_ascii_lowercase()).or_insert_with(|| name.clone());
            }
            self.chassis.entry(name).or_insert(chassis);
        }
        self.heard.entry(device).or_default().extend(heard);
        Ok(())
    }

    /// The name that a neighbor has here: that of its file, where it is told in full or in short.
    fn name<'a>(&'a self, told: &'a str) -> &'a str {
        if self.heard.contains_key(told) {
            return told;
        }
        if let Some(name) = self.names.get(&told.to_ascii_lowercase()) {
            return if name == told { told } else { self.of_file(name) };
        }
        self.of_file(told)
    }

    fn of_file<'a>(&'a self, told: &'a str) -> &'a str {
        let short = told.split('.').next().unwrap_or(told);
        match self.short.get(short).and_then(Option::as_deref) {
            // Two names that differ behind the first dot are two devices.
            Some(name) if name == short || told == short || name == told => name,
            _ => told,
        }
    }

    /// Enters the devices that have files.
    fn classes(&mut self, topology: &mut Topology) {
        for name in self.heard.keys().filter(|name| !is_mac(name)) {
            let short = name.split('.').next().unwrap_or(name).to_owned();
            let known = self.short.entry(short);
            known.and_modify(|one| *one = None).or_insert_with(|| Some(name.clone()));
        }
        let bridges: BTreeSet<&str> = self
            .heard
            .values()
            .flatten()
            .filter(|one| one.is_bridge)
            .map(|one| self.name(&one.device))
            .collect();
        for (name, heard) in &self.heard {
            let is_switch = match role_of(name) {
                Some(role) => role.tier() > 0,
                None if heard.is_empty() => bridges.contains(name.as_str()),
                None => heard.iter().any(|one| is_switch_port(&one.port)),
            };
            enter(topology, name, is_switch, self.chassis.get(name));
            if heard.is_empty() {
                let kind = if is_switch { "switch-without-neighbors" } else { "host-without-switch" };
                topology.find(kind, name.as_str(), "no port of it hears a neighbor");
            }
        }
    }

    fn join_all(&self, topology: &mut Topology) {
        let mut told = Vec::new();
        let mut management = 0;
        // Hosts first: what a host hears is a switch.
        let is_switch = |topology: &Topology, name: &str| {
            let row = topology.list.device_named(name);
            row.is_some_and(|row| topology.about[row as usize].class == DeviceClass::Switch)
        };
        for of_switches in [false, true] {
            let files = self.heard.iter().filter(|(name, _)| is_switch(topology, name) == of_switches);
            let files: Vec<(&String, &Vec<Heard>)> = files.collect();
            for (name, heard) in files {
                let device = topology.device(name);
                for one in heard {
                    if of_switches && is_management(&one.port) {
                        management += 1;
                    } else if let Some(far) = self.far(topology, name, one, of_switches) {
                        told.push(Told { device, far, heard: one });
                    }
                }
            }
        }
        if management > 0 {
            topology
                .notes
                .push(format!("{management} neighbors of management ports of switches are left out"));
        }
        told.sort_by_cached_key(|told| (told.device, natural(&told.heard.port)));
        join_told(topology, &told, |row, topology| {
            self.heard.contains_key(&topology.list.devices()[row as usize].name)
        });
    }

    /// Row of a neighbor; enters it with what the device that hears it knows.
    fn far(&self, topology: &mut Topology, device: &str, one: &Heard, of_switch: bool) -> Option<u32> {
        if one.device.is_empty() {
            topology.links_missing += 1;
            let seen = format!("port {} hears a neighbor without a name", one.port);
            topology.find("unnamed-switch", device, seen);
            return None;
        }
        let name = self.name(&one.device);
        if name == device {
            let seen = format!("port {} hears the device itself at port {}", one.port, one.far_port);
            topology.find("loop", device, seen);
            topology.links_missing += 1;
            return None;
        }
        if let Some(row) = topology.list.device_named(name)
            && topology.about[row as usize].class != DeviceClass::Unknown
        {
            return Some(row);
        }
        let role = role_of(name);
        let is_switch = match role {
            _ if !of_switch => Some(!one.is_station),
            Some(role) => Some(role.tier() > 0),
            None if one.is_bridge => Some(true),
            // A NIC that tells its address alone.
            None if one.is_station || is_mac(name) => Some(false),
            None => None,
        };
        let is_new = topology.list.device_named(name).is_none();
        let Some(is_switch) = is_switch else {
            if is_new {
                let seen = format!("{device} port {} hears it, and nothing tells what it is", one.port);
                topology.find("unknown-device", name, seen);
            }
            return Some(topology.device(name));
        };
        if is_mac(name) {
            let kind = if is_switch { "unnamed-switch" } else { "unnamed-host" };
            topology.find(kind, name, format!("{device} port {} hears a chassis without a name", one.port));
        }
        Some(enter(
            topology,
            name,
            is_switch,
            self.chassis.get(name).or_else(|| self.chassis.get(&one.device)),
        ))
    }
}

/// Enters a device with its class, role and what its chassis tells.
fn enter(topology: &mut Topology, name: &str, is_switch: bool, chassis: Option<&Chassis>) -> u32 {
    let row = if is_switch { topology.switch(name) } else { topology.host(name) };
    let role = match is_switch {
        true => role_of(name).filter(|role| role.tier() > 0),
        false => Some(wiring::host_role(&[name])),
    };
    topology.list.device_mut(row).role = role;
    if let Some(chassis) = chassis {
        let about = topology.about_mut(row);
        about.id.clone_from(&chassis.id);
        about.model.clone_from(&chassis.description);
    }
    row
}

/// Joins cables: those that both ends hear once, by the names that each end has for its own port.
fn join_told(topology: &mut Topology, told: &[Told<'_>], has_file: impl Fn(u32, &Topology) -> bool) {
    let mut by_port: BTreeMap<(u32, u32, &str), usize> = BTreeMap::new();
    let mut by_far: BTreeMap<(u32, u32, &str), usize> = BTreeMap::new();
    for (row, one) in told.iter().enumerate() {
        by_port.entry((one.device, one.far, &one.heard.port)).or_insert(row);
        by_far.entry((one.device, one.far, &one.heard.far_port)).or_insert(row);
    }
    let mut is_used = vec![false; told.len()];
    for (row, one) in told.iter().enumerate() {
        if is_used[row] {
            continue;
        }
        is_used[row] = true;
        let heard = one.heard;
        let back = |port: &str| by_port.get(&(one.far, one.device, port)).copied();
        let back = back(&heard.far_port)
            .or_else(|| heard.far_description.as_deref().and_then(back))
            .or_else(|| by_far.get(&(one.far, one.device, heard.port.as_str())).copied())
            .filter(|&back| !is_used[back]);
        let far_rate = back.and_then(|back| told[back].heard.rate);
        let own_name = topology.list.devices()[one.device as usize].name.clone();
        let far_port = match back {
            Some(back) => {
                is_used[back] = true;
                told[back].heard.port.clone()
            }
            None => {
                if has_file(one.far, topology) {
                    let far = topology.list.devices()[one.far as usize].name.clone();
                    let seen = format!(
                        "{own_name} port {} hears its port {}, and it does not hear {own_name} there",
                        heard.port, heard.far_port
                    );
                    topology.find("one-sided-link", far, seen);
                }
                far_name(heard, &own_name)
            }
        };
        let ends = [
            End { device: one.device, port: &heard.port, rate: heard.rate },
            End { device: one.far, port: &far_port, rate: far_rate },
        ];
        wiring::join(topology, ends, None, heard.line);
    }
}

/// Name of a neighbor's port: its identity, or its description where that is an address and the description a name.
fn far_name(heard: &Heard, own_name: &str) -> String {
    let is_name = |text: &&String| !text.contains(char::is_whitespace);
    match &heard.far_description {
        Some(description) if is_mac(&heard.far_port) && is_name(&description) => description.clone(),
        _ if heard.far_port.is_empty() => format!("{own_name}:{}", heard.port),
        _ => heard.far_port.clone(),
    }
}

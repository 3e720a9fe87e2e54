//! Names that were seen as rows of ports: those of the blueprint, and new ones behind them.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::NONE;
use railtwin_fabric::cable_list::CableList;

use super::super::called::{Called, called};
use super::blueprint::{Blueprint, FarEnd, Sighting};

/// Names that a note lists.
const LISTED: usize = 8;

/// A port with what is at its far end, by rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// The port is free.
    Free(u32),
    /// The port leads to a device, and to a port of it; [`NONE`] where that is not known.
    Leads(u32, [u32; 2]),
}

/// Devices and ports: rows of the blueprint, then those that only sightings have.
#[derive(Debug)]
pub(super) struct Ports<'a> {
    list: &'a CableList,
    devices: Vec<String>,
    ports: Vec<(u32, String)>,
    new_devices: BTreeMap<String, u32>,
    new_ports: BTreeMap<(u32, String), u32>,
}

impl<'a> Ports<'a> {
    fn of(list: &'a CableList) -> Self {
        Self {
            list,
            devices: Vec::new(),
            ports: Vec::new(),
            new_devices: BTreeMap::new(),
            new_ports: BTreeMap::new(),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.list.ports().len() + self.ports.len()
    }

    /// A port that only sightings have.
    fn added(&self, port: u32) -> Option<&(u32, String)> {
        self.ports.get((port as usize).checked_sub(self.list.ports().len())?)
    }

    pub(super) fn device_of(&self, port: u32) -> u32 {
        match self.list.ports().get(port as usize) {
            Some(port) => port.device,
            None => self.added(port).map_or(NONE, |(device, _)| *device),
        }
    }

    pub(super) fn name_of(&self, port: u32) -> &str {
        match self.list.ports().get(port as usize) {
            Some(port) => &port.name,
            None => self.added(port).map_or("?", |(_, name)| name),
        }
    }

    pub(super) fn device_name(&self, device: u32) -> &str {
        let known = self.list.devices();
        match known.get(device as usize) {
            Some(device) => &device.name,
            None => {
                self.devices.get((device as usize).saturating_sub(known.len())).map_or("?", String::as_str)
            }
        }
    }

    fn is_known_device(&self, device: u32) -> bool {
        (device as usize) < self.list.devices().len()
    }

    fn new_device(&mut self, name: &str) -> u32 {
        let next = (self.list.devices().len() + self.devices.len()) as u32;
        let row = *self.new_devices.entry(name.to_owned()).or_insert(next);
        if row == next {
            self.devices.push(name.to_owned());
        }
        row
    }

    fn new_port(&mut self, device: u32, name: &str) -> u32 {
        let next = self.count() as u32;
        let row = *self.new_ports.entry((device, name.to_owned())).or_insert(next);
        if row == next {
            self.ports.push((device, name.to_owned()));
        }
        row
    }

    /// A port of a device that nothing names: each is another one.
    pub(super) fn nameless(&mut self, device: u32) -> u32 {
        self.ports.push((device, "?".to_owned()));
        self.count() as u32 - 1
    }
}

/// Rows of all sightings, and notes on names that tell nothing.
pub(super) fn resolve<'a>(
    blueprint: &'a Blueprint,
    sightings: &'a [Sighting],
) -> (Ports<'a>, Vec<End>, Vec<String>) {
    let mut names = Names::of(blueprint, sightings);
    let ends = sightings.iter().filter_map(|sighting| names.end(sighting)).collect();
    let notes = names.notes();
    (names.ports, ends, notes)
}

struct Names<'a> {
    blueprint: &'a Blueprint,
    ports: Ports<'a>,
    /// Rows by the names that devices have for themselves.
    devices: BTreeMap<&'a str, u32>,
    called: Called,
    /// Whether sightings name ports of a device as the blueprint does.
    speaks: Vec<bool>,
    /// Devices of the blueprint that were seen by a name that tells them.
    is_seen: Vec<bool>,
    /// Names that may be those of devices of the blueprint, which is not known.
    unnamed: BTreeSet<&'a str>,
    /// Devices whose ports have other names than in the blueprint.
    other_names: BTreeSet<u32>,
}

/// The name without a domain.
fn short(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

impl<'a> Names<'a> {
    fn of(blueprint: &'a Blueprint, sightings: &'a [Sighting]) -> Self {
        let count = blueprint.list.devices().len();
        let mut names = Self {
            blueprint,
            ports: Ports::of(&blueprint.list),
            devices: BTreeMap::new(),
            called: Called::new(),
            speaks: vec![false; count],
            is_seen: vec![false; count],
            unnamed: BTreeSet::new(),
            other_names: BTreeSet::new(),
        };
        for sighting in sightings {
            names.enter_device(&sighting.device);
            if let FarEnd::Device(device, _) = &sighting.far {
                names.enter_device(device);
            }
        }
        names.vote(sightings);
        for sighting in sightings {
            names.enter_port(&sighting.device, &sighting.port);
            if let FarEnd::Device(device, Some(port)) = &sighting.far {
                names.enter_port(device, port);
            }
        }
        names
    }

    fn enter_device(&mut self, name: &'a str) {
        let list = &self.blueprint.list;
        if let Some(row) = list.device_named(name).or_else(|| list.device_named(short(name))) {
            self.devices.insert(name, row);
            self.is_seen[row as usize] = true;
        }
    }

    /// Takes names that the blueprint does not have for the devices that most of their cables tell.
    fn vote(&mut self, sightings: &'a [Sighting]) {
        let list = &self.blueprint.list;
        let planned = |device: &str, port: &str| {
            let port = list.port_named(*self.devices.get(device)?, port)?;
            let far = list.device_of(list.peer(port)?);
            Some(list.devices()[far as usize].name.as_str())
        };
        // Name, device that it should be, and the port that says so: both ends of a cable may tell of it.
        let mut told: BTreeSet<(&str, &str, (&str, &str))> = BTreeSet::new();
        for sighting in sightings {
            let FarEnd::Device(device, port) = &sighting.far else { continue };
            let near = (sighting.device.as_str(), sighting.port.as_str());
            if !self.devices.contains_key(device.as_str()) {
                told.extend(planned(near.0, near.1).map(|far| (device.as_str(), far, near)));
            }
            if let (false, Some(port)) = (self.devices.contains_key(near.0), port) {
                told.extend(planned(device, port).map(|far| (near.0, far, (device.as_str(), port.as_str()))));
            }
        }
        let seen: Vec<(&str, &str)> = told.into_iter().map(|(name, far, _)| (name, far)).collect();
        // A device that goes by its own name has no other.
        let open = |name: &str| list.device_named(name).is_some_and(|row| !self.is_seen[row as usize]);
        self.called = called(seen.iter().copied());
        self.called.retain(|_, (device, ..)| open(device));
        let rows: Vec<(&str, u32)> = seen
            .iter()
            .filter_map(|(name, _)| Some((*name, list.device_named(&self.called.get(*name)?.0)?)))
            .collect();
        for (name, row) in rows {
            self.devices.insert(name, row);
            self.is_seen[row as usize] = true;
        }
    }

    fn enter_port(&mut self, device: &str, port: &str) {
        if let Some(&row) = self.devices.get(device)
            && self.blueprint.list.port_named(row, port).is_some()
        {
            self.speaks[row as usize] = true;
        }
    }

    /// Row of a port of a device; [`NONE`] where its name is of another kind than those of the blueprint.
    fn port(&mut self, device: u32, port: &str) -> u32 {
        if let Some(row) = self.blueprint.list.port_named(device, port) {
            return row;
        }
        if port.is_empty() {
            return NONE;
        }
        if self.ports.is_known_device(device) && !self.speaks[device as usize] {
            self.other_names.insert(device);
            return NONE;
        }
        self.ports.new_port(device, port)
    }

    /// The rows of a sighting; none where it tells nothing of the blueprint.
    fn end(&mut self, sighting: &'a Sighting) -> Option<End> {
        let near = self.devices.get(sighting.device.as_str()).copied();
        let FarEnd::Device(far_name, far_port) = &sighting.far else {
            let port = self.port(near?, &sighting.port);
            return (port != NONE).then_some(End::Free(port));
        };
        let far = self.devices.get(far_name.as_str()).copied();
        let (near, far) = match (near, far) {
            (Some(near), Some(far)) => (near, far),
            (Some(near), None) => (near, self.stranger(far_name, near, &sighting.port)?),
            (None, Some(far)) => {
                let port = far_port.as_deref().unwrap_or("");
                (self.stranger(&sighting.device, far, port)?, far)
            }
            (None, None) => return None,
        };
        let (port, far_port) =
            (self.port(near, &sighting.port), self.port(far, far_port.as_deref().unwrap_or("")));
        match (port, far_port) {
            (NONE, NONE) => None,
            // Only the far end is a port that is known: it leads to the near device.
            (NONE, far_port) => Some(End::Leads(far_port, [near, NONE])),
            (port, far_port) => Some(End::Leads(port, [far, far_port])),
        }
    }

    /// Row of a device that is none of the blueprint, at the far end of a port; none where it may be one by another name.
    fn stranger(&mut self, name: &'a str, near: u32, port: &str) -> Option<u32> {
        let list = &self.blueprint.list;
        let planned = list.port_named(near, port).and_then(|port| list.peer(port));
        let is_open = planned.is_some_and(|far| !self.is_seen[list.device_of(far) as usize]);
        if is_open {
            self.unnamed.insert(name);
            return None;
        }
        Some(self.ports.new_device(name))
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let list = |names: Vec<String>| {
            let more = if names.len() > LISTED { ", …" } else { "" };
            names.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ") + more
        };
        if !self.called.is_empty() {
            let names = self.called.iter().map(|(name, (device, ..))| format!("{name} for {device}"));
            let names = list(names.collect());
            notes.push(format!("devices are taken for what most of their cables say: {names}"));
        }
        if !self.unnamed.is_empty() {
            let names = list(self.unnamed.iter().map(|name| (*name).to_owned()).collect());
            notes.push(format!(
                "cables to {names} are not compared: too little tells which devices they are; name them with --names FILE"
            ));
        }
        if !self.other_names.is_empty() {
            let names = self.other_names.iter().map(|&device| self.ports.device_name(device).to_owned());
            let names = list(names.collect());
            notes.push(format!(
                "ports of {} devices are named otherwise than in the blueprint and compared by device alone: {names}",
                self.other_names.len()
            ));
        }
        notes
    }
}

//! From the tables of all switches to a topology.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::cable_list::{DeviceRole, natural};
use railtwin_formats::FormatError;

use super::FORMAT;
use super::switch::{Neighbor, Switch, place_name};
use crate::about::DeviceClass;
use crate::form::SourceFile;
use crate::forms::sonic_types::{DeviceType, state};
use crate::tiers;
use crate::topology::Topology;
use crate::wiring::{self, End};

/// Reads the databases of one or several switches as one network. Other files of their folders are passed over.
///
/// # Errors
/// A file that is not JSON, and files of which none is a database of a switch.
pub(super) fn read(sources: &[SourceFile<'_>]) -> Result<Topology, FormatError> {
    let mut topology = Topology::new("sonic-config-db");
    let mut switches: Vec<Switch> = Vec::new();
    let (mut others, mut names) = (0, BTreeSet::new());
    // Chips that are known, and the first switch of each name that has chips.
    let (mut chips, mut first): (BTreeSet<(String, String)>, BTreeMap<String, usize>) = Default::default();
    wiring::each(&mut topology, sources, |topology, source| {
        let Some(mut switch) = Switch::of(source)? else {
            others += 1;
            return Ok(());
        };
        let of_chip = switch.chip.clone().map(|chip| (switch.name.clone(), chip));
        let known = of_chip.as_ref().and_then(|_| first.get(&switch.name).copied());
        if let (Some(known), Some(of_chip)) = (known, of_chip.clone())
            && chips.insert(of_chip)
        {
            switches[known].take(switch);
            return Ok(());
        }
        if of_chip.is_some() {
            first.entry(switch.name.clone()).or_insert(switches.len());
        }
        chips.extend(of_chip);
        if !names.insert(switch.name.clone()) {
            let other = free_name(&names, &place_name(source));
            let seen = format!("{} is of a second switch of this name; it is {other} here", source.name);
            topology.find("duplicate-name", switch.name.as_str(), seen);
            names.insert(other.clone());
            switch.name = other;
        }
        switches.push(switch);
        Ok(())
    })?;
    if switches.is_empty() {
        let name = sources.first().map_or("", |source| source.name);
        let accepted = "give config_db.json of a switch, or a folder of one for each";
        return Err(FormatError::new(FORMAT, name, "has no table of a switch", accepted).foreign());
    }
    if others > 0 {
        topology.notes.push(format!("{others} other files are passed over"));
    }
    let rows = switches.iter().map(|switch| enter(&mut topology, switch)).collect();
    let mut fabric = Fabric::of(topology, &switches, rows);
    fabric.neighbors();
    fabric.join_all();
    fabric.free_ports();
    let mut topology = fabric.topology;
    wiring::adapters_by_port(&mut topology);
    tiers::by_distance(&mut topology);
    Ok(topology)
}

fn free_name(names: &BTreeSet<String>, name: &str) -> String {
    if !names.contains(name) {
        return name.to_owned();
    }
    let numbered = (2..=names.len() + 2).map(|number| format!("{name}#{number}"));
    numbered.into_iter().find(|name| !names.contains(name)).unwrap_or_default()
}

/// Enters a switch with its ports.
fn enter(topology: &mut Topology, switch: &Switch) -> u32 {
    let row = topology.switch(&switch.name);
    state(topology, row, DeviceType::of(switch.kind.as_deref().unwrap_or("")));
    // What has a database is a switch, whatever its name speaks of.
    topology.about_mut(row).class = DeviceClass::Switch;
    let device = topology.list.device_mut(row);
    device.role = device.role.filter(|role| role.tier() > 0);
    let about = topology.about_mut(row);
    about.model.clone_from(&switch.model);
    about.id.clone_from(&switch.mac);
    if switch.mux_cables > 0 {
        topology.notes.push(format!("{} has {} mux cables to servers", switch.name, switch.mux_cables));
    }
    row
}

/// What a port of a switch leads to: device and name of the port there.
type FarEnd = (u32, String);

/// A network while it is joined.
struct Fabric<'a> {
    topology: Topology,
    switches: &'a [Switch],
    rows: Vec<u32>,
    /// Index of a switch by its row.
    index: BTreeMap<u32, usize>,
    /// Far end of each port of a switch that tells one, by index of the switch.
    told: BTreeMap<(usize, &'a str), FarEnd>,
}

impl<'a> Fabric<'a> {
    fn of(topology: Topology, switches: &'a [Switch], rows: Vec<u32>) -> Self {
        let index = rows.iter().copied().zip(0..).collect();
        Self { topology, switches, rows, index, told: BTreeMap::new() }
    }

    /// Enters what switches tell of their neighbors.
    fn neighbors(&mut self) {
        for (at, switch) in self.switches.iter().enumerate() {
            for neighbor in &switch.neighbors {
                let far = self.far_device(switch, neighbor);
                let far_port = match (self.index.get(&far), &neighbor.far_port) {
                    (Some(&far), Some(port)) => self.switches[far].own_name(port).to_owned(),
                    (Some(&far), None) => self.port_back(far, switch, &neighbor.port),
                    (None, Some(port)) => port.clone(),
                    (None, None) => format!("{}:{}", switch.name, neighbor.port),
                };
                if !switch.ports.is_empty() && !switch.ports.contains_key(&neighbor.port) {
                    let seen = format!(
                        "{} is told at port {}, which PORT does not have",
                        neighbor.device, neighbor.port
                    );
                    self.topology.find("unknown-port", switch.name.as_str(), seen);
                }
                let known = self.told.insert((at, neighbor.port.as_str()), (far, far_port));
                if known.is_some() {
                    let seen = format!("port {} has two neighbors", neighbor.port);
                    self.topology.find("port-with-two-cables", switch.name.as_str(), seen);
                }
            }
            for name in &switch.portless {
                self.topology.links_missing += 1;
                let seen = format!("neighbor {name} is told without a port of the switch");
                self.topology.find("one-sided-link", switch.name.as_str(), seen);
            }
        }
        self.split_bonds();
    }

    /// The port of a switch that tells a port of another as its neighbor; where none does, a name of its own.
    fn port_back(&self, far: usize, switch: &Switch, port: &str) -> String {
        let is_back = |one: &&Neighbor| {
            let told = one.far_port.as_deref().map(|far| switch.own_name(far));
            one.device == switch.name && told == Some(port)
        };
        let back = self.switches[far].neighbors.iter().find(is_back);
        back.map_or_else(|| format!("{}:{port}", switch.name), |one| one.port.clone())
    }

    /// Row of a neighbor; enters what its type, its name or the port tells of it.
    fn far_device(&mut self, switch: &Switch, neighbor: &Neighbor) -> u32 {
        if let Some(row) = self.topology.list.device_named(&neighbor.device) {
            let is_known = self.topology.about[row as usize].class != DeviceClass::Unknown;
            if is_known || self.index.contains_key(&row) {
                return row;
            }
        }
        let row = self.topology.device(&neighbor.device);
        let (kind, model) = switch.kinds.get(&neighbor.device).cloned().unwrap_or_default();
        state(&mut self.topology, row, DeviceType::of(kind.as_deref().unwrap_or("")));
        if self.topology.about[row as usize].class == DeviceClass::Unknown
            && switch.access.contains(&neighbor.port)
        {
            self.topology.about_mut(row).class = DeviceClass::Host;
            self.topology.list.device_mut(row).role = Some(DeviceRole::Host);
        }
        if let Some(model) = model {
            self.topology.about_mut(row).model = Some(model);
        }
        row
    }

    /// Bonds of hosts: where several ports in bonds name one port of a host, each leads to a port of its own.
    fn split_bonds(&mut self) {
        let mut claims: BTreeMap<FarEnd, Vec<(usize, &'a str)>> = BTreeMap::new();
        for (&near, far) in &self.told {
            if !self.index.contains_key(&far.0) {
                claims.entry(far.clone()).or_default().push(near);
            }
        }
        for ((_, port), mut ends) in claims {
            let is_bond = |&(at, name): &(usize, &str)| self.switches[at].bonded.contains(name);
            if ends.len() < 2 || !ends.iter().all(is_bond) {
                continue;
            }
            ends.sort_by_cached_key(|&(at, name)| (natural(&self.switches[at].name), natural(name)));
            for (number, near) in ends.into_iter().enumerate() {
                if let Some(far) = self.told.get_mut(&near) {
                    far.1 = format!("{port}:port-{number}");
                }
            }
        }
    }

    /// Joins cables that both ends tell first, then those that one end tells.
    fn join_all(&mut self) {
        let told = std::mem::take(&mut self.told);
        let mut one_sided = Vec::new();
        // In the order of the files, and of ports by number.
        let mut order: Vec<(&(usize, &str), &FarEnd)> = told.iter().collect();
        order.sort_by_cached_key(|((at, port), _)| (*at, natural(port)));
        for (&(at, port), far) in order {
            match self.index.get(&far.0) {
                None => self.join(at, port, far),
                Some(&back) => match told.get(&(back, far.1.as_str())) {
                    Some((row, name)) if *row == self.rows[at] && name == port => {
                        if (at, port) <= (back, far.1.as_str()) {
                            self.join(at, port, far);
                        }
                    }
                    other => one_sided.push((at, port, far, other)),
                },
            }
        }
        for (at, port, far, other) in one_sided {
            let name = self.topology.list.devices()[far.0 as usize].name.clone();
            let switch = &self.switches[at].name;
            let seen = match other {
                Some((row, back)) => {
                    let device = &self.topology.list.devices()[*row as usize].name;
                    format!(
                        "{switch} port {port} leads to its port {}, which leads to {device} port {back}",
                        far.1
                    )
                }
                None => format!("{switch} port {port} leads to its port {}, which tells no neighbor", far.1),
            };
            self.topology.find("one-sided-link", name, seen);
            self.join(at, port, far);
        }
    }

    fn join(&mut self, at: usize, port: &str, far: &FarEnd) {
        let near = self.switches[at].ports.get(port).cloned().unwrap_or_default();
        let there = self.index.get(&far.0).and_then(|&far_at| self.switches[far_at].ports.get(&far.1));
        let there = there.cloned().unwrap_or_default();
        if near.is_down || there.is_down {
            self.topology.links_missing += 1;
            let name = self.topology.list.devices()[far.0 as usize].name.clone();
            let side = if near.is_down { "" } else { "the far end of " };
            let seen = format!("{side}port {port} to {name} port {} is down", far.1);
            self.topology.find("link-down", self.switches[at].name.as_str(), seen);
            return;
        }
        let ends = [
            End { device: self.rows[at], port, rate: near.rate },
            End { device: far.0, port: &far.1, rate: there.rate },
        ];
        wiring::join(&mut self.topology, ends, near.delay.or(there.delay), 0);
    }

    /// One finding for each switch with ports that are up and have no neighbor, and one for each device that nothing tells.
    fn free_ports(&mut self) {
        for (at, switch) in self.switches.iter().enumerate() {
            let row = self.rows[at];
            let told: BTreeSet<&str> = switch.neighbors.iter().map(|one| one.port.as_str()).collect();
            let up = switch.ports.iter().filter(|(_, port)| !port.is_down && !port.is_inner);
            let free = |name: &str| {
                let port = self.topology.list.port_named(row, name);
                !told.contains(name) && port.is_none_or(|port| self.topology.list.peer(port).is_none())
            };
            let (all, without) =
                up.fold((0, 0), |(all, without), (name, _)| (all + 1, without + u32::from(free(name))));
            if without > 0 {
                let seen = format!("{without} of {all} ports are up and have no neighbor");
                self.topology.find("port-without-neighbor", switch.name.as_str(), seen);
            }
        }
        for row in 0..self.topology.list.devices().len() as u32 {
            if self.topology.about[row as usize].class == DeviceClass::Unknown {
                let name = self.topology.list.devices()[row as usize].name.clone();
                self.topology.find("unknown-device", name, "neither a type nor its name tells what it is");
            }
        }
    }
}

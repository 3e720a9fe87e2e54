//! `design` of a cable list: what stands where, as the list tells it, beside the counts of its fabric.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::NONE;
use railtwin_fabric::cable_list::{CableNetwork, DeviceRole};
use serde_json::{Value, json};

use crate::blueprint::Named;
use crate::table::{TextTable, grouped};

/// Devices of one role in one network.
#[derive(Default, Debug)]
struct Kind {
    devices: u32,
    ports: u32,
    cabled: u32,
    pods: BTreeSet<u32>,
    segments: BTreeSet<(u32, u32)>,
    rails: BTreeSet<u32>,
    planes: BTreeSet<u32>,
}

/// Roles of a list, by network.
#[derive(Debug)]
pub(crate) struct Roles {
    kinds: BTreeMap<(CableNetwork, DeviceRole), Kind>,
    /// Names of the list that are others in the fabric, and what of the list is not in it.
    aliases: Vec<(String, String)>,
    notes: Vec<String>,
}

impl Roles {
    pub(crate) fn of(named: &Named, aliases: Vec<(String, String)>, notes: Vec<String>) -> Self {
        let mut kinds: BTreeMap<(CableNetwork, DeviceRole), Kind> = BTreeMap::new();
        for (device, place) in named.list.devices().iter().zip(&named.found.places) {
            // A host counts in each network that it has ports in, a switch in its own.
            let sites = device.ports.iter().map(|&port| (port, named.found.sites[port as usize].network));
            let mut of: BTreeMap<CableNetwork, (u32, u32)> = BTreeMap::new();
            for (port, network) in sites {
                let (ports, cabled) = of.entry(network).or_default();
                *ports += 1;
                *cabled += u32::from(named.list.peer(port).is_some());
            }
            for (network, (ports, cabled)) in of {
                let kind = kinds.entry((network, place.role)).or_default();
                kind.devices += 1;
                kind.ports += ports;
                kind.cabled += cabled;
                if network != place.network {
                    continue;
                }
                kind.pods.extend(Some(place.pod).filter(|&pod| pod != NONE));
                kind.segments
                    .extend(Some((place.pod, place.segment)).filter(|&(_, segment)| segment != NONE));
                kind.rails.extend(Some(place.rail).filter(|&rail| rail != NONE));
                kind.planes.extend(Some(place.plane).filter(|&plane| plane != NONE));
            }
        }
        Self { kinds, aliases, notes }
    }

    /// The roles as a table, the names, the notes.
    pub(crate) fn text(&self) -> String {
        let mut table = TextTable::default();
        let names = ["role", "network", "devices", "ports", "cabled", "pods", "segments", "rails", "planes"];
        table.row(names.map(str::to_owned));
        let count = |set: usize| if set == 0 { "-".to_owned() } else { grouped(set as u32) };
        for ((network, role), kind) in &self.kinds {
            table.row([
                role.to_string(),
                network.to_string(),
                grouped(kind.devices),
                grouped(kind.ports),
                grouped(kind.cabled),
                count(kind.pods.len()),
                count(kind.segments.len()),
                count(kind.rails.len()),
                count(kind.planes.len()),
            ]);
        }
        let mut text = format!("\n{}", table.text());
        if let Some((theirs, ours)) = self.aliases.first() {
            let more = self.aliases.len() - 1;
            text.push_str(&format!(
                "names: {theirs} is {ours} in the fabric, and {more} more; --json has all\n"
            ));
        }
        for note in &self.notes {
            text.push_str(&format!("note: {note}\n"));
        }
        text
    }

    /// The same for programs, into the object of a design.
    pub(crate) fn enter(&self, design: &mut Value) {
        design["roles"] = self
            .kinds
            .iter()
            .map(|((network, role), kind)| {
                json!({
                    "role": role.name(), "network": network.name(), "devices": kind.devices, "ports": kind.ports,
                    "cabled": kind.cabled, "pods": kind.pods.len(), "segments": kind.segments.len(),
                    "rails": kind.rails.len(), "planes": kind.planes.len(),
                })
            })
            .collect();
        design["names"] = self.aliases.iter().map(|(theirs, ours)| json!([theirs, ours])).collect();
        design["notes"] = json!(self.notes);
    }
}

//! What ports hear against a fabric as it was planned.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::Fabric;
use railtwin_records::seen::NeighborSeen;
use railtwin_records::{Component, Finding, NeighborInfo};

use super::called::{Called, called};
use super::{Wiring, confidence, finding};

/// Confidence in what a switch that calls itself as the plan does says of a cable.
const NAMED: f64 = 0.95;
/// Names that a note lists.
const LISTED: usize = 8;

/// Where each cable should lead: by the port nearer to the hosts the device and the port at its far end.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Plan {
    far: BTreeMap<String, (String, String)>,
}

/// A cable that does not lead where it should.
struct Wrong<'a> {
    port: &'a str,
    planned: &'a (String, String),
    heard: (String, Option<String>),
    confidence: f64,
}

impl Plan {
    /// That of a fabric.
    pub fn of(fabric: &Fabric) -> Self {
        let mut far = BTreeMap::new();
        for cable in fabric.cables() {
            let [near, end] = fabric.cable_ports(cable);
            let device = fabric.device_name(fabric.port_device(end));
            far.insert(fabric.port_name(near), (device, fabric.port_name(end)));
        }
        Self { far }
    }

    /// Whether a port is one of the plan.
    pub fn knows(&self, port: &str) -> bool {
        self.far.contains_key(port)
    }

    /// Devices of the plan that switches with other names are.
    fn called(&self, heard: &BTreeMap<&str, &NeighborInfo>) -> Called {
        let devices: BTreeSet<&str> = self.far.values().map(|(device, _)| device.as_str()).collect();
        let planned = heard.iter().filter_map(|(port, info)| {
            let (device, _) = self.far.get(*port)?;
            Some((info.neighbor.as_str(), device.as_str()))
        });
        called(planned.filter(|(name, _)| !devices.contains(name)))
    }

    /// A finding for each cable that leads elsewhere; two whose ends were swapped say so.
    pub(super) fn judge(&self, heard: &BTreeMap<&str, &NeighborInfo>) -> Wiring {
        let called = self.called(heard);
        let HeldAgainst { compared, wrong, unnamed } = self.compare(heard, &called);
        let mut told =
            Wiring { findings: wrong.iter().map(|one| one.finding(&wrong)).collect(), ..Wiring::default() };
        let of = self.far.len();
        told.notes
            .push(format!("neighbors of {compared} of {of} cables of the fabric are held against its plan"));
        if !called.is_empty() {
            let list = called.iter().take(LISTED).map(|(name, (device, ..))| format!("{name} for {device}"));
            let more = if called.len() > LISTED { ", …" } else { "" };
            let list: Vec<String> = list.collect();
            told.notes.push(format!(
                "switches are taken for what most of their cables say: {}{more}",
                list.join(", ")
            ));
        }
        if !unnamed.is_empty() {
            let more = if unnamed.len() > LISTED { ", …" } else { "" };
            let list: Vec<&str> = unnamed.iter().copied().take(LISTED).collect();
            told.notes.push(format!(
                "too little tells which switches of the fabric {}{more} are: their cables are not compared; name them with \
                 --names FILE",
                list.join(", ")
            ));
        }
        told
    }

    /// Holds what ports hear against the plan, where it tells who their neighbors are.
    fn compare<'a>(
        &'a self,
        heard: &BTreeMap<&'a str, &'a NeighborInfo>,
        called: &Called,
    ) -> HeldAgainst<'a> {
        let is_device = |name: &str| self.far.values().any(|(device, _)| device == name);
        let mut known: BTreeMap<&str, bool> = BTreeMap::new();
        let mut out = HeldAgainst::default();
        let ports_of_plan: BTreeSet<&str> = self.far.values().map(|(_, port)| port.as_str()).collect();
        for (&port, info) in heard {
            let Some(planned) = self.far.get(port) else { continue };
            let name = info.neighbor.as_str();
            let by_name = *known.entry(name).or_insert_with(|| is_device(name));
            let (device, confidence) = match called.get(name) {
                _ if by_name => (name, NAMED),
                Some((device, agree, others)) => (device.as_str(), confidence(*agree, *others).min(NAMED)),
                None => {
                    out.unnamed.insert(name);
                    continue;
                }
            };
            out.compared += 1;
            // Vendors number their ports as they like: only names of the plan are compared.
            let far_port =
                ports_of_plan.contains(info.neighbor_port.as_str()).then(|| info.neighbor_port.clone());
            let other_port = far_port.as_ref().is_some_and(|port| *port != planned.1);
            if device != planned.0 || other_port {
                out.wrong.push(Wrong { port, planned, heard: (device.to_owned(), far_port), confidence });
            }
        }
        out
    }
}

/// Cables held against a plan.
#[derive(Default)]
struct HeldAgainst<'a> {
    /// How many were.
    compared: usize,
    wrong: Vec<Wrong<'a>>,
    /// Neighbors that call themselves as nothing of the plan, and of which nothing else tells what they are.
    unnamed: BTreeSet<&'a str>,
}

impl Wrong<'_> {
    fn leads_to(&self, planned: &(String, String)) -> bool {
        match &self.heard.1 {
            Some(port) => *port == planned.1,
            None => self.heard.0 == planned.0,
        }
    }

    /// The finding of this cable beside all that lead elsewhere.
    fn finding(&self, all: &[Wrong<'_>]) -> Finding {
        // Of swapped cables each leads where the other should, and no third one leads to either place.
        let mut swapped = all.iter().filter(|other| {
            other.port != self.port && self.leads_to(other.planned) && other.leads_to(self.planned)
        });
        let with = swapped.next().filter(|_| swapped.next().is_none());
        let at = self.heard.1.as_ref().unwrap_or(&self.heard.0);
        let should = if self.heard.1.is_some() { &self.planned.1 } else { &self.planned.0 };
        let advice = match with {
            Some(other) => {
                let mut both = [self.port, other.port];
                both.sort_unstable();
                format!("swap the far ends of the cables at {} and {}", both[0], both[1])
            }
            None => format!("plug the cable at {} in at {should}", self.port),
        };
        let seen = NeighborSeen::NotAsPlanned {
            port: self.port.to_owned(),
            hears: at.to_string(),
            planned: should.to_string(),
        };
        finding(Component::Cable(self.port.to_owned()), seen, self.confidence, advice)
    }
}

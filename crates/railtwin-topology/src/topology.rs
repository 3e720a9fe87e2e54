//! The neutral topology, and what is counted in it.
use std::collections::BTreeMap;

use railtwin_fabric::cable_list::{
    CableDesign, CableList, CableNetwork, DeviceRole, Inference, ListedFabric,
};
use railtwin_fabric::{FabricError, NONE};
use railtwin_units::{Rate, SimTime};
use serde::Serialize;

use crate::about::{About, DeviceClass};

/// Something in a file that contradicts the rest of it, or that is not as a network should be.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct TopologyFinding {
    /// What kind of thing, in words joined by hyphens, such as `missing-switch` or `host-under-two-leaves`.
    pub kind: &'static str,
    /// The device or file that it is about.
    pub device: String,
    /// What was seen, in words for people.
    pub seen: String,
}

/// A cluster as the files of one form tell it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// Name of the form that it was read from, such as `ibnetdiscover`; empty for one that was built.
    pub form: &'static str,
    /// Devices, ports, cables.
    pub list: CableList,
    /// By row of the list's devices.
    pub about: Vec<About>,
    /// Links that a file names and that are down or lead to nothing.
    pub links_missing: u32,
    /// Devices at both ends of those missing links that lead to a device which the file names and does not describe. Such
    /// links are no cables, and still say where in a tree a device stands.
    pub links_to_missing: Vec<[u32; 2]>,
    /// Whether cables stand for «is under»: a tree of a scheduler has no ports.
    pub is_tree: bool,
    /// Where the files contradict themselves.
    pub findings: Vec<TopologyFinding>,
    /// Remarks on what the form does not tell, or what was not read.
    pub notes: Vec<String>,
}

/// Counts of a topology.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counts {
    /// Hosts of every role.
    pub hosts: u32,
    /// Switches by tier: `leaf`, `spine`, `core`, `tier-4` and above, `unknown`; `out-of-band` for those of management.
    pub switches: BTreeMap<String, u32>,
    /// Adapters of hosts; where nothing names them, ports of hosts joined by NIC.
    pub adapters: u32,
    /// Cables, those inside hosts left out.
    pub cables: u32,
    /// Cables that are up.
    pub links_up: u32,
    /// Links that are named and down, or that lead to nothing.
    pub links_missing: u32,
}

impl Topology {
    /// Whether a switch is of the network of management and of no tier.
    pub(crate) fn is_apart(&self, switch: u32) -> bool {
        self.list.devices()[switch as usize].network == Some(CableNetwork::OutOfBand)
            && self.tier(switch).is_none()
    }

    /// An empty one of a form.
    pub fn new(form: &'static str) -> Self {
        Self { form, ..Self::default() }
    }

    /// Row of the device of a name; enters it where it is new.
    pub fn device(&mut self, name: &str) -> u32 {
        let row = self.list.device(name);
        if row as usize == self.about.len() {
            self.about.push(About::default());
        }
        row
    }

    /// Facts of a device beside its name, role and ports.
    pub fn about_mut(&mut self, device: u32) -> &mut About {
        &mut self.about[device as usize]
    }

    /// Row of a host; enters it where it is new.
    pub fn host(&mut self, name: &str) -> u32 {
        let row = self.device(name);
        self.about[row as usize].class = DeviceClass::Host;
        self.list.device_mut(row).role.get_or_insert(DeviceRole::Host);
        row
    }

    /// Row of a switch; enters it where it is new.
    pub fn switch(&mut self, name: &str) -> u32 {
        let row = self.device(name);
        self.about[row as usize].class = DeviceClass::Switch;
        row
    }

    /// Joins two named ports, which are entered where they are new. A port that holds another cable already is a finding,
    /// and the first cable stays; the same cable told from its other end is no second one.
    pub fn join(
        &mut self,
        ends: [(u32, &str); 2],
        rate: Option<Rate>,
        delay: Option<SimTime>,
        line: u64,
    ) -> Option<u32> {
        let ports = ends.map(|(device, port)| self.list.port(device, port, rate, line));
        if self.list.peer(ports[0]) == Some(ports[1]) {
            return Some(self.list.ports()[ports[0] as usize].cable);
        }
        match self.list.join(ports, delay) {
            Ok(cable) => Some(cable),
            Err(taken) => {
                let port = &self.list.ports()[taken as usize];
                let device = self.list.devices()[port.device as usize].name.clone();
                let other = if taken == ports[0] { ports[1] } else { ports[0] };
                let far = &self.list.ports()[other as usize];
                let named = &self.list.devices()[far.device as usize].name;
                let seen = match self.list.peer(taken) {
                    Some(peer) => {
                        let known = &self.list.ports()[peer as usize];
                        let first = &self.list.devices()[known.device as usize].name;
                        format!(
                            "port {} leads to {first} port {}, and to {named} port {}",
                            port.name, known.name, far.name
                        )
                    }
                    None => format!("port {} leads to itself", port.name),
                };
                self.find("port-with-two-cables", device, seen);
                None
            }
        }
    }

    /// Notes a finding.
    pub fn find(&mut self, kind: &'static str, device: impl Into<String>, seen: impl Into<String>) {
        self.findings.push(TopologyFinding { kind, device: device.into(), seen: seen.into() });
    }

    /// Rows of hosts, in the order of the list.
    pub fn hosts(&self) -> impl Iterator<Item = u32> + '_ {
        self.rows(|class, role| class == DeviceClass::Host || role.is_some_and(DeviceRole::is_host))
    }

    /// Rows of switches, in the order of the list.
    pub fn switches(&self) -> impl Iterator<Item = u32> + '_ {
        self.rows(|class, role| class == DeviceClass::Switch || role.is_some_and(|role| role.tier() > 0))
    }

    fn rows(&self, accepts: fn(DeviceClass, Option<DeviceRole>) -> bool) -> impl Iterator<Item = u32> + '_ {
        let all = (0..).zip(self.list.devices().iter().zip(&self.about));
        all.filter(move |(_, (device, about))| accepts(about.class, device.role)).map(|(row, _)| row)
    }

    /// Tier of a switch: as told, else that of its role.
    pub fn tier(&self, switch: u32) -> Option<u8> {
        let role = self.list.devices()[switch as usize].role.map(DeviceRole::tier).filter(|&tier| tier > 0);
        self.about[switch as usize].tier.or(role)
    }

    /// Counts it.
    pub fn counts(&self) -> Counts {
        let mut switches = BTreeMap::new();
        for switch in self.switches() {
            let tier = match self.is_apart(switch) {
                true => "out-of-band".to_owned(),
                false => tier_name(self.tier(switch)),
            };
            *switches.entry(tier).or_default() += 1;
        }
        let adapters = self.hosts().map(|host| self.adapters_of(host)).sum();
        let cables = self.list.cables().len() as u32;
        let links_missing = self.links_missing;
        Counts {
            hosts: self.hosts().count() as u32,
            switches,
            adapters,
            cables,
            links_up: cables,
            links_missing,
        }
    }

    /// Adapters of a host: those named, else one for each of its ports that has a cable, in a tree none.
    fn adapters_of(&self, host: u32) -> u32 {
        let named = self.about[host as usize].adapters.len() as u32;
        if named > 0 || self.is_tree {
            return named;
        }
        let ports = &self.list.devices()[host as usize].ports;
        ports.iter().filter(|&&port| self.list.ports()[port as usize].cable != NONE).count() as u32
    }

    /// The fabric of it: what the form does not say is of `design`.
    ///
    /// # Errors
    /// [`FabricError`] for a device whose role nothing tells, and as [`CableList::fabric`].
    pub fn fabric(&self, design: &CableDesign) -> Result<ListedFabric, FabricError> {
        let found = Inference::of(&self.list)?;
        self.list.fabric(&found, design)
    }
}

/// Name of a tier in counts.
pub fn tier_name(tier: Option<u8>) -> String {
    match tier {
        Some(1) => "leaf".to_owned(),
        Some(2) => "spine".to_owned(),
        Some(3) => "core".to_owned(),
        Some(tier) => format!("tier-{tier}"),
        None => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_with_two_cables_is_a_finding_and_a_cable_told_twice_is_not() {
        let mut topology = Topology::new("test");
        let (host, leaf) = (topology.host("h1"), topology.switch("s1"));
        assert!(topology.join([(host, "p0"), (leaf, "e1")], None, None, 1).is_some());
        assert!(topology.join([(leaf, "e1"), (host, "p0")], None, None, 2).is_some());
        assert!(topology.findings.is_empty());
        assert_eq!(topology.join([(leaf, "e1"), (host, "p1")], None, None, 3), None);
        assert_eq!(topology.findings[0].kind, "port-with-two-cables");
        assert_eq!(topology.findings[0].seen, "port e1 leads to h1 port p0, and to h1 port p1");
        let counts = topology.counts();
        assert_eq!((counts.hosts, counts.cables, counts.adapters), (1, 1, 1));
        assert_eq!(counts.switches, BTreeMap::from([("unknown".to_owned(), 1)]));
    }
}

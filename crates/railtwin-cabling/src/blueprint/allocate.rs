//! Hands out ports: which interface of a server and which port of a switch each cable joins.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::cable_list::DeviceRole;

use super::model::{Blueprint, Homing, Link, PortSpread, SwitchClass, Wire, WireEnd, ZoneUse};
use crate::error::{CablingError, Refused};

/// Most cables of a design.
const CABLES_MAX: u64 = 1 << 24;

/// A switch by class and index in it.
type Unit = (u32, u32);

/// The cables of a design.
pub(super) fn wires(blueprint: &Blueprint) -> Result<Vec<Wire>, CablingError> {
    let of_servers = blueprint.servers.iter().map(|class| {
        let interfaces: usize = class.links.iter().map(|link| link.interfaces.len()).sum();
        u64::from(class.count) * interfaces as u64
    });
    let of_switches = blueprint.switches.iter().map(|class| {
        let slots: u64 = class.zones.iter().map(|zone| u64::from(zone.slots())).sum();
        u64::from(class.count) * slots
    });
    let (servers, switches): (u64, u64) = (of_servers.sum(), of_switches.sum());
    if servers.max(switches) > CABLES_MAX {
        let refused = Refused::new(format!("has more than {CABLES_MAX} ports"), "write smaller counts");
        return Err(blueprint.error(String::new(), 0, refused));
    }
    let (next, zone_of) = (BTreeMap::new(), BTreeMap::new());
    let mut hand = Hand { blueprint, next, zone_of, wires: Vec::with_capacity(servers as usize) };
    hand.servers()?;
    hand.uplinks()?;
    hand.peers()?;
    hand.meshes()?;
    Ok(hand.wires)
}

struct Hand<'a> {
    blueprint: &'a Blueprint,
    /// Next slot by class, index and zone.
    next: BTreeMap<(u32, u32, u32), u32>,
    /// Zone that uses a physical port, by class, index and port.
    zone_of: BTreeMap<(u32, u32, u32), u32>,
    wires: Vec<Wire>,
}

impl Hand<'_> {
    /// The next port of a zone of a switch; `asker` is the other end.
    fn slot(&mut self, (class, index): Unit, zone: u32, asker: WireEnd) -> Result<WireEnd, CablingError> {
        let next = self.next.entry((class, index, zone)).or_insert(0);
        let slot = *next;
        *next += 1;
        let end = WireEnd::Switch { class, index, zone, slot };
        let of = &self.blueprint.switches[class as usize];
        let own = &of.zones[zone as usize];
        let refuse = |problem: String, accepted: String| {
            Err(self.blueprint.error(
                self.blueprint.device_name(end),
                of.line,
                Refused::new(problem, accepted),
            ))
        };
        if slot >= own.slots() {
            let asker = self.blueprint.device_name(asker);
            let problem =
                format!("zone `{}` has {} ports, and {asker} finds none left", own.name, own.slots());
            return refuse(problem, format!("add ports to the zone, or switches to class `{}`", of.name));
        }
        let port = own.slot(slot).0;
        let user = *self.zone_of.entry((class, index, port)).or_insert(zone);
        if user != zone {
            let other = &of.zones[user as usize].name;
            let problem = format!("port {port} is in use in zones `{other}` and `{}`", own.name);
            return refuse(problem, "give each port to one zone".to_owned());
        }
        Ok(end)
    }

    fn servers(&mut self) -> Result<(), CablingError> {
        let blueprint = self.blueprint;
        for (class, servers) in (0..).zip(&blueprint.servers) {
            let domains: Vec<RailDomain> =
                servers.links.iter().map(|link| RailDomain::of(blueprint, &servers.links, link)).collect();
            for index in 0..servers.count {
                for (row, (link, domain)) in (0..).zip(servers.links.iter().zip(&domains)) {
                    for (port, (_, rail)) in (0..).zip(&link.interfaces) {
                        let from = WireEnd::Server { class, index, link: row, port };
                        let switches = blueprint.switches[link.class as usize].count;
                        let switch = match link.homing {
                            Homing::Port => port % switches,
                            Homing::Server => index % switches,
                            Homing::Block => block_of(index, servers.count, switches),
                            Homing::Rail => domain.switch(index, *rail, switches),
                        };
                        let to = self.slot((link.class, switch), link.zone, from)?;
                        self.wires.push(Wire { ends: [from, to] });
                    }
                }
            }
        }
        Ok(())
    }

    /// Uplinks of each fabric in order of names: leaves to spines, then spines to cores.
    fn uplinks(&mut self) -> Result<(), CablingError> {
        let blueprint = self.blueprint;
        let fabrics: BTreeSet<&str> = blueprint.switches.iter().map(|class| class.fabric.as_str()).collect();
        for fabric in fabrics {
            for (below, above) in
                [(DeviceRole::Leaf, DeviceRole::Spine), (DeviceRole::Spine, DeviceRole::Core)]
            {
                let lower = self.units(|class| class.fabric == fabric && class.role == below);
                let upper = self.units(|class| class.fabric == fabric && class.role == above);
                if upper.is_empty() {
                    continue;
                }
                for unit in lower {
                    let ups = self.slots_of(unit, |use_| use_ == ZoneUse::Up);
                    self.join_runs(unit, &ups, &upper)?;
                }
            }
        }
        Ok(())
    }

    /// Joins ports of a switch in runs to the downlinks of others.
    fn join_runs(&mut self, unit: Unit, ports: &[u32], upper: &[Unit]) -> Result<(), CablingError> {
        let mut cursor = ports.iter();
        for (row, &spine) in (0..).zip(upper) {
            for &zone in cursor.by_ref().take(run_length(ports.len(), upper.len(), row)) {
                let from =
                    self.slot(unit, zone, WireEnd::Switch { class: unit.0, index: unit.1, zone, slot: 0 })?;
                let down = self.down_zone(spine, from)?;
                let to = self.slot(spine, down, from)?;
                self.wires.push(Wire { ends: [from, to] });
            }
        }
        Ok(())
    }

    /// The first zone of downlinks with a free port, else the last.
    fn down_zone(&self, (class, index): Unit, from: WireEnd) -> Result<u32, CablingError> {
        let of = &self.blueprint.switches[class as usize];
        let downs = (0..).zip(&of.zones).filter(|(_, zone)| zone.use_ == ZoneUse::Down);
        let mut last = None;
        for (row, zone) in downs {
            last = Some(row);
            if self.next.get(&(class, index, row)).copied().unwrap_or(0) < zone.slots() {
                break;
            }
        }
        last.ok_or_else(|| {
            let problem = format!("has no downlinks for {}", self.blueprint.device_name(from));
            let refused = Refused::new(problem, "write downlink = \"1-64 as 1x800\"");
            self.blueprint.error(of.name.clone(), of.line, refused)
        })
    }

    fn peers(&mut self) -> Result<(), CablingError> {
        let blueprint = self.blueprint;
        for (class, of) in (0..).zip(&blueprint.switches) {
            for (zone, from_zone) in (0..).zip(&of.zones) {
                let ZoneUse::Peer { class: peer, zone: peer_zone, spread } = from_zone.use_ else { continue };
                let peers = blueprint.switches[peer as usize].count;
                for index in 0..of.count {
                    for slot in 0..from_zone.slots() {
                        let to = match spread {
                            PortSpread::Alternate => slot % peers,
                            PortSpread::Block => block_of(slot, from_zone.slots(), peers),
                        };
                        let from = WireEnd::Switch { class, index, zone, slot };
                        let to = self.slot((peer, to), peer_zone, from)?;
                        self.wires.push(Wire { ends: [from, to] });
                    }
                }
            }
        }
        Ok(())
    }

    /// Each pair of switches of a fabric that have a mesh zone.
    fn meshes(&mut self) -> Result<(), CablingError> {
        let blueprint = self.blueprint;
        let is_mesh = |use_: ZoneUse| matches!(use_, ZoneUse::Mesh(_));
        let fabrics: BTreeSet<&str> = blueprint.switches.iter().map(|class| class.fabric.as_str()).collect();
        for fabric in fabrics {
            let units = self
                .units(|class| class.fabric == fabric && class.zones.iter().any(|zone| is_mesh(zone.use_)));
            for (row, &a) in units.iter().enumerate() {
                for &b in &units[row + 1..] {
                    let [of_a, of_b] = [a, b].map(|unit| self.mesh_links(unit, units.len()));
                    for _ in 0..of_a.min(of_b) {
                        let zone = self.mesh_zone(a);
                        let from =
                            self.slot(a, zone, WireEnd::Switch { class: b.0, index: b.1, zone: 0, slot: 0 })?;
                        let zone = self.mesh_zone(b);
                        let to = self.slot(b, zone, from)?;
                        self.wires.push(Wire { ends: [from, to] });
                    }
                }
            }
        }
        Ok(())
    }

    fn mesh_zone(&self, (class, _): Unit) -> u32 {
        let zones = &self.blueprint.switches[class as usize].zones;
        zones.iter().position(|zone| matches!(zone.use_, ZoneUse::Mesh(_))).unwrap_or(0) as u32
    }

    /// Cables of a switch to each other switch of its mesh.
    fn mesh_links(&self, unit: Unit, members: usize) -> u32 {
        let zone = &self.blueprint.switches[unit.0 as usize].zones[self.mesh_zone(unit) as usize];
        match zone.use_ {
            ZoneUse::Mesh(Some(links)) => links,
            _ => zone.slots() / (members as u32 - 1).max(1),
        }
    }

    /// Switches of classes, in order of class names and indices.
    fn units(&self, accepts: impl Fn(&SwitchClass) -> bool) -> Vec<Unit> {
        let mut classes: Vec<(u32, &SwitchClass)> =
            (0..).zip(&self.blueprint.switches).filter(|(_, class)| accepts(class)).collect();
        classes.sort_by(|a, b| a.1.name.cmp(&b.1.name));
        classes.into_iter().flat_map(|(row, class)| (0..class.count).map(move |index| (row, index))).collect()
    }

    /// Zone of each port of a switch in zones of a use.
    fn slots_of(&self, (class, _): Unit, accepts: impl Fn(ZoneUse) -> bool) -> Vec<u32> {
        let zones = (0..).zip(&self.blueprint.switches[class as usize].zones);
        let zones = zones.filter(|(_, zone)| accepts(zone.use_));
        zones.flat_map(|(row, zone)| std::iter::repeat_n(row, zone.slots() as usize)).collect()
    }
}

/// How rails of a class of servers lie on the switches of a zone.
struct RailDomain {
    /// Distinct rails of the class in the zone.
    rails: u32,
    /// Servers that one switch holds, each with all interfaces of one rail.
    servers: u32,
}

impl RailDomain {
    fn of(blueprint: &Blueprint, links: &[Link], link: &Link) -> Self {
        let same = |other: &&Link| {
            other.homing == Homing::Rail && (other.class, other.zone) == (link.class, link.zone)
        };
        let mut ports: BTreeMap<u32, u32> = BTreeMap::new();
        for (_, rail) in links.iter().filter(same).flat_map(|link| &link.interfaces) {
            *ports.entry(*rail).or_insert(0) += 1;
        }
        let slots = blueprint.switches[link.class as usize].zones[link.zone as usize].slots();
        let most = ports.values().copied().max().unwrap_or(1);
        Self { rails: ports.len() as u32, servers: (slots / most).max(1) }
    }

    fn switch(&self, server: u32, rail: u32, switches: u32) -> u32 {
        let switch = if switches >= self.rails {
            u64::from(server / self.servers) * u64::from(self.rails) + u64::from(rail)
        } else {
            u64::from(rail / self.rails.div_ceil(switches))
        };
        // The last switch takes what is beyond, and refuses it when it is full.
        switch.min(u64::from(switches) - 1) as u32
    }
}

/// Run of a member among so many over so many groups; the first groups have one more where there is a remainder.
fn block_of(member: u32, members: u32, groups: u32) -> u32 {
    let (base, more) = (members / groups, members % groups);
    let longer = more * (base + 1);
    if member < longer { member / (base + 1) } else { more + (member - longer) / base.max(1) }
}

/// Length of a run when so many are cut into so many runs.
fn run_length(members: usize, groups: usize, group: usize) -> usize {
    members / groups + usize::from(group < members % groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_blocks_are_one_cut() {
        for members in 1..40_u32 {
            for groups in 1..9_u32 {
                let mut lengths = vec![0_usize; groups as usize];
                (0..members).for_each(|member| lengths[block_of(member, members, groups) as usize] += 1);
                let cut: Vec<usize> = (0..groups as usize)
                    .map(|group| run_length(members as usize, groups as usize, group))
                    .collect();
                assert_eq!(lengths, cut, "{members} over {groups}");
            }
        }
    }
}

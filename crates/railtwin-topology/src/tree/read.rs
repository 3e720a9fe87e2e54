//! A scheduler's tree as it is read: who is under whom, and where that is no tree.
use std::collections::BTreeSet;

use railtwin_fabric::NONE;

use super::UNDER;
use crate::about::DeviceClass;
use crate::tiers;
use crate::topology::Topology;

/// Most names that a finding lists.
pub(super) const LISTED_MAX: usize = 8;

/// Whether a switch that only its parent names is one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Undefined {
    /// It is a finding `missing-switch`, and the edge to it leads to nothing.
    Missing,
    /// It is a switch as any other.
    Entered,
}

/// A topology under construction. Edges are cables between a port `under` of the lower device and a port `over-N` of the
/// upper one.
pub(crate) struct TreeReader {
    /// What is read so far.
    pub(crate) topology: Topology,
    /// Parents of a device, in the order of the file.
    parents: Vec<Vec<u32>>,
    children: Vec<Vec<u32>>,
    edges: BTreeSet<(u32, u32)>,
    /// Unit that defined a switch, and that placed a device; [`NONE`] where none did.
    defined: Vec<u32>,
    placed: Vec<u32>,
    unit: u32,
    /// Switches that wait for their definition: name, parent, line.
    waiting: Vec<(String, u32, u64)>,
    /// Devices that a later unit places elsewhere.
    elsewhere: BTreeSet<u32>,
    /// Switches with hosts that the file does not name.
    open: BTreeSet<u32>,
}

impl TreeReader {
    pub(crate) fn new(form: &'static str) -> Self {
        let mut topology = Topology::new(form);
        topology.is_tree = true;
        Self {
            topology,
            parents: Vec::new(),
            children: Vec::new(),
            edges: BTreeSet::new(),
            defined: Vec::new(),
            placed: Vec::new(),
            unit: 0,
            waiting: Vec::new(),
            elsewhere: BTreeSet::new(),
            open: BTreeSet::new(),
        }
    }

    /// Notes that hosts are under a switch which the file does not name.
    pub(crate) fn leave_open(&mut self, switch: u32) {
        self.open.insert(switch);
    }

    fn grow(&mut self) {
        let devices = self.topology.list.devices().len();
        self.parents.resize(devices, Vec::new());
        self.children.resize(devices, Vec::new());
        self.defined.resize(devices, NONE);
        self.placed.resize(devices, NONE);
    }

    fn name(&self, device: u32) -> String {
        self.topology.list.devices()[device as usize].name.clone()
    }

    /// Row of a switch that the file defines; none where a host has its name.
    pub(crate) fn define(&mut self, name: &str) -> Option<u32> {
        let row = self.topology.device(name);
        self.grow();
        if self.topology.about[row as usize].class == DeviceClass::Host {
            self.topology.find("duplicate-name", name, "names a host and a switch");
            return None;
        }
        if self.defined[row as usize] == self.unit {
            self.topology.find("duplicate-name", name, "is defined as a switch more than once");
        }
        self.defined[row as usize] = self.unit;
        Some(self.topology.switch(name))
    }

    /// Row of a host; none where a switch has its name.
    pub(crate) fn host(&mut self, name: &str) -> Option<u32> {
        let row = self.topology.device(name);
        self.grow();
        if self.topology.about[row as usize].class == DeviceClass::Switch {
            self.topology.find("duplicate-name", name, "names a host and a switch");
            return None;
        }
        Some(self.topology.host(name))
    }

    /// Places a host under a switch.
    pub(crate) fn place_host(&mut self, name: &str, parent: u32, line: u64) -> Option<u32> {
        let host = self.host(name)?;
        self.place(host, parent, line);
        Some(host)
    }

    /// Places a switch under another; it may be defined later.
    pub(crate) fn place_switch(&mut self, name: &str, parent: u32, line: u64) {
        self.waiting.push((name.to_owned(), parent, line));
    }

    fn place(&mut self, child: u32, parent: u32, line: u64) {
        if !self.edges.insert((child, parent)) {
            return;
        }
        let before = self.placed[child as usize];
        if before != NONE && before != self.unit {
            self.edges.remove(&(child, parent));
            self.elsewhere.insert(child);
            return;
        }
        self.placed[child as usize] = self.unit;
        self.parents[child as usize].push(parent);
        self.children[parent as usize].push(child);
        let lower = match self.parents[child as usize].len() {
            1 => UNDER.to_owned(),
            count => format!("{UNDER}-{count}"),
        };
        let upper = format!("over-{}", self.children[parent as usize].len());
        self.topology.join([(child, &lower), (parent, &upper)], None, None, line);
    }

    /// Ends a tree of a file that has several: switches are placed; the next tree may place other devices.
    pub(crate) fn end_unit(&mut self, undefined: Undefined) {
        for (name, parent, line) in std::mem::take(&mut self.waiting) {
            let known = self.topology.list.device_named(&name);
            let defined = known.filter(|&row| self.defined[row as usize] == self.unit);
            let child = match (defined, undefined) {
                (Some(row), _) => Some(row),
                (None, Undefined::Entered) => self.define(&name),
                (None, Undefined::Missing) => {
                    let above = self.name(parent);
                    self.topology.links_missing += 1;
                    self.topology.find(
                        "missing-switch",
                        name,
                        format!("{above} names it, and nothing defines it"),
                    );
                    None
                }
            };
            if let Some(child) = child {
                self.place(child, parent, line);
            }
        }
        self.unit += 1;
    }

    /// Whether the file defines a switch.
    pub(crate) fn is_defined(&self, device: u32) -> bool {
        self.defined.get(device as usize).is_some_and(|&unit| unit != NONE)
    }

    /// Whether anything is under anything.
    pub(crate) fn has_switches(&self) -> bool {
        self.defined.iter().any(|&unit| unit != NONE)
    }

    /// Parents of a device, in the order of the file.
    pub(crate) fn parents(&self, device: u32) -> &[u32] {
        self.parents.get(device as usize).map_or(&[], |parents| parents)
    }

    /// The topology, with tiers, and with findings where it is no tree.
    pub(crate) fn finish(mut self) -> Topology {
        self.grow();
        self.find_parents();
        let order = self.upwards();
        self.state_tiers(&order);
        if self.has_switches() {
            self.find_loose();
        }
        if !self.elsewhere.is_empty() {
            let count = self.elsewhere.len();
            let note =
                format!("a later topology of the file places {count} devices elsewhere; the first is read");
            self.topology.notes.push(note);
        }
        self.topology
    }

    fn find_parents(&mut self) {
        for device in 0..self.parents.len() {
            if self.parents[device].len() < 2 {
                continue;
            }
            let kind = match self.topology.about[device].class {
                DeviceClass::Host => "host-under-two-leaves",
                _ => "switch-with-two-parents",
            };
            let names = self.parents[device].iter().take(LISTED_MAX).map(|&parent| self.name(parent));
            let seen = format!("under {}", listed(&names.collect::<Vec<_>>(), self.parents[device].len()));
            let name = self.name(device as u32);
            self.topology.find(kind, name, seen);
        }
    }

    /// Devices, each behind those under it; an edge that closes a loop is a finding and left out.
    fn upwards(&mut self) -> Vec<u32> {
        let (mut order, mut state) = (Vec::new(), vec![0_u8; self.children.len()]);
        let mut depth = vec![0; self.children.len()];
        for start in 0..self.children.len() as u32 {
            let mut stack = vec![(start, 0)];
            if state[start as usize] != 0 {
                continue;
            }
            state[start as usize] = 1;
            while let Some((device, next)) = stack.last_mut() {
                let (device, at) = (*device, *next);
                let Some(&child) = self.children[device as usize].get(at) else {
                    state[device as usize] = 2;
                    order.push(device);
                    stack.pop();
                    continue;
                };
                *next += 1;
                match state[child as usize] {
                    0 => {
                        state[child as usize] = 1;
                        depth[child as usize] = stack.len();
                        stack.push((child, 0));
                    }
                    1 => {
                        let around = &stack[depth[child as usize]..];
                        let shown = around.iter().take(LISTED_MAX).map(|&(member, _)| self.name(member));
                        let seen =
                            format!("over itself: {}", listed(&shown.collect::<Vec<_>>(), around.len()));
                        let name = self.name(child);
                        self.topology.find("loop", name, seen);
                        // The edge stays a cable, and counts no more for tiers.
                        self.children[device as usize][at] = NONE;
                    }
                    _ => {}
                }
            }
        }
        order
    }

    /// A switch is one tier above the highest under it; one without any is one below its parent.
    fn state_tiers(&mut self, order: &[u32]) {
        let mut tier = vec![0_u32; self.children.len()];
        let mut hosts = vec![false; self.children.len()];
        for &device in order {
            if self.topology.about[device as usize].class == DeviceClass::Host {
                hosts[device as usize] = true;
                continue;
            }
            let children: Vec<u32> = self.below(device).collect();
            hosts[device as usize] =
                children.iter().any(|&child| hosts[child as usize]) || self.open.contains(&device);
            tier[device as usize] = 1 + children.iter().map(|&child| tier[child as usize]).max().unwrap_or(0);
        }
        for &device in order.iter().rev() {
            if self.topology.about[device as usize].class != DeviceClass::Switch {
                continue;
            }
            if !hosts[device as usize] {
                let name = self.name(device);
                self.topology.find("switch-without-hosts", name, "no host is under it");
            }
            if !hosts[device as usize] && self.below(device).next().is_none() {
                let above = self.parents[device as usize].first().map_or(2, |&parent| tier[parent as usize]);
                tier[device as usize] = above.saturating_sub(1).max(1);
            }
            let stated = u8::try_from(tier[device as usize]).unwrap_or(u8::MAX);
            tiers::state(&mut self.topology, device, stated);
        }
        let roots: Vec<u32> = self.roots(&hosts);
        if let [first, _, ..] = roots[..] {
            let names: Vec<String> = roots.iter().take(LISTED_MAX).map(|&root| self.name(root)).collect();
            let seen =
                format!("{} switches have none above them: {}", roots.len(), listed(&names, roots.len()));
            let name = self.name(first);
            self.topology.find("several-roots", name, seen);
        }
    }

    fn below(&self, device: u32) -> impl Iterator<Item = u32> + '_ {
        self.children[device as usize].iter().copied().filter(|&child| child != NONE)
    }

    fn roots(&self, hosts: &[bool]) -> Vec<u32> {
        let all = 0..self.parents.len() as u32;
        all.filter(|&device| {
            let row = device as usize;
            self.topology.about[row].class == DeviceClass::Switch
                && self.parents[row].is_empty()
                && hosts[row]
        })
        .collect()
    }

    fn find_loose(&mut self) {
        for device in 0..self.parents.len() as u32 {
            let is_host = self.topology.about[device as usize].class == DeviceClass::Host;
            if is_host && self.parents[device as usize].is_empty() {
                let name = self.name(device);
                self.topology.find("host-without-switch", name, "no switch names it");
            }
        }
    }
}

/// Names of a list that may be longer than they are.
pub(crate) fn listed(names: &[String], total: usize) -> String {
    let more = total - names.len();
    match names {
        _ if more > 0 => format!("{} and {more} more", names.join(", ")),
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => names.join(", "),
    }
}

//! Where queues build: ports of switches that mark, and ports that their far ends pause.
//!
//! A port marks where packets come faster than it sends them, so it is the first place on a path where they do: its
//! cable is slow, or full. A switch that is slow as a whole marks and pauses at many of its ports at once.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::{CableId, DeviceId, DeviceKind, LinkId};
use railtwin_records::{Component, Counter, CounterColumns};

use crate::context::Context;
use crate::hints::STRONG;
use crate::robust::median;
use crate::rules::place::device_component;

/// Time without growth after which a port no longer queues: several readings of counters that are read rarely.
const STALE_NS: u64 = 120_000_000_000;
/// Times the median rate of all ports that count, from which a port stands out.
const BEYOND: f64 = 3.0;
/// Cables at which a switch marks or is paused for, from which it is more than one port's traffic.
const CABLES: usize = 2;
/// Share of all such cables that a switch must have at itself, so that others' queues leave it alone.
const MOST: f64 = 2.0 / 3.0;

#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Cell {
    read: bool,
    value: f64,
    /// Of the batch in which it was read, so that clocks of devices need not agree.
    at_ns: u64,
    /// Increase a second between the last two readings that differ.
    rate: f64,
    grown_ns: u64,
}

impl Cell {
    fn read(&mut self, value: f64, now_ns: u64) {
        if self.read && value > self.value && now_ns > self.at_ns {
            self.rate = (value - self.value) * 1e9 / (now_ns - self.at_ns) as f64;
            self.grown_ns = now_ns;
        } else if self.read && value < self.value {
            self.rate = 0.0;
        }
        (self.read, self.value, self.at_ns) = (true, value, now_ns);
    }

    fn rate(&self, now_ns: u64) -> f64 {
        if now_ns.saturating_sub(self.grown_ns) <= STALE_NS { self.rate } else { 0.0 }
    }
}

/// What ports say of queues.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Congestion {
    /// By the link that leaves the port.
    marks: BTreeMap<u32, Cell>,
    paused: BTreeMap<u32, Cell>,
    now_ns: u64,
}

impl Congestion {
    /// Takes the readings of a batch in.
    pub fn observe(&mut self, context: &Context<'_>, counters: &CounterColumns, until_ns: u64) {
        self.now_ns = self.now_ns.max(until_ns);
        for row in 0..counters.len() {
            let cells = match counters.counter[row] {
                Counter::EcnMarks => &mut self.marks,
                Counter::PausedNs => &mut self.paused,
                _ => continue,
            };
            let link = context.directory.entities.get(counters.entity[row] as usize).and_then(|e| e.link);
            if let Some(link) = link.filter(|_| counters.value[row].is_finite()) {
                cells.entry(link).or_default().read(counters.value[row], until_ns);
            }
        }
    }

    /// Links that leave marking ports. A port that stands paused marks for that, and is left out.
    fn marking(&self, context: &Context<'_>) -> Vec<u32> {
        let mut rates: Vec<f64> = self.marks.values().map(|cell| cell.rate(self.now_ns)).collect();
        let least = BEYOND * median(&mut rates).unwrap_or_default();
        let stands_out = |cell: &Cell| cell.rate(self.now_ns) > least;
        let marking =
            self.marks.iter().filter(|(link, cell)| stands_out(cell) && !self.is_paused(context, **link));
        marking.map(|(&link, _)| link).collect()
    }

    fn is_paused(&self, context: &Context<'_>, link: u32) -> bool {
        let share = self.paused.get(&link).map_or(0.0, |cell| cell.rate(self.now_ns) / 1e9);
        share > context.settings.paused_share
    }

    /// Raises the weights of what queues point at.
    pub fn weigh(&self, context: &Context<'_>, weights: &mut BTreeMap<Component, f64>) {
        let Some(fabric) = context.fabric else { return };
        let mut raise = |component: Component| {
            let weight = weights.entry(component).or_insert(STRONG);
            *weight = weight.max(STRONG);
        };
        let known = |link: &u32| (*link as usize) < fabric.link_count();
        let mut cables: BTreeSet<CableId> = BTreeSet::new();
        for link in self.marking(context).into_iter().filter(known).map(LinkId) {
            cables.insert(link.cable());
            raise(Component::Cable(fabric.cable_name(link.cable())));
            // A NIC that takes packets in slowly makes its leaf queue as its cable does.
            let far = fabric.target(link);
            if fabric.kind(far) == DeviceKind::Nic {
                raise(device_component(fabric, far));
            }
        }
        for (&link, _) in
            self.paused.iter().filter(|(link, _)| known(link) && self.is_paused(context, **link))
        {
            // Who receives pauses is held up by what stands at the other end.
            let far = fabric.target(LinkId(link));
            if fabric.kind(far) == DeviceKind::Nic {
                raise(device_component(fabric, far));
            } else {
                cables.insert(LinkId(link).cable());
            }
        }
        let mut at: BTreeMap<DeviceId, usize> = BTreeMap::new();
        for &cable in &cables {
            for device in fabric.cable_ports(cable).map(|port| fabric.port_device(port)) {
                *at.entry(device).or_default() += usize::from(fabric.kind(device) == DeviceKind::Switch);
            }
        }
        for (device, count) in at {
            if count >= CABLES && count as f64 >= MOST * cables.len() as f64 {
                raise(device_component(fabric, device));
            }
        }
    }

    /// Bytes held, about.
    pub fn memory_bytes(&self) -> usize {
        (self.marks.len() + self.paused.len()) * (size_of::<Cell>() + size_of::<u32>())
    }
}

//! What counters say of components, as weights: they break ties between suspects, and accuse nobody by themselves.
use std::collections::BTreeMap;

use railtwin_fabric::{DeviceKind, LinkId};
use railtwin_records::{Component, Counter, CounterColumns};

use crate::context::Context;
use crate::robust::median;

/// Readings after which a counter's rate is formed anew.
const EPOCH: u32 = 16;
/// Weight of a component that errors or pauses point at, beside 1 of one that nothing points at.
const STRONG: f64 = 12.0;
/// Weight of what only follows from trouble anywhere on the path.
const WEAK: f64 = 2.0;

/// Counters that say something of slowness, in the order of their cells.
const WATCHED: [Counter; 8] = [
    Counter::OutOfSequence,
    Counter::AckTimeouts,
    Counter::LinkDowns,
    Counter::ReceiveErrors,
    Counter::PausedNs,
    Counter::GpuClockMhz,
    Counter::DataWaitNs,
    Counter::StorageWaitNs,
];

#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Cell {
    start: f64,
    start_ns: u64,
    last: f64,
    last_ns: u64,
    rate: f64,
    readings: u32,
}

impl Cell {
    /// Increase per second since the epoch began, or in the one before where that was more.
    fn rate(&self) -> f64 {
        let seconds = self.last_ns.saturating_sub(self.start_ns) as f64 / 1e9;
        if seconds > 0.0 { self.rate.max((self.last - self.start) / seconds) } else { self.rate }
    }
}

/// The last readings of counters of interest.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Hints {
    cells: Vec<[Cell; WATCHED.len()]>,
}

impl Hints {
    /// Takes readings in.
    pub fn observe(&mut self, context: &Context<'_>, counters: &CounterColumns) {
        let entities = context.directory.entities.len();
        if self.cells.len() < entities {
            self.cells.resize(entities, [Cell::default(); WATCHED.len()]);
        }
        for row in 0..counters.len() {
            let Some(watched) = WATCHED.iter().position(|&counter| counter == counters.counter[row]) else {
                continue;
            };
            let Some(cells) = self.cells.get_mut(counters.entity[row] as usize) else { continue };
            let (cell, value, time) = (&mut cells[watched], counters.value[row], counters.time_ns[row]);
            if cell.readings == 0 || value < cell.last && WATCHED[watched] != Counter::GpuClockMhz {
                *cell =
                    Cell { start: value, start_ns: time, last: value, last_ns: time, rate: 0.0, readings: 1 };
                continue;
            }
            (cell.last, cell.last_ns, cell.readings) = (value, time, cell.readings + 1);
            if cell.readings % EPOCH == 0 {
                let seconds = time.saturating_sub(cell.start_ns) as f64 / 1e9;
                cell.rate = if seconds > 0.0 { (value - cell.start) / seconds } else { 0.0 };
                (cell.start, cell.start_ns) = (value, time);
            }
        }
    }

    /// How a counter of a component stands beside that of all others: its value, and their median. Gauges as they
    /// are, totals per second; none where it is not read.
    pub fn beside(
        &self,
        context: &Context<'_>,
        component: &Component,
        counter: Counter,
    ) -> Option<(f64, f64)> {
        let watched = WATCHED.iter().position(|&known| known == counter)?;
        let value = |cell: &Cell| if counter == Counter::GpuClockMhz { cell.last } else { cell.rate() };
        let (mut mine, mut all) = (None, Vec::new());
        for (entity, cells) in context.directory.entities.iter().zip(&self.cells) {
            if cells[watched].readings > 0 {
                all.push(value(&cells[watched]));
                if entity.component == *component {
                    mine = all.last().copied();
                }
            }
        }
        Some((mine?, median(&mut all)?))
    }

    /// Weights of components that counters point at; all others have 1.
    pub fn weights(&self, context: &Context<'_>) -> BTreeMap<Component, f64> {
        let mut weights = BTreeMap::new();
        let mut raise = |component: Component, weight: f64| {
            let entry = weights.entry(component).or_insert(1.0_f64);
            *entry = entry.max(weight);
        };
        for (watched, counter) in WATCHED.into_iter().enumerate() {
            let mut rates: Vec<f64> = self
                .cells
                .iter()
                .map(|cells| &cells[watched])
                .filter(|c| c.readings > 1)
                .map(Cell::rate)
                .collect();
            let floor = 3.0 * median(&mut rates).unwrap_or_default();
            for (entity, cells) in context.directory.entities.iter().zip(&self.cells) {
                let rate = cells[watched].rate();
                if cells[watched].readings < 2 || rate <= floor || rate <= 0.0 {
                    continue;
                }
                match counter {
                    Counter::ReceiveErrors | Counter::LinkDowns => {
                        raise(entity.component.clone(), STRONG);
                        if let Some(cable) = entity.link.and_then(|link| context.cable_of(link)) {
                            raise(cable, STRONG);
                        }
                    }
                    Counter::PausedNs if rate > context.settings.paused_share * 1e9 => {
                        // Who receives pauses is held up by what stands at the other end.
                        if let (Some(link), Some(fabric)) = (entity.link, context.fabric) {
                            let far = fabric.target(LinkId(link));
                            if fabric.kind(far) == DeviceKind::Nic {
                                raise(Component::Nic(fabric.device_name(far)), STRONG);
                            }
                        }
                    }
                    Counter::OutOfSequence | Counter::AckTimeouts => raise(entity.component.clone(), WEAK),
                    _ => {}
                }
            }
        }
        weights
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.cells.capacity() * size_of::<[Cell; WATCHED.len()]>()
    }
}

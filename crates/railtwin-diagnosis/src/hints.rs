//! What counters say of components, as weights: they break ties between suspects, and accuse nobody by themselves.
use std::collections::BTreeMap;

use railtwin_records::{Component, Counter, CounterColumns, EntityInfo};

use crate::context::Context;
use crate::robust::median;

/// Readings after which a counter's rate is formed anew.
const EPOCH: u32 = 16;
/// Weight of a component that errors, pauses or queues point at, beside 1 of one that nothing points at.
pub(crate) const STRONG: f64 = 12.0;
/// Weight of what only follows from trouble anywhere on the path.
const WEAK: f64 = 2.0;

/// No row.
const NONE: u32 = u32::MAX;

/// Counters that say something of slowness, in the order of their cells.
const WATCHED: [Counter; 7] = [
    Counter::OutOfSequence,
    Counter::AckTimeouts,
    Counter::LinkDowns,
    Counter::ReceiveErrors,
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
    /// Row of each entity in `cells`, [`NONE`] where nothing of interest is read.
    rows: Vec<u32>,
    cells: Vec<[Cell; WATCHED.len()]>,
}

impl Hints {
    /// Takes readings in.
    pub fn observe(&mut self, context: &Context<'_>, counters: &CounterColumns) {
        let entities = context.directory.entities.len();
        if self.rows.len() < entities {
            self.rows.resize(entities, NONE);
        }
        for row in 0..counters.len() {
            let Some(watched) = WATCHED.iter().position(|&counter| counter == counters.counter[row]) else {
                continue;
            };
            let Some(known) = self.rows.get_mut(counters.entity[row] as usize) else { continue };
            if *known == NONE {
                *known = self.cells.len() as u32;
                self.cells.push([Cell::default(); WATCHED.len()]);
            }
            let cell = &mut self.cells[*known as usize][watched];
            let (value, time) = (counters.value[row], counters.time_ns[row]);
            if cell.readings == 0 || value < cell.last && WATCHED[watched] != Counter::GpuClockMhz {
                *cell =
                    Cell { start: value, start_ns: time, last: value, last_ns: time, rate: 0.0, readings: 1 };
                continue;
            }
            (cell.last, cell.last_ns, cell.readings) = (value, time, cell.readings + 1);
            if cell.readings.is_multiple_of(EPOCH) {
                let seconds = time.saturating_sub(cell.start_ns) as f64 / 1e9;
                cell.rate = if seconds > 0.0 { (value - cell.start) / seconds } else { 0.0 };
                (cell.start, cell.start_ns) = (value, time);
            }
        }
    }

    /// Components of which anything is read, with their cells.
    fn read<'a>(
        &'a self,
        context: &Context<'a>,
    ) -> impl Iterator<Item = (&'a EntityInfo, &'a [Cell; WATCHED.len()])> {
        let rows = context.directory.entities.iter().zip(&self.rows);
        rows.filter(|(_, row)| **row != NONE).map(|(entity, &row)| (entity, &self.cells[row as usize]))
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
        for (entity, cells) in self.read(context) {
            if cells[watched].readings > 0 {
                all.push(value(&cells[watched]));
                if entity.component == *component {
                    mine = all.last().copied();
                }
            }
        }
        Some((mine?, median(&mut all)?))
    }

    /// Weights of components that counters point at; all others have 1. None of these counters is moved by traffic.
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
            for (entity, cells) in self.read(context) {
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
                    Counter::OutOfSequence | Counter::AckTimeouts => raise(entity.component.clone(), WEAK),
                    _ => {}
                }
            }
        }
        weights
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.cells.capacity() * size_of::<[Cell; WATCHED.len()]>() + 4 * self.rows.capacity()
    }
}

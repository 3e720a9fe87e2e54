//! Counters as they grow: totals become growth, resets do no harm, peers are compared.
use railtwin_records::{Component, Directory, Since};

use crate::robust::spread;

/// One counter of one entity.
#[derive(Clone, Copy, Default, Debug)]
struct Cell {
    seen: bool,
    last: f64,
    last_ns: u64,
    start_ns: u64,
    current: f64,
    previous: f64,
    since: Since,
}

/// How much a counter grew, per entity, over the current window and the one before.
///
/// A value that falls is a reset: nothing grew. What is no number and what comes out of order is left out. Times are
/// only compared with those of the same entity.
#[derive(Clone, Debug)]
pub struct Growth {
    window_ns: u64,
    cells: Vec<Cell>,
}

impl Growth {
    /// Nothing read yet.
    pub fn new(window_ns: u64) -> Self {
        Self { window_ns: window_ns.max(1), cells: Vec::new() }
    }

    /// Takes a reading.
    pub fn read(&mut self, entity: u32, time_ns: u64, value: f64) {
        if !value.is_finite() {
            return;
        }
        let cell = cell_at(&mut self.cells, entity);
        if !cell.seen {
            *cell = Cell { seen: true, last: value, last_ns: time_ns, start_ns: time_ns, ..Cell::default() };
            return;
        }
        if time_ns < cell.last_ns {
            return;
        }
        let windows = (time_ns - cell.start_ns) / self.window_ns;
        if windows > 0 {
            cell.previous = if windows == 1 { cell.current } else { 0.0 };
            cell.current = 0.0;
            cell.start_ns += windows * self.window_ns;
        }
        let grown = value - cell.last;
        if grown > 0.0 {
            if cell.current + cell.previous == 0.0 {
                // A rare event may come as late as a window after its cause.
                let window_ns = self.window_ns.max(time_ns - cell.last_ns);
                cell.since = Since::between(cell.last_ns.saturating_sub(window_ns), time_ns);
            }
            cell.current += grown;
        }
        cell.last = value;
        cell.last_ns = time_ns;
    }

    /// Growth of an entity over the current window and the one before; none where it was never read.
    pub fn of(&self, entity: u32) -> Option<f64> {
        self.cells.get(entity as usize).filter(|cell| cell.seen).map(|cell| cell.current + cell.previous)
    }

    /// When its cause began: from a window before the last reading at which it stood still to the reading at which it had
    /// grown; both 0 where it did not.
    pub fn since(&self, entity: u32) -> Since {
        self.cells.get(entity as usize).map_or_else(Since::default, |cell| cell.since)
    }

    /// The entities that were read, with their growth.
    pub fn all(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        let cells = self.cells.iter().enumerate();
        cells
            .filter(|(_, cell)| cell.seen)
            .map(|(entity, cell)| (entity as u32, cell.current + cell.previous))
    }
}

/// The cell of an entity, made where there is none.
fn cell_at<T: Clone + Default>(cells: &mut Vec<T>, entity: u32) -> &mut T {
    let entity = entity as usize;
    if cells.len() <= entity {
        cells.resize(entity + 1, T::default());
    }
    &mut cells[entity]
}

/// The last value of a gauge, per entity.
#[derive(Clone, Default, Debug)]
pub struct Gauge {
    cells: Vec<GaugeCell>,
}

/// The last reading of a gauge.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct GaugeCell {
    /// Number of readings; 0 before the first.
    pub readings: u32,
    /// Value.
    pub value: f64,
    /// When it was read last.
    pub time_ns: u64,
    /// From the last reading of another value, or 0 without one, to the first of this value.
    pub since: Since,
    /// Readings of this value in a row.
    pub same: u32,
}

impl Gauge {
    /// Takes a reading; whether the value is another one, or the first.
    pub fn read(&mut self, entity: u32, time_ns: u64, value: f64) -> bool {
        if !value.is_finite() {
            return false;
        }
        let cell = cell_at(&mut self.cells, entity);
        if cell.readings > 0 && time_ns < cell.time_ns {
            return false;
        }
        let changed = cell.readings == 0 || cell.value != value;
        if changed {
            cell.since = Since::between(cell.time_ns, time_ns);
            cell.same = 0;
        }
        cell.value = value;
        cell.time_ns = time_ns;
        cell.same = cell.same.saturating_add(1);
        cell.readings = cell.readings.saturating_add(1);
        changed
    }

    /// The last reading of an entity.
    pub fn of(&self, entity: u32) -> Option<&GaugeCell> {
        self.cells.get(entity as usize).filter(|cell| cell.readings > 0)
    }

    /// The last value of an entity.
    pub fn value(&self, entity: u32) -> Option<f64> {
        self.of(entity).map(|cell| cell.value)
    }

    /// The entities that were read, with their last readings.
    pub fn all(&self) -> impl Iterator<Item = (u32, &GaugeCell)> + '_ {
        let cells = self.cells.iter().enumerate();
        cells.filter(|(_, cell)| cell.readings > 0).map(|(entity, cell)| (entity as u32, cell))
    }
}

/// An entity whose counter grew unlike those of its peers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outlier {
    /// Row of the entity.
    pub entity: u32,
    /// Growth.
    pub grown: f64,
    /// Median growth of its peers, itself among them.
    pub expected: f64,
}

/// Peers below which there is no median to speak of: nothing is then expected to grow.
const PEERS: usize = 3;

/// The entities whose counter grew by `floor` at least, and beyond `deviations` of their peers' spread above their
/// median. Peers are all entities of the same kind of component that have the counter.
///
/// The spread is at least the square root of the median, as that of a count, and at least 1: counters of peers that
/// all stand still have no spread at all.
pub fn outliers(growth: &Growth, directory: &Directory, floor: f64, deviations: f64) -> Vec<Outlier> {
    let mut found = Vec::new();
    if !growth.all().any(|(_, grown)| grown >= floor) {
        return found;
    }
    let kind = |entity: u32| directory.entities.get(entity as usize).map(|info| info.component.kind());
    let mut kinds: Vec<&'static str> = growth.all().filter_map(|(entity, _)| kind(entity)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut values = Vec::new();
    for peers in kinds {
        values.clear();
        values
            .extend(growth.all().filter(|&(entity, _)| kind(entity) == Some(peers)).map(|(_, grown)| grown));
        let (median, deviation) =
            if values.len() < PEERS { (0.0, 0.0) } else { spread(&mut values).unwrap_or_default() };
        let bound = floor.max(median + deviations * deviation.max(median.sqrt()).max(1.0));
        let grew = growth.all().filter(|&(entity, grown)| kind(entity) == Some(peers) && grown >= bound);
        found.extend(grew.map(|(entity, grown)| Outlier { entity, grown, expected: median }));
    }
    found.sort_by_key(|outlier| outlier.entity);
    found
}

/// The component of an entity; none where the row does not exist.
pub fn component_of(directory: &Directory, entity: u32) -> Option<&Component> {
    directory.entities.get(entity as usize).map(|info| &info.component)
}

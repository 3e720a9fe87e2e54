//! The delay matrix: time per byte of every queue pair beside that of its like (C4 section III-A, Fig. 7).
use std::collections::BTreeMap;

use railtwin_records::{Directory, MessageColumns, ProbeColumns, Since};

use crate::robust::{median, spread};
use crate::settings::Settings;
use crate::slow::members::Members;

/// Queue pairs below which a group has no typical one.
const LIKE: usize = 4;
/// No group.
const NONE: u32 = u32::MAX;
/// Times the slow share from which one window is enough; less must last for two.
const CLEAR: f64 = 2.0;

/// What is measured of one queue pair.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cell {
    network_ns: f64,
    bytes: f64,
    /// Operations of this window.
    operations: u32,
    /// The operation that comes in, and the worst of the window: one bad operation is chance and left out.
    sequence: u32,
    now: [f32; 2],
    worst: [f32; 2],
    group: u32,
    /// Its time per byte over the median of its like, in the last window; NaN before one.
    pub ratio: f32,
    /// Windows in a row in which it was slow.
    pub streak: u32,
    /// Bytes of the last window: 0 where it was idle.
    pub carried: f32,
    /// When the first of these began.
    pub since_ns: u64,
    /// From the begin of the window before that to its end.
    since: Since,
}

const EMPTY: Cell = Cell {
    network_ns: 0.0,
    bytes: 0.0,
    operations: 0,
    sequence: 0,
    now: [0.0; 2],
    worst: [0.0; 2],
    group: NONE,
    ratio: f32::NAN,
    streak: 0,
    carried: 0.0,
    since_ns: 0,
    since: Since { from_ns: 0, until_ns: 0 },
};

impl Cell {
    /// The operation that came in is over: it is the worst where it took longest per byte.
    fn end_operation(&mut self) {
        let [now, bytes] = std::mem::take(&mut self.now);
        if bytes > 0.0 && now * self.worst[1] >= self.worst[0] * bytes {
            self.worst = [now, bytes];
        }
    }

    /// Nanoseconds per byte in this window without its worst operation, where there are others.
    fn cost(&self) -> Option<f64> {
        let [worst, bytes] = if self.operations > 2 { self.worst.map(f64::from) } else { [0.0; 2] };
        let left = self.bytes - bytes;
        (left > 0.0).then(|| (self.network_ns - worst).max(0.0) / left)
    }
}

/// Queue pairs alike: of communicators of one pool, over paths of the same number of links.
#[derive(Clone, PartialEq, Debug, Default)]
struct Group {
    pool: u32,
    flows: Vec<u32>,
    operations: u64,
    active: u64,
    /// When the last two windows ended.
    judged_ns: u64,
    before_ns: u64,
}

/// The matrix, a cell for every queue pair.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DelayMatrix {
    cells: Vec<Cell>,
    groups: Vec<Group>,
    keys: BTreeMap<(usize, usize), u32>,
    values: Vec<f64>,
    probed: Vec<f32>,
    probe_ratio: Vec<f32>,
    /// When each was last probed without being slow, and first with.
    probed_since: Vec<Since>,
    probes: u64,
}

impl DelayMatrix {
    /// Takes messages in.
    pub fn observe(&mut self, directory: &Directory, members: &Members, messages: &MessageColumns) {
        self.cells.resize(directory.flows.len(), EMPTY);
        for row in 0..messages.len() {
            let flow = messages.flow[row];
            let Some(cell) = self.cells.get_mut(flow as usize) else { continue };
            if cell.group == NONE {
                let communicator = messages.communicator[row];
                if communicator as usize >= members.communicator_count() {
                    continue;
                }
                let key = (members.pool_of(communicator), directory.flows[flow as usize].links.len());
                let next = self.groups.len() as u32;
                cell.group = *self.keys.entry(key).or_insert(next);
                if cell.group == next {
                    self.groups.push(Group { pool: key.0 as u32, ..Group::default() });
                }
                self.groups[cell.group as usize].flows.push(flow);
            }
            let group = &mut self.groups[cell.group as usize];
            let (network, bytes) = (messages.network_ns[row], messages.bytes[row]);
            if cell.operations == 0 || cell.sequence != messages.sequence[row] {
                group.operations += 1;
                group.active += u64::from(cell.operations == 0);
                cell.operations += 1;
                cell.sequence = messages.sequence[row];
                cell.end_operation();
            }
            cell.now[0] += network as f32;
            cell.now[1] += bytes as f32;
            cell.network_ns += network as f64;
            cell.bytes += bytes as f64;
        }
    }

    /// Takes bandwidth probes in.
    pub fn probe(&mut self, directory: &Directory, probes: &ProbeColumns) {
        for row in 0..probes.len() {
            let rate = probes.bits_per_s[row];
            if rate > 0.0 && (probes.flow[row] as usize) < directory.flows.len() {
                self.probed.resize(directory.flows.len(), 0.0);
                self.probe_ratio.resize(directory.flows.len(), f32::NAN);
                self.probed[probes.flow[row] as usize] = rate as f32;
                self.probes += 1;
            }
        }
    }

    /// Measures all groups whose window is full; whether there was one.
    pub fn judge(&mut self, settings: &Settings, now_ns: u64) -> bool {
        let mut judged = false;
        for group in &mut self.groups {
            if group.operations == 0 || group.operations < u64::from(settings.window) * group.active {
                continue;
            }
            judged = true;
            let since = std::mem::replace(&mut group.judged_ns, now_ns);
            let before = std::mem::replace(&mut group.before_ns, since);
            (group.operations, group.active) = (0, 0);
            self.values.clear();
            for &flow in &group.flows {
                let cell = &mut self.cells[flow as usize];
                cell.end_operation();
                if let Some(cost) = cell.cost() {
                    self.values.push(cost);
                }
            }
            let enough = self.values.len() >= LIKE;
            let (center, deviation) = spread(&mut self.values).unwrap_or_default();
            let least = ((1.0 + settings.slow_share) * center).max(center + settings.deviations * deviation);
            for &flow in &group.flows {
                let cell = &mut self.cells[flow as usize];
                let cost = cell.cost().unwrap_or(f64::NAN);
                cell.carried = cell.bytes as f32;
                cell.ratio = if enough && center > 0.0 { (cost / center) as f32 } else { f32::NAN };
                if enough && cost > least {
                    if cell.streak == 0 {
                        (cell.since_ns, cell.since) = (since, Since::between(before, now_ns));
                    }
                    cell.streak += 1;
                } else {
                    cell.streak = 0;
                }
                (cell.network_ns, cell.bytes, cell.operations) = (0.0, 0.0, 0);
                cell.worst = [0.0; 2];
            }
        }
        judged | self.judge_probes(settings, now_ns)
    }

    fn judge_probes(&mut self, settings: &Settings, now_ns: u64) -> bool {
        if self.probes == 0 {
            return false;
        }
        self.probes = 0;
        self.values.clear();
        self.values.extend(self.probed.iter().filter(|&&rate| rate > 0.0).map(|&rate| f64::from(rate)));
        let enough = self.values.len() >= LIKE;
        let center = median(&mut self.values).unwrap_or_default();
        self.probed_since.resize(self.probed.len(), Since::default());
        let rows = self.probe_ratio.iter_mut().zip(&self.probed).zip(&mut self.probed_since);
        for ((ratio, &rate), since) in rows {
            *ratio = if enough && rate > 0.0 { (center / f64::from(rate)) as f32 } else { f32::NAN };
            if f64::from(*ratio) <= 1.0 + CLEAR * settings.slow_share {
                *since = Since::between(now_ns, 0);
            } else if since.until_ns == 0 && rate > 0.0 {
                since.until_ns = now_ns;
            }
        }
        true
    }

    /// Rows of the slow and of the fast queue pairs; those in between tell nothing and are in neither.
    pub fn split(&self, settings: &Settings, slow: &mut Vec<u32>, fast: &mut Vec<u32>) {
        slow.clear();
        fast.clear();
        let clear = 1.0 + CLEAR * settings.slow_share;
        // The window of messages may end before what a probe has just seen began.
        let probed_slow = |flow: usize| self.probe_ratio.get(flow).is_some_and(|&r| f64::from(r) > clear);
        for (flow, cell) in self.cells.iter().enumerate() {
            let ratio = f64::from(cell.ratio);
            if cell.streak > 1 || cell.streak == 1 && ratio > clear {
                slow.push(flow as u32);
            } else if ratio <= 1.0 + settings.slow_share / 2.0 && !probed_slow(flow) {
                fast.push(flow as u32);
            }
        }
        for (flow, &ratio) in self.probe_ratio.iter().enumerate() {
            if f64::from(ratio) > clear {
                slow.push(flow as u32);
            } else if f64::from(ratio) <= 1.0 + settings.slow_share / 2.0 {
                fast.push(flow as u32);
            }
        }
    }

    /// How slow a queue pair is: its time per byte over its like's, by messages or else by probes.
    pub fn ratio(&self, flow: u32) -> f64 {
        let of_probe = self.probe_ratio.get(flow as usize).copied().unwrap_or(f32::NAN);
        let of_messages = self.cells[flow as usize].ratio;
        f64::from(if of_messages.is_nan() { of_probe } else { of_messages.max(of_probe) })
    }

    /// Whether it has been probed for bandwidth.
    pub fn is_probed(&self, flow: u32) -> bool {
        self.probe_ratio.get(flow as usize).is_some_and(|ratio| !ratio.is_nan())
    }

    /// The pool of its communicator, and whether it carried anything in its last window.
    pub fn activity(&self, flow: u32) -> (u32, bool) {
        let cell = &self.cells[flow as usize];
        let pool = self.groups.get(cell.group as usize).map_or(NONE, |group| group.pool);
        (pool, cell.carried > 0.0 || cell.bytes > 0.0)
    }

    /// Begin of the first window in which it was slow, or its last probe before it was.
    pub fn since_ns(&self, flow: u32) -> u64 {
        let cell = &self.cells[flow as usize];
        let probed = self.probed_since.get(flow as usize).copied().unwrap_or_default();
        if cell.streak == 0 && self.is_probed(flow) { probed.from_ns } else { cell.since_ns }
    }

    /// When it became slow: within two windows of messages, or between two probes.
    pub fn since(&self, flow: u32) -> Since {
        let cell = &self.cells[flow as usize];
        let probed = self.probed_since.get(flow as usize).copied().unwrap_or_default();
        if cell.streak == 0 && self.is_probed(flow) { probed } else { cell.since }
    }

    /// How long a window of a queue pair that is slow by its messages lasts, when it was last measured at `now_ns`.
    pub fn window_ns(&self, flow: u32, now_ns: u64) -> Option<u64> {
        let cell = &self.cells[flow as usize];
        (cell.streak > 0).then(|| now_ns.saturating_sub(cell.since_ns) / u64::from(cell.streak))
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.cells.capacity() * size_of::<Cell>()
            + self.groups.iter().map(|group| 4 * group.flows.capacity()).sum::<usize>()
            + 4 * (self.probed.capacity() + self.probe_ratio.capacity())
            + size_of::<Since>() * self.probed_since.capacity()
            + 8 * self.values.capacity()
    }
}

//! What queue pairs took for their bytes and how long ranks waited, over stretches of the run: for the page.
use std::collections::BTreeMap;

use railtwin_diagnosis::slow::members::Members;
use railtwin_records::{Batch, Directory};

/// Stretches that a run is cut into: what a fault changed must not drown in what was before it.
const STRETCHES: u64 = 8;
/// No stage.
pub const NEVER: u32 = u32::MAX;

/// What one queue pair took.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Sent {
    network_ns: f64,
    bytes: f64,
    rows: u32,
    communicator: u32,
}

/// How one rank of one communicator waited for the rank before it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Wait {
    /// Nanoseconds, summed over queue pairs.
    receive_ns: f64,
    /// Sum of stages at which it first waited, over the rows in which it did, and their number.
    first: (f64, u32),
    /// Rows of messages that it received.
    received: u32,
    /// Operations in which it did, and the number of the last, from 1.
    operations: (u32, u32),
}

impl Wait {
    /// Nanoseconds that it waited in all operations: in each the mean of its queue pairs, which wait side by side.
    pub fn waited_ns(&self) -> f64 {
        self.receive_ns * f64::from(self.operations.0) / f64::from(self.received.max(1))
    }

    fn add(&mut self, other: &Self) {
        self.receive_ns += other.receive_ns;
        self.first.0 += other.first.0;
        self.first.1 += other.first.1;
        self.received += other.received;
        self.operations.0 += other.operations.0;
    }

    /// The stage at which it first waited, the mean where it waited in most operations; [`NEVER`] where it did not.
    pub fn first_stage(&self) -> u32 {
        let (sum, rows) = self.first;
        if 2 * rows > self.received { (sum / f64::from(rows)).round() as u32 } else { NEVER }
    }
}

#[derive(Clone, PartialEq, Debug, Default)]
struct Stretch {
    from_ns: u64,
    sent: Vec<Sent>,
    waits: Vec<Wait>,
}

/// What was measured of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Traffic {
    members: Members,
    steps: u64,
    stretches: Vec<Stretch>,
    until_ns: u64,
}

/// Network time from one NIC to another.
#[derive(Clone, PartialEq, Debug)]
pub struct Pair {
    /// A flow from the one to the other.
    pub flow: u32,
    /// Nanoseconds per byte.
    pub ns_per_byte: f64,
    /// Rows of messages behind it.
    pub samples: u32,
    /// Pairs with the same axis and as many links on the way are alike.
    pub alike: (String, usize),
}

impl Traffic {
    /// Nothing yet, of a run of so many steps.
    pub fn new(steps: u64) -> Self {
        Self { members: Members::default(), steps: steps.max(1), stretches: Vec::new(), until_ns: 0 }
    }

    /// Takes the messages of a step in.
    pub fn observe(&mut self, directory: &Directory, batch: &Batch, step: u64) {
        self.members.grow(directory);
        let messages = &batch.messages;
        let row = (step * STRETCHES / self.steps).min(STRETCHES - 1) as usize;
        while self.stretches.len() <= row {
            self.stretches.push(Stretch { from_ns: self.until_ns, ..Stretch::default() });
        }
        self.until_ns = batch.until_ns;
        let stretch = &mut self.stretches[row];
        stretch.sent.resize(directory.flows.len(), Sent::default());
        stretch.waits.resize(self.members.slot_count(), Wait::default());
        for row in 0..messages.len() {
            let (flow, communicator) = (messages.flow[row] as usize, messages.communicator[row]);
            let (Some(sent), Some(info)) = (stretch.sent.get_mut(flow), directory.flows.get(flow)) else {
                continue;
            };
            sent.network_ns += messages.network_ns[row] as f64;
            sent.bytes += messages.bytes[row] as f64;
            sent.rows += 1;
            sent.communicator = communicator;
            if let Some(target) = self.members.slot(communicator, info.target) {
                let wait = &mut stretch.waits[target];
                wait.receive_ns += messages.receive_wait_ns[row] as f64;
                wait.received += 1;
                let number = messages.sequence[row].wrapping_add(1);
                if wait.operations.1 != number {
                    wait.operations = (wait.operations.0 + 1, number);
                }
                if messages.first_wait_stage[row] < messages.stage[row] + messages.stages[row] {
                    wait.first.0 += f64::from(messages.first_wait_stage[row]);
                    wait.first.1 += 1;
                }
            }
        }
    }

    /// The stretches that lie behind `since_ns`, or the last where none does.
    fn behind(&self, since_ns: u64) -> &[Stretch] {
        let first = self.stretches.iter().position(|stretch| stretch.from_ns >= since_ns);
        &self.stretches[first.unwrap_or(self.stretches.len().saturating_sub(1))..]
    }

    /// All pairs of NICs that sent anything since `since_ns`, in order of their names.
    pub fn pairs(&self, directory: &Directory, since_ns: u64) -> Vec<Pair> {
        let mut pairs: BTreeMap<(&str, &str), (Pair, f64, f64)> = BTreeMap::new();
        for stretch in self.behind(since_ns) {
            for (flow, sent) in (0..).zip(&stretch.sent).filter(|(_, sent)| sent.bytes > 0.0) {
                let info = &directory.flows[flow as usize];
                let pair = pairs.entry((&info.source_nic, &info.target_nic)).or_insert_with(|| {
                    let axis = directory.communicators[sent.communicator as usize].axis.clone();
                    let alike = (axis, info.links.len());
                    (Pair { flow, ns_per_byte: 0.0, samples: 0, alike }, 0.0, 0.0)
                });
                pair.0.samples += sent.rows;
                pair.1 += sent.network_ns;
                pair.2 += sent.bytes;
            }
        }
        let done = pairs.into_values();
        done.map(|(pair, ns, bytes)| Pair { ns_per_byte: ns / bytes, ..pair }).collect()
    }

    /// How the ranks of a communicator waited since `since_ns`, in its order.
    pub fn waits(&self, communicator: u32, since_ns: u64) -> Vec<Wait> {
        let slots = self.members.slots(communicator);
        let mut all = vec![Wait::default(); slots.len()];
        for stretch in self.behind(since_ns) {
            for (sum, one) in all.iter_mut().zip(stretch.waits.get(slots.clone()).unwrap_or_default()) {
                sum.add(one);
            }
        }
        all
    }

    /// The rank to which each rank sends most since `since_ns`: by communicator, then by rank.
    pub fn successors(&self, directory: &Directory, since_ns: u64) -> BTreeMap<u32, BTreeMap<u32, u32>> {
        let mut sent: BTreeMap<(u32, u32, u32), f64> = BTreeMap::new();
        for stretch in self.behind(since_ns) {
            for (info, one) in directory.flows.iter().zip(&stretch.sent).filter(|(_, one)| one.bytes > 0.0) {
                *sent.entry((one.communicator, info.source, info.target)).or_default() += one.bytes;
            }
        }
        let mut most: BTreeMap<u32, BTreeMap<u32, (u32, f64)>> = BTreeMap::new();
        for ((communicator, source, target), bytes) in sent {
            let best = most.entry(communicator).or_default().entry(source).or_insert((target, bytes));
            if bytes > best.1 {
                *best = (target, bytes);
            }
        }
        let targets = |of: BTreeMap<u32, (u32, f64)>| of.into_iter().map(|(from, to)| (from, to.0)).collect();
        most.into_iter().map(|(communicator, of)| (communicator, targets(of))).collect()
    }
}

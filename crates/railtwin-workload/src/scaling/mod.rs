//! What a collective takes on a cluster of any size: a model fitted on some sizes and asked for others.
//!
//! S bytes over n ranks of h hosts; N the most ranks that it was fitted on.
//!
//! * **Serial steps**: a ring has 2 (n - 1) of them or n - 1, a direct exchange one for each rank elsewhere. A step takes
//!   g(S / n), a table over the bytes of a chunk. On measured clusters g is one function for every n.
//! * **Tree**: A(S) + B(S) log2 h, for sizes that were measured; for larger ones
//!   t0 + log2 h (a + min(S, c) / b) + S / (ρ r), r the bandwidth of the ring.
//! * **Distance**: times 1 + δ log2(n / N) beyond what was fitted, of trees and of small chunks of rings.
//!
//! An all-reduce takes the cheaper of both, but at a number of hosts that was measured, where the size from which rings
//! were seen decides.
mod band;
mod table;

use crate::collective::{Algorithm, Collective, bus_factor};
use crate::cost::Group;

pub use band::{BandRow, PRIOR_BAND, size_class};

/// Bytes of a chunk up to which a ring's step grows with the distance.
pub const SMALL_CHUNK: u64 = 1 << 20;
/// Prior of ρ: share of a ring's bandwidth that trees of large operations reach. Clusters of few hosts cannot tell it; trees
/// of some thousand GH200 and A100 did.
pub const PRIOR_SHARE: f64 = 0.75;
/// Prior of δ: growth of a step for each double of the cluster beyond what was fitted; 0.019 and 0.027 were found on two
/// unrelated machines.
pub const PRIOR_DISTANCE: f64 = 0.02;
/// Most of c: bytes up to which a level of a tree costs more with the size.
pub const LEVEL_BYTES: u64 = 16 << 20;
/// No operation takes less, seconds: a line through times that scatter may fall below zero.
const LEAST: f64 = 1e-9;
/// Two prices within this factor are told both: nobody knows which algorithm runs.
pub const CLOSE: f64 = 2.0;

/// A step of serial algorithms by the bytes of a chunk.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StepPoint {
    /// Bytes of a chunk.
    pub chunk: u64,
    /// Seconds.
    pub seconds: f64,
}

/// A tree of one size: `first` + `level` log2 of the hosts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LevelPoint {
    /// Bytes of the operation.
    pub bytes: u64,
    /// Seconds of one host.
    pub first: f64,
    /// Seconds of each double of the hosts.
    pub level: f64,
}

/// Trees of larger operations than any that was measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LargeTrees {
    /// t0, seconds.
    pub first: f64,
    /// a, seconds of each double of the hosts.
    pub level: f64,
    /// 1 / b, seconds of each byte and double.
    pub level_per_byte: f64,
    /// c: bytes beyond which a level costs no more.
    pub level_bytes: u64,
    /// 1 / (ρ r), seconds of each byte.
    pub per_byte: f64,
}

/// Size from which rings were seen over so many hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Switch {
    /// Hosts.
    pub hosts: u32,
    /// Bytes.
    pub bytes: u64,
}

/// What a simulated network has of the times: it is not counted twice.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct NetworkPart {
    /// Seconds of a serial step.
    pub step: f64,
    /// Seconds of a tree over one host.
    pub first: f64,
    /// Seconds of each double of the hosts.
    pub level: f64,
}

/// A model of one collective over hosts of so many ranks.
#[derive(Clone, PartialEq, Debug)]
pub struct ScalingModel {
    /// The collective.
    pub collective: Collective,
    /// Ranks of a host.
    pub local: u32,
    /// Hosts that it was fitted on, ascending.
    pub hosts: Vec<u32>,
    /// Steps of a ring or of a direct exchange, by ascending chunk.
    pub steps: Vec<StepPoint>,
    /// Trees by ascending size; empty but for all-reduces.
    pub trees: Vec<LevelPoint>,
    /// Larger trees than those; none without a ring beside them.
    pub large: Option<LargeTrees>,
    /// δ.
    pub distance: f64,
    /// Where rings begin, by ascending hosts.
    pub switches: Vec<Switch>,
    /// What the network has of the times.
    pub network: NetworkPart,
    /// Bus bandwidth of the largest chunks in bytes per second, and of the fastest tree.
    pub busbw: [f64; 2],
    /// Whether the network held that of rings, and not hosts.
    pub network_limits: bool,
    /// How far measurements of larger clusters were off.
    pub band: Vec<BandRow>,
}

/// What the model says of one operation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scaled {
    /// What is expected to run.
    pub algorithm: Algorithm,
    /// Seconds of it.
    pub seconds: f64,
    /// Seconds in serial steps; none without a table of them.
    pub serial: Option<f64>,
    /// Seconds of a tree; none where no tree was seen.
    pub tree: Option<f64>,
    /// Ranks over the most ranks that were fitted.
    pub beyond: f64,
    /// 10th and 90th percentile of measured over predicted.
    pub band: (f64, f64),
}

impl Scaled {
    /// Seconds of the other algorithm where both are within a factor of 2.
    pub fn other(&self) -> Option<(Algorithm, f64)> {
        let (serial, tree) = (self.serial?, self.tree?);
        let other = if self.algorithm == Algorithm::Tree {
            (Algorithm::Ring, serial)
        } else {
            (Algorithm::Tree, tree)
        };
        (serial.max(tree) < CLOSE * serial.min(tree)).then_some(other)
    }
}

/// Serial steps of a collective over a group, and into how many chunks its bytes are cut.
///
/// A ring cuts into a chunk for each rank; a direct exchange into a message for each, of which those that leave the host
/// take turns at its NIC; a transfer is one step of all its bytes.
pub fn serial(collective: Collective, group: Group) -> (u32, u32) {
    let Group { ranks, local, .. } = group;
    match collective {
        Collective::AllReduce => (2 * ranks.saturating_sub(1), ranks),
        Collective::AllGather | Collective::ReduceScatter => (ranks.saturating_sub(1), ranks),
        Collective::AllToAll | Collective::ExpertDispatch | Collective::ExpertCombine => {
            (ranks.saturating_sub(local), ranks)
        }
        Collective::Broadcast | Collective::SendReceive => (1, 1),
    }
}

/// The algorithm whose steps are serial.
pub const fn serial_algorithm(collective: Collective) -> Algorithm {
    match collective {
        Collective::AllToAll
        | Collective::SendReceive
        | Collective::ExpertDispatch
        | Collective::ExpertCombine => Algorithm::Direct,
        _ => Algorithm::Ring,
    }
}

impl ScalingModel {
    /// Most ranks that it was fitted on.
    pub fn ranks(&self) -> u32 {
        self.hosts.last().copied().unwrap_or(0).saturating_mul(self.local)
    }

    /// Doubles of the cluster beyond what was fitted.
    fn doubles(&self, group: Group) -> f64 {
        (f64::from(group.ranks) / f64::from(self.ranks().max(1))).log2().max(0.0)
    }

    /// Smallest size that was measured.
    pub fn least_bytes(&self) -> u64 {
        let group = Group::of(self.hosts.last().copied().unwrap_or(1), self.local);
        let parts = u64::from(serial(self.collective, group).1);
        let of_steps = self.steps.first().map(|step| step.chunk.saturating_mul(parts));
        let of_trees = self.trees.first().map(|tree| tree.bytes);
        of_steps.into_iter().chain(of_trees).min().unwrap_or(0)
    }

    /// Seconds in serial steps; none without a table.
    pub fn serial(&self, group: Group, bytes: u64) -> Option<f64> {
        let (count, parts) = serial(self.collective, group);
        let chunk = bytes as f64 / f64::from(parts.max(1));
        let step = table::step(&self.steps, chunk)?;
        let far = if chunk <= SMALL_CHUNK as f64 { 1.0 + self.distance * self.doubles(group) } else { 1.0 };
        // What a transfer takes does not depend on who else is there.
        let far = if self.collective == Collective::SendReceive { 1.0 } else { far };
        Some(f64::from(count) * step * far)
    }

    /// Seconds of a tree; none where no tree was seen.
    pub fn tree(&self, group: Group, bytes: u64) -> Option<f64> {
        let levels = f64::from(group.hosts.max(1)).log2();
        let last = self.trees.last()?;
        let seconds = match self.large {
            Some(large) if bytes > last.bytes => {
                let each = large.level + bytes.min(large.level_bytes) as f64 * large.level_per_byte;
                large.first + levels * each + bytes as f64 * large.per_byte
            }
            _ => {
                let of = |point: &LevelPoint| (point.bytes as f64, point.first + levels * point.level);
                table::extended(&self.trees.iter().map(of).collect::<Vec<_>>(), bytes as f64)?
            }
        };
        Some(seconds.max(LEAST) * (1.0 + self.distance * self.doubles(group)))
    }

    /// What `bytes` take over `group`; none for groups within one host, of which it says nothing, and without a table.
    pub fn predict(&self, group: Group, bytes: u64) -> Option<Scaled> {
        if group.hosts < 2 || group.ranks < 2 {
            return None;
        }
        let (serial, tree) = (self.serial(group, bytes), self.tree(group, bytes));
        let known = self.switches.iter().find(|switch| switch.hosts == group.hosts);
        let seen = known.map(|switch| bytes < switch.bytes);
        let takes_tree = match (serial, tree) {
            (Some(serial), Some(tree)) => seen.unwrap_or(tree < serial),
            (None, Some(_)) => true,
            _ => false,
        };
        let (algorithm, seconds) =
            if takes_tree { (Algorithm::Tree, tree?) } else { (serial_algorithm(self.collective), serial?) };
        let beyond = f64::from(group.ranks) / f64::from(self.ranks().max(1));
        let band = band::of(&self.band, beyond, bytes);
        Some(Scaled { algorithm, seconds, serial, tree, beyond, band })
    }

    /// Latency that hosts add to the network's in seconds, and their bus bandwidth in bytes per second where they limit: so
    /// that `latency + f(n) bytes / bandwidth`, with what the network has of it, is the time that is predicted.
    pub fn cost(&self, group: Group, bytes: u64, algorithm: Algorithm) -> Option<(f64, Option<f64>)> {
        let tree = algorithm == Algorithm::Tree;
        let seconds = if tree { self.tree(group, bytes)? } else { self.serial(group, bytes)? };
        let levels = f64::from(group.hosts.max(1)).log2();
        let network = match tree {
            true => self.network.first + levels * self.network.level,
            false => f64::from(serial(self.collective, group).0) * self.network.step,
        };
        let moved = bytes as f64 * bus_factor(self.collective, group.ranks);
        let seconds = (seconds - network).max(seconds * f64::EPSILON);
        let fastest = self.busbw[usize::from(tree)];
        let busbw = fastest.max(moved / seconds);
        let latency = (seconds - moved / busbw).max(0.0);
        Some((latency, (tree || !self.network_limits).then_some(busbw)))
    }
}

#[cfg(test)]
mod tests;

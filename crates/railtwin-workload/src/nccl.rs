//! NCCL's own model of what its algorithms and protocols take, by which it picks one: NVIDIA/nccl, src/graph/tuning.cc
//! and src/graph/topo.h of versions 2.18 to 2.21, for parallel aggregated trees and rings beside them of 2.28.
//!
//! Its figures are NCCL's, measured by its authors on DGX systems. They decide what NCCL picks; what that pick costs is
//! better told by a measurement of the host model, where there is one.
use railtwin_units::{Rate, SimTime};

use crate::collective::{Algorithm, Collective, bus_factor};
use crate::cost::{Cost, Group, Protocol};

/// Generation of a GPU, as far as NCCL's model tells them apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Generation {
    /// Compute capability 8.
    Ampere,
    /// Compute capability 9 and later.
    Hopper,
}

impl Generation {
    /// Of a GPU whose dense half-precision peak is so many FLOP per second: an A100 has 312e12, an H100 989e12.
    pub fn of_peak(flops: u64) -> Self {
        if flops > 500_000_000_000_000 { Self::Hopper } else { Self::Ampere }
    }

    /// What NCCL takes an NVLink of 25 GB/s a direction for: 20 GB/s on A100, 20.6 on H100 (its src/graph/topo.h).
    fn nvlink_share(self) -> f64 {
        match self {
            Self::Ampere => 20.0 / 25.0,
            Self::Hopper => 20.6 / 25.0,
        }
    }
}

/// A host as NCCL's model sees it. Rates are bytes per second of data in one direction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Host {
    /// Generation of its GPUs.
    pub generation: Generation,
    /// NVLink of a GPU as its data sheet has it; none without a scale-up domain.
    pub nvlink: Option<Rate>,
    /// PCIe between a GPU and its NIC.
    pub pcie: Rate,
    /// One NIC, all ports together.
    pub nic: Rate,
    /// GPUs.
    pub gpus: u32,
    /// NICs.
    pub nics: u32,
    /// Whether its NCCL is 2.23 or later, which has parallel aggregated trees.
    pub aggregates: bool,
    /// What one crossing of the network takes beyond what NCCL's figures have in them; Simple waits for a flush too, and
    /// pays it twice.
    pub crossing: SimTime,
}

/// Latencies of a link, microseconds, by protocol (LL, LL128, Simple); NCCL's `hwLat`.
struct Latency {
    inside: [f64; 3],
    between: [f64; 3],
    base: [f64; 3],
}

const RING: Latency = Latency { inside: [0.6, 1.9, 3.4], between: [2.7, 4.0, 14.0], base: [6.6, 14.0, 8.4] };
const TREE: Latency =
    Latency { inside: [0.6, 1.25, 28.0], between: [5.0, 8.5, 28.0], base: [6.8, 14.0, 0.0] };
/// NVLS and NVLS tree: inside a host, and an edge between hosts of the tree.
const NVLS: f64 = 23.0;
const NVLS_TREE_BETWEEN: f64 = 14.0;
/// An edge between hosts under Simple with one rank on each, from the versions on that have parallel aggregated trees.
const EXPOSED: f64 = 14.0;
/// Parallel aggregated trees: first of all, of each rank, and by how much an edge between hosts counts less in each of their
/// log₂ n steps; share of its bandwidth that NCCL takes them to reach.
const PAT: (f64, f64, f64, f64) = (8.0, 2.8, 3.5, 0.75);
/// What a host adds to each step of a ring over hosts, microseconds, three times for Simple; NCCL's `getNetOverhead`.
const NET_OVERHEAD: f64 = 1.0;
/// What Simple's latency in rings over hosts is multiplied by from 64 bytes a rank and channel on («plateau effect»).
const PLATEAU: f64 = 1.4;
/// Channels that NCCL lays at least on hosts with an NVSwitch.
pub const CHANNELS: u32 = 16;
/// Most of LL in GB/s of bus bandwidth: one host, two, more (NCCL's `llMaxBws` of one Hopper or Ampere host, and of hosts
/// with Intel processors).
const LL_MOST: [f64; 3] = [87.7, 39.0, 20.4];
/// How much of its bandwidth a tree has by size, 64 B to 256 MB in powers of two; NCCL's `treeCorrectionFactor`.
const TREE_SHARE: [[f64; 23]; 3] = [
    [
        1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
        1.0, 1.0, 1.0,
    ],
    [
        1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9,
        0.9, 1.0, 1.0,
    ],
    [
        0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7,
        0.8, 0.9, 0.9,
    ],
];

/// What NCCL's model says of one algorithm and protocol.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Prediction {
    /// Algorithm.
    pub algorithm: Algorithm,
    /// Protocol.
    pub protocol: Protocol,
    /// Latency of all steps, seconds.
    pub latency: f64,
    /// Bytes of the operation over time without latency, bytes per second.
    pub bandwidth: f64,
    /// Time, seconds.
    pub time: f64,
}

impl Host {
    /// Bytes of data per second over all NICs that `local` ranks of the host use.
    pub fn line(&self, local: u32) -> f64 {
        self.between(local)
    }

    /// Bytes per second that one channel copies: what NCCL's model has for LL128 in rings.
    pub fn channel(&self) -> f64 {
        match self.generation {
            Generation::Ampere => 20e9,
            Generation::Hopper => 36.7e9,
        }
    }

    /// What GPUs of the host reach in a ring among them, bytes per second of bus bandwidth.
    pub fn inside(&self) -> f64 {
        match self.nvlink {
            Some(rate) => rate.bytes_per_s() * self.generation.nvlink_share(),
            None => self.pcie.bytes_per_s(),
        }
    }

    /// What `local` ranks of the host reach over its NICs.
    fn between(&self, local: u32) -> f64 {
        let nics = f64::from(self.nics) * f64::from(local.min(self.gpus)) / f64::from(self.gpus);
        nics.ceil() * self.nic.bytes_per_s()
    }

    /// All that NCCL could run for `bytes` of a collective over `group`, in the order in which it looks at them.
    pub fn predictions(&self, collective: Collective, group: Group, bytes: u64) -> Vec<Prediction> {
        let mut all = Vec::new();
        for algorithm in
            [Algorithm::Tree, Algorithm::Ring, Algorithm::Nvls, Algorithm::NvlsTree, Algorithm::Pat]
        {
            if algorithm != Algorithm::Pat || self.aggregates {
                all.extend(self.protocols(collective, algorithm, group, bytes));
            }
        }
        all
    }

    /// One algorithm by all protocols that NCCL has for it.
    fn protocols(
        &self,
        collective: Collective,
        algorithm: Algorithm,
        group: Group,
        bytes: u64,
    ) -> impl Iterator<Item = Prediction> {
        Protocol::ALL
            .into_iter()
            .filter_map(move |protocol| self.predict(collective, algorithm, protocol, group, bytes))
    }

    /// What NCCL picks for `bytes` of a collective over `group`: the least time by its model; of one algorithm, if given.
    pub fn pick(
        &self,
        collective: Collective,
        algorithm: Option<Algorithm>,
        group: Group,
        bytes: u64,
    ) -> Option<Prediction> {
        let all = match algorithm {
            Some(algorithm) => self.protocols(collective, algorithm, group, bytes).collect(),
            None => self.predictions(collective, group, bytes),
        };
        all.into_iter().min_by(|a, b| a.time.total_cmp(&b.time))
    }

    /// Whether NCCL has the algorithm with the protocol for the group.
    fn has(&self, algorithm: Algorithm, protocol: Protocol, group: Group) -> bool {
        let Group { ranks, hosts, local } = group;
        let switch = self.nvlink.is_some() && self.generation == Generation::Hopper && local > 1;
        match algorithm {
            Algorithm::Ring => true,
            Algorithm::Tree => hosts > 1,
            Algorithm::Nvls => hosts == 1 && switch && protocol == Protocol::Simple,
            Algorithm::NvlsTree => {
                hosts > 1 && switch && protocol == Protocol::Simple && ranks == hosts * local
            }
            Algorithm::Pat => ranks == hosts && protocol == Protocol::Simple,
            Algorithm::NvlsRing | Algorithm::Direct | Algorithm::Forward => false,
        }
    }

    /// What one algorithm and protocol take; none where NCCL does not have them for this.
    pub fn predict(
        &self,
        collective: Collective,
        algorithm: Algorithm,
        protocol: Protocol,
        group: Group,
        bytes: u64,
    ) -> Option<Prediction> {
        let Group { ranks, hosts, local } = group;
        if ranks < 2 || algorithm.check(collective).is_err() {
            return None;
        }
        if !self.has(algorithm, protocol, group)
            || (protocol == Protocol::Ll128 && self.nvlink.is_none() && local > 1)
        {
            return None;
        }
        let p = protocol as usize;
        let many = hosts > 1;
        let crossing = self.crossing.seconds() * 1e6 * if protocol == Protocol::Simple { 2.0 } else { 1.0 };
        let (inside, between) = (self.inside(), self.between(local));
        let line = if !many {
            inside
        } else if local < 2 {
            between
        } else {
            inside.min(between)
        };
        let steps = f64::from(crate::cost::steps(collective, algorithm, group));
        let depth = f64::from(hosts.ilog2());
        // With one rank on a host nothing hides what an edge between hosts takes: NCCL has a tree's for it.
        let edge = match protocol {
            _ if ranks > hosts => RING.between[p],
            Protocol::Simple if self.aggregates => EXPOSED,
            _ => TREE.between[p],
        };
        let ll_most = LL_MOST[hosts.min(3) as usize - 1] * 1e9;
        let (latency, bandwidth) = match algorithm {
            Algorithm::Ring => {
                ring(collective, protocol, group, bytes, Terms { steps, edge, crossing, line, ll_most })
            }
            Algorithm::Tree => {
                tree(protocol, local, bytes, depth, Terms { steps, edge, crossing, line, ll_most })
            }
            Algorithm::Pat => {
                let (first, each, hidden, share) = PAT;
                let step = (EXPOSED + crossing) / hidden;
                (first + depth * step + f64::from(ranks) * each, line * share)
            }
            _ => {
                let edge = NVLS_TREE_BETWEEN + crossing;
                let (latency, bus) = match algorithm {
                    Algorithm::Nvls => (NVLS, inside),
                    _ if hosts > 2 => (NVLS + 2.0 * depth * edge, inside.min(between / 2.0)),
                    _ => (NVLS + 2.0 * depth * edge, inside.min(between)),
                };
                (latency, bus * 5.0 / 6.0)
            }
        };
        let latency = latency * 1e-6;
        let time = latency + bytes as f64 / bandwidth;
        Some(Prediction { algorithm, protocol, latency, bandwidth, time })
    }

    /// What a prediction costs on hosts that nobody measured: NCCL's latency, and of bandwidths only what hosts limit.
    /// What the network limits is left to the network.
    pub fn cost(&self, collective: Collective, prediction: &Prediction, group: Group) -> Cost {
        let rate = |bytes_per_s: f64| Some(Rate::from_bits_per_s((bytes_per_s * 8.0) as u64));
        let ll = LL_MOST[group.hosts.clamp(1, 3) as usize - 1] * 1e9;
        let busbw = match prediction.algorithm {
            _ if prediction.protocol == Protocol::Ll => rate(ll),
            Algorithm::Ring if group.local > 1 => rate(self.inside() / prediction.protocol.expansion()),
            // A chain inside each host, up and down: every GPU sends 2 (g - 1) / g of the buffer.
            Algorithm::Tree if group.local > 1 => {
                let local = f64::from(group.local);
                let sent = 2.0 * (local - 1.0) / local * prediction.protocol.expansion();
                rate(bus_factor(collective, group.ranks) * self.inside() / sent)
            }
            // Of its own line, which is what NCCL measured; a narrower network may still hold it.
            Algorithm::Pat => rate(bus_factor(collective, group.ranks) * prediction.bandwidth),
            _ => None,
        };
        Cost { protocol: prediction.protocol, latency: SimTime::from_seconds(prediction.latency), busbw }
    }
}

/// Terms of NCCL's model that its algorithms share: steps, microseconds of an edge between hosts and of a crossing, and
/// bytes per second of the line and of LL at most.
#[derive(Clone, Copy)]
struct Terms {
    steps: f64,
    edge: f64,
    crossing: f64,
    line: f64,
    ll_most: f64,
}

/// Latency in microseconds and bandwidth in bytes per second of a ring.
fn ring(collective: Collective, protocol: Protocol, group: Group, bytes: u64, terms: Terms) -> (f64, f64) {
    let Terms { steps, edge, crossing, line, ll_most } = terms;
    let (Group { ranks, hosts, .. }, p) = (group, protocol as usize);
    let many = hosts > 1;
    let crossings = f64::from(if !many {
        0
    } else if collective == Collective::AllReduce {
        2 * hosts
    } else {
        hosts - 1
    });
    let overhead = if many { NET_OVERHEAD * [1.0, 1.0, 3.0][p] } else { 0.0 };
    let mut latency = RING.base[p]
        + (steps - crossings).max(0.0) * RING.inside[p].max(overhead)
        + crossings * (edge + crossing);
    let plateau = protocol == Protocol::Simple && many && collective == Collective::AllReduce;
    if plateau && bytes as f64 / (f64::from(CHANNELS) * f64::from(ranks)) >= 64.0 {
        latency *= PLATEAU;
    }
    let quarter = many || collective == Collective::AllReduce;
    let bus = match protocol {
        Protocol::Ll => ll_most.min(line / if quarter { 4.0 } else { 3.0 }),
        Protocol::Ll128 => line * if f64::from(ranks) < 2.0 * f64::from(hosts) { 0.7 } else { 0.92 },
        Protocol::Simple => line,
    };
    (latency, bus * f64::from(ranks) / steps)
}

/// Latency in microseconds and bandwidth in bytes per second of a tree of so many levels.
fn tree(protocol: Protocol, local: u32, bytes: u64, depth: f64, terms: Terms) -> (f64, f64) {
    let (Terms { crossing, line, ll_most, .. }, p) = (terms, protocol as usize);
    let latency =
        TREE.base[p] + 2.0 * (f64::from(local - 1) * TREE.inside[p] + depth * (TREE.between[p] + crossing));
    let bus = match protocol {
        Protocol::Ll => (line * 0.92 / 3.8).min(ll_most),
        Protocol::Ll128 => line * 0.92 * 120.0 / 128.0,
        Protocol::Simple => line * 0.92,
    };
    let row = (bytes >> 6).max(1).ilog2() as usize;
    (latency, bus * 0.5 * TREE_SHARE[p].get(row).copied().unwrap_or(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn h100() -> Host {
        Host {
            generation: Generation::Hopper,
            nvlink: Some(Rate::from_gbps(3600)),
            pcie: Rate::from_gbps(504),
            nic: Rate::from_gbps(400),
            gpus: 8,
            nics: 8,
            aggregates: true,
            crossing: SimTime::ZERO,
        }
    }

    fn picked(collective: Collective, group: Group, bytes: u64) -> String {
        let pick = h100().pick(collective, None, group, bytes).unwrap();
        format!("{} {}", pick.algorithm, pick.protocol)
    }

    /// 370 GB/s is what 8 H100 reach in a ring (NVIDIA/nccl-tests issue 212), 240 GB/s what 8 A100 do (NVIDIA/nccl 1712).
    #[test]
    fn the_inside_of_a_host_is_what_rings_reach() {
        assert!((h100().inside() / 1e9 - 370.8).abs() < 0.1);
        let a100 = Host { generation: Generation::Ampere, nvlink: Some(Rate::from_gbps(2400)), ..h100() };
        assert!((a100.inside() / 1e9 - 240.0).abs() < 0.1);
    }

    /// Latency first, bandwidth last: a small all-reduce goes by LL, a large one by Simple.
    #[test]
    fn picks_go_from_latency_to_bandwidth() {
        let all_reduce = |group, bytes| picked(Collective::AllReduce, group, bytes);
        assert_eq!(all_reduce(Group::of(1, 8), 1 << 30), "nvls simple");
        assert_eq!(all_reduce(Group::of(10, 8), 1 << 10), "tree ll");
        assert_eq!(all_reduce(Group::of(10, 8), 1 << 20), "tree ll128");
        assert_eq!(all_reduce(Group::of(10, 8), 32 << 20), "nvls-tree simple");
        assert_eq!(all_reduce(Group::of(10, 8), 16 << 30), "ring simple");
        assert_eq!(picked(Collective::AllGather, Group::of(10, 8), 32 << 20), "ring ll128");
        assert_eq!(picked(Collective::AllGather, Group::of(10, 8), 16 << 30), "ring simple");
        assert!(h100().pick(Collective::AllToAll, None, Group::of(2, 8), 1).is_none());
    }

    /// 8 us + 3 · 14 / 3.5 us + 10 · 2.8 us and 3/4 of a NIC, by hand; rings for what is large, and before NCCL 2.23.
    #[test]
    fn small_gathers_over_hosts_of_one_rank_go_by_aggregated_trees() {
        let group = Group::of(10, 1);
        let pat = |bytes| {
            h100().predict(Collective::AllGather, Algorithm::Pat, Protocol::Simple, group, bytes).unwrap()
        };
        assert!((pat(1 << 20).latency - 48e-6).abs() < 1e-12);
        assert!((pat(1 << 20).bandwidth - 37.5e9).abs() < 1.0);
        for collective in [Collective::AllGather, Collective::ReduceScatter] {
            assert_eq!(picked(collective, group, 1 << 20), "pat simple");
            assert_eq!(picked(collective, group, 64 << 20), "ring simple");
            assert_ne!(picked(collective, Group::of(10, 2), 1 << 20), "pat simple");
            let before = Host { aggregates: false, ..h100() };
            assert_eq!(before.pick(collective, None, group, 1 << 20).unwrap().algorithm, Algorithm::Ring);
            assert!(before.pick(collective, Some(Algorithm::Pat), group, 1 << 20).is_some());
        }
    }

    /// 14 us + 2 (7 · 1.25 + 3 · 8.5) us, by hand.
    #[test]
    fn a_tree_pays_its_edges_up_and_down() {
        let tree = h100().predict(
            Collective::AllReduce,
            Algorithm::Tree,
            Protocol::Ll128,
            Group::of(10, 8),
            1 << 30,
        );
        assert!((tree.unwrap().latency - 82.5e-6).abs() < 1e-9);
    }
}

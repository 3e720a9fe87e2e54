//! An algorithm as bundles: edges that move in lock step, so that the slowest sets the pace of all.
use std::collections::BTreeMap;

/// Where a rank sits: plain data, no fabric.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Member {
    /// Rank.
    pub rank: u32,
    /// Host.
    pub host: u32,
    /// GPU in the host.
    pub gpu: u32,
    /// Backend NIC of that GPU; its index is the rail.
    pub nic: u32,
}

/// How the GPUs and NICs of every host of a job hang together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostLayout {
    /// The GPU that each NIC hangs on.
    pub gpu_of_nic: Vec<u32>,
    /// Whether GPUs of a host share a scale-up domain.
    pub nvlink: bool,
    /// Whether a message for another rail first crosses NVLink to the GPU of that rail (NCCL's PXN).
    pub pxn: bool,
    /// Whether GPUs of a host without NVLink reach each other over PCIe switches.
    pub over_pcie: bool,
    /// By host and NIC, where the GPU that the NIC hangs on is not the job's: another GPU of the job on that NIC, or
    /// none. Over GPUs of others nobody relays (HPN section 10).
    pub not_own: BTreeMap<(u32, u32), Option<u32>>,
}

impl HostLayout {
    /// The layout of a job that holds every GPU of its hosts.
    pub fn new(gpu_of_nic: Vec<u32>, nvlink: bool, pxn: bool) -> Self {
        Self { gpu_of_nic, nvlink, pxn, over_pcie: false, not_own: BTreeMap::new() }
    }

    /// Whether a message between GPUs of a host stays in it.
    pub fn joins_gpus(&self) -> bool {
        self.nvlink || self.over_pcie
    }

    /// The GPU of a host over which its messages for NIC `nic` of other hosts leave; none where each leaves by its
    /// sender's own NIC: without PXN, without NVLink, and where no GPU on that rail is the job's.
    pub fn relay(&self, host: u32, nic: u32) -> Option<u32> {
        if !(self.pxn && self.nvlink) {
            return None;
        }
        match self.not_own.get(&(host, nic)) {
            Some(&other) => other,
            None => self.gpu_of_nic.get(nic as usize).copied(),
        }
    }
}

/// One hop of a bundle. `amount` = bytes on the edge for each byte of the bundle.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Edge {
    /// From one GPU to another of the same host.
    Inside {
        /// Host.
        host: u32,
        /// Sending GPU.
        source_gpu: u32,
        /// Receiving GPU.
        target_gpu: u32,
        /// Bytes for each byte of the bundle.
        amount: f64,
    },
    /// From a GPU to its NVSwitch and back: reduction and multicast in the switch.
    InSwitch {
        /// Host.
        host: u32,
        /// GPU.
        gpu: u32,
        /// Bytes each way for each byte of the bundle.
        amount: f64,
    },
    /// From a NIC of one host to a NIC of another.
    Network {
        /// Sending host.
        source_host: u32,
        /// Its NIC.
        source_nic: u32,
        /// Receiving host.
        target_host: u32,
        /// Its NIC.
        target_nic: u32,
        /// Bytes for each byte of the bundle.
        amount: f64,
    },
}

/// Edges that move in lock step. Their order tells what each does (see [`mod@crate::course`]):
/// * ring: in the order of the ring; a hop that leaves a host may first run inside it, right before;
/// * tree, more than one stage without hops: pairs of edges, one towards the root and the one back; those inside a
///   host are its chain, the nearest to the GPU that meets other hosts first;
/// * aggregated: those of a step together, steps in the order of time;
/// * otherwise: edges inside a host that relay stand right before the edge that takes it on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bundle {
    /// First edge in [`Shape::edges`].
    pub first_edge: u32,
    /// Number of edges.
    pub edges: u32,
    /// Bytes of the bundle for each byte of the operation.
    pub volume: f64,
    /// Serial stages: how often the latency of an edge is paid one after the other.
    pub stages: u32,
    /// Hops of a ring, 0 for other shapes. What a rank waits for has gone round the ring, over every edge once
    /// for each lap, so a stage of a ring costs its edges' latency over its hops; elsewhere the longest edge's.
    pub ring_hops: u32,
    /// Whether each stage has edges of its own, over which goes what came in all stages before.
    pub aggregated: bool,
    /// Most that intra-host caps let the bundle move, as a share of the operation's bus bandwidth:
    /// the bundle's rate equals this factor times the bus bandwidth when all bundles of the shape are even.
    pub bus_share: f64,
}

/// A collective over one communicator as bundles.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Shape {
    /// Edges, contiguous by bundle.
    pub edges: Vec<Edge>,
    /// Bundles.
    pub bundles: Vec<Bundle>,
}

impl Shape {
    /// Adds a bundle; `bus_factor` is the collective's (see [`crate::collective::bus_factor`]).
    pub fn push(&mut self, edges: impl IntoIterator<Item = Edge>, volume: f64, stages: u32, bus_factor: f64) {
        let first_edge = self.edges.len() as u32;
        self.edges.extend(edges);
        let count = self.edges.len() as u32 - first_edge;
        if count > 0 {
            let bus_share = if bus_factor > 0.0 { volume / bus_factor } else { volume };
            let (ring_hops, aggregated) = (0, false);
            let edges = count;
            self.bundles.push(Bundle { first_edge, edges, volume, stages, ring_hops, aggregated, bus_share });
        }
    }

    /// Adds a ring of so many hops, otherwise as [`Self::push`].
    pub fn push_ring(
        &mut self,
        edges: impl IntoIterator<Item = Edge>,
        volume: f64,
        (stages, hops): (u32, usize),
        bus_factor: f64,
    ) {
        let before = self.bundles.len();
        self.push(edges, volume, stages, bus_factor);
        if let Some(ring) = self.bundles.get_mut(before) {
            ring.ring_hops = hops as u32;
        }
    }

    /// Adds a bundle whose stages have edges of their own, otherwise as [`Self::push`].
    pub fn push_aggregated(
        &mut self,
        edges: impl IntoIterator<Item = Edge>,
        volume: f64,
        stages: u32,
        bus_factor: f64,
    ) {
        let before = self.bundles.len();
        self.push(edges, volume, stages, bus_factor);
        if let Some(bundle) = self.bundles.get_mut(before) {
            bundle.aggregated = true;
        }
    }

    /// The edges of a bundle.
    pub fn edges_of(&self, bundle: &Bundle) -> &[Edge] {
        &self.edges[bundle.first_edge as usize..(bundle.first_edge + bundle.edges) as usize]
    }
}

/// Members by host, hosts in order of first appearance, members in communicator order.
pub fn by_host(members: &[Member]) -> Vec<Vec<Member>> {
    let mut row_of_host = BTreeMap::new();
    let mut hosts: Vec<Vec<Member>> = Vec::new();
    for &member in members {
        let row = *row_of_host.entry(member.host).or_insert(hosts.len());
        if row == hosts.len() {
            hosts.push(Vec::new());
        }
        hosts[row].push(member);
    }
    hosts
}

/// The edges that carry a message from a GPU to NIC `target_nic` of another host: with PXN over NVLink to
/// the job's GPU on the target's rail and out of its NIC, otherwise out of the sender's own NIC. Inside a host the
/// message takes NVLink or PCIe switches, or the NICs and their leaf where there is neither.
pub fn message(layout: &HostLayout, source: Member, target: Member, amount: f64) -> Vec<Edge> {
    if source.host == target.host && layout.joins_gpus() {
        let edge = Edge::Inside { host: source.host, source_gpu: source.gpu, target_gpu: target.gpu, amount };
        return vec![edge];
    }
    let mut edges = Vec::with_capacity(2);
    let mut source_nic = source.nic;
    if source.nic != target.nic
        && let Some(relay) = layout.relay(source.host, target.nic)
    {
        source_nic = target.nic;
        if relay != source.gpu {
            edges.push(Edge::Inside { host: source.host, source_gpu: source.gpu, target_gpu: relay, amount });
        }
    }
    edges.push(Edge::Network {
        source_host: source.host,
        source_nic,
        target_host: target.host,
        target_nic: target.nic,
        amount,
    });
    edges
}

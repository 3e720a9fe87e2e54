//! Who is who in telemetry: jobs, hosts, ranks, communicators, flows. Records name them by row.
//!
//! Devices and links of a fabric stand here by their plain ids, so that what only records needs no fabric.
/// A host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostInfo {
    /// Its name: the fabric's where there is one.
    pub name: String,
}

/// A rank of a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RankInfo {
    /// Row of the job.
    pub job: u32,
    /// Its number within the job.
    pub rank: u32,
    /// Row of its host.
    pub host: u32,
    /// Its GPU in the host.
    pub gpu: u32,
    /// Backend NIC of that GPU in the host.
    pub nic: u32,
}

/// A communicator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommunicatorInfo {
    /// Row of the job.
    pub job: u32,
    /// Its name or hash.
    pub name: String,
    /// Axis: tp, pp, dp, ep, dp_ep, other.
    pub axis: String,
    /// Rows of its ranks in its order.
    pub ranks: Vec<u32>,
}

/// What an operation does, without when: few rows, shared by millions of operations.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OperationShape {
    /// `all-reduce`, `all-gather`, `reduce-scatter`, `all-to-all`, `broadcast`, `send-receive`, …
    pub kind: String,
    /// `ring`, `tree`, …; empty where it is not told.
    pub algorithm: String,
    /// `float32`, …; empty where it is not told.
    pub data_type: String,
    /// Bytes as nccl-tests counts them.
    pub bytes: u64,
}

/// A queue pair between two NICs: made when a connection is opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowInfo {
    /// Row of the sending rank (of the rank whose NIC sends, where a message is relayed).
    pub source: u32,
    /// Row of the receiving rank.
    pub target: u32,
    /// Name of the sending NIC.
    pub source_nic: String,
    /// Name of the receiving NIC.
    pub target_nic: String,
    /// Port of the sending NIC, counted from 0.
    pub nic_port: u32,
    /// Number of the queue pair at the source; 0, which no connection has, for the path of a probe.
    pub queue_pair: u32,
    /// UDP source port; 0 where it is not told.
    pub source_port: u16,
    /// Links from NIC to NIC in order; empty where the path is not known.
    pub links: Vec<u32>,
}

impl FlowInfo {
    /// Whether only probes take it.
    pub fn is_probe(&self) -> bool {
        self.queue_pair == 0
    }
}

/// Something with counters: a NIC, a port of a switch, a GPU, a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntityInfo {
    /// What it is: a [`crate::Component`] of kind NIC, cable end, switch, GPU, host, rank.
    pub component: crate::Component,
    /// The fabric's device, where it is known.
    pub device: Option<u32>,
    /// The fabric's link that leaves the counted port, where it is known; what the port receives is the other link of
    /// its cable.
    pub link: Option<u32>,
}

/// What a port hears of the port at the far end of its cable (LLDP).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NeighborInfo {
    /// The port: `node017/ens11f0`, in a fabric `host-3/nic-1:port-0` or `leaf-5:uplink-2`.
    pub port: String,
    /// The device at the far end, as it calls itself, or its MAC address where it tells no name.
    pub neighbor: String,
    /// Its port, as it calls it.
    pub neighbor_port: String,
}

impl NeighborInfo {
    /// The device of the port: a host, or a switch.
    pub fn device(&self) -> &str {
        let host = self.port.split_once('/').map(|(host, _)| host);
        host.or_else(|| self.port.rsplit_once(':').map(|(switch, _)| switch)).unwrap_or(&self.port)
    }
}

/// All that records name by row. Rows are only ever added.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Directory {
    /// Job names.
    pub jobs: Vec<String>,
    /// Hosts.
    pub hosts: Vec<HostInfo>,
    /// Ranks of all jobs.
    pub ranks: Vec<RankInfo>,
    /// Communicators.
    pub communicators: Vec<CommunicatorInfo>,
    /// Operations without times.
    pub shapes: Vec<OperationShape>,
    /// Queue pairs.
    pub flows: Vec<FlowInfo>,
    /// What has counters.
    pub entities: Vec<EntityInfo>,
    /// Which port hears which.
    pub neighbors: Vec<NeighborInfo>,
}

impl Directory {
    /// The component that is a rank: `job/rank`.
    pub fn rank_component(&self, rank: u32) -> crate::Component {
        let info = &self.ranks[rank as usize];
        crate::Component::Rank(format!("{}/{}", self.jobs[info.job as usize], info.rank))
    }

    /// The component that is a rank's GPU.
    pub fn gpu_component(&self, rank: u32) -> crate::Component {
        let info = &self.ranks[rank as usize];
        crate::Component::Gpu(format!("{}/gpu-{}", self.hosts[info.host as usize].name, info.gpu))
    }

    /// The component that is a rank's host.
    pub fn host_component(&self, rank: u32) -> crate::Component {
        crate::Component::Host(self.hosts[self.ranks[rank as usize].host as usize].name.clone())
    }
}

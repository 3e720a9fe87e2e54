//! Where hosts stand, as columns: what placement asks of a fabric.
use railtwin_fabric::{Fabric, HostId};

/// Hosts of a fabric by id.
#[derive(Clone, Debug)]
pub(super) struct Ground {
    /// GPUs.
    pub gpus: Vec<u32>,
    /// Segment, counted over the fabric in the order of pods.
    pub segment: Vec<u32>,
    /// Backup hosts.
    pub spare: Vec<bool>,
    /// Pod of each segment.
    pub pod_of: Vec<u32>,
}

impl Ground {
    /// The hosts of a fabric.
    pub fn of(fabric: &Fabric) -> Self {
        let mut names: Vec<(u32, u32)> = fabric.hosts().iter().map(|host| (host.pod, host.segment)).collect();
        names.sort_unstable();
        names.dedup();
        let row = |pod, segment| names.binary_search(&(pod, segment)).unwrap_or_default() as u32;
        let hosts = fabric.hosts();
        Self {
            gpus: hosts.iter().map(|host| fabric.host_models()[host.model as usize].gpus).collect(),
            segment: hosts.iter().map(|host| row(host.pod, host.segment)).collect(),
            spare: hosts.iter().map(|host| host.spare).collect(),
            pod_of: names.iter().map(|(pod, _)| *pod).collect(),
        }
    }

    /// Segment of a host.
    pub fn segment(&self, host: HostId) -> u32 {
        self.segment[host.index()]
    }

    /// Pod of a host.
    pub fn pod(&self, host: HostId) -> u32 {
        self.pod_of[self.segment(host) as usize]
    }

    /// How far a host is from another: 0 itself, 1 in its segment, 2 in its pod, 3 beyond.
    pub fn distance(&self, a: HostId, b: HostId) -> u32 {
        match () {
            () if a == b => 0,
            () if self.segment(a) == self.segment(b) => 1,
            () if self.pod(a) == self.pod(b) => 2,
            () => 3,
        }
    }

    /// How far a host is from the nearest of `others`; hosts that the fabric does not have are nowhere near.
    pub(super) fn distance_to_any(&self, host: HostId, others: &[u32]) -> u32 {
        let known = others.iter().filter(|other| (**other as usize) < self.gpus.len());
        known.map(|&other| self.distance(host, HostId(other))).min().unwrap_or(3)
    }
}

//! What a job sends in a step over which NICs, by where its ranks sit.
//!
//! Ranks are in Megatron's order: tensor-parallel ranks are neighbors, then data-parallel ones, then stages. What stays
//! inside a host is NVLink's (or PCIe's) and is told apart.
use std::collections::BTreeMap;

use railtwin_control::Place;
use railtwin_fabric::{DeviceId, Fabric, HostId};
use railtwin_units::Bytes;
use railtwin_workload::job_class::ClassStep;

/// Bytes of a step between two NICs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The NIC that sends.
    pub source: DeviceId,
    /// The NIC that receives.
    pub target: DeviceId,
    /// Bytes of a step.
    pub bytes: Bytes,
}

/// What a job sends in a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepTraffic {
    /// Between hosts, in order of the NICs.
    pub hops: Vec<Hop>,
    /// The most that one GPU sends to others of its host.
    pub inside: Bytes,
}

/// Sums while hops are found.
struct Sums<'a> {
    fabric: &'a Fabric,
    hops: BTreeMap<(DeviceId, DeviceId), f64>,
    inside: f64,
}

impl Sums<'_> {
    fn add(&mut self, source: Place, target: Place, bytes: f64) {
        if source.host == target.host {
            self.inside = self.inside.max(bytes);
            return;
        }
        let nic = |place: Place| {
            let nic = self.fabric.host_model(place.host).nic_of_gpu(place.gpu);
            self.fabric.nic(place.host, nic)
        };
        *self.hops.entry((nic(source), nic(target))).or_insert(0.0) += bytes;
    }

    /// A ring all-reduce of `bytes` among the members: every member sends 2 (n - 1) / n of them (Patarasuk and Yuan
    /// 2009). Rings run over all NICs that members of a host have, each with its part, and over hosts in the order of
    /// ranks.
    fn ring(&mut self, members: &[Place], bytes: f64) {
        let count = members.len() as f64;
        let sent = 2.0 * (count - 1.0) / count * bytes;
        let hosts = by_host(members);
        if hosts.iter().any(|host| host.len() > 1) {
            self.inside = self.inside.max(sent);
        }
        if hosts.len() < 2 {
            return;
        }
        for (at, host) in hosts.iter().enumerate() {
            let next = &hosts[(at + 1) % hosts.len()];
            let rings = host.len().min(next.len());
            for ring in 0..rings {
                self.add(host[ring], next[ring], sent / rings as f64);
            }
        }
    }

    /// An all-to-all in which every member sends `bytes`, evenly to all others; between two hosts over as many NICs as
    /// both have.
    fn all_to_all(&mut self, members: &[Place], bytes: f64) {
        let others = members.len() as f64 - 1.0;
        let hosts = by_host(members);
        for source in &hosts {
            for target in hosts.iter().filter(|target| target[0].host != source[0].host) {
                let pairs = source.len().min(target.len());
                let sent = bytes * source.len() as f64 * target.len() as f64 / others;
                for pair in 0..pairs {
                    self.add(source[pair], target[pair], sent / pairs as f64);
                }
            }
            self.inside = self.inside.max(bytes * (source.len() as f64 - 1.0) / others);
        }
    }
}

/// Members of each host, in the order in which hosts come first.
fn by_host(members: &[Place]) -> Vec<Vec<Place>> {
    let mut rows: BTreeMap<HostId, usize> = BTreeMap::new();
    let mut hosts: Vec<Vec<Place>> = Vec::new();
    for &member in members {
        let row = *rows.entry(member.host).or_insert(hosts.len());
        if row == hosts.len() {
            hosts.push(Vec::new());
        }
        hosts[row].push(member);
    }
    hosts
}

/// What a job whose ranks sit at `places` sends in a step of `step`, whose layout has as many ranks.
pub fn step_traffic(fabric: &Fabric, step: &ClassStep, places: &[Place]) -> StepTraffic {
    let mut sums = Sums { fabric, hops: BTreeMap::new(), inside: 0.0 };
    let [tensor, data, pipeline] = [step.tensor, step.data, step.pipeline].map(|axis| axis as usize);
    let place = |lane: usize, replica: usize, stage: usize| places[lane + tensor * (replica + data * stage)];
    for stage in 0..pipeline {
        for lane in 0..tensor {
            let members: Vec<Place> = (0..data).map(|replica| place(lane, replica, stage)).collect();
            if members.len() > 1 && step.reduced.0 > 0 {
                sums.ring(&members, step.reduced.0 as f64);
            }
            for group in members.chunks(step.among.max(1) as usize).filter(|group| group.len() > 1) {
                sums.all_to_all(group, step.exchanged.0 as f64);
            }
            for replica in (0..data).filter(|_| stage + 1 < pipeline && step.passed.0 > 0) {
                let (here, next) = (place(lane, replica, stage), place(lane, replica, stage + 1));
                sums.add(here, next, step.passed.0 as f64);
                sums.add(next, here, step.passed.0 as f64);
            }
        }
    }
    let hop = |((source, target), bytes): ((DeviceId, DeviceId), f64)| Hop {
        source,
        target,
        bytes: Bytes(bytes.round() as u64),
    };
    let inside = Bytes(sums.inside.round() as u64);
    StepTraffic { hops: sums.hops.into_iter().map(hop).filter(|hop| hop.bytes.0 > 0).collect(), inside }
}

//! What a job sends in a step over which NICs, by where its ranks sit.
//!
//! Ranks are in Megatron's order: tensor-parallel ranks are neighbors, then data-parallel ones, then stages. What stays
//! inside a host is NVLink's and is told apart; where hosts have none but PCIe switches it crosses those, which jobs may
//! share.
use std::collections::BTreeMap;

use railtwin_control::Place;
use railtwin_control::placement::HostTraffic;
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
    /// The GPUs at both ends, counted in their hosts; 0 where nothing is told of the way between GPUs and NICs.
    pub gpus: [u32; 2],
    /// Bytes of a step.
    pub bytes: Bytes,
}

/// Bytes of a step between two GPUs of a host, over its PCIe switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsideHop {
    /// The host.
    pub host: HostId,
    /// The GPUs, from one to the other.
    pub gpus: [u32; 2],
    /// Bytes of a step.
    pub bytes: Bytes,
}

/// What a job sends in a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepTraffic {
    /// Between hosts, in order of the NICs.
    pub hops: Vec<Hop>,
    /// Between GPUs of a host without NVLink, in order.
    pub over_pcie: Vec<InsideHop>,
    /// The most that one GPU sends to others of its host where it has NVLink.
    pub inside: Bytes,
}

/// Source, target, and the GPUs at both ends.
type Ends = (DeviceId, DeviceId, [u32; 2]);

/// Sums while hops are found.
struct Sums<'a> {
    fabric: &'a Fabric,
    hops: BTreeMap<Ends, f64>,
    over_pcie: BTreeMap<(HostId, [u32; 2]), f64>,
    inside: f64,
}

impl Sums<'_> {
    fn add(&mut self, source: Place, target: Place, bytes: f64) {
        if source.host == target.host {
            return self.add_inside(source, target, bytes);
        }
        let nic = |place: Place| {
            let nic = self.fabric.host_model(place.host).nic_of_gpu(place.gpu);
            self.fabric.nic(place.host, nic)
        };
        let gpu = |place: Place| {
            if self.fabric.host_model(place.host).pcie_switches > 0 { place.gpu } else { 0 }
        };
        let ends = (nic(source), nic(target), [gpu(source), gpu(target)]);
        *self.hops.entry(ends).or_insert(0.0) += bytes;
    }

    fn add_inside(&mut self, source: Place, target: Place, bytes: f64) {
        let model = self.fabric.host_model(source.host);
        if model.has_nvswitch() || model.pcie_switches == 0 {
            self.inside = self.inside.max(bytes);
        } else if source.gpu != target.gpu {
            *self.over_pcie.entry((source.host, [source.gpu, target.gpu])).or_insert(0.0) += bytes;
        }
    }

    /// What goes round the GPUs of a host, each sending so much to the next.
    fn round(&mut self, host: &[Place], bytes: f64) {
        for (at, &gpu) in host.iter().enumerate() {
            self.add_inside(gpu, host[(at + 1) % host.len()], bytes);
        }
    }

    /// A ring all-reduce of `bytes` among the members: every member sends 2 (n - 1) / n of them (Patarasuk and Yuan
    /// 2009). Rings run over all NICs that members of a host have, each with its part, and over hosts in the order of
    /// ranks.
    fn ring(&mut self, members: &[Place], bytes: f64) {
        let count = members.len() as f64;
        let sent = 2.0 * (count - 1.0) / count * bytes;
        let hosts = by_host(members);
        for host in hosts.iter().filter(|host| host.len() > 1) {
            self.round(host, sent);
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
            let model = self.fabric.host_model(source[0].host);
            if model.has_nvswitch() || model.pcie_switches == 0 {
                self.inside = self.inside.max(bytes * (source.len() as f64 - 1.0) / others);
                continue;
            }
            for &from in source {
                for &to in source.iter().filter(|to| to.gpu != from.gpu) {
                    self.add_inside(from, to, bytes / others);
                }
            }
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
    let mut sums = Sums { fabric, hops: BTreeMap::new(), over_pcie: BTreeMap::new(), inside: 0.0 };
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
    let whole = |bytes: f64| Bytes(bytes.round() as u64);
    let hop =
        |((source, target, gpus), bytes): (Ends, f64)| Hop { source, target, gpus, bytes: whole(bytes) };
    let inside =
        |((host, gpus), bytes): ((HostId, [u32; 2]), f64)| InsideHop { host, gpus, bytes: whole(bytes) };
    StepTraffic {
        hops: sums.hops.into_iter().map(hop).filter(|hop| hop.bytes.0 > 0).collect(),
        over_pcie: sums.over_pcie.into_iter().map(inside).filter(|hop| hop.bytes.0 > 0).collect(),
        inside: whole(sums.inside),
    }
}

/// What the hosts of a job send each other in a step, in the order in which its ranks fill them. Where the job has as
/// many GPUs of each host it is the same wherever these stand.
pub fn host_traffic(fabric: &Fabric, step: &ClassStep, places: &[Place]) -> HostTraffic {
    let mut rows: BTreeMap<HostId, u32> = BTreeMap::new();
    for place in places {
        let next = rows.len() as u32;
        rows.entry(place.host).or_insert(next);
    }
    let mut traffic = HostTraffic::new(rows.len() as u32);
    for hop in step_traffic(fabric, step, places).hops {
        let row = |nic| fabric.host_of(nic).map(|host| rows[&host]);
        if let (Some(source), Some(target)) = (row(hop.source), row(hop.target)) {
            traffic.add(source, target, hop.bytes.0 as f64);
        }
    }
    traffic
}

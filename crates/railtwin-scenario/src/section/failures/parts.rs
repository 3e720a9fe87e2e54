//! The parts of a case that can fail: what its jobs run on, and what that hangs on.
use std::collections::BTreeSet;

use railtwin_control::Place;
use railtwin_engine::WorkGraph;
use railtwin_fabric::{CableClass, CableId, DeviceId, Fabric, HostId};
use railtwin_reliability::failure_process::PartKind;

/// Parts by kind, each list ascending.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    fabric: &'a Fabric,
    work: &'a WorkGraph,
    placements: &'a [Vec<Place>],
    hosts: Vec<HostId>,
    gpus: Vec<DeviceId>,
    nics: Vec<DeviceId>,
    access: Vec<CableId>,
    uplinks: Vec<CableId>,
    leaves: Vec<DeviceId>,
    spines: Vec<DeviceId>,
}

/// Each once, ascending.
fn sorted<T: Ord>(all: impl Iterator<Item = T>) -> Vec<T> {
    all.collect::<BTreeSet<T>>().into_iter().collect()
}

impl<'a> Parts<'a> {
    pub(crate) fn of(fabric: &'a Fabric, work: &'a WorkGraph, placements: &'a [Vec<Place>]) -> Self {
        let places = || placements.iter().flatten();
        let hosts = sorted(places().map(|place| place.host));
        let nics: Vec<DeviceId> = hosts.iter().flat_map(|&host| nics_of(fabric, host)).collect();
        let access = sorted(nics.iter().flat_map(|&nic| cables(fabric, nic, CableClass::Access)));
        let switches = |cables: &[CableId], tier| {
            let ends = cables.iter().flat_map(|&cable| fabric.cable_ports(cable));
            let devices = ends.map(|port| fabric.port_device(port));
            sorted(devices.filter(|&device| fabric.place(device).is_some_and(|place| place.tier == tier)))
        };
        let leaves = switches(&access, 1);
        let uplinks = sorted(leaves.iter().flat_map(|&leaf| cables(fabric, leaf, CableClass::LeafSpine)));
        let spines = switches(&uplinks, 2);
        let gpus = sorted(places().map(|place| fabric.gpu(place.host, place.gpu)));
        Self { fabric, work, placements, hosts, gpus, nics, access, uplinks, leaves, spines }
    }

    /// How many there are.
    pub(crate) fn count(&self, kind: PartKind) -> usize {
        match kind {
            PartKind::Gpu => self.gpus.len(),
            PartKind::Rank => self.placements.iter().map(Vec::len).sum(),
            PartKind::Nic => self.nics.len(),
            PartKind::Host => self.hosts.len(),
            PartKind::AccessCable => self.access.len(),
            PartKind::UplinkCable => self.uplinks.len(),
            PartKind::Leaf => self.leaves.len(),
            PartKind::Spine => self.spines.len(),
            PartKind::Job => self.work.jobs.len(),
            PartKind::Storage => 1,
        }
    }

    /// The name of one, as faults have it; `index` is below the count.
    pub(crate) fn name(&self, kind: PartKind, index: usize) -> String {
        let device = |all: &[DeviceId]| self.fabric.device_name(all[index]);
        match kind {
            PartKind::Gpu => device(&self.gpus),
            PartKind::Rank => {
                let mut index = index;
                for (job, places) in self.work.jobs.iter().zip(self.placements) {
                    if index < places.len() {
                        return format!("{}/{index}", job.name);
                    }
                    index -= places.len();
                }
                unreachable!("the index is below the count of ranks")
            }
            PartKind::Nic => device(&self.nics),
            PartKind::Host => host_name(self.hosts[index]),
            PartKind::AccessCable => self.fabric.cable_name(self.access[index]),
            PartKind::UplinkCable => self.fabric.cable_name(self.uplinks[index]),
            PartKind::Leaf => device(&self.leaves),
            PartKind::Spine => device(&self.spines),
            PartKind::Job => self.work.jobs[index].name.clone(),
            PartKind::Storage => "all".to_owned(),
        }
    }

    /// The host that one is in, or for a cable of a NIC at; none of what is in no host.
    pub(crate) fn host(&self, kind: PartKind, index: usize) -> Option<HostId> {
        let of = |device: DeviceId| self.fabric.host_of(device);
        match kind {
            PartKind::Gpu => of(self.gpus[index]),
            PartKind::Nic => of(self.nics[index]),
            PartKind::Host => Some(self.hosts[index]),
            PartKind::Rank => self.placements.iter().flatten().nth(index).map(|place| place.host),
            PartKind::AccessCable => {
                let ends = self.fabric.cable_ports(self.access[index]);
                ends.into_iter().find_map(|port| of(self.fabric.port_device(port)))
            }
            PartKind::UplinkCable | PartKind::Leaf | PartKind::Spine | PartKind::Job | PartKind::Storage => {
                None
            }
        }
    }

    /// Names of those in the host of an index; none of what is in no host.
    pub(crate) fn of_host(&self, kind: PartKind, index: usize) -> Vec<String> {
        let (fabric, host) = (self.fabric, self.hosts[index]);
        let here = |device: &&DeviceId| fabric.host_of(**device) == Some(host);
        match kind {
            PartKind::Host => vec![host_name(host)],
            PartKind::Gpu => self.gpus.iter().filter(here).map(|&gpu| fabric.device_name(gpu)).collect(),
            PartKind::Nic => nics_of(fabric, host).map(|nic| fabric.device_name(nic)).collect(),
            PartKind::AccessCable => {
                let all = nics_of(fabric, host).flat_map(|nic| cables(fabric, nic, CableClass::Access));
                all.map(|cable| fabric.cable_name(cable)).collect()
            }
            PartKind::Rank => {
                let jobs = self.work.jobs.iter().zip(self.placements);
                let ranks = jobs.flat_map(|(job, places)| {
                    let own = places.iter().enumerate().filter(|(_, place)| place.host == host);
                    own.map(|(rank, _)| format!("{}/{rank}", job.name))
                });
                ranks.collect()
            }
            PartKind::UplinkCable | PartKind::Leaf | PartKind::Spine | PartKind::Job | PartKind::Storage => {
                Vec::new()
            }
        }
    }
}

fn host_name(host: HostId) -> String {
    format!("host-{}", host.0)
}

/// The NICs of a host that carry its jobs.
fn nics_of(fabric: &Fabric, host: HostId) -> impl Iterator<Item = DeviceId> {
    (0..fabric.host_model(host).nics).map(move |nic| fabric.nic(host, nic))
}

/// The cables of a class at a device.
fn cables(fabric: &Fabric, device: DeviceId, class: CableClass) -> impl Iterator<Item = CableId> {
    let own = fabric.ports(device).filter_map(|port| fabric.cable_at(port));
    own.filter(move |&cable| fabric.cable_class(cable) == class)
}

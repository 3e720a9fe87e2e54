//! What crosses PCIe inside hosts: connections between GPUs and NICs, and what GPUs of a host send each other.
use std::collections::BTreeMap;

use railtwin_control::controller::Exchange;
use railtwin_fabric::{DeviceId, Fabric, HostId, LinkId};

use crate::case::Case;
use crate::connection::Connection;

/// What jobs send inside hosts over links that other jobs of the host may cross.
#[derive(Clone, Debug, Default)]
pub struct InsideHosts {
    /// By connection the links into its source NIC and out of its target NIC; empty where hosts have no PCIe switches.
    pub ways: Vec<[Vec<LinkId>; 2]>,
    /// By job what a step sends between GPUs of a host; empty where no host has GPUs behind PCIe switches.
    pub exchanges: Vec<Vec<Exchange>>,
}

/// Nothing.
pub static NOTHING_INSIDE: InsideHosts = InsideHosts { ways: Vec::new(), exchanges: Vec::new() };

impl InsideHosts {
    /// What a step of a job sends between GPUs of a host.
    pub fn exchanges_of(&self, job: u32) -> &[Exchange] {
        self.exchanges.get(job as usize).map_or(&[][..], Vec::as_slice)
    }

    /// Jobs that send anything between GPUs of a host.
    pub(crate) fn exchanging(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.exchanges).filter(|(_, one)| !one.is_empty()).map(|(job, _)| job)
    }
}

/// Whether GPUs of a host reach each other over its PCIe switches alone.
pub(crate) fn exchanges_over_pcie(fabric: &Fabric, host: HostId) -> bool {
    let model = fabric.host_model(host);
    model.pcie_switches > 0 && !model.has_nvswitch()
}

/// Sums what steps send between GPUs of a host.
#[derive(Debug, Default)]
pub(crate) struct Exchanged(BTreeMap<(u32, u32, [u32; 2]), f64>);

impl Exchanged {
    /// Adds bytes of a job from one GPU of a host to another.
    pub(crate) fn add(&mut self, job: u32, host: u32, gpus: [u32; 2], bytes: f64) {
        *self.0.entry((job, host, gpus)).or_default() += bytes;
    }

    /// By job, of so many; nothing where none of them sends any.
    pub(crate) fn by_job(self, fabric: &Fabric, jobs: usize) -> Vec<Vec<Exchange>> {
        let mut all = if self.0.is_empty() { Vec::new() } else { vec![Vec::new(); jobs] };
        for ((job, host, [source, target]), bytes) in self.0 {
            let links = fabric.inside_path(HostId(host), source, target);
            if bytes > 0.0 && !links.is_empty() {
                all[job as usize].push(Exchange { links, bytes });
            }
        }
        all
    }
}

/// By connection the links into its source NIC and out of its target NIC where hosts have PCIe switches: those that all
/// GPUs of the job on that NIC cross. Which of several sends a connection does not say, so the links of one of them alone
/// carry none of it; none of these carries more than that of the NIC, which all share.
pub(crate) fn links_inside(case: &Case, connections: &[Connection]) -> Vec<[Vec<LinkId>; 2]> {
    let fabric = &*case.fabric;
    if fabric.host_models().iter().all(|model| model.pcie_switches == 0) {
        return Vec::new();
    }
    let mut gpus: BTreeMap<(u32, DeviceId), Vec<u32>> = BTreeMap::new();
    for (job, places) in (0..).zip(&case.placements) {
        for place in places {
            let nic = fabric.host_model(place.host).nic_of_gpu(place.gpu);
            gpus.entry((job, fabric.nic(place.host, nic))).or_default().push(place.gpu);
        }
    }
    let into = |job: u32, nic: DeviceId| {
        let host = fabric.host_of(nic).expect("a NIC stands in a host");
        let plain = || fabric.pcie_into(nic).into_iter().collect();
        if fabric.host_model(host).pcie_switches == 0 {
            return plain();
        }
        let of = gpus.get(&(job, nic)).map_or(&[][..], Vec::as_slice);
        let mut ways = of.iter().map(|&gpu| fabric.into_nic(host, gpu, nic.0 - fabric.nic(host, 0).0));
        let Some(mut common) = ways.next() else { return plain() };
        ways.for_each(|way| common.retain(|link| way.contains(link)));
        common
    };
    let of = |one: &Connection| {
        let out = into(one.job, one.target).into_iter().rev().map(LinkId::reverse).collect();
        [into(one.job, one.source), out]
    };
    connections.iter().map(of).collect()
}

//! What connections cross inside hosts, between GPUs and NICs.
use std::collections::BTreeMap;

use railtwin_fabric::{DeviceId, LinkId};

use crate::case::Case;
use crate::choose::Connection;

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

//! What connections cross inside hosts, between GPUs and NICs.
use std::collections::BTreeMap;

use railtwin_fabric::{DeviceId, LinkId};

use crate::case::Case;
use crate::choose::Connection;

/// By connection the links into its source NIC and out of its target NIC where hosts have PCIe switches. A GPU's own link
/// is among them where its job has no other on that NIC: which of several sends a connection does not say, and none of
/// their links carries more than that of the NIC, which all share.
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
        match gpus.get(&(job, nic)).map(Vec::as_slice) {
            Some(&[gpu]) if fabric.host_model(host).pcie_switches > 0 => {
                fabric.into_nic(host, gpu, nic.0 - fabric.nic(host, 0).0)
            }
            _ => crate::pcie(fabric, nic).into_iter().collect(),
        }
    };
    let of = |one: &Connection| {
        let out = into(one.job, one.target).into_iter().rev().map(LinkId::reverse).collect();
        [into(one.job, one.source), out]
    };
    connections.iter().map(of).collect()
}

//! What ranks exchange with storage hosts and gateways, as edges between their NICs.
use railtwin_fabric::{Fabric, HostId};
use railtwin_workload::{Edge, HostLayout, Pattern, Shape, StorageWay};

use crate::case::Case;
use crate::members::members_of;

/// The shape of one communicator of a pattern, wherever its other ends are.
///
/// Rank `r` of a job has its bytes on one storage host, or is asked by one gateway: ranks of all jobs, counted one after
/// the other, go round them. Each rank is a bundle of its own.
pub(crate) fn shape_of_pattern(
    case: &Case,
    job: usize,
    pattern: &Pattern,
    communicator: &[u32],
    layout: &HostLayout,
) -> Shape {
    let members = members_of(case, job, communicator);
    let Some(way) = pattern.storage else {
        return pattern.shape(&members, layout);
    };
    let mut shape = Shape::default();
    let fabric = &*case.fabric;
    let hosts: Vec<HostId> = match way {
        StorageWay::Write | StorageWay::Read => fabric.storage_hosts().collect(),
        StorageWay::Request | StorageWay::Answer => fabric.gateways().collect(),
    };
    let before: usize = case.placements[..job].iter().map(Vec::len).sum();
    for member in members.iter().step_by(2) {
        let Some(&storage) = hosts.get((before + member.rank as usize) % hosts.len().max(1)) else {
            continue;
        };
        let (nic, of_storage) = nics(fabric, member.host, member.gpu, storage);
        let (rank, storage) = ((member.host, nic), (storage.0, of_storage));
        let (source, target) = match way {
            StorageWay::Write | StorageWay::Answer => (rank, storage),
            StorageWay::Read | StorageWay::Request => (storage, rank),
        };
        let edge = Edge::Network {
            source_host: source.0,
            source_nic: source.1,
            target_host: target.0,
            target_nic: target.1,
            amount: 1.0,
        };
        shape.push([edge], 1.0, 1, 1.0);
    }
    shape
}

/// The NIC by which a GPU of a host reaches a storage host, and the NIC of that: both of the frontend or of the backend, as
/// the storage host stands.
fn nics(fabric: &Fabric, host: u32, gpu: u32, storage: HostId) -> (u32, u32) {
    let model = fabric.host_model(HostId(host));
    match fabric.host_model(storage).frontend_nics {
        0 => (model.nic_of_gpu(gpu), 0),
        _ => (model.nics + gpu % model.frontend_nics.max(1), 0),
    }
}

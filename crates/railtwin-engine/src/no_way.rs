//! Whether the fabric has a way for all that a case sends, while nothing is broken.
use railtwin_fabric::{DeviceId, Fabric, HostId, Reach};
use railtwin_workload::{Edge, HostLayout, Member};

use crate::case::Case;
use crate::lower::layout_of;
use crate::members::members_of;
use crate::storage::shape_of_pattern;

/// A message that the fabric has no way for: its NICs meet on no switch, as those of two rails on a rail-only fabric
/// (HPN section 10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoWay {
    /// Job that sends it.
    pub job: u32,
    /// GPU that sends it, or over which it relays.
    pub source: DeviceId,
    /// NIC by which it leaves.
    pub source_nic: DeviceId,
    /// GPU that it is for.
    pub target: DeviceId,
    /// NIC of that GPU.
    pub target_nic: DeviceId,
    /// What would help.
    pub relay: Relay,
}

/// Whether a relay on the target's rail would have a way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relay {
    /// It would, and PXN is off.
    Off,
    /// It would over this GPU of the sending host, which is not the job's.
    NotOwn(DeviceId),
    /// No GPU of the host has a way, or nothing relays: rings and trees go from the NIC of one rank to that of the next.
    None,
}

impl NoWay {
    /// The first message of a case, in the order of jobs, patterns and edges, that has no way. Work: the switches of
    /// the fabric, and where it does not join all NICs every edge of the case.
    pub fn first(case: &Case) -> Option<Self> {
        let fabric = &*case.fabric;
        let reach = Reach::of(fabric);
        if reach.is_whole() {
            return None;
        }
        for (job, graph) in case.work.jobs.iter().enumerate() {
            let layout = layout_of(case, job);
            for pattern in &graph.plan.patterns {
                // Kernels of experts never relay, so nothing helps there.
                let pxn = layout.pxn || pattern.collective.is_of_experts();
                let layout = HostLayout { pxn, ..layout.clone() };
                for communicator in &pattern.communicators {
                    let members = members_of(case, job, communicator);
                    let shape = shape_of_pattern(case, job, pattern, communicator, &layout);
                    let found =
                        shape.edges.iter().find_map(|edge| of_edge(fabric, &reach, &layout, &members, edge));
                    if let Some(found) = found {
                        return Some(Self { job: job as u32, ..found });
                    }
                }
            }
        }
        None
    }
}

fn of_edge(
    fabric: &Fabric,
    reach: &Reach,
    layout: &HostLayout,
    members: &[Member],
    edge: &Edge,
) -> Option<NoWay> {
    let Edge::Network { source_host, source_nic, target_host, target_nic, .. } = *edge else { return None };
    let nic = |host: u32, nic: u32| fabric.nic(HostId(host), nic);
    let (from, to) = (nic(source_host, source_nic), nic(target_host, target_nic));
    if reach.meets(from, to) {
        return None;
    }
    if [source_host, target_host].iter().any(|&host| fabric.is_service(HostId(host))) {
        let (source, target) = (from, to);
        return Some(NoWay { job: 0, source, source_nic: from, target, target_nic: to, relay: Relay::None });
    }
    let gpu = |host: u32, nic: u32| {
        let member = members.iter().find(|member| (member.host, member.nic) == (host, nic));
        let host = HostId(host);
        fabric.gpu(host, member.map_or_else(|| fabric.host_model(host).gpu_of_nic(nic), |member| member.gpu))
    };
    let meets = reach.meets(nic(source_host, target_nic), to);
    let relay = match layout.not_own.get(&(source_host, target_nic)) {
        _ if !meets || !layout.nvlink || source_host == target_host => Relay::None,
        Some(None) => Relay::NotOwn(gpu(source_host, target_nic)),
        _ if !layout.pxn => Relay::Off,
        _ => Relay::None,
    };
    Some(NoWay {
        job: 0,
        source: gpu(source_host, source_nic),
        source_nic: from,
        target: gpu(target_host, target_nic),
        target_nic: to,
        relay,
    })
}

//! All-reduce with reduction in the NVSwitch: of one host, and of several whose rails then reduce their shares in rings.
use crate::collective::{Collective, bus_factor};
use crate::ring::ring;
use crate::shape::{Edge, HostLayout, Member, Shape, by_host};

/// The bundles of an NVLS all-reduce inside one host; rings over several hosts, where NCCL has NVLS with CollNet only.
/// Empty for fewer than two ranks.
pub fn nvls(members: &[Member], layout: &HostLayout) -> Shape {
    let one = members.iter().all(|member| member.host == members[0].host);
    if one { nvls_ring(members, layout) } else { ring(Collective::AllReduce, members, layout) }
}

/// The one bundle of an all-reduce inside one host of g ranks, (g + 1) / g of the buffer each way: every GPU is the head of a
/// g-th part. The switch reads each part at all GPUs, its head's own too, and hands the head the sum; the head writes it
/// once and the switch hands it to all. NCCL's search books its NVLink so (`ncclTopoSearchTryNvls` in its
/// src/graph/search.cc: two parts for a head, one for each other GPU, both ways).
pub(crate) fn in_one_switch(members: &[Member], bus_factor: f64) -> Shape {
    let mut shape = Shape::default();
    let amount = 1.0 + 1.0 / members.len() as f64;
    let edges = members.iter().map(|m| Edge::InSwitch { host: m.host, gpu: m.gpu, amount });
    shape.push(edges, 1.0, 2, bus_factor);
    shape
}

/// The bundles of an all-reduce in the NVSwitches, then in a ring among hosts on each rail: a hierarchical all-reduce
/// that NCCL does not have. Falls back to rings where hosts hold different numbers of ranks or have no NVSwitch, as
/// NCCL's NVLS algorithms do. Empty for fewer than two ranks.
pub fn nvls_ring(members: &[Member], layout: &HostLayout) -> Shape {
    let hosts = by_host(members);
    let local = hosts.first().map_or(0, Vec::len);
    if !layout.nvlink || local < 2 || hosts.iter().any(|host| host.len() != local) {
        return ring(Collective::AllReduce, members, layout);
    }
    let mut shape = Shape::default();
    let factor = bus_factor(Collective::AllReduce, members.len() as u32);
    if hosts.len() == 1 {
        return in_one_switch(members, factor);
    }
    let h = hosts.len() as f64;
    let share = 1.0 / local as f64;
    let volume = 2.0 * (h - 1.0) / h * share;
    for rail in 0..local {
        let mut edges = Vec::new();
        for (row, host) in hosts.iter().enumerate() {
            // Per byte of the rail's ring: every GPU sends its share up and takes the sum down.
            let amount = share / volume;
            edges.extend(host.iter().map(|m| Edge::InSwitch { host: m.host, gpu: m.gpu, amount }));
            let next = hosts[(row + 1) % hosts.len()][rail];
            edges.push(Edge::Network {
                source_host: host[rail].host,
                source_nic: host[rail].nic,
                target_host: next.host,
                target_nic: next.nic,
                amount: 1.0,
            });
        }
        shape.push_ring(edges, volume, (2 * (hosts.len() as u32 - 1) + 2, hosts.len()), factor);
    }
    shape
}

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
        // Each GPU sends its buffer up once and takes the sum down once.
        let edges = members.iter().map(|m| Edge::InSwitch { host: m.host, gpu: m.gpu, amount: 1.0 });
        shape.push(edges, 1.0, 2, factor);
        return shape;
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

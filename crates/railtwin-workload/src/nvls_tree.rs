//! NVLS with double binary trees among hosts in place of rings: NCCL's NVLSTree.
use crate::collective::{Collective, bus_factor};
use crate::nvls::in_one_switch;
use crate::ring::ring;
use crate::shape::{Edge, HostLayout, Member, Shape, by_host};
use crate::tree::double_binary_tree;

/// The bundles of an NVLS-tree all-reduce: one for each rail and tree. Falls back to rings where hosts hold
/// different numbers of ranks or have no NVSwitch, as NCCL does. Empty for fewer than two ranks.
pub fn nvls_tree(members: &[Member], layout: &HostLayout) -> Shape {
    let hosts = by_host(members);
    let local = hosts.first().map_or(0, Vec::len);
    if !layout.nvlink || local < 2 || hosts.iter().any(|host| host.len() != local) {
        return ring(Collective::AllReduce, members, layout);
    }
    let mut shape = Shape::default();
    let factor = bus_factor(Collective::AllReduce, members.len() as u32);
    // Each GPU sends its share of the buffer up once and takes the sum down once.
    let in_switch = |host: &[Member]| -> Vec<Edge> {
        host.iter().map(|m| Edge::InSwitch { host: m.host, gpu: m.gpu, amount: 1.0 }).collect()
    };
    if hosts.len() == 1 {
        return in_one_switch(members, factor);
    }
    let depth = hosts.len().next_power_of_two().trailing_zeros();
    for rail in 0..local {
        for tree in double_binary_tree(hosts.len() as u32) {
            let mut edges: Vec<Edge> = hosts.iter().flat_map(|host| in_switch(host)).collect();
            for (child, parent) in tree {
                let [child, parent] = [child, parent].map(|host| hosts[host as usize][rail]);
                edges.extend([(child, parent), (parent, child)].map(|(source, target)| Edge::Network {
                    source_host: source.host,
                    source_nic: source.nic,
                    target_host: target.host,
                    target_nic: target.nic,
                    amount: 1.0,
                }));
            }
            // Half of the rail's share up and half down on every edge, pipelined: the depth is paid twice.
            shape.push(edges, 0.5 / local as f64, 2 * depth + 2, factor);
        }
    }
    shape
}

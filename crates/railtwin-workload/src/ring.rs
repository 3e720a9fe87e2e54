//! Rings as NCCL lays them: one channel for each NIC of a host, every channel through all ranks.
//!
//! A channel enters a host by NIC `c` at GPU `c`, goes round the host's GPUs, comes back over NVLink to
//! GPU `c` and leaves by NIC `c`: hosts meet on one rail, and NVLink carries each channel once per GPU.
use crate::collective::{Collective, bus_factor};
use crate::shape::{Edge, HostLayout, Member, Shape, by_host, message};

/// The bundles of a ring collective over `members` in communicator order; empty for fewer than two ranks.
pub fn ring(collective: Collective, members: &[Member], layout: &HostLayout) -> Shape {
    let mut shape = Shape::default();
    let n = members.len() as u32;
    if n < 2 {
        return shape;
    }
    let factor = bus_factor(collective, n);
    let stages = if collective == Collective::AllReduce { 2 * (n - 1) } else { n - 1 };
    let hosts = by_host(members);
    if hosts.len() == 1 {
        let next = |i: usize| members[(i + 1) % members.len()];
        let edges = members.iter().enumerate().flat_map(|(i, &m)| message(layout, m, next(i), 1.0));
        shape.push_ring(edges, factor, (stages, members.len()), factor);
        return shape;
    }
    let channels = hosts.iter().map(Vec::len).min().unwrap_or(1);
    for channel in 0..channels {
        let mut edges = Vec::new();
        for (row, host) in hosts.iter().enumerate() {
            let entry = host[channel % host.len()];
            let next_host = &hosts[(row + 1) % hosts.len()];
            let next_entry = next_host[channel % next_host.len()];
            for step in 0..host.len() {
                let at = |i: usize| host[(channel + i) % host.len()];
                if host.len() > 1 {
                    edges.extend(message(layout, at(step), at(step + 1), 1.0));
                }
            }
            edges.push(Edge::Network {
                source_host: entry.host,
                source_nic: entry.nic,
                target_host: next_entry.host,
                target_nic: next_entry.nic,
                amount: 1.0,
            });
        }
        shape.push_ring(edges, factor / channels as f64, (stages, members.len()), factor);
    }
    shape
}

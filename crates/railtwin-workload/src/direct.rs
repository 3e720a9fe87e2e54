//! Every rank to every other at once: all-to-all, and gathers without a ring; and pairs for send/receive.
use crate::collective::{Collective, bus_factor};
use crate::shape::{Edge, HostLayout, Member, Shape, by_host, message};

/// The bundles of a direct exchange over `members`; empty for fewer than two ranks.
///
/// With PXN the messages of a host for one rank share that rank's rail: one bundle for each sending host
/// and receiving rank, its NVLink hops in step with it. Without, and for rails on which the job holds no GPU of the
/// sending host, one bundle for each pair of ranks.
/// The messages inside a host are one bundle.
pub fn direct(collective: Collective, members: &[Member], layout: &HostLayout) -> Shape {
    let mut shape = Shape::default();
    let n = members.len() as u32;
    if n < 2 {
        return shape;
    }
    let factor = bus_factor(collective, n);
    // What one rank sends to one other, for each byte of the operation.
    let part = factor / f64::from(n - 1);
    let hosts = by_host(members);
    for (row, host) in hosts.iter().enumerate() {
        let pairs = host.iter().flat_map(|&s| host.iter().map(move |&t| (s, t)));
        let inside = pairs.filter(|(s, t)| s.rank != t.rank);
        let edges = inside.flat_map(|(s, t)| message(layout, s, t, 1.0));
        shape.push(edges, part, 1, factor);
        for target in hosts.iter().enumerate().filter(|&(other, _)| other != row).flat_map(|(_, h)| h) {
            if let Some(relay) = layout.relay(host[0].host, target.nic) {
                shape.push(relayed(relay, host, *target), part * host.len() as f64, 1, factor);
            } else {
                for &source in host {
                    shape.push(message(layout, source, *target, 1.0), part, 1, factor);
                }
            }
        }
    }
    shape
}

/// All messages of one host for one rank, over GPU `relay` out of the NIC on that rank's rail.
fn relayed(relay: u32, host: &[Member], target: Member) -> Vec<Edge> {
    let amount = 1.0 / host.len() as f64;
    let hops = host.iter().filter(|m| m.gpu != relay).map(|m| Edge::Inside {
        host: m.host,
        source_gpu: m.gpu,
        target_gpu: relay,
        amount,
    });
    let mut edges: Vec<Edge> = hops.collect();
    edges.push(Edge::Network {
        source_host: host[0].host,
        source_nic: target.nic,
        target_host: target.host,
        target_nic: target.nic,
        amount: 1.0,
    });
    edges
}

/// The bundles of sends from `members[2i]` to `members[2i + 1]`, each free of the others.
pub fn pairs(members: &[Member], layout: &HostLayout) -> Shape {
    let mut shape = Shape::default();
    for pair in members.chunks_exact(2) {
        if pair[0].rank != pair[1].rank {
            shape.push(message(layout, pair[0], pair[1], 1.0), 1.0, 1, 1.0);
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvls::nvls_ring;
    use crate::nvls_tree::nvls_tree;
    use crate::ring::ring;
    use proptest::prelude::*;

    fn members(hosts: u32, gpus: u32) -> Vec<Member> {
        let member = |rank| Member { rank, host: rank / gpus, gpu: rank % gpus, nic: rank % gpus };
        (0..hosts * gpus).map(member).collect()
    }

    fn layout(gpus: u32, pxn: bool) -> HostLayout {
        HostLayout::new((0..gpus).collect(), true, pxn)
    }

    /// Bytes that leave each host by the network, for each byte of the operation.
    fn leaving(shape: &Shape, hosts: u32) -> Vec<f64> {
        let mut bytes = vec![0.0; hosts as usize];
        for bundle in &shape.bundles {
            for edge in shape.edges_of(bundle) {
                if let Edge::Network { source_host, amount, .. } = *edge {
                    bytes[source_host as usize] += amount * bundle.volume;
                }
            }
        }
        bytes
    }

    proptest! {
        #[test]
        fn a_direct_exchange_sends_every_part_once(hosts in 1u32..5, gpus in 1u32..9, pxn: bool) {
            let m = members(hosts, gpus);
            prop_assume!(m.len() > 1);
            let shape = direct(Collective::AllToAll, &m, &layout(gpus, pxn));
            let n = f64::from(hosts * gpus);
            let expected = f64::from(gpus) * (n - f64::from(gpus)) / n;
            for bytes in leaving(&shape, hosts) {
                prop_assert!((bytes - expected).abs() < 1e-9);
            }
            if pxn {
                for edge in &shape.edges {
                    if let Edge::Network { source_nic, target_nic, .. } = edge {
                        prop_assert_eq!(source_nic, target_nic);
                    }
                }
            }
        }

        #[test]
        fn rings_and_nvls_send_what_the_bus_factor_says(hosts in 2u32..6, gpus in 1u32..9) {
            let m = members(hosts, gpus);
            let shape = ring(Collective::AllReduce, &m, &layout(gpus, true));
            prop_assert_eq!(shape.bundles.len(), gpus as usize);
            for bytes in leaving(&shape, hosts) {
                prop_assert!((bytes - bus_factor(Collective::AllReduce, hosts * gpus)).abs() < 1e-9);
            }
            let shape = nvls_ring(&m, &layout(gpus, true));
            for bytes in leaving(&shape, hosts) {
                // Reduced inside first: each host sends what one rank of H would.
                prop_assert!(bytes <= bus_factor(Collective::AllReduce, hosts * gpus) + 1e-9);
                prop_assert!((bytes - bus_factor(Collective::AllReduce, hosts)).abs() < 1e-9);
            }
            let tree = nvls_tree(&m, &layout(gpus, true));
            if gpus > 1 {
                // Every edge of a tree carries half of a rail's share each way.
                let all: f64 = leaving(&tree, hosts).iter().sum();
                prop_assert!((all - 2.0 * f64::from(hosts - 1)).abs() < 1e-9);
            }
            let share: f64 = shape.bundles.iter().map(|b| b.bus_share).sum();
            prop_assert!(share <= 1.0 + 1e-9);
        }
    }

    #[test]
    fn without_pxn_a_message_keeps_its_own_nic() {
        let shape = direct(Collective::AllToAll, &members(2, 2), &layout(2, false));
        let crossing = shape.edges.iter().filter(
            |e| matches!(e, Edge::Network { source_nic, target_nic, .. } if source_nic != target_nic),
        );
        assert_eq!(crossing.count(), 4);
    }

    /// HPN section 10: tenants of a host do not relay over each other's GPUs.
    #[test]
    fn nobody_relays_over_the_gpus_of_others() {
        // GPUs 0 and 1 of host 0, all four of host 1.
        let place = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (1, 3)];
        let m: Vec<Member> =
            (0..).zip(place).map(|(rank, (host, gpu))| Member { rank, host, gpu, nic: gpu }).collect();
        let mut layout = layout(4, true);
        layout.not_own = [((0, 2), None), ((0, 3), None)].into();
        let shape = direct(Collective::AllToAll, &m, &layout);
        let mut own = 0;
        for edge in &shape.edges {
            match *edge {
                Edge::Inside { host: 0, target_gpu, .. } => assert!(target_gpu < 2, "{edge:?}"),
                Edge::Network { source_host: 0, source_nic, target_nic, .. } => {
                    assert!(source_nic < 2, "{edge:?}");
                    own += u32::from(source_nic != target_nic);
                }
                Edge::Network { source_nic, target_nic, .. } => assert_eq!(source_nic, target_nic),
                _ => {}
            }
        }
        // Two senders, two rails that they have no GPU on.
        assert_eq!(own, 4);
        assert!(leaving(&shape, 2).iter().all(|bytes| (bytes - 8.0 / 6.0).abs() < 1e-9));
        let lone = pairs(&[m[0], m[5]], &layout);
        assert!(matches!(lone.edges[..], [Edge::Network { source_nic: 0, target_nic: 3, .. }]));
        // Another GPU of the job on the same NIC relays in its place.
        layout.not_own.insert((0, 3), Some(1));
        assert!(matches!(pairs(&[m[0], m[5]], &layout).edges[0], Edge::Inside { target_gpu: 1, .. }));
    }

    #[test]
    fn a_send_to_another_rail_relays_over_nvlink() {
        let m = [Member { rank: 0, host: 0, gpu: 0, nic: 0 }, Member { rank: 9, host: 1, gpu: 1, nic: 1 }];
        let shape = pairs(&m, &layout(2, true));
        assert_eq!(shape.bundles.len(), 1);
        assert!(matches!(shape.edges[0], Edge::Inside { source_gpu: 0, target_gpu: 1, .. }));
        assert!(matches!(shape.edges[1], Edge::Network { source_nic: 1, target_nic: 1, .. }));
    }
}

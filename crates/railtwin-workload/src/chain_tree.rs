//! NCCL's tree: double binary trees among hosts, a chain over NVLink inside each.
//!
//! A channel's chain ends at GPU `c`, whose NIC `c` reaches the parent and the children of the host: the sum
//! goes along the chain and up the tree, the result down the tree and back along the chain.
use crate::collective::{Collective, bus_factor};
use crate::shape::{Edge, HostLayout, Member, Shape, by_host, message};
use crate::tree::double_binary_tree;

/// The bundles of a tree all-reduce over `members` in communicator order: one for each channel and tree, one
/// channel for each GPU that the least filled host has. Empty for fewer than two ranks.
pub fn chain_tree(members: &[Member], layout: &HostLayout) -> Shape {
    let mut shape = Shape::default();
    let n = members.len() as u32;
    if n < 2 {
        return shape;
    }
    let factor = bus_factor(Collective::AllReduce, n);
    let hosts = by_host(members);
    let channels = hosts.iter().map(Vec::len).min().unwrap_or(1);
    let trees = match hosts.len() {
        // Both trees are the bare chain.
        1 => vec![Vec::new()],
        count => double_binary_tree(count as u32).to_vec(),
    };
    let share = 1.0 / (channels * trees.len()) as f64;
    let longest = hosts.iter().map(Vec::len).max().unwrap_or(1) as u32;
    let depth = hosts.len().next_power_of_two().trailing_zeros();
    for channel in 0..channels {
        for tree in &trees {
            let mut edges: Vec<Edge> = hosts.iter().flat_map(|host| chain(layout, host, channel)).collect();
            for &(child, parent) in tree {
                let [child, parent] = [child, parent].map(|row| {
                    let host = &hosts[row as usize];
                    host[channel % host.len()]
                });
                edges.extend([(child, parent), (parent, child)].map(|(source, target)| Edge::Network {
                    source_host: source.host,
                    source_nic: source.nic,
                    target_host: target.host,
                    target_nic: target.nic,
                    amount: 1.0,
                }));
            }
            shape.push(edges, share, 2 * (depth + longest - 1), factor);
        }
    }
    shape
}

/// The sum towards GPU `channel` and the result back, along a chain of all ranks of a host.
fn chain(layout: &HostLayout, host: &[Member], channel: usize) -> Vec<Edge> {
    let at = |i: usize| host[(channel + i) % host.len()];
    let steps = (1..host.len()).flat_map(|i| [(at(i), at(i - 1)), (at(i - 1), at(i))]);
    steps.flat_map(|(source, target)| message(layout, source, target, 1.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn members(hosts: u32, gpus: u32) -> Vec<Member> {
        let member = |rank| Member { rank, host: rank / gpus, gpu: rank % gpus, nic: rank % gpus };
        (0..hosts * gpus).map(member).collect()
    }

    fn layout(gpus: u32) -> HostLayout {
        HostLayout::new((0..gpus).collect(), true, true)
    }

    /// Bytes out of every NIC and every GPU's NVLink, for each byte of the operation.
    fn sent(shape: &Shape, ranks: u32, gpus: u32) -> (Vec<f64>, Vec<f64>) {
        let (mut nics, mut nvlinks) = (vec![0.0; ranks as usize], vec![0.0; ranks as usize]);
        for bundle in &shape.bundles {
            for edge in shape.edges_of(bundle) {
                match *edge {
                    Edge::Network { source_host, source_nic, amount, .. } => {
                        nics[(source_host * gpus + source_nic) as usize] += amount * bundle.volume;
                    }
                    Edge::Inside { host, source_gpu, amount, .. } => {
                        nvlinks[(host * gpus + source_gpu) as usize] += amount * bundle.volume;
                    }
                    Edge::InSwitch { .. } => unreachable!("a tree reduces in GPUs"),
                }
            }
        }
        (nics, nvlinks)
    }

    proptest! {
        #[test]
        fn every_edge_of_both_trees_carries_half_of_a_channel_each_way(hosts in 1u32..40, gpus in 1u32..9) {
            prop_assume!(hosts * gpus > 1);
            let shape = chain_tree(&members(hosts, gpus), &layout(gpus));
            let (nics, nvlinks) = sent(&shape, hosts * gpus, gpus);
            // All edges up and down: 2 (h - 1) of the whole on the network, 2 (g - 1) in each host.
            let network: f64 = nics.iter().sum();
            prop_assert!((network - 2.0 * f64::from(hosts - 1)).abs() < 1e-9);
            // The channels' chains start one GPU apart: every GPU sends the same.
            for bytes in nvlinks {
                prop_assert!((bytes - 2.0 * f64::from(gpus - 1) / f64::from(gpus)).abs() < 1e-9);
            }
            // One parent and two children in one tree, one parent in the other: at most two shares of a
            // channel, and half a share more where the number of hosts is odd.
            for bytes in &nics {
                prop_assert!(*bytes <= 2.5 / f64::from(gpus) + 1e-9, "{}", bytes);
            }
            if hosts % 2 == 0 {
                prop_assert!(nics.iter().all(|bytes| *bytes <= 2.0 / f64::from(gpus) + 1e-9));
            }
            let volume: f64 = shape.bundles.iter().map(|bundle| bundle.volume).sum();
            prop_assert!((volume - 1.0).abs() < 1e-9, "all bundles together reduce the buffer once");
        }
    }

    #[test]
    fn both_trees_of_a_channel_carry_the_same() {
        let shape = chain_tree(&members(16, 8), &layout(8));
        assert_eq!(shape.bundles.len(), 16, "8 channels of two trees");
        for bundle in &shape.bundles {
            let network = |edge: &&Edge| matches!(edge, Edge::Network { .. });
            assert_eq!(shape.edges_of(bundle).iter().filter(network).count(), 2 * 15);
            assert_eq!(bundle.volume, 1.0 / 16.0);
        }
    }

    #[test]
    fn stages_grow_with_the_logarithm_of_the_hosts() {
        for (hosts, depth) in [(2, 1), (4, 2), (5, 3), (64, 6), (1024, 10)] {
            let shape = chain_tree(&members(hosts, 8), &layout(8));
            assert!(shape.bundles.iter().all(|bundle| bundle.stages == 2 * (depth + 7)), "{hosts} hosts");
        }
    }

    #[test]
    fn without_nvlink_the_chain_takes_the_nics() {
        let shape = chain_tree(&members(2, 2), &HostLayout { nvlink: false, ..layout(2) });
        assert!(shape.edges.iter().all(|edge| matches!(edge, Edge::Network { .. })));
        assert!(chain_tree(&members(1, 1), &layout(1)).bundles.is_empty());
    }
}

//! Parallel aggregated trees: NCCL's PAT for all-gather and reduce-scatter with one rank on each host (Jeaugey 2025,
//! arXiv 2506.20252; NCCL 2.23 and later, `PatAGAlgorithm` and `PatRSAlgorithm` of its src/include/collectives.h).
//!
//! Bruck's algorithm with its distances turned round. Every rank is the root of a binomial tree in which the rank `i`
//! places on hears from the one that is as many places less as the lowest set bit of `i` says. All trees move at once,
//! and what goes to the same rank in the same step travels together. So an all-gather first sends one part half way
//! round, at last half of all parts to the neighbor, and a reduce-scatter goes the same way backwards.
use crate::collective::{Collective, bus_factor};
use crate::ring::ring;
use crate::shape::{Edge, HostLayout, Member, Shape, by_host};

/// Steps of so many ranks: ⌈log₂ n⌉.
pub fn steps(ranks: u32) -> u32 {
    ranks.max(1).next_power_of_two().trailing_zeros()
}

/// Parts that a rank sends over a distance of `1 << bit` ranks: as many as there are numbers from 1 to `ranks - 1` whose
/// lowest set bit it is.
pub fn parts(ranks: u32, bit: u32) -> u32 {
    let below = u64::from(ranks.max(1) - 1);
    ((below >> bit) - (below >> (bit + 1))) as u32
}

/// One bundle: the edges of each step together, in the order of time. Rings where a host has several ranks, which NCCL's
/// PAT does not know. Empty for fewer than two ranks.
pub fn pat(collective: Collective, members: &[Member], layout: &HostLayout) -> Shape {
    let n = members.len() as u32;
    if by_host(members).len() < members.len() {
        return ring(collective, members, layout);
    }
    let mut shape = Shape::default();
    if n < 2 {
        return shape;
    }
    let factor = bus_factor(collective, n);
    let gathers = collective != Collective::ReduceScatter;
    let steps = steps(n);
    let mut edges = Vec::with_capacity(n as usize * steps as usize);
    for step in 0..steps {
        // NCCL gathers backwards and scatters forwards.
        let bit = if gathers { steps - 1 - step } else { step };
        let apart = 1_u32 << bit;
        let amount = f64::from(parts(n, bit)) / f64::from(n - 1);
        for (row, source) in (0..n).zip(members) {
            let target = if gathers { row + n - apart } else { row + apart } % n;
            let target = members[target as usize];
            edges.push(Edge::Network {
                source_host: source.host,
                source_nic: source.nic,
                target_host: target.host,
                target_nic: target.nic,
                amount,
            });
        }
    }
    shape.push_aggregated(edges, factor, steps, factor);
    shape
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn members(hosts: u32) -> Vec<Member> {
        (0..hosts).map(|rank| Member { rank, host: rank, gpu: 0, nic: 0 }).collect()
    }

    const LAYOUT: fn() -> HostLayout = || HostLayout::new(vec![0], false, true);

    /// By its steps alone, and no more parts in each than told, every rank gets every part once: in each step a rank sends
    /// on all that it has and whose way goes on there.
    #[test]
    fn every_part_reaches_every_rank_once() {
        for n in 2..70_u32 {
            let mut held: Vec<BTreeSet<u32>> = (0..n).map(|rank| BTreeSet::from([rank])).collect();
            for bit in (0..steps(n)).rev() {
                let apart = 1 << bit;
                let before = held.clone();
                for rank in 0..n {
                    let target = (rank + n - apart) % n;
                    // Places from the root to the target are an odd multiple of the distance, and fewer than all.
                    let goes = |root: &&u32| {
                        let places = (**root + n - rank) % n + apart;
                        places < n && places.trailing_zeros() == bit
                    };
                    let sent: Vec<u32> = before[rank as usize].iter().filter(goes).copied().collect();
                    assert_eq!(sent.len() as u32, parts(n, bit), "{n} ranks, distance {apart}");
                    for part in sent {
                        assert!(held[target as usize].insert(part), "{part} comes twice to {target} of {n}");
                    }
                }
            }
            assert!(held.iter().all(|parts| parts.len() == n as usize), "{n}");
        }
    }

    #[test]
    fn every_rank_sends_and_receives_what_the_bus_factor_says() {
        for n in 2..70 {
            for collective in [Collective::AllGather, Collective::ReduceScatter] {
                let shape = pat(collective, &members(n), &LAYOUT());
                let mut bytes = vec![[0.0; 2]; n as usize];
                for edge in shape.edges_of(&shape.bundles[0]) {
                    let Edge::Network { source_host, target_host, amount, .. } = *edge else {
                        panic!("{edge:?}")
                    };
                    assert_ne!(source_host, target_host);
                    bytes[source_host as usize][0] += amount * shape.bundles[0].volume;
                    bytes[target_host as usize][1] += amount * shape.bundles[0].volume;
                }
                let expected = bus_factor(collective, n);
                assert!(bytes.iter().flatten().all(|bytes| (bytes - expected).abs() < 1e-9), "{n}");
            }
        }
    }
}

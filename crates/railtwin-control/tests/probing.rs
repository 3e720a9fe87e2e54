//! Paths and faulty links found by probes, on simulated switches (C4 section III-B).

use std::collections::BTreeMap;

use crate::fabrics;
use fabrics::*;
use proptest::prelude::*;
use railtwin_control::paths::{Demand, JobId, LinkState, PathAllocator, ProbedPath, Prober, Reason, blame};
use railtwin_fabric::{CableClass, Fabric, LinkId};
use railtwin_routing::{FiveTuple, Forwarding, HashKey, LinkMask, NicPort, Routing, Seeds, nic_ip};
use railtwin_testkit::draws::any_ecmp;
use railtwin_testkit::fabrics::{network_cables, nics};
use railtwin_units::stream;

fn leaf_spine_links(fabric: &Fabric) -> Vec<LinkId> {
    let cables = network_cables(fabric)
        .into_iter()
        .filter(|&cable| fabric.cable_class(cable) == CableClass::LeafSpine);
    cables.flat_map(|cable| [cable.forward(), cable.backward()]).collect()
}

/// What becomes of ten packets along each path where `lossy` links lose all of them.
fn sent(mut probes: Vec<ProbedPath>, lossy: &LinkMask) -> Vec<ProbedPath> {
    for one in &mut probes {
        let crosses = one.path.links().iter().any(|&link| lossy.is_down(link));
        (one.sent, one.lost) = (10, if crosses { 10 } else { 0 });
    }
    probes
}

/// Every healthy path of two tiers is catalogued, by a source port that takes it, and a faulty link is found.
#[test]
fn every_healthy_path_is_catalogued_and_a_faulty_link_found() {
    for planes in [true, false] {
        let fabric = hpn(1, 3, 4, 6, planes);
        let ecmp = crc32(Seeds::PerTier);
        let forwarding = Forwarding::new(&fabric, &LinkMask::none(&fabric));
        let routing = Routing::new(&fabric, &forwarding, &ecmp);
        let mut lossy = LinkMask::none(&fabric);
        let bad = leaf_spine_links(&fabric)[17];
        lossy.set_link(bad, true);
        let probed = sent(Prober::new(routing, 7, 1000).plan(), &lossy);
        assert_eq!(blame(&probed), [bad]);
        let mut pairs: BTreeMap<(u32, u32), Vec<ProbedPath>> = BTreeMap::new();
        for one in probed {
            let links = one.path.links();
            let row = |device| fabric.switch_row(device).expect("a leaf");
            let ends = (row(fabric.target(links[0])), row(fabric.source(links[links.len() - 1])));
            pairs.entry(ends).or_default().push(one);
        }
        // Two rails and two planes of three leaves each; without planes every leaf reaches all others.
        let expected = if planes { 2 * 6 * 5 } else { 12 * 11 };
        assert_eq!(pairs.len(), expected - if planes { 0 } else { same_set(&fabric) });
        for (ends, paths) in &pairs {
            assert_eq!(paths.len(), 6, "one for each spine: {ends:?}");
            for one in paths {
                let key =
                    HashKey::of(FiveTuple::roce(nic_ip(one.source.nic), nic_ip(one.target), one.source_port));
                let mut links = Vec::new();
                routing.route(one.source, one.target, &key, &mut links).expect("alive");
                assert_eq!(links, one.path.links(), "the source port takes the path");
            }
        }

        // Told so, the allocator avoids the link and moves nothing else.
        let mut allocator = PathAllocator::new(&fabric, ecmp, &LinkMask::none(&fabric));
        for (job, &nic) in (0..).zip(&nics(&fabric)) {
            let target = nics(&fabric)[(nic_index(&fabric, nic) + 8) % 24];
            for port in 0..2 {
                let source = NicPort { nic, port };
                allocator
                    .allocate(JobId(job), &[Demand { source, target, queue_pairs: &[5, 6, 7], weight: 1 }]);
            }
        }
        let crossed = allocator.crossings(bad);
        let replan = allocator.replan(&[(bad, LinkState::Faulty)]);
        assert_eq!(
            (replan.moved.len() as u32, replan.ported.len(), allocator.crossings(bad)),
            (crossed, 0, 0)
        );
        assert!(all(&allocator).iter().all(|(_, given)| given.reason != Reason::OverFaulty));
        assert_sound(&fabric, &ecmp, &allocator);
    }
}

fn nic_index(fabric: &Fabric, nic: railtwin_fabric::DeviceId) -> usize {
    nics(fabric).iter().position(|&other| other == nic).expect("a NIC of the fabric")
}

/// Ordered pairs of leaves of which the one delivers to servers of the other itself, so that no path goes up.
fn same_set(fabric: &Fabric) -> usize {
    let forwarding = Forwarding::new(fabric, &LinkMask::none(fabric));
    (0..forwarding.target_count())
        .map(|target| forwarding.leaves(railtwin_routing::TargetId::from_index(target)).len())
        .map(|leaves| leaves * (leaves - 1))
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What was lost is explained, nothing sound is blamed, and what is blamed is what is lossy where it is alone.
    #[test]
    fn no_sound_link_that_a_probe_crossed_is_blamed(
        fabric in any_fabric(), ecmp in any_ecmp(), seed: u64,
        bad in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
    ) {
        let forwarding = Forwarding::new(&fabric, &LinkMask::none(&fabric));
        let routing = Routing::new(&fabric, &forwarding, &ecmp);
        let mut lossy = LinkMask::none(&fabric);
        let links = leaf_spine_links(&fabric);
        for index in bad.iter().filter(|_| !links.is_empty()) {
            lossy.set_link(*index.get(&links), true);
        }
        let probed = sent(Prober::new(routing, seed, 200).plan(), &lossy);
        let faulty = blame(&probed);
        for one in &probed {
            let blamed = one.path.links().iter().any(|link| faulty.binary_search(link).is_ok());
            prop_assert_eq!(one.lost > 0, blamed, "the healthy paths are those that were reached");
        }
        prop_assert_eq!(&probed, &sent(Prober::new(routing, seed, 200).plan(), &lossy));
    }

    /// One link that loses by chance is found by a survey in which it lost anything on two paths or more, and nothing
    /// else is: what crosses other links arrives on most of their paths.
    #[test]
    fn a_link_that_loses_by_chance_is_found(seed: u64, bad: prop::sample::Index, loss in 0.02f64..0.5) {
        let fabric = hpn(1, 4, 4, 6, true);
        let ecmp = crc32(Seeds::PerTier);
        let forwarding = Forwarding::new(&fabric, &LinkMask::none(&fabric));
        let links = leaf_spine_links(&fabric);
        let bad = *bad.get(&links);
        let mut probed = Prober::new(Routing::new(&fabric, &forwarding, &ecmp), seed, 200).plan();
        let mut draw = seed;
        for one in &mut probed {
            one.sent = 400;
            if one.path.links().contains(&bad) {
                for _ in 0..one.sent {
                    draw = stream::mix(draw);
                    one.lost += u32::from((draw >> 11) as f64 / (1u64 << 53) as f64 <= loss);
                }
            }
        }
        prop_assert_eq!(blame(&probed), [bad]);
    }
}

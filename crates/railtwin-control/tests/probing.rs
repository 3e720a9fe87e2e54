//! Paths and faulty links found by probes, on simulated switches (C4 section III-B).

use crate::fabrics;
use fabrics::*;
use proptest::prelude::*;
use railtwin_control::paths::{Answer, Demand, JobId, LinkState, PathAllocator, Prober, Reason, Replay};
use railtwin_fabric::{CableClass, Fabric, LinkId};
use railtwin_routing::{Forwarding, LinkMask, NicPort, Routing, Seeds};
use railtwin_testkit::draws::any_ecmp;
use railtwin_testkit::fabrics::{network_cables, nics};

fn leaf_spine_links(fabric: &Fabric) -> Vec<LinkId> {
    let cables = network_cables(fabric)
        .into_iter()
        .filter(|&cable| fabric.cable_class(cable) == CableClass::LeafSpine);
    cables.flat_map(|cable| [cable.forward(), cable.backward()]).collect()
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
        let mut replay = Replay { routing, lossy };
        let survey = Prober::new(routing, 7, 1000).survey(&mut replay);
        assert_eq!((survey.faulty.as_slice(), survey.unexplained), (&[bad][..], 0));
        // Two rails and two planes of three leaves each; without planes every leaf reaches all others.
        let pairs = if planes { 2 * 6 * 5 } else { 12 * 11 };
        assert_eq!(survey.paths.len(), pairs - if planes { 0 } else { same_set(&fabric) });
        for (&(source, target), paths) in &survey.paths {
            let spines = 6;
            assert_eq!(paths.len(), spines, "{source} to {target}");
            let lost = paths.iter().filter(|one| one.answer == Answer::Lost).count();
            assert_eq!(survey.healthy(source, target).count(), spines - lost);
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
        let survey = Prober::new(routing, seed, 200).survey(&mut Replay { routing, lossy: lossy.clone() });
        prop_assert_eq!(survey.unexplained, 0);
        for one in survey.paths.values().flatten() {
            let crosses = one.path.links().iter().any(|&link| lossy.is_down(link));
            prop_assert_eq!(one.answer, if crosses { Answer::Lost } else { Answer::Reached });
            let blamed = one.path.links().iter().any(|link| survey.faulty.contains(link));
            prop_assert_eq!(crosses, blamed, "the healthy paths are those that were reached");
        }
        let again = Prober::new(routing, seed, 200).survey(&mut Replay { routing, lossy });
        prop_assert_eq!(survey, again);
    }
}

//! Paths and faulty links found by probes, on simulated switches (C4 section III-B).

use std::collections::BTreeMap;

use crate::fabrics;
use fabrics::*;
use proptest::prelude::*;
use railtwin_control::controller::{Action, Answer, Controller, Decision, Event, Opening, Replan};
use railtwin_control::paths::{
    C4p, Demand, JobId, LinkState, PathAllocator, ProbedPath, Prober, Probing, Reason, blame,
};
use railtwin_control::te::{LinkReport, Subject};
use railtwin_fabric::{CableClass, Fabric, LinkId};
use railtwin_routing::{FiveTuple, Forwarding, HashKey, LinkMask, NicPort, Routing, Seeds, nic_ip};
use railtwin_testkit::draws::any_ecmp;
use railtwin_testkit::fabrics::{network_cables, nics};
use railtwin_units::{SimTime, stream};

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

/// C4P's master on a fabric of eight spines, whose surveys are answered by hand.
struct Surveyed<'a> {
    master: C4p<'a>,
    asked: Vec<Vec<Decision>>,
}

impl<'a> Surveyed<'a> {
    fn new(fabric: &'a Fabric) -> Self {
        let period = SimTime::from_ns(1_000);
        let probing = Probing { period, packets: 10, paths: 64, clean: 2, seed: 3 };
        let replan = Replan::AtOnce;
        let master = C4p::new(fabric, crc32(Seeds::PerTier), replan, false).with_probing(probing);
        Self { master, asked: Vec::new() }
    }

    /// Asks at `us`; how many queue pairs move.
    fn ask(&mut self, us: u64) -> usize {
        let mut decisions = Vec::new();
        self.master.decide(SimTime::from_ns(us * 1_000), &mut decisions);
        let is_probe = |one: &Decision| matches!(one.action, Action::Probe { .. });
        let (probes, others): (Vec<_>, Vec<_>) = decisions.into_iter().partition(is_probe);
        if !probes.is_empty() {
            self.asked.push(probes);
        }
        others.len()
    }

    /// Answers the oldest survey: `lossy` links lose all.
    fn answer(&mut self, us: u64, routing: &Routing<'_>, lossy: &LinkMask) {
        let answers: Vec<Answer> = self
            .asked
            .remove(0)
            .iter()
            .map(|one| {
                let Action::Probe { source, target, source_port, packets } = one.action else {
                    unreachable!("only probes are kept")
                };
                let key = HashKey::of(FiveTuple::roce(nic_ip(source.nic), nic_ip(target), source_port));
                let mut path = Vec::new();
                let landed = routing.route(source, target, &key, &mut path).is_ok();
                let arrives = landed && !path.iter().any(|&link| lossy.is_down(link));
                Answer::of(packets, if arrives { 0 } else { packets })
            })
            .collect();
        self.master.on_event(SimTime::from_ns(us * 1_000), &Event::Probed(&answers));
    }

    fn tell(&mut self, us: u64, link: LinkId, up: bool, version: u64) {
        let time = SimTime::from_ns(us * 1_000);
        let report = LinkReport { time, subject: Subject::Cable(link.cable()), up, version };
        self.master.on_event(time, &Event::Link(report));
    }
}

/// A lossy link that dies and returns is found again, and a survey waits for the answers of the one before.
#[test]
fn a_lossy_link_is_found_again_after_it_was_dead() {
    let fabric = hpn(1, 3, 4, 6, true);
    let ecmp = crc32(Seeds::PerTier);
    let forwarding = Forwarding::new(&fabric, &LinkMask::none(&fabric));
    let routing = Routing::new(&fabric, &forwarding, &ecmp);
    let all = nics(&fabric);
    let numbers: Vec<u32> = (0..12).collect();
    let openings: Vec<Opening<'_>> = (0..all.len())
        .map(|row| Opening {
            job: JobId(0),
            source: all[row],
            target: all[(row + 8) % all.len()],
            ports: 2,
            first: 12 * row as u32,
            numbers: &numbers,
            bytes: 1.0,
            inside: None,
        })
        .collect();
    let mut c4p = Surveyed::new(&fabric);
    c4p.master.on_event(SimTime::ZERO, &Event::Opened(&openings));
    assert_eq!(c4p.ask(0), 12 * all.len());
    let bad = leaf_spine_links(&fabric)[17];
    let (mut lossy, none) = (LinkMask::none(&fabric), LinkMask::none(&fabric));
    lossy.set_link(bad, true);
    // However long answers take, one survey is under way.
    assert_eq!((c4p.ask(1), c4p.ask(2), c4p.asked.len()), (0, 0, 1));
    assert_eq!(c4p.master.next_time(), SimTime::NEVER, "only answers move it");
    c4p.answer(2, &routing, &lossy);
    assert_eq!(c4p.master.next_time(), SimTime::from_ns(2_000), "the period that begins with them");
    let moved = c4p.ask(2);
    assert!(moved > 0, "who crossed it leaves it");
    // It dies and returns, and loses still: moved onto when it is back, off again when probes say so.
    c4p.tell(2, bad, false, 1);
    c4p.ask(2);
    c4p.tell(2, bad, true, 2);
    let back = c4p.ask(2);
    assert!(back > 0, "its load is evened out");
    c4p.ask(3);
    c4p.answer(3, &routing, &lossy);
    assert!(c4p.ask(3) > 0, "found again");
    // Two clean surveys, and it is used again.
    for us in [4, 5] {
        c4p.ask(us);
        c4p.answer(us, &routing, &none);
        let moved = c4p.ask(us);
        assert_eq!(moved > 0, us == 5, "at {us} us");
    }
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

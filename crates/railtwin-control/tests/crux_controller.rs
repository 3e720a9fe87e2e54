//! Crux's controller on random fabrics: what it tells whom, and the ways that it chooses from.
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use railtwin_control::controller::{
    Action, Arrival, Controller, Decision, Event, Opening, Replan, StepDemand,
};
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_control::crux::{CruxController, CruxOptions};
use railtwin_control::paths::{JobId, PortWays};
use railtwin_control::te::{LinkReport, Subject};
use railtwin_fabric::{DeviceId, Fabric};
use railtwin_routing::{LinkMask, NicPort, Seeds};
use railtwin_testkit::fabrics::nics;
use railtwin_units::SimTime;

use crate::fabrics::*;

const PAIRS: u32 = 2;

fn ports(fabric: &Fabric, nic: DeviceId) -> u32 {
    ((0..).take_while(|&port| fabric.access_link(nic, port).is_some()).count() as u32).max(1)
}

/// A job comes, its NICs in a ring; returns the row behind its queue pairs.
fn comes(
    fabric: &Fabric,
    controller: &mut CruxController<'_>,
    now: SimTime,
    (job, ring, first): (u32, &[DeviceId], u32),
) -> u32 {
    let numbers: Vec<u32> = (100..100 + PAIRS).collect();
    let ends = ring.iter().zip(ring.iter().cycle().skip(1)).filter(|(a, b)| a != b);
    let openings: Vec<Opening<'_>> = (0..)
        .zip(ends)
        .map(|(row, (&source, &target))| Opening {
            job: JobId(job),
            source,
            target,
            ports: ports(fabric, source),
            first: first + PAIRS * row,
            numbers: &numbers,
            bytes: 1e9 * f64::from(job + 1),
            inside: None,
        })
        .collect();
    let compute = SimTime::from_ns(1_000_000 * u64::from(job % 3 + 1));
    let step = StepDemand { gpus: 8, compute, in_line: compute, work: 8.0 * compute.seconds() };
    controller.on_event(now, &Event::Arrived(Arrival { job: JobId(job), step, exchanges: &[] }));
    controller.on_event(now, &Event::Opened(&openings));
    first + PAIRS * openings.len() as u32
}

fn decided(controller: &mut CruxController<'_>, now: SimTime) -> Vec<Decision> {
    let mut decisions = Vec::new();
    controller.decide(now, &mut decisions);
    decisions
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ways_are_all_that_the_tried_ports_reach(fabric in any_fabric(), picks in any::<[prop::sample::Index; 2]>()) {
        let ecmp = crc32(Seeds::PerSwitch);
        let everywhere = nics(&fabric);
        let [source, target] = [picks[0].get(&everywhere), picks[1].get(&everywhere)].map(|&nic| nic);
        prop_assume!(source != target);
        let mut ways = PortWays::new(&fabric, ecmp, &LinkMask::none(&fabric), false);
        let from = NicPort { nic: source, port: 0 };
        let found = ways.of(from, target, 7, 4096);
        let reached: BTreeSet<_> =
            ways.tried(from, target).filter_map(|port| ways.path(from, target, 7, port)).collect();
        let named: BTreeSet<_> = found.iter().map(|way| way.path).collect();
        prop_assert_eq!(named.len(), found.len());
        prop_assert_eq!(named, reached);
        for way in &found {
            prop_assert_eq!(ways.path(from, target, 7, way.source_port), Some(way.path));
        }
        // Fewer where fewer are asked for, the same first.
        let few = ways.of(from, target, 7, 2);
        prop_assert_eq!(&few[..], &found[..found.len().min(2)]);
    }

    #[test]
    fn who_comes_is_told_at_once_and_others_when_replan_says(
        fabric in any_fabric(),
        rings in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 2..5), 1..5),
        policy in prop::sample::select(SharingPolicy::ALL.to_vec()),
        levels in 1u32..9,
        replans in any::<bool>(),
    ) {
        let ecmp = crc32(Seeds::PerSwitch);
        let everywhere = nics(&fabric);
        let options = CruxOptions { policy, levels, ways: 64, profile: None, seed: 5 };
        let replan = if replans { Replan::After(SimTime::from_ns(10)) } else { Replan::Never };
        let mut crux = CruxController::new(&fabric, ecmp, replan, false, options);
        prop_assert!(decided(&mut crux, SimTime::ZERO).is_empty());
        let (mut first, mut now) = (0, SimTime::from_ns(1));
        let mut held: BTreeMap<u32, Option<u16>> = BTreeMap::new();
        let mut priorities: BTreeMap<u32, u8> = BTreeMap::new();
        for (job, picks) in (0..).zip(&rings) {
            let mut ring: Vec<DeviceId> = picks.iter().map(|pick| *pick.get(&everywhere)).collect();
            ring.dedup();
            if ring.len() < 2 {
                continue;
            }
            let next = comes(&fabric, &mut crux, now, (job, &ring, first));
            let mut told = 0;
            for one in decided(&mut crux, now) {
                match one.action {
                    Action::Path { queue_pair, source_port } => {
                        prop_assert!((first..next).contains(&queue_pair), "{one:?}");
                        prop_assert!(held.insert(queue_pair, source_port).is_none());
                        prop_assert!(source_port.is_some());
                        told += 1;
                    }
                    Action::Priority { job: of, priority } => {
                        prop_assert_eq!(of, JobId(job));
                        prop_assert!(u32::from(priority) < levels);
                        priorities.insert(job, priority);
                    }
                    other => prop_assert!(false, "{other:?}"),
                }
            }
            prop_assert_eq!(told, next - first);
            prop_assert!(priorities.contains_key(&job));
            first = next;
            // Others are told later, and only what is new to them.
            now += SimTime::from_ns(10);
            prop_assert_eq!(crux.next_time() == now, replans, "{:?}", crux.next_time());
            for one in decided(&mut crux, now) {
                prop_assert!(replans);
                match one.action {
                    Action::Path { queue_pair, source_port } => {
                        prop_assert!(policy.chooses_paths());
                        prop_assert!(held.insert(queue_pair, source_port) != Some(source_port));
                    }
                    Action::Priority { job, priority } => {
                        prop_assert!(priorities.insert(job.0, priority) != Some(priority));
                    }
                    other => prop_assert!(false, "{other:?}"),
                }
            }
            now += SimTime::from_ns(1);
        }
        // What is told is what ranks say, and nobody is told twice.
        for standing in crux.standings() {
            if let Some(&told) = priorities.get(&standing.job.0) {
                prop_assert_eq!(standing.priority, told);
            }
        }
        prop_assert!(decided(&mut crux, now).is_empty());
    }

    #[test]
    fn dead_links_are_left_and_their_queue_pairs_alone_need_to_move(
        fabric in any_fabric(),
        picks in any::<[prop::sample::Index; 2]>(),
    ) {
        let ecmp = crc32(Seeds::PerSwitch);
        let everywhere = nics(&fabric);
        let ring = [*picks[0].get(&everywhere), *picks[1].get(&everywhere)];
        prop_assume!(ring[0] != ring[1]);
        let options =
            CruxOptions { policy: SharingPolicy::Crux, levels: 8, ways: 64, profile: None, seed: 5 };
        let mut crux = CruxController::new(&fabric, ecmp, Replan::AtOnce, false, options);
        comes(&fabric, &mut crux, SimTime::ZERO, (0, &ring, 0));
        let before: BTreeMap<u32, u16> = decided(&mut crux, SimTime::ZERO).iter().filter_map(port).collect();
        let none = LinkMask::none(&fabric);
        let ways = PortWays::new(&fabric, ecmp, &none, false);
        let from = NicPort { nic: ring[0], port: 0 };
        let path = ways.path(from, ring[1], 100, before[&0]).expect("it was told");
        prop_assume!(!path.beyond_access().is_empty());
        let dead = path.beyond_access()[0];
        let now = SimTime::from_ns(5);
        for link in [dead, dead.reverse()] {
            let subject = Subject::Link(link);
            crux.on_event(now, &Event::Link(LinkReport { time: now, subject, up: false, version: 1 }));
        }
        let mut mask = none;
        mask.set_cable(dead.cable(), true);
        let after = PortWays::new(&fabric, ecmp, &mask, false);
        let mut held = before;
        held.extend(decided(&mut crux, now).iter().filter_map(port));
        if let Some(path) = after.path(from, ring[1], 100, held[&0]) {
            prop_assert!(!path.links().contains(&dead));
        }
    }
}

fn port(decision: &Decision) -> Option<(u32, u16)> {
    match decision.action {
        Action::Path { queue_pair, source_port } => source_port.map(|port| (queue_pair, port)),
        _ => None,
    }
}

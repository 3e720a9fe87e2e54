//! Probes: latency against baselines, and who is not reached.
use railtwin_diagnosis::Detector;
use railtwin_diagnosis::rules::{
    BaselineStore, ElasticTimeout, LatencyBaseline, Limits, PathKey, Reachability, link_component,
};
use railtwin_fabric::LinkId;
use railtwin_records::{Batch, Component, Counter, FaultKind, Finding, NOT_YET, Syndrome};

use crate::rules::fixture::{SECOND, World, add, named, small};

/// A round of probes over all flows: delay and losses (of 10) by flow.
fn round(world: &World, second: u64, probe: impl Fn(usize) -> (u64, u32)) -> Batch {
    let time_ns = second * SECOND;
    let mut batch = Batch { until_ns: time_ns, ..Batch::default() };
    for flow in 0..world.directory.flows.len() {
        let (delay_ns, lost) = probe(flow);
        // A few nanoseconds of jitter, the same in every run.
        let jitter = (flow as u64 * 7 + second * 13) % 11;
        batch.probes.push(
            time_ns,
            flow as u32,
            false,
            10,
            lost,
            if lost == 10 { 0 } else { delay_ns + jitter },
            0.0,
        );
    }
    batch
}

fn crosses(world: &World, flow: usize, link: u32) -> bool {
    world.directory.flows[flow].links.contains(&link)
}

fn through(world: &World, flow: usize, switch: &str) -> bool {
    let device = world.fabric.switch_named(switch).unwrap();
    world.directory.flows[flow].links.iter().any(|&link| world.fabric.target(LinkId(link)) == device)
}

/// Learns for 20 rounds, then adds a delay for 8.
fn delayed(world: &World, detector: &mut dyn Detector, added: impl Fn(usize) -> u64) -> Vec<Finding> {
    let mut found = Vec::new();
    for second in 0..28 {
        let late = |flow: usize| if second < 20 { 5000 } else { 5000 + added(flow) };
        found.extend(world.feed(detector, &round(world, second, |flow| (late(flow), 0))));
    }
    found
}

#[test]
fn a_switch_that_takes_longer_is_named_with_what_it_adds() {
    let world = small();
    let mut detector = LatencyBaseline::new(Limits::default());
    let found =
        delayed(&world, &mut detector, |flow| if through(&world, flow, "spine-1") { 2000 } else { 0 });
    assert_eq!(found.len(), 1, "{:?}", found.iter().map(named).collect::<Vec<_>>());
    assert_eq!(named(&found[0]), [Component::Switch("spine-1".into())]);
    assert_eq!((found[0].syndrome, found[0].faults[0]), (Syndrome::Latency, FaultKind::Latency));
    assert!((found[0].evidence[0].value - 2000.0).abs() < 20.0, "{:?}", found[0].evidence[0]);
    assert!(found[0].confidence >= 0.85);
}

#[test]
fn a_link_that_takes_longer_is_told_from_its_switches() {
    let world = small();
    let link = world.link("leaf-2", "spine-0");
    let mut detector = LatencyBaseline::new(Limits::default());
    let found = delayed(&world, &mut detector, |flow| if crosses(&world, flow, link) { 3000 } else { 0 });
    assert_eq!(found.len(), 1);
    assert_eq!(named(&found[0]), [link_component(&world.fabric, LinkId(link))]);
}

#[test]
fn a_fifth_more_is_borne_and_what_is_beyond_is_told() {
    let world = small();
    let told = |added: u64| {
        let mut detector = LatencyBaseline::new(Limits::default());
        delayed(&world, &mut detector, |flow| if through(&world, flow, "spine-1") { added } else { 0 }).len()
    };
    assert_eq!((told(980), told(1020)), (0, 1));
}

#[test]
fn delay_beside_drops_is_congestion_first() {
    let world = small();
    let mut detector = LatencyBaseline::new(Limits::default());
    let leaf = world.entity(Component::Switch("spine-1".into()));
    let mut found = Vec::new();
    for second in 0..28 {
        let slow = |flow: usize| second >= 20 && through(&world, flow, "spine-1");
        let mut batch = round(&world, second, |flow| (if slow(flow) { 9000 } else { 5000 }, 0));
        add(&mut batch, second * SECOND, Counter::Drops, &[(leaf, if second < 20 { 0.0 } else { 500.0 })]);
        found.extend(world.feed(&mut detector, &batch));
    }
    assert!(found[0].faults[0] != FaultKind::Latency && found[0].confidence < 0.5);
}

#[test]
fn a_baseline_of_before_finds_what_was_slow_from_the_start() {
    let world = small();
    let mut learnt = LatencyBaseline::new(Limits::default());
    assert!(delayed(&world, &mut learnt, |_| 0).is_empty());
    let store: BaselineStore = learnt.baselines().clone();
    assert_eq!(store.len(), world.directory.flows.len());
    let key = PathKey::of(&world.directory.flows[0]);
    assert!((store.get(&key, false).unwrap().0 - 5005.0).abs() < 6.0);
    assert_eq!(store.get(&key, true), None);
    let mut detector = LatencyBaseline::with_baselines(Limits::default(), store);
    let mut found = Vec::new();
    for second in 0..6 {
        let slow = |flow: usize| if through(&world, flow, "spine-0") { 8000 } else { 5000 };
        found.extend(world.feed(&mut detector, &round(&world, second, |flow| (slow(flow), 0))));
    }
    assert_eq!(found.iter().map(named).collect::<Vec<_>>(), [[Component::Switch("spine-0".into())]]);
}

#[test]
fn load_has_its_own_baseline() {
    let world = small();
    let mut detector = LatencyBaseline::new(Limits::default());
    for second in 0..60 {
        let loaded = second % 2 == 1;
        let mut batch = round(&world, second, |_| (if loaded { 20_000 } else { 5000 }, 0));
        batch.probes.loaded.iter_mut().for_each(|row| *row = loaded);
        assert!(world.feed(&mut detector, &batch).is_empty());
    }
}

/// Rounds of ten probes of which some are lost from the second round on.
fn lost(world: &World, rounds: u64, lost: impl Fn(usize) -> u32) -> Vec<Finding> {
    let mut detector = Reachability::new(Limits::default());
    let mut found = Vec::new();
    for second in 0..rounds {
        let batch = round(world, second, |flow| (5000, if second < 2 { 0 } else { lost(flow) }));
        found.extend(world.feed(&mut detector, &batch));
    }
    found
}

#[test]
fn a_dead_row_a_dead_column_and_both_are_told_apart() {
    let world = small();
    let (source, target) = (
        |flow: usize| &world.directory.flows[flow].source_nic,
        |flow: usize| &world.directory.flows[flow].target_nic,
    );
    let nic = Component::Nic("host-6/nic-0".into());
    let up = world.access(6);
    let row = lost(&world, 3, |flow| if source(flow) == "host-6/nic-0" { 10 } else { 0 });
    assert_eq!(named(&row[0]), [link_component(&world.fabric, LinkId(up)), nic.clone()]);
    let column = lost(&world, 3, |flow| if target(flow) == "host-6/nic-0" { 10 } else { 0 });
    assert_eq!(named(&column[0]), [link_component(&world.fabric, LinkId(up ^ 1)), nic.clone()]);
    let dead = |flow: usize| [source(flow), target(flow)].contains(&&"host-6/nic-0".to_owned());
    let both = lost(&world, 3, |flow| if dead(flow) { 10 } else { 0 });
    assert_eq!(named(&both[0]), [world.context().cable_of(up).unwrap(), nic]);
    for found in [row, column, both] {
        assert_eq!((found.len(), found[0].faults[0]), (1, FaultKind::Down));
    }
}

#[test]
fn a_link_that_says_up_and_carries_nothing_is_a_black_hole() {
    let world = small();
    let link = world.link("leaf-2", "spine-0");
    let mut detector = Reachability::new(Limits::default());
    let mut found = Vec::new();
    for second in 0..4 {
        let dead = |flow: usize| second >= 2 && crosses(&world, flow, link);
        let mut batch = round(&world, second, |flow| (5000, if dead(flow) { 10 } else { 0 }));
        add(
            &mut batch,
            second * SECOND,
            Counter::LinkUp,
            &[(world.port(link), 1.0), (world.port(link ^ 1), 1.0)],
        );
        found.extend(world.feed(&mut detector, &batch));
    }
    assert_eq!(found.iter().map(named).collect::<Vec<_>>(), [[link_component(&world.fabric, LinkId(link))]]);
    assert!(found[0].advice.contains("black hole"), "{}", found[0].advice);
}

#[test]
fn loss_is_told_from_three_probes_on_and_as_loss() {
    let world = small();
    let link = world.link("spine-1", "leaf-3");
    assert!(lost(&world, 4, |flow| u32::from(crosses(&world, flow, link))).is_empty());
    let found = lost(&world, 8, |flow| u32::from(crosses(&world, flow, link)));
    let component = link_component(&world.fabric, LinkId(link));
    // Three may be bad luck, and clear nobody; five are none.
    let [first, .., last] = &found[..] else { panic!("{found:?}") };
    assert!(named(first).contains(&component) && named(first).len() > 1, "{first:?}");
    assert_eq!(named(last), [component]);
    assert!(found.iter().all(|finding| finding.faults == [FaultKind::Lossy]));
}

#[test]
fn half_an_hour_without_an_end_is_told_without_a_name() {
    let world = small();
    let mut detector = ElasticTimeout::new(Limits::default());
    let mut batch = Batch { until_ns: 10 * SECOND, ..Batch::default() };
    for rank in 0..16 {
        batch.operations.push(0, rank, 0, 0, 8 * SECOND, 9 * SECOND);
        batch.operations.push(0, rank, 1, 0, 9 * SECOND, if rank == 0 { 10 * SECOND } else { NOT_YET });
    }
    assert!(world.feed(&mut detector, &batch).is_empty());
    let mut found = Vec::new();
    detector.judge(&world.context(), 1810 * SECOND, &mut found);
    assert!(found.is_empty());
    detector.judge(&world.context(), 1811 * SECOND, &mut found);
    assert_eq!((found.len(), found[0].suspects.len()), (1, 0));
    // Nothing was sampled between the batch with the last end and the first judgement.
    assert_eq!((found[0].since.from_ns, found[0].since.until_ns), (0, 1810 * SECOND));
    detector.judge(&world.context(), 4000 * SECOND, &mut found);
    assert_eq!(found.len(), 1);
}

#[test]
fn a_job_that_left_all_its_operations_may_have_ended() {
    let world = small();
    let mut detector = ElasticTimeout::new(Limits::default());
    let mut batch = Batch { until_ns: SECOND, ..Batch::default() };
    batch.operations.push(0, 0, 0, 0, 0, SECOND);
    world.feed(&mut detector, &batch);
    let mut found = Vec::new();
    detector.judge(&world.context(), 9000 * SECOND, &mut found);
    assert!(found.is_empty());
}

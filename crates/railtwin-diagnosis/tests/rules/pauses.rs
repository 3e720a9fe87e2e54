//! Pauses, storms, buffers: at their thresholds and the root of a tree of pauses.
use railtwin_diagnosis::rules::{BufferAlarm, CongestionDrops, Limits, Pauses};
use railtwin_records::{Component, Counter, FaultKind, Finding, Since, Syndrome};

use crate::rules::fixture::{SECOND, World, add, named, readings, small};

const MS: u64 = 1_000_000;

/// The port at `link` is paused all the time; readings at the given milliseconds.
fn paused_until(world: &World, link: u32, times_ms: &[u64]) -> Vec<Finding> {
    let mut detector = Pauses::new(Limits::default());
    let mut found = Vec::new();
    for &ms in times_ms {
        let rows = [(world.port(link), (ms * MS) as f64)];
        found = world.feed(&mut detector, &readings(SECOND + ms * MS, Counter::PausedNs, &rows));
    }
    found
}

#[test]
fn the_watchdog_trips_beyond_200_ms_and_names_the_nic_that_sends_pauses() {
    let world = small();
    let to_host = world.access(2) ^ 1;
    assert!(paused_until(&world, to_host, &[0, 100, 200]).is_empty());
    let found = paused_until(&world, to_host, &[0, 100, 200, 201]);
    assert_eq!(found.len(), 1);
    assert_eq!(named(&found[0]), [Component::Nic("host-2/nic-0".into())]);
    assert_eq!(found[0].faults, [FaultKind::PauseStorm]);
    assert_eq!((found[0].evidence[0].value, found[0].evidence[0].expected), (201e6, 200e6));
    assert_eq!(found[0].since, Since::between(0, SECOND + 100 * MS));
}

#[test]
fn a_break_starts_the_watchdog_anew() {
    let world = small();
    let mut detector = Pauses::new(Limits::default());
    let port = world.port(world.access(2) ^ 1);
    for (ms, paused) in [(0, 0.0), (150, 150e6), (160, 155e6), (310, 305e6)] {
        let batch = readings(SECOND + ms * MS, Counter::PausedNs, &[(port, paused)]);
        assert!(world.feed(&mut detector, &batch).is_empty());
    }
}

#[test]
fn a_tree_of_paused_switches_leads_back_to_the_storming_nic() {
    let world = small();
    let mut detector = Pauses::new(Limits::default());
    // host-6 storms: its leaf pauses both spines, they pause leaf-0, it pauses host-0.
    let links = [
        world.access(6) ^ 1,
        world.link("spine-0", "leaf-1"),
        world.link("spine-1", "leaf-1"),
        world.link("leaf-0", "spine-0"),
        world.access(0),
    ];
    let mut found = Vec::new();
    for ms in [0u64, 300] {
        let rows: Vec<(u32, f64)> = links.iter().map(|&link| (world.port(link), (ms * MS) as f64)).collect();
        let mut batch = readings(SECOND + ms * MS, Counter::PausedNs, &rows);
        let sent = [(world.nic(6), ms as f64 * 10.0)];
        add(&mut batch, SECOND + ms * MS, Counter::PauseFramesSent, &sent);
        found = world.feed(&mut detector, &batch);
    }
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(named(&found[0]), [Component::Nic("host-6/nic-0".into())]);
    assert!(found[0].confidence > 0.9, "its own counter says that it pauses");
    assert!(found[0].evidence.iter().any(|row| row.unit == "frames" && row.value == 3000.0));
}

#[test]
fn a_nic_that_denies_sending_pauses_is_not_named_alone() {
    let world = small();
    let mut detector = Pauses::new(Limits::default());
    let port = world.port(world.access(6) ^ 1);
    let mut found = Vec::new();
    for ms in [0u64, 300] {
        let mut batch = readings(SECOND + ms * MS, Counter::PausedNs, &[(port, (ms * MS) as f64)]);
        add(&mut batch, SECOND + ms * MS, Counter::PauseFramesSent, &[(world.nic(6), 5.0)]);
        found = world.feed(&mut detector, &batch);
    }
    assert_eq!(named(&found[0]).len(), 2);
    assert!(found[0].confidence <= 0.5);
}

#[test]
fn switches_that_pause_each_other_in_a_circle_are_a_deadlock() {
    let world = small();
    let links = [
        world.link("leaf-0", "spine-0"),
        world.link("spine-0", "leaf-1"),
        world.link("leaf-1", "spine-1"),
        world.link("spine-1", "leaf-0"),
    ];
    let mut detector = Pauses::new(Limits::default());
    let mut found = Vec::new();
    for ms in [0u64, 300] {
        let rows: Vec<(u32, f64)> = links.iter().map(|&link| (world.port(link), (ms * MS) as f64)).collect();
        found = world.feed(&mut detector, &readings(SECOND + ms * MS, Counter::PausedNs, &rows));
    }
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(named(&found[0]).len(), 4);
    assert!(found[0].advice.contains("deadlock"));
}

/// A port paused for a share of each second.
fn shared(world: &World, link: u32, share: f64) -> Vec<Finding> {
    let mut detector = Pauses::new(Limits::default());
    let mut found = Vec::new();
    for second in 0..3u64 {
        let rows = [(world.port(link), share * (second * SECOND) as f64)];
        found.extend(world.feed(&mut detector, &readings(second * SECOND, Counter::PausedNs, &rows)));
    }
    found
}

#[test]
fn a_share_of_a_twentieth_is_borne_and_more_is_told() {
    let world = small();
    let to_host = world.access(2) ^ 1;
    assert!(shared(&world, to_host, 0.05).is_empty());
    let found = shared(&world, to_host, 0.06);
    assert_eq!(named(&found[0]), [Component::Nic("host-2/nic-0".into())]);
    assert_eq!(found[0].syndrome, Syndrome::Counter);
}

#[test]
fn a_leaf_that_pauses_hosts_without_being_paused_is_a_collision() {
    let world = small();
    let found = shared(&world, world.access(2), 0.3);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].syndrome, Syndrome::Collision);
    assert_eq!(named(&found[0]), [Component::Switch("leaf-0".into())]);
}

#[test]
fn a_buffer_alarms_above_80_percent() {
    let world = small();
    let leaf = world.entity(Component::Switch("leaf-2".into()));
    let mut detector = BufferAlarm::new(Limits::default());
    let at = |value: f64, time_ns: u64| readings(time_ns, Counter::BufferShare, &[(leaf, value)]);
    assert!(world.feed(&mut detector, &at(0.8, SECOND)).is_empty());
    let found = world.feed(&mut detector, &at(0.81, 2 * SECOND));
    assert_eq!(named(&found[0]), [Component::Switch("leaf-2".into())]);
    assert!(world.feed(&mut detector, &at(0.82, 3 * SECOND)).is_empty(), "told once");
}

/// Leaves send and drop so much.
fn drops(world: &World, rows: &[(&str, f64, f64)]) -> Vec<Finding> {
    let mut detector = CongestionDrops::new(Limits::default());
    let mut found = Vec::new();
    for second in 0..2u64 {
        let mut batch = readings(second * SECOND, Counter::Drops, &[]);
        for &(name, dropped, sent) in rows {
            let switch = world.entity(Component::Switch(name.into()));
            add(&mut batch, second * SECOND, Counter::Drops, &[(switch, dropped * second as f64)]);
            add(&mut batch, second * SECOND, Counter::BytesSent, &[(switch, sent * second as f64)]);
        }
        found = world.feed(&mut detector, &batch);
    }
    found
}

#[test]
fn a_switch_that_alone_drops_under_the_like_load_is_set_up_wrongly() {
    let world = small();
    let found = drops(
        &world,
        &[("leaf-0", 0.0, 1e9), ("leaf-1", 50.0, 1e9), ("leaf-2", 0.0, 0.9e9), ("leaf-3", 1.0, 1.2e9)],
    );
    assert_eq!(named(&found[0]), [Component::Switch("leaf-1".into())]);
    assert_eq!(found[0].faults[0], FaultKind::SmallBuffer);
    // The same drops at a switch that bears far more than all others say nothing.
    let found = drops(
        &world,
        &[("leaf-0", 0.0, 1e8), ("leaf-1", 50.0, 1e9), ("leaf-2", 0.0, 1e8), ("leaf-3", 1.0, 1e8)],
    );
    assert!(found.is_empty());
    // All drop alike: congestion.
    let found = drops(
        &world,
        &[("leaf-0", 60.0, 1e9), ("leaf-1", 50.0, 1e9), ("leaf-2", 55.0, 1e9), ("leaf-3", 40.0, 1e9)],
    );
    assert!(found.is_empty());
}

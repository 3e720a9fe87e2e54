//! Counters of NICs: who loses packets, and where.
use railtwin_diagnosis::rules::{JobCounters, Limits, link_component};
use railtwin_fabric::LinkId;
use railtwin_records::{Component, Counter, FaultKind, Finding, Since};

use crate::rules::fixture::{SECOND, World, named, readings, small};

/// Every NIC reads 0, then the given ones read more.
fn grow(world: &World, counter: Counter, grown: &[(u32, f64)]) -> Vec<Finding> {
    let mut detector = JobCounters::new(Limits::default());
    let zero: Vec<(u32, f64)> = world.nics().into_iter().map(|nic| (nic, 0.0)).collect();
    assert!(world.feed(&mut detector, &readings(SECOND, counter, &zero)).is_empty());
    let now: Vec<(u32, f64)> = zero
        .iter()
        .map(|&(nic, _)| (nic, grown.iter().find(|(row, _)| *row == nic).map_or(0.0, |(_, value)| *value)))
        .collect();
    world.feed(&mut detector, &readings(2 * SECOND, counter, &now))
}

#[test]
fn nine_packets_out_of_sequence_are_left_alone_and_ten_are_told() {
    let world = small();
    assert!(grow(&world, Counter::OutOfSequence, &[(world.nic(3), 9.0)]).is_empty());
    let found = grow(&world, Counter::OutOfSequence, &[(world.nic(3), 10.0)]);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].evidence[0].value, found[0].evidence[0].expected), (10.0, 0.0));
    assert_eq!(found[0].since, Since::between(0, 2 * SECOND));
}

#[test]
fn what_one_nic_misses_was_lost_on_its_own_last_link_or_in_it() {
    let world = small();
    let found = grow(&world, Counter::OutOfSequence, &[(world.nic(3), 500.0)]);
    let last = link_component(&world.fabric, LinkId(world.access(3)).reverse());
    assert_eq!(named(&found[0]), [last, Component::Nic("host-3/nic-0".into())]);
    assert_eq!(found[0].faults, [FaultKind::Lossy]);
    assert!(found[0].confidence >= 0.7 && !found[0].advice.is_empty());
}

#[test]
fn what_all_nics_of_a_leaf_miss_was_lost_at_the_leaf_or_on_a_link_into_it() {
    let world = small();
    let hit: Vec<(u32, f64)> = (4..8).map(|host| (world.nic(host), 300.0)).collect();
    let found = grow(&world, Counter::OutOfSequence, &hit);
    assert_eq!(found.len(), 1, "{found:?}");
    // NICs of other leaves are reached through every spine and are well.
    let into = |spine| link_component(&world.fabric, LinkId(world.link(spine, "leaf-1")));
    let leaf = Component::Switch("leaf-1".into());
    assert_eq!(named(&found[0]), [into("spine-0"), into("spine-1"), leaf]);
    assert_eq!(found[0].evidence.len(), 4);
}

#[test]
fn two_nics_of_different_leaves_are_two_findings() {
    let world = small();
    let found = grow(&world, Counter::OutOfSequence, &[(world.nic(0), 80.0), (world.nic(9), 90.0)]);
    assert_eq!(found.len(), 2);
}

#[test]
fn a_sender_that_times_out_alone_is_its_own_link_or_itself() {
    let world = small();
    assert!(grow(&world, Counter::AckTimeouts, &[(world.nic(3), 2.0)]).is_empty());
    let found = grow(&world, Counter::AckTimeouts, &[(world.nic(3), 7.0)]);
    let up = link_component(&world.fabric, LinkId(world.access(3)));
    // Others send to it without trouble, so its cable as a whole is well.
    assert_eq!(named(&found[0]), [up, Component::Nic("host-3/nic-0".into())]);
    assert_eq!(found[0].evidence[0].unit, "timeouts");
}

#[test]
fn senders_to_one_host_that_time_out_share_its_cable() {
    let mut world = small();
    // Hosts 0 to 3 send to host 9 alone; all others send among themselves.
    world.directory.flows.retain(|flow| {
        let near = (0..4).any(|host| flow.source_nic == format!("host-{host}/nic-0"));
        if near { flow.target_nic == "host-9/nic-0" } else { flow.target_nic != "host-9/nic-0" }
    });
    let hit: Vec<(u32, f64)> = (0..4).map(|host| (world.nic(host), 20.0)).collect();
    let found = grow(&world, Counter::AckTimeouts, &hit);
    assert_eq!(found.len(), 1, "{found:?}");
    let down = link_component(&world.fabric, LinkId(world.access(9)).reverse());
    assert!(named(&found[0]).contains(&down), "{found:?}");
    assert_eq!(found[0].evidence.len(), 4);
}

#[test]
fn a_counter_that_grows_everywhere_accuses_nobody() {
    let world = small();
    let all: Vec<(u32, f64)> =
        world.nics().into_iter().enumerate().map(|(row, nic)| (nic, 1000.0 + row as f64)).collect();
    assert!(grow(&world, Counter::OutOfSequence, &all).is_empty());
}

#[test]
fn without_a_fabric_the_nic_is_named_and_nothing_beyond() {
    let mut world = small();
    for flow in &mut world.directory.flows {
        flow.links.clear();
    }
    let found = grow(&world, Counter::OutOfSequence, &[(world.nic(3), 500.0)]);
    assert!(named(&found[0]).contains(&Component::Nic("host-3/nic-0".into())));
    assert!(named(&found[0]).iter().all(|c| !matches!(c, Component::Switch(_) | Component::Link(_))));
}

#[test]
fn what_lasts_is_told_once() {
    let world = small();
    let mut detector = JobCounters::new(Limits::default());
    let mut told = 0;
    for second in 0..120u64 {
        let rows: Vec<(u32, f64)> = world
            .nics()
            .into_iter()
            .map(|nic| (nic, if nic == world.nic(5) { 50.0 * second as f64 } else { 0.0 }))
            .collect();
        told += world.feed(&mut detector, &readings(second * SECOND, Counter::OutOfSequence, &rows)).len();
    }
    assert_eq!(told, 1);
}

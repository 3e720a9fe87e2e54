//! Links that go down, flap, or are bad in one direction.
use railtwin_diagnosis::Detector;
use railtwin_diagnosis::rules::{Limits, LinkState, OneWay, link_component};
use railtwin_fabric::LinkId;
use railtwin_records::{Batch, Component, Counter, FaultKind, Finding, Since};

use crate::rules::fixture::{SECOND, World, add, dual_port, named, readings, small};

/// All ports read up; then those at the given entities read down.
fn down(world: &World, detector: &mut dyn Detector, lost: &[u32]) -> Vec<Finding> {
    let up: Vec<(u32, f64)> = world.ports().into_iter().map(|port| (port, 1.0)).collect();
    assert!(world.feed(detector, &readings(SECOND, Counter::LinkUp, &up)).is_empty());
    let now: Vec<(u32, f64)> =
        up.iter().map(|&(port, _)| (port, if lost.contains(&port) { 0.0 } else { 1.0 })).collect();
    world.feed(detector, &readings(2 * SECOND, Counter::LinkUp, &now))
}

/// Both ends of the cables of links.
fn both(world: &World, links: &[u32]) -> Vec<u32> {
    links.iter().flat_map(|&link| [world.port(link), world.port(link ^ 1)]).collect()
}

#[test]
fn a_cable_between_switches_is_named_alone() {
    let world = small();
    let mut detector = LinkState::new(Limits::default());
    let link = world.link("leaf-1", "spine-0");
    let found = down(&world, &mut detector, &both(&world, &[link]));
    assert_eq!(found.len(), 1);
    assert_eq!(named(&found[0]), [world.context().cable_of(link).unwrap()]);
    assert_eq!((found[0].faults[0], found[0].since), (FaultKind::Down, Since::between(SECOND, 2 * SECOND)));
}

#[test]
fn the_only_cable_of_a_nic_leaves_the_nic_in_doubt() {
    let world = small();
    let mut detector = LinkState::new(Limits::default());
    let found = down(&world, &mut detector, &both(&world, &[world.access(4)]));
    let cable = Component::Cable("host-4/nic-0:port-0".into());
    assert_eq!(named(&found[0]), [cable, Component::Nic("host-4/nic-0".into())]);
}

#[test]
fn all_ports_of_a_leaf_are_the_leaf_even_when_only_far_ends_tell() {
    let world = small();
    let links: Vec<u32> = (4..8).map(|host| world.access(host)).collect();
    let mut lost: Vec<u32> = links.iter().map(|&link| world.port(link)).collect();
    lost.extend(["spine-0", "spine-1"].map(|spine| world.port(world.link(spine, "leaf-1"))));
    let mut detector = LinkState::new(Limits::default());
    let up: Vec<(u32, f64)> = world
        .ports()
        .into_iter()
        .filter(|&port| {
            let leaf = world.fabric.switch_named("leaf-1").unwrap();
            world.directory.entities[port as usize].device != Some(leaf.0)
        })
        .map(|port| (port, 1.0))
        .collect();
    world.feed(&mut detector, &readings(SECOND, Counter::LinkUp, &up));
    let now: Vec<(u32, f64)> = lost.iter().map(|&port| (port, 0.0)).collect();
    let found = world.feed(&mut detector, &readings(2 * SECOND, Counter::LinkUp, &now));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(named(&found[0]), [Component::Switch("leaf-1".into())]);
}

#[test]
fn all_ports_of_a_host_are_the_host_and_both_of_a_nic_the_nic() {
    let world = dual_port();
    let of_nics = |count: u32| -> Vec<u32> {
        (0..count)
            .flat_map(|nic| world.entities(&Component::Nic(format!("host-1/nic-{nic}"))))
            .map(|port| world.directory.entities[port as usize].link.unwrap())
            .collect()
    };
    let mut detector = LinkState::new(Limits::default());
    let found = down(&world, &mut detector, &both(&world, &of_nics(8)));
    assert_eq!(found.iter().map(named).collect::<Vec<_>>(), [[Component::Host("host-1".into())]]);
    let mut detector = LinkState::new(Limits::default());
    let found = down(&world, &mut detector, &both(&world, &of_nics(1)));
    assert_eq!(found.iter().map(named).collect::<Vec<_>>(), [[Component::Nic("host-1/nic-0".into())]]);
}

#[test]
fn an_end_that_fell_silent_is_no_witness() {
    let world = small();
    let (near, far) = (world.port(world.access(4) ^ 1), world.nic(4));
    let mut detector = LinkState::new(Limits::default());
    world.feed(&mut detector, &readings(SECOND, Counter::LinkUp, &[(near, 1.0), (far, 1.0)]));
    // The host died: only the leaf still reports.
    let found = world.feed(&mut detector, &readings(2 * SECOND, Counter::LinkUp, &[(near, 0.0)]));
    assert!(found.is_empty(), "the other end may yet speak");
    let found = world.feed(&mut detector, &readings(4 * SECOND, Counter::LinkUp, &[(near, 0.0)]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].faults, [FaultKind::Down]);
}

#[test]
fn one_loss_of_link_is_doubtful_and_two_are_a_flap() {
    let world = small();
    let told = |losses: f64| {
        let mut detector = LinkState::new(Limits::default());
        let port = world.nic(7);
        let mut batch = readings(SECOND, Counter::LinkDowns, &[(port, 4.0)]);
        add(&mut batch, SECOND, Counter::LinkUp, &[(port, 1.0)]);
        world.feed(&mut detector, &batch);
        world.feed(&mut detector, &readings(2 * SECOND, Counter::LinkDowns, &[(port, 4.0 + losses)]))
    };
    assert!(told(0.0).is_empty());
    assert_eq!((told(1.0)[0].faults[0], told(1.0)[0].confidence), (FaultKind::Flap, 0.5));
    assert_eq!((told(2.0)[0].faults[0], told(2.0)[0].confidence), (FaultKind::Flap, 0.9));
}

#[test]
fn an_unused_port_without_a_cable_is_left_alone() {
    let mut world = small();
    world.directory.entities.push(railtwin_records::EntityInfo {
        component: Component::Cable("leaf-0:downlink-9".into()),
        device: None,
        link: None,
    });
    let port = world.directory.entities.len() as u32 - 1;
    let mut detector = LinkState::new(Limits::default());
    assert!(world.feed(&mut detector, &readings(SECOND, Counter::LinkUp, &[(port, 0.0)])).is_empty());
}

/// Errors at a port while all ports say up.
fn errors(world: &World, rows: &[(u32, f64)]) -> Vec<Finding> {
    let mut detector = OneWay::new(Limits::default());
    let mut found = Vec::new();
    for second in 0..2u64 {
        let up: Vec<(u32, f64)> = world.ports().into_iter().map(|port| (port, 1.0)).collect();
        let mut batch: Batch = readings(second * SECOND, Counter::LinkUp, &up);
        for port in world.ports() {
            let grown = rows.iter().find(|(row, _)| *row == port).map_or(0.0, |(_, value)| *value);
            add(&mut batch, second * SECOND, Counter::ReceiveErrors, &[(port, grown * second as f64)]);
        }
        found = world.feed(&mut detector, &batch);
    }
    found
}

#[test]
fn errors_at_one_end_are_the_link_towards_it() {
    let world = small();
    let up = world.access(5);
    let at_leaf = world.port(up ^ 1);
    assert!(errors(&world, &[(at_leaf, 9.0)]).is_empty());
    let found = errors(&world, &[(at_leaf, 10.0)]);
    assert_eq!(found.len(), 1);
    // The leaf hears the NIC badly: the direction from the NIC to the leaf.
    assert_eq!(named(&found[0]), [link_component(&world.fabric, LinkId(up))]);
    assert!(found[0].suspects[0].component.name().starts_with("host-5/nic-0:port-0 > leaf-1:"));
    assert!(found[0].advice.contains("drain") && found[0].advice.contains("firmware"));
}

#[test]
fn errors_at_both_ends_are_the_cable() {
    let world = small();
    let up = world.access(5);
    let found = errors(&world, &[(world.port(up), 40.0), (world.port(up ^ 1), 70.0)]);
    assert_eq!(found.iter().map(named).collect::<Vec<_>>(), [[world.context().cable_of(up).unwrap()]]);
}

#[test]
fn ends_that_go_on_to_disagree_are_one_direction_and_not_a_dead_cable() {
    let world = small();
    let up = world.access(5);
    let (leaf, nic) = (world.port(up ^ 1), world.port(up));
    let (mut one_way, mut state) = (OneWay::new(Limits::default()), LinkState::new(Limits::default()));
    let (mut found, mut dead) = (Vec::new(), Vec::new());
    for second in 0..6u64 {
        let rows = [(leaf, if second < 2 { 1.0 } else { 0.0 }), (nic, 1.0)];
        let batch = readings(second * SECOND, Counter::LinkUp, &rows);
        found.extend(world.feed(&mut one_way, &batch));
        dead.extend(world.feed(&mut state, &batch));
    }
    assert_eq!(found.iter().map(named).collect::<Vec<_>>(), [[link_component(&world.fabric, LinkId(up))]]);
    assert!(dead.is_empty(), "{dead:?}");
}

#[test]
fn a_link_that_is_down_at_both_ends_has_no_direction() {
    let world = small();
    let mut detector = OneWay::new(Limits::default());
    assert!(down(&world, &mut detector, &both(&world, &[world.access(5)])).is_empty());
}

//! Disjoint sets of source ports: on fabrics of the papers, and on any that paths exist, share nothing and are those of
//! the switches.

use crate::fabrics;
use fabrics::*;
use proptest::prelude::*;
use railtwin_control::paths::{Avoid, JobId, QueuePairs, disjoint, disjoint_source_ports};
use railtwin_fabric::preset::{DcnPlus, Hpn};
use railtwin_fabric::{HostId, LinkId};
use railtwin_routing::{
    EcmpConfig, Fields, FiveTuple, Forwarding, HashKey, LinkMask, NicPort, Routing, Seeds, SteeredPath,
    nic_ip,
};
use railtwin_testkit::draws::any_ecmp;
use railtwin_testkit::fabrics::nics;

fn assert_disjoint(paths: &[SteeredPath]) {
    let mut links: Vec<LinkId> = paths.iter().flat_map(|path| path.beyond_access()).copied().collect();
    let all = links.len();
    links.sort();
    links.dedup();
    assert_eq!(links.len(), all, "a link is on two paths");
}

/// HPN section 6.1 and appendix B: 60 disjoint paths to another segment, 59 without one spine.
#[test]
fn hpn_has_sixty_disjoint_paths_and_fifty_nine_without_a_spine() {
    let fabric = Hpn::default().build().expect("default preset");
    let ecmp = crc32(Seeds::PerTier);
    let (nic, target) = (fabric.nic(HostId(0), 3), fabric.nic(HostId(136 * 4), 3));
    let key = HashKey::of(FiveTuple::roce(nic_ip(nic), nic_ip(target), 0));
    let mut mask = LinkMask::none(&fabric);
    for expected in [60, 59] {
        let forwarding = Forwarding::new(&fabric, &mask);
        let routing = Routing::new(&fabric, &forwarding, &ecmp);
        for port in 0..2 {
            let source = NicPort { nic, port };
            let find =
                |count| disjoint_source_ports(&routing, source, target, &key, count, &Avoid::default());
            let all = find(100).expect("reachable");
            assert_eq!(all.len(), expected);
            assert_disjoint(&all);
            assert!(all.iter().all(|path| routing.landing(target, path).port_index == port));
            assert_eq!(find(16).expect("reachable").len(), 16);
        }
        // The port-0 and the port-1 plane lose a spine each.
        for name in ["spine-17", "spine-77"] {
            mask.set_device(&fabric, fabric.switch_named(name).expect("a spine"), true);
        }
    }
}

/// Where a leaf has parallel cables to a spine, first come would block later ones; moving helps.
#[test]
fn dcn_plus_uses_every_uplink_of_the_leaf() {
    let dcn = DcnPlus { pods: 1, ..DcnPlus::default() };
    let fabric = dcn.build().expect("one pod of dcn-plus");
    let forwarding = Forwarding::new(&fabric, &LinkMask::none(&fabric));
    let ecmp = crc32(Seeds::PerTier);
    let routing = Routing::new(&fabric, &forwarding, &ecmp);
    let (nic, target) = (fabric.nic(HostId(0), 0), fabric.nic(HostId(20), 0));
    let key = HashKey::of(FiveTuple::roce(nic_ip(nic), nic_ip(target), 0));
    let source = NicPort { nic, port: 0 };
    let found = disjoint_source_ports(&routing, source, target, &key, 100, &Avoid::default());
    let found = found.expect("reachable");
    assert_disjoint(&found);
    assert_eq!(found.len(), 64, "8 spines, 8 cables each");
    let landed = |port| {
        let lands = |path: &&SteeredPath| routing.landing(target, path).port_index == port;
        found.iter().filter(lands).count()
    };
    assert!(landed(0) > 0 && landed(1) > 0, "both ports of the target");
}

#[test]
fn dead_and_busy_links_are_avoided() {
    let fabric = Hpn::default().build().expect("default preset");
    let forwarding = Forwarding::new(&fabric, &LinkMask::none(&fabric));
    let ecmp = crc32(Seeds::PerSwitch);
    let routing = Routing::new(&fabric, &forwarding, &ecmp);
    let (nic, target) = (fabric.nic(HostId(0), 0), fabric.nic(HostId(200), 0));
    let source = NicPort { nic, port: 1 };
    let key = HashKey::of(FiveTuple::roce(nic_ip(nic), nic_ip(target), 0));
    let find = |count, avoid: &Avoid<'_>| {
        let found = disjoint_source_ports(&routing, source, target, &key, count, avoid);
        found.expect("reachable")
    };
    let all = find(60, &Avoid::default());
    let uplink = |path: &SteeredPath| path.links[1];

    let mut mask = LinkMask::none(&fabric);
    mask.set_link(uplink(&all[5]), true);
    let avoid = Avoid { dead: Some(&mask), busy: &[] };
    let left = find(60, &avoid);
    assert_eq!(left.len(), 59);
    assert!(left.iter().all(|path| uplink(path) != uplink(&all[5])));

    // All uplinks are busy but three; of these one less than the others.
    let mut busy = vec![0; fabric.link_count()];
    for path in &all {
        busy[uplink(path).index()] = 9;
    }
    for (path, uses) in [(7, 2), (8, 1), (9, 2)] {
        busy[uplink(&all[path]).index()] = uses;
    }
    let avoid = Avoid { dead: None, busy: &busy };
    let uplinks = |paths: &[SteeredPath]| paths.iter().map(uplink).collect::<Vec<_>>();
    assert_eq!(uplinks(&find(1, &avoid)), [uplink(&all[8])]);
    let mut three = uplinks(&find(3, &avoid));
    three.sort();
    let mut expected = uplinks(&all[7..10]);
    expected.sort();
    assert_eq!(three, expected);
}

/// Without planes both ports of a NIC reach the same spines: a connection's paths share no link down from them either, and
/// as many as its two leaves have uplinks are found, whatever the draw (HPN appendix B).
#[test]
fn ports_of_a_connection_share_no_link_without_planes() {
    let fabric = railtwin_testkit::fabrics::leaves(railtwin_testkit::draws::host(2), 4, 2, 4);
    let fabric = fabric.build().expect("two sets of two leaves under four spines");
    let forwarding = Forwarding::new(&fabric, &LinkMask::none(&fabric));
    let ecmp = crc32(Seeds::PerSwitch);
    for fields in [Fields::FIVE_TUPLE, Fields::FIVE_TUPLE | Fields::TARGET_QP] {
        let ecmp = EcmpConfig { spec: ecmp.spec.with_fields(fields), ..ecmp };
        let routing = Routing::new(&fabric, &forwarding, &ecmp);
        let (source, target) = (fabric.nic(HostId(0), 0), fabric.nic(HostId(2), 0));
        for (count, draw) in [(2, 1), (4, 2), (4, 3), (8, 4), (8, 5), (8, 6)] {
            let one = QueuePairs { job: JobId(0), source, target, first: 0, count, ports: 2 };
            let numbers: Vec<u32> = (0..count).map(|row| 1000 + 7 * row).collect();
            let ports = disjoint(&routing, &[one], &numbers, draw);
            let mut links = Vec::new();
            for (row, port) in (0..count).zip(ports) {
                let tuple = FiveTuple::roce(nic_ip(source), nic_ip(target), port.expect("a way"));
                let key = HashKey::of(tuple).with_target_qp(numbers[row as usize]);
                let mut path = Vec::new();
                routing
                    .route(NicPort { nic: source, port: row % 2 }, target, &key, &mut path)
                    .expect("a way");
                links.extend_from_slice(&path[1..path.len() - 1]);
            }
            links.sort();
            links.dedup();
            assert_eq!(links.len(), 2 * count as usize, "{fields}: {count} queue pairs, draw {draw}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_chosen_is_disjoint_and_among_what_ports_reach(
        fabric in any_fabric(), share in 0.0..0.3, seed: u64, ecmp in any_ecmp(), source: prop::sample::Index,
        target: prop::sample::Index, qp: u32,
    ) {
        let forwarding = Forwarding::new(&fabric, &masked(&fabric, share, seed));
        let routing = Routing::new(&fabric, &forwarding, &ecmp);
        let nics = nics(&fabric);
        let (nic, target) = (*source.get(&nics), *target.get(&nics));
        let key = HashKey::of(FiveTuple::roce(nic_ip(nic), nic_ip(target), 0)).with_target_qp(qp);
        let source = NicPort { nic, port: 0 };
        let chosen = disjoint_source_ports(&routing, source, target, &key, usize::MAX, &Avoid::default());
        match routing.paths_by_source_port(source, target, &key) {
            Ok(found) => {
                let chosen = chosen.expect("the same way");
                prop_assert!(!chosen.is_empty());
                assert_disjoint(&chosen);
                prop_assert!(chosen.iter().all(|path| found.contains(path)));
            }
            Err(error) => prop_assert_eq!(chosen, Err(error)),
        }
    }
}

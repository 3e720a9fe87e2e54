//! What the papers say of their designs: number of paths, planes, port collision, polarisation.

use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::preset::{DcnPlus, FatTree, Hpn, Tier2};
use railtwin_fabric::{CableClass, DeviceId, Fabric, HostId, LinkId};
use railtwin_routing::{
    EcmpConfig, FiveTuple, Forwarding, HashFunction, HashKey, HashSpec, LinkMask, NicPort, NoRoute, Routing,
    Seeds, nic_ip, roce_source_port,
};

const PLAIN: EcmpConfig = EcmpConfig::new(HashSpec::new(HashFunction::Crc32), Seeds::PerTier);

fn healthy(fabric: &Fabric) -> Forwarding {
    Forwarding::new(fabric, &LinkMask::none(fabric))
}

fn with<'a>(fabric: &'a Fabric, forwarding: &'a Forwarding, ecmp: &'a EcmpConfig) -> Routing<'a> {
    Routing::new(fabric, forwarding, ecmp)
}

/// Planes of the switches on all paths between the ports of two NICs, by source port.
fn planes(routing: &Routing<'_>, nic: DeviceId, target: DeviceId, port: u32) -> BTreeSet<u32> {
    let paths = routing.paths(NicPort { nic, port }, target).expect("reachable");
    let links = paths.flatten().collect::<BTreeSet<LinkId>>();
    let switches = links.iter().filter_map(|&link| routing.fabric.place(routing.fabric.target(link)));
    switches.map(|place| place.plane).collect()
}

/// HPN section 6.1: the leaf's uplink is the only choice in dual-plane, so 60 paths.
#[test]
fn hpn_has_sixty_paths_and_no_path_crosses_planes() {
    let fabric = Hpn::default().build().expect("default preset");
    let forwarding = healthy(&fabric);
    let routing = with(&fabric, &forwarding, &PLAIN);
    let nic = fabric.nic(HostId(0), 2);
    for port in 0..2 {
        let source = NicPort { nic, port };
        let count = |host, rail| routing.count_paths(source, fabric.nic(HostId(host), rail));
        assert_eq!(count(136, 2), Ok(60), "another segment");
        assert_eq!(count(136, 5), Ok(60), "another rail of another segment");
        assert_eq!(count(1, 2), Ok(1), "the same segment and rail");
        for host in [1, 136, 136 * 14] {
            let target = fabric.nic(HostId(host), 2);
            assert_eq!(planes(&routing, nic, target, port), BTreeSet::from([port]));
            for path in routing.paths(source, target).expect("reachable") {
                let last = path[path.len() - 1].reverse();
                assert_eq!(fabric.access_link(target, port), Some(last));
            }
        }
    }
}

/// HPN section 6.1, figure 13a: on a typical Clos a spine has links to both leaves of a NIC.
#[test]
fn without_planes_paths_cross_and_both_ports_are_landed_on() {
    let hpn = Hpn { planes: false, segments: Some(3), ..Hpn::default() };
    let fabric = hpn.build().expect("hpn without planes");
    let forwarding = healthy(&fabric);
    let routing = with(&fabric, &forwarding, &PLAIN);
    let (nic, target) = (fabric.nic(HostId(0), 0), fabric.nic(HostId(136), 0));
    let source = NicPort { nic, port: 0 };
    assert_eq!(routing.count_paths(source, target), Ok(120));
    assert_eq!([119, 120].map(|most| routing.has_more_paths(source, target, most)), [Ok(true), Ok(false)]);
    let leaves_of = |path: &Vec<LinkId>| {
        let ends = [path[0], path[path.len() - 1].reverse()];
        ends.map(|link| fabric.place(fabric.target(link)).expect("a leaf").plane)
    };
    let paths = routing.paths(source, target).expect("reachable");
    assert_eq!(paths.filter(|path| leaves_of(path) == [0, 1]).count(), 60);

    // At the leaf itself a flow stays, unless the leaf's own link to the NIC is dead.
    let neighbor = fabric.nic(HostId(1), 0);
    assert_eq!(routing.count_paths(source, neighbor), Ok(1));
    let mut mask = LinkMask::none(&fabric);
    mask.set_cable(fabric.access_link(neighbor, 0).expect("cabled").cable(), true);
    let around = Forwarding::new(&fabric, &mask);
    let routing = with(&fabric, &around, &PLAIN);
    assert_eq!(routing.count_paths(source, neighbor), Ok(60), "over the other leaf");
}

#[test]
fn with_planes_a_dead_port_of_the_target_makes_its_plane_unreachable() {
    let fabric = Hpn::default().build().expect("default preset");
    let (nic, target) = (fabric.nic(HostId(0), 0), fabric.nic(HostId(1), 0));
    let mut mask = LinkMask::none(&fabric);
    mask.set_cable(fabric.access_link(target, 0).expect("cabled").cable(), true);
    let forwarding = Forwarding::new(&fabric, &mask);
    let routing = with(&fabric, &forwarding, &PLAIN);
    let route = |nic, port, target| {
        let key = HashKey::of(FiveTuple::roce(nic_ip(nic), nic_ip(target), 0xC000));
        routing.route(NicPort { nic, port }, target, &key, &mut Vec::new())
    };
    assert!(matches!(route(nic, 0, target), Err(NoRoute::Unreachable { .. })));
    assert_eq!(route(nic, 1, target).map(|landed| landed.port_index), Ok(1));
    let down = NoRoute::SourcePortDown { nic: target, port: 0 };
    assert_eq!(route(target, 0, nic), Err(down));
    let none = NoRoute::NoSuchPort { nic, port: 2 };
    assert_eq!(route(nic, 2, target), Err(none));
    assert_eq!(none.to_string(), format!("device {} has no cabled backend port 2", nic.0));
}

/// HPN section 10: rail-only tier 2 reaches the same rail alone.
#[test]
fn rail_only_reaches_its_own_rail_in_all_pods() {
    let hpn = Hpn { tier2: Tier2::RailOnly, pods: 2, segments: Some(4), ..Hpn::default() };
    let fabric = hpn.build().expect("rail-only hpn");
    let forwarding = healthy(&fabric);
    let routing = with(&fabric, &forwarding, &PLAIN);
    let nic = fabric.nic(HostId(0), 1);
    let count = |host, rail| routing.count_paths(NicPort { nic, port: 0 }, fabric.nic(HostId(host), rail));
    assert_eq!(count(136, 1), Ok(60));
    assert!(matches!(count(136, 2), Err(NoRoute::Unreachable { .. })));
    assert_eq!(count(136 * 4, 1), Ok(60 * 8 * 8), "8 cores a spine, 8 spines a core and pod");
}

#[test]
fn fat_tree_path_counts() {
    let fabric = FatTree::default().build().expect("default preset");
    let forwarding = healthy(&fabric);
    let routing = with(&fabric, &forwarding, &PLAIN);
    let nic = fabric.nic(HostId(0), 0);
    let source = NicPort { nic, port: 0 };
    for (host, expected) in [(1, 1), (4, 4), (16, 16), (127, 16)] {
        let target = fabric.nic(HostId(host), 0);
        assert_eq!(routing.count_paths(source, target), Ok(expected), "host {host}");
        let paths: BTreeSet<_> = routing.paths(source, target).expect("reachable").collect();
        assert_eq!(paths.len() as u64, expected);
    }
}

/// A spine that lost a leaf is no next hop towards it, and one still is after a detour would do.
#[test]
fn routes_of_a_spine_that_lost_the_leaf_are_withdrawn() {
    let fabric = FatTree::default().build().expect("default preset");
    let target = fabric.nic(HostId(0), 0);
    let leaf = fabric.switch_named("leaf-0").expect("a leaf");
    let spine = fabric.switch_named("spine-0").expect("a spine");
    let mut links = fabric.neighbors(spine).iter();
    let lost = links.find(|&&(_, far)| far == leaf).map(|&(link, _)| link);
    let mut mask = LinkMask::none(&fabric);
    mask.set_link(lost.expect("a link"), true);
    let forwarding = Forwarding::new(&fabric, &mask);
    let routing = with(&fabric, &forwarding, &PLAIN);
    let count = |host| {
        let nic = fabric.nic(HostId(host), 0);
        routing.count_paths(NicPort { nic, port: 0 }, target)
    };
    assert_eq!(count(4), Ok(3), "the same pod");
    assert_eq!(count(16), Ok(12), "another pod");
    let own = NicPort { nic: target, port: 0 };
    assert_eq!(routing.count_paths(own, fabric.nic(HostId(16), 0)), Ok(16), "one direction died");
}

/// Core links used by cross-pod traffic of an all-to-all between four hosts of each of four pods.
fn core_links_used(seeds: Seeds) -> usize {
    let dcn = DcnPlus { pods: 4, ..DcnPlus::default() };
    let fabric = dcn.build().expect("four pods of dcn-plus");
    let forwarding = healthy(&fabric);
    let ecmp = EcmpConfig::new(HashSpec::new(HashFunction::Crc32).with_seed(3), seeds);
    let routing = with(&fabric, &forwarding, &ecmp);
    let mut used = BTreeSet::new();
    let mut path = Vec::new();
    let hosts = fabric.hosts().len() as u32;
    for source in (0..hosts).step_by(4) {
        for target in (0..hosts).step_by(4) {
            for rail in 0..8 {
                let (nic, to) = (fabric.nic(HostId(source), rail), fabric.nic(HostId(target), rail));
                if fabric.hosts()[source as usize].pod == fabric.hosts()[target as usize].pod {
                    continue;
                }
                let port = roce_source_port(100 + target * 8 + rail, 100 + source);
                let key = HashKey::of(FiveTuple::roce(nic_ip(nic), nic_ip(to), port));
                path.clear();
                let source = NicPort { nic, port: rail % 2 };
                routing.route(source, to, &key, &mut path).expect("a healthy fabric");
                used.extend(path.iter().copied().filter(|&link| {
                    let up = fabric.place(fabric.target(link)).is_some_and(|p| p.tier == 3);
                    up && fabric.cable_class(link.cable()) == CableClass::SpineCore
                }));
            }
        }
    }
    used.len()
}

/// HPN section 2.2: the same hash at every tier leaves most links of the next tier idle.
#[test]
fn shared_seeds_polarise_dcn_plus() {
    let (shared, per_tier) = (core_links_used(Seeds::Shared), core_links_used(Seeds::PerTier));
    let per_switch = core_links_used(Seeds::PerSwitch);
    assert!(4 * shared < per_tier, "{shared} of {per_tier} core links");
    assert!(4 * shared < per_switch, "{shared} of {per_switch} core links");
}

/// Egress links at cores by (arrival, target pod) over many flows between pods.
fn core_map(routing: &Routing<'_>) -> BTreeMap<(LinkId, u32), BTreeSet<LinkId>> {
    let fabric = routing.fabric;
    let hosts = fabric.hosts().len() as u32;
    let mut map: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    let mut path = Vec::new();
    for flow in 0..60_000u32 {
        let (source, target) = (flow % hosts, flow / 3 * 7 % hosts);
        let (nic, to) = (fabric.nic(HostId(source), flow % 8), fabric.nic(HostId(target), flow % 8));
        let key = HashKey::of(FiveTuple::roce(nic_ip(nic), nic_ip(to), 0xC000 | flow as u16));
        path.clear();
        let source = NicPort { nic, port: flow / 8 % 2 };
        if routing.route(source, to, &key, &mut path).is_ok() && path.len() == 6 {
            let pod = fabric.host(HostId(target)).pod;
            map.entry((path[2], pod)).or_default().insert(path[3]);
        }
    }
    map
}

/// HPN section 7: five-tuples do not matter at the core, and only a dead egress brings them back.
#[test]
fn per_port_hash_of_the_core_is_fixed_and_falls_back_alone() {
    let hpn = Hpn {
        pods: 3,
        segments: Some(2),
        hosts: Some(4),
        spare_hosts: Some(0),
        spines: Some(4),
        spine_up: Some(4),
        cores: Some(4),
        ..Hpn::default()
    };
    let fabric = hpn.build().expect("three small pods");
    let ecmp = PLAIN.with_core_per_port();
    let forwarding = healthy(&fabric);
    let before = core_map(&with(&fabric, &forwarding, &ecmp));
    assert_eq!(before.len(), 3 * 2 * 2 * 4 * 4, "every spine-core link towards either other pod");
    assert!(before.values().all(|egress| egress.len() == 1));
    let mut image = BTreeSet::new();
    for ((arrival, pod), egress) in &before {
        let from = fabric.place(fabric.source(*arrival)).expect("a spine").pod;
        let egress = egress.first().expect("one egress");
        assert!(image.insert((from, *pod, *egress)), "two ports share an egress");
    }

    let dead = *before.values().next().and_then(BTreeSet::first).expect("an egress");
    let mut mask = LinkMask::none(&fabric);
    mask.set_link(dead, true);
    let forwarding = Forwarding::new(&fabric, &mask);
    let after = core_map(&with(&fabric, &forwarding, &ecmp));
    let mut fallen_back = 0;
    for (port, egress) in &after {
        if before[port].contains(&dead) {
            assert!(!egress.contains(&dead) && egress.len() > 1, "the five-tuple spreads it");
            fallen_back += 1;
        } else {
            assert_eq!(egress, &before[port]);
        }
    }
    assert_eq!(fallen_back, 2, "one port of each other pod");
}

/// Seven pods of 15,360 GPUs: tables of all targets, far below a GiB.
#[test]
fn tables_of_a_hundred_thousand_gpus_stay_small() {
    let hpn = Hpn { pods: 7, ..Hpn::default() };
    let fabric = hpn.build().expect("seven pods");
    let forwarding = healthy(&fabric);
    forwarding.prepare_all();
    assert_eq!(forwarding.target_count(), 7 * 15 * 8);
    assert!(forwarding.table_bytes() < 64 << 20, "{} bytes", forwarding.table_bytes());
}

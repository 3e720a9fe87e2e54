//! The fabric of the Lingjun topology: counts of the real file, names, routes, refusals.

use std::collections::BTreeSet;

use proptest::prelude::*;
use railtwin_fabric::connectivity::stays_connected;
use railtwin_fabric::design::DesignReport;
use railtwin_fabric::{CableClass, DeviceId, DeviceKind, Fabric, HostId, HostModel, PortRole};
use railtwin_formats::{LingjunDesign, LingjunTopology};
use railtwin_routing::{
    EcmpConfig, FiveTuple, Forwarding, HashFunction, HashKey, HashSpec, LinkMask, NicPort, Routing, Seeds,
    nic_ip,
};
use railtwin_units::Rate;

const TOPOLOGY: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/lingjun/topo.csv"));

fn published() -> LingjunTopology {
    LingjunTopology::parse("topo.csv", TOPOLOGY).expect("a real file")
}

fn build(topology: &LingjunTopology) -> Fabric {
    topology.fabric(&LingjunDesign::default()).expect("the default fits the published file")
}

fn of_tier(fabric: &Fabric, tier: u8) -> Vec<DeviceId> {
    fabric.switches().iter().filter(|(_, place)| place.tier == tier).map(|(device, _)| *device).collect()
}

fn ports(fabric: &Fabric, device: DeviceId, role: PortRole) -> usize {
    fabric.ports(device).filter(|&port| fabric.port_role(port) == role).count()
}

#[test]
fn counts_of_the_published_topology() {
    let topology = published();
    let fabric = build(&topology);
    let report = DesignReport::of(&fabric);
    assert_eq!((report.hosts_active, report.gpus_active, report.pods, report.segments), (847, 6_776, 3, 119));
    let switches: Vec<u32> = report.tiers.iter().map(|tier| tier.switches).collect();
    assert_eq!(switches, [119, 3 * 64, 64]);
    // 847 hosts with 8 NICs of 2 ports; 119 leaves with one cable to each of 64 spines, up as many.
    assert_eq!((report.cables_access, report.cables_leaf_spine), (847 * 16, 119 * 64));
    assert_eq!(report.cables_spine_core, 119 * 64);
    // Single-ToR: the loss of any leaf cuts its hosts off.
    assert_eq!((report.leaves_per_host, report.leaf_single_points_of_failure), (1, 119));
    assert_eq!(report.fabric, "lingjun");
    assert!(stays_connected(&fabric, &[]));
    let gpus = fabric.devices().filter(|&device| fabric.kind(device) == DeviceKind::Gpu).count();
    assert_eq!(gpus, 6_776);
}

#[test]
fn every_host_hangs_on_the_leaf_of_the_file() {
    let topology = published();
    let fabric = build(&topology);
    let leaves = of_tier(&fabric, 1);
    let rows = topology.hosts_by_leaf();
    assert_eq!(rows.iter().collect::<BTreeSet<_>>().len(), 847);
    for (index, &row) in rows.iter().enumerate() {
        let (host, source) = (HostId::from_index(index), &topology.hosts[row]);
        assert_eq!(fabric.host(host).pod as usize, source.spine_group);
        for nic in 0..8 {
            for port in 0..2 {
                let link = fabric.access_link(fabric.nic(host, nic), port).expect("every port is cabled");
                assert_eq!(fabric.target(link), leaves[source.leaf]);
            }
        }
        let place = fabric.place(leaves[source.leaf]).expect("a switch");
        assert_eq!((place.pod, place.segment), (fabric.host(host).pod, fabric.host(host).segment));
    }
    // Leaves hold 2 to 8 hosts in the file; each has the ports that they need and all are in use.
    let down: BTreeSet<usize> =
        leaves.iter().map(|&leaf| ports(&fabric, leaf, PortRole::Down) / 16).collect();
    assert_eq!(down.into_iter().collect::<Vec<_>>(), [2, 3, 4, 5, 6, 7, 8]);
    for &(device, _) in fabric.switches() {
        assert!(fabric.ports(device).all(|port| fabric.cable_at(port).is_some()));
    }
}

#[test]
fn pods_meet_every_core_evenly() {
    let fabric = build(&published());
    for core in of_tier(&fabric, 3) {
        let mut pods = [0; 3];
        for &(_, spine) in fabric.neighbors(core) {
            pods[fabric.place(spine).expect("cores meet spines").pod as usize] += 1;
        }
        // Leaves per spine group, counted with sort and uniq in the file.
        assert_eq!(pods, [29, 48, 42]);
    }
}

#[test]
fn names_lead_back_to_the_same_device_and_cable() {
    let fabric = build(&published());
    for &(device, _) in fabric.switches() {
        assert_eq!(fabric.switch_named(&fabric.device_name(device)), Some(device));
    }
    let network = fabric.cables().filter(|&cable| fabric.cable_class(cable) >= CableClass::Access);
    for cable in network.step_by(7) {
        assert_eq!(fabric.cable_named(&fabric.cable_name(cable)), Some(cable));
    }
    assert_eq!(fabric.host_named("host-846"), Some(HostId(846)));
    assert_eq!(fabric.host_named("host-847"), None);
}

#[test]
fn hosts_of_all_pods_and_leaves_reach_each_other() {
    let fabric = build(&published());
    let forwarding = Forwarding::new(&fabric, &LinkMask::none(&fabric));
    let ecmp = EcmpConfig::new(HashSpec::new(HashFunction::Crc32), Seeds::PerTier);
    let routing = Routing::new(&fabric, &forwarding, &ecmp);
    let mut lengths = BTreeSet::new();
    for source in (0..847).step_by(41) {
        for target in (0..847).step_by(29).filter(|&target| target != source) {
            let (a, b) = (fabric.host(HostId(source)), fabric.host(HostId(target)));
            let (nic, target_nic) = (fabric.nic(HostId(source), 3), fabric.nic(HostId(target), 3));
            let key = HashKey::of(FiveTuple::roce(nic_ip(nic), nic_ip(target_nic), 0xC000 + source as u16));
            let mut path = Vec::new();
            let landed = routing.route(NicPort { nic, port: 1 }, target_nic, &key, &mut path);
            assert!(landed.is_ok(), "{source} to {target}: {landed:?}");
            let expected = if (a.pod, a.segment) == (b.pod, b.segment) {
                2
            } else if a.pod == b.pod {
                4
            } else {
                6
            };
            assert_eq!(path.len(), expected);
            lengths.insert(path.len());
        }
    }
    assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [2, 4, 6]);
}

#[test]
fn refusals_name_the_field() {
    let topology = published();
    let refusal = |design: LingjunDesign| topology.fabric(&design).expect_err("wrong").to_string();
    let default = LingjunDesign::default;
    for (message, part) in [
        (refusal(LingjunDesign { spines: 0, ..default() }), "lingjun.spines = 0"),
        (refusal(LingjunDesign { parallel: 0, ..default() }), "lingjun.parallel = 0"),
        (refusal(LingjunDesign { cores: 0, ..default() }), "lingjun.cores = 0"),
        (refusal(LingjunDesign { spine_up: Some(0), ..default() }), "lingjun.spine_up = 0"),
        (refusal(LingjunDesign { parallel: 2, ..default() }), "a leaf switch needs 128 × 200 Gbps down"),
        (
            refusal(LingjunDesign { spine_up: Some(90), ..default() }),
            "a spine switch needs 48 × 400 Gbps down",
        ),
        (refusal(LingjunDesign { cores: 32, ..default() }), "a core switch needs 238 × 400 Gbps down"),
        (refusal(LingjunDesign { spines: u32::MAX, ..default() }), "more than 2^32 ports"),
        (refusal(LingjunDesign { spine_up: Some(u32::MAX), ..default() }), "more than 2^32 ports"),
        (
            refusal(LingjunDesign { host: HostModel { nics: 0, ..HostModel::hgx_h800() }, ..default() }),
            "host.nics",
        ),
    ] {
        assert!(message.contains(part), "{part} not in {message}");
    }
    let empty = LingjunTopology::parse("t", b"ip,DSW,PSW,ASW\n").expect("a header is enough to read");
    let error = empty.fabric(&default()).expect_err("no hosts").to_string();
    assert!(error.contains("lingjun.hosts = 0"), "{error}");
}

#[test]
fn core_groups_join_only_their_own_pods() {
    let text = "ip,DSW,PSW,ASW\na,G1,P1,S1\nb,G1,P2,S1\nc,G2,P3,S1\nd,G2,P3,S2\n";
    let topology = LingjunTopology::parse("t", text.as_bytes()).expect("well formed");
    let design = LingjunDesign { host: HostModel::plain(Rate::from_gbps(400)), ..LingjunDesign::default() };
    let fabric = topology.fabric(&design).expect("small");
    // G2 has one pod and so no cores.
    assert_eq!(of_tier(&fabric, 3).len(), 64);
    let forwarding = Forwarding::new(&fabric, &LinkMask::none(&fabric));
    let ecmp = EcmpConfig::new(HashSpec::new(HashFunction::Crc32), Seeds::PerTier);
    let routing = Routing::new(&fabric, &forwarding, &ecmp);
    let reach = |source: u32, target: u32| {
        let (nic, target) = (fabric.nic(HostId(source), 0), fabric.nic(HostId(target), 0));
        let key = HashKey::of(FiveTuple::roce(nic_ip(nic), nic_ip(target), 0xC000));
        routing.route(NicPort { nic, port: 0 }, target, &key, &mut Vec::new()).is_ok()
    };
    assert!(reach(0, 1) && reach(2, 3));
    assert!(!reach(0, 2) && !reach(3, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_topology_builds_and_connects(
        hosts in prop::collection::vec((0..4_u8, 0..6_u8), 1..40),
        spines in 1..5_u32,
        parallel in 1..4_u32,
        spine_up in prop::option::of(1..6_u32),
        cores in 1..4_u32,
        model in prop::sample::select(vec!["hgx-h800", "hgx-a100", "plain"]),
    ) {
        let rows: Vec<String> =
            hosts.iter().enumerate().map(|(i, (psw, asw))| format!("h{i},G,P{psw},S{asw}\n")).collect();
        let text = format!("ip,DSW,PSW,ASW\n{}", rows.concat());
        let topology = LingjunTopology::parse("t", text.as_bytes()).expect("well formed");
        let host = HostModel::named(model).expect("a known model");
        let design = LingjunDesign { host, spines, parallel, spine_up, cores, ..LingjunDesign::default() };
        let fabric = topology.fabric(&LingjunDesign { chip: None, ..design }).expect("small");
        let leaves: BTreeSet<_> = hosts.iter().collect();
        let pods: BTreeSet<u8> = hosts.iter().map(|host| host.0).collect();
        let report = DesignReport::of(&fabric);
        prop_assert_eq!(report.hosts_active as usize, hosts.len());
        prop_assert_eq!(report.tiers[0].switches as usize, leaves.len());
        prop_assert_eq!(report.cables_leaf_spine as usize, leaves.len() * (spines * parallel) as usize);
        prop_assert_eq!(report.tiers.len(), if pods.len() > 1 { 3 } else { 2 });
        prop_assert!(stays_connected(&fabric, &[]));
    }
}

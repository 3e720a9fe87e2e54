//! Plans of all presets obey the rules of addresses, sessions and LACP.
use std::collections::BTreeMap;

use railtwin_fabric::HostSpec;
use railtwin_fabric::preset::{DcnPlus, FatTree, Hpn, LeafSpine, Tier2};

use super::*;

fn plan(fabric: &Fabric) -> FabricPlan {
    FabricPlan::new(fabric, &PlanOptions::default()).expect("addresses suffice")
}

/// Rules that hold in every plan.
fn check(plan: &FabricPlan) {
    let by_name: BTreeMap<&str, &SwitchPlan> =
        plan.switches.iter().map(|one| (one.name.as_str(), one)).collect();
    let mut loopbacks = BTreeSet::new();
    let mut addresses = BTreeSet::new();
    for switch in &plan.switches {
        assert!(loopbacks.insert(switch.loopback));
        for port in &switch.ports {
            assert!(addresses.insert(port.address), "{} twice", port.address);
            let peer = by_name[port.peer.as_str()];
            let back =
                peer.ports.iter().find(|one| one.interface == port.peer_interface).expect("the far port");
            assert_eq!((back.peer_address, back.address), (port.address, port.peer_address));
            assert_eq!(
                (back.peer.as_str(), port.peer_asn, back.peer_asn),
                (switch.name.as_str(), peer.asn, switch.asn)
            );
            assert_ne!(peer.asn, switch.asn, "sessions are external");
        }
        let numbers = |one: &Attachment| one.members.iter().map(|member| member.0).collect::<Vec<_>>();
        let all: Vec<u32> = switch.attachments.iter().flat_map(numbers).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }
    let nics: BTreeSet<Ipv4Addr> =
        plan.hosts.iter().flat_map(|host| &host.nics).map(|nic| nic.address).collect();
    assert_eq!(nics.len(), plan.hosts.iter().map(|host| host.nics.len()).sum::<usize>());
    for nic in plan.hosts.iter().flat_map(|host| &host.nics) {
        let size = 1 << (32 - nic.subnet.prefix);
        let place = u32::from(nic.address) - u32::from(nic.subnet.network);
        assert!((2..size - 1).contains(&place), "{} in {}", nic.address, nic.subnet);
    }
    check_lacp(plan);
}

/// Port ids, ports and keys of a NIC.
type Bond = (BTreeSet<u32>, usize, BTreeSet<Option<u16>>);

/// No (system id, port id) twice in a set, and one key for a NIC (H19, H20).
fn check_lacp(plan: &FabricPlan) {
    let mut of_nic: BTreeMap<&str, Bond> = BTreeMap::new();
    for switch in &plan.switches {
        for one in &switch.attachments {
            let offset = switch.dual_tor.as_ref().map_or(0, |tor| u32::from(tor.port_offset));
            let known = of_nic.entry(&one.nic).or_default();
            known.0.extend(one.members.iter().map(|member| member.0 + 1 + offset));
            known.1 += one.members.len();
            known.2.insert(one.lacp_key);
        }
    }
    for (nic, (ids, ports, keys)) in of_nic {
        assert_eq!((ids.len(), keys.len()), (ports, 1), "{nic}");
    }
}

#[test]
fn a_dual_plane_hpn_is_planned_as_the_paper_has_it() {
    let fabric =
        Hpn { segments: Some(2), hosts: Some(3), spines: Some(4), ..Hpn::default() }.build().expect("small");
    let plan = plan(&fabric);
    check(&plan);
    let (leaf, other) = (&plan.switches[0], &plan.switches[1]);
    let offsets = [leaf, other].map(|one| one.dual_tor.as_ref().expect("a set").port_offset);
    assert_eq!(offsets, [300, 600]);
    assert_eq!(leaf.subnets, other.subnets);
    assert_eq!(leaf.attachments[0].lacp_key, other.attachments[0].lacp_key);
    assert_eq!((leaf.asn, other.asn, leaf.ports.len()), (64_512, 64_513, 4));
    let spines: BTreeSet<u32> = plan.switches.iter().filter(|one| one.tier == 2).map(|one| one.asn).collect();
    assert_eq!(spines.len(), 2, "one for each plane");
    assert_eq!(plan.hosts[0].nics[0].address.to_string(), "10.0.0.2");
    assert_eq!(plan.hosts[0].nics[0].leaves, ["leaf-0", "leaf-1"]);
    assert_eq!(
        plan.switches.iter().map(|one| one.hash_seed).collect::<BTreeSet<_>>().len(),
        plan.switches.len()
    );
}

#[test]
fn every_preset_can_be_planned() {
    let host = HostSpec { nic_ports: Some(1), ..HostSpec::default() };
    for fabric in [
        Hpn { pods: 2, segments: Some(2), hosts: Some(2), spines: Some(4), cores: Some(4), ..Hpn::default() }
            .build(),
        Hpn { segments: Some(2), hosts: Some(2), dual_tor: false, ..Hpn::default() }.build(),
        DcnPlus { pods: 2, hosts: 2, ..DcnPlus::default() }.build(),
        LeafSpine::default().build(),
        LeafSpine { host, ..LeafSpine::default() }.build(),
        FatTree { k: 4, ..FatTree::default() }.build(),
    ] {
        check(&plan(&fabric.expect("valid")));
    }
}

/// The first hop up is that of the simulation where it pins paths.
#[test]
fn pinned_routes_are_those_of_the_simulation() {
    use railtwin_routing::{FiveTuple, Forwarding, HashKey, LinkMask, NicPort, Routing, Selection, nic_ip};
    let fabric = LeafSpine { leaves: 4, hosts_per_leaf: 2, uplinks: 5, ..LeafSpine::default() };
    let fabric = fabric.build().expect("valid");
    let options = PlanOptions { pinned: true, ..PlanOptions::default() };
    let plan = FabricPlan::new(&fabric, &options).expect("few routes");
    let whole = Forwarding::new(&fabric, &LinkMask::none(&fabric));
    let routing = Routing::new(&fabric, &whole, &options.ecmp).with_selection(Selection::Slice, &whole);
    let mut compared = 0;
    for (source_host, target_host) in [(0, 2), (1, 3), (3, 0)] {
        for index in 0..8 {
            let [source, target] = [source_host, target_host].map(|host| fabric.nic(HostId(host), index));
            let key = HashKey::of(FiveTuple::roce(nic_ip(source), nic_ip(target), 0xC000));
            let mut path = Vec::new();
            routing
                .route(NicPort { nic: source, port: 0 }, target, &key, &mut path)
                .expect("nothing is dead");
            let taken = fabric.cable_name(path[1].cable());
            let (leaf, _) = taken.split_once(':').expect("a port");
            let switch = plan.switches.iter().find(|one| one.name == leaf).expect("a leaf");
            let address = plan.hosts[target_host as usize].nics[index as usize].address;
            let route = switch.pinned.iter().find(|route| route.target == address).expect("a route");
            let interface = &switch.ports[route.port as usize].interface;
            assert_eq!(format!("{leaf}:{}", interface.replace("up", "uplink-")), taken);
            compared += 1;
        }
    }
    assert_eq!(compared, 24);
}

#[test]
fn pinned_routes_follow_the_slice() {
    let fabric = LeafSpine { leaves: 4, hosts_per_leaf: 2, uplinks: 4, ..LeafSpine::default() }
        .build()
        .expect("valid");
    let plan = FabricPlan::new(&fabric, &PlanOptions { pinned: true, ..PlanOptions::default() })
        .expect("few routes");
    let leaf = &plan.switches[0];
    assert_eq!(leaf.pinned.len(), 2 * 8, "NICs of the other pair of leaves");
    let far = &plan.switches[2];
    for route in &leaf.pinned {
        let there = far.attachments.iter().find(|one| one.address == route.target).expect("it is there");
        assert_eq!(leaf.ports[route.port as usize].interface, format!("up{}", there.members[0].0 % 4));
        assert!(leaf.ports[route.port as usize].is_up());
    }
    let large = Hpn::default().build().expect("default");
    let many = FabricPlan::new(&large, &PlanOptions { pinned: true, ..PlanOptions::default() });
    assert!(many.expect_err("too many").to_string().contains("pinned routes"), "refused");
}

/// 15,360 and 122,880 GPUs: four-byte AS numbers, and a time that grows as the fabric does.
#[test]
fn large_fabrics_are_planned() {
    let one = plan(&Hpn::default().build().expect("default"));
    assert_eq!((one.switches.len(), one.hosts.len()), (360, 2_040));
    let many = plan(&Hpn { tier2: Tier2::RailOnly, ..Hpn::default() }.build().expect("rail-only"));
    assert!(many.switches[0].asn >= PRIVATE_4.0);
    let nics: usize = many.hosts.iter().map(|host| host.nics.len()).sum();
    assert!(nics >= 122_880);
}

//! Wrong cables by neighbors: who is plugged in elsewhere is named, and nobody else, whatever switches and ports are called.
use std::collections::BTreeSet;

use proptest::prelude::*;
use railtwin_diagnosis::wiring::{Plan, Wiring, wiring_of};
use railtwin_fabric::preset::{Hpn, LeafSpine};
use railtwin_fabric::{CableClass, CableId, Fabric};
use railtwin_records::{FaultKind, NeighborInfo, Syndrome};
use railtwin_units::stream;
use rand::RngExt;

/// What the hosts of a fabric hear, with switches and ports named by a vendor of one's own.
fn heard(fabric: &Fabric, vendor: bool) -> Vec<NeighborInfo> {
    let access = fabric.cables().filter(|&cable| fabric.cable_class(cable) == CableClass::Access);
    let told = access.map(|cable| {
        let [near, far] = fabric.cable_ports(cable);
        let (device, port) = (fabric.device_name(fabric.port_device(far)), fabric.port_name(far));
        let named = |name: String| if vendor { format!("bj08-swl-{:03x}", 7 * hash(&name)) } else { name };
        let neighbor_port = if vendor { format!("25GE1/0/{}", hash(&port)) } else { port };
        NeighborInfo { port: fabric.port_name(near), neighbor: named(device), neighbor_port }
    });
    told.collect()
}

fn hash(name: &str) -> u32 {
    name.bytes().fold(17, |sum, byte| (31 * sum + u32::from(byte)) % 65_521)
}

fn named(told: &Wiring) -> BTreeSet<String> {
    told.findings
        .iter()
        .map(|finding| {
            assert_eq!((finding.syndrome, finding.faults[0]), (Syndrome::Wiring, FaultKind::WrongCable));
            assert!(finding.accuses(), "{finding:?}");
            finding.suspects[0].component.name().to_owned()
        })
        .collect()
}

/// Two cables of hosts that lead to different leaves, with their far ends swapped.
fn swap(fabric: &mut Fabric, seed: u64) -> [CableId; 2] {
    let mut lot = stream::named(seed, "swap");
    let all: Vec<CableId> =
        fabric.cables().filter(|&cable| fabric.cable_class(cable) == CableClass::Access).collect();
    let leaf = |cable: CableId| fabric.port_device(fabric.cable_ports(cable)[1]);
    let pair = loop {
        let pair = [0; 2].map(|_| all[lot.random_range(0..all.len())]);
        if leaf(pair[0]) != leaf(pair[1]) {
            break pair;
        }
    };
    fabric.swap_far_ends(pair[0], pair[1]);
    pair
}

fn rails() -> Fabric {
    Hpn { segments: Some(2), hosts: Some(12), ..Hpn::default() }.build().expect("two segments")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn swapped_cables_are_named_with_and_without_a_plan_and_nobody_else(seed: u64, vendor: bool) {
        let mut fabric = rails();
        let plan = Plan::of(&fabric);
        let healthy = heard(&fabric, vendor);
        prop_assert!(named(&wiring_of(&healthy, Some(&plan))).is_empty());
        prop_assert!(named(&wiring_of(&healthy, None)).is_empty());
        let pair = swap(&mut fabric, seed);
        let wrong: BTreeSet<String> = pair.iter().map(|&cable| fabric.cable_name(cable)).collect();
        let mut told = heard(&fabric, vendor);
        // Files come in any order.
        let mut lot = stream::named(seed, "order");
        for last in (1..told.len()).rev() {
            told.swap(last, lot.random_range(0..=last));
        }
        let by_plan = wiring_of(&told, Some(&plan));
        prop_assert_eq!(named(&by_plan), wrong.clone(), "{:?}", by_plan);
        let advice: BTreeSet<&str> = by_plan.findings.iter().map(|finding| finding.advice.as_str()).collect();
        prop_assert_eq!(advice.len(), 1, "{:?}", advice);
        let by_peers = wiring_of(&told, None);
        let found = named(&by_peers);
        prop_assert_eq!(&found, &wrong, "{:?}", by_peers);
    }

    #[test]
    fn hosts_without_a_convention_are_accused_of_nothing(seed: u64, hosts in 2_usize..24, ports in 1_usize..9, leaves in 1_usize..9) {
        let mut lot = stream::named(seed, "no convention");
        let mut told = Vec::new();
        for host in 0..hosts {
            for port in 0..ports {
                let neighbor = format!("leaf-{}", lot.random_range(0..leaves));
                let port = format!("n{host}/eth{port}");
                told.push(NeighborInfo { port, neighbor, neighbor_port: String::new() });
            }
        }
        // Chance makes three of four of so few agree now and then; it must not where there is much to see.
        let found = wiring_of(&told, None).findings;
        let most = if hosts >= 12 && leaves >= 3 { 0.02 } else { 0.25 };
        prop_assert!(found.len() as f64 <= most * told.len() as f64, "{found:?}");
    }
}

#[test]
fn racks_other_models_and_too_few_hosts_are_no_wrong_cables() {
    let info = |port: String, neighbor: String| NeighborInfo { port, neighbor, neighbor_port: String::new() };
    // One leaf a rack.
    let rack = |host: usize, port: usize| info(format!("n{host}/eth{port}"), format!("tor-{}", host / 8));
    let racks: Vec<NeighborInfo> =
        (0..32).flat_map(|host| (0..8).map(move |port| rack(host, port))).collect();
    assert!(wiring_of(&racks, None).findings.is_empty());
    // Four hosts of sixteen of another model name their ports in another order.
    let other = |host: usize, port: usize| {
        info(format!("n{host}/eth{port}"), format!("leaf-{}", if host < 4 { 7 - port } else { port }))
    };
    let models: Vec<NeighborInfo> =
        (0..16).flat_map(|host| (0..8).map(move |port| other(host, port))).collect();
    assert!(wiring_of(&models, None).findings.is_empty());
    // One of three others is no rule.
    let few: Vec<NeighborInfo> = (0..3)
        .flat_map(|host| (0..2).map(move |port| other(host + usize::from(host > 0) * 4, port)))
        .collect();
    let told = wiring_of(&few, None);
    assert!(told.findings.is_empty() && told.notes[0].contains("nothing tells a wrong cable"), "{told:?}");
}

#[test]
fn a_host_of_which_all_ports_differ_is_told_as_a_host_and_a_port_that_hears_two_tells_nothing() {
    let info = |port: String, neighbor: String| NeighborInfo { port, neighbor, neighbor_port: String::new() };
    let side = |host: usize, port: usize| {
        info(format!("n{host}/eth{port}"), format!("tor-{}", if host == 5 { 1 - port } else { port }))
    };
    let mut dual: Vec<NeighborInfo> =
        (0..12).flat_map(|host| (0..2).map(move |port| side(host, port))).collect();
    let told = wiring_of(&dual, None);
    let [one] = &told.findings[..] else { panic!("{told:?}") };
    assert_eq!(one.suspects[0].component.name(), "n5");
    assert!((one.confidence - 0.7 * 11.0 / 12.0).abs() < 1e-9 && one.evidence.len() == 2, "{one:?}");
    dual.push(info("n5/eth0".into(), "phone-7".into()));
    dual.push(info("n5/eth1".into(), "phone-7".into()));
    let told = wiring_of(&dual, None);
    assert!(told.findings.is_empty(), "{told:?}");
    assert!(
        told.notes.iter().any(|note| note.starts_with("2 of 24 ports hear several neighbors")),
        "{told:?}"
    );
}

/// Rails of one host in another order, beside a port for management that keeps its name; and two swaps in it.
#[test]
fn most_ports_of_a_host_in_another_order_are_told_as_the_host_and_swaps_as_cables() {
    let told = |hears: &dyn Fn(usize) -> usize| {
        let port = |host: usize, port: usize| {
            let leaf = if host == 5 { hears(port) } else { port };
            let neighbor = if port == 8 { "management".to_owned() } else { format!("leaf-{leaf}") };
            NeighborInfo { port: format!("n{host}/eth{port}"), neighbor, neighbor_port: String::new() }
        };
        let all: Vec<NeighborInfo> = (0..12)
            .flat_map(|host| (0..9).map(move |at| (host, at)))
            .map(|(host, at)| port(host, at))
            .collect();
        wiring_of(&all, None).findings
    };
    let reversed = |port: usize| 7 - port.min(7);
    let rotated = |port: usize| (port + 3) % 8;
    for found in [told(&reversed), told(&rotated)] {
        let [one] = &found[..] else { panic!("{found:?}") };
        assert_eq!(one.suspects[0].component.name(), "n5");
    }
    let swaps = told(&|port| if port < 4 { port ^ 1 } else { port });
    let names: BTreeSet<&str> = swaps.iter().map(|one| one.suspects[0].component.name()).collect();
    assert_eq!(names, BTreeSet::from(["n5/eth0", "n5/eth1", "n5/eth2", "n5/eth3"]), "{swaps:?}");
}

#[test]
fn a_cable_in_another_port_of_its_leaf_is_told_where_ports_have_the_names_of_the_plan() {
    let mut fabric =
        LeafSpine { leaves: 4, hosts_per_leaf: 4, ..LeafSpine::default() }.build().expect("leaves");
    let plan = Plan::of(&fabric);
    let leaf = |cable: &CableId| fabric.port_device(fabric.cable_ports(*cable)[1]);
    let access: Vec<CableId> =
        fabric.cables().filter(|&cable| fabric.cable_class(cable) == CableClass::Access).collect();
    let of_first: Vec<CableId> =
        access.iter().copied().filter(|cable| leaf(cable) == leaf(&access[0])).collect();
    fabric.swap_far_ends(of_first[0], of_first[1]);
    assert_eq!(named(&wiring_of(&heard(&fabric, false), Some(&plan))).len(), 2);
    assert!(named(&wiring_of(&heard(&fabric, true), Some(&plan))).is_empty());
}

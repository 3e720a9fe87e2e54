//! NetQ's topology graph.
use proptest::prelude::*;
use railtwin_topology::{SourceFile, Topology};
use railtwin_topology::{form_of, named};

use crate::tree_support::{Built, fabrics, findings, fixture, read, read_back, read_fixture, write};

#[test]
fn the_graph_has_its_tiers_and_cables() {
    let topology = read_fixture("netq", "netq_topology_graph.json");
    let counts = topology.counts();
    assert_eq!((counts.hosts, counts.cables, counts.adapters, counts.links_missing), (8, 79, 32, 0));
    let switches: Vec<(&str, u32)> =
        counts.switches.iter().map(|(tier, &count)| (tier.as_str(), count)).collect();
    assert_eq!(switches, [("leaf", 2), ("spine", 1)]);
    assert_eq!(findings(&topology), []);
    let leaf = topology.list.device_named("net-unit-l2").unwrap();
    let port = topology.list.port_named(leaf, "swp17s0").unwrap();
    let peer = topology.list.peer(port).unwrap();
    assert_eq!(topology.list.ports()[peer as usize].name, "ens4f0np0");
    assert_eq!(topology.list.devices()[topology.list.device_of(peer) as usize].name, "dgx-05");
    let tree = write("slurm", &topology)[0].text.clone();
    let expected = "SwitchName=net-unit-s1 Switches=net-unit-l[1-2]\nSwitchName=net-unit-l1 Nodes=dgx-[01-04]\n\
                    SwitchName=net-unit-l2 Nodes=dgx-[05-08]\n";
    assert_eq!(tree, expected);
}

#[test]
fn compute_nodes_have_their_domain() {
    let files = ["netq_topology_graph.json", "netq_compute_nodes.json"].map(|name| (name, fixture(name)));
    let sources = [0, 1].map(|row: usize| SourceFile { name: files[row].0, bytes: &files[row].1 });
    assert_eq!(form_of(&sources).unwrap().name, "netq");
    let topology = (named("netq").unwrap().read.unwrap())(&sources).unwrap();
    assert_eq!(findings(&topology), [("host-without-switch", "node1"), ("host-without-switch", "node2")]);
    let about = &topology.about[topology.list.device_named("node2").unwrap() as usize];
    assert_eq!(about.domain.as_deref(), Some("3fbfc98b-7f95-4749-ab11-bd351a2aab3e"));
    assert_eq!((about.subdomain.as_deref(), about.gpus), (Some("1825024170029"), Some(4)));
}

#[test]
fn damage_is_a_finding() {
    let text = r#"[{"links": [
        {"id": "a-*-b", "size": 3, "compounded_links": [
            {"interfaces": [{"interface": "p1", "node": "a"}, {"interface": "s1", "node": "b"}]},
            {"id": "half", "interfaces": [{"interface": "p2", "node": "a"}]}]},
        {"id": "a-*-z", "size": 2, "compounded_links": [
            {"interfaces": [{"interface": "p3", "node": "a"}, {"interface": "s1", "node": "z"}]},
            {"interfaces": [{"interface": "p1", "node": "a"}, {"interface": "s2", "node": "b"}]}]},
        {"id": "b-*-c", "size": 2}],
      "nodes": [{"tier": -1, "compounded_nodes": [{"id": "a", "name": "h"}, {"id": "a2", "name": "h"}]},
        {"tier": 1, "compounded_nodes": [{"id": "b", "name": "l", "tier": 1}, {"id": "alone", "device_type": "switch"}]},
        {"tier": 2, "compounded_nodes": [{"name": "group", "compounded_nodes": [{"id": "c", "name": "s"}]}]}]}]"#;
    let topology = read("netq", text).unwrap();
    let found = findings(&topology);
    for expected in [
        ("count-differs", "a-*-b"),
        ("one-sided-link", "half"),
        ("unknown-device", "z"),
        ("port-with-two-cables", "h"),
        ("duplicate-name", "h"),
        ("switch-without-hosts", "alone"),
    ] {
        assert!(found.contains(&expected), "{expected:?} in {found:?}");
    }
    let counts = topology.counts();
    assert_eq!((counts.hosts, counts.cables, counts.links_missing), (2, 3, 2));
    assert_eq!((counts.switches["leaf"], counts.switches["spine"]), (2, 1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn every_fabric_comes_back(Built(fabric) in fabrics()) {
        let topology = Topology::of_fabric(&fabric);
        let back = read_back("netq", &write("netq", &topology));
        prop_assert_eq!(findings(&back), vec![]);
        let (found, expected) = (back.counts(), topology.counts());
        prop_assert_eq!((found.hosts, found.cables, found.switches), (expected.hosts, expected.cables, expected.switches));
        let cables = |of: &Topology| {
            let list = &of.list;
            let end = |port: u32| {
                let port = &list.ports()[port as usize];
                (list.devices()[port.device as usize].name.clone(), port.name.clone())
            };
            let mut all: Vec<_> = list.cables().iter().map(|cable| {
                let mut ends = cable.ports.map(end);
                ends.sort();
                ends
            }).collect();
            all.sort();
            all
        };
        prop_assert_eq!(cables(&back), cables(&topology));
        prop_assert_eq!(write("netq", &back).len(), 1);
    }
}

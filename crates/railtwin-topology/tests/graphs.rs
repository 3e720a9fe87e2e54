//! Graphs in DOT and GraphML: plans and drawings of several tools, damaged ones, and fabrics that are written and read.
use proptest::prelude::*;
use railtwin_fabric::preset::Hpn;
use railtwin_topology::{SourceFile, Topology, form_of};

use super::graph_cases::{
    any_damage, any_topology, cables, damaged, form, kinds, line, read, roles, survive, write,
};

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/topology_graphs/", $name))
    };
}

const PTM: &[u8] = fixture!("ptm.dot");
const DIGRAPH: &[u8] = fixture!("digraph.dot");
const LABELS: &[u8] = fixture!("labels.dot");
const NETWORKX: &[u8] = fixture!("networkx.graphml");
const YED: &[u8] = fixture!("yed.graphml");
const ZOO: &[u8] = fixture!("zoo.graphml");
const ALL: [(&str, &[u8]); 6] = [
    ("dot", PTM),
    ("dot", DIGRAPH),
    ("dot", LABELS),
    ("graphml", NETWORKX),
    ("graphml", YED),
    ("graphml", ZOO),
];

fn found(topology: &Topology) -> Vec<(&'static str, usize)> {
    kinds(topology).into_iter().collect()
}

/// Name of the device and the port at the other end of a port.
fn peer(topology: &Topology, device: &str, port: &str) -> (String, String) {
    let list = &topology.list;
    let device = list.device_named(device).expect("the device is in the graph");
    let port = list.port_named(device, port).expect("the port is in the graph");
    let peer = list.peer(port).expect("a cable leads from the port");
    (list.devices()[list.device_of(peer) as usize].name.clone(), list.ports()[peer as usize].name.clone())
}

#[test]
fn every_graph_is_known_by_its_beginning() {
    for (name, bytes) in ALL {
        assert_eq!(form_of(&[SourceFile { name: "graph", bytes }]).map(|form| form.name), Some(name));
    }
    // Neither another word nor Mermaid.
    for bytes in [&b"graphics {}"[..], b"graph LR\n  a --> b{x}\n", b"graph"] {
        assert!(!(form("dot").is_one)(&SourceFile { name: "x", bytes }));
    }
}

#[test]
fn a_plan_of_ptm_is_read() {
    let topology = read("dot", PTM);
    assert_eq!(line(&topology.counts()), "hosts 2, leaf 2, spine 2, adapters 4, cables 8, up 8, missing 0");
    assert!(topology.findings.is_empty(), "{:?}", topology.findings);
    assert_eq!(peer(&topology, "server02", "eth2"), ("leaf02".to_owned(), "swp2".to_owned()));
    let server = topology.list.device_named("server02").expect("the server is in the plan");
    assert_eq!(topology.list.devices()[server as usize].rack.as_deref(), Some("A2"));
    let port = topology.list.port_named(server, "eth2").expect("the port is in the plan");
    assert_eq!(topology.list.ports()[port as usize].rate.map(|rate| rate.gbps()), Some(200.0));
    assert_eq!(topology.list.title.as_deref(), Some("dc-1"));
}

#[test]
fn two_directions_of_a_digraph_are_one_cable() {
    let topology = read("dot", DIGRAPH);
    assert_eq!(line(&topology.counts()), "hosts 2, leaf 2, spine 2, adapters 3, cables 7, up 7, missing 0");
    assert!(topology.findings.is_empty(), "{:?}", topology.findings);
    assert_eq!(peer(&topology, "b", "hca0"), ("l2".to_owned(), "eth7".to_owned()));
    assert_eq!(peer(&topology, "a", "to-l1-0"), ("l1".to_owned(), "to-a-0".to_owned()));
    assert!(
        topology.notes.iter().any(|note| note.starts_with("12 ends of cables name no port")),
        "{:?}",
        topology.notes
    );
    let a = topology.list.device_named("a").expect("the host is drawn");
    assert_eq!(topology.list.devices()[a as usize].rack.as_deref(), Some("rack 1"));
}

#[test]
fn ports_of_labels_delays_and_links_that_are_down_are_read() {
    let topology = read("dot", LABELS);
    assert_eq!(line(&topology.counts()), "hosts 1, leaf 1, spine 1, adapters 1, cables 2, up 2, missing 1");
    assert_eq!(found(&topology), [("link-down", 1)]);
    assert_eq!(peer(&topology, "leaf1", "e1-49"), ("spine1".to_owned(), "e1-1".to_owned()));
    assert_eq!(peer(&topology, "client1", "eth1"), ("leaf1".to_owned(), "e1-1".to_owned()));
    assert_eq!(topology.list.cables()[0].delay.map(|delay| delay.ps()), Some(1_500_000));
}

#[test]
fn switches_of_management_are_of_no_tier() {
    let dot = "graph lab {\n leaf1 [function=leaf]; spine1 [function=spine]; server01 [function=host];\n\
               \"oob-mgmt-switch\" [function=\"oob-switch\"]; \"oob-leaf-1\" [role=leaf]; sw9 [role=\"mgmt-leaf\"]; \"mgmtsw2\";\n\
               \"oob-mgmt-server\" [function=\"oob-server\"];\n\
               leaf1:swp1 -- server01:eth1; leaf1:swp51 -- spine1:swp1;\n\
               \"oob-mgmt-switch\":swp1 -- server01:eth0; \"oob-mgmt-switch\":swp2 -- leaf1:eth0;\n\
               \"oob-mgmt-switch\":swp3 -- spine1:eth0; \"oob-mgmt-switch\":swp4 -- \"oob-mgmt-server\":eth1;\n\
               \"oob-leaf-1\":e1 -- server01:bmc; sw9:e1 -- server01:ipmi; \"mgmtsw2\":e1 -- sw9:e2; }";
    let topology = read("dot", dot.as_bytes());
    let expected = "hosts 2, leaf 1, out-of-band 4, spine 1, adapters 5, cables 9, up 9, missing 0";
    assert_eq!(line(&topology.counts()), expected);
    assert_eq!(found(&topology), [("out-of-band-switch", 4)]);
    for name in ["dot", "graphml"] {
        let again = read(name, write(name, &topology).as_bytes());
        assert_eq!(again.counts(), topology.counts(), "{name}");
        assert_eq!(found(&again), found(&topology), "{name}");
        assert_eq!(roles(&again), roles(&topology), "{name}");
    }
    let graphml = write("graphml", &topology).replace("oob-mgmt-switch", "management");
    assert_eq!(read("graphml", graphml.as_bytes()).counts(), topology.counts());
}

#[test]
fn a_graph_of_networkx_is_read() {
    let topology = read("graphml", NETWORKX);
    assert_eq!(line(&topology.counts()), "hosts 3, leaf 2, spine 1, adapters 2, cables 4, up 4, missing 1");
    assert_eq!(found(&topology), [("host-without-switch", 1), ("unknown-device", 1)]);
    assert_eq!(topology.list.cables()[0].delay.map(|delay| delay.ps()), Some(500_000));
    assert_eq!(peer(&topology, "gpu-2", "eth0"), ("tor-2".to_owned(), "Ethernet64".to_owned()));
}

#[test]
fn a_drawing_of_yed_is_read() {
    let topology = read("graphml", YED);
    assert_eq!(line(&topology.counts()), "hosts 2, leaf 1, adapters 4, cables 3, up 3, missing 0");
    assert_eq!(peer(&topology, "server-1", "eth0"), ("leaf-1".to_owned(), "swp1".to_owned()));
    let server = topology.list.device_named("server-2").expect("the server is drawn");
    assert_eq!(topology.list.devices()[server as usize].rack.as_deref(), Some("rack 7"));
}

#[test]
fn a_network_of_cities_has_no_hosts() {
    let topology = read("graphml", ZOO);
    assert_eq!(line(&topology.counts()), "hosts 0, unknown 3, adapters 0, cables 4, up 4, missing 0");
    assert_eq!(found(&topology), [("switch-without-hosts", 3)]);
    let oslo = topology.list.device_named("Oslo").expect("labels name the nodes");
    let rate = |port: &u32| topology.list.ports()[*port as usize].rate.map(|rate| rate.bits_per_s());
    let rates: Vec<_> = topology.list.devices()[oslo as usize].ports.iter().map(rate).collect();
    assert_eq!(rates, [Some(10_000_000_000), Some(155_000_000), None]);
}

#[test]
fn what_is_no_graph_is_refused_with_its_line() {
    for (name, text, place) in [
        ("dot", "graph g {\n a -- ;\n}", "x:2"),
        ("dot", "graph g {\n a [role=leaf", "x:2"),
        ("dot", "graph g {\n a \"b", "x:2"),
        ("dot", "digraph {}", "x"),
        ("dot", "graph g { a", "x:1"),
        ("graphml", "<graphml>\n<graph>\n<node/>", "x"),
        ("graphml", "<graphml>\n<graph>\n<node/></graph></graphml>", "x:3"),
        ("graphml", "<graphml><graph>\n<hyperedge/></graph></graphml>", "x:2"),
        ("graphml", "<svg/>", "x"),
        ("graphml", "<graphml/>", "x"),
    ] {
        let reader = form(name).read.expect("the form is read");
        let error = reader(&[SourceFile { name: "x", bytes: text.as_bytes() }]).expect_err(text).to_string();
        assert!(error.starts_with(place), "{text}: {error}");
    }
}

#[test]
fn small_files_that_mean_too_much_are_refused() {
    let nodes: String = (0..2_000).map(|row| format!("n{row} ")).collect();
    let deep = format!("graph g {{ {} }}", "{".repeat(100_000));
    let wide = format!("graph g {{ {{ {nodes} }} -- {{ {nodes} }} -- {{ {nodes} }} }}");
    for text in [deep, wide] {
        let reader = form("dot").read.expect("the form is read");
        assert!(reader(&[SourceFile { name: "x", bytes: text.as_bytes() }]).is_err());
    }
    survive("graphml", format!("<graphml>{}", "<graph>".repeat(20_000)).as_bytes());
}

#[test]
fn names_with_odd_signs_are_read_back() {
    let mut topology = Topology::new("test");
    let names = ["a\"b", "back\\slash", "<&>'", "ünï \u{1F980}", "x:y", "node", "{}", "tab"];
    let leaf = topology.switch("leaf \"1\"");
    for name in names {
        let host = topology.host(name);
        topology.join([(host, "p\"0"), (leaf, &format!("to {name}"))], None, None, 0);
    }
    railtwin_topology::tiers::by_distance(&mut topology);
    for name in ["dot", "graphml"] {
        let again = read(name, write(name, &topology).as_bytes());
        assert_eq!(cables(&again), cables(&topology), "{name}");
        assert_eq!(roles(&again), roles(&topology), "{name}");
    }
}

#[test]
fn a_pod_of_15360_gpus_is_written_and_read() {
    let topology = Topology::of_fabric(&Hpn::default().build().expect("the default is a fabric"));
    for name in ["dot", "graphml"] {
        let again = read(name, write(name, &topology).as_bytes());
        assert_eq!(again.counts(), topology.counts(), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_back(topology in any_topology()) {
        for name in ["dot", "graphml"] {
            let text = write(name, &topology);
            let again = read(name, text.as_bytes());
            prop_assert_eq!(again.counts(), topology.counts());
            prop_assert_eq!(cables(&again), cables(&topology));
            prop_assert_eq!(roles(&again), roles(&topology));
            prop_assert_eq!(write(name, &again), text);
        }
    }

    #[test]
    fn damage_never_stops_the_program(which in 0..ALL.len(), damage in any_damage()) {
        let (name, bytes) = ALL[which];
        survive(name, &damaged(bytes, &damage));
    }

    #[test]
    fn no_bytes_stop_the_program(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        survive("dot", &bytes);
        survive("graphml", &bytes);
    }

    #[test]
    fn no_words_stop_the_program(words in "graph \\{(a|b|[{}]|--|->| |;|:p|\\[l=1\\]|node|edge|subgraph|\"|=|<|>|\\+){0,40}") {
        survive("dot", words.as_bytes());
    }
}

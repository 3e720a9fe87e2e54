//! Dumps of `ibnetdiscover`: ours of simulated nets, a real one, damaged ones.
use std::collections::BTreeSet;

use proptest::prelude::*;
use railtwin_fabric::preset::Hpn;
use railtwin_topology::{Topology, form_of};

use super::graph_cases::{
    any_damage, any_topology, cables, damaged, joined, kinds, line, read, roles, survive, write,
};

const FORM: &str = "ibnetdiscover";

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/ibnetdiscover/", $name))
    };
}

const TWO_TIERS: &[u8] = fixture!("two_tiers.txt");
const DUAL_RAIL: &[u8] = fixture!("dual_rail.txt");
const GROUPS: &[u8] = fixture!("dual_rail_groups.txt");
const PORTS: &[u8] = fixture!("dual_rail_ports.txt");
const LIST: &[u8] = fixture!("dual_rail_list.txt");
const NET: &[u8] = fixture!("nets/dual_rail.net");
const ONE_ADAPTER: &[u8] = fixture!("topograph_bad.out");
const LOST_LEAF: &[u8] = fixture!("topograph_adapters.out");
const ALL: [&[u8]; 8] = [TWO_TIERS, DUAL_RAIL, GROUPS, PORTS, LIST, NET, ONE_ADAPTER, LOST_LEAF];

/// A dump without the blocks of which a line holds one of the words.
fn without(dump: &[u8], words: &[&str]) -> String {
    let text = std::str::from_utf8(dump).expect("the dump is text");
    let is_kept = |block: &&str| {
        let header = block.lines().find(|line| line.starts_with("Switch") || line.starts_with("Ca"));
        !header.is_some_and(|header| words.iter().any(|word| header.contains(word)))
    };
    text.split("\n\n").filter(is_kept).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn every_dump_is_known_by_its_beginning() {
    for bytes in ALL {
        let source = railtwin_topology::SourceFile { name: "dump", bytes };
        assert_eq!(form_of(&[source]).map(|form| form.name), Some(FORM));
    }
    let other = railtwin_topology::SourceFile { name: "x", bytes: b"SwitchName=s1 Nodes=h[1-4]\n[1]\nCa\n" };
    assert!(form_of(&[other]).is_none_or(|form| form.name != FORM));
}

#[test]
fn two_tiers_are_counted() {
    let topology = read(FORM, TWO_TIERS);
    let expected = "hosts 16, leaf 4, spine 2, adapters 16, cables 24, up 24, missing 0";
    assert_eq!(line(&topology.counts()), expected);
    assert!(topology.findings.is_empty(), "{:?}", topology.findings);
    let host = topology.list.device_named("dgx-07").expect("the host is in the dump");
    let port = topology.list.port_named(host, "mlx5_0/1").expect("its adapter has a port");
    let peer = topology.list.peer(port).expect("a cable leads from it");
    let leaf = &topology.list.devices()[topology.list.device_of(peer) as usize];
    assert_eq!((leaf.name.as_str(), topology.list.ports()[peer as usize].name.as_str()), ("leaf-r1-2", "3"));
    assert_eq!(topology.list.ports()[peer as usize].rate.map(|rate| rate.gbps()), Some(40.0));
}

#[test]
fn all_forms_of_one_subnet_are_the_same_topology() {
    let expected = "hosts 8, leaf 4, spine 2, adapters 16, cables 32, up 32, missing 0";
    let dump = read(FORM, DUAL_RAIL);
    assert_eq!(line(&dump.counts()), expected);
    assert_eq!(kinds(&dump).into_iter().collect::<Vec<_>>(), [("aggregation-adapter", 6), ("slow-link", 1)]);
    let slow =
        dump.findings.iter().find(|finding| finding.kind == "slow-link").expect("one link has one lane");
    assert_eq!(slow.device, "leaf-r2-2");
    assert_eq!(
        slow.seen,
        "port 2 to gb200-06 port mlx5_1/1 runs at 10 Gbps; 3 of 4 links to hosts run at 40 Gbps"
    );
    for other in [GROUPS, PORTS] {
        let other = read(FORM, other);
        assert_eq!(line(&other.counts()), expected);
        assert_eq!(joined(&other), joined(&dump));
        assert_eq!(kinds(&other), kinds(&dump));
    }
    // A net of ibsim has no speeds.
    assert_eq!(line(&read(FORM, NET).counts()), expected);
    let list = read(FORM, LIST).counts();
    assert_eq!(line(&list), "hosts 8, unknown 6, adapters 16, cables 0, up 0, missing 0");
}

#[test]
fn one_adapter_without_a_link_is_a_host_without_a_switch() {
    let topology = read(FORM, ONE_ADAPTER);
    assert_eq!(line(&topology.counts()), "hosts 1, , adapters 1, cables 0, up 0, missing 0");
    assert_eq!(topology.findings.len(), 1);
    let finding = &topology.findings[0];
    assert_eq!((finding.kind, finding.device.as_str()), ("host-without-switch", "dgx-gb200-n01-c1"));
    assert!(finding.seen.contains("HCA-1 (H-b8e92403009ca838)"), "{}", finding.seen);
}

#[test]
fn a_leaf_without_a_block_counts_and_its_links_are_missing() {
    let topology = read(FORM, LOST_LEAF);
    let expected = "hosts 18, leaf 1, adapters 18, cables 0, up 0, missing 18";
    assert_eq!(line(&topology.counts()), expected);
    let found: Vec<_> = kinds(&topology).into_iter().collect();
    assert_eq!(found, [("aggregation-adapter", 1), ("missing-switch", 1), ("unnamed-host", 8)]);
    assert!(topology.list.device_named("A09-P1-IBLEAF-01-01").is_some());
}

#[test]
fn a_lost_spine_takes_its_links_along() {
    let topology = read(FORM, without(DUAL_RAIL, &["spine-2"]).as_bytes());
    let expected = "hosts 8, leaf 4, spine 2, adapters 16, cables 24, up 24, missing 8";
    assert_eq!(line(&topology.counts()), expected);
    let lost: Vec<_> = topology.findings.iter().filter(|finding| finding.kind == "missing-switch").collect();
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0].device, "spine-2");
    assert!(lost[0].seen.contains("8 links lead to it"), "{}", lost[0].seen);
}

#[test]
fn a_lost_host_is_counted_as_missing() {
    let topology = read(FORM, without(DUAL_RAIL, &["gb200-03"]).as_bytes());
    let expected = "hosts 8, leaf 4, spine 2, adapters 16, cables 30, up 30, missing 2";
    assert_eq!(line(&topology.counts()), expected);
    assert_eq!(kinds(&topology)["missing-host"], 2);
}

/// Blocks of switches alone, as some scripts keep them.
fn of_switches(dump: &[u8]) -> String {
    let text = std::str::from_utf8(dump).expect("the dump is text");
    let is_kept = |block: &&str| !block.lines().any(|line| line.starts_with("Ca"));
    text.split("\n\n").filter(is_kept).collect::<Vec<_>>().join("\n\n")
}

/// Files of the forms of schedulers.
fn scheduled(topology: &Topology) -> Vec<String> {
    ["slurm", "slurm-yaml", "topograph", "kueue", "volcano"].map(|form| write(form, topology)).to_vec()
}

#[test]
fn links_of_switches_alone_tell_of_hosts() {
    for (dump, aggregation) in [(TWO_TIERS, 0), (DUAL_RAIL, 6)] {
        let (whole, found) = (read(FORM, dump), read(FORM, of_switches(dump).as_bytes()));
        assert_eq!(line(&found.counts()), line(&whole.counts()));
        assert_eq!(joined(&found), joined(&whole));
        assert_eq!(scheduled(&found), scheduled(&whole));
        assert_eq!(kinds(&found), kinds(&whole));
        assert_eq!(kinds(&found).get("aggregation-adapter").copied().unwrap_or(0), aggregation);
        assert!(found.notes.iter().any(|note| note.contains("no blocks of adapters")), "{:?}", found.notes);
    }
}

#[test]
fn links_of_switches_name_missing_spines_unnamed_hosts_and_aggregation_adapters() {
    let text = "switchguid=0x2c5eab0300b87b00(2c5eab0300b87b00)\n\
                Switch 65 \"S-2c5eab0300b87b00\" # \"MF0;leaf-1:MQM9700/U1\" enhanced port 0 lid 1 lmc 0\n\
                [1] \"H-e09d730300000010\"[1](e09d730300000010) # \"host01 mlx5_0\" lid 11 4xNDR\n\
                [2] \"H-e09d730300000020\"[1](e09d730300000020) # \"MT4129 ConnectX7   Mellanox Technologies\" lid 12 4xNDR\n\
                [3] \"H-e09d730300000030\"[1](e09d730300000030) # \"\" lid 13 4xNDR\n\
                [33] \"S-2c5eab0300b90000\"[1] # \"MF0;spine-1:MQM9700/U1\" lid 2 4xNDR\n\
                [65] \"H-2c5eab0300b87b10\"[1](2c5eab0300b87b10) # \"\" lid 14 4xNDR\n\
                \n\
                switchguid=0x2c5eab0300b88b00(2c5eab0300b88b00)\n\
                Switch 65 \"S-2c5eab0300b88b00\" # \"MF0;leaf-2:MQM9700/U1\" enhanced port 0 lid 3 lmc 0\n\
                [1] \"H-e09d730300000040\"[1](e09d730300000040) # \"host04 mlx5_0\" lid 15 4xNDR\n\
                [33] \"S-2c5eab0300b90000\"[2] # \"MF0;spine-1:MQM9700/U1\" lid 2 4xNDR\n\
                [65] \"H-2c5eab0300b88b10\"[1](2c5eab0300b88b10) # \"Mellanox Technologies Aggregation Node\" lid 16 4xNDR\n";
    let topology = read(FORM, text.as_bytes());
    let expected = "hosts 4, leaf 2, spine 1, adapters 4, cables 4, up 4, missing 2";
    assert_eq!(line(&topology.counts()), expected);
    let found: Vec<_> = kinds(&topology).into_iter().collect();
    assert_eq!(found, [("aggregation-adapter", 2), ("missing-switch", 1), ("unnamed-host", 2)]);
    let slurm = "SwitchName=spine-1 Switches=leaf-[1-2]\n\
                 SwitchName=leaf-1 Nodes=H-e09d[730300000020,730300000030],host01\n\
                 SwitchName=leaf-2 Nodes=host04\n";
    assert_eq!(write("slurm", &topology), slurm);
}

#[test]
fn hosts_of_lost_switches_and_lost_hosts_stand_in_trees() {
    let adapters = read(FORM, LOST_LEAF);
    let text = write("slurm", &adapters);
    assert!(text.starts_with("SwitchName=A09-P1-IBLEAF-01-01 Nodes=") && !text.contains('#'), "{text}");
    for word in ["gb200-03", "spine-2", "leaf-r1-1"] {
        let lost = read(FORM, without(DUAL_RAIL, &[word]).as_bytes());
        assert_eq!(write("slurm", &lost), write("slurm", &read(FORM, DUAL_RAIL)), "{word}");
    }
}

#[test]
fn one_end_that_names_a_link_is_enough() {
    let text = String::from_utf8_lossy(TWO_TIERS);
    let is_of_host =
        |line: &&str| !(line.starts_with("[1](") && line.contains("lid 0 lmc 0 \"MF0;leaf-r1-3"));
    let text = text.lines().filter(is_of_host).collect::<Vec<_>>().join("\n");
    let topology = read(FORM, text.as_bytes());
    assert_eq!(topology.counts(), read(FORM, TWO_TIERS).counts());
    assert_eq!(kinds(&topology).into_iter().collect::<Vec<_>>(), [("one-sided-link", 4)]);
}

#[test]
fn contradictions_are_findings() {
    let net = "Switch 4 \"S-0000000000000001\" # \"s1\" lid 1 lmc 0\n\
               [1] \"H-0000000000000011\"[1](11) # \"h mlx5_0\" lid 2 4xNDR\n\
               [2] \"H-0000000000000012\"[1](12) # \"h mlx5_0\" lid 3 4xNDR\n\
               [3] \"S-0000000000000001\"[4] # \"s1\" lid 1 4xNDR\n\
               [4] \"S-0000000000000001\"[3] # \"s1\" lid 1 4xNDR\n\
               \n\
               sysimgguid=0x11\nCa 1 \"H-0000000000000011\" # \"h mlx5_0\"\n\
               [1](11) \"S-0000000000000001\"[2] # lid 2 lmc 0 \"s1\" lid 1 4xNDR\n\
               \n\
               sysimgguid=0x12\nCa 1 \"H-0000000000000012\" # \"h mlx5_0\"\n\
               [1](12) \"S-0000000000000001\"[2] # lid 3 lmc 0 \"s1\" lid 1 4xNDR\n\
               \n\
               Rt 2 \"R-0000000000000021\" # \"rt\"\n\
               [1] \"S-0000000000000009\"[2";
    let topology = read(FORM, net.as_bytes());
    let expected = "hosts 2, leaf 1, adapters 2, cables 2, up 2, missing 2";
    assert_eq!(line(&topology.counts()), expected);
    let found: Vec<_> = kinds(&topology).into_iter().collect();
    let expected = [("duplicate-name", 1), ("loop", 1), ("port-with-two-cables", 2), ("unreadable-line", 1)];
    assert_eq!(found, expected);
}

#[test]
fn a_server_at_a_spine_leaves_it_a_spine() {
    let mut text = String::from_utf8_lossy(TWO_TIERS).into_owned();
    text.push_str(
        "\nCa\t1 \"H-fe8f1000000000ff\"\t\t# \"ufm-1 mlx5_0\"\n\
         [1](fe8f1000000000ff) \t\"S-fe8f000000000400\"[60]\t\t# lid 0 lmc 0 \"MF0;spine-1:MQM9700/U1\" lid 0 4xQDR\n",
    );
    let topology = read(FORM, text.as_bytes());
    let expected = "hosts 17, leaf 4, spine 2, adapters 17, cables 25, up 25, missing 0";
    assert_eq!(line(&topology.counts()), expected);
    assert_eq!(
        kinds(&topology).into_iter().collect::<Vec<_>>(),
        [("host-above-leaf", 1), ("one-sided-link", 1)]
    );
}

#[test]
fn files_of_other_kinds_are_refused() {
    for bytes in [&b""[..], b"# Topology file: generated on Mon\n", b"{\"a\": 1}", b"< Switch 1 \"S-1\"\n"] {
        let reader = super::graph_cases::form(FORM).read.expect("the form is read");
        let error = reader(&[railtwin_topology::SourceFile { name: "x", bytes }]).expect_err("it is no dump");
        assert!(error.to_string().starts_with("x"), "{error}");
    }
}

/// Names of hosts.
fn hosts(topology: &Topology) -> BTreeSet<String> {
    topology.hosts().map(|host| topology.list.devices()[host as usize].name.clone()).collect()
}

/// A fabric of hosts whose ports and adapters have names as other forms give them.
fn odd_names() -> Topology {
    let mut topology = Topology::new("test");
    let leaf = topology.switch("leaf-1");
    let all: [(&str, &[&str], &[&str]); 8] = [
        ("host-1", &["be0", "be1"], &["be0-port0", "be0-port1", "be1-port0"]),
        ("host-2.dc.example", &["mlx5_0", "mlx5_1"], &["mlx5_0/1", "mlx5_1:1"]),
        ("rack 3 host 3", &["be0"], &["be0-port0"]),
        ("host-4", &["connectx7-0"], &["connectx7-0.1"]),
        ("host-5", &["0c:4f:9b:c4:18:61", "eth1"], &["0c:4f:9b:c4:18:61", "eth1"]),
        ("host-6", &[], &["p1", "p2"]),
        ("host-7", &["nic-0", "nic-1"], &["enp1s0f0", "enp2s0f0", "bmc"]),
        ("fd00::8", &["be10", "be1"], &["be10-port0", "be1-port0"]),
    ];
    for (name, adapters, ports) in all {
        let host = topology.host(name);
        topology.about_mut(host).adapters = adapters.iter().map(|&name| name.to_owned()).collect();
        for port in ports {
            topology.join([(host, port), (leaf, &format!("to {name} {port}"))], None, None, 0);
        }
    }
    railtwin_topology::tiers::by_distance(&mut topology);
    topology
}

#[test]
fn hosts_adapters_and_cables_of_other_forms_come_back() {
    let topology = odd_names();
    let again = read(FORM, write(FORM, &topology).as_bytes());
    assert_eq!(line(&again.counts()), line(&topology.counts()));
    assert_eq!(hosts(&again), hosts(&topology));
    assert_eq!(joined(&again), joined(&topology));
    assert!(again.findings.is_empty(), "{:?}", again.findings);
    let host = again.list.device_named("host-1").expect("the host is written");
    let adapters: Vec<&str> = again.about[host as usize].adapters.iter().map(String::as_str).collect();
    assert_eq!(adapters, ["be0", "be1"]);
    // A host without adapters and cables has a block too.
    let mut alone = Topology::new("test");
    alone.host("host-9");
    assert_eq!(hosts(&read(FORM, write(FORM, &alone).as_bytes())), hosts(&alone));
}

#[test]
fn maps_of_others_come_back() {
    let maps = [
        &include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/ocp_fabrics/opg-64-clos-ro.csv"))[..],
        &include_bytes!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../data/ocp_fabrics/opg-256-dual-plane.csv"
        ))[..],
    ];
    for map in maps {
        let list = read("cables", map);
        for form in ["cables", "dot", "graphml", "netbox"] {
            let topology = read(form, write(form, &list).as_bytes());
            let again = read(FORM, write(FORM, &topology).as_bytes());
            let (counts, before) = (again.counts(), topology.counts());
            assert_eq!(
                (counts.hosts, counts.adapters, counts.cables),
                (before.hosts, before.adapters, before.cables),
                "{form}"
            );
            assert_eq!(hosts(&again), hosts(&topology), "{form}");
            assert_eq!(joined(&again).len(), joined(&topology).len(), "{form}");
        }
    }
}

/// The default pod of HPN, 15,360 active GPUs.
#[test]
fn a_pod_of_15360_gpus_is_written_and_read() {
    let topology = Topology::of_fabric(&Hpn::default().build().expect("the default is a fabric"));
    let text = write(FORM, &topology);
    let again = read(FORM, text.as_bytes());
    assert_eq!(again.counts(), topology.counts());
    // Frontend NICs of the preset have no cables.
    assert_eq!(kinds(&again).into_keys().collect::<Vec<_>>(), ["link-down"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_back(topology in any_topology()) {
        let text = write(FORM, &topology);
        let again = read(FORM, text.as_bytes());
        prop_assert_eq!(again.counts(), topology.counts());
        prop_assert_eq!(joined(&again), joined(&topology));
        prop_assert!(again.findings.iter().all(|finding| finding.kind == "link-down"), "{:?}", again.findings);
        // Ports are numbers from then on, and keep them.
        let third = read(FORM, write(FORM, &again).as_bytes());
        prop_assert_eq!(cables(&third), cables(&again));
        prop_assert_eq!(roles(&third), roles(&again));
    }

    #[test]
    fn damage_never_stops_the_program(which in 0..ALL.len(), damage in any_damage()) {
        survive(FORM, &damaged(ALL[which], &damage));
    }

    #[test]
    fn no_bytes_stop_the_program(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        survive(FORM, &bytes);
    }

    #[test]
    fn no_lines_stop_the_program(lines in prop::collection::vec(any_line(), 0..40)) {
        survive(FORM, lines.concat().as_bytes());
    }
}

/// A line that a dump could hold, of few nodes and ports, so that many contradict each other.
fn any_line() -> impl Strategy<Value = String> {
    prop_oneof![
        "(Switch|Ca|Rt) [0-9]{1,2} \"[SHR]-[01]{1,2}\" # \"[a-c ]{0,3}\"\n",
        "\\[[0-4]\\] \"[SHR]-[01]{1,2}\"\\[[0-4]\\] # \"x\" lid 1 [14]x(NDR|EDR)\n",
        "(CA|SW) 1 [1-3] 0x[1-3] 4x NDR - (CA|SW) 1 [1-3] 0x[1-3] \\( '[ab]' - '[ab]' \\)\n",
        "sysimgguid=0x[1-3]\n",
        "\n",
    ]
}

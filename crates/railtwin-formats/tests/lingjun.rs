//! Lingjun topology: facts of the real file, refusals, arbitrary bytes.

use proptest::prelude::*;
use railtwin_formats::LingjunTopology;

const TOPOLOGY: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/lingjun/topo.csv"));

fn refusal(text: &str) -> String {
    LingjunTopology::parse("topo.csv", text.as_bytes()).expect_err("the text is wrong").to_string()
}

#[test]
fn facts_of_the_published_topology() {
    let topology = LingjunTopology::parse("topo.csv", TOPOLOGY).expect("a real file");
    assert_eq!(topology.hosts.len(), 847);
    assert_eq!(topology.leaves.len(), 119);
    assert_eq!(topology.core_groups, ["G6"]);
    let spines: Vec<&str> = topology.spine_groups.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(spines, ["P8", "P10", "P12"]);

    // The first data row: 0c9d..., G6, P10, S14.
    let host = &topology.hosts[0];
    assert!(host.name.starts_with("0c9d9de1") && host.line == 2);
    assert_eq!((host.core_group, host.spine_group), (0, 1));
    assert_eq!(topology.leaves[host.leaf].name, "S14");
    assert_eq!(topology.leaves[host.leaf].spine_group, 1);

    // Hosts per PSW, counted with cut and uniq in the file.
    let hosts_under = |spine| topology.hosts.iter().filter(|it| it.spine_group == spine).count();
    assert_eq!([0, 1, 2].map(hosts_under), [179, 362, 306]);
    for host in &topology.hosts {
        let leaf = &topology.leaves[host.leaf];
        assert_eq!(leaf.spine_group, host.spine_group);
        assert_eq!(topology.spine_groups[leaf.spine_group].core_group, host.core_group);
    }
}

#[test]
fn leaves_are_keyed_by_spine_group_and_sorted_naturally() {
    let text = "ASW,ip,PSW,DSW,note\nS10,a,P2,G1,x\nS2,b,P2,G1,x\n S2 ,c,P10,G1,x\n";
    let topology = LingjunTopology::parse("t", text.as_bytes()).expect("columns in another order");
    let leaves: Vec<(&str, usize)> =
        topology.leaves.iter().map(|leaf| (leaf.name.as_str(), leaf.spine_group)).collect();
    assert_eq!(leaves, [("S2", 0), ("S10", 0), ("S2", 1)]);
    let of_hosts: Vec<usize> = topology.hosts.iter().map(|host| host.leaf).collect();
    assert_eq!(of_hosts, [1, 0, 2]);
}

#[test]
fn refusals_name_the_lines() {
    for (text, parts) in [
        (
            "ip,DSW,PSW,ASW\na,G,P,S\nb,G,P,S\na,G,P,T\n",
            ["topo.csv:4: column ip: \"a\" is listed on line 2 already", "once"],
        ),
        (
            "ip,DSW,PSW,ASW\na,G1,P,S\nb,G2,P,S\n",
            ["topo.csv:3: column PSW: \"P\" stands under DSW \"G2\" here and under DSW \"G1\" on line 2", ""],
        ),
        ("ip,DSW,ASW\na,G,S\n", ["topo.csv:1: \"ip,DSW,ASW\" has no column PSW", "ip,DSW,PSW,ASW"]),
        ("", ["has no column ip", ""]),
        ("ip,DSW,PSW,ASW\na,G,,S\n", ["topo.csv:2: column PSW: is empty", ""]),
        ("ip,DSW,PSW,ASW\na,G,P,S\na,G,P\n", ["topo.csv:3: the row has 3 fields", "header has 4"]),
    ] {
        let message = refusal(text);
        for part in parts {
            assert!(message.contains(part), "{part} not in {message}");
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = LingjunTopology::parse("a", &bytes);
    }

    #[test]
    fn arbitrary_rows_never_panic(rows in "(\\PC{0,4},[GP]?[0-9]{0,25},[PS\"]?[0-9]{0,3},\\PC{0,3}\n){0,6}") {
        let _ = LingjunTopology::parse("a", format!("ip,DSW,PSW,ASW\n{rows}").as_bytes());
    }

    #[test]
    fn mutated_files_never_panic(
        edits in prop::collection::vec((0..600_usize, any::<u8>()), 1..8),
        keep in 0..600_usize,
    ) {
        let mut bytes = TOPOLOGY[..600].to_vec();
        for (place, byte) in edits {
            bytes[place] = byte;
        }
        bytes.truncate(keep);
        let _ = LingjunTopology::parse("a", &bytes);
    }

    #[test]
    fn every_host_keeps_its_labels(
        places in prop::collection::vec((0..3_u8, 0..30_u8), 0..40)
    ) {
        let mut text = "ip,DSW,PSW,ASW\n".to_owned();
        for (index, (spine, leaf)) in places.iter().enumerate() {
            text.push_str(&format!("h{index},G{},P{spine},S{leaf}\n", spine % 2));
        }
        let topology = LingjunTopology::parse("a", text.as_bytes()).expect("well formed");
        prop_assert_eq!(topology.hosts.len(), places.len());
        for (host, (spine, leaf)) in topology.hosts.iter().zip(&places) {
            let above = &topology.leaves[host.leaf];
            prop_assert_eq!(&above.name, &format!("S{leaf}"));
            let group = &topology.spine_groups[above.spine_group];
            prop_assert_eq!(&group.name, &format!("P{spine}"));
            prop_assert_eq!(&topology.core_groups[group.core_group], &format!("G{}", spine % 2));
        }
    }
}

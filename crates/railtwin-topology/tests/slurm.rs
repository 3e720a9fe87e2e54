//! Slurm's `topology.conf`.
use railtwin_topology::form_of;
use railtwin_topology::{SourceFile, WriteOptions};

use crate::tree_support::{edges, findings, fixture, read, read_fixture, seen, write, write_with};

const TREE: &str = "\
# example
switchname=s3 Switches=s[0-2] LinkSpeed=100
SwitchName=s0 Nodes=dev[0-5]   # first
SwitchName=s1 \\
    Nodes=dev[6-11]
SWITCHNAME = s2 nodes = \"dev[12-17]\"
";

#[test]
fn the_tree_of_the_model_is_that_of_topograph() {
    let topology = read_fixture("topograph", "model_large.yaml");
    let files = write("slurm", &topology);
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].text.as_bytes(), fixture("expected_slurm_tree.conf"));
}

#[test]
fn the_tree_of_topograph_is_read_and_written_as_it_is() {
    let topology = read_fixture("slurm", "expected_slurm_tree.conf");
    let counts = topology.counts();
    assert_eq!((counts.hosts, counts.cables, counts.adapters, counts.links_missing), (96, 114, 0, 0));
    let switches: Vec<(&str, u32)> =
        counts.switches.iter().map(|(tier, &count)| (tier.as_str(), count)).collect();
    assert_eq!(switches, [("core", 1), ("leaf", 12), ("spine", 6)]);
    assert_eq!(findings(&topology), []);
    let leaf = topology.list.device_named("switch.1.1").unwrap();
    assert_eq!(topology.about[leaf as usize].id.as_deref(), Some("leaf-1-1"));
    assert_eq!(write("slurm", &topology)[0].text.as_bytes(), fixture("expected_slurm_tree.conf"));
}

#[test]
fn keys_of_any_case_quotes_comments_and_long_lines_are_read() {
    let source = SourceFile { name: "t", bytes: TREE.as_bytes() };
    assert_eq!(form_of(&[source]).unwrap().name, "slurm");
    let topology = read("slurm", TREE).unwrap();
    assert_eq!((topology.counts().hosts, topology.counts().cables), (18, 21));
    assert_eq!(findings(&topology), []);
    assert!(edges(&topology).contains(&["dev9".to_owned(), "s1".to_owned()]));
    let written = &write("slurm", &topology)[0].text;
    assert_eq!(
        written,
        "SwitchName=s3 Switches=s[0-2]\nSwitchName=s0 Nodes=dev[0-5]\nSwitchName=s1 Nodes=dev[6-11]\nSwitchName=s2 \
         Nodes=dev[12-17]\n"
    );
}

#[test]
fn trees_may_be_deeper_than_three_tiers() {
    let text =
        "SwitchName=a Nodes=n1\nSwitchName=b Switches=a\nSwitchName=c Switches=b\nSwitchName=d Switches=c\n";
    let topology = read("slurm", text).unwrap();
    let counts = topology.counts();
    assert_eq!(counts.switches.keys().collect::<Vec<_>>(), ["core", "leaf", "spine", "tier-4"]);
}

#[test]
fn what_is_no_tree_is_a_finding() {
    let text = "\
SwitchName=root Switches=a,b,gone
SwitchName=a Nodes=n[1-3]
SwitchName=b Nodes=n[3-4]
SwitchName=top Switches=a
SwitchName=x Switches=y
SwitchName=y Switches=x Nodes=n5
SwitchName=empty
SwitchName=b Nodes=n6
BlockName=b1 Nodes=n[1-2,9]
BlockName=b2 Nodes=n[2,4]
BlockName=b3
BlockSizes=3,9
";
    let topology = read("slurm", text).unwrap();
    let found = findings(&topology);
    for expected in [
        ("missing-switch", "gone"),
        ("host-under-two-leaves", "n3"),
        ("switch-with-two-parents", "a"),
        ("switch-over-switches-and-hosts", "y"),
        ("loop", "x"),
        ("switch-without-hosts", "empty"),
        ("duplicate-name", "b"),
        ("host-in-two-blocks", "n2"),
        ("host-without-switch", "n9"),
        ("block-without-hosts", "b3"),
        ("block-below-base-size", "b2"),
        ("block-size-no-power-of-two", "9"),
        ("several-roots", "root"),
    ] {
        assert!(found.contains(&expected), "{expected:?} in {found:?}");
    }
    assert_eq!(seen(&topology, "host-under-two-leaves"), "under a and b");
    assert_eq!(seen(&topology, "loop"), "over itself: x and y");
    assert_eq!(seen(&topology, "several-roots"), "2 switches have none above them: root and top");
    assert_eq!(topology.links_missing, 1);
    assert_eq!(topology.counts().hosts, 7);
    // What is written is a tree again, but for the root that stays beside the other.
    let back = read("slurm", &write("slurm", &topology)[0].text).unwrap();
    let kinds: Vec<&str> = back.findings.iter().map(|finding| finding.kind).collect();
    assert!(kinds.iter().all(|kind| *kind == "several-roots"), "{:?}", back.findings);
}

#[test]
fn blocks_and_rings_are_read_without_a_tree() {
    let blocks = "BlockName=block1 Nodes=node[1-32]\nBlockName=block2 Nodes=node[33-64]\nBlockSizes=30,120\n";
    let topology = read("slurm", blocks).unwrap();
    assert_eq!((topology.counts().hosts, topology.findings.len()), (64, 0));
    let host = topology.list.device_named("node33").unwrap();
    assert_eq!(topology.about[host as usize].domain.as_deref(), Some("block2"));
    let written = &write("slurm", &topology)[0].text;
    assert_eq!(
        written,
        "BlockName=block1 Nodes=node[1-32]\nBlockName=block2 Nodes=node[33-64]\nBlockSizes=32,64\n"
    );
    let rings = read("slurm", "RingName=ring0 Nodes=node[01-08]\n").unwrap();
    assert_eq!((rings.counts().hosts, rings.findings.len()), (8, 0));
}

#[test]
fn sizes_of_blocks_ask_for_blocks() {
    let topology = read_fixture("topograph", "model_large.yaml");
    let options = WriteOptions { block_sizes: vec![8, 16, 32], ..WriteOptions::default() };
    let text = write_with("slurm", &topology, &options)[0].text.clone();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "BlockName=nvl-1-1 Nodes=srv[1101-1108]");
    assert_eq!((lines.len(), lines[12]), (13, "BlockSizes=8,16,32"));
}

#[test]
fn hosts_beside_switches_get_a_switch_of_their_own() {
    let text = "SwitchName=top Switches=low Nodes=n1\nSwitchName=low Nodes=n2\n";
    let written = write("slurm", &read("slurm", text).unwrap())[0].text.clone();
    assert!(written.contains("SwitchName=top Switches=low,top.hosts\n"), "{written}");
    let back = read("slurm", &written).unwrap();
    assert_eq!((findings(&back), back.counts().hosts), (vec![], 2));
}

#[test]
fn a_line_that_cannot_be_read_is_named() {
    for (text, error) in [
        (
            "SwitchName=a Nodes=n[1-3\n",
            "file:1: Nodes: \"n[1-3\" leaves a bracket open; a host list such as node[01-16]",
        ),
        ("SwitchName=a Nodes=n1\nSwitchName b\n", "file:2: \"SwitchName b\" is no key with a value"),
        ("SwitchName=a Nodes=n[0-999999999]\n", "stands for too many names"),
        ("BlockName=a Nodes=n1\nBlockSizes=x\n", "file:2: BlockSizes: \"x\" is no number of hosts"),
        ("", "has no line of the form"),
    ] {
        let found = read("slurm", text).unwrap_err().to_string();
        assert!(found.contains(error), "{found}");
    }
}

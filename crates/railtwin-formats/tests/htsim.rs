//! htsim's matrices and fat-trees: facts of real files, refusals, arbitrary bytes.

use proptest::prelude::*;
use railtwin_formats::{HtsimConnections, HtsimTopology};
use railtwin_units::{Rate, SimTime};
use railtwin_workload::Work;

macro_rules! data {
    ($path:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/", $path))
    };
}

fn matrix(bytes: &[u8]) -> HtsimConnections {
    HtsimConnections::parse("a.cm", bytes).expect("a real file")
}

fn topology(bytes: &[u8]) -> HtsimTopology {
    HtsimTopology::parse("a.topo", bytes).expect("a real file")
}

#[test]
fn facts_of_real_matrices() {
    let permutation = matrix(data!("htsim/perm_16n_16c_2MB.cm"));
    assert_eq!((permutation.nodes, permutation.connections.len()), (16, 16));
    let first = permutation.connections[0];
    assert_eq!((first.line, first.source, first.target, first.id), (3, 7, 5, Some(1)));
    assert_eq!((first.start_ps, first.bytes), (0, 2_000_000));
    let targets = |matrix: &HtsimConnections| {
        let mut targets: Vec<u32> = matrix.connections.iter().map(|one| one.target).collect();
        targets.sort_unstable();
        targets
    };
    assert_eq!(targets(&permutation), (0..16).collect::<Vec<u32>>());

    // The last line of the file has no end.
    let incast = matrix(data!("htsim/incast.cm"));
    assert_eq!(targets(&incast), [15; 15]);
    let plan = incast.plan().expect("it has connections");
    assert_eq!((plan.ranks, plan.operations.len(), plan.patterns[0].communicators[0].len()), (16, 1, 30));
    assert!(matches!(plan.operations[0].work, Work::Communicate { bytes: 2_000_000, .. }));

    assert_eq!(targets(&matrix(data!("htsim/bidir.cm"))), [0, 13]);
}

#[test]
fn the_permutation_of_the_peers_has_ten_flows_inside_a_leaf() {
    let permutation = matrix(data!("peers/pw1.cm"));
    assert_eq!(permutation.connections.len(), 128);
    let inside = permutation.connections.iter().filter(|one| one.source / 8 == one.target / 8);
    assert_eq!(inside.count(), 10);
    let hosts: Vec<u32> = matrix(data!("peers/pw2.cm")).connections.iter().map(|one| one.source).collect();
    assert_eq!(hosts, (8..=120).step_by(8).chain([9]).collect::<Vec<u32>>());
}

#[test]
fn starts_are_picoseconds_and_make_operations_of_their_own() {
    let text = "# later\nNodes 4\nConnections 3\nTriggers 0\n0->1 start 0 size 5\n\n\
                1->2 size 5 start 2500.75 id 7\n2->3 start 1e3 size 5\n";
    let matrix = matrix(text.as_bytes());
    let starts: Vec<u64> = matrix.connections.iter().map(|one| one.start_ps).collect();
    assert_eq!(starts, [0, 2500, 1000]);
    let plan = matrix.plan().expect("it has connections");
    let waits: Vec<SimTime> = plan
        .operations
        .iter()
        .filter_map(|operation| match operation.work {
            Work::Compute(time) => Some(time),
            Work::Communicate { .. } => None,
        })
        .collect();
    assert_eq!(waits, [1000, 2500].map(SimTime::from_ps));
}

#[test]
fn refused_matrices_name_the_line() {
    let head = "Nodes 4\nConnections 1\n";
    for (line, expected) in [
        ("0->1 start 0", "a.cm:3: size: is missing; write `size` and bytes, such as size 2000000"),
        ("0->1 size 5", "a.cm:3: start: is missing; write `start` and picoseconds, such as start 0"),
        (
            "0->4 start 0 size 5",
            "a.cm:3: node that receives: \"4\" is out of range; write a whole number from 0 to 3",
        ),
        (
            "x->1 start 0 size 5",
            "a.cm:3: node that sends: \"x\" is not a whole number; write a whole number from 0 to 3",
        ),
        ("2->2 start 0 size 5", "a.cm:3: \"2->2\" a node sends to itself; write two different nodes"),
        ("0->1 start -1 size 5", "a.cm:3: start: \"-1\" is no such time; write picoseconds from 0 to 2^53"),
        ("0->1 start nan size 5", "a.cm:3: start: \"nan\" is no such time; write picoseconds from 0 to 2^53"),
        ("0->1 start 0 size", "a.cm:3: size: has no value; write a whole number from 1 to 9007199254740992"),
        ("0->1 start 0 start 0 size 5", "a.cm:3: start: is written twice in one line; write it once"),
        (
            "0->1 trigger 1 size 5",
            "a.cm:3: \"trigger\" is not supported; write connections with `start` and `size` only",
        ),
        (
            "trigger id 1 oneshot",
            "a.cm:3: \"trigger\" is not supported; write connections with `start` and `size` only",
        ),
        (
            "failure switch_type TOR switch_id 0 link_id 0",
            "a.cm:3: \"failure\" is not supported; write connections with `start` and `size` only",
        ),
        (
            "Triggers 2",
            "a.cm:3: \"Triggers\" is not supported; write connections with `start` and `size` only",
        ),
        (
            "0->1 start 0 size 5 colour red",
            "a.cm:3: \"colour\" is not known; write id, start or size, each with its value",
        ),
        ("Nodes 5", "a.cm:3: Nodes: is written on line 1 already; write it once"),
        (
            "",
            "a.cm:2: Connections: \"1\" is not the number of connections that follow, 0; write their number",
        ),
    ] {
        let text = format!("{head}{line}\n");
        let error = HtsimConnections::parse("a.cm", text.as_bytes()).expect_err(line);
        assert_eq!(error.to_string(), expected);
    }
    for (text, expected) in [
        (
            "0->1 start 0 size 5\n",
            "a.cm:1: stands before the number of nodes; write a line such as \"Nodes 16\" above it",
        ),
        ("", "a.cm: has no number of nodes; write a line such as \"Nodes 16\""),
        ("Nodes 4\n", "a.cm: has no number of connections; write a line \"Connections 0\""),
    ] {
        let error = HtsimConnections::parse("a.cm", text.as_bytes()).expect_err(text);
        assert_eq!(error.to_string(), expected);
    }
    let none = matrix(b"Nodes 4\nConnections 0\n").plan().expect_err("it asks nothing");
    assert_eq!(none.to_string(), "Connections = 0: write one connection or more");
}

#[test]
fn real_trees_are_fabrics_of_their_counts() {
    let spec = topology(data!("htsim/fat_tree_1024.topo")).spec().expect("it fits together");
    assert_eq!((spec.pods, spec.segments, spec.hosts, spec.spines, spec.cores), (16, 8, 8, 8, 64));
    let fabric = spec.build().expect("it fits together");
    assert_eq!(fabric.hosts().len(), 1024);
    assert_eq!(fabric.switches().len(), 128 + 128 + 64);

    let spec = topology(data!("htsim/leaf_spine_tiny.topo")).spec().expect("it fits together");
    assert_eq!((spec.pods, spec.segments, spec.hosts, spec.spines, spec.parallel), (1, 4, 8, 2, 1));
    assert_eq!((spec.uplink, spec.access_delay), (Rate::from_gbps(100), SimTime::from_ns(1000)));
    assert_eq!(spec.switch_latency, SimTime::ZERO);
    assert_eq!(spec.build().expect("it fits together").hosts().len(), 32);

    let spec = topology(data!("peers/fat_tree_16.topo")).spec().expect("it fits together");
    assert_eq!((spec.pods, spec.segments, spec.hosts, spec.spines, spec.cores), (4, 2, 2, 2, 4));

    // Two cables from each core to each spine: read, but no fabric can have them.
    let real = topology(data!("htsim/test.topo"));
    assert_eq!((real.tiers[2].bundle, real.tiers[0].downlink_gbps), (2, 200));
    let error = real.spec().expect_err("two cables").to_string();
    assert_eq!(
        error,
        "a.topo:18: Tier 2, Bundle: \"2\" parallel cables from a core to a spine cannot be built; write 1"
    );
}

#[test]
fn refused_trees_name_line_value_and_what_would_be_accepted() {
    let tiny = String::from_utf8(data!("htsim/leaf_spine_tiny.topo").to_vec()).expect("it is text");
    for (from, to, expected) in [
        ("Tiers 2", "Tiers 4", "a.topo:2: Tiers: \"4\" is out of range; write a whole number from 2 to 3"),
        ("Tiers 2", "Tiers 3", "a.topo:13: Tier 1, Radix_Up: is missing; write it with a whole number"),
        (
            "Nodes 32",
            "Nodes 4x",
            "a.topo:1: Nodes: \"4x\" is not a whole number; write a whole number from 1 to 16777216",
        ),
        ("Nodes 32\n", "", "a.topo: Nodes: is missing; write a line such as \"Nodes 16\""),
        ("Tier 1", "Tier 0", "a.topo:13: Tier 0: is written on line 5 already; write each tier once"),
        (
            "Radix_Up 2",
            "Radix_Up 2 3",
            "a.topo:8: Radix_Up: \"3\" follows the value; write one value after the key",
        ),
        ("Radix_Up 2\n", "", "a.topo:5: Tier 0, Radix_Up: is missing; write it with a whole number"),
        (
            "Radix_Down 4",
            "Radix_Up 4",
            "a.topo:15: Tier 1, Radix_Up: belongs to tiers below the top; leave it away",
        ),
        (
            "Radix_Down 4",
            "Radix_Down 5",
            "a.topo:13: Tier 1, Radix_Down: \"5\" ports do not meet the leaves of a pod",
        ),
        ("Radix_Down 4", "radix_sideways 4", "a.topo:15: \"radix_sideways\" is not known here; write Nodes,"),
        (
            "Oversubscribed 4",
            "Oversubscribed 2",
            "a.topo:5: Tier 0, Oversubscribed: \"2\" does not fit ports of 800 Gbps down and 200 Gbps up; write 4",
        ),
        (
            "Podsize 32",
            "Podsize 16",
            "a.topo: Podsize: \"16\" would make 2 pods that nothing joins; write 32",
        ),
        (
            "Podsize 32",
            "Podsize 20",
            "a.topo: Nodes: \"32\" is not a multiple of Podsize, 20; write a multiple of 20",
        ),
        (
            "Radix_Down 4\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0",
            "Radix_Down 4\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 9",
            "a.topo:13: Tier 1, Switch_Latency_ns: \"9\" differs from the 0 of tier 0; switches of a fabric have one delay",
        ),
    ] {
        assert!(tiny.contains(from), "{from}");
        let text = tiny.replace(from, to);
        let error = HtsimTopology::parse("a.topo", text.as_bytes()).and_then(|tree| tree.spec().map(drop));
        let error = error.expect_err(to).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

/// A file with bytes exchanged and cut off.
fn mutated(file: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
    let edits = prop::collection::vec((0..file.len(), any::<u8>()), 0..6);
    (edits, 0..=file.len()).prop_map(move |(edits, keep)| {
        let mut bytes = file.to_vec();
        for (place, byte) in edits {
            bytes[place] = byte;
        }
        bytes.truncate(keep);
        bytes
    })
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = HtsimConnections::parse("a", &bytes);
        let _ = HtsimTopology::parse("a", &bytes);
    }

    #[test]
    fn mutated_matrices_never_panic(bytes in mutated(data!("htsim/perm_16n_16c_2MB.cm"))) {
        let _ = HtsimConnections::parse("a", &bytes).map(|matrix| matrix.plan());
    }

    #[test]
    fn mutated_trees_never_panic(bytes in mutated(data!("htsim/fat_tree_1024.topo"))) {
        let _ = HtsimTopology::parse("a", &bytes).map(|tree| tree.spec());
    }

    #[test]
    fn any_numbers_never_panic(numbers in prop::collection::vec((0usize..12, 0u64..1 << 34), 0..12)) {
        let keys = [
            "Nodes", "Podsize", "Tiers", "Tier", "Downlink_speed_Gbps", "Radix_Down", "Radix_Up",
            "Downlink_Latency_ns", "Switch_Latency_ns", "Bundle", "Oversubscribed", "Queue_up",
        ];
        let mut text = "Nodes 1024\nTiers 2\nPodsize 64\n".to_owned();
        for (key, number) in numbers {
            text.push_str(&format!("{} {number}\n", keys[key]));
        }
        let _ = HtsimTopology::parse("a", text.as_bytes()).map(|tree| tree.spec());
    }

    #[test]
    fn trees_that_fit_have_the_nodes_that_they_say(
        (pods, leaves, hosts, spines) in (1u32..5, 1u32..5, 1u32..5, 1u32..5),
        (bundle, up) in (1u32..4, 1u32..4),
    ) {
        let pod = leaves * hosts;
        // Speeds that make every tier carry what the tier below does.
        let (access, uplink) = (spines * bundle, hosts);
        let mut text = format!(
            "nodes {}\ntiers {}\npodsize {pod}\ntier 0\nradix_down {hosts}\nradix_up {}\n\
             downlink_speed_gbps {}\ndownlink_latency_ns 5\ntier 1\nbundle {bundle}\nradix_down {}\n\
             downlink_speed_gbps {}\ndownlink_latency_ns 6\n",
            pods * pod, if pods > 1 { 3 } else { 2 }, spines * bundle,
            access * up, leaves * bundle, uplink * up,
        );
        if pods > 1 {
            let core = leaves * bundle * uplink;
            text.push_str(&format!(
                "radix_up {up}\ntier 2\nradix_down {pods}\ndownlink_speed_gbps {core}\ndownlink_latency_ns 7\n"
            ));
        }
        let spec = HtsimTopology::parse("a", text.as_bytes()).expect("well formed").spec().expect("it fits");
        let fabric = spec.build().expect("it fits");
        prop_assert_eq!(fabric.hosts().len() as u32, pods * pod);
        let cores = if pods > 1 { spines * up } else { 0 };
        prop_assert_eq!(fabric.switches().len() as u32, pods * (leaves + spines) + cores);
    }
}

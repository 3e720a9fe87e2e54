//! Trees of networks, and host lists.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use railtwin_fabric::cable_list::{Inference, list_of};
use railtwin_fabric::preset::Hpn;
use railtwin_topology::hostlist::{NAMES_MAX, compress, expand};
use railtwin_topology::tree::{Block, Tree, block_sizes};
use railtwin_topology::{Topology, WriteOptions};

use crate::tree_support::{Built, edges, fabrics, findings, read, read_back, write, write_with};

/// Tier of the lowest switch over two hosts.
fn meeting(tree: &Tree, a: u32, b: u32) -> Option<u32> {
    let above: BTreeSet<u32> = tree.path(a).collect();
    tree.path(b).find(|place| above.contains(place)).map(|place| tree.switches[place as usize].tier)
}

/// Tier at which two hosts meet in the fabric: in their segment, their pod, or above.
fn expected(found: &Inference, a: u32, b: u32) -> u32 {
    let (a, b) = (&found.places[a as usize], &found.places[b as usize]);
    match (a.pod == b.pod, a.segment == b.segment) {
        (true, true) => 1,
        (true, false) => 2,
        _ => 3,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn every_host_is_once_in_the_tree_and_meets_others_where_the_fabric_has_it(Built(fabric) in fabrics()) {
        let topology = Topology::of_fabric(&fabric);
        let tree = Tree::of(&topology);
        let (_, found) = list_of(&fabric);
        prop_assert_eq!(tree.roots.len(), 1);
        prop_assert_eq!(tree.loose.len(), 0);
        let placed: BTreeMap<u32, u32> = tree.hosts().map(|(host, place)| (host, place.unwrap())).collect();
        prop_assert_eq!(tree.hosts().count(), placed.len());
        prop_assert_eq!(placed.len(), topology.hosts().count());
        for (&a, &at) in &placed {
            for (&b, &other) in placed.iter().filter(|&(&b, _)| b > a) {
                prop_assert_eq!(meeting(&tree, at, other), Some(expected(&found, a, b)));
            }
        }
        let members: usize = tree.switches.iter().map(|switch| switch.members.len()).sum();
        prop_assert_eq!(members, topology.switches().count());
    }

    #[test]
    fn every_form_of_trees_comes_back(Built(fabric) in fabrics()) {
        let topology = Topology::of_fabric(&fabric);
        for form in ["slurm", "slurm-yaml", "topograph", "volcano"] {
            let files = write(form, &topology);
            let back = read_back(form, &files);
            prop_assert_eq!(findings(&back), vec![], "{}", form);
            prop_assert_eq!(back.counts().hosts, topology.counts().hosts);
            prop_assert!(back.is_tree);
            let again = read_back(form, &write(form, &back));
            // topograph's own models get short names.
            if form != "topograph" {
                prop_assert_eq!(edges(&again), edges(&back), "{}", form);
            }
            prop_assert_eq!(again.counts(), back.counts());
            let (tree, own) = (Tree::of(&back), Tree::of(&topology));
            let shape = |tree: &Tree| tree.switches.iter().map(|switch| (switch.tier, switch.hosts.len())).collect::<BTreeSet<_>>();
            prop_assert_eq!(shape(&tree), shape(&own));
        }
    }

    #[test]
    fn a_compressed_list_stands_for_the_same_names(
        names in prop::collection::btree_set("[a-c.-]{0,2}[0-2]{0,3}[x]?[0-9]{0,21}", 0..40)
    ) {
        let names: BTreeSet<String> = names.into_iter().filter(|name| !name.is_empty()).collect();
        let list = compress(names.iter().map(String::as_str));
        let back = expand(&list, NAMES_MAX).unwrap();
        prop_assert_eq!(back.len(), names.len());
        prop_assert_eq!(back.into_iter().collect::<BTreeSet<_>>(), names);
    }

    #[test]
    fn any_text_is_a_list_or_an_error(list in "[\\[\\],0-9a-c -]{0,40}", text in ".{0,40}") {
        for list in [list, text] {
            if let Ok(names) = expand(&list, 1_000) {
                prop_assert!(names.len() <= 1_000);
            }
        }
    }
}

#[test]
fn a_segment_of_eight_rails_is_one_switch() {
    let hpn = Hpn {
        pods: 2,
        segments: Some(2),
        hosts: Some(4),
        spare_hosts: Some(0),
        spines: Some(4),
        cores: Some(4),
        ..Hpn::default()
    };
    let topology = Topology::of_fabric(&hpn.build().unwrap());
    let tree = Tree::of(&topology);
    let sizes: Vec<(u32, usize, usize)> =
        tree.switches.iter().map(|switch| (switch.tier, switch.members.len(), switch.hosts.len())).collect();
    // Eight rails of two planes; four spines of each plane in a pod; four cores of each plane.
    let pod = [(2, 8, 0), (1, 16, 4), (1, 16, 4)];
    assert_eq!(sizes, [&[(3, 8, 0)], &pod[..], &pod].concat());
    let text = &write("slurm", &topology)[0].text;
    assert_eq!(
        text.lines().filter(|line| line.starts_with("# ") && line.contains(" stands for ")).count(),
        7
    );
    assert_eq!(text.lines().filter(|line| line.contains(" Nodes=")).count(), 4);
}

#[test]
fn one_missing_cable_does_not_divide_a_segment() {
    let mut topology = Topology::new("test");
    let hosts: Vec<u32> = (0..3).map(|host| topology.host(&format!("h{host}"))).collect();
    let leaves: Vec<u32> = (0..4).map(|leaf| topology.switch(&format!("leaf{leaf}"))).collect();
    let spine = topology.switch("spine");
    for (&host, rails) in hosts.iter().zip([&leaves[..2], &leaves[..1], &leaves[2..]]) {
        for (rail, &leaf) in rails.iter().enumerate() {
            topology.join([(host, &format!("p{rail}")), (leaf, &format!("h{host}"))], None, None, 0);
        }
    }
    for &leaf in &leaves {
        topology.join([(leaf, "up"), (spine, &format!("d{leaf}"))], None, None, 0);
    }
    let expected = "SwitchName=spine Switches=leaf[0,2]\n# leaf0 stands for leaf[0-1]\nSwitchName=leaf0 \
                    Nodes=h[0-1]\n# leaf2 stands for leaf[2-3]\nSwitchName=leaf2 Nodes=h2\n";
    assert_eq!(write("slurm", &topology)[0].text, expected);
}

/// A leaf with two hosts, and hosts that no cable leads to.
fn with_loose_hosts(under: usize, loose: usize) -> Topology {
    let mut topology = Topology::new("test");
    let leaf = topology.switch("leaf0");
    for number in 0..under {
        let host = topology.host(&format!("h{number}"));
        topology.join([(host, "p0"), (leaf, &format!("h{number}"))], None, None, 0);
    }
    for number in 0..loose {
        topology.host(&format!("idle{number}"));
    }
    topology
}

/// What a form writes, or its error.
fn written(form: &str, topology: &Topology) -> Result<String, String> {
    let writer = railtwin_topology::named(form).unwrap().write.unwrap();
    let files = writer(topology, &WriteOptions::default()).map_err(|error| error.to_string())?;
    Ok(files[0].text.clone())
}

#[test]
fn a_host_without_a_switch_stands_in_every_file() {
    let topology = with_loose_hosts(2, 2);
    let slurm = "SwitchName=leaf0 Nodes=h[0-1]\n\
                 # unconnected.1 stands for no switch: no link of its host leads to one\n\
                 SwitchName=unconnected.1 Nodes=idle0\n\
                 # unconnected.2 stands for no switch: no link of its host leads to one\n\
                 SwitchName=unconnected.2 Nodes=idle1\n";
    assert_eq!(written("slurm", &topology).unwrap(), slurm);
    for form in ["slurm", "slurm-yaml", "topograph", "volcano"] {
        let back = read_back(form, &write(form, &topology));
        assert_eq!(back.counts().hosts, 4, "{form}");
        let tree = Tree::of(&back);
        let sizes: Vec<usize> = tree.switches.iter().map(|switch| switch.hosts.len()).collect();
        let expected = if form == "topograph" { vec![2] } else { vec![2, 1, 1] };
        assert_eq!(sizes, expected, "{form}");
    }
    // Levels are those of the hosts under switches.
    let kueue = written("kueue", &topology).unwrap();
    assert!(
        kueue.contains("network.topology.nvidia.com/leaf") && kueue.contains("idle0 and idle1"),
        "{kueue}"
    );
}

#[test]
fn hosts_without_any_switch_are_no_empty_file() {
    let topology = with_loose_hosts(0, 12);
    for form in ["slurm", "volcano"] {
        let error = written(form, &topology).unwrap_err();
        assert!(error.contains("hangs none of its 12 hosts on a switch"), "{error}");
        assert!(error.contains("idle0, idle1") && error.contains("and 4 more"), "{error}");
    }
    let yaml = written("slurm-yaml", &topology).unwrap();
    assert!(yaml.contains("flat: true") && yaml.contains("# under no switch: idle[0-11]"), "{yaml}");
    let kueue = written("kueue", &topology).unwrap();
    assert!(kueue.contains("kubernetes.io/hostname") && kueue.contains("idle0, idle1"), "{kueue}");
    let back = read_back("topograph", &write("topograph", &topology));
    assert_eq!((back.counts().hosts, Tree::of(&back).loose.len()), (12, 12));
    for form in ["slurm", "slurm-yaml", "topograph", "kueue", "volcano"] {
        let error = written(form, &with_loose_hosts(0, 0)).unwrap_err();
        assert!(error.contains("no hosts"), "{form}: {error}");
    }
}

#[test]
fn sizes_of_blocks_are_doubles_of_the_smallest() {
    let blocks = |sizes: &[u32]| -> Vec<Block> {
        let block = |&size: &u32| Block { name: String::new(), hosts: (0..size).collect() };
        sizes.iter().map(block).collect()
    };
    // As topograph's own tests: no more doubles than the blocks fill.
    assert_eq!(block_sizes(&blocks(&[18; 4]), &[]), [18, 36, 72]);
    assert_eq!(block_sizes(&blocks(&[8; 12]), &[]), [8, 16, 32, 64]);
    assert_eq!(block_sizes(&blocks(&[3, 4, 3]), &[]), [3, 6]);
    assert_eq!(block_sizes(&blocks(&[2]), &[]), [2]);
    assert_eq!(block_sizes(&[], &[]), [0_u32; 0]);
    assert_eq!(block_sizes(&blocks(&[8; 4]), &[4, 16]), [4, 16]);
}

#[test]
fn ten_thousand_hosts_are_read_and_written() {
    use std::fmt::Write as _;
    let mut text = String::from("SwitchName=root Switches=spine[001-010]\n");
    for spine in 1..=10 {
        let _ = writeln!(text, "SwitchName=spine{spine:03} Switches=leaf{spine:03}-[01-10]");
        for leaf in 1..=10 {
            let _ =
                writeln!(text, "SwitchName=leaf{spine:03}-{leaf:02} Nodes=n{spine:03}-{leaf:02}-[001-100]");
        }
    }
    let topology = read("slurm", &text).unwrap();
    assert_eq!((topology.counts().hosts, topology.counts().cables), (10_000, 10_110));
    for form in ["slurm", "slurm-yaml", "topograph", "volcano", "netq"] {
        let files = write_with(form, &topology, &WriteOptions::default());
        let back = read_back(form, &files);
        assert_eq!((back.counts().hosts, back.counts().cables), (10_000, 10_110), "{form}");
    }
    for form in ["kueue", "node-labels"] {
        assert!(!write(form, &topology)[0].text.is_empty());
    }
}

//! Hops, bisection, lost pairs and path choices of presets of every kind are those of their graphs.
use railtwin_fabric::clos::ClosSpec;
use railtwin_fabric::preset::{
    Collapsed, FatTree, GenerationZero, Hpn, Jupiter, Layout, Mesh, RailOnly, SingleTor, SuperPod, Tier2,
};
use railtwin_fabric::{HostId, HostSpec};
use railtwin_planning::facts::paths::{SearchSpace, table_1};
use railtwin_planning::intent::Counts;
use railtwin_planning::loss::{LossReport, LostPart};

use crate::brute::Wounded;
use crate::counts::check;
use crate::loss::cut_pairs;

fn host(gpus: u32, nics: u32, ports: u32) -> HostSpec {
    HostSpec { gpus: Some(gpus), nics: Some(nics), nic_ports: Some(ports), ..HostSpec::named("grand-teton") }
}

/// Small ones of each preset that no other test has.
fn specs() -> Vec<ClosSpec> {
    let mut all: Vec<Box<dyn Layout>> = Vec::new();
    for (leaves, hosts, parallel) in [(2, 2, 1), (4, 2, 1), (4, 2, 3), (5, 2, 1), (5, 2, 2), (3, 4, 1)] {
        all.push(Box::new(Mesh {
            leaves,
            hosts_per_leaf: hosts,
            parallel,
            host: host(4, 4, 1),
            ..Mesh::default()
        }));
    }
    for (leaves, joined, host) in [
        (2, 0, host(4, 4, 1)),
        (2, 1, host(4, 4, 1)),
        (4, 2, host(4, 4, 1)),
        (2, 0, host(2, 4, 1)),
        (2, 0, host(4, 2, 2)),
        (4, 1, host(4, 2, 2)),
        (4, 0, host(8, 4, 2)),
    ] {
        all.push(Box::new(Collapsed { leaves, joined, hosts: 4, host, ..Collapsed::default() }));
    }
    for (pods, racks) in [(1, 4), (2, 2)] {
        all.push(Box::new(SingleTor {
            pods,
            racks,
            hosts: 2,
            spines: Some(4),
            host: host(4, 4, 1),
            ..SingleTor::default()
        }));
    }
    for (segments, spines) in [(1, 0), (2, 2), (1, 2)] {
        all.push(Box::new(RailOnly {
            domains: 4,
            segments,
            spines,
            host: host(4, 4, 1),
            ..RailOnly::default()
        }));
    }
    for (blocks, direct, uplinks) in [(4, false, 8), (4, true, 8), (4, true, 3), (3, true, 4), (5, true, 4)] {
        let (racks, middle_blocks, spine_blocks) = (2, 4, 8);
        let host = host(2, 2, 2);
        all.push(Box::new(Jupiter {
            blocks,
            racks,
            middle_blocks,
            uplinks,
            spine_blocks,
            direct,
            host,
            ..Jupiter::default()
        }));
    }
    all.push(Box::new(SuperPod { su: 2, hosts: Some(2), ..SuperPod::default() }));
    for switches in [1, 2, 4] {
        all.push(Box::new(GenerationZero {
            hosts: 4,
            switches,
            host: host(4, 4, 1),
            ..GenerationZero::default()
        }));
    }
    all.push(Box::new(FatTree { k: 4, ..FatTree::default() }));
    let rails = Hpn {
        tier2: Tier2::RailOnly,
        segments: Some(2),
        hosts: Some(2),
        spare_hosts: Some(0),
        ..Hpn::default()
    };
    all.push(Box::new(Hpn { pods: 2, spines: Some(4), cores: Some(8), ..rails.clone() }));
    all.push(Box::new(Hpn { tier2: Tier2::AnyToAny, spines: Some(4), ..rails }));
    all.iter().map(|preset| preset.spec().expect("a preset of this test can be built")).collect()
}

#[test]
fn counts_are_those_of_the_graph() {
    specs().iter().for_each(check);
}

#[test]
fn hops_and_joined_pairs_are_those_of_shortest_paths() {
    for spec in specs() {
        let (counts, fabric) = (Counts::of(&spec), spec.build().unwrap());
        let pairs = Wounded::whole(&fabric).pairs();
        let hops: Vec<f64> = pairs.iter().flatten().map(|hops| f64::from(*hops)).collect();
        let name = format!("{} {spec:?}", spec.name);
        assert_eq!(f64::from(counts.hops_worst), hops.iter().copied().fold(0.0, f64::max), "{name}");
        assert!((counts.hops_mean - hops.iter().sum::<f64>() / hops.len() as f64).abs() < 1e-9, "{name}");
        assert!((counts.pairs_joined - hops.len() as f64 / pairs.len() as f64).abs() < 1e-12, "{name}");
    }
}

#[test]
fn bisection_is_the_largest_flow_between_halves() {
    let mut judged = 0;
    for spec in specs() {
        let fabric = spec.build().unwrap();
        let graph = Wounded::whole(&fabric);
        let Some([a, b]) = graph.halves(&spec) else { continue };
        let (flow, formula) = (graph.flow(&a, &b), Counts::of(&spec).bisection.bits_per_s() as f64);
        assert!((flow - formula).abs() <= 1.0 + 1e-9 * flow, "graph {flow}, formula {formula}: {spec:?}");
        judged += 1;
    }
    assert!(judged >= 26, "{judged}");
}

/// Of pairs that a lost part cuts none were apart before.
#[test]
fn pairs_that_are_cut_were_joined() {
    let mut judged = 0;
    for spec in specs() {
        let fabric = spec.build().unwrap();
        for loss in LossReport::of(&spec).losses.iter().filter(|loss| loss.part != LostPart::Plane) {
            let apart = Wounded::whole(&fabric).pairs().iter().filter(|hops| hops.is_none()).count() as u64;
            assert_eq!(cut_pairs(&fabric, loss.part) - apart, loss.pairs_cut, "{}: {spec:?}", loss.part);
            judged += 1;
        }
    }
    assert!(judged >= 40, "{judged}");
}

#[test]
fn path_choices_are_the_shortest_paths_of_the_graph() {
    for spec in specs() {
        let fabric = spec.build().unwrap();
        let paths = Wounded::whole(&fabric).paths_from(fabric.nic(HostId(0), 0));
        assert_eq!(Counts::of(&spec).path_choices, paths, "{spec:?}");
    }
}

/// A fat-tree of k ports has (k/2)² paths between pods, chosen at two switches.
#[test]
fn a_fat_tree_has_the_paths_of_its_closed_form() {
    for k in [4, 6, 8, 16, 48] {
        let spec = FatTree { k, ..FatTree::default() }.spec().unwrap();
        let counts = Counts::of(&spec);
        assert_eq!((counts.path_choices, counts.hash_stages), (u64::from(k / 2).pow(2), 2));
    }
}

/// The rows of HPN table 1 whose fabrics are built: formula and graph agree.
#[test]
fn path_choices_are_those_of_table_1() {
    let choices = |preset: &dyn Layout| Counts::of(&preset.spec().unwrap()).path_choices;
    let [hpn, superpod, _, fat_tree]: [SearchSpace; 4] = table_1().unwrap().try_into().unwrap();
    assert_eq!((choices(&Hpn::default()), hpn.product), (60, 60));
    assert_eq!((choices(&SuperPod { su: 64, ..SuperPod::default() }), superpod.product), (4_096, 4_096));
    assert_eq!((choices(&FatTree { k: 48, ..FatTree::default() }), fat_tree.product), (576, 576));
    // Of one middle block's 256 uplinks each leads to another spine block, which has a cable to each of the 8 middle blocks.
    assert_eq!(choices(&Jupiter::default()), 8 * 256 * 8);
}

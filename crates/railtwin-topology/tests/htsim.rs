//! htsim's fat-trees.
use proptest::prelude::*;
use railtwin_fabric::HostSpec;
use railtwin_fabric::preset::{FatTree, Hpn, LeafSpine};
use railtwin_topology::Topology;
use railtwin_units::Rate;

use crate::fabrics::{outline, read, write};

fn real(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/htsim/");
    std::fs::read_to_string(format!("{folder}{name}")).expect("a file of data")
}

#[test]
fn real_trees_are_read_and_written_again() {
    for (name, hosts, [leaves, spines, cores], cables) in [
        ("fat_tree_1024.topo", 1_024, [128, 128, 64], 3 * 1_024),
        ("leaf_spine_tiny.topo", 32, [4, 2, 0], 32 + 8),
        ("test.topo", 8, [4, 4, 4], 8 + 8 + 16),
    ] {
        let topology = read("htsim", &real(name)).expect("real");
        let counts = topology.counts();
        let of = |tier: &str| counts.switches.get(tier).copied().unwrap_or(0);
        assert_eq!(
            (counts.hosts, [of("leaf"), of("spine"), of("core")], counts.cables),
            (hosts, [leaves, spines, cores], cables),
            "{name}"
        );
        let text = write("htsim", &topology).expect("regular");
        let again = read("htsim", &text).expect("what was written");
        assert_eq!(outline(&again), outline(&topology), "{name}");
        assert_eq!(again.list.switch_latency, topology.list.switch_latency);
        assert_eq!(write("htsim", &again).expect("again"), text);
    }
}

#[test]
fn bundles_of_cores_are_cables() {
    let topology = read("htsim", &real("test.topo")).expect("real");
    let outline = outline(&topology);
    assert!(outline.cables.contains_key(&(
        [2, 3],
        Some(Rate::from_gbps(100)),
        Some(railtwin_units::SimTime::from_ns(1_000))
    )));
    assert_eq!(outline.degrees[&(3, 4)], 4);
}

#[test]
fn rails_and_planes_are_refused_with_the_reason() {
    let hpn =
        Hpn { segments: Some(1), hosts: Some(2), spines: Some(2), ..Hpn::default() }.build().expect("small");
    let error = write("htsim", &Topology::of_fabric(&hpn)).expect_err("rails").to_string();
    assert!(error.contains("several leaves"), "{error}");
    let mut fabric = Topology::of_fabric(&FatTree { k: 4, ..FatTree::default() }.build().expect("small"));
    let leaf = fabric.list.device_named("leaf-0").expect("a leaf");
    let host = fabric.host("extra");
    fabric.join([(host, "nic-0:port-0"), (leaf, "extra")], Some(Rate::from_gbps(400)), None, 0);
    fabric.list.device_mut(host).network = Some(railtwin_fabric::cable_list::CableNetwork::Backend);
    let error = write("htsim", &fabric).expect_err("irregular").to_string();
    assert!(
        error.contains("differ in rate or delay") || error.contains("not the same everywhere"),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn fat_trees_come_back(half in 1_u32..=4) {
        let fabric = FatTree { k: 2 * half, ..FatTree::default() }.build().expect("small");
        let topology = Topology::of_fabric(&fabric);
        match write("htsim", &topology) {
            Ok(text) => {
                let found = read("htsim", &text).expect("what was written");
                prop_assert_eq!(outline(&found).cables, outline(&topology).cables);
                prop_assert_eq!(outline(&found).degrees, outline(&topology).degrees);
            }
            Err(error) => prop_assert!(half == 1, "{}", error),
        }
    }

    #[test]
    fn leaf_spines_come_back(leaves in 1_u32..=4, hosts in 1_u32..=4, uplinks in 1_u32..=4, parallel in 1_u32..=2, nics in 1_u32..=2) {
        let rate = Some(Rate::from_gbps(400));
        let (gpus, nics_of, nic_ports) = (Some(nics), Some(nics), Some(1));
        let one = HostSpec { gpus, nics: nics_of, nic_ports, nic_port_capacity: rate, ..HostSpec::default() };
        let preset = LeafSpine { leaves, hosts_per_leaf: hosts, uplinks, parallel, host: one, ..LeafSpine::default() };
        let Ok(fabric) = preset.build() else { return Ok(()) };
        let topology = Topology::of_fabric(&fabric);
        let whole = (hosts * nics).is_multiple_of(uplinks * parallel);
        match write("htsim", &topology) {
            Ok(text) => {
                let found = read("htsim", &text).expect("what was written");
                prop_assert_eq!(outline(&found).cables, outline(&topology).cables);
                prop_assert_eq!(outline(&found).degrees, outline(&topology).degrees);
            }
            Err(error) => prop_assert!(!whole, "{}", error),
        }
    }
}

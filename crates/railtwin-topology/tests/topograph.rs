//! Models of topograph.
use std::collections::BTreeMap;

use railtwin_topology::SourceFile;
use railtwin_topology::form_of;

use crate::tree_support::{edges, findings, fixture, read, read_back, read_fixture, write};

/// Files with their hosts, leaves, spines, cores, edges, domains.
const MODELS: [(&str, [u32; 6]); 6] = [
    ("model_small-tree.yaml", [6, 2, 1, 0, 8, 2]),
    ("model_medium.yaml", [8, 4, 2, 1, 14, 4]),
    ("model_large.yaml", [96, 12, 6, 1, 114, 12]),
    ("model_nvl72.yaml", [72, 4, 2, 1, 78, 4]),
    ("model_dual-xclr-regular.yaml", [96, 12, 6, 1, 114, 2]),
    ("model_dual-xclr-irregular.yaml", [255, 31, 2, 1, 288, 2]),
];

#[test]
fn models_have_the_counts_that_they_state() {
    for (name, [hosts, leaves, spines, cores, cables, domains]) in MODELS {
        let bytes = fixture(name);
        assert_eq!(form_of(&[SourceFile { name, bytes: &bytes }]).unwrap().name, "topograph");
        let topology = read_fixture("topograph", name);
        let counts = topology.counts();
        let of = |tier: &str| counts.switches.get(tier).copied().unwrap_or(0);
        let found = [counts.hosts, of("leaf"), of("spine"), of("core"), counts.cables];
        assert_eq!(found, [hosts, leaves, spines, cores, cables], "{name}");
        let mut of_hosts = BTreeMap::new();
        for host in topology.hosts() {
            *of_hosts.entry(topology.about[host as usize].domain.clone().unwrap()).or_insert(0) += 1;
        }
        assert_eq!(of_hosts.len() as u32, domains);
        let empty = [("switch-without-hosts", "rack-1-13"), ("switch-without-hosts", "rack-1-03")];
        let mut seen = findings(&topology);
        seen.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(seen, if name.contains("irregular") { empty.to_vec() } else { vec![] }, "{name}");
    }
}

#[test]
fn models_come_back() {
    for (name, _) in MODELS {
        let topology = read_fixture("topograph", name);
        let back = read_back("topograph", &write("topograph", &topology));
        let mut expected = edges(&topology);
        expected.retain(|[_, upper]| !["rack-1-03", "rack-1-13"].contains(&upper.as_str()));
        expected.retain(|[lower, _]| !["rack-1-03", "rack-1-13"].contains(&lower.as_str()));
        assert_eq!(edges(&back), expected);
        for device in back.list.devices() {
            let row = |of: &railtwin_topology::Topology| of.list.device_named(&device.name).unwrap() as usize;
            assert_eq!(back.about[row(&back)], topology.about[row(&topology)], "{}", device.name);
        }
        assert_eq!(findings(&back), []);
    }
}

#[test]
fn the_first_version_is_read() {
    let text = "\
topology: \"topology/tree\"
switches:
- name: sw3
  metadata:
    region: us-west
  switches: [sw21,sw9]
- name: sw21
  switches: [sw11,sw12]
- name: sw11
  capacity_blocks: [cb11]
- name: sw12
  capacity_blocks: [cb12, cb99]
capacity_blocks:
- name: cb10
  nvlink: nv1
  type: H100
  nodes: [n10-1,n10-2]
- name: cb11
  nvlink: nv1
  type: H100
  nodes: [n11-1,n11-2]
- name: cb12
  type: H100
  nodes: [\"n12-[1-2]\", n11-2]
physical_layers:
- name: R1
  type: region
";
    let topology = read("topograph", text).unwrap();
    assert_eq!((topology.counts().hosts, topology.counts().cables), (6, 8));
    let found = findings(&topology);
    for expected in [
        ("missing-switch", "sw9"),
        ("missing-block", "cb99"),
        ("host-without-switch", "n10-1"),
        ("host-in-two-blocks", "n11-2"),
        ("host-under-two-leaves", "n11-2"),
    ] {
        assert!(found.contains(&expected), "{expected:?} in {found:?}");
    }
    assert_eq!((found.len(), topology.links_missing), (6, 2));
    let about = &topology.about[topology.list.device_named("n11-1").unwrap() as usize];
    assert_eq!((about.domain.as_deref(), about.model.as_deref()), (Some("nv1"), Some("H100")));
    let root = &topology.about[topology.list.device_named("sw3").unwrap() as usize];
    assert_eq!(root.labels["region"], "us-west");
}

#[test]
fn the_second_version_is_read() {
    let text = "\
switches:
  core:
    metadata: {region: a}
    switches: [leaf]
  leaf:
    nodes: [\"[1101-1102]\", 1103]
nodes:
  1101:
    attributes:
      nvlink: nvl1
      gpus: [{index: 0}, {index: 1}]
    capacity_block_id: cb1
  1102: {capacity_block_id: cb1}
  1103: {}
capacity_blocks:
  cb1:
    nodes: [\"[1101-1102]\"]
    attributes: {nvlink: nvl1}
";
    let topology = read("topograph", text).unwrap();
    assert_eq!(findings(&topology), []);
    assert_eq!((topology.counts().hosts, topology.counts().cables), (3, 4));
    let about = &topology.about[topology.list.device_named("1101").unwrap() as usize];
    assert_eq!((about.domain.as_deref(), about.gpus), (Some("nvl1"), Some(2)));
}

#[test]
fn blocks_without_a_switch_and_labels_of_domains_are_read() {
    let text = "\
switches:
  a:
    annotations: {accelerator.topology.test/domain: whole}
    switches: [pod-1, pod-2]
  b:
    switches: [pod-3]
blocks:
- switch: pod-1
  nodes: gpu-[01-02]
- switch: pod-2
  nodes: ['gpu-[02-03]']
  labels: {network.topology.nvidia.com/accelerator: own, rack: r1}
- switch: pod-3
  nodes: [gpu-04]
- switch: pod-9
  nodes: [gpu-05]
- nodes: ['cpu-[01-02]']
";
    let topology = read("topograph", text).unwrap();
    let expected = [
        ("missing-switch", "pod-9"),
        ("host-under-two-leaves", "gpu-02"),
        ("several-roots", "a"),
        ("host-without-switch", "cpu-01"),
        ("host-without-switch", "cpu-02"),
    ];
    assert_eq!(findings(&topology), expected);
    let domain =
        |name: &str| topology.about[topology.list.device_named(name).unwrap() as usize].domain.clone();
    assert_eq!((domain("gpu-01").as_deref(), domain("gpu-03").as_deref()), (Some("whole"), Some("own")));
    assert_eq!(domain("gpu-04"), None);
    let back = read_back("topograph", &write("topograph", &topology));
    assert_eq!(back.counts().hosts, 7);
}

#[test]
fn other_files_are_refused() {
    for text in [
        "",
        "a: 1\n",
        "- x\n",
        "switches: 5\n",
        "switches:\n  a: [1]\n",
        "\u{0}",
        "switches: {a: {nodes: 'n[1-'}}\n",
    ] {
        assert!(read("topograph", text).is_err(), "{text}");
    }
}

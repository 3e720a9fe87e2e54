//! Slurm's `topology.yaml`.
use railtwin_topology::SourceFile;
use railtwin_topology::form_of;

use crate::tree_support::{edges, findings, read, read_back, read_fixture, write};

const THREE: &str = "\
---
- topology: topo1
  cluster_default: true
  tree:
    switches:
      - switch: sw_root
        children: s[1-2]
      - switch: s1
        nodes: node[01-02]
      - switch: s2
        nodes: node[03-04]
- topology: topo2
  cluster_default: false
  block:
    block_sizes:
      - 4
      - 16
    blocks:
      - block: b1
        nodes: node[01-04]
      - block: b2
        nodes: node[05-08]
- topology: topo3
  cluster_default: false
  flat: true
";

#[test]
fn trees_and_blocks_of_a_file_are_one_topology() {
    assert_eq!(form_of(&[SourceFile { name: "t", bytes: THREE.as_bytes() }]).unwrap().name, "slurm-yaml");
    let topology = read("slurm-yaml", THREE).unwrap();
    assert_eq!((topology.counts().hosts, topology.counts().cables), (8, 6));
    let loose: Vec<(&str, &str)> = (5..9)
        .map(|host| ("host-without-switch", ["node05", "node06", "node07", "node08"][host - 5]))
        .collect();
    assert_eq!(findings(&topology), loose);
    let host = topology.list.device_named("node08").unwrap();
    assert_eq!(topology.about[host as usize].domain.as_deref(), Some("b2"));
}

#[test]
fn a_later_tree_that_differs_is_a_note() {
    // The keys of topograph's first versions; the second tree is the default, and is read first.
    let text = "\
- topology: topo1
  clusterDefault: false
  tree:
    switches:
        - switch: S9
          nodes: n[1-2]
- topology: topo2
  clusterDefault: true
  tree:
    switches:
        - switch: S1
          children: S3
        - switch: S3
          nodes: n1
- topology: topo3
  clusterDefault: false
  block:
    blockSizes:
        - 1
    blocks:
        - block: block1
          nodes: n1
- topology: topo4
  block:
    blockSizes: [1]
    blocks:
        - block: block1
          nodes: n2
";
    let topology = read("slurm-yaml", text).unwrap();
    assert_eq!(
        topology.notes,
        ["a later topology of the file places 1 devices elsewhere; the first is read"]
    );
    let of = |name: &str| topology.about[topology.list.device_named(name).unwrap() as usize].domain.clone();
    assert_eq!((of("n1").as_deref(), of("n2").as_deref()), (Some("topo3/block1"), Some("topo4/block1")));
    assert!(edges(&topology).contains(&["S3".to_owned(), "n1".to_owned()]));
    assert_eq!(topology.counts().cables, 3);
}

#[test]
fn what_is_no_tree_is_a_finding() {
    let text = "\
- topology: t
  tree:
    switches:
    - switch: root
      children: a,gone
    - switch: a
      nodes: n1,n2
    - switch: b
      nodes: [n2, 1101]
    - nodes: n3
- topology: donut
  torus3d:
    toruses: [{torus: t1, dims: {x: 2, y: 2, z: 1}, nodes: 'm[1-4]'}]
";
    let topology = read("slurm-yaml", text).unwrap();
    let found = findings(&topology);
    for expected in [
        ("missing-switch", "gone"),
        ("host-under-two-leaves", "n2"),
        ("several-roots", "root"),
        ("unnamed-switch", ""),
        ("host-without-switch", "m4"),
    ] {
        assert!(found.contains(&expected), "{expected:?} in {found:?}");
    }
    assert_eq!(topology.counts().hosts, 7);
    assert!(topology.notes[0].contains("torus3d"));
}

#[test]
fn models_come_back_with_their_domains() {
    for model in
        ["model_large.yaml", "model_nvl72.yaml", "model_dual-xclr-irregular.yaml", "model_medium.yaml"]
    {
        let topology = read_fixture("topograph", model);
        let back = read_back("slurm-yaml", &write("slurm-yaml", &topology));
        assert_eq!(back.counts().hosts, topology.counts().hosts);
        assert_eq!(findings(&back), []);
        for host in topology.hosts() {
            let name = &topology.list.devices()[host as usize].name;
            let other = back.list.device_named(name).unwrap();
            assert_eq!(back.about[other as usize].domain, topology.about[host as usize].domain);
        }
    }
}

#[test]
fn what_is_written_is_as_the_manual_has_it() {
    let text = "\
---
- topology: tree
  cluster_default: true
  tree:
    switches:
      - switch: sw_root
        children: s[1-2]
      - switch: s1
        nodes: node[01-02]
      - switch: s2
        nodes: node[03-04]
- topology: block
  cluster_default: false
  block:
    block_sizes:
      - 4
    blocks:
      - block: b1
        nodes: node[01-04]
";
    let topology = read("slurm-yaml", text).unwrap();
    assert_eq!(write("slurm-yaml", &topology)[0].text, text);
    let error = read("slurm-yaml", "- topology: t\n  tree: 5\n").unwrap_err().to_string();
    assert!(error.starts_with("file:2:"), "{error}");
}

//! Forms of Kubernetes: labels of nodes, Kueue, Volcano.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
use railtwin_topology::{SourceFile, WriteOptions};
use serde::Deserialize;
use serde_yaml_ng::Value;

use crate::tree_support::{findings, read, read_back, read_fixture, write, write_with};

fn documents(text: &str) -> Vec<Value> {
    serde_yaml_ng::Deserializer::from_str(text).map(|part| Value::deserialize(part).unwrap()).collect()
}

#[test]
fn labels_name_leaf_spine_core_and_domain() {
    let topology = read_fixture("topograph", "model_large.yaml");
    let files = write("node-labels", &topology);
    let nodes = documents(&files[0].text);
    assert_eq!(nodes.len(), 96);
    let labels = &nodes[0]["metadata"]["labels"];
    assert_eq!(nodes[0]["metadata"]["name"], "srv1101");
    let prefix = "network.topology.nvidia.com";
    for (key, value) in
        [("accelerator", "nvl-1-1"), ("leaf", "leaf-1-1"), ("spine", "spine-1"), ("core", "core")]
    {
        assert_eq!(labels[format!("{prefix}/{key}").as_str()], value);
    }
    let line = "kubectl label node --overwrite srv6208 network.topology.nvidia.com/accelerator=nvl-6-2 \
                network.topology.nvidia.com/core=core network.topology.nvidia.com/leaf=leaf-6-2 \
                network.topology.nvidia.com/spine=spine-6";
    assert_eq!(files[1].text.lines().last(), Some(line));
    // A name that Kubernetes does not take.
    let upper = read_fixture("topograph", "model_small-tree.yaml");
    let writer = railtwin_topology::named("node-labels").unwrap().write.unwrap();
    assert!(
        writer(&upper, &WriteOptions::default())
            .unwrap_err()
            .to_string()
            .contains("\"I21\" is no name of a node")
    );
}

#[test]
fn levels_go_from_the_core_to_the_host_and_domains_stand_where_they_nest() {
    let levels = |model: &str| -> Vec<String> {
        let files = write("kueue", &read_fixture("topograph", model));
        let objects = documents(&files[0].text);
        assert_eq!(objects[0]["kind"], "Topology");
        assert_eq!(objects[1]["spec"]["topologyName"], objects[0]["metadata"]["name"]);
        let levels = objects[0]["spec"]["levels"].as_sequence().unwrap();
        let key = |level: &Value| level["nodeLabel"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        levels.iter().map(key).collect()
    };
    assert_eq!(levels("model_large.yaml"), ["core", "spine", "leaf", "accelerator", "hostname"]);
    assert_eq!(levels("model_dual-xclr-regular.yaml"), ["core", "accelerator", "spine", "leaf", "hostname"]);
    assert_eq!(
        levels("model_dual-xclr-irregular.yaml"),
        ["core", "spine", "accelerator", "leaf", "hostname"]
    );
    let crossing = "switches: {r: {switches: [a, b]}}\nblocks:\n- {switch: a, nodes: [n1], labels: {nvidia.com/gpu.clique: x}}\n\
                    - {switch: a, nodes: [n2], labels: {nvidia.com/gpu.clique: y}}\n\
                    - {switch: b, nodes: [n3], labels: {nvidia.com/gpu.clique: y}}\n";
    let text = write("kueue", &read("topograph", crossing).unwrap())[0].text.clone();
    assert!(text.contains("# Scale-up domains are no level") && !text.contains("accelerator"));
}

#[test]
fn the_flavor_selects_the_type_of_gpu() {
    let options =
        WriteOptions { gpu_type: Some("NVIDIA-H100-80GB-HBM3".to_owned()), ..WriteOptions::default() };
    let files = write_with("kueue", &read_fixture("topograph", "model_nvl72.yaml"), &options);
    let flavor = &documents(&files[0].text)[1];
    assert_eq!(flavor["spec"]["nodeLabels"]["nvidia.com/gpu.product"], "NVIDIA-H100-80GB-HBM3");
}

const HYPERNODES: &str = "\
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata:
  name: s0
spec:
  tier: 1
  members:
  - type: Node
    selector:
      exactMatch:
        name: node-0
  - type: Node
    selector:
      type: Exact
      exactMatch: {name: node-1}
---
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata: {name: s1}
spec:
  tier: \"1\"
  members:
  - type: Node
    selector: {regexMatch: {pattern: \"node-[23]\"}}
---
kind: Namespace
---
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata: {name: s6}
spec:
  tier: 1
  members:
  - {type: HyperNode, selector: {exactMatch: {name: s0}}}
  - {type: HyperNode, selector: {exactMatch: {name: s1}}}
  - {type: HyperNode, selector: {exactMatch: {name: s9}}}
";

#[test]
fn hypernodes_are_read() {
    assert_eq!(
        railtwin_topology::form_of(&[SourceFile { name: "h", bytes: HYPERNODES.as_bytes() }]).unwrap().name,
        "volcano"
    );
    let topology = read("volcano", HYPERNODES).unwrap();
    let counts = topology.counts();
    assert_eq!((counts.hosts, counts.cables, counts.links_missing), (2, 4, 1));
    assert_eq!((counts.switches["leaf"], counts.switches["spine"]), (2, 1));
    let expected =
        [("missing-switch", "s9"), ("tier-not-above-members", "s6"), ("tier-not-above-members", "s6")];
    assert_eq!(findings(&topology), expected);
    assert_eq!(topology.notes.len(), 1);
}

#[test]
fn hypernodes_of_a_model_come_back() {
    let topology = read_fixture("topograph", "model_large.yaml");
    let files = write("volcano", &topology);
    let back = read_back("volcano", &files);
    assert_eq!(back.counts(), topology.counts());
    assert_eq!(crate::tree_support::edges(&back), crate::tree_support::edges(&topology));
    assert_eq!(write("volcano", &back), files);
}

//! Writes labels of nodes.
use std::collections::BTreeMap;
use std::fmt::Write as _;

use railtwin_formats::FormatError;

use crate::form::{WriteOptions, Written};
use crate::labels::{is_object_name, of_host};
use crate::topology::Topology;
use crate::tree::Tree;
use crate::yaml::scalar;

/// Writes the labels of each host twice: as objects `Node` for `kubectl apply --server-side`, and as a script of
/// `kubectl label`. A label names the leaf, the spine and the core above a host, and its scale-up domain; tiers above the
/// third have topograph's numbered keys.
///
/// # Errors
/// [`FormatError`] for a host whose name is none of a node of Kubernetes.
pub(super) fn write(topology: &Topology, _options: &WriteOptions) -> Result<Vec<Written>, FormatError> {
    let tree = Tree::of(topology);
    let mut objects = String::new();
    let mut script = String::from("#!/bin/sh\nset -e\n");
    for (host, place) in tree.hosts() {
        let name = node_name(topology, host)?;
        let labels = of_host(topology, &tree, host, place);
        if labels.is_empty() {
            continue;
        }
        let _ = write!(
            objects,
            "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: {}\n  labels:\n",
            scalar(name)
        );
        for (key, value) in &labels {
            let _ = writeln!(objects, "    {key}: {}", scalar(value));
        }
        let _ = writeln!(script, "kubectl label node --overwrite {name} {}", joined(&labels));
    }
    let file = |path: &str, text| Written { path: path.to_owned(), text };
    Ok(vec![file("node-labels.yaml", objects), file("label-nodes.sh", script)])
}

fn joined(labels: &BTreeMap<String, String>) -> String {
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
}

/// Name of a host as one of a node.
///
/// # Errors
/// [`FormatError`] where Kubernetes has no such names.
pub(crate) fn node_name(topology: &Topology, host: u32) -> Result<&str, FormatError> {
    let name = topology.list.devices()[host as usize].name.as_str();
    match is_object_name(name) {
        true => Ok(name),
        false => {
            let accepted = "names of lower-case letters, digits, `-` and `.`";
            Err(FormatError::new("Kubernetes", "", "is no name of a node", accepted).found(name))
        }
    }
}

//! Writes HyperNodes.
use std::fmt::Write as _;

use railtwin_formats::FormatError;

use crate::form::{WriteOptions, Written};
use crate::forms::node_labels::node_name;
use crate::labels::object_name;
use crate::topology::Topology;
use crate::tree::Tree;
use crate::yaml::scalar;

/// Writes a HyperNode for each switch of the tree, with its members by name. Scale-up domains have no place in it. A host
/// without a switch is the one member of a HyperNode of its own: a node in none is beyond jobs that ask for a topology.
///
/// # Errors
/// [`FormatError`] for a host whose name is none of a node of Kubernetes, and where no host is under a switch.
pub(super) fn write(topology: &Topology, _options: &WriteOptions) -> Result<Vec<Written>, FormatError> {
    let tree = Tree::of_scheduler("volcano", topology)?;
    let mut text = String::new();
    for place in tree.breadth_first() {
        let switch = &tree.switches[place as usize];
        text.push_str("---\napiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata:\n");
        let _ = writeln!(text, "  name: {}", scalar(&object_name(&switch.name)));
        let _ = writeln!(text, "spec:\n  tier: {}\n  members:", switch.tier);
        for &child in &switch.switches {
            member(&mut text, "HyperNode", &object_name(&tree.switches[child as usize].name));
        }
        for &host in &switch.hosts {
            member(&mut text, "Node", node_name(topology, host)?);
        }
    }
    Ok(vec![Written { path: "hypernodes.yaml".to_owned(), text }])
}

fn member(text: &mut String, kind: &str, name: &str) {
    let _ =
        writeln!(text, "  - type: {kind}\n    selector:\n      exactMatch:\n        name: {}", scalar(name));
}

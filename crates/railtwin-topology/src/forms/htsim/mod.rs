//! Fat-trees of htsim (`.topo`): counts of a regular tree, from which its nodes follow.
//!
//! Learned from the source of Broadcom/csg-htsim (`fat_tree_topology.cpp`). The form has no names and no ports: nodes and
//! switches are numbered from the left, so names are those of a built fabric.
mod read;
mod shape;
mod write;

use crate::form::{Form, SourceFile};

/// The entry.
pub(crate) const FORM: Form = Form {
    name: "htsim",
    title: "htsim fat-tree (.topo)",
    is_one,
    read: Some(read::read),
    write: Some(write::write),
};

/// Whether a file begins with a key of the form.
fn is_one(source: &SourceFile<'_>) -> bool {
    let head = source.head();
    let mut lines = head.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let keys: Vec<String> = lines
        .by_ref()
        .take(3)
        .filter_map(|line| Some(line.split_whitespace().next()?.to_ascii_lowercase()))
        .collect();
    // `Nodes` alone begins a connection matrix as well.
    let known = ["nodes", "tiers", "podsize", "tier"];
    keys.len() == 3 && keys.iter().all(|key| known.contains(&key.as_str()))
}

//! Slurm's `topology.yaml`: several named topologies, each a tree, blocks, or flat.
//!
//! Syntax from the manual page `topology.yaml(5)`; topograph's first versions wrote `clusterDefault` and `blockSizes`.
mod read;
mod write;

use crate::form::{Form, SourceFile};

pub(crate) const FORM: Form = Form {
    name: "slurm-yaml",
    title: "Slurm topology.yaml",
    is_one,
    read: Some(read::read),
    write: Some(write::write),
};

fn is_one(source: &SourceFile<'_>) -> bool {
    let head = source.head();
    let mut lines = head.lines().map(str::trim_end).filter(|line| {
        let line = line.trim_start();
        !line.is_empty() && !line.starts_with('#') && line != "---"
    });
    let first = lines.next().and_then(|line| line.trim_start().strip_prefix('-')).map(str::trim_start);
    first.is_some_and(|key| {
        ["topology:", "cluster_default:", "clusterDefault:"].iter().any(|known| key.starts_with(known))
    })
}

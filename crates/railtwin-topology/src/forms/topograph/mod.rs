//! Model files of topograph: YAML of switches and of blocks of hosts.
//!
//! Syntax of all versions of topograph's `pkg/models/model.go`:
//!
//! * First: a list of switches with `name`, `switches`, `capacity_blocks`, later `metadata`; a list `capacity_blocks` of
//!   `name`, `type`, `nvlink`, `nodes`.
//! * Second: a mapping of switches, with `nodes`; a mapping `nodes` with `attributes.nvlink`; a mapping `capacity_blocks`.
//! * Third: a mapping of switches with `switches`, `labels`, `annotations`, in which leaves may be left out; a list `blocks` of
//!   `switch`, `nodes`, `labels`, `annotations`.
mod read;
mod write;

use crate::form::{Form, SourceFile};

pub(crate) const FORM: Form = Form {
    name: "topograph",
    title: "topograph model",
    is_one,
    read: Some(read::read),
    write: Some(write::write),
};

/// Annotations of the scale-up domain and of a part of it, as the third version has them.
const DOMAIN: &str = "accelerator.topology.test/domain";
const SUBDOMAIN: &str = "accelerator.topology.test/sub-domain";

/// Whether the first keys of a file are those of a model and no others.
fn is_one(source: &SourceFile<'_>) -> bool {
    const KEYS: [&str; 6] = ["switches", "blocks", "capacity_blocks", "nodes", "topology", "physical_layers"];
    let head = source.head();
    let keys = head.lines().filter(|line| line.starts_with(|letter: char| letter.is_ascii_alphabetic()));
    let keys: Vec<&str> = keys.map(|line| line.split(':').next().unwrap_or(line).trim()).collect();
    let known = keys.iter().all(|key| KEYS.contains(key));
    known && keys.iter().any(|key| KEYS[..3].contains(key))
}

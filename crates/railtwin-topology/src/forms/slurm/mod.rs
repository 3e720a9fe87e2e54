//! Slurm's `topology.conf`: trees of switches, blocks, rings.
//!
//! Syntax from the manual page `topology.conf(5)` and Slurm's parser of configuration files: keys in any case, quotes,
//! comments, lines that go on behind a backslash, host lists in brackets. Names of switches and comments in what is written
//! are those of topograph (`pkg/translate`).
mod read;
mod write;

use crate::form::{Form, SourceFile};

pub(crate) use write::{Naming, host_names, names};

pub(crate) const FORM: Form = Form {
    name: "slurm",
    title: "Slurm topology.conf",
    is_one,
    read: Some(read::read),
    write: Some(write::write),
};

/// Keys that begin a line of the form.
const KEYS: [&str; 4] = ["switchname", "blockname", "ringname", "blocksizes"];

fn is_one(source: &SourceFile<'_>) -> bool {
    let head = source.head();
    let lines = head.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.take(64).any(|line| {
        let key = line.split(['=', ' ', '\t']).next().unwrap_or("").to_ascii_lowercase();
        KEYS.contains(&key.as_str()) && line.contains('=')
    })
}

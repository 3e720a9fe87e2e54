//! The topology of the Lingjun data set: hosts (hashed) with the labels of their DSW, PSW and ASW.
//!
//! A tree: a leaf (ASW) stands under a group of spines (PSW), that under a group of cores (DSW). ASW labels repeat under
//! different PSW labels, so a leaf is named by the pair. Learned from alibaba/alibaba-lingjun-dataset-2023.
mod read;

use crate::form::{Form, SourceFile};

/// The entry.
pub(crate) const FORM: Form = Form {
    name: "lingjun",
    title: "Lingjun topology (topo.csv)",
    is_one,
    read: Some(read::read),
    write: None,
};

/// Columns by the names in the header; their order is free and others are ignored.
const COLUMNS: [&str; 4] = ["ip", "DSW", "PSW", "ASW"];

/// Whether the first line names the three kinds of switches.
fn is_one(source: &SourceFile<'_>) -> bool {
    let head = source.head();
    let columns: Vec<&str> = head.lines().next().unwrap_or("").split(',').map(read::field).collect();
    COLUMNS[1..].iter().all(|name| columns.iter().any(|column| column.eq_ignore_ascii_case(name)))
}

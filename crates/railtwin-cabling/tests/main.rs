//! Designs against maps of the Open Compute Project, and what they make of them.
#![allow(clippy::disallowed_methods, reason = "maps and designs lie in files")]
mod bom;
mod foreign;
mod maps;
mod schedule;

use std::path::{Path, PathBuf};

/// A file below the data of the OCP fabrics.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/ocp_fabrics").join(name)
}

/// Text of such a file.
fn text(name: &str) -> String {
    std::fs::read_to_string(data(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

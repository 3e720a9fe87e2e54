//! Designs whose every port is named (TOML with `[blueprint]`), and plans of the OCP training fabrics
//! (`topology-map.yaml`), as `railtwin-cabling` reads both.
mod read;

use crate::form::{Form, SourceFile};

pub(crate) const FORM: Form = Form {
    name: "blueprint",
    title: "a design with named ports, TOML, or a topology-map.yaml of the OCP training fabrics",
    is_one: |source| is_design(source) || is_plan(source),
    read: Some(read::read),
    write: None,
};

/// Whether a file is a design in TOML.
pub(crate) fn is_design(source: &SourceFile<'_>) -> bool {
    source.head().lines().any(|line| line.trim() == "[blueprint]")
}

/// Whether a file is a plan in YAML.
fn is_plan(source: &SourceFile<'_>) -> bool {
    let text = String::from_utf8_lossy(source.bytes);
    let has = |key: &str| text.lines().any(|line| line.trim_end() == key);
    has("switch_classes:") && has("server_classes:")
}

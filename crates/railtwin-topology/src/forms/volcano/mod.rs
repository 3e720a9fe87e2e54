//! HyperNodes of Volcano.
//!
//! Fields from volcano-sh/apis, `pkg/apis/topology/v1alpha1`: a HyperNode has a tier, a number or in first versions a text, and
//! members, each a node or a HyperNode, selected by name, by pattern or by label.
mod read;
mod write;

use crate::form::{Form, SourceFile};

pub(crate) const FORM: Form = Form {
    name: "volcano",
    title: "Volcano HyperNodes",
    is_one,
    read: Some(read::read),
    write: Some(write::write),
};

fn is_one(source: &SourceFile<'_>) -> bool {
    let head = source.head();
    head.contains("topology.volcano.sh/") && head.contains("HyperNode")
}

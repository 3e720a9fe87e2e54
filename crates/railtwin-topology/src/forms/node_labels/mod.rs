//! Labels of Kubernetes nodes, as topograph's engine for Kubernetes sets them.
mod write;

pub(crate) use write::node_name;

use crate::form::Form;

pub(crate) const FORM: Form = Form {
    name: "node-labels",
    title: "Kubernetes node labels",
    is_one: |_| false,
    read: None,
    write: Some(write::write),
};

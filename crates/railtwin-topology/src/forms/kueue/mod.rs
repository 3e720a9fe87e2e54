//! Kueue's `Topology` and `ResourceFlavor` for scheduling aware of topology.
//!
//! Fields from kubernetes-sigs/kueue, `apis/kueue/v1beta1`: levels are labels of nodes from the outermost to the innermost,
//! every node has all of them, and a flavor with a topology has at least one label.
mod write;

use crate::form::Form;

pub(crate) const FORM: Form = Form {
    name: "kueue",
    title: "Kueue Topology and ResourceFlavor",
    is_one: |_| false,
    read: None,
    write: Some(write::write),
};

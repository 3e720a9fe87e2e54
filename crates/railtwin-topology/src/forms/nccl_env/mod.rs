//! Settings of NCCL for each host, as `nccl.conf` holds them: those that follow from the network.
//!
//! Meanings are those of NCCL's documentation of environment variables. Names of interfaces and the traffic class are those
//! that configurations of hosts have.
mod write;

use crate::form::Form;

/// The entry: written only.
pub(crate) const FORM: Form = Form {
    name: "nccl-env",
    title: "NCCL settings of each host (nccl.conf)",
    is_one: |_| false,
    read: None,
    write: Some(write::write),
};

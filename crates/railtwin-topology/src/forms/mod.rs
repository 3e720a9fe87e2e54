//! One folder for each form: `mod.rs` with its entry, `read.rs`, `write.rs`.
mod kueue;
mod netq;
mod node_labels;
mod slurm;
mod slurm_yaml;
mod topograph;
mod volcano;

use crate::form::Form;

/// All forms. A form that is easily mistaken stands behind those that are not.
pub(crate) const ALL: &[Form] = &[
    slurm::FORM,
    slurm_yaml::FORM,
    topograph::FORM,
    netq::FORM,
    kueue::FORM,
    volcano::FORM,
    node_labels::FORM,
];

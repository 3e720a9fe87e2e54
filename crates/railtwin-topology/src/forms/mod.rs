//! One folder for each form: `mod.rs` with its entry, `read.rs`, `write.rs`.
mod netq;
mod slurm;
mod slurm_yaml;
mod topograph;
mod volcano;
mod kueue;
mod node_labels;

use crate::form::Form;

mod ibnetdiscover;

/// All forms. A form that is easily mistaken stands behind those that are not.
pub(crate) const ALL: &[Form] = &[
    ibnetdiscover::FORM,
    slurm::FORM,
    slurm_yaml::FORM,
    topograph::FORM,
    netq::FORM,
    kueue::FORM,
    volcano::FORM,
    node_labels::FORM,
];

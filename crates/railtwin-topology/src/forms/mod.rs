//! One folder for each form: `mod.rs` with its entry, `read.rs`, `write.rs`.
mod netq;
mod slurm;
mod slurm_yaml;
mod topograph;
mod volcano;
mod kueue;
mod node_labels;
mod cables;
mod hedgehog;
mod lldp;
mod netbox;
mod sonic_config_db;
mod sonic_minigraph;
mod sonic_types;

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
    sonic_minigraph::FORM,
    sonic_config_db::FORM,
    hedgehog::FORM,
    netbox::FORM,
    lldp::FORM,
    cables::FORM,
];

//! One folder for each form: `mod.rs` with its entry, `read.rs`, `write.rs`.
mod blueprint;
mod cables;
mod hedgehog;
mod ibnetdiscover;
mod kueue;
mod lldp;
mod netbox;
mod netq;
mod node_labels;
mod slurm;
mod slurm_yaml;
mod sonic_config_db;
mod sonic_minigraph;
mod sonic_types;
mod topograph;
mod volcano;

use crate::form::Form;

/// All forms. A form that is easily mistaken stands behind those that are not.
pub(crate) const ALL: &[Form] = &[
    blueprint::FORM,
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
mod astra_sim;
pub(crate) mod backend;
mod htsim;
mod lingjun;
mod nccl_env;
mod simai;
use crate::form::Form;

/// All forms. A form that is easily mistaken stands behind those that are not.
pub(crate) const ALL: &[Form] =
    &[simai::FORM, simai::HPCC, htsim::FORM, astra_sim::FORM, lingjun::FORM, nccl_env::FORM];

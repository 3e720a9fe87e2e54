//! One folder for each form: `mod.rs` with its entry, `read.rs`, `write.rs`.
mod astra_sim;
pub(crate) mod backend;
mod blueprint;
mod cables;
mod dot;
mod graph;
mod graphml;
mod hedgehog;
mod htsim;
mod ibnetdiscover;
mod kueue;
mod lingjun;
mod lldp;
mod nccl_env;
mod netbox;
mod netq;
mod node_labels;
mod simai;
pub(crate) mod slurm;
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
    simai::FORM,
    simai::HPCC,
    htsim::FORM,
    astra_sim::FORM,
    lingjun::FORM,
    nccl_env::FORM,
    graphml::FORM,
    dot::FORM,
    cables::FORM,
    cables::map::FORM,
];

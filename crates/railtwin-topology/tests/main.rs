//! Tests of forms over real files and random bytes.
#![allow(clippy::disallowed_methods, reason = "a test reads files")]

mod astra_sim;
mod cables;
mod damage;
mod fabrics;
mod graph_cases;
mod graphs;
mod hedgehog;
mod htsim;
mod ibnetdiscover;
mod kubernetes;
mod lingjun;
mod lldp;
mod nccl;
mod nccl_env;
mod netbox;
mod netq;
mod refusals;
mod simai;
mod slurm;
mod slurm_yaml;
mod sonic_config_db;
mod sonic_minigraph;
mod topograph;
mod tree_damage;
mod tree_support;
mod trees;
mod wiring;

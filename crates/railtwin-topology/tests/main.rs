//! Tests of forms over real files and random bytes.
#![allow(clippy::disallowed_methods, reason = "a test reads files")]

mod astra_sim;
mod damage;
mod fabrics;
mod htsim;
mod kubernetes;
mod lingjun;
mod nccl;
mod nccl_env;
mod netq;
mod simai;
mod slurm;
mod slurm_yaml;
mod topograph;
mod tree_damage;
mod tree_support;
mod trees;

//! Tests of forms over real files and random bytes.
#![allow(clippy::disallowed_methods, reason = "a test reads files")]
mod kubernetes;
mod netq;
mod slurm;
mod slurm_yaml;
mod topograph;
mod tree_damage;
mod tree_support;
mod trees;

//! Tests of forms over real files and random bytes.
#![allow(clippy::disallowed_methods, reason = "tests read files of data")]
mod astra_sim;
mod damage;
mod fabrics;
mod htsim;
mod lingjun;
mod nccl;
mod nccl_env;
mod simai;

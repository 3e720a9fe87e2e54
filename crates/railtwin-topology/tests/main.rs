//! Tests of forms over real files and random bytes.
mod astra_sim;
mod damage;
mod fabrics;
mod htsim;
mod lingjun;
mod nccl;
mod nccl_env;
mod simai;

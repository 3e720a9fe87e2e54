//! One folder for each form: `mod.rs` with its entry, `read.rs`, `write.rs`.
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

//! One folder for each form: `mod.rs` with its entry, `read.rs`, `write.rs`.
mod cables;
mod hedgehog;
mod lldp;
mod netbox;
mod sonic_config_db;
mod sonic_minigraph;
mod sonic_types;

use crate::form::Form;

/// All forms. A form that is easily mistaken stands behind those that are not.
pub(crate) const ALL: &[Form] =
    &[sonic_minigraph::FORM, sonic_config_db::FORM, hedgehog::FORM, netbox::FORM, lldp::FORM, cables::FORM];

//! One folder for each form: `mod.rs` with its entry, `read.rs`, `write.rs`.
use crate::form::Form;

mod dot;
mod graph;
mod graphml;
mod ibnetdiscover;

/// All forms. A form that is easily mistaken stands behind those that are not.
pub(crate) const ALL: &[Form] = &[ibnetdiscover::FORM, graphml::FORM, dot::FORM];

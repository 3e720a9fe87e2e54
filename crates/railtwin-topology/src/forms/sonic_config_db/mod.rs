//! Configuration databases of SONiC: `config_db.json`, one for each switch; a folder of them is a fabric.
//!
//! Learned from the YANG models of sonic-net/sonic-buildimage (`src/sonic-yang-models`). `DEVICE_NEIGHBOR` tells cables,
//! `DEVICE_METADATA` and `DEVICE_NEIGHBOR_METADATA` what devices are, `PORT` speeds and states, `CABLE_LENGTH` delays. Ports
//! have SONiC's own names; names that neighbors use are looked up among aliases. A port in a `PORTCHANNEL` names the bond of
//! its neighbor, so each of its cables is a port of that bond.
mod read;
mod switch;

use crate::form::{Form, SourceFile};

/// Name of this format in errors.
const FORMAT: &str = "SONiC configuration";

/// The entry.
pub(crate) const FORM: Form = Form {
    name: "sonic-config-db",
    title: "SONiC configuration databases (config_db.json)",
    is_one,
    read: Some(read::read),
    write: None,
};

fn is_one(source: &SourceFile<'_>) -> bool {
    let head = source.head();
    let text = head.trim_start_matches('\u{feff}').trim_start();
    let has = |word: &str| text.contains(&format!("\"{word}\""));
    let is_port_table = has("PORT") && has("admin_status") && has("alias");
    text.starts_with('{') && (has("DEVICE_METADATA") || has("DEVICE_NEIGHBOR") || is_port_table)
}

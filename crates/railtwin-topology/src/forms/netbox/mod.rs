//! Devices, interfaces and cables of NetBox as JSON.
//!
//! Read are answers of the REST API (`/api/dcim/cables/` and its kin, whole pages or bare lists, all versions of
//! terminations), answers of its GraphQL, records of its bulk import, and one object with the lists `devices`, `interfaces`
//! and `cables`, such as `netbox_inventory.json` of opencomputeproject/OCP-OCDAI-training-fabric. Learned from these files
//! and from the models of netbox-community/netbox (`netbox/dcim`).
mod cables;
mod read;
mod records;
mod write;

use crate::form::{Form, SourceFile};

/// Name of this format in errors.
const FORMAT: &str = "NetBox inventory";

/// The entry.
pub(crate) const FORM: Form = Form {
    name: "netbox",
    title: "NetBox devices, interfaces and cables (JSON)",
    is_one,
    read: Some(read::read),
    write: Some(write::write),
};

/// Whether lists of interfaces or cables stand anywhere in a file: devices may fill its beginning.
fn holds(bytes: &[u8]) -> bool {
    let lists: [&[u8]; 2] = [b"\"interfaces\"", b"\"cables\""];
    lists.iter().any(|list| bytes.windows(list.len()).any(|window| window == *list))
}

fn is_one(source: &SourceFile<'_>) -> bool {
    let head = source.head();
    let text = head.trim_start_matches('\u{feff}').trim_start();
    let has = |any: &[&str]| any.iter().any(|word| text.contains(&format!("\"{word}\"")));
    let is_page = has(&["results"]) && has(&["count"]);
    text.starts_with(['{', '['])
        && (has(&["a_terminations", "termination_a", "termination_a_id", "side_a_device"])
            || (has(&["cables", "interfaces", "interface_list", "cable_list"])
                && has(&["device_type", "device_name"]))
            || (is_page && has(&["device_type", "device_role", "device"]) && has(&["url", "display"]))
            || (has(&["devices"]) && has(&["device_type", "role"]) && holds(source.bytes)))
}

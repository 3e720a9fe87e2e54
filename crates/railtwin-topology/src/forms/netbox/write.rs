//! From a topology to records of NetBox's bulk import.
use railtwin_formats::FormatError;
use serde_json::{Map, Value, json};

use super::FORMAT;
use crate::form::{WriteOptions, Written};
use crate::topology::Topology;
use crate::wiring::{PS_PER_METRE, decimal_text};

/// Most kilobits per second that NetBox keeps: a signed number of 32 bits.
const KBPS_MAX: u64 = i32::MAX as u64;

/// Writes `netbox.json`: an object of the lists `devices`, `interfaces` and `cables`. Each list is what the bulk import of
/// that model takes as JSON, after roles, device types and the site of these names are made. Speeds are in kbit/s; lengths
/// are what light in fibre takes the delays for, 5 ns a metre. Networks of devices have no place in it.
///
/// # Errors
/// A device that is neither host nor switch of a known tier, as NetBox wants a role for each.
pub(super) fn write(topology: &Topology, _options: &WriteOptions) -> Result<Vec<Written>, FormatError> {
    let list = &topology.list;
    let site = list.title.as_deref().filter(|title| !title.is_empty()).unwrap_or("fabric");
    let mut devices = Vec::with_capacity(list.devices().len());
    for (device, about) in list.devices().iter().zip(&topology.about) {
        let Some(role) = device.role else {
            let accepted = "NetBox wants a role for each device: name it after what it is";
            let error = FormatError::new(FORMAT, "netbox.json", "is a device without a role", accepted);
            return Err(error.found(&device.name));
        };
        let model = about.model.as_deref().unwrap_or(if role.is_host() { "host" } else { "switch" });
        let mut record = json!({
            "name": device.name,
            "role": role.name(),
            "manufacturer": "Generic",
            "device_type": model,
            "site": site,
            "status": "active",
        });
        if let Some(rack) = &device.rack {
            record["rack"] = json!(rack);
        }
        if let Some(id) = &about.id {
            record["serial"] = json!(id);
        }
        devices.push(record);
    }
    let interfaces = list.ports().iter().map(|port| {
        let mut record = Map::new();
        record.insert("device".to_owned(), json!(list.devices()[port.device as usize].name));
        record.insert("name".to_owned(), json!(port.name));
        // The form factor of a port is known to no topology.
        record.insert("type".to_owned(), json!("other"));
        record.insert("enabled".to_owned(), json!(true));
        let kbps = port.rate.map(|rate| rate.bits_per_s() / 1_000);
        if let Some(kbps) = kbps.filter(|&kbps| kbps > 0 && kbps <= KBPS_MAX) {
            record.insert("speed".to_owned(), json!(kbps));
        }
        Value::Object(record)
    });
    let interfaces: Vec<Value> = interfaces.collect();
    let cables = list.cables().iter().map(|cable| {
        let [a, b] = cable.ports.map(|port| {
            let port = &list.ports()[port as usize];
            (&list.devices()[port.device as usize].name, &port.name)
        });
        let mut record = json!({
            "side_a_device": a.0, "side_a_type": "dcim.interface", "side_a_name": a.1,
            "side_b_device": b.0, "side_b_type": "dcim.interface", "side_b_name": b.1,
            "status": "connected",
        });
        if let Some(delay) = cable.delay {
            record["length"] = json!(decimal_text(delay.ps(), PS_PER_METRE));
            record["length_unit"] = json!("m");
        }
        record
    });
    let cables: Vec<Value> = cables.collect();
    let text = format!("{:#}\n", json!({ "devices": devices, "interfaces": interfaces, "cables": cables }));
    Ok(vec![Written { path: "netbox.json".to_owned(), text }])
}

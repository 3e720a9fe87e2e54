//! The map of a design as the OCP training fabrics have it: device, interface and role at both ends of each cable.
use railtwin_fabric::cable_list::DeviceRole;
use railtwin_formats::FormatError;

use crate::form::{Form, WriteOptions, Written};
use crate::topology::Topology;

/// The entry; what is written is read as a cable list.
pub(crate) const FORM: Form = Form {
    name: "connectivity-map",
    title: "device, interface and role at both ends (CSV, as the OCP training fabrics have it)",
    is_one: |_| false,
    read: None,
    write: Some(write),
};

/// Writes a row for each cable, in the order of the list; hosts of every kind are servers.
fn write(topology: &Topology, _: &WriteOptions) -> Result<Vec<Written>, FormatError> {
    let list = &topology.list;
    let mut text = String::from("a_device,a_interface,a_role,b_device,b_interface,b_role\n");
    for cable in list.cables() {
        let mut fields = Vec::with_capacity(6);
        for port in cable.ports {
            let port = &list.ports()[port as usize];
            let device = &list.devices()[port.device as usize];
            let role = match device.role {
                Some(role) if role.is_host() => "server",
                Some(DeviceRole::Leaf) => "leaf",
                Some(DeviceRole::Spine) => "spine",
                Some(DeviceRole::Core) => "core",
                _ => "",
            };
            fields.extend([quoted(&device.name), quoted(&port.name), role.to_owned()]);
        }
        text.push_str(&fields.join(","));
        text.push('\n');
    }
    Ok(vec![Written { path: "connectivity-map.csv".to_owned(), text }])
}

/// A field, in quotes where it needs them.
fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

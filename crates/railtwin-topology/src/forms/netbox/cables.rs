//! Cables of NetBox: what their ends are, and how they join.
use serde_json::Value;

use super::read::Reading;
use super::records::{id_of, text_of};
use crate::topology::Topology;
use crate::wiring::{self, End};

/// Most ends of one side of a cable that are believed.
const MOST_ENDS: usize = 4_096;

/// An end of a cable: device, name of the interface and row of its record.
type CableEnd = (u32, String, Option<usize>);

impl Reading {
    /// Enters a cable.
    pub(super) fn cable(&mut self, record: &Value, number: u32) {
        let label = text_of(record, "label").map(str::to_owned);
        let label =
            label.unwrap_or_else(|| format!("cable {}", id_of(record, "id").unwrap_or(u64::from(number))));
        let before = self.other_ends;
        let [a, b] = ["a", "b"].map(|side| self.side(record, side));
        match text_of(record, "status").map(str::to_ascii_lowercase).as_deref() {
            Some("planned") => self.planned += 1,
            Some("decommissioning" | "failed" | "offline") => {
                let names = [&a, &b].map(|side| side.first().map(|end| end_name(&self.topology, end)));
                let [a, b] = names.map(|name| name.unwrap_or_else(|| "nothing".to_owned()));
                self.topology.links_missing += 1;
                let status = text_of(record, "status").unwrap_or_default();
                self.topology.find("link-down", label, format!("is {status}: {a} to {b}"));
                return;
            }
            _ => {}
        }
        match (a.len(), b.len()) {
            (0, _) | (_, 0) => {
                let is_panel = self.other_ends > before;
                if let (Some(end), false) = (a.first().or_else(|| b.first()), is_panel) {
                    let seen = format!("leads from {} to nothing", end_name(&self.topology, end));
                    self.topology.links_missing += 1;
                    self.topology.find("one-sided-link", label, seen);
                } else if !is_panel {
                    self.topology.links_missing += 1;
                    self.topology.find("one-sided-link", label, "has no ends that are named");
                }
            }
            (n, m) if n == m => {
                for (a, b) in a.iter().zip(&b) {
                    self.join(record, &label, [a, b], number);
                }
            }
            (n, m) if n == 1 || m == 1 => {
                self.branches += 1;
                let (one, many) = if n == 1 { (&a[0], &b) } else { (&b[0], &a) };
                for (part, end) in (1..).zip(many) {
                    let (device, name, row) = one;
                    let branch = (*device, format!("{name}/{part}"), *row);
                    self.join(record, &label, if n == 1 { [&branch, end] } else { [end, &branch] }, number);
                }
            }
            (n, m) => {
                let seen = format!("has {n} ends on side A and {m} on side B");
                self.topology.links_missing += 1;
                self.topology.find("count-differs", label, seen);
            }
        }
    }

    /// Ends of one side that are interfaces.
    fn side(&mut self, record: &Value, side: &str) -> Vec<CableEnd> {
        let list = record.get(format!("{side}_terminations"));
        if let Some(list) = list.and_then(Value::as_array) {
            return list.iter().take(MOST_ENDS).filter_map(|end| self.termination(end)).collect();
        }
        let key = |what: &str| format!("termination_{side}{what}");
        // Up to version 3.2, each side has one end.
        let kind = text_of(record, &key("_type"));
        if let Some(end) = record.get(key("")).filter(|end| end.is_object()) {
            return self.end(end, kind).into_iter().collect();
        }
        if let Some(id) = id_of(record, &key("_id")) {
            return self.end_of_id(id, kind).into_iter().collect();
        }
        // Records of the bulk import.
        let key = |what: &str| format!("side_{side}_{what}");
        if let (Some(device), Some(name)) = (text_of(record, &key("device")), text_of(record, &key("name"))) {
            let named = serde_json::json!({ "device": device, "name": name });
            return self.end(&named, text_of(record, &key("type"))).into_iter().collect();
        }
        Vec::new()
    }

    fn termination(&mut self, end: &Value) -> Option<CableEnd> {
        let kind = text_of(end, "object_type").or_else(|| text_of(end, "__typename"));
        match end.get("object").filter(|object| object.is_object()) {
            Some(object) => self.end(object, kind),
            None if end.get("name").is_some() => self.end(end, kind),
            None => self.end_of_id(id_of(end, "object_id").or_else(|| id_of(end, "id"))?, kind),
        }
    }

    /// Whether a type of an end is that of an interface; other ends are counted.
    fn is_interface(&mut self, kind: Option<&str>) -> bool {
        let is_one = kind.is_none_or(|kind| {
            let kind = kind.to_ascii_lowercase();
            kind.ends_with("interface") || kind.ends_with("interfacetype")
        });
        self.other_ends += u32::from(!is_one);
        is_one
    }

    fn end(&mut self, record: &Value, kind: Option<&str>) -> Option<CableEnd> {
        if !self.is_interface(kind) {
            return None;
        }
        let known = id_of(record, "id").and_then(|id| self.by_id.get(&id).copied());
        let name = text_of(record, "name").map(str::to_owned);
        if let (Some(row), name) = (known, name.as_deref()) {
            let interface = &self.interfaces[row];
            if name.is_none_or(|name| name == interface.name) {
                return Some((interface.device, interface.name.clone(), Some(row)));
            }
        }
        let (device, name) = (self.device_of(record)?, name?);
        let row = self.by_name.get(&(device, name.clone())).copied();
        Some((device, name, row))
    }

    fn end_of_id(&mut self, id: u64, kind: Option<&str>) -> Option<CableEnd> {
        if !self.is_interface(kind) {
            return None;
        }
        let row = *self.by_id.get(&id)?;
        let interface = &self.interfaces[row];
        Some((interface.device, interface.name.clone(), Some(row)))
    }

    fn join(&mut self, record: &Value, label: &str, ends: [&CableEnd; 2], number: u32) {
        let down = ends.iter().find(|end| end.2.is_some_and(|row| !self.interfaces[row].is_enabled));
        if let Some(end) = down {
            let seen = format!("{} is not enabled", end_name(&self.topology, end));
            self.topology.links_missing += 1;
            self.topology.find("link-down", label, seen);
            return;
        }
        let length = record.get("length").and_then(wiring::number_text);
        let unit = text_of(record, "length_unit").unwrap_or("m");
        let delay = length.and_then(|length| wiring::length(&length, unit));
        let ends = ends.map(|(device, port, row)| End {
            device: *device,
            port,
            rate: row.and_then(|row| self.interfaces[row].rate),
        });
        wiring::join(&mut self.topology, ends, delay, u64::from(number));
    }

    /// Joins an interface to that at the end of its path, where cables lead through panels.
    pub(super) fn through_panels(&mut self, record: &Value) {
        let ends = record.get("connected_endpoints").or_else(|| record.get("connected_endpoint"));
        let far = match ends {
            Some(Value::Array(list)) => list.first().filter(|_| list.len() == 1),
            other => other.filter(|value| value.is_object()),
        };
        let Some(far) = far.filter(|far| far.get("device").is_some()) else { return };
        let near = id_of(record, "id").and_then(|id| self.by_id.get(&id).copied());
        let Some(near) = near.filter(|&row| self.interfaces[row].is_enabled) else { return };
        let (device, name) = (self.interfaces[near].device, self.interfaces[near].name.clone());
        let is_free = |topology: &Topology, device: u32, name: &str| {
            topology.list.port_named(device, name).is_none_or(|port| topology.list.peer(port).is_none())
        };
        if !is_free(&self.topology, device, &name) {
            return;
        }
        let Some((far_device, far_name, far_row)) = self.end(far, None) else { return };
        let is_enabled = far_row.is_none_or(|row| self.interfaces[row].is_enabled);
        if is_enabled && is_free(&self.topology, far_device, &far_name) {
            let rate = self.interfaces[near].rate;
            let far_rate = far_row.and_then(|row| self.interfaces[row].rate);
            let ends = [
                End { device, port: &name, rate },
                End { device: far_device, port: &far_name, rate: far_rate },
            ];
            wiring::join(&mut self.topology, ends, None, 0);
        }
    }
}

fn end_name(topology: &Topology, end: &CableEnd) -> String {
    format!("{} port {}", topology.list.devices()[end.0 as usize].name, end.1)
}

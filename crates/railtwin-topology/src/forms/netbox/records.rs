//! Records of NetBox's files, whatever they are wrapped in.
use serde_json::Value;

/// Most levels of wrapping.
const MOST_WRAPS: u32 = 4;

/// Records by kind.
#[derive(Default)]
pub(super) struct Records {
    pub devices: Vec<Value>,
    pub interfaces: Vec<Value>,
    pub cables: Vec<Value>,
    /// What pages say of how many records there are, and how many of them the file has.
    pub pages: Vec<(u64, u64)>,
    /// Counts that a file states of its own lists, by kind: stated, found.
    pub stated: Vec<(&'static str, u64, u64)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Device,
    Interface,
    Cable,
}

/// Kind of the records of a list by its name.
fn named(name: &str) -> Option<Kind> {
    Some(match name {
        "devices" | "device_list" | "dcim.device" => Kind::Device,
        "interfaces" | "interface_list" | "dcim.interface" => Kind::Interface,
        "cables" | "cable_list" | "dcim.cable" => Kind::Cable,
        _ => return None,
    })
}

/// Kind of a record by its members.
fn kind_of(record: &Value) -> Option<Kind> {
    let has = |any: &[&str]| any.iter().any(|key| record.get(key).is_some());
    if has(&[
        "a_terminations",
        "b_terminations",
        "termination_a",
        "termination_a_id",
        "side_a_device",
        "side_a_name",
    ]) {
        Some(Kind::Cable)
    } else if has(&["device_type", "device_role"]) {
        Some(Kind::Device)
    } else if has(&["device", "device_name", "device_id"]) && has(&["name"]) {
        Some(Kind::Interface)
    } else {
        None
    }
}

impl Records {
    /// Takes all records of a document; whether there was any list of them.
    pub(super) fn take(&mut self, document: Value) -> bool {
        let before = self.lengths();
        let stated = document.get("metadata").and_then(|metadata| metadata.get("counts")).cloned();
        let found = self.unwrap(document, None, 0);
        if let Some(stated) = stated {
            let after = self.lengths();
            for (row, kind) in ["devices", "interfaces", "cables"].into_iter().enumerate() {
                if let Some(count) = stated.get(kind).and_then(Value::as_u64) {
                    self.stated.push((kind, count, after[row] - before[row]));
                }
            }
        }
        found
    }

    fn lengths(&self) -> [u64; 3] {
        [&self.devices, &self.interfaces, &self.cables].map(|list| list.len() as u64)
    }

    fn unwrap(&mut self, value: Value, kind: Option<Kind>, depth: u32) -> bool {
        match value {
            Value::Array(items) => {
                let mut found = items.is_empty() && kind.is_some();
                for item in items {
                    match kind.or_else(|| kind_of(&item)) {
                        Some(kind) => {
                            self.list(kind).push(item);
                            found = true;
                        }
                        // Pages one after the other.
                        None if depth < MOST_WRAPS => found |= self.unwrap(item, None, depth + 1),
                        None => {}
                    }
                }
                found
            }
            Value::Object(mut members) => {
                if let Some(results) = members.remove("results") {
                    let count = members.get("count").and_then(Value::as_u64);
                    if let (Some(count), Some(items)) = (count, results.as_array()) {
                        self.pages.push((count, items.len() as u64));
                    }
                    return depth < MOST_WRAPS && self.unwrap(results, kind, depth + 1);
                }
                let mut found = false;
                for (name, value) in members {
                    let inner = named(&name);
                    if depth < MOST_WRAPS && (inner.is_some() || name == "data") {
                        found |= self.unwrap(value, inner, depth + 1);
                    }
                }
                found
            }
            _ => false,
        }
    }

    fn list(&mut self, kind: Kind) -> &mut Vec<Value> {
        match kind {
            Kind::Device => &mut self.devices,
            Kind::Interface => &mut self.interfaces,
            Kind::Cable => &mut self.cables,
        }
    }
}

/// A text, or that of a nested record or choice: `{"value": "connected"}`, `{"name": "leaf-1"}`.
pub(super) fn text_of<'a>(record: &'a Value, key: &str) -> Option<&'a str> {
    let value = record.get(key)?;
    let inner = ["value", "slug", "name", "model", "display"];
    let text = value.as_str().or_else(|| inner.iter().find_map(|key| value.get(key)?.as_str()));
    text.map(str::trim).filter(|text| !text.is_empty())
}

/// The name of a nested record, `{"name": "leaf-1"}`, or a text.
pub(super) fn name_of<'a>(record: &'a Value, key: &str) -> Option<&'a str> {
    let value = record.get(key)?;
    let text = value.as_str().or_else(|| value.get("name").and_then(Value::as_str));
    text.or_else(|| value.get("display").and_then(Value::as_str)).filter(|text| !text.is_empty())
}

/// A number of a record or of what is nested in it: an id, or `{"id": 5}`. GraphQL writes ids as texts.
pub(super) fn id_of(record: &Value, key: &str) -> Option<u64> {
    let value = record.get(key)?;
    let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
    number(value).or_else(|| value.get("id").and_then(number))
}

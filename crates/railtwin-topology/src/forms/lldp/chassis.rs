//! What lldpd tells of chassis beside their names: capabilities, identities, descriptions, and which chassis is its own.
use std::collections::BTreeMap;

use serde_json::Value;

/// A chassis that a file tells of.
#[derive(Clone, Debug, Default)]
pub(super) struct Chassis {
    /// Whether it bridges or routes.
    pub is_bridge: bool,
    /// Whether it is a station alone.
    pub is_station: bool,
    /// Its identity, such as a MAC.
    pub id: Option<String>,
    /// Its description of its system.
    pub description: Option<String>,
}

impl Chassis {
    fn capability(&mut self, name: &str, is_on: bool) {
        let name = name.to_ascii_lowercase();
        self.is_bridge |= is_on && (name == "bridge" || name == "router");
        self.is_station |= is_on && name == "station";
    }
}

/// All chassis of a file by name, and the name of its own where it tells that.
#[derive(Debug, Default)]
pub(super) struct AllChassis {
    pub local: Option<String>,
    pub by_name: BTreeMap<String, Chassis>,
}

impl AllChassis {
    /// Of what lldpd prints in any form.
    pub(super) fn of(text: &str) -> Self {
        let mut all = Self::default();
        if text.trim_start().starts_with(['{', '[']) {
            if let Ok(document) = serde_json::from_str::<Value>(text) {
                all.json(&document, false);
            }
        } else if text
            .lines()
            .any(|line| line.trim_start().starts_with("Interface:") || line.starts_with("Local chassis"))
        {
            all.text(text);
        } else {
            all.keys(text);
        }
        all
    }

    /// Looks for `chassis` at any depth.
    fn json(&mut self, value: &Value, is_local: bool) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.json(item, is_local)),
            Value::Object(members) => {
                for (key, inner) in members {
                    match key.as_str() {
                        "chassis" => self.chassis(inner, is_local),
                        _ => self.json(inner, is_local || key == "local-chassis"),
                    }
                }
            }
            _ => {}
        }
    }

    fn chassis(&mut self, value: &Value, is_local: bool) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.chassis(item, is_local)),
            Value::Object(members) => {
                let id = members.get("id").and_then(value_of);
                let name = members.get("name").and_then(value_of);
                // A name as the key of what it names, or beside it.
                match name.or_else(|| id.clone()) {
                    Some(name) => self.enter(name, value, id, is_local),
                    None => {
                        for (name, inner) in members.iter().filter(|(_, inner)| inner.is_object()) {
                            self.enter(name.clone(), inner, inner.get("id").and_then(value_of), is_local);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn enter(&mut self, name: String, inner: &Value, id: Option<String>, is_local: bool) {
        if is_local {
            self.local.get_or_insert_with(|| name.clone());
        }
        let chassis = self.by_name.entry(name).or_default();
        chassis.id = id.or_else(|| chassis.id.take());
        chassis.description = inner.get("descr").and_then(value_of).or_else(|| chassis.description.take());
        let capabilities = inner.get("capability");
        let all = match capabilities {
            Some(Value::Array(items)) => items.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        for one in all {
            let is_on =
                one.get("enabled").is_some_and(|on| on.as_bool() == Some(true) || on.as_str() == Some("on"));
            chassis.capability(one.get("type").and_then(Value::as_str).unwrap_or(""), is_on);
        }
    }

    fn text(&mut self, text: &str) {
        let (mut current, mut is_local) = (String::new(), false);
        let mut id: Option<String> = None;
        for line in text.lines() {
            if line.starts_with("Local chassis") || line.starts_with("Interface:") {
                (current, id, is_local) = (String::new(), None, line.starts_with("Local"));
                continue;
            }
            let Some((key, value)) = line.trim().split_once(':') else { continue };
            let value = value.trim();
            match key {
                "ChassisID" => {
                    let own = value.rsplit(' ').next().unwrap_or(value).to_owned();
                    current.clone_from(&own);
                    id = Some(own);
                }
                "SysName" if !value.is_empty() => {
                    current = value.to_owned();
                    let chassis = self.by_name.entry(current.clone()).or_default();
                    chassis.id = id.clone().or_else(|| chassis.id.take());
                    if is_local {
                        self.local.get_or_insert_with(|| current.clone());
                    }
                }
                "SysDescr" if !current.is_empty() => {
                    self.by_name.entry(current.clone()).or_default().description = Some(value.to_owned());
                }
                "Capability" if !current.is_empty() => {
                    let (name, state) = value.split_once(',').unwrap_or((value, ""));
                    self.by_name
                        .entry(current.clone())
                        .or_default()
                        .capability(name.trim(), state.trim() == "on");
                }
                _ => {}
            }
        }
    }

    fn keys(&mut self, text: &str) {
        let mut current: BTreeMap<&str, String> = BTreeMap::new();
        for line in text.lines() {
            let Some((key, value)) = line.trim().split_once('=') else { continue };
            let Some((port, member)) = key.split_once(".chassis.") else { continue };
            let value = value.trim();
            match member {
                "mac" | "local" | "ifname" => {
                    current.insert(port, value.to_owned());
                }
                "name" if !value.is_empty() => {
                    let id = current.insert(port, value.to_owned());
                    let chassis = self.by_name.entry(value.to_owned()).or_default();
                    chassis.id = id.or_else(|| chassis.id.take());
                    if port.ends_with("local-chassis") {
                        self.local.get_or_insert_with(|| value.to_owned());
                    }
                }
                _ => {
                    let Some(name) = current.get(port) else { continue };
                    if let Some(capability) = member.strip_suffix(".enabled") {
                        self.by_name.entry(name.clone()).or_default().capability(capability, value == "on");
                    } else if member == "descr" {
                        self.by_name.entry(name.clone()).or_default().description = Some(value.to_owned());
                    }
                }
            }
        }
    }
}

/// A text, or the `value` of an object, or that of the first of a list.
fn value_of(value: &Value) -> Option<String> {
    let one = value.as_array().map_or(Some(value), |items| items.first())?;
    let text = one.as_str().or_else(|| one.get("value")?.as_str())?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

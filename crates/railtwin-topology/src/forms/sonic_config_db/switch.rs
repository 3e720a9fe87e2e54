//! The tables of one switch.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_formats::FormatError;
use railtwin_units::{Rate, SimTime};
use serde_json::{Map, Value};

use super::FORMAT;
use crate::form::SourceFile;
use crate::wiring;

/// Tables that a database of a switch has at least one of.
const TABLES: [&str; 4] = ["DEVICE_METADATA", "DEVICE_NEIGHBOR", "PORT", "DEVICE_NEIGHBOR_METADATA"];

/// A port of a switch.
#[derive(Clone, Debug, Default)]
pub(super) struct SwitchPort {
    pub rate: Option<Rate>,
    pub delay: Option<SimTime>,
    pub is_down: bool,
    /// Whether it leads within the switch, from chip to chip.
    pub is_inner: bool,
}

/// A neighbor as a switch tells it.
#[derive(Clone, Debug)]
pub(super) struct Neighbor {
    /// Port of the switch.
    pub port: String,
    /// Name of the device at its other end.
    pub device: String,
    /// Name of the port there; none where it is not told.
    pub far_port: Option<String>,
}

/// A switch.
#[derive(Debug, Default)]
pub(super) struct Switch {
    pub name: String,
    /// Its chip, where it has several and the file is of one.
    pub chip: Option<String>,
    pub kind: Option<String>,
    pub model: Option<String>,
    pub mac: Option<String>,
    pub ports: BTreeMap<String, SwitchPort>,
    /// SONiC's names by alias.
    pub aliases: BTreeMap<String, String>,
    pub neighbors: Vec<Neighbor>,
    /// Neighbors that are told without a port.
    pub portless: Vec<String>,
    /// Types of neighbors by name.
    pub kinds: BTreeMap<String, (Option<String>, Option<String>)>,
    /// Ports in bonds.
    pub bonded: BTreeSet<String>,
    /// Ports of hosts: those in a VLAN, by themselves or by their bond.
    pub access: BTreeSet<String>,
    pub mux_cables: u32,
}

impl Switch {
    /// The switch of a source; none where the source is another file that stands beside databases.
    pub(super) fn of(source: &SourceFile<'_>) -> Result<Option<Self>, FormatError> {
        let document = wiring::json(FORMAT, source)?;
        let Some(tables) = tables(&document) else { return Ok(None) };
        let mut switch = Self::default();
        let rows = |table: &str| tables.get(table).and_then(Value::as_object).into_iter().flatten();
        let host = rows("DEVICE_METADATA").find(|(key, _)| *key == "localhost").map(|(_, row)| row);
        let text = |key: &str| host.and_then(|row| field(row, key)).map(str::to_owned);
        let name = text("hostname");
        switch.name = name.unwrap_or_else(|| place_name(source));
        (switch.kind, switch.model, switch.mac) = (text("type"), text("hwsku"), text("mac"));
        switch.chip = text("asic_name");
        for (name, row) in rows("PORT") {
            switch.port(name, row);
        }
        switch.lengths(tables);
        for (key, _) in rows("PORTCHANNEL_MEMBER") {
            switch.bonded.extend(key.split_once('|').map(|(_, port)| port.to_owned()));
        }
        switch.access(tables);
        for (key, row) in rows("DEVICE_NEIGHBOR") {
            switch.neighbor(key, row);
        }
        for (name, row) in rows("DEVICE_NEIGHBOR_METADATA") {
            let text = |key: &str| field(row, key).map(str::to_owned);
            switch.kinds.insert(name.clone(), (text("type"), text("hwsku")));
        }
        switch.mux_cables = rows("MUX_CABLE").count() as u32;
        Ok(Some(switch))
    }

    fn port(&mut self, name: &str, row: &Value) {
        let inner = ["Int", "Inb", "Rec", "Dpc"];
        let port = SwitchPort {
            rate: row.get("speed").and_then(wiring::number_text).and_then(|speed| wiring::rate(&speed)),
            delay: None,
            is_down: field(row, "admin_status") == Some("down"),
            is_inner: field(row, "role").is_some_and(|role| inner.contains(&role)) || name.contains("-BP"),
        };
        self.ports.insert(name.to_owned(), port);
        if let Some(alias) = field(row, "alias") {
            self.aliases.entry(alias.to_owned()).or_insert_with(|| name.to_owned());
        }
    }

    fn lengths(&mut self, tables: &Map<String, Value>) {
        let maps = tables.get("CABLE_LENGTH").and_then(Value::as_object).into_iter().flatten();
        for (name, text) in maps.filter_map(|(_, map)| map.as_object()).flatten() {
            let metres = text.as_str().and_then(|text| text.trim().strip_suffix('m'));
            // Without a cable a table has 0m.
            let delay =
                metres.and_then(|metres| wiring::length(metres, "m")).filter(|&delay| delay > SimTime::ZERO);
            if let (Some(port), Some(delay)) = (self.ports.get_mut(name), delay) {
                port.delay = Some(delay);
            }
        }
    }

    fn access(&mut self, tables: &Map<String, Value>) {
        let rows = |table: &str| tables.get(table).and_then(Value::as_object).into_iter().flatten();
        let members: BTreeSet<&str> =
            rows("VLAN_MEMBER").filter_map(|(key, _)| Some(key.split_once('|')?.1)).collect();
        let bonds = rows("PORTCHANNEL_MEMBER").filter_map(|(key, _)| key.split_once('|'));
        let of_bonds = bonds.filter(|(bond, _)| members.contains(bond)).map(|(_, port)| port);
        self.access = of_bonds.chain(members.iter().copied()).map(str::to_owned).collect();
    }

    fn neighbor(&mut self, key: &str, row: &Value) {
        let local = field(row, "local_port").map(str::to_owned);
        let is_port = |name: &str| self.ports.contains_key(name) || name.starts_with("Ethernet");
        let local = local.or_else(|| is_port(key).then(|| key.to_owned()));
        let local = local.map(|name| self.aliases.get(&name).cloned().unwrap_or(name));
        // Where the key is no port, it is the name of the neighbor.
        let device = field(row, "name").or_else(|| (!is_port(key)).then_some(key));
        let (Some(port), Some(device)) = (local, device.filter(|name| !name.is_empty())) else {
            self.portless.push(field(row, "name").unwrap_or(key).to_owned());
            return;
        };
        // Ports between chips of a switch lead to its other chips.
        if port.contains("-BP") || self.ports.get(&port).is_some_and(|port| port.is_inner) {
            return;
        }
        let far_port = field(row, "port").map(str::to_owned);
        self.neighbors.push(Neighbor { port, device: device.to_owned(), far_port });
    }

    /// Takes what the database of another chip of the switch has.
    pub(super) fn take(&mut self, other: Self) {
        self.ports.extend(other.ports);
        self.aliases.extend(other.aliases);
        self.neighbors.extend(other.neighbors);
        self.portless.extend(other.portless);
        self.kinds.extend(other.kinds);
        self.bonded.extend(other.bonded);
        self.access.extend(other.access);
        self.mux_cables += other.mux_cables;
    }

    /// SONiC's name of a port that another switch names.
    pub(super) fn own_name<'a>(&'a self, port: &'a str) -> &'a str {
        match self.ports.contains_key(port) {
            true => port,
            false => self.aliases.get(port).map_or(port, String::as_str),
        }
    }
}

/// The tables of a document, which may be wrapped in one object, as tests of YANG models have them.
fn tables(document: &Value) -> Option<&Map<String, Value>> {
    let has_tables = |members: &Map<String, Value>| TABLES.iter().any(|table| members.contains_key(*table));
    let members = document.as_object()?;
    if has_tables(members) {
        return Some(members);
    }
    members.values().filter_map(Value::as_object).find(|members| has_tables(members))
}

fn field<'a>(row: &'a Value, key: &str) -> Option<&'a str> {
    row.get(key)?.as_str().map(str::trim).filter(|text| !text.is_empty())
}

/// Name of a switch by where its file is: the folder of a `config_db.json`, else the stem of the file.
pub(super) fn place_name(source: &SourceFile<'_>) -> String {
    let stem = source.stem();
    let folder = source.name.rsplit(['/', '\\']).nth(1).filter(|folder| !folder.is_empty() && *folder != ".");
    match folder {
        Some(folder) if stem.starts_with("config_db") => folder.to_owned(),
        _ => stem.to_owned(),
    }
}

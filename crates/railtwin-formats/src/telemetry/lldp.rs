//! Neighbors of ports, as `lldpcli show neighbors` of lldpd tells them: its text, both forms of JSON, and `-f keyvalue`.
//!
//! `json` has an object in place of a list of one, and a name as the key of what it names; `json0` has lists and names
//! everywhere. Hosts and switches that run lldpd tell them alike.
use std::collections::BTreeMap;

use railtwin_records::NeighborInfo;

use super::json::{Node, Place, parse};
use super::names::file_name;
use super::skipped::Skipped;
use super::tree::Tree;
use super::{Hints, input};
use crate::error::FormatError;

/// Name of this format in errors.
const FORMAT: &str = "LLDP neighbors";
/// What is accepted.
const ACCEPTED: &str = "give what `lldpcli show neighbors`, with `-f json` at best, prints on a host";
/// Words of file and folder names that say what a file is, and not of whom.
const WORDS: [&str; 13] = [
    "lldp",
    "lldpcli",
    "lldpctl",
    "lldpd",
    "neighbors",
    "neighbours",
    "show",
    "json",
    "json0",
    "keyvalue",
    "txt",
    "log",
    "out",
];

/// Neighbors of the ports of one device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LldpNeighbors {
    /// Which port hears which.
    pub neighbors: Vec<NeighborInfo>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// What is wrong in it.
    pub skipped: Skipped,
}

/// Whether JSON text is of lldpd.
pub(super) fn is_json(text: &str) -> bool {
    text.contains("\"lldp\"") && (text.contains("\"interface\"") || text.contains("\"lldp\": {}"))
}

/// Whether lines are of lldpd.
pub(super) fn is_keyvalue(text: &str) -> bool {
    let is_it = |line: &str| line.starts_with("lldp.") && line.contains(".chassis.") && line.contains('=');
    text.lines().any(is_it)
}

/// Whether lines are the text that lldpd prints for people.
pub(super) fn is_text(text: &str) -> bool {
    text.lines().any(|line| interface_of(line).is_some())
}

/// The port of a line that begins a neighbor: `Interface:    eth0, via: LLDP, RID: 1, Time: 0 day, 00:01:00`.
fn interface_of(line: &str) -> Option<&str> {
    let (port, rest) = line.strip_prefix("Interface:")?.split_once(", via:")?;
    rest.contains("RID:").then_some(port.trim()).filter(|port| !port.is_empty())
}

/// The device that a file is of: what the caller knows, else what the name of the file says, else that of its folder.
fn device_of(source_name: &str, hints: &Hints) -> Option<String> {
    let word = |name: &str| {
        let mut kept: Vec<&str> = Vec::new();
        let stem = name.split_once(".json").map_or(name, |(stem, _)| stem);
        let stem = [".txt", ".log", ".out", ".gz"]
            .iter()
            .fold(stem, |stem, end| stem.strip_suffix(end).unwrap_or(stem));
        kept.extend(stem.split('_').filter(|part| !WORDS.contains(&part.to_ascii_lowercase().as_str())));
        let name = kept.join("_");
        let name = name.strip_prefix("lldp-").or_else(|| name.strip_suffix("-lldp")).unwrap_or(&name);
        (!name.is_empty()).then(|| name.to_owned())
    };
    let folder = source_name.rsplit(['/', '\\']).nth(1);
    hints.host.clone().or_else(|| word(file_name(source_name))).or_else(|| folder.and_then(word))
}

/// Reads what lldpd prints; the device is that of the hints, or what file and folder are called.
///
/// # Errors
/// What is neither of its forms, and a file of which nothing tells the device. A neighbor without a name or an identity is
/// skipped.
pub fn parse_lldp(source_name: &str, bytes: &[u8], hints: &Hints) -> Result<LldpNeighbors, FormatError> {
    let text = input::lossy(FORMAT, source_name, bytes)?;
    let Some(device) = device_of(source_name, hints) else {
        let remedy = "name the file after the host, such as node017_lldp.json";
        return Err(FormatError::new(FORMAT, source_name, "is of no host that its name tells", remedy));
    };
    let mut told = LldpNeighbors::default();
    if text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']) {
        let value = parse(FORMAT, source_name, &text)?;
        let root = Node::root(Place { format: FORMAT, source: source_name, line: None }, &value);
        read_json(&root, &device, &mut told)?;
    } else if is_text(&text) {
        read_text(source_name, &text, &device, &mut told);
    } else {
        read_keyvalue(source_name, &text, &device, &mut told);
    }
    if let (true, Some(error)) = (told.neighbors.is_empty(), told.skipped.all()) {
        return Err(error);
    }
    if told.neighbors.is_empty() {
        told.notes.push(format!("no port of {device} hears a neighbor"));
    }
    Ok(told)
}

/// The one, or the first of a list.
fn first<'a>(node: &Node<'a>) -> Option<Node<'a>> {
    match node.value() {
        Tree::List(_) => node.items().ok()?.into_iter().next(),
        _ => Some(node.clone()),
    }
}

/// A text, or the `value` of an object, or that of the first of a list.
fn value_of(node: &Node<'_>) -> Option<String> {
    let one = first(node)?;
    let of = if one.value().is_dict() { one.get("value")? } else { one };
    of.text_or_number().ok().filter(|text| !text.trim().is_empty())
}

fn read_json(root: &Node<'_>, device: &str, told: &mut LldpNeighbors) -> Result<(), FormatError> {
    let Some(lldp) = first(&root.need("lldp")?) else { return Ok(()) };
    let Some(ports) = lldp.get("interface") else { return Ok(()) };
    let items = if ports.value().is_list() { ports.items()? } else { vec![ports] };
    for item in items {
        // A name as the key of what it names, or beside it.
        let named = item.get("name").filter(|_| item.get("chassis").is_some() || item.get("port").is_some());
        let all: Vec<(String, Node<'_>)> = match named {
            Some(name) => match value_of(&name) {
                Some(name) => vec![(name, item)],
                None => {
                    told.skipped.take(name.error("names no port", ACCEPTED));
                    continue;
                }
            },
            None => match item.members() {
                Ok(members) => members.into_iter().map(|(name, node)| (name.to_owned(), node)).collect(),
                Err(error) => {
                    told.skipped.take(error);
                    continue;
                }
            },
        };
        for (name, node) in all {
            match neighbor_of(&node) {
                Ok((neighbor, neighbor_port)) if input::is_whole(&name) => {
                    told.neighbors.push(NeighborInfo {
                        port: format!("{device}/{name}"),
                        neighbor,
                        neighbor_port,
                    });
                }
                Ok(_) => told.skipped.take(node.error("is of a port whose name is not UTF-8 text", ACCEPTED)),
                Err(error) => told.skipped.take(error),
            }
        }
    }
    Ok(())
}

/// Device and port at the far end.
fn neighbor_of(node: &Node<'_>) -> Result<(String, String), FormatError> {
    let chassis = node.need("chassis")?;
    let chassis = first(&chassis).ok_or_else(|| chassis.error("is empty", ACCEPTED))?;
    let id = chassis.get("id").as_ref().and_then(value_of);
    let by_key = || {
        let (name, inner) = chassis.members().ok()?.into_iter().next()?;
        (inner.value().is_dict() && input::is_whole(name)).then(|| name.to_owned())
    };
    let name = match chassis.get("name").as_ref().and_then(value_of) {
        Some(name) => Some(name),
        // Without a name its members stand where the name would.
        None if id.is_some() => id,
        None => by_key(),
    };
    let name = name.ok_or_else(|| chassis.error("has neither a name nor an identity", ACCEPTED))?;
    let port = node.need("port")?;
    let port = first(&port).ok_or_else(|| port.error("is empty", ACCEPTED))?;
    let id = port.get("id");
    let kind = id.as_ref().and_then(first).and_then(|id| id.get("type")).and_then(|kind| kind.text().ok());
    let (id, descr) = (id.as_ref().and_then(value_of), port.get("descr").as_ref().and_then(value_of));
    Ok((name, port_name(kind, id, descr)))
}

/// What a port is called: its identity, where that is a name; else its description, if it has one.
fn port_name(kind: Option<&str>, id: Option<String>, descr: Option<String>) -> String {
    match kind {
        Some("mac" | "local") => descr.or(id).unwrap_or_default(),
        _ => id.or(descr).unwrap_or_default(),
    }
}

/// What lldpd prints for people: a block for each neighbor, each member on a line behind its name. Texts that a neighbor tells
/// of itself may go on on the next line.
fn read_text(source_name: &str, text: &str, device: &str, told: &mut LldpNeighbors) {
    let mut blocks: Vec<(&str, u64, BTreeMap<&str, &str>)> = Vec::new();
    for (line, number) in text.lines().zip(1_u64..) {
        if let Some(port) = interface_of(line) {
            blocks.push((port, number, BTreeMap::new()));
        } else if let (Some((_, _, members)), Some((name, value))) =
            (blocks.last_mut(), line.trim().split_once(':'))
            && ["ChassisID", "SysName", "PortID", "PortDescr"].contains(&name)
        {
            members.entry(name).or_insert(value.trim());
        }
    }
    for (port, number, members) in blocks {
        let get = |name: &str| members.get(name).filter(|value| !value.is_empty()).copied();
        // `mac 00:11:22:33:44:55`, `ifname Ethernet0`.
        let id = |name: &str| get(name).map(|value| value.split_once(' ').unwrap_or(("", value)));
        let neighbor = get("SysName").or(id("ChassisID").map(|(_, value)| value.trim()));
        let is_whole = members.values().all(|value| input::is_whole(value)) && input::is_whole(port);
        match neighbor.filter(|_| is_whole) {
            Some(neighbor) => {
                let (kind, id) =
                    id("PortID").map_or((None, None), |(kind, id)| (Some(kind), Some(id.trim().to_owned())));
                told.neighbors.push(NeighborInfo {
                    port: format!("{device}/{port}"),
                    neighbor: neighbor.to_owned(),
                    neighbor_port: port_name(kind, id, get("PortDescr").map(str::to_owned)),
                });
            }
            None => {
                let error =
                    FormatError::new(FORMAT, source_name, "hears a neighbor without a name", ACCEPTED);
                told.skipped.take(error.at_line(number).found(port));
            }
        }
    }
}

/// `lldp.eth0.chassis.name=leaf-3`, one a line. A port may hear several, one after the other.
fn read_keyvalue(source_name: &str, text: &str, device: &str, told: &mut LldpNeighbors) {
    let mut of: BTreeMap<(usize, &str), BTreeMap<&str, &str>> = BTreeMap::new();
    let mut turn: BTreeMap<&str, usize> = BTreeMap::new();
    for (line, number) in text.lines().zip(1_u64..) {
        let Some((key, value)) = line.trim().strip_prefix("lldp.").and_then(|rest| rest.split_once('='))
        else {
            if !line.trim().is_empty() {
                let accepted = "write lldp.eth0.chassis.name=leaf-3";
                let error = FormatError::new(FORMAT, source_name, "is no line of lldpctl", accepted);
                told.skipped.take(error.at_line(number).found(line));
            }
            continue;
        };
        // Names of ports have dots in them, such as those of VLANs.
        let at = [".chassis.", ".port."].iter().filter_map(|word| key.find(word)).min();
        let (port, member) = match (at, key.rsplit_once('.')) {
            (Some(at), _) => (&key[..at], &key[at + 1..]),
            (None, Some(split)) => split,
            (None, None) => continue,
        };
        let turn = turn.entry(port).or_default();
        *turn += usize::from(member == "via");
        of.entry((*turn, port)).or_default().insert(member, value.trim());
    }
    for ((_, port), members) in of {
        let get = |key: &str| members.get(key).filter(|text| !text.is_empty()).map(|&text| text.to_owned());
        let is_whole = members.values().all(|text| input::is_whole(text)) && input::is_whole(port);
        let mac = get("chassis.mac").or_else(|| get("chassis.local"));
        let kinds = ["ifname", "ifalias", "local", "mac"].into_iter();
        let id = kinds.filter_map(|kind| Some((kind, get(&format!("port.{kind}"))?))).next();
        let (kind, id) = id.map_or((None, None), |(kind, id)| (Some(kind), Some(id)));
        match get("chassis.name").or(mac) {
            Some(neighbor) if is_whole && !port.is_empty() => told.neighbors.push(NeighborInfo {
                port: format!("{device}/{port}"),
                neighbor,
                neighbor_port: port_name(kind, id, get("port.descr")),
            }),
            _ if members.keys().any(|key| key.starts_with("chassis.") || key.starts_with("port.")) => {
                let error =
                    FormatError::new(FORMAT, source_name, "hears a neighbor without a name", ACCEPTED);
                told.skipped.take(error.found(port));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Format, detect_format};
    use super::*;

    fn read(name: &str, text: &str) -> Vec<[String; 3]> {
        let told = parse_lldp(name, text.as_bytes(), &Hints::default()).expect(text);
        let all = told.neighbors.into_iter();
        all.map(|info| [info.port, info.neighbor, info.neighbor_port]).collect()
    }

    #[test]
    fn both_forms_of_json_and_keys_say_the_same() {
        let json = r#"{"lldp": {"interface": [{"eth0": {"via": "LLDP", "chassis": {"leaf-3": {"id": {"type": "mac", "value":
            "aa:bb"}}}, "port": {"id": {"type": "ifname", "value": "swp7"}}}}, {"eth1.5": {"chassis": {"id": {"type": "mac",
            "value": "cc:dd"}}, "port": {"id": {"type": "mac", "value": "ee:ff"}, "descr": "Ethernet8"}}}]}}"#;
        let one = r#"{"lldp": {"interface": {"eth0": {"chassis": {"leaf-3": {"id": {"type": "mac", "value": "aa:bb"}}},
            "port": {"id": {"type": "ifname", "value": "swp7"}}}}}}"#;
        let json0 = r#"{"lldp": [{"interface": [{"name": "eth0", "via": "LLDP", "chassis": [{"id": [{"type": "mac", "value":
            "aa:bb"}], "name": [{"value": "leaf-3"}]}], "port": [{"id": [{"type": "ifname", "value": "swp7"}]}]},
            {"name": "eth1.5", "chassis": [{"id": [{"type": "mac", "value": "cc:dd"}]}], "port": [{"id": [{"type": "mac",
            "value": "ee:ff"}], "descr": [{"value": "Ethernet8"}]}]}]}]}"#;
        let keys = "lldp.eth0.via=LLDP\nlldp.eth0.chassis.mac=aa:bb\nlldp.eth0.chassis.name=leaf-3\nlldp.eth0.port.ifname=swp7\n\
                    lldp.eth1.5.via=LLDP\nlldp.eth1.5.chassis.mac=cc:dd\nlldp.eth1.5.port.mac=ee:ff\n\
                    lldp.eth1.5.port.descr=Ethernet8\n";
        let wanted = [["n1/eth0", "leaf-3", "swp7"], ["n1/eth1.5", "cc:dd", "Ethernet8"]];
        let wanted: Vec<[String; 3]> = wanted.iter().map(|row| row.map(str::to_owned)).collect();
        let people = "-----\nLLDP neighbors:\n-----\nInterface:    eth0, via: LLDP, RID: 1, Time: 0 day, 00:01:00\n  Chassis:     \n    \
                      ChassisID:    mac aa:bb\n    SysName:      leaf-3\n    SysDescr:     SONiC\nLinux version 5.10: of a switch\n  \
                      Port:        \n    PortID:       ifname swp7\n    PortDescr:    Eth7\n    TTL:          120\n-----\n\
                      Interface:    eth1.5, via: LLDP, RID: 2, Time: 3 days, 00:01:00\n  Chassis:     \n    ChassisID:    mac cc:dd\n  \
                      Port:        \n    PortID:       mac ee:ff\n    PortDescr:    Ethernet8\n";
        assert_eq!(detect_format(people.as_bytes()), Some(Format::Lldp));
        for (name, text) in
            [("n1.json", json), ("n1_lldp.json", json0), ("logs/n1/lldp.txt", keys), ("n1_lldp.txt", people)]
        {
            assert_eq!(read(name, text), wanted, "{name}");
        }
        assert_eq!(read("a/lldp-n1.json", one), wanted[..1]);
    }

    #[test]
    fn a_port_that_hears_two_has_both_and_what_is_broken_is_skipped() {
        let twice = r#"{"lldp": {"interface": [{"eth0": {"chassis": {"a": {}}, "port": {"id": {"value": "1"}}}},
            {"eth0": {"chassis": {"b": {}}, "port": {"id": {"value": "2"}}}}, {"eth1": {"port": {}}}, 7]}}"#;
        let told = parse_lldp("n1.json", twice.as_bytes(), &Hints::default()).expect("two");
        assert_eq!((told.neighbors.len(), told.skipped.count()), (2, 2));
        assert!(told.skipped.first().next().expect("first").contains("has no `chassis`"));
        let none = parse_lldp("n1.json", br#"{"lldp": {"interface": {}}}"#, &Hints::default()).expect("none");
        assert_eq!(none.notes, ["no port of n1 hears a neighbor"]);
        let people = "Interface:    eth0, via: LLDP, RID: 1, Time: 0 day\n    SysName:      a\n    PortID:       ifname 1\n\
                      Interface:    eth0, via: LLDP, RID: 2, Time: 0 day\n    SysName:      b\n    PortID:       ifname 2\n\
                      Interface:    eth1, via: LLDP, RID: 3, Time: 0 day\n    PortID:       ifname 3\n";
        let told = parse_lldp("n1.txt", people.as_bytes(), &Hints::default()).expect("two");
        assert_eq!((told.neighbors.len(), told.skipped.count()), (2, 1));
        assert!(told.skipped.first().next().expect("first").contains("line 7"));
        let nameless = parse_lldp("lldp.json", twice.as_bytes(), &Hints::default()).expect_err("no host");
        assert!(nameless.to_string().contains("name the file after the host"), "{nameless}");
    }
}

//! A design in TOML.
//!
//! ```toml
//! [blueprint]
//! name = "two leaves"
//! [leaf]
//! leaf = { fabric = "backend", count = 2, ports = "1-32 as 2x400", uplink = "33-64 as 1x800" }
//! [spine]
//! spine = { fabric = "backend", count = 1, downlink = "1-64 as 1x800" }
//! [server]
//! compute = { count = 16, links = ["be{0-7}-port0 to leaf by rail"] }
//! ```
use std::collections::BTreeMap;

use railtwin_fabric::cable_list::DeviceRole;

use super::model::{Blueprint, Homing, Link, PortSpread, PortZone, ServerClass, SwitchClass, ZoneUse};
use crate::error::{CablingError, Refused};
use crate::fields::{Entry, Fields, Item};
use crate::text;

/// Most switches, or servers, of a class.
const COUNT_MAX: u32 = 1 << 20;

/// A peer zone whose target is not resolved yet.
struct PendingPeer {
    class: usize,
    zone: usize,
    to: String,
    field: String,
    line: u64,
}

/// Settings at the head of a design, which hold for all classes.
struct Defaults {
    optic: Option<String>,
    switch: Option<String>,
}

pub(super) fn blueprint(source_name: &str, text: &str) -> Result<Blueprint, CablingError> {
    let mut root = Fields::parse(source_name, text)?;
    let mut head = root.table("blueprint")?;
    let mut blueprint = Blueprint {
        name: head.needed("name")?,
        parts: head.text("parts")?,
        switches: Vec::new(),
        servers: Vec::new(),
        port_name: head.text("port")?.unwrap_or_else(|| "E1/{}".to_owned()),
        digits: [
            head.whole("server_digits", 1, 9)?.unwrap_or(3) as usize,
            head.whole("switch_digits", 1, 9)?.unwrap_or(2) as usize,
        ],
        source_name: source_name.to_owned(),
    };
    let defaults = Defaults { optic: head.text("optic")?, switch: head.text("switch")? };
    if !blueprint.port_name.contains("{}") {
        let refused = Refused::new("has no place for the number", "write a name with {}, such as E1/{}");
        return Err(head.error("port", head.line, refused));
    }
    head.finish()?;
    let mut peers = Vec::new();
    for (key, role) in [("leaf", DeviceRole::Leaf), ("spine", DeviceRole::Spine), ("core", DeviceRole::Core)]
    {
        let mut table = root.table(key)?;
        for class in classes(&mut table)? {
            switch_class(&mut blueprint, class, role, &defaults, &mut peers)?;
        }
    }
    resolve_peers(&mut blueprint, peers)?;
    let mut table = root.table("server")?;
    for class in classes(&mut table)? {
        let class = server_class(&blueprint, class, &defaults)?;
        blueprint.servers.push(class);
    }
    root.finish()?;
    check_names(&blueprint)?;
    Ok(blueprint)
}

/// Tables of classes, keys with braces copied.
fn classes<'a>(table: &mut Fields<'a>) -> Result<Vec<Fields<'a>>, CablingError> {
    let mut classes = Vec::new();
    for entry in table.rest() {
        let (key, line) = (entry.key.clone(), entry.line);
        for copy in entry.copies().map_err(|refused| table.error(&key, line, refused))? {
            classes.push(table.inner(copy)?);
        }
    }
    Ok(classes)
}

/// Name of a class from the path of its table.
fn name_of(class: &Fields<'_>) -> String {
    class.path.split_once('.').map_or(class.path.as_str(), |(_, name)| name).to_owned()
}

fn switch_class(
    blueprint: &mut Blueprint,
    mut class: Fields<'_>,
    role: DeviceRole,
    defaults: &Defaults,
    peers: &mut Vec<PendingPeer>,
) -> Result<(), CablingError> {
    let name = name_of(&class);
    let fabric = class.text("fabric")?.unwrap_or_else(|| name.clone());
    let count = class.whole("count", 1, COUNT_MAX)?.unwrap_or(1);
    let part = class.text("part")?.or_else(|| defaults.switch.clone());
    let mesh_links = class.whole("mesh_links", 1, 65_536)?;
    let mut zones = Vec::new();
    for (key, use_) in [
        ("ports", ZoneUse::Attach),
        ("uplink", ZoneUse::Up),
        ("downlink", ZoneUse::Down),
        ("mesh", ZoneUse::Mesh(mesh_links)),
    ] {
        let Some(entry) = class.take(key) else { continue };
        zones_of(&class, key, entry, use_, defaults, &mut zones)?;
    }
    if let Some(entry) = class.take("peer") {
        let mut peer = class.inner(entry)?;
        let ports = peer.take("ports").unwrap_or_else(|| Entry {
            key: String::new(),
            line: peer.line,
            item: Item::Text(String::new()),
        });
        let to = peer.needed("to")?;
        let (field, line) = (format!("{}.to", peer.path), peer.line);
        let spread = match peer.text("spread")? {
            None => PortSpread::Alternate,
            Some(word) => PortSpread::named(&word).ok_or_else(|| {
                let refused = Refused::new(format!("`{word}` is none"), one_of(&PortSpread::NAMES));
                peer.error("spread", peer.line, refused)
            })?,
        };
        let pending = ZoneUse::Peer { class: u32::MAX, zone: 0, spread };
        peers.push(PendingPeer { class: blueprint.switches.len(), zone: zones.len(), to, field, line });
        zones_of(&peer, "ports", ports, pending, defaults, &mut zones)?;
        peer.finish()?;
    }
    let line = class.line;
    class.finish()?;
    blueprint.switches.push(SwitchClass { name, role, fabric, count, part, zones, line });
    Ok(())
}

fn one_of(names: &[&str]) -> String {
    format!("write one of {}", names.join(", "))
}

/// Zones of a key: a text is one zone, a table has several by name.
fn zones_of(
    class: &Fields<'_>,
    key: &str,
    entry: Entry,
    use_: ZoneUse,
    defaults: &Defaults,
    zones: &mut Vec<PortZone>,
) -> Result<(), CablingError> {
    let named = match entry.item {
        Item::Table(entries) => entries,
        item => vec![Entry { key: key.to_owned(), line: entry.line, item }],
    };
    for one in named {
        let field = if one.key == key { key.to_owned() } else { format!("{key}.{}", one.key) };
        let Item::Text(text) = &one.item else {
            let accepted = "write ports and breakout such as 1-32 as 2x400";
            return Err(class.error(&field, one.line, Refused::new("is no text", accepted)));
        };
        let zone = text::zone(text).map_err(|refused| class.error(&field, one.line, refused))?;
        let optic = zone.optic.or_else(|| defaults.optic.clone());
        let (ports, lanes, rate) = (zone.ports, zone.lanes, zone.rate);
        zones.push(PortZone { name: one.key, use_, ports, lanes, rate, optic });
    }
    Ok(())
}

fn resolve_peers(blueprint: &mut Blueprint, peers: Vec<PendingPeer>) -> Result<(), CablingError> {
    for pending in peers {
        let (name, zone) = match pending.to.split_once('.') {
            Some((name, zone)) => (name, Some(zone)),
            None => (pending.to.as_str(), None),
        };
        let found = find_zone(blueprint, name, zone)
            .map_err(|refused| blueprint.error(pending.field.clone(), pending.line, refused))?;
        let use_ = &mut blueprint.switches[pending.class].zones[pending.zone].use_;
        if let ZoneUse::Peer { class, zone, .. } = use_ {
            (*class, *zone) = found;
        }
    }
    Ok(())
}

/// Rows of the class and the zone that a link or a peer names; a class with one zone for links needs no name of it.
fn find_zone(blueprint: &Blueprint, class: &str, zone: Option<&str>) -> Result<(u32, u32), Refused> {
    let row = blueprint.switches.iter().position(|one| one.name == class).ok_or_else(|| {
        let names: Vec<&str> = blueprint.switches.iter().map(|one| one.name.as_str()).collect();
        Refused::new(
            format!("`{class}` is no class of switches"),
            format!("the classes are {}", names.join(", ")),
        )
    })?;
    let zones = &blueprint.switches[row].zones;
    let attach: Vec<usize> = (0..zones.len()).filter(|&at| zones[at].use_ == ZoneUse::Attach).collect();
    let found = match zone {
        Some(name) => attach.iter().copied().find(|&at| zones[at].name == name),
        None => attach.first().copied().filter(|_| attach.len() == 1),
    };
    let names: Vec<&str> = attach.iter().map(|&at| zones[at].name.as_str()).collect();
    let found = found.ok_or_else(|| {
        let problem = match zone {
            Some(zone) => format!("`{zone}` is no zone of `{class}`"),
            None => format!("`{class}` has {} zones for links", attach.len()),
        };
        Refused::new(problem, format!("name one of its zones: {}", names.join(", ")))
    })?;
    Ok((row as u32, found as u32))
}

fn server_class(
    blueprint: &Blueprint,
    mut class: Fields<'_>,
    defaults: &Defaults,
) -> Result<ServerClass, CablingError> {
    let name = name_of(&class);
    let device = class.text("device")?.unwrap_or_else(|| name.clone());
    let first = class.whole("first", 0, COUNT_MAX)?.unwrap_or(1);
    let count = class.whole("count", 1, COUNT_MAX)?.unwrap_or(1);
    let part = class.text("part")?;
    let mut nics = Vec::new();
    let mut table = class.table("nics")?;
    for entry in table.rest() {
        let (key, line) = (entry.key.clone(), entry.line);
        for copy in entry.copies().map_err(|refused| table.error(&key, line, refused))? {
            match copy.item {
                Item::Text(part) => nics.push((copy.key, part)),
                _ => {
                    return Err(table.error(
                        &key,
                        line,
                        Refused::new("is no text", "write the name of a part"),
                    ));
                }
            }
        }
    }
    let mut links = Vec::new();
    for (line, text) in class.texts("links")? {
        let link = text::link(&text).and_then(|link| resolve_link(blueprint, link, defaults));
        links.push(link.map_err(|refused| class.error("links", line, refused))?);
    }
    let line = class.line;
    class.finish()?;
    Ok(ServerClass { name, device, first, count, part, nics, links, line })
}

fn resolve_link(blueprint: &Blueprint, link: text::LinkText, defaults: &Defaults) -> Result<Link, Refused> {
    let (class, zone) = find_zone(blueprint, &link.class, link.zone.as_deref())?;
    let homing = Homing::named(&link.rule)
        .ok_or_else(|| Refused::new(format!("`by {}` is no rule", link.rule), one_of(&Homing::NAMES)))?;
    let optic = link.optic.or_else(|| defaults.optic.clone());
    let interfaces = link.interfaces.into_iter().map(|name| (name.text, name.index)).collect();
    Ok(Link { interfaces, class, zone, homing, optic })
}

/// Refuses classes of one name, which would make devices of one name, and an interface that stands in two links.
fn check_names(blueprint: &Blueprint) -> Result<(), CablingError> {
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    let switches = blueprint.switches.iter().map(|class| (class.name.as_str(), class.line));
    let servers = blueprint.servers.iter().map(|class| (class.name.as_str(), class.line));
    for (name, line) in switches.chain(servers) {
        if let Some(first) = seen.insert(name, line) {
            let refused =
                Refused::new(format!("stands on line {first} already"), "give each class its own name");
            return Err(blueprint.error(name.to_owned(), line, refused));
        }
    }
    for class in &blueprint.servers {
        let mut names: Vec<&str> =
            class.links.iter().flat_map(|link| &link.interfaces).map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            let refused =
                Refused::new(format!("{} stands in two links", twice[0]), "write each interface once");
            return Err(blueprint.error(class.name.clone(), class.line, refused));
        }
    }
    Ok(())
}

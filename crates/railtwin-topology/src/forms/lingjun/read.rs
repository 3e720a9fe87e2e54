//! From rows of hosts to a tree.
use std::collections::BTreeMap;

use railtwin_formats::FormatError;

use super::COLUMNS;
use crate::about::DeviceClass;
use crate::form::SourceFile;
use crate::tiers::state;
use crate::topology::Topology;

/// Name of the format in errors.
const FORMAT: &str = "Lingjun topology";

/// A field without what surrounds it.
pub(super) fn field(text: &str) -> &str {
    text.trim_start_matches('\u{feff}').trim().trim_matches('"').trim()
}

/// Reads one file.
pub(super) fn read(sources: &[SourceFile<'_>]) -> Result<Topology, FormatError> {
    let source = sources.iter().find(|source| super::is_one(source)).or(sources.first());
    let Some(source) = source else {
        return Err(FormatError::new(FORMAT, "", "no file is given", "give one file"));
    };
    let text = std::str::from_utf8(source.bytes).map_err(|error| {
        FormatError::new(FORMAT, source.name, "is not UTF-8 text", "write the file as UTF-8")
            .at_byte(error.valid_up_to() as u64)
    })?;
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or("").split(',').map(field).collect();
    let mut columns = [0; COLUMNS.len()];
    for (column, name) in columns.iter_mut().zip(COLUMNS) {
        let found = header.iter().position(|known| known.eq_ignore_ascii_case(name));
        *column = found.ok_or_else(|| {
            let accepted = format!("begin the file with the line {}", COLUMNS.join(","));
            FormatError::new(FORMAT, source.name, format!("has no column {name}"), accepted)
                .at_line(1)
                .foreign()
        })?;
    }
    let mut tree = Tree { topology: Topology::new("lingjun"), above: BTreeMap::new() };
    tree.topology.is_tree = true;
    if sources.len() > 1 {
        tree.topology.notes.push(format!("{} alone was read: a topology is one file", source.name));
    }
    for (number, line) in (2..).zip(lines).filter(|(_, line)| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split(',').map(field).collect();
        tree.enter(number, columns.map(|column| fields.get(column).copied().unwrap_or("")));
    }
    let note =
        "a PSW is a group of spines and a DSW a group of cores: how many switches are in one is not told";
    tree.topology.notes.push(note.to_owned());
    Ok(tree.topology)
}

/// The tree while rows are entered.
struct Tree {
    topology: Topology,
    /// What each device stands under.
    above: BTreeMap<u32, u32>,
}

impl Tree {
    fn enter(&mut self, line: u64, [host, core, spine, leaf]: [&str; 4]) {
        if host.is_empty() {
            self.topology.links_missing += 1;
            self.topology.find("unnamed-host", format!("line {line}"), "the row has no host");
            return;
        }
        let is_new = self.topology.list.device_named(host).is_none();
        if !is_new {
            let row = self.topology.device(host);
            if self.topology.about[row as usize].class == DeviceClass::Switch {
                self.topology.find("duplicate-name", host, format!("line {line} names a switch as a host"));
                return;
            }
        }
        let row = self.topology.host(host);
        if leaf.is_empty() || spine.is_empty() {
            self.topology.links_missing += 1;
            let seen = format!("line {line} has no ASW with its PSW");
            self.topology.find("host-without-switch", host, seen);
            return;
        }
        let leaf = self.switch(&format!("asw-{spine}/{leaf}"), 1);
        let name = spine;
        let spine = self.switch(&format!("psw-{spine}"), 2);
        if self.put(row, leaf, line, "host-under-two-leaves") && !is_new {
            self.topology.find("duplicate-name", host, format!("line {line} lists the host once more"));
        }
        self.put(leaf, spine, line, "switch-under-two-switches");
        if core.is_empty() {
            self.topology.find(
                "missing-switch",
                format!("psw-{name}"),
                format!("line {line} has no DSW above it"),
            );
            return;
        }
        let core = self.switch(&format!("dsw-{core}"), 3);
        self.put(spine, core, line, "switch-under-two-switches");
    }

    fn switch(&mut self, name: &str, tier: u8) -> u32 {
        let row = self.topology.switch(name);
        state(&mut self.topology, row, tier);
        row
    }

    /// Puts a device under a switch; false where it stands under another one, which is a finding.
    fn put(&mut self, below: u32, above: u32, line: u64, kind: &'static str) -> bool {
        let name = |tree: &Self, row: u32| tree.topology.list.devices()[row as usize].name.clone();
        match self.above.get(&below).copied() {
            Some(known) if known == above => true,
            Some(known) => {
                let seen = format!(
                    "it stands under {}, and on line {line} under {}",
                    name(self, known),
                    name(self, above)
                );
                let device = name(self, below);
                self.topology.find(kind, device, seen);
                false
            }
            None => {
                self.above.insert(below, above);
                let port = name(self, below);
                self.topology.join([(below, "up"), (above, &port)], None, None, line);
                true
            }
        }
    }
}

//! Nodes of a dump and the links that their blocks name.
use std::collections::BTreeMap;

use railtwin_formats::FormatError;
use railtwin_units::Rate;

use super::NAME;
use super::lines::{Header, Line, LinkLine, Listed, NodeKind, Report, ReportedEnd, line};
use super::names::{AGGREGATION_ID, AdapterName, adapter_name};
use crate::form::SourceFile;

/// What is accepted.
const ACCEPTED: &str = "the text that ibnetdiscover prints, with or without -f, -g, -p or -l";

/// A node: a switch, an adapter or a router.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Its id, such as `S-2c5eab0300b87b40`.
    pub id: String,
    pub kind: NodeKind,
    /// GUID of the system that it is part of.
    pub system: Option<u64>,
    /// Device id of its chip.
    pub device_id: Option<u64>,
    pub description: String,
    /// Whether the dump has a block of it; other nodes are only named by links.
    pub has_block: bool,
    /// Ports of the node, as the header of its block states.
    pub ports: u32,
}

/// A link as the block of one end names it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    /// Row of the node of the block, and its port.
    pub from: (u32, u32),
    /// Row of the node at the other end, and its port.
    pub to: (u32, u32),
    pub rate: Option<Rate>,
    /// Line of the file, from 1.
    pub line: u64,
}

/// A line that could not be read, or that is of no dump.
#[derive(Clone, Debug)]
pub(super) struct StrangeLine {
    pub place: String,
    pub text: String,
}

/// Content of the files, ends not yet joined.
#[derive(Default)]
pub(super) struct Dump {
    pub nodes: Vec<Node>,
    rows: BTreeMap<String, u32>,
    pub claims: Vec<Claim>,
    /// Lines of links and headers that cannot be read.
    pub broken: Vec<StrangeLine>,
    /// Lines of no dump.
    pub foreign: Vec<StrangeLine>,
    /// Whether the files are lists of nodes, which name no links.
    pub is_list: bool,
    /// Whether the files have blocks of switches and none of adapters: the links of switches alone tell of hosts.
    pub is_of_switches: bool,
}

/// Where in a file reading is.
#[derive(Default)]
struct At {
    system: Option<u64>,
    device_id: Option<u64>,
    /// The node whose links follow.
    node: Option<u32>,
}

/// Reads files of one subnet, or of several: nodes are joined by id.
pub(super) fn dump(sources: &[SourceFile<'_>]) -> Result<Dump, FormatError> {
    let mut found = Dump::default();
    let mut reports = Vec::new();
    // Descriptions may hold any bytes.
    let texts: Vec<String> = sources.iter().map(|source| decoded(source.bytes)).collect();
    for (source, text) in sources.iter().zip(&texts) {
        read_text(source.name, text, &mut found, &mut reports)?;
    }
    enter_reports(&mut found, &reports);
    if found.nodes.is_empty() {
        let name = sources.first().map_or("", |source| source.name);
        return Err(
            FormatError::new(NAME, name, "has no block of a switch or an adapter", ACCEPTED).foreign()
        );
    }
    let is_of_host = |node: &Node| {
        node.kind == NodeKind::Adapter
            && node.device_id != Some(AGGREGATION_ID)
            && adapter_name(&node.description) != AdapterName::Aggregation
    };
    let mut blocks = found.nodes.iter().filter(|node| node.has_block);
    let has_switches = blocks.clone().any(|node| node.kind == NodeKind::Switch);
    found.is_of_switches = !found.is_list && has_switches && !blocks.any(is_of_host);
    Ok(found)
}

/// UTF-8 with all else replaced.
fn decoded(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)).into_owned()
}

fn read_text<'a>(
    name: &str,
    text: &'a str,
    dump: &mut Dump,
    reports: &mut Vec<(Report<'a>, u64)>,
) -> Result<(), FormatError> {
    let mut at = At::default();
    for (number, raw) in (1..).zip(text.lines()) {
        let strange = || StrangeLine { place: format!("{name}:{number}"), text: shortened(raw) };
        match line(raw) {
            // A blank line ends a block, also one whose end was lost.
            Line::Nothing if raw.trim().is_empty() => at = At::default(),
            Line::Nothing => {}
            Line::System(system) => at = At { system: Some(system), device_id: at.device_id, node: None },
            Line::DeviceId(device) => at = At { device_id: Some(device), ..At::default() },
            Line::Header(header) => {
                at.node = Some(dump.block(&header, &at));
                (at.system, at.device_id) = (None, None);
            }
            Line::Link(link) => match at.node {
                Some(node) => dump.claim(node, &link, number),
                None => dump.broken.push(strange()),
            },
            Line::Listed(listed) => dump.listed(&listed),
            Line::Report(report) => reports.push((report, number)),
            Line::Difference => {
                let problem = "is a difference of two dumps";
                return Err(FormatError::new(NAME, name, problem, ACCEPTED).at_line(number).found(raw));
            }
            // A broken header: the links behind it are of no known node.
            Line::Broken if !raw.trim_start().starts_with('[') => {
                at = At::default();
                dump.broken.push(strange());
            }
            Line::Broken => dump.broken.push(strange()),
            Line::Foreign => dump.foreign.push(strange()),
        }
    }
    Ok(())
}

/// The first characters of a line.
fn shortened(text: &str) -> String {
    text.trim().chars().take(80).collect()
}

impl Dump {
    /// Whether the dump describes a node: by a block, or by the links of switches where no adapter has a block.
    pub(super) fn describes(&self, row: u32) -> bool {
        let node = &self.nodes[row as usize];
        node.has_block || (self.is_of_switches && node.kind == NodeKind::Adapter)
    }

    /// Row of a node; enters it where it is new.
    fn node(&mut self, id: &str, kind: NodeKind) -> u32 {
        if let Some(&row) = self.rows.get(id) {
            return row;
        }
        let row = self.nodes.len() as u32;
        self.rows.insert(id.to_owned(), row);
        let description = String::new();
        let id = id.to_owned();
        let (system, device_id) = (None, None);
        self.nodes.push(Node { id, kind, system, device_id, description, has_block: false, ports: 0 });
        row
    }

    /// A block. Grouping prints switches of a chassis twice.
    fn block(&mut self, header: &Header<'_>, at: &At) -> u32 {
        let row = self.node(header.id, header.kind);
        let node = &mut self.nodes[row as usize];
        node.kind = header.kind;
        node.has_block = true;
        node.ports = node.ports.max(header.ports);
        node.system = node.system.or(at.system);
        node.device_id = node.device_id.or(at.device_id);
        // That of a block overrides those of links, which may be remapped.
        if !header.description.trim().is_empty() {
            node.description = plain(header.description);
        }
        row
    }

    fn claim(&mut self, node: u32, link: &LinkLine<'_>, line: u64) {
        let peer = self.node(link.peer, NodeKind::of_id(link.peer));
        self.describe(peer, link.description);
        let (from, to) = ((node, link.port), (peer, link.peer_port));
        self.claims.push(Claim { from, to, rate: link.rate, line });
    }

    /// A description that a link tells, for nodes without one.
    fn describe(&mut self, row: u32, description: &str) {
        let node = &mut self.nodes[row as usize];
        if node.description.is_empty() {
            node.description = plain(description);
        }
    }

    fn listed(&mut self, listed: &Listed<'_>) {
        self.is_list = true;
        let id = format!("{}-{:016x}", listed.kind.letter(), listed.guid);
        let header = Header { kind: listed.kind, ports: 0, id: &id, description: listed.description };
        self.block(&header, &At { device_id: listed.device_id, ..At::default() });
    }
}

/// A description with single blanks.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Enters ports reports. Ports of an adapter have GUIDs of their own; they stand one behind another, in falling order, under
/// one name.
fn enter_reports(dump: &mut Dump, reports: &[(Report<'_>, u64)]) {
    let mut row_of_port: BTreeMap<u64, u32> = BTreeMap::new();
    let mut last: Option<(ReportedEnd<'_>, u32)> = None;
    for (report, _) in reports {
        let end = report.end;
        let same = last.filter(|(before, _)| {
            before.kind == end.kind && before.description == end.description && before.port > end.port
        });
        let row = match (end.kind, same) {
            (NodeKind::Adapter | NodeKind::Router, Some((_, row))) => row,
            _ => {
                let id = format!("{}-{:016x}", end.kind.letter(), end.guid);
                let header = Header { kind: end.kind, ports: 0, id: &id, description: end.description };
                dump.block(&header, &At::default())
            }
        };
        row_of_port.insert(end.guid, row);
        last = Some((end, row));
    }
    for (report, line) in reports {
        let (Some(&from), Some(peer)) = (row_of_port.get(&report.end.guid), report.peer) else { continue };
        let to = match row_of_port.get(&peer.guid) {
            Some(&row) => row,
            None => {
                let row = dump.node(&format!("{}-{:016x}", peer.kind.letter(), peer.guid), peer.kind);
                dump.describe(row, peer.description);
                row
            }
        };
        let (from, to) = ((from, report.end.port), (to, peer.port));
        dump.claims.push(Claim { from, to, rate: report.rate, line: *line });
    }
}

//! Elements of NCCL's XML as a flat list, so that nothing here recurses.
use std::collections::BTreeMap;

use railtwin_formats::FormatError;

use crate::form::SourceFile;

/// Name of the format in errors.
pub(super) const FORMAT: &str = "NCCL topology";

/// Bound of elements: NCCL's own is 576 hosts' worth less.
const MOST: u32 = 1 << 20;

/// Bound of bytes, and of elements within one another: a host has some tens of kilobytes and a depth of ten.
const LARGEST: usize = 16 << 20;
const DEEPEST: usize = 256;

/// An element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Element {
    pub tag: String,
    /// Row of the element that it stands in.
    pub parent: Option<u32>,
    pub attributes: Vec<(String, String)>,
    /// Line, from 1.
    pub line: u64,
}

/// Elements in the order of a file; the first is `system`.
///
/// # Errors
/// [`FormatError`] for what is not XML, a graph of NCCL, and XML of anything else.
pub(super) fn elements(source: &SourceFile<'_>) -> Result<Vec<Element>, FormatError> {
    let accepted =
        "give the topology of a host, as NCCL_TOPO_DUMP_FILE writes it: <system> with <cpu> and <pci>";
    let wrong = |problem: String| FormatError::new(FORMAT, source.name, problem, accepted);
    let text = std::str::from_utf8(source.bytes)
        .map_err(|error| wrong("is not UTF-8 text".to_owned()).at_byte(error.valid_up_to() as u64))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.len() > LARGEST || depth(text) > DEEPEST {
        return Err(wrong("is larger or deeper than a host's topology".to_owned()).foreign());
    }
    let options = roxmltree::ParsingOptions { allow_dtd: false, nodes_limit: MOST, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(text, options).map_err(|error| {
        let wrong = wrong(format!("is no XML: {error}")).at_line(u64::from(error.pos().row));
        if text.trim_start().starts_with('<') { wrong } else { wrong.foreign() }
    })?;
    match document.root_element().tag_name().name() {
        "system" => {}
        "graphs" | "graph" => return Err(wrong("is an NCCL graph, not a topology".to_owned()).foreign()),
        other => {
            return Err(wrong("is XML of another kind".to_owned())
                .field("root element")
                .found(other)
                .foreign());
        }
    }
    let mut rows = BTreeMap::new();
    // Lines are counted along, as positions come in order.
    let (mut line, mut at) = (1_u64, 0);
    let elements = document.descendants().filter(roxmltree::Node::is_element);
    let elements = elements.enumerate().map(|(row, node)| {
        rows.insert(node.id().get_usize(), row as u32);
        let start = node.range().start;
        line += text.as_bytes()[at..start].iter().filter(|byte| **byte == b'\n').count() as u64;
        at = start;
        Element {
            tag: node.tag_name().name().to_owned(),
            parent: node.parent().and_then(|parent| rows.get(&parent.id().get_usize()).copied()),
            attributes: node
                .attributes()
                .map(|one| (one.name().to_owned(), one.value().to_owned()))
                .collect(),
            line,
        }
    });
    Ok(elements.collect())
}

/// The most elements within one another, by their brackets.
fn depth(text: &str) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match (byte, bytes.get(at + 1)) {
            (b'<', Some(b'/')) => now = now.saturating_sub(1),
            (b'<', Some(next)) if next.is_ascii_alphabetic() => now += 1,
            (b'/', Some(b'>')) => now = now.saturating_sub(1),
            _ => {}
        }
        most = most.max(now);
    }
    most
}

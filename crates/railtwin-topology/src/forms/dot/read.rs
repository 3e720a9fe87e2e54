//! The topology of DOT files.
use railtwin_formats::FormatError;

use super::{NAME, parse};
use crate::form::SourceFile;
use crate::forms::graph::{Graph, meaning};
use crate::topology::Topology;

/// Whether the first words are those of a graph.
pub(super) fn is_one(source: &SourceFile<'_>) -> bool {
    let head = source.head();
    let mut rest = head.trim_start_matches('\u{feff}').trim_start();
    // Comments before the graph.
    loop {
        let end = if rest.starts_with("//") || rest.starts_with('#') {
            rest.find('\n')
        } else if rest.starts_with("/*") {
            rest.find("*/").map(|end| end + 2)
        } else {
            break;
        };
        let Some(end) = end else { return false };
        rest = rest[end..].trim_start();
    }
    let Some((before, _)) = rest.split_once('{') else { return false };
    let before = before.trim_end().to_ascii_lowercase();
    let before = before.strip_prefix("strict").map_or(before.as_str(), str::trim_start);
    // Only a name stands between the word and the brace.
    let name = before.strip_prefix("digraph").or_else(|| before.strip_prefix("graph"));
    name.is_some_and(|name| {
        let (bare, name) = (name.trim_start(), name);
        bare.is_empty()
            || bare.starts_with('"')
            || (bare.len() < name.len() && !bare.contains(char::is_whitespace))
    })
}

/// Reads graphs in DOT; several files, and several graphs in one, are one topology, joined by names.
///
/// A cable is an edge: `"leaf1":"swp1" -- "host1":"eth0"`, or with its ports in attributes (`taillabel` and `headlabel`,
/// `source_port` and `target_port`, or a label `swp1 - eth0`). Rates are attributes such as `speed="400G"`, delays such as
/// `delay="500 ns"`. A digraph may hold one or both directions of a cable. Nodes of a subgraph are of its group: its label
/// may be a role or a rack.
///
/// Findings are those of graphs: `link-down`, `loop`, `host-without-switch`, `switch-without-hosts`, `port-with-two-cables`.
///
/// # Errors
/// [`FormatError`] for text that is not DOT, with its line, for subgraphs that nest more than 64 deep and for edges between
/// subgraphs that mean far more edges than the file has bytes.
pub(super) fn read(sources: &[SourceFile<'_>]) -> Result<Topology, FormatError> {
    let mut graph = Graph::default();
    for source in sources {
        // Labels may hold other encodings.
        let text = String::from_utf8_lossy(source.bytes);
        graph = parse::parse(source.name, text.trim_start_matches('\u{feff}'), graph)?;
    }
    if graph.nodes.is_empty() {
        let name = sources.first().map_or("", |source| source.name);
        return Err(FormatError::new(
            NAME,
            name,
            "has no node",
            "graph NAME { \"leaf1\":\"swp1\" -- \"host1\":\"eth0\" }",
        ));
    }
    Ok(meaning::topology(NAME, &graph))
}

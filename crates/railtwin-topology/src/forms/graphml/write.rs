//! A topology as a graph in GraphML.
use std::fmt::Write as _;

use railtwin_formats::FormatError;

use crate::form::{WriteOptions, Written};
use crate::forms::graph::meaning::node_marks;
use crate::topology::Topology;

/// Attributes of nodes, in the order of their keys.
const NODE_KEYS: [&str; 9] =
    ["role", "tier", "network", "rack", "domain", "subdomain", "gpus", "adapters", "model"];
/// Attributes of edges with their types.
const EDGE_KEYS: [(&str, &str); 4] =
    [("source_port", "string"), ("target_port", "string"), ("rate_bps", "long"), ("delay_ps", "long")];
/// Namespace of the format.
const NAMESPACE: &str = "http://graphml.graphdrawing.org/xmlns";

/// Writes an undirected graph as networkx reads it: a node for each device, with role, network, rack, domain, GPUs and
/// adapters, and an edge for each cable, with `source_port`, `target_port`, `rate_bps` and `delay_ps`. Cables between the
/// same devices have ids, which make the graph a multigraph for networkx. Free ports, places and NVLinks are left out.
///
/// # Errors
/// [`FormatError`] for a name with a control character, which XML cannot hold.
pub(super) fn write(topology: &Topology, _: &WriteOptions) -> Result<Vec<Written>, FormatError> {
    let list = &topology.list;
    let mut text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"{NAMESPACE}\">\n");
    for key in NODE_KEYS {
        let kind = if matches!(key, "tier" | "gpus") { "int" } else { "string" };
        let _ =
            writeln!(text, "  <key id=\"n_{key}\" for=\"node\" attr.name=\"{key}\" attr.type=\"{kind}\"/>");
    }
    for (key, kind) in EDGE_KEYS {
        let _ =
            writeln!(text, "  <key id=\"e_{key}\" for=\"edge\" attr.name=\"{key}\" attr.type=\"{kind}\"/>");
    }
    text.push_str("  <key id=\"g_name\" for=\"graph\" attr.name=\"name\" attr.type=\"string\"/>\n");
    text.push_str("  <key id=\"g_is_tree\" for=\"graph\" attr.name=\"is_tree\" attr.type=\"boolean\"/>\n");
    text.push_str("  <graph edgedefault=\"undirected\">\n");
    if let Some(title) = &list.title {
        let _ = writeln!(text, "    <data key=\"g_name\">{}</data>", escaped(title)?);
    }
    if topology.is_tree {
        text.push_str("    <data key=\"g_is_tree\">true</data>\n");
    }
    for (row, device) in (0..).zip(list.devices()) {
        let _ = write!(text, "    <node id=\"{}\">", escaped(&device.name)?);
        for (key, value) in node_marks(topology, row) {
            let _ = write!(text, "<data key=\"n_{key}\">{}</data>", escaped(&value)?);
        }
        text.push_str("</node>\n");
    }
    for (row, cable) in list.cables().iter().enumerate() {
        let [a, b] = cable.ports.map(|port| &list.ports()[port as usize]);
        let [from, to] = [a, b].map(|port| escaped(&list.devices()[port.device as usize].name));
        let _ = write!(text, "    <edge id=\"e{row}\" source=\"{}\" target=\"{}\">", from?, to?);
        let _ = write!(text, "<data key=\"e_source_port\">{}</data>", escaped(&a.name)?);
        let _ = write!(text, "<data key=\"e_target_port\">{}</data>", escaped(&b.name)?);
        if let Some(rate) = a.rate {
            let _ = write!(text, "<data key=\"e_rate_bps\">{}</data>", rate.bits_per_s());
        }
        if let Some(delay) = cable.delay {
            let _ = write!(text, "<data key=\"e_delay_ps\">{}</data>", delay.ps());
        }
        text.push_str("</edge>\n");
    }
    text.push_str("  </graph>\n</graphml>\n");
    Ok(vec![Written { path: "topology.graphml".to_owned(), text }])
}

/// Text with the signs of XML escaped.
fn escaped(text: &str) -> Result<String, FormatError> {
    if text.chars().any(|letter| letter.is_control() || letter == '\u{fffe}' || letter == '\u{ffff}') {
        let accepted = "names without control characters";
        return Err(
            FormatError::new(super::NAME, "", "has a character that XML cannot hold", accepted).found(text)
        );
    }
    let escape = |letter: char| match letter {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        other => other.to_string(),
    };
    Ok(text.chars().map(escape).collect())
}

//! A topology as a graph in DOT.
use std::fmt::Write as _;

use railtwin_formats::FormatError;

use crate::form::{WriteOptions, Written};
use crate::forms::graph::meaning::node_marks;
use crate::topology::Topology;

/// Writes an undirected graph: a node for each device, with role, network, rack, domain, GPUs and adapters, and an edge for
/// each cable, `"leaf-0":"downlink-0" -- "host-0":"nic-0:port-0" [speed="400000000000 bps", delay="500000 ps"]`, as PTM
/// reads it. Free ports, places and NVLinks are left out. DOT cannot end a name with an odd number of `\`: one is added.
///
/// # Errors
/// None.
pub(super) fn write(topology: &Topology, _: &WriteOptions) -> Result<Vec<Written>, FormatError> {
    let list = &topology.list;
    let mut text = format!("graph {} {{\n", quoted(list.title.as_deref().unwrap_or("topology")));
    if topology.is_tree {
        text.push_str("  is_tree=true;\n");
    }
    for (row, device) in (0..).zip(list.devices()) {
        let marks: Vec<String> =
            node_marks(topology, row).iter().map(|(key, value)| format!("{key}={}", quoted(value))).collect();
        let marks = if marks.is_empty() { String::new() } else { format!(" [{}]", marks.join(", ")) };
        let _ = writeln!(text, "  {}{marks};", quoted(&device.name));
    }
    for cable in list.cables() {
        let [a, b] = cable.ports.map(|port| {
            let device = &list.devices()[list.device_of(port) as usize].name;
            format!("{}:{}", quoted(device), quoted(&list.ports()[port as usize].name))
        });
        let rate = list.ports()[cable.ports[0] as usize].rate;
        let rate = rate.map(|rate| format!("speed=\"{} bps\"", rate.bits_per_s()));
        let delay = cable.delay.map(|delay| format!("delay=\"{} ps\"", delay.ps()));
        let marks: Vec<String> = rate.into_iter().chain(delay).collect();
        let marks = if marks.is_empty() { String::new() } else { format!(" [{}]", marks.join(", ")) };
        let _ = writeln!(text, "  {a} -- {b}{marks};");
    }
    text.push_str("}\n");
    Ok(vec![Written { path: "topology.dot".to_owned(), text }])
}

/// A string in quotation marks. A `\` at its end would escape the mark, so it is doubled.
fn quoted(text: &str) -> String {
    let escaped = text.replace('"', "\\\"");
    let odd = escaped.len() - escaped.trim_end_matches('\\').len();
    format!("\"{escaped}{}\"", if odd % 2 == 1 { "\\" } else { "" })
}

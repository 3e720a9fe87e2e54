//! NetQ's topology graph, and NMX's compute nodes beside it, both JSON.
//!
//! Fields from topograph's `pkg/providers/netq` (`netq.go`, `nmx.go`) and its recorded answers: tiers hold devices, links
//! hold cables with an interface at each end; a device of tier -1 was seen over LLDP alone, and is a host.
mod read;
mod write;

use crate::form::{Form, SourceFile};

pub(crate) const FORM: Form = Form {
    name: "netq",
    title: "NetQ topology graph",
    is_one,
    read: Some(read::read),
    write: Some(write::write),
};

/// What stands between the two ids of a link's id.
const BETWEEN: &str = "-*-";

fn is_one(source: &SourceFile<'_>) -> bool {
    let head = source.head();
    let is_json = head.trim_start().starts_with(['[', '{']);
    is_json
        && (head.contains("\"compounded_nodes\"")
            || head.contains("\"compounded_links\"")
            || head.contains(BETWEEN))
}

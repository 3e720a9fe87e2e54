//! Minigraphs of SONiC: XML that describes one switch, its neighbors and their links.
//!
//! Learned from `src/sonic-config-engine/minigraph.py` of sonic-net/sonic-buildimage. Links of the kinds
//! `DeviceInterfaceLink` and `UnderlayInterfaceLink` are cables; a `LogicalLink` says that the cable at a port is a mux cable,
//! which has two ends at switches. Links of consoles, of management and between chips of a switch are left out, as SONiC
//! leaves them out of its neighbors; notes count them. Port names are those of the file, which are aliases.
mod read;

use crate::form::{Form, SourceFile};

/// Name of this format in errors.
const FORMAT: &str = "SONiC minigraph";

/// The entry.
pub(crate) const FORM: Form = Form {
    name: "sonic-minigraph",
    title: "SONiC minigraph (XML)",
    is_one,
    read: Some(read::read),
    write: None,
};

fn is_one(source: &SourceFile<'_>) -> bool {
    source.head().contains("<DeviceMiniGraph")
}

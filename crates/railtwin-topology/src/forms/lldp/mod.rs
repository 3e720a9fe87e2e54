//! Neighbors that devices hear by LLDP: one file for each host or switch, a folder is the fabric.
//!
//! Read are all forms of lldpd's `lldpcli show neighbors` that `railtwin_formats` reads (text, `-f json`, `-f json0`,
//! `-f keyvalue`), and tables that switches print: `show lldp table` of SONiC (sonic-net/sonic-utilities,
//! `scripts/lldpshow`), `show lldp neighbors` of Arista and Cisco, `net show lldp` of Cumulus. A device is called what its
//! file says of its own chassis or its prompt, else what the file is called.
mod chassis;
mod heard;
mod read;
mod table;

use railtwin_formats::telemetry::{Format, detect_format};

use crate::form::{Form, SourceFile};

/// The entry.
pub(crate) const FORM: Form = Form {
    name: "lldp",
    title: "LLDP neighbors (lldpcli, show lldp)",
    is_one,
    read: Some(read::read),
    write: None,
};

fn is_one(source: &SourceFile<'_>) -> bool {
    table::has_header(&source.head()) || detect_format(source.bytes) == Some(Format::Lldp)
}

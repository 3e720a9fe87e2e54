//! Cable lists (CSV) as a form: the reader and writer of `railtwin_formats`, with counts and findings like the others.
pub(crate) mod map;
mod read;
mod write;

use crate::form::{Form, SourceFile};

/// Name of this format in errors.
const FORMAT: &str = "cable list";

/// The entry.
pub(crate) const FORM: Form = Form {
    name: "cables",
    title: "Cable list (CSV)",
    is_one,
    read: Some(read::read),
    write: Some(write::write),
};

fn is_one(source: &SourceFile<'_>) -> bool {
    railtwin_formats::is_cable_list(source.bytes)
}

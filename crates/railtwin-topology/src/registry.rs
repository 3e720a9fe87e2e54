//! The registry of all forms, and the way to them by name or by files.
use railtwin_formats::FormatError;

use crate::form::{Form, SourceFile};
use crate::forms;
use crate::topology::Topology;

/// All forms, in the order in which they are asked whether a file is theirs.
pub const FORMS: &[Form] = forms::ALL;

/// The form of files: the first that says so of one of them; files that no form knows stand beside it.
pub fn form_of(sources: &[SourceFile<'_>]) -> Option<&'static Form> {
    let reading = FORMS.iter().filter(|form| form.read.is_some());
    reading.into_iter().find(|form| sources.iter().any(|source| (form.is_one)(source)))
}

/// The form of a name.
pub fn named(name: &str) -> Option<&'static Form> {
    FORMS.iter().find(|form| form.name == name)
}

/// Reads files of one topology, of the form `named` or of that which they look like.
///
/// # Errors
/// [`FormatError`] for files that no form knows, files that are all empty, a form that is only written, files in which the
/// form finds no device, and as the form has it.
pub fn read_as(named: Option<&'static Form>, sources: &[SourceFile<'_>]) -> Result<Topology, FormatError> {
    let name = sources.first().map_or("", |source| source.name);
    if sources.iter().all(is_blank) {
        let form = named.map_or("topology", |form| form.name);
        let problem = if sources.is_empty() { "no file is given" } else { "is empty" };
        let accepted = named.map_or_else(
            || format!("files of the forms that are read: {}", names(|form| form.read.is_some())),
            |form| format!("write the file anew: a file of {}, {}", form.name, form.title),
        );
        return Err(FormatError::new(form, name, problem, accepted).foreign());
    }
    let form = named.or_else(|| form_of(sources)).ok_or_else(|| {
        let accepted = format!("the forms that are read: {}", names(|form| form.read.is_some()));
        FormatError::new("topology", name, "is of no known form", accepted).foreign()
    })?;
    let reader = form.read.ok_or_else(|| {
        let accepted = format!("the forms that are read: {}", names(|form| form.read.is_some()));
        FormatError::new(form.name, name, "is of a form that is written and not read", accepted).foreign()
    })?;
    let topology = reader(sources)?;
    if topology.list.devices().is_empty() {
        let accepted = format!("a file of {}, {}", form.name, form.title);
        return Err(FormatError::new(form.name, name, "names no device", accepted).foreign());
    }
    Ok(topology)
}

/// Whether a file holds blanks alone, beside a mark of byte order.
fn is_blank(source: &SourceFile<'_>) -> bool {
    let bytes = source.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(source.bytes);
    bytes.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0)
}

/// Names of the forms that are accepted, joined for a message.
pub fn names(accepts: fn(&Form) -> bool) -> String {
    FORMS.iter().filter(|form| accepts(form)).map(|form| form.name).collect::<Vec<_>>().join(", ")
}

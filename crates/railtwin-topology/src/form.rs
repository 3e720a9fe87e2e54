//! The registry: one entry for each form, which is asked whether files are of it, reads them, and writes.
use railtwin_formats::FormatError;

use crate::forms;
use crate::topology::Topology;

/// A file: its name, for errors and for names of devices, and its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Path or name.
    pub name: &'a str,
    /// Content, unpacked.
    pub bytes: &'a [u8],
}

impl<'a> Source<'a> {
    /// The last part of the name without its ending: `leaf1` of `lldp/leaf1.json`.
    pub fn stem(&self) -> &'a str {
        let file = self.name.rsplit(['/', '\\']).next().unwrap_or(self.name);
        file.split_once('.').map_or(file, |(stem, _)| stem)
    }

    /// The first bytes as text, for looking at what a file is.
    pub fn head(&self) -> std::borrow::Cow<'a, str> {
        String::from_utf8_lossy(&self.bytes[..self.bytes.len().min(1 << 16)])
    }
}

/// A file that is written: its path below the folder of the export, and its text. A form of one file has one such.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// Path below the folder.
    pub path: String,
    /// Text.
    pub text: String,
}

/// Choices of writers.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WriteOptions {
    /// Sizes of blocks of hosts for schedulers, the smallest first; empty where the form finds them.
    pub block_sizes: Vec<u32>,
    /// Type of GPU, for forms that name it, such as `H100`.
    pub gpu_type: Option<String>,
}

/// Reads all files of one topology.
pub type Reader = fn(&[Source<'_>]) -> Result<Topology, FormatError>;

/// Writes a topology; an error says what the form cannot express.
pub type Writer = fn(&Topology, &WriteOptions) -> Result<Vec<Written>, FormatError>;

/// A form of topology files.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Its name on the command line, such as `ibnetdiscover`.
    pub name: &'static str,
    /// What it is, for help and tables.
    pub title: &'static str,
    /// Whether a file looks like one of it. Cheap: looks at the beginning.
    pub is_one: fn(&Source<'_>) -> bool,
    /// Reads; none where it is only written.
    pub read: Option<Reader>,
    /// Writes; none where it is only read.
    pub write: Option<Writer>,
}

/// All forms, in the order in which they are asked whether a file is theirs.
pub const FORMS: &[Form] = forms::ALL;

/// The form of files: the first that says so of one of them; files that no form knows stand beside it.
pub fn form_of(sources: &[Source<'_>]) -> Option<&'static Form> {
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
/// [`FormatError`] for files that no form knows, a form that is only written, and as the form has it.
pub fn read_as(named: Option<&'static Form>, sources: &[Source<'_>]) -> Result<Topology, FormatError> {
    let name = sources.first().map_or("", |source| source.name);
    let form = named.or_else(|| form_of(sources)).ok_or_else(|| {
        let accepted = format!("the forms that are read: {}", names(|form| form.read.is_some()));
        FormatError::new("topology", name, "is of no known form", accepted).foreign()
    })?;
    let reader = form.read.ok_or_else(|| {
        let accepted = format!("the forms that are read: {}", names(|form| form.read.is_some()));
        FormatError::new(form.name, name, "is of a form that is written and not read", accepted).foreign()
    })?;
    reader(sources)
}

/// Names of the forms that are accepted, joined for a message.
pub fn names(accepts: fn(&Form) -> bool) -> String {
    FORMS.iter().filter(|form| accepts(form)).map(|form| form.name).collect::<Vec<_>>().join(", ")
}

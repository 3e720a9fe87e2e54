//! A form: an entry that is asked whether files are of it, reads them, and writes.
use railtwin_formats::FormatError;

use crate::topology::Topology;

/// A file: its name, for errors and for names of devices, and its bytes.
#[derive(Clone, Copy, Debug)]
pub struct SourceFile<'a> {
    /// Path or name.
    pub name: &'a str,
    /// Content, unpacked.
    pub bytes: &'a [u8],
}

impl<'a> SourceFile<'a> {
    /// The last part of the name without its ending: `leaf1` of `lldp/leaf1.json`.
    pub fn stem(&self) -> &'a str {
        let file = self.name.rsplit(['/', '\\']).next().unwrap_or(self.name);
        file.split_once('.').map_or(file, |(stem, _)| stem)
    }

    /// The first bytes as text, for looking at what a file is.
    pub fn head(&self) -> std::borrow::Cow<'a, str> {
        // A mark of byte order says nothing of what the file is.
        let bytes = self.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(self.bytes);
        String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 16)])
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
pub type FormReader = fn(&[SourceFile<'_>]) -> Result<Topology, FormatError>;

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
    pub is_one: fn(&SourceFile<'_>) -> bool,
    /// Reads; none where it is only written.
    pub read: Option<FormReader>,
    /// Writes; none where it is only read.
    pub write: Option<Writer>,
}

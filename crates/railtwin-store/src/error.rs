//! What can go wrong with a run folder, each with the path and the remedy.
use std::path::{Path, PathBuf};

/// An error of the store; every message names the path and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused.
    #[error("{}: cannot {doing}: {source}; check that the place exists, is writable and has room", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried, such as "read".
        doing: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is something at the place of a new run folder.
    #[error("{}: exists already; open it to reuse the run, or remove it to run again", path.display())]
    Exists {
        /// The place.
        path: PathBuf,
    },
    /// Another process writes the folder.
    #[error("{}: another process is writing this folder; wait until it has ended, or write to another place", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// A folder that is to be removed holds what railtwin did not write.
    #[error("{}: railtwin did not write all of it: there is {name}; move that elsewhere, nothing was removed", path.display())]
    NotOurs {
        /// The folder.
        path: PathBuf,
        /// What is there, by its name in the folder.
        name: String,
    },
    /// A folder without `run.json`.
    #[error("{}: not a run folder: it has no run.json; name a folder that a run has written", path.display())]
    NotARunFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A folder without `sweep.json`.
    #[error("{}: not a sweep folder: it has no sweep.json; name a folder that a sweep has written", path.display())]
    NotASweepFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The file was written by a newer railtwin.
    #[error("{}: has schema {found}, and this railtwin knows up to {known}; use the one that wrote it, or a newer", path.display())]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The newest that is understood here.
        known: u32,
    },
    /// `run.json` or `sweep.json` does not say what it must.
    #[error("{}: {}; mend the file, or remove its folder and run again", path.display(), place_of(source))]
    Json {
        /// The file.
        path: PathBuf,
        /// What was found, with line and column.
        source: serde_json::Error,
    },
    /// A table file is damaged or was not written by railtwin.
    #[error("{}: {what}; remove its folder and run again, or restore the file from a copy", path.display())]
    CorruptTable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A Parquet file of another program that cannot be read, or holds what is not accepted.
    #[error(
        "{}: {what}; write it anew as flat columns of numbers and text without absent values, uncompressed or with Snappy",
        path.display()
    )]
    ForeignTable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A table that cannot be written.
    #[error("{}: the table cannot be written: {what}", path.display())]
    Unwritable {
        /// The file that it was meant for.
        path: PathBuf,
        /// What is wrong, and what would be right.
        what: String,
    },
    /// Parts of one table disagree about its columns.
    #[error("{}: columns are ({found}) where the table began with ({wanted}); give every part the same columns", path.display())]
    ColumnsDiffer {
        /// The file.
        path: PathBuf,
        /// Columns of this part.
        found: String,
        /// Columns of the first part.
        wanted: String,
    },
    /// The run has no such table.
    #[error("{}: has no table `{table}`; it has {present}", path.display())]
    NoSuchTable {
        /// The run folder.
        path: PathBuf,
        /// The name asked for.
        table: String,
        /// The names that are there, as a list.
        present: String,
    },
    /// The run has this table already.
    #[error("{}: has table `{table}` already; a table is written once, so remove the folder to run again", path.display())]
    TableExists {
        /// The run folder.
        path: PathBuf,
        /// Name of the table.
        table: String,
    },
    /// A name that cannot be a file stem on every system.
    #[error("{}: `{name}` cannot name a {what}: use lower-case letters, digits, - and _, at most {limit}", path.display())]
    BadName {
        /// The folder that it was meant for.
        path: PathBuf,
        /// The name.
        name: String,
        /// Table or run.
        what: &'static str,
        /// Longest name.
        limit: usize,
    },
    /// Two cases of a sweep are one run.
    #[error("{}: cases `{first}` and `{second}` are the same run {run_id}; remove the repeated value from its axis", path.display())]
    SameCase {
        /// The sweep folder.
        path: PathBuf,
        /// Label of the one.
        first: String,
        /// Label of the other.
        second: String,
        /// Their common run id.
        run_id: String,
    },
    /// A run id that the sweep does not have.
    #[error("{}: the sweep has no run {run_id}; it has {count} cases, listed in sweep.json", path.display())]
    NoSuchRun {
        /// The sweep folder.
        path: PathBuf,
        /// The id asked for.
        run_id: String,
        /// How many cases there are.
        count: usize,
    },
}

impl StoreError {
    /// Makes the error of a failed system call.
    pub(crate) fn io(path: &Path, doing: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, doing, source }
    }
}

/// What is wrong with JSON and where, without a word of it: the file may be anybody's.
fn place_of(error: &serde_json::Error) -> String {
    use serde_json::error::Category;
    let text = error.to_string();
    let what = match error.classify() {
        Category::Io => "cannot be read",
        Category::Syntax => "is no JSON",
        Category::Eof => "ends too early",
        // The names of missing fields are ours.
        Category::Data if text.starts_with("missing field") => return text,
        Category::Data => "does not say what railtwin writes there",
    };
    format!("{what}, at line {} column {}", error.line(), error.column())
}

/// Longest name of a table or run.
const NAME_LIMIT: usize = 64;

/// Refuses names that are not a plain file stem on every system.
pub(crate) fn check_name(folder: &Path, name: &str, what: &'static str) -> Result<(), StoreError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if name.is_empty() || name.len() > NAME_LIMIT || !name.chars().all(plain) {
        return Err(StoreError::BadName {
            path: folder.to_owned(),
            name: name.to_owned(),
            what,
            limit: NAME_LIMIT,
        });
    }
    Ok(())
}

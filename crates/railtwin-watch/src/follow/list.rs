//! The files below a folder, and what their names tell of rotation.
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

/// Folders within folders that are listed.
const DEPTH: usize = 16;

/// The file itself, whatever its name: device and inode.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug, Serialize, Deserialize)]
pub(crate) struct Inode(u64, u64);

/// A file as a listing shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Listed {
    /// Its path below the folder, with `/`.
    pub(crate) path: String,
    pub(crate) inode: Inode,
    pub(crate) size: u64,
    /// Its last change, ns since 1970.
    pub(crate) changed_ns: u64,
}

impl Listed {
    pub(crate) fn of(path: String, about: &Metadata) -> Self {
        let changed = about.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let changed_ns = changed.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
        Self { path, inode: Inode(about.dev(), about.ino()), size: about.size(), changed_ns }
    }
}

/// All regular files below a folder in the order of their paths, without hidden ones and without those below `not`; and
/// folders that cannot be read. A file that has two names stands there once.
pub(crate) fn files_below(root: &Path, not: &Path) -> (Vec<Listed>, Vec<(PathBuf, String)>) {
    let (mut files, mut unread) = (Vec::new(), Vec::new());
    let mut open = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) => {
                unread.push((folder, error.to_string()));
                continue;
            }
        };
        for entry in entries.filter_map(Result::ok) {
            let path = entry.path();
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            // A link is followed to a file; one to a folder may lead around in a circle.
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            let Some(about) = path.metadata().ok().filter(|_| !is_hidden && path != not) else { continue };
            if about.is_dir() && !is_link && depth < DEPTH {
                open.push((path, depth + 1));
            } else if about.is_file()
                && let Some(name) = path.strip_prefix(root).ok().and_then(Path::to_str)
            {
                files.push(Listed::of(name.to_owned(), &about));
            }
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let mut known = BTreeSet::new();
    files.retain(|file| known.insert(file.inode));
    (files, unread)
}

/// The name that a log has before it is rotated, and whether this is the name of a rotated one: `a.log` for `a.log.1`,
/// `a.log-20261129.gz`, `a.log.old`.
pub(crate) fn unrotated(path: &str) -> (&str, bool) {
    let mut name = path.strip_suffix(".gz").unwrap_or(path);
    let suffix = |name: &str| {
        let at = name.rfind(['.', '-', '~'])?;
        let (stem, end) = (name.get(..at)?, name.get(at + 1..)?);
        let is_count = (1..=3).contains(&end.len()) && end.bytes().all(|byte| byte.is_ascii_digit());
        let is_date = end.len() >= 8 && end.bytes().all(|byte| byte.is_ascii_digit());
        let is_word = matches!(end, "old" | "bak" | "orig") || (end.is_empty() && name.ends_with('~'));
        // `.1` after `.log` is a count; in `run-1` it is part of the name.
        let is_after_dot = name.as_bytes().get(at) == Some(&b'.') || is_date;
        ((is_count && is_after_dot || is_date || is_word) && !stem.is_empty() && !stem.ends_with('/'))
            .then_some(at)
    };
    let mut is_rotated = false;
    while let Some(at) = suffix(name) {
        name = &name[..at];
        is_rotated = true;
    }
    if is_rotated { (name, true) } else { (path, false) }
}

#[cfg(test)]
mod tests {
    use super::unrotated;

    #[test]
    fn names_of_rotated_logs() {
        for name in ["a.log.1", "a.log.2.gz", "a.log-20261129", "a.log-20261129.gz", "a.log.old", "a.log~"] {
            assert_eq!(unrotated(name), ("a.log", true), "{name}");
        }
        for name in ["a.log", "run-1", "r3.jsonl", "node-17", "a.log.gz", "trace.12345", "x/1"] {
            assert_eq!(unrotated(name), (name, false), "{name}");
        }
    }
}

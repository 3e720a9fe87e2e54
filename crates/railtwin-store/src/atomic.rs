//! Files that appear whole or not at all.
//!
//! A file is written beside its place under a hidden name and renamed, so that a reader sees the old file or the
//! new one, and a process that dies leaves the old one. Nothing is forced to the disk: after a loss of power a
//! torn table is told by its seal and a torn `run.json` by its grammar.
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::StoreError;

/// Writes a file by `fill`, which gets it open for reading and writing.
pub(crate) fn write_with(
    path: &Path,
    fill: impl FnOnce(File) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let hidden = beside(path, "writing");
    let open = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&hidden);
    let file = open.map_err(StoreError::io(path, "write"))?;
    let renamed = fill(file).and_then(|()| fs::rename(&hidden, path).map_err(StoreError::io(path, "write")));
    if renamed.is_err() {
        // The first error is the one to tell; a hidden file left over is overwritten by the next attempt.
        let _ = fs::remove_file(&hidden);
    }
    renamed
}

/// Writes a file of these bytes.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_with(path, |mut file| file.write_all(bytes).map_err(StoreError::io(path, "write")))
}

/// A hidden sibling: `.run.json.writing` for `run.json`.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{suffix}"))
}

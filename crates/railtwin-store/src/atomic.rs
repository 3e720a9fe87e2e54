//! Files that appear whole or not at all.
//!
//! A file is written beside its place under a hidden name and renamed, so that a reader sees the old file or the
//! new one, and a process that dies leaves the old one. What stands at the place is replaced, never followed: of a
//! symbolic link the link. Files of run folders are not forced to the disk: after a loss of power a torn table is told
//! by its seal and a torn `run.json` by its grammar. What a person asked for by name is.
use std::fs::{self, File, OpenOptions};
use std::io::{self, Error, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::StoreError;

/// Hidden names of files that are being written.
const PREFIX: &str = ".railtwin-";
const SUFFIX: &str = ".writing";
/// Counts the files of this process, so that two at a time do not meet.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Writes a file of a run folder by `fill`, which gets it open for reading and writing.
pub(crate) fn write_with(
    path: &Path,
    fill: impl FnOnce(File) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let (hidden, file) = begin(path).map_err(StoreError::io(path, "write"))?;
    let renamed = fill(file).and_then(|()| fs::rename(&hidden, path).map_err(StoreError::io(path, "write")));
    if renamed.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&hidden);
    }
    renamed
}

/// Writes a file of a run folder of these bytes.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_with(path, |mut file| file.write_all(bytes).map_err(StoreError::io(path, "write")))
}

/// Writes a file that a person named: it is there whole and on the disk, or what was there before still is.
///
/// # Errors
/// What the system says; [`ErrorKind::InvalidInput`] where there is something else than a regular file or a symbolic
/// link, which a rename would do away with.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Ok(there) = path.symlink_metadata() {
        // A link is replaced, but not one to a device: who names /dev/stdout wants its end.
        let end = path.metadata().unwrap_or_else(|_| there.clone());
        if !(there.is_file() || there.is_symlink()) || !(end.is_file() || end.is_symlink()) {
            let what = if end.is_dir() { "a folder" } else { "a device or pipe" };
            return Err(Error::new(
                ErrorKind::InvalidInput,
                format!("there is {what}, and a file is written"),
            ));
        }
    }
    let (hidden, mut file) = begin(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    drop(file);
    let renamed = written.and_then(|()| fs::rename(&hidden, path));
    if renamed.is_err() {
        let _ = fs::remove_file(&hidden);
    }
    renamed
}

/// Writes a new folder of files, which appears whole or not at all. There is nothing at `path` yet, or an empty folder.
///
/// # Errors
/// What the system says.
pub fn write_folder(path: &Path, files: &[(String, Vec<u8>)]) -> io::Result<()> {
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let hidden = path.with_file_name(format!("{PREFIX}{}-{count}{SUFFIX}", std::process::id()));
    if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
        fs::create_dir_all(above)?;
    }
    fs::create_dir(&hidden)?;
    let written = files.iter().try_for_each(|(name, bytes)| fs::write(hidden.join(name), bytes));
    let renamed = written.and_then(|()| fs::rename(&hidden, path));
    if renamed.is_err() {
        files.iter().for_each(|(name, _)| drop(fs::remove_file(hidden.join(name))));
        let _ = fs::remove_dir(&hidden);
    }
    renamed
}

/// A new hidden file in the folder of `path`: whatever bears its name already, a link above all, is left alone.
fn begin(path: &Path) -> io::Result<(PathBuf, File)> {
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let hidden = path.with_file_name(format!("{PREFIX}{}-{count}{SUFFIX}", std::process::id()));
    let open = || OpenOptions::new().read(true).write(true).create_new(true).open(&hidden);
    let file = match open() {
        // Of a process of our number that died.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(&hidden).and_then(|()| open())
        }
        made => made,
    };
    Ok((hidden, file?))
}

/// Whether a file name is one of those under which files are written.
pub(crate) fn is_being_written(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|rest| rest.ends_with(SUFFIX))
}

/// A hidden sibling: `.run.json.writing` for `run.json`.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{suffix}"))
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_stays_beside_it() {
        let place = tempdir().expect("a place for tests");
        let path = place.path().join("a.html");
        write_whole(&path, b"one").expect("a new file");
        write_whole(&path, b"two").expect("again");
        assert_eq!(fs::read(&path).expect("there"), b"two");
        write_whole(place.path(), b"x").expect_err("a folder");
        write_whole(&place.path().join("no/b"), b"x").expect_err("no such folder");
        assert_eq!(fs::read_dir(place.path()).expect("a folder").count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_replaced_and_devices_left() {
        let place = tempdir().expect("a place for tests");
        let (theirs, link) = (place.path().join("theirs"), place.path().join("link"));
        fs::write(&theirs, "precious").expect("writable");
        std::os::unix::fs::symlink(&theirs, &link).expect("a link");
        write_whole(&link, b"ours").expect("replaced");
        assert_eq!(fs::read(&theirs).expect("there"), b"precious");
        assert!(link.symlink_metadata().expect("there").is_file());
        write_whole(Path::new("/dev/null"), b"x").expect_err("a device");
        let null = place.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &null).expect("a link");
        write_whole(&null, b"x").expect_err("a link to a device");
        assert!(null.symlink_metadata().expect("there").is_symlink());
    }
}

//! What railtwin wrote into a folder, and taking away that and nothing else.
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::atomic;
use crate::columns::Shape;
use crate::error::{StoreError, check_name};
use crate::lock::LOCK_FILE;
use crate::run_folder::{FABRIC_FILE, REPORT_FILE, RUN_FILE, SCENARIO_FILE, TABLE_SUFFIX, TRACE_FILE};
use crate::seal;
use crate::table_writer::part_number;

/// Files of a run folder besides its tables.
const FILES: [&str; 6] = [RUN_FILE, SCENARIO_FILE, FABRIC_FILE, REPORT_FILE, TRACE_FILE, LOCK_FILE];
/// Bytes at the end of a table in which its seal is looked for.
const TAIL: u64 = 1 << 20;

/// Removes a run folder: all its files, then itself. Nothing is removed where there is anything in it that railtwin
/// does not write: another file, a folder, a symbolic link.
///
/// # Errors
/// [`StoreError::NotOurs`] naming the first of these, [`StoreError::Io`].
pub(crate) fn remove(folder: &Path) -> Result<(), StoreError> {
    let names = ours(folder)?;
    for name in names {
        let path = folder.join(name);
        fs::remove_file(&path).map_err(StoreError::io(&path, "remove the file"))?;
    }
    // What somebody put there meanwhile keeps the folder.
    fs::remove_dir(folder).map_err(StoreError::io(folder, "remove the run folder"))
}

/// Names of all that is in the folder, which is ours.
pub(crate) fn ours(folder: &Path) -> Result<Vec<String>, StoreError> {
    let fail = || StoreError::io(folder, "list the run folder");
    let foreign = |name: String| StoreError::NotOurs { path: folder.to_owned(), name };
    if !folder.symlink_metadata().map_err(fail())?.is_dir() {
        return Err(foreign("a symbolic link in its place".to_owned()));
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(fail())? {
        let entry = entry.map_err(fail())?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !entry.file_type().map_err(fail())?.is_file() || !is_ours(folder, &name) {
            return Err(foreign(name));
        }
        names.push(name);
    }
    names.sort_unstable();
    Ok(names)
}

fn is_ours(folder: &Path, name: &str) -> bool {
    if FILES.contains(&name) || atomic::is_being_written(name) {
        return true;
    }
    let Some(stem) = name.strip_suffix(TABLE_SUFFIX) else { return false };
    let table = stem.split_once('.').map_or(stem, |(table, _)| table);
    let is_named =
        check_name(folder, table, "table").is_ok() && (table == stem || part_number(name, table).is_some());
    is_named && (Shape::documented(table).is_some() || is_sealed(&folder.join(name)))
}

/// Whether a table that the records do not know has our seal in its metadata.
fn is_sealed(path: &Path) -> bool {
    let tail = || {
        let mut file = File::open(path)?;
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok::<_, std::io::Error>(bytes)
    };
    let key = seal::KEY.as_bytes();
    tail().is_ok_and(|bytes| bytes.windows(key.len()).any(|window| window == key))
}

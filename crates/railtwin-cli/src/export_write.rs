//! What `railtwin export` writes: a text, or files below a folder, all or none.
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use railtwin_store::write_whole;

use crate::{CliError, Streams};

/// Writes a text to a file, or to standard output.
pub(crate) fn one_file(text: &str, output: Option<&Path>, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let Some(path) = output else {
        write!(streams.out, "{text}")?;
        return Ok(streams.out.flush()?);
    };
    write_whole(path, text.as_bytes()).map_err(|error| {
        let message = format!("cannot write {}: {error}", path.display());
        CliError::input(message, "name a file in a folder that is there")
    })?;
    Ok(writeln!(streams.notes, "written to {}", path.display())?)
}

/// Writes files, and says how many.
pub(crate) fn written(
    folder: &Path,
    files: &[(&str, &[u8])],
    force: bool,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    write_all(folder, files, force)?;
    let stale = stale(folder, files);
    if stale > 0 {
        writeln!(
            streams.notes,
            "{stale} of the files that were in {} before are left there",
            folder.display()
        )?;
    }
    let (count, folder) = (files.len(), folder.display());
    Ok(writeln!(streams.out, "{count} {} in {folder}", if count == 1 { "file" } else { "files" })?)
}

/// Files below a folder that are not of this export.
fn stale(folder: &Path, files: &[(&str, &[u8])]) -> usize {
    let written: BTreeSet<PathBuf> = files.iter().map(|(name, _)| folder.join(name)).collect();
    let mut open = vec![folder.to_path_buf()];
    let mut count = 0;
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => open.push(path),
                false => count += usize::from(!written.contains(&path)),
            }
        }
    }
    count
}

/// Writes files below a folder, all or none where the folder is new.
fn write_all(folder: &Path, files: &[(&str, &[u8])], force: bool) -> Result<(), CliError> {
    let is_empty = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) if folder.symlink_metadata().is_ok() => {
            let message = format!("{} is no folder that can be read", folder.display());
            return Err(CliError::input(message, "name a folder, or one that is not there yet"));
        }
        Err(_) => true,
    };
    if !is_empty && !force {
        let message = format!("{} holds files already", folder.display());
        return Err(CliError::input(message, "name another folder, or write into it with --force"));
    }
    let failed = |path: &Path, error| CliError::Folder(format!("cannot write {}: {error}", path.display()));
    if !is_empty {
        // Each old file is replaced; links are not followed.
        return write_below(folder, files, write_whole);
    }
    // Beside the place, and renamed when all is there: nobody sees half of it.
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    if name.is_empty() {
        return write_below(folder, files, write_whole);
    }
    name.push(".railtwin-writing");
    let hidden = folder.with_file_name(name);
    let _ = fs::remove_dir_all(&hidden);
    let written = write_below(&hidden, files, |path, bytes| fs::write(path, bytes)).and_then(|()| {
        // A folder that is empty gives way; one that is not there needs none.
        let _ = fs::remove_dir(folder);
        fs::rename(&hidden, folder).map_err(|error| failed(folder, error))
    });
    if written.is_err() {
        let _ = fs::remove_dir_all(&hidden);
    }
    written
}

fn write_below(
    folder: &Path,
    files: &[(&str, &[u8])],
    write: impl Fn(&Path, &[u8]) -> std::io::Result<()>,
) -> Result<(), CliError> {
    let failed = |path: &Path, error| CliError::Folder(format!("cannot write {}: {error}", path.display()));
    let mut made = PathBuf::new();
    for (name, bytes) in files {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        if made != parent {
            fs::create_dir_all(parent).map_err(|error| failed(parent, error))?;
            parent.clone_into(&mut made);
        }
        write(&path, bytes).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

//! Topology files that a call names: one file, or a folder with the files of one topology.
use std::path::{Path, PathBuf};

use railtwin_formats::FormatError;
use railtwin_store::input;
use railtwin_topology::{Form, SourceFile, Topology, read_as};

use crate::CliError;

/// The topology of files that are read already.
///
/// # Errors
/// An input error for files of no form, and as the form has it.
pub(crate) fn of_bytes(
    files: &[(PathBuf, Vec<u8>)],
    form: Option<&'static Form>,
) -> Result<Topology, CliError> {
    let names: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
    let sources: Vec<SourceFile<'_>> =
        names.iter().zip(files).map(|(name, (_, bytes))| SourceFile { name, bytes }).collect();
    read_as(form, &sources).map_err(|error| refused(&error))
}

/// The topology of a file, or of the files of a folder.
///
/// # Errors
/// An input error for a path that cannot be read, and as [`of_bytes`].
pub(crate) fn of_path(path: &Path, help: &str) -> Result<Topology, CliError> {
    let failed = |path: &Path, error: &std::io::Error| {
        CliError::input(format!("cannot read {}: {error}", path.display()), help)
    };
    let mut paths = vec![path.to_path_buf()];
    if path.is_dir() {
        paths = files_of(path).map_err(|error| failed(path, &error))?;
        if paths.is_empty() {
            return Err(CliError::input(format!("{} holds no file", path.display()), help));
        }
    }
    let read = |path: PathBuf| match input::read_unpacked(&path) {
        Ok(bytes) => Ok((path, bytes)),
        Err(error) => Err(failed(&path, &error)),
    };
    let files: Vec<(PathBuf, Vec<u8>)> = paths.into_iter().map(read).collect::<Result<_, _>>()?;
    of_bytes(&files, None)
}

/// Files of a folder and of the folders in it, in order of their names, without licences and READMEs.
pub(crate) fn files_of(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut open = vec![(folder.to_path_buf(), 0)];
    while let Some((folder, depth)) = open.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            match path.is_dir() {
                // A folder for each device, and one above them: deeper ones are of something else.
                true if depth < 3 => open.push((path, depth + 1)),
                true => {}
                false if is_note(&path) => {}
                false => files.push(path),
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a file of a folder tells of the others: a licence or a README, or a hidden file.
fn is_note(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
    ["README", "LICENSE", "LICENCE", "NOTICE", "COPYING", "."].iter().any(|start| name.starts_with(start))
}

/// A refused file as an error of the command: what stands behind the last semicolon is the help.
pub(crate) fn refused(error: &FormatError) -> CliError {
    let text = error.to_string();
    match text.rsplit_once("; ") {
        Some((message, help)) => CliError::input(message, help),
        None => CliError::Input { message: text, help: None },
    }
}

/// Whether a file is a design with named ports, which ends in `.toml` as scenarios do.
pub(crate) fn is_blueprint(path: &Path) -> bool {
    let text = input::read_text(path);
    text.is_ok_and(|text| text.lines().any(|line| line.trim() == "[blueprint]"))
}

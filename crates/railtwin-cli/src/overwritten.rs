//! What a file to write must not be: something that is read.
use std::path::{Path, PathBuf};

use railtwin::report::is_page;
use railtwin_store::input::{self, Kind};
use railtwin_store::run_folder::RUN_FILE;

use crate::CliError;

/// Where a file is or will be. Its own name is not followed: a link is replaced, and what it leads to stays.
fn place(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(folder.canonicalize().ok()?.join(name))
}

/// Whether two paths that may not be there yet are one.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    place(one).is_some_and(|at| place(other) == Some(at))
}

/// Refuses to write to `path`, which `flag` names, where that is one of the files or folders `read`.
///
/// # Errors
/// An input error that names the flag and the file.
pub(crate) fn refuse_input(flag: &str, path: &Path, read: &[&Path]) -> Result<(), CliError> {
    let ends = |path: &Path| [place(path), path.canonicalize().ok()].into_iter().flatten();
    let own: Vec<PathBuf> = ends(path).collect();
    match read.iter().find(|input| ends(input).any(|end| own.contains(&end))) {
        Some(input) => {
            let message =
                format!("{flag} {}: would replace {}, which is read", path.display(), input.display());
            Err(CliError::input(message, "name another file"))
        }
        None => Ok(()),
    }
}

/// The same where folders are read with all that is in them: in a run folder nothing is written, and in another one
/// nothing is replaced but pages.
///
/// # Errors
/// An input error that names the flag and the file.
pub(crate) fn refuse_evidence(flag: &str, path: &Path, read: &[&Path]) -> Result<(), CliError> {
    let Some(own) = place(path) else { return Ok(()) };
    // A pattern of a shell names the page of the call before, too, and a page is no evidence.
    let is_page = is_page_at(&own);
    if !is_page {
        refuse_input(flag, path, read)?;
    }
    for given in read {
        let Some(folder) = given.canonicalize().ok().filter(|folder| own.starts_with(folder)) else {
            continue;
        };
        let mut between = own.ancestors().skip(1).take_while(|above| above.starts_with(&folder));
        if let Some(run) = between.find(|above| above.join(RUN_FILE).is_file()) {
            let message = format!("{flag} {}: lies in the run folder {}", path.display(), run.display());
            return Err(CliError::input(message, "name a file outside of run folders that are read"));
        }
        if !is_page && own.symlink_metadata().is_ok() {
            let given = given.display();
            let message =
                format!("{flag} {}: would replace a file of {given}, which is read", path.display());
            return Err(CliError::input(message, "name a file that is not there, or a page of railtwin"));
        }
    }
    Ok(())
}

fn is_page_at(path: &Path) -> bool {
    let text = input::read(path, Kind::Data).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.is_some_and(|text| is_page(&text))
}

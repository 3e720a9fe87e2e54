//! Programs of other projects: those of the system, else those that `scripts/need` unpacked beside the build.
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::host::LabError;

/// Folders in which Debian puts programs, below the root and below the folder of unpacked packages.
const FOLDERS: [&str; 5] =
    ["usr/bin", "usr/sbin", "usr/lib/frr", "usr/lib/openvswitch-switch", "usr/share/openvswitch"];

/// A program, and the libraries that it needs where it was unpacked.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Its file.
    pub path: PathBuf,
    libraries: Option<OsString>,
}

impl Tool {
    /// Finds a file of a package; `package` is what to install where it is missing.
    ///
    /// # Errors
    /// It is nowhere: with how to get it.
    pub fn find(name: &str, package: &str) -> Result<Self, LabError> {
        let at = |root: &Path| {
            FOLDERS.iter().map(|folder| root.join(folder).join(name)).find(|path| path.is_file())
        };
        if let Some(path) = at(Path::new("/")) {
            return Ok(Self { path, libraries: None });
        }
        for root in roots() {
            if let Some(path) = at(&root) {
                return Ok(Self { path, libraries: Some(libraries(&root)) });
            }
        }
        Err(LabError(format!(
            "there is no {name}: apt-get install {package}, or scripts/need from a checkout"
        )))
    }

    /// A call of it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        self.prepare(&mut command);
        command
    }

    /// Lets a command that starts this program, such as `ip netns exec`, hand it its libraries.
    pub fn prepare(&self, command: &mut Command) {
        if let Some(libraries) = &self.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
    }

    /// The folder below which the package was unpacked; none where it is installed.
    pub fn root(&self) -> Option<PathBuf> {
        self.libraries.as_ref()?;
        self.path.ancestors().find(|folder| folder.ends_with("tools")).map(Path::to_path_buf)
    }
}

/// Folders of unpacked packages: the one that `RAILTWIN_TOOLS` names, and `target/tools` above this program or here.
fn roots() -> Vec<PathBuf> {
    let named = std::env::var_os("RAILTWIN_TOOLS").map(PathBuf::from);
    let own = std::env::current_exe().ok();
    let beside = own.iter().flat_map(|own| own.ancestors().map(|folder| folder.join("tools")));
    let owner = |path: &Path| std::fs::metadata(path).ok().map(|known| known.uid());
    let own_user = own.as_deref().and_then(owner);
    let here = std::env::current_dir().ok().map(|folder| folder.join("target/tools"));
    // Root runs what root, or the owner of this program, put there, and nothing else.
    let here = here.filter(|folder| owner(folder).is_some_and(|user| user == 0 || Some(user) == own_user));
    named.into_iter().chain(beside).chain(here).collect()
}

/// Folders with libraries below the folder of unpacked packages.
fn libraries(root: &Path) -> OsString {
    let lib = root.join("usr/lib");
    let folders = std::fs::read_dir(&lib).into_iter().flatten().flatten().map(|entry| entry.path());
    let all: Vec<PathBuf> =
        folders.filter(|path| path.is_dir()).flat_map(|folder| [folder.join("frr"), folder]).collect();
    std::env::join_paths(all).unwrap_or_default()
}

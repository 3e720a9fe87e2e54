//! One writer at a time: a lock that the system takes back when its process ends, however it ends.
#[cfg(unix)]
use std::fs::Metadata;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use crate::error::StoreError;

/// The file in a folder that its writer holds locked.
pub(crate) const LOCK_FILE: &str = ".railtwin.lock";
/// Readers who ask whether somebody writes hold the lock for a moment; so often it is tried again.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// Whether the file that was opened is still the one at its place.
fn is_same(path: &Path, file: &File) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let place = |metadata: &Metadata| (metadata.dev(), metadata.ino());
        let (there, opened) =
            (path.symlink_metadata().map(|at| place(&at)), file.metadata().map(|at| place(&at)));
        matches!((there, opened), (Ok(there), Ok(opened)) if there == opened)
    }
    #[cfg(not(unix))]
    {
        file.metadata().is_ok() && path.symlink_metadata().is_ok()
    }
}

/// The right to write a folder, as long as a copy of it lives.
///
/// Where a file system knows no locks everybody gets one, and nobody is seen to hold it.
#[derive(Clone, Debug)]
pub(crate) struct Lock {
    _file: Arc<File>,
}

impl Lock {
    /// Locks `folder`, which is there.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when somebody else holds it; [`StoreError::Io`] for a lock file that cannot be made.
    pub(crate) fn of(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(LOCK_FILE);
        let busy = || StoreError::Busy { path: folder.to_owned() };
        if path.symlink_metadata().is_ok_and(|there| !there.is_file()) {
            return Err(StoreError::NotOurs { path: folder.to_owned(), name: LOCK_FILE.to_owned() });
        }
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = open.map_err(StoreError::io(&path, "lock the folder"))?;
        for _ in 0..ATTEMPTS {
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => sleep(PAUSE),
                Ok(()) | Err(TryLockError::Error(_)) => {
                    // Who held it may have taken the folder away meanwhile.
                    return if is_same(&path, &file) {
                        Ok(Self { _file: Arc::new(file) })
                    } else {
                        Err(busy())
                    };
                }
            }
        }
        Err(busy())
    }

    /// Takes the file away from a folder that is not written any more; the lock itself goes with its last copy.
    pub(crate) fn remove_file(&self, folder: &Path) {
        // A file that stays does no harm.
        let _ = fs::remove_file(folder.join(LOCK_FILE));
    }

    /// Whether somebody writes `folder` now; none where that cannot be told.
    pub(crate) fn is_held(folder: &Path) -> Option<bool> {
        let path: PathBuf = folder.join(LOCK_FILE);
        match path.symlink_metadata() {
            // Whoever writes makes it first.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(false),
            Ok(there) if there.is_file() => {}
            _ => return None,
        }
        match File::open(&path).ok()?.try_lock_shared() {
            Ok(()) => Some(false),
            Err(TryLockError::WouldBlock) => Some(true),
            Err(TryLockError::Error(_)) => None,
        }
    }
}

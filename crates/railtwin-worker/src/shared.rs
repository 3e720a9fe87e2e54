//! Memory that an observer and its rank share: words in an anonymous file, mapped by both.
//!
//! The one place with `unsafe` in this crate: the mapping becomes a slice of atomics.
#![allow(
    unsafe_code,
    reason = "a shared mapping as a slice of atomics; the reason for soundness stands at the block"
)]
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use memmap2::MmapRaw;
use nix::sys::memfd::{MFdFlags, memfd_create};

/// A shared mapping of `words` words.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    map: MmapRaw,
    words: usize,
    /// Kept open by the creator, so that the other process can open it by name.
    file: File,
}

impl SharedMemory {
    /// Creates zeroed memory. Nothing is left of it once both processes have ended.
    ///
    /// # Errors
    /// The kernel has no memory file, or no room for it.
    pub(crate) fn create(words: usize) -> io::Result<Self> {
        let file = File::from(memfd_create(c"railtwin-worker", MFdFlags::MFD_CLOEXEC)?);
        file.set_len(words as u64 * 8)?;
        Self::of(file, words)
    }

    /// Opens memory that another process of the same user has created, by its [`SharedMemory::name`].
    ///
    /// # Errors
    /// The creator has ended, or the memory has another size.
    pub(crate) fn open(name: &Path, words: usize) -> io::Result<Self> {
        let file = File::options().read(true).write(true).open(name)?;
        if file.metadata()?.len() != words as u64 * 8 {
            return Err(io::Error::other("the shared memory has another size"));
        }
        Self::of(file, words)
    }

    /// The name by which another process opens it.
    pub(crate) fn name(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()))
    }

    fn of(file: File, words: usize) -> io::Result<Self> {
        let map = MmapRaw::map_raw(&file)?;
        Ok(Self { map, words, file })
    }

    /// The words.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is page-aligned, `words * 8` bytes long (both constructors set or check the length of the
        // file), lives as long as `self`, and is only ever accessed as `AtomicU64`, in this and in the other process.
        // The file never shrinks: nobody else has its name.
        unsafe { std::slice::from_raw_parts(self.map.as_mut_ptr().cast::<AtomicU64>(), self.words) }
    }
}

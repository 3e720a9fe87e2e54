//! Memory and time of what is read from files.
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::{Cost, LEAST, PROGRAM};
use crate::estimate::gib;

/// First two bytes of a gzip file (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Levels of folders that are searched for files.
const DEPTH_MOST: u32 = 16;

/// What a verb does with the files that it reads.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Bytes held for each unpacked byte.
    pub held: f64,
    /// Unpacked bytes of a second.
    pub bytes_per_s: f64,
}

impl Reading {
    /// Evidence of a cluster: logs, traces, dumps, counters, and what detectors make of them.
    pub const EVIDENCE: Self = Self { held: 2.0, bytes_per_s: 60e6 };
    /// Workloads and topologies of other programs.
    pub const IMPORTED: Self = Self { held: 4.0, bytes_per_s: 40e6 };
    /// Run folders and their reports.
    pub const FOLDERS: Self = Self { held: 4.0, bytes_per_s: 60e6 };
}

/// Cost of reading `paths`: files, and folders with all below them. What cannot be read counts nothing: the verb says so.
pub fn of_files(paths: &[PathBuf], reading: Reading) -> Cost {
    let bytes: u64 = paths.iter().map(|path| unpacked(path, 0)).sum();
    let bytes = bytes as f64;
    Cost {
        rows: format!("{} of files, unpacked", gib(bytes)),
        bytes: PROGRAM + bytes * reading.held,
        seconds: LEAST + bytes / reading.bytes_per_s,
        remedy: "fewer files",
    }
}

/// Bytes of a file or of all files below a folder, unpacked where gzip says how many there are.
fn unpacked(path: &Path, depth: u32) -> u64 {
    let Ok(found) = path.metadata() else { return 0 };
    if found.is_dir() {
        let Ok(entries) = path.read_dir() else { return 0 };
        let below = entries.flatten().map(|entry| entry.path());
        return if depth < DEPTH_MOST { below.map(|path| unpacked(&path, depth + 1)).sum() } else { 0 };
    }
    if !found.is_file() {
        return 0;
    }
    length_of_gzip(path).map_or(found.len(), |length| length.max(found.len()))
}

/// Unpacked bytes of a file of gzip, modulo 4 GiB: its last four bytes (RFC 1952, ISIZE).
fn length_of_gzip(path: &Path) -> Option<u64> {
    let mut file = File::open(path).ok()?;
    let mut magic = [0; 2];
    file.read_exact(&mut magic).ok()?;
    if magic != GZIP {
        return None;
    }
    let mut length = [0; 4];
    file.seek(SeekFrom::End(-4)).ok()?;
    file.read_exact(&mut length).ok()?;
    Some(u32::from_le_bytes(length).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_folders_and_packed_files_are_counted_as_they_unpack() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain");
        std::fs::write(&plain, vec![b'x'; 1000]).unwrap();
        std::fs::create_dir(folder.path().join("below")).unwrap();
        // Magic, what is packed, and the length of what it unpacks to.
        let packed = [&GZIP[..], &[0; 20], &50_000_u32.to_le_bytes()].concat();
        std::fs::write(folder.path().join("below/packed.gz"), packed).unwrap();
        assert_eq!(unpacked(&plain, 0), 1000);
        assert_eq!(unpacked(folder.path(), 0), 51_000);
        assert_eq!(unpacked(&folder.path().join("none"), 0), 0);
        let cost = of_files(&[plain], Reading { held: 2.0, bytes_per_s: 1000.0 });
        assert_eq!(cost.bytes, PROGRAM + 2000.0);
        assert_eq!(cost.seconds, LEAST + 1.0);
    }
}

//! Checkpoints: one file for each rank, complete once renamed; a job resumes from the newest that all ranks have.
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::error::WorkerError;
use crate::job::CheckpointSpec;

/// Checkpoints that a rank keeps: the newest may be missing at another rank.
const KEPT: u64 = 2;
const MARK: [u8; 8] = *b"rtwckpt1";
const BLOCK: usize = 64 << 10;

fn path(folder: &Path, step: u64, rank: usize) -> PathBuf {
    folder.join(format!("step-{step}.r{rank}"))
}

/// Writes the checkpoint after `step` steps, waits until it is on the disk, and removes old ones.
pub(crate) fn write(spec: &CheckpointSpec, rank: usize, step: u64) -> Result<(), WorkerError> {
    let make = || -> io::Result<()> {
        fs::create_dir_all(&spec.folder)?;
        let (whole, part) = (path(&spec.folder, step, rank), spec.folder.join(format!("part.r{rank}")));
        let mut file = BufWriter::new(File::create(&part)?);
        let mut sum = Sum::default();
        let mut put = |bytes: &[u8]| {
            sum.take(bytes);
            file.write_all(bytes)
        };
        put(&MARK)?;
        put(&step.to_le_bytes())?;
        let block = vec![(step as u8) ^ (rank as u8); BLOCK];
        let mut left = spec.bytes as usize;
        while left > 0 {
            let count = left.min(BLOCK);
            put(&block[..count])?;
            left -= count;
        }
        let sum = sum.0.to_le_bytes();
        file.write_all(&sum)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&part, whole)?;
        File::open(&spec.folder)?.sync_all()?;
        if let Some(old) = step.checked_sub(KEPT * spec.every) {
            // One that is not there is no error.
            let _ = fs::remove_file(path(&spec.folder, old, rank));
        }
        Ok(())
    };
    let shown = spec.folder.display();
    make().map_err(|error| WorkerError::Failed(format!("cannot write a checkpoint in {shown}: {error}")))
}

/// The newest complete checkpoint of a rank: the number of steps that it holds.
pub(crate) fn newest(spec: &CheckpointSpec, rank: usize) -> Option<u64> {
    let end = format!(".r{rank}");
    let names =
        fs::read_dir(&spec.folder).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let steps = names.filter_map(|name| name.strip_prefix("step-")?.strip_suffix(&end)?.parse().ok());
    let mut steps: Vec<u64> = steps.collect();
    steps.sort_unstable();
    steps.into_iter().rev().find(|step| is_whole(&path(&spec.folder, *step, rank), *step))
}

/// Whether a rank has a complete checkpoint of a step.
pub(crate) fn has(spec: &CheckpointSpec, rank: usize, step: u64) -> bool {
    is_whole(&path(&spec.folder, step, rank), step)
}

fn is_whole(path: &Path, step: u64) -> bool {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    let Some(split) = read.ok().and_then(|count| count.checked_sub(8)) else { return false };
    let (content, sum) = bytes.split_at(split);
    let mut own = Sum::default();
    own.take(content);
    content.starts_with(&MARK) && content[8..].starts_with(&step.to_le_bytes()) && sum == own.0.to_le_bytes()
}

/// FNV-1a of 64 bits.
struct Sum(u64);

impl Default for Sum {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Sum {
    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_whole_checkpoint_is_found() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let spec = CheckpointSpec { every: 10, bytes: 100_000, folder: folder.path().join("made") };
        assert_eq!(newest(&spec, 3), None);
        for step in [10, 20, 30] {
            write(&spec, 3, step).expect("the folder takes files");
        }
        assert_eq!((newest(&spec, 3), newest(&spec, 1)), (Some(30), None));
        assert!(!has(&spec, 3, 10), "the third newest is gone");
        let cut = fs::read(path(&spec.folder, 30, 3)).expect("it was written");
        fs::write(path(&spec.folder, 30, 3), &cut[..cut.len() - 100]).expect("the folder takes files");
        assert_eq!(newest(&spec, 3), Some(20), "one that is cut off is none");
    }
}

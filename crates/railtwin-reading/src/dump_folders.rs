//! Folders in which dumps of a Flight Recorder lie: those of two folders with the same ranks are of two jobs, or of one at two
//! times.
//!
//! Which of two dumps of a rank is the later one, and whether they are of one job, they do not tell. Judged together they
//! contradict each other, which is how a job looks that went on: two jobs that hang would be told to be well.
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use railtwin_formats::telemetry::{FlightRecorderDump, ranks_of_path};

use crate::error::Error;

/// Ranks that an error names.
const NAMED: usize = 4;

/// Dumps by folder, rank and writer, as what their bytes come to: a copy of a dump is no other one.
#[derive(Debug, Default)]
pub(super) struct DumpFolders(BTreeMap<PathBuf, BTreeMap<(u32, bool), Vec<u64>>>);

impl DumpFolders {
    pub(super) fn add(&mut self, path: &Path, dump: &FlightRecorderDump, bytes: &[u8]) {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let of_folder = self.0.entry(folder_of(path)).or_default();
        // NCCL's and Gloo's dumps of a rank may lie apart.
        of_folder.entry((dump.rank, dump.of_gloo)).or_default().push(hasher.finish());
    }

    /// # Errors
    /// [`Error::Argument`] where two folders have dumps of the same ranks that are no copies.
    pub(super) fn check(&self) -> Result<(), Error> {
        for (at, (folder, ranks)) in self.0.iter().enumerate() {
            for (other, others) in self.0.iter().skip(at + 1) {
                let differ = |(rank, dumps): &(&(u32, bool), &Vec<u64>)| {
                    others.get(*rank).is_some_and(|known| {
                        known.iter().any(|one| !dumps.contains(one))
                            || dumps.iter().any(|one| !known.contains(one))
                    })
                };
                let mut both: Vec<u32> = ranks.iter().filter(differ).map(|((rank, _), _)| *rank).collect();
                both.dedup();
                if both.is_empty() {
                    continue;
                }
                let names: Vec<String> = both.iter().take(NAMED).map(u32::to_string).collect();
                let more = if both.len() > NAMED { ", …" } else { "" };
                let word = if both.len() > 1 { "ranks" } else { "rank" };
                let (folder, other) = (folder.display(), other.display());
                return Err(Error::Argument(format!(
                    "{folder} and {other} both have dumps of {word} {}{more}: those of two jobs, or of two times, are not judged \
                     together; give one of these folders, or both of one job as {folder} --later {other} if the second one is of \
                     a later time",
                    names.join(", ")
                )));
            }
        }
        Ok(())
    }
}

/// The folder of a dump; one for each rank (`rank3/dump.pkl`) is none by itself.
fn folder_of(path: &Path) -> PathBuf {
    let folder = path.parent().unwrap_or(Path::new(""));
    // A name that tells nothing shows whether the folder does.
    let is_of_rank = !ranks_of_path(&folder.join("dump").display().to_string()).is_empty();
    let own = if is_of_rank { folder.parent() } else { None };
    own.unwrap_or(folder).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_for_each_rank_is_none_by_itself() {
        let of = |path: &str| folder_of(Path::new(path)).display().to_string();
        assert_eq!(of("job/rank3/dump.pkl"), "job");
        assert_eq!(of("job/rank_12/nccl_trace_rank_12"), "job");
        assert_eq!(of("job/gpu_error_1st/_dump_3"), "job/gpu_error_1st");
        assert_eq!(of("node7/3.pkl"), "node7");
        assert_eq!(of("3.pkl"), "");
    }
}

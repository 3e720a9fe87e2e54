//! The spool: what was read of files, as it stood in them, so that rotation and truncation lose nothing and a watch that starts
//! again judges the same bytes.
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::follow::{Growth, Piece};

/// Readings of counters that are kept of one file, beside the first one.
const READINGS: usize = 12;
/// Bytes that are kept of one log; beyond, its older half is forgotten.
const MOST: u64 = 256 << 20;

/// A folder with the bytes of all streams that are judged by files.
#[derive(Clone, Debug)]
pub(crate) struct Spool {
    root: PathBuf,
    pub(crate) index: Index,
}

/// Files of a spool with their valid lengths.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(crate) struct Index {
    files: BTreeMap<String, Entry>,
}

#[derive(Clone, Default, Debug, Serialize, Deserialize)]
struct Entry {
    /// Stream that it is of.
    stream: String,
    /// Bytes that count; more are of a write that was not finished.
    len: u64,
    /// Last change of the file that they are of, ns since 1970.
    changed_ns: u64,
}

impl Spool {
    /// Opens a spool in which an index lies, and cuts what was written beyond it; also the streams of which something is
    /// gone.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn open(root: PathBuf, index: Index) -> io::Result<(Self, Vec<String>)> {
        fs::create_dir_all(&root)?;
        let mut spool = Self { root, index };
        let mut gone = Vec::new();
        for (name, entry) in &spool.index.files {
            let path = spool.path(name);
            match OpenOptions::new().write(true).open(&path) {
                Ok(file) if file.metadata()?.len() >= entry.len => {
                    file.set_len(entry.len)?;
                    file.set_modified(UNIX_EPOCH + Duration::from_nanos(entry.changed_ns))?;
                }
                _ => gone.push(entry.stream.clone()),
            }
        }
        spool.index.files.retain(|_, entry| !gone.contains(&entry.stream));
        spool.sweep()?;
        Ok((spool, gone))
    }

    /// The folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether nothing lies in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.index.files.is_empty()
    }

    /// Bytes that lie in it.
    pub(crate) fn bytes(&self) -> u64 {
        self.index.files.values().map(|entry| entry.len).sum()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The last bytes of a stream of lines.
    pub(crate) fn tail(&self, name: &str, most: usize) -> Vec<u8> {
        let Some(entry) = self.index.files.get(name) else { return Vec::new() };
        let mut bytes = Vec::new();
        let from = entry.len.saturating_sub(most as u64);
        let read = File::open(self.path(name)).and_then(|mut file| {
            file.seek(SeekFrom::Start(from))?;
            file.take(entry.len - from).read_to_end(&mut bytes)
        });
        if read.is_err() {
            bytes.clear();
        }
        bytes
    }

    /// Takes what is new in a stream.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn take(&mut self, piece: &Piece) -> io::Result<()> {
        let mut name = piece.stream.clone();
        let is_known = self.index.files.contains_key(&name);
        if piece.growth == Growth::Reading && is_known {
            name = match piece.continues {
                true => self.newest_of(&piece.stream).unwrap_or(name),
                false => reading_name(&piece.stream, piece.changed_ns),
            };
        }
        let path = self.path(&name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let entry = self.index.files.entry(name.clone()).or_default();
        if piece.replaces {
            entry.len = 0;
        }
        let mut file = OpenOptions::new().create(true).truncate(piece.replaces).write(true).open(&path)?;
        file.set_len(entry.len)?;
        file.seek(SeekFrom::End(0))?;
        file.write_all(&piece.bytes)?;
        // Files without times of their own have that of their last change.
        file.set_modified(UNIX_EPOCH + Duration::from_nanos(piece.changed_ns))?;
        entry.len += piece.bytes.len() as u64;
        entry.stream.clone_from(&piece.stream);
        entry.changed_ns = piece.changed_ns;
        if piece.growth.appends() && entry.len > MOST {
            self.halve(&name, MOST / 2)?;
        }
        self.keep_readings(&piece.stream)
    }

    fn newest_of(&self, stream: &str) -> Option<String> {
        let of_stream = self.index.files.iter().filter(|(_, entry)| entry.stream == stream);
        of_stream.max_by_key(|(_, entry)| entry.changed_ns).map(|(name, _)| name.clone())
    }

    /// Keeps the newest lines of a log, at most so many bytes of them.
    fn halve(&mut self, name: &str, most: u64) -> io::Result<()> {
        let tail = self.tail(name, usize::try_from(most).unwrap_or(usize::MAX));
        let from = tail.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let path = self.path(name);
        fs::write(&path, &tail[from..])?;
        if let Some(entry) = self.index.files.get_mut(name) {
            entry.len = (tail.len() - from) as u64;
            let changed = UNIX_EPOCH + Duration::from_nanos(entry.changed_ns);
            File::options().write(true).open(&path)?.set_modified(changed)?;
        }
        Ok(())
    }

    /// Removes the oldest readings of a stream but the first where there are many.
    fn keep_readings(&mut self, stream: &str) -> io::Result<()> {
        let of_stream = |(name, entry): (&String, &Entry)| {
            (entry.stream == stream && name != stream).then(|| (entry.changed_ns, name.clone()))
        };
        let mut readings: Vec<(u64, String)> = self.index.files.iter().filter_map(of_stream).collect();
        readings.sort();
        let more = readings.len().saturating_sub(READINGS);
        readings.drain(..more).try_for_each(|(_, name)| self.remove(&name))
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.index.files.remove(name);
        match fs::remove_file(self.path(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Gives a stream another name.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let Some(mut entry) = self.index.files.remove(from) else { return Ok(()) };
        let path = self.path(to);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::rename(self.path(from), path)?;
        to.clone_into(&mut entry.stream);
        self.index.files.insert(to.to_owned(), entry);
        Ok(())
    }

    /// Removes what last changed before a moment, ns since 1970; the streams of which nothing is left.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn expire(&mut self, before_ns: u64) -> io::Result<Vec<String>> {
        let old = self.index.files.iter().filter(|(_, entry)| entry.changed_ns < before_ns);
        let old: Vec<(String, String)> =
            old.map(|(name, entry)| (name.clone(), entry.stream.clone())).collect();
        for (name, _) in &old {
            self.remove(name)?;
        }
        let mut streams: Vec<String> = old.into_iter().map(|(_, stream)| stream).collect();
        streams.sort();
        streams.dedup();
        streams.retain(|stream| self.index.files.values().all(|entry| entry.stream != *stream));
        Ok(streams)
    }

    /// Removes files that are in no index: of a write that was not finished.
    fn sweep(&self) -> io::Result<()> {
        let mut open = vec![self.root.clone()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder)? {
                let path = entry?.path();
                let name = path.strip_prefix(&self.root).ok().and_then(Path::to_str);
                if path.is_dir() {
                    open.push(path);
                } else if name.is_none_or(|name| !self.index.files.contains_key(name)) {
                    fs::remove_file(&path)?;
                }
            }
        }
        Ok(())
    }
}

/// The name of a later reading: readers take digits in it for its time, so that the host is still that of the name.
fn reading_name(stream: &str, changed_ns: u64) -> String {
    let (folder, file) = stream.rsplit_once('/').map_or(("", stream), |(folder, file)| (folder, file));
    let (stem, end) =
        file.rsplit_once('.').map_or((file, String::new()), |(stem, end)| (stem, format!(".{end}")));
    let slash = if folder.is_empty() { "" } else { "/" };
    format!("{folder}{slash}{stem}.{}{end}", changed_ns / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(stream: &str, growth: Growth, bytes: &[u8], changed_ns: u64) -> Piece {
        let replaces = !growth.appends();
        Piece { stream: stream.into(), growth, bytes: bytes.to_vec(), replaces, continues: false, changed_ns }
    }

    #[test]
    fn what_was_written_beyond_the_index_is_cut() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("spool");
        let (mut spool, _) = Spool::open(root.clone(), Index::default()).expect("a spool");
        spool.take(&piece("a/b.log", Growth::Lines, b"one\n", 1)).expect("written");
        let index = spool.index.clone();
        spool.take(&piece("a/b.log", Growth::Lines, b"two\n", 2)).expect("written");
        spool.take(&piece("c.log", Growth::Lines, b"three\n", 2)).expect("written");
        let (spool, gone) = Spool::open(root.clone(), index).expect("a spool");
        assert!(gone.is_empty());
        assert_eq!(spool.tail("a/b.log", 100), b"one\n");
        assert!(!root.join("c.log").exists());
    }

    #[test]
    fn of_a_long_log_the_newest_lines_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut spool, _) = Spool::open(folder.path().join("spool"), Index::default()).expect("a spool");
        spool.take(&piece("a.log", Growth::Lines, b"one\ntwo\nthree\nfour\n", 1)).expect("written");
        spool.halve("a.log", 12).expect("cut");
        assert_eq!(spool.tail("a.log", 100), b"three\nfour\n");
        spool.take(&piece("a.log", Growth::Lines, b"five\n", 2)).expect("written");
        assert_eq!(spool.tail("a.log", 100), b"three\nfour\nfive\n");
    }

    #[test]
    fn readings_are_kept_and_documents_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut spool, _) = Spool::open(folder.path().join("spool"), Index::default()).expect("a spool");
        for at in 1..40_u64 {
            let at_ns = at * 60_000_000_000;
            spool.take(&piece("node1.txt", Growth::Reading, b"rx: 1", at_ns)).expect("written");
            spool.take(&piece("state.json", Growth::Document, b"{}", at_ns)).expect("written");
        }
        let names: Vec<&String> = spool.index.files.keys().collect();
        assert_eq!(names.len(), 2 + READINGS, "{names:?}");
        assert_eq!(spool.expire(u64::MAX).expect("removed"), ["node1.txt", "state.json"]);
        assert!(spool.is_empty());
    }
}

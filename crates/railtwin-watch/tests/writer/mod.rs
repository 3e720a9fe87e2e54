//! A writer of files as clusters write them: in pieces cut anywhere, rotated, truncated, replaced, late.
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Chance by a linear congruential generator (Knuth, MMIX).
pub struct Lot(u64);

impl Lot {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }
}

/// A file that is being written.
struct Writing {
    path: PathBuf,
    bytes: Vec<u8>,
    written: usize,
    /// Whether it is a log that is appended to and rotated; others are documents.
    is_log: bool,
    rotations: usize,
    is_late: bool,
}

/// Writes copies of files.
pub struct Writer {
    files: Vec<Writing>,
    lot: Lot,
}

impl Writer {
    /// A writer of copies of all files below `from`, to `to`.
    pub fn new(from: &Path, to: &Path, seed: u64) -> Self {
        let mut lot = Lot::new(seed);
        let mut files = Vec::new();
        let mut open = vec![from.to_owned()];
        while let Some(folder) = open.pop() {
            let entries = fs::read_dir(&folder).expect("evidence is there");
            let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("listed").path()).collect();
            paths.sort();
            for path in paths {
                if path.is_dir() {
                    open.push(path);
                    continue;
                }
                let target = to.join(path.strip_prefix(from).expect("below"));
                fs::create_dir_all(target.parent().expect("has one")).expect("made");
                files.push(Writing {
                    bytes: fs::read(&path).expect("evidence is read"),
                    written: 0,
                    is_log: path.extension().is_some_and(|end| end == "log"),
                    path: target,
                    rotations: 0,
                    is_late: lot.below(4) == 0,
                });
            }
        }
        Self { files, lot }
    }

    /// Logs of which a copy below `copies` is not what was written below `root`, and copies of other files, which are of logs
    /// that were not known again.
    pub fn not_whole(&self, copies: &Path, root: &Path) -> Vec<PathBuf> {
        let logs = self.files.iter().filter(|file| file.is_log);
        let copy = |file: &Writing| copies.join(file.path.strip_prefix(root).expect("below"));
        let broken = logs.filter(|file| fs::read(copy(file)).unwrap_or_default() != file.bytes);
        let mut all: Vec<PathBuf> = broken.map(|file| file.path.clone()).collect();
        let known: Vec<PathBuf> = self.files.iter().map(copy).collect();
        let mut open = vec![copies.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).expect("copies are there") {
                let path = entry.expect("listed").path();
                match path.is_dir() {
                    true => open.push(path),
                    false if !known.contains(&path) => all.push(path),
                    false => {}
                }
            }
        }
        all
    }

    /// Writes some more of some files; all of the rest in the last round.
    pub fn write(&mut self, round: usize, rounds: usize) {
        let is_last = round + 1 >= rounds;
        for file in &mut self.files {
            if file.is_late && round * 2 < rounds && !is_last {
                continue;
            }
            let rest = file.bytes.len() - file.written;
            let some = match is_last {
                true => rest,
                false => self.lot.below(2 * file.bytes.len() / rounds + 2).min(rest),
            };
            match file.is_log {
                true => file.append(some, &mut self.lot),
                false => file.replace(some, is_last, &mut self.lot),
            }
        }
    }
}

impl Writing {
    fn append(&mut self, some: usize, lot: &mut Lot) {
        // A program writes lines whole before its log is rotated.
        let at_line = self.written > 0 && self.bytes[self.written - 1] == b'\n';
        if at_line && self.path.exists() && lot.below(3) == 0 {
            self.rotate(lot.below(4));
        }
        let mut end = self.written + some;
        // Every other piece ends with a line, so that logs are rotated at all.
        if lot.below(2) == 0 {
            end += self.bytes[end..].iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        }
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        file.and_then(|mut file| file.write_all(&self.bytes[self.written..end])).expect("written");
        self.written = end;
    }

    fn rotate(&mut self, how: usize) {
        self.rotations += 1;
        let name = |number: usize, end: &str| PathBuf::from(format!("{}.{number}{end}", self.path.display()));
        for number in (1..self.rotations).rev() {
            for end in ["", ".gz"].into_iter().filter(|end| name(number, end).exists()) {
                fs::rename(name(number, end), name(number + 1, end)).expect("renamed");
            }
        }
        let compress = |bytes: &[u8]| {
            let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
            packed.write_all(bytes).and_then(|()| packed.finish()).expect("packed")
        };
        let whole = fs::read(&self.path).expect("read");
        let cut = || OpenOptions::new().write(true).truncate(true).open(&self.path).expect("cut");
        match how {
            // `create`: the writer goes on in a new file.
            0 => fs::rename(&self.path, name(1, "")).expect("renamed"),
            // `copytruncate`.
            1 => {
                fs::write(name(1, ""), &whole).expect("copied");
                cut();
            }
            // `copytruncate` and `compress`.
            2 => {
                fs::write(name(1, ".gz"), compress(&whole)).expect("copied");
                cut();
            }
            // `create` and `compress`: the old file is gone at once.
            _ => {
                fs::write(name(1, ".gz"), compress(&whole)).expect("copied");
                fs::remove_file(&self.path).expect("removed");
            }
        }
    }

    fn replace(&mut self, some: usize, is_last: bool, lot: &mut Lot) {
        if self.written == self.bytes.len() && self.path.exists() {
            return;
        }
        self.written += some;
        let part = &self.bytes[..self.written];
        if lot.below(2) == 0 {
            fs::write(&self.path, part).expect("written");
        } else if is_last || self.written == self.bytes.len() {
            let beside = self.path.with_extension("partial");
            fs::write(&beside, part).and_then(|()| fs::rename(&beside, &self.path)).expect("written");
        }
    }
}

//! Follows the files below a folder: what is new in them, once, through rotation, truncation, and files that come late.
mod kind;
mod list;
mod part;
mod stream;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use railtwin_store::input;
use serde::{Deserialize, Serialize};

pub use kind::Growth;
use list::{Inode, Listed, files_below, unrotated};
use stream::Stream;

/// Gives the last bytes that were taken of a stream, as many as asked for at most.
pub(crate) type Tail<'a> = dyn Fn(&str, usize) -> Vec<u8> + 'a;

/// Copies of rotated logs that are remembered.
const COPIES: usize = 4096;

/// Bytes that are new in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Name of the stream: the path of its file below the folder, before it was rotated.
    pub stream: String,
    /// How it grows.
    pub growth: Growth,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether they take the place of what there was.
    pub replaces: bool,
    /// Whether they are the whole of a document of which the beginning was taken before.
    pub continues: bool,
    /// Last change of the file, ns since 1970.
    pub changed_ns: u64,
}

/// A file with the name of a rotated log.
enum Rotated {
    /// A copy of what was read, with what was not.
    Known(Option<Piece>),
    /// A part of which nothing was read.
    Missed,
}

/// Result of one look at the folder.
#[derive(Debug, Default)]
pub struct Look {
    /// New bytes, by stream.
    pub pieces: Vec<Piece>,
    /// Streams that have another name now: the old one and the new one.
    pub renamed: Vec<(String, String)>,
    /// Unreadable files and folders, each with its error.
    pub unread: Vec<(PathBuf, String)>,
}

/// How far each file was read. A follower that is stored and read back goes on where it was.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Follower {
    streams: BTreeMap<String, Stream>,
    copies: BTreeSet<Inode>,
}

impl Follower {
    /// Streams that are known.
    pub fn len(&self) -> usize {
        self.streams.len()
    }

    /// Whether nothing is followed.
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// Whether there are live records among them.
    pub fn has_live(&self) -> bool {
        self.streams.values().any(|stream| stream.growth == Growth::Live)
    }

    /// Looks at all files below a folder, but not at those below `not`. Files last changed before `settled_ns` are taken for
    /// whole; others are when they have not changed between two looks.
    pub fn look(&mut self, root: &Path, not: &Path, settled_ns: u64, tail: &Tail<'_>) -> Look {
        let (files, unread) = files_below(root, not);
        let mut look = Look { unread, ..Look::default() };
        let (files, missed) = self.without_copies(root, files, &mut look);
        let (moved, others) = self.known_and_others(root, files, &mut look);
        for (name, file) in moved {
            self.grow(root, &name, &file, settled_ns, tail, &mut look);
        }
        for file in missed {
            look.pieces.extend(self.whole(root, &file));
        }
        for file in others {
            match self.streams.get_mut(&file.path) {
                // The place of a file that was rotated away or removed.
                Some(stream) => {
                    stream.inode = file.inode;
                    stream.path.clone_from(&file.path);
                    if stream.growth.appends() {
                        let anew = stream.written_anew(&root.join(&file.path), &file.path, &file, tail);
                        look.take(&file.path, anew);
                    } else {
                        let name = file.path.clone();
                        self.grow(root, &name, &file, settled_ns, tail, &mut look);
                    }
                }
                None => {
                    let name = file.path.clone();
                    self.streams.insert(name.clone(), Stream::begun(&file));
                    self.grow(root, &name, &file, settled_ns, tail, &mut look);
                }
            }
        }
        look
    }

    /// Looks at the files of live records that are known, and at nothing else.
    pub fn look_at_live(&mut self, root: &Path, tail: &Tail<'_>) -> Look {
        let mut look = Look::default();
        let live = self.streams.iter().filter(|(_, stream)| stream.growth == Growth::Live);
        let known: Vec<(String, String, Inode)> =
            live.map(|(name, stream)| (name.clone(), stream.path.clone(), stream.inode)).collect();
        for (name, path, inode) in known {
            let Ok(about) = root.join(&path).metadata() else { continue };
            let file = Listed::of(path, &about);
            // Another file at its place is for the next look at all files.
            if file.inode == inode {
                self.grow(root, &name, &file, 0, tail, &mut look);
            }
        }
        look
    }

    fn grow(
        &mut self,
        root: &Path,
        name: &str,
        file: &Listed,
        settled_ns: u64,
        tail: &Tail<'_>,
        look: &mut Look,
    ) {
        if let Some(stream) = self.streams.get_mut(name) {
            look.take(&file.path, stream.grow(root, name, file, settled_ns, tail));
        }
    }

    /// Takes copies of logs that were read out of a listing, such as those that `copytruncate` and compression make. Then
    /// come the files that were written and rotated away between two looks, for when the part before them is read.
    fn without_copies(
        &mut self,
        root: &Path,
        files: Vec<Listed>,
        look: &mut Look,
    ) -> (Vec<Listed>, Vec<Listed>) {
        let known: BTreeMap<Inode, &Stream> =
            self.streams.values().map(|stream| (stream.inode, stream)).collect();
        let is_known = |file: &Listed| known.get(&file.inode).is_some_and(|stream| is_of(stream, root, file));
        let followed: BTreeSet<String> =
            files.iter().filter(|file| is_known(file)).map(|file| file.path.clone()).collect();
        let listed: BTreeMap<String, Listed> =
            files.iter().map(|file| (file.path.clone(), file.clone())).collect();
        let there: BTreeSet<Inode> = files.iter().map(|file| file.inode).collect();
        self.copies.retain(|inode| there.contains(inode));
        let (mut others, mut missed) = (Vec::new(), Vec::new());
        let mut files = files;
        // The oldest part of a log comes first.
        files.sort_by_key(|file| (!unrotated(&file.path).1, file.changed_ns));
        for file in files {
            if self.copies.contains(&file.inode) {
                continue;
            }
            let base = unrotated(&file.path);
            let is_copy = base.1 && !followed.contains(&file.path) && self.copies.len() < COPIES;
            let copied = is_copy.then(|| self.copied(root, &file, base.0, &listed)).flatten();
            match copied {
                Some(Rotated::Known(piece)) => {
                    self.copies.insert(file.inode);
                    look.pieces.extend(piece);
                }
                Some(Rotated::Missed) => {
                    self.copies.insert(file.inode);
                    missed.push(file);
                }
                None => others.push(file),
            }
        }
        (others, missed)
    }

    /// Takes a file that was rotated away before it was read.
    fn whole(&mut self, root: &Path, file: &Listed) -> Option<Piece> {
        let base = unrotated(&file.path).0;
        let stream = self.streams.get_mut(base)?;
        let whole = input::read_unpacked(&root.join(&file.path)).ok()?;
        stream.begin_part();
        Some(stream.rest(base, &whole, &whole, file.changed_ns))
    }

    /// Whether a file is a copy of a log that was read; with it comes what was not read of that before it was cut.
    fn copied(
        &mut self,
        root: &Path,
        file: &Listed,
        base: &str,
        listed: &BTreeMap<String, Listed>,
    ) -> Option<Rotated> {
        let known = |piece| Some(Rotated::Known(piece));
        let stream = self.streams.get_mut(base)?;
        let whole = input::read_unpacked(&root.join(&file.path)).ok()?;
        if stream.growth == Growth::Unknown {
            let now = std::fs::read(root.join(&stream.path)).unwrap_or_default();
            if now.starts_with(&whole) {
                return known(None);
            }
            // What is rotated is a log, even where nothing of it was taken yet.
            stream.growth = Growth::Lines;
            return known(Some(stream.rest(base, &whole, &whole, file.changed_ns)));
        }
        if !stream.growth.appends() {
            return None;
        }
        let Some(rest) = stream.known_in(&whole) else {
            // It was written and rotated away between two looks. A log that was cut goes on behind it, and one that was
            // renamed is read to its end before.
            if listed.get(&stream.path).is_none_or(|now| now.inode != stream.inode) {
                return Some(Rotated::Missed);
            }
            stream.begin_part();
            return known(Some(stream.rest(base, &whole, &whole, file.changed_ns)));
        };
        // A log that goes on was copied, not cut: what the copy has stands in it, too.
        let goes_on = listed.get(&stream.path).is_some_and(|now| stream.is_in(root, now));
        stream.is_rotated |= !goes_on;
        if goes_on || rest.is_empty() {
            return known(None);
        }
        known(Some(stream.rest(base, rest, &whole, file.changed_ns)))
    }

    /// Parts a listing into files that are followed, with the names of their streams, and others.
    fn known_and_others(
        &mut self,
        root: &Path,
        files: Vec<Listed>,
        look: &mut Look,
    ) -> (Vec<(String, Listed)>, Vec<Listed>) {
        let by_inode: BTreeMap<Inode, String> =
            self.streams.iter().map(|(name, stream)| (stream.inode, name.clone())).collect();
        let (mut known, mut others) = (Vec::new(), Vec::new());
        for file in files {
            let Some(name) = by_inode.get(&file.inode) else {
                others.push(file);
                continue;
            };
            let Some(stream) = self.streams.get_mut(name) else { continue };
            if file.path == stream.path {
                known.push((name.clone(), file));
                continue;
            }
            if !is_of(stream, root, &file) {
                others.push(file);
                continue;
            }
            stream.path.clone_from(&file.path);
            let is_rotated = unrotated(&file.path).0 == unrotated(name).0;
            stream.is_rotated |= is_rotated;
            if is_rotated && stream.growth == Growth::Unknown {
                // What is rotated is a log, even where nothing of it was taken yet.
                stream.growth = Growth::Lines;
            }
            if is_rotated || self.streams.contains_key(&file.path) {
                known.push((name.clone(), file));
            } else if let Some(stream) = self.streams.remove(name) {
                self.streams.insert(file.path.clone(), stream);
                look.renamed.push((name.clone(), file.path.clone()));
                known.push((file.path.clone(), file));
            }
        }
        (known, others)
    }

    /// Forgets streams of which bytes are lost: their files are read again.
    pub fn lose(&mut self, names: &[String]) {
        self.streams.retain(|name, _| !names.contains(name));
    }

    /// Forgets a stream whose bytes are not kept any more and whose file is gone.
    pub fn forget(&mut self, root: &Path, name: &str) {
        if self.streams.get(name).is_some_and(|stream| !root.join(&stream.path).exists()) {
            self.streams.remove(name);
        }
    }
}

/// Whether a file with the inode of a stream is its file: the inode of a file that is gone is given to others.
fn is_of(stream: &Stream, root: &Path, file: &Listed) -> bool {
    file.path == stream.path
        || match stream.growth {
            Growth::Unknown => unrotated(&file.path).0 == unrotated(&stream.path).0,
            _ => stream.is_in(root, file),
        }
}

impl Look {
    fn take(&mut self, path: &str, piece: std::io::Result<Option<Piece>>) {
        match piece {
            Ok(piece) => self.pieces.extend(piece),
            Err(error) => self.unread.push((path.into(), error.to_string())),
        }
    }
}

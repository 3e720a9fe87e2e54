//! One file that is followed, through growth, truncation and replacement.
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::kind::{Growth, HEAD};
use super::list::{Inode, Listed};
use super::part::Part;
use super::{Piece, Tail};

/// Bytes that are taken of a file in one look; the rest follows in the next.
const AT_ONCE: u64 = 64 << 20;
/// Parts of a stream that are known again.
const EARLIER: usize = 32;
/// Bytes that must come again in a log that was written anew, for what stands before them to be known.
const OVERLAP: usize = 4096;

/// A file that is followed: a log and the logs it was rotated to are one.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(crate) struct Stream {
    pub(crate) growth: Growth,
    pub(crate) inode: Inode,
    /// Where its newest part lies.
    pub(crate) path: String,
    pub(crate) part: Part,
    /// Whether the newest part was found rotated away: the next file at its place is another part, however it begins.
    pub(crate) is_rotated: bool,
    /// Parts that were rotated away or truncated, the newest last.
    earlier: Vec<Part>,
    /// Size and last change at the look before.
    seen: (u64, u64),
    /// Size and last change of the document that was taken.
    taken: Option<(u64, u64)>,
}

impl Stream {
    /// A file of which nothing is known yet.
    pub(crate) fn begun(file: &Listed) -> Self {
        Self { inode: file.inode, path: file.path.clone(), ..Self::default() }
    }

    /// Whether a file is the one that was read, as far as it was read.
    pub(crate) fn is_in(&self, root: &Path, file: &Listed) -> bool {
        let back = self.part.tail_len();
        file.size >= self.part.len
            && self.part.len > 0
            && read(&root.join(&file.path), self.part.len - back, back)
                .is_ok_and(|bytes| self.part.ends_with(&bytes))
    }

    /// Whether a file holds a part that was read, and what follows the newest one.
    pub(crate) fn known_in<'a>(&self, whole: &'a [u8]) -> Option<&'a [u8]> {
        let is_newest = self.part.is_begin_of(whole);
        // The newest part may be so short that an earlier one begins like it.
        let longest = self.earlier.iter().filter(|part| part.is_begin_of(whole)).map(|part| part.len).max();
        match is_newest && longest.is_none_or(|len| len <= self.part.len) {
            true => whole.get(usize::try_from(self.part.len).ok()?..),
            false => longest.map(|_| &[][..]),
        }
    }

    /// Takes what is new in its file. `name` is that of the stream; `settled_ns` is a moment before which a change is long
    /// ago.
    ///
    /// # Errors
    /// Errors of the system when it reads the file.
    pub(crate) fn grow(
        &mut self,
        root: &Path,
        name: &str,
        file: &Listed,
        settled_ns: u64,
        tail: &Tail<'_>,
    ) -> io::Result<Option<Piece>> {
        let now = (file.size, file.changed_ns);
        let is_still = self.seen == now || file.changed_ns <= settled_ns;
        self.seen = now;
        let path = root.join(&file.path);
        if self.growth == Growth::Unknown {
            if file.size == 0 {
                return Ok(self.empty(name, file, is_still));
            }
            let head = read(&path, 0, HEAD as u64)?;
            let Some(growth) = Growth::of(name, &head, is_still) else { return Ok(None) };
            self.growth = growth;
        }
        if !self.growth.appends() {
            return self.document(&path, name, file, is_still);
        }
        if file.size < self.part.len {
            return self.written_anew(&path, name, file, tail);
        }
        if file.size == self.part.len && self.taken == Some(now) {
            return Ok(None);
        }
        let back = self.part.tail_len();
        let bytes = read(&path, self.part.len - back, back + AT_ONCE)?;
        let at = (back as usize).min(bytes.len());
        if !self.part.ends_with(&bytes[..at]) {
            return self.written_anew(&path, name, file, tail);
        }
        let end = at + self.usable(&bytes[at..], is_still);
        self.part.take(&bytes[at..end], &bytes[..end]);
        if file.size == self.part.len {
            self.taken = Some(now);
        }
        Ok(self.piece(name, bytes[at..end].to_vec(), file, false))
    }

    /// The bytes that can be taken: whole lines, and the rest where nothing more comes.
    fn usable(&self, bytes: &[u8], is_still: bool) -> usize {
        if (is_still && self.growth != Growth::Live) || bytes.len() as u64 >= AT_ONCE {
            return bytes.len();
        }
        bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
    }

    /// Takes what a copy of its file has beyond what was read; `whole` ends with it.
    pub(crate) fn rest(&mut self, name: &str, rest: &[u8], whole: &[u8], changed_ns: u64) -> Piece {
        self.part.take(rest, whole);
        Piece {
            stream: name.to_owned(),
            growth: self.growth,
            bytes: rest.to_vec(),
            replaces: false,
            continues: false,
            changed_ns,
        }
    }

    fn piece(&self, name: &str, bytes: Vec<u8>, file: &Listed, replaces: bool) -> Option<Piece> {
        let is_new = !bytes.is_empty() || replaces;
        is_new.then(|| Piece {
            stream: name.to_owned(),
            growth: self.growth,
            bytes,
            replaces,
            continues: false,
            changed_ns: file.changed_ns,
        })
    }

    /// An empty file is evidence, too: a process that cannot run leaves such a dump.
    fn empty(&mut self, name: &str, file: &Listed, is_still: bool) -> Option<Piece> {
        let now = (file.size, file.changed_ns);
        if !is_still || self.taken.is_some() {
            return None;
        }
        self.taken = Some(now);
        self.piece(name, Vec::new(), file, true)
    }

    fn document(
        &mut self,
        path: &Path,
        name: &str,
        file: &Listed,
        is_still: bool,
    ) -> io::Result<Option<Piece>> {
        let now = (file.size, file.changed_ns);
        if !is_still || self.taken == Some(now) {
            return Ok(None);
        }
        let bytes = read(path, 0, u64::MAX)?;
        self.taken = Some(now);
        if bytes.len() as u64 == self.part.len && self.part.is_begin_of(&bytes) {
            return Ok(None);
        }
        let continues = self.part.len == 0 || self.part.is_begin_of(&bytes);
        self.begin_part();
        self.part.take(&bytes, &bytes);
        Ok(self.piece(name, bytes, file, true).map(|piece| Piece { continues, ..piece }))
    }

    /// Begins another part: what is read next stands in another file, or anew in this one.
    pub(crate) fn begin_part(&mut self) {
        let part = std::mem::take(&mut self.part);
        if part.len > 0 {
            self.earlier.push(part);
            if self.earlier.len() > EARLIER {
                self.earlier.remove(0);
            }
        }
    }

    /// Takes a log that was truncated, or whose place another file has: what was read of it before is not taken again.
    pub(crate) fn written_anew(
        &mut self,
        path: &Path,
        name: &str,
        file: &Listed,
        tail: &Tail<'_>,
    ) -> io::Result<Option<Piece>> {
        let bytes = read(path, 0, u64::MAX)?;
        let known = match std::mem::take(&mut self.is_rotated) {
            true => 0,
            false if self.part.is_begin_of(&bytes) => self.part.len as usize,
            false => overlap(&tail(name, OVERLAP), &bytes),
        };
        self.begin_part();
        self.seen = (file.size, file.changed_ns);
        self.taken = None;
        let end = known.max(self.usable(&bytes, false));
        self.part.take(&bytes[..end], &bytes[..end]);
        Ok(self.piece(name, bytes[known..end].to_vec(), file, false))
    }
}

/// The end of what is known already in bytes that were written anew: where the last lines that were read stand in them.
fn overlap(tail: &[u8], bytes: &[u8]) -> usize {
    // The first line of the tail may be a cut one.
    let from = tail.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let last = &tail[from..];
    let lines = last.iter().filter(|byte| **byte == b'\n').count();
    // One line may come twice in two parts of a log; several ones do not.
    if lines < 4 {
        return 0;
    }
    bytes.windows(last.len()).rposition(|window| window == last).map_or(0, |at| at + last.len())
}

/// Bytes of a file from an offset on, at most so many.
fn read(path: &Path, from: u64, most: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

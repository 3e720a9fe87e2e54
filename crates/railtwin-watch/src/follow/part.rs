//! How far a file was read, and marks by which the same bytes are known again in another file.
use serde::{Deserialize, Serialize};

/// Bytes at the beginning and at the end of what was read that are marks.
const MARK: usize = 4096;

/// The part of a stream that lies in one file: a log that is rotated has several parts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub(crate) struct Part {
    /// Bytes that were read.
    pub(crate) len: u64,
    head: Mark,
    tail: Mark,
}

/// A few bytes of a part, by their hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Mark {
    len: u64,
    hash: u64,
}

impl Default for Mark {
    fn default() -> Self {
        Self::of(&[])
    }
}

impl Mark {
    fn of(bytes: &[u8]) -> Self {
        // FNV-1a, 64 bits.
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self { len: bytes.len() as u64, hash }
    }
}

impl Part {
    /// Takes bytes that follow what was read. `tail` are the last bytes of all that was read, these included: as many as
    /// [`Part::tail_len`] says then, at least.
    pub(crate) fn take(&mut self, bytes: &[u8], tail: &[u8]) {
        if self.len == 0 {
            self.head = Mark::of(&bytes[..bytes.len().min(MARK)]);
        }
        self.len += bytes.len() as u64;
        let marked = tail.len().min(MARK).min(usize::try_from(self.len).unwrap_or(MARK));
        self.tail = Mark::of(&tail[tail.len() - marked..]);
    }

    /// Length of the mark at the end, bytes.
    pub(crate) fn tail_len(&self) -> u64 {
        self.tail.len
    }

    /// Whether the last bytes before the end of what was read are these.
    pub(crate) fn ends_with(&self, bytes: &[u8]) -> bool {
        Mark::of(bytes) == self.tail
    }

    /// Whether a file begins with what was read; what follows it is new.
    pub(crate) fn is_begin_of(&self, whole: &[u8]) -> bool {
        let cut = |mark: Mark, end: u64| {
            let from = usize::try_from(end.checked_sub(mark.len)?).ok()?;
            whole.get(from..usize::try_from(end).ok()?)
        };
        self.len > 0
            && cut(self.head, self.head.len).is_some_and(|head| Mark::of(head) == self.head)
            && cut(self.tail, self.len).is_some_and(|tail| Mark::of(tail) == self.tail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_known_again_with_more_behind_it() {
        let text: Vec<u8> = (0..20_000_u32).map(|at| (at % 251) as u8).collect();
        let mut part = Part::default();
        part.take(&text[..3000], &text[..3000]);
        part.take(&text[3000..9000], &text[..9000]);
        assert!(part.is_begin_of(&text) && part.is_begin_of(&text[..9000]));
        assert!(!part.is_begin_of(&text[..8999]) && !part.is_begin_of(&text[1..]));
        assert!(part.ends_with(&text[9000 - 4096..9000]));
        let mut other = text.clone();
        other[8_999] ^= 1;
        assert!(!part.is_begin_of(&other));
    }

    #[test]
    fn nothing_is_the_beginning_of_nothing() {
        assert!(!Part::default().is_begin_of(b"abc"));
    }
}

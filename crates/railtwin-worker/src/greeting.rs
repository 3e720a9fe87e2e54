//! The greeting of a connection: which lane it carries.
use crate::job::Algorithm;

/// Bytes of a greeting: mark; algorithm; rank that opens; rank that accepts; number of ranks; lane; three zeros; generation.
pub(crate) const GREETING: usize = 16;
const MARK: [u8; 4] = *b"rtw2";

/// The lane that a connection carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Greeting {
    pub(crate) algorithm: Algorithm,
    /// Rank that opens, rank that accepts, number of ranks.
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) ranks: usize,
    pub(crate) lane: usize,
    /// 0 for the first connection of a lane; grows with each that follows.
    pub(crate) generation: u32,
}

impl Greeting {
    pub(crate) fn bytes(&self) -> [u8; GREETING] {
        let mut bytes = [0; GREETING];
        bytes[..4].copy_from_slice(&MARK);
        let small = [self.algorithm as usize, self.from, self.to, self.ranks, self.lane];
        for (byte, value) in bytes[4..].iter_mut().zip(small) {
            // Ranks and lanes are below 256.
            *byte = value as u8;
        }
        bytes[12..].copy_from_slice(&self.generation.to_le_bytes());
        bytes
    }

    /// Reads a greeting; none where the bytes are of something else.
    pub(crate) fn read(bytes: &[u8; GREETING]) -> Option<Self> {
        let [a, b, c, d, algorithm, from, to, ranks, lane, 0, 0, 0, generation @ ..] = *bytes else {
            return None;
        };
        let all = [Algorithm::Ring, Algorithm::Tree, Algorithm::AllToAll];
        Some(Self {
            algorithm: all
                .into_iter()
                .find(|one| *one as u8 == algorithm)
                .filter(|_| [a, b, c, d] == MARK)?,
            from: from.into(),
            to: to.into(),
            ranks: ranks.into(),
            lane: lane.into(),
            generation: u32::from_le_bytes(generation),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_is_read_as_it_was_written_and_nothing_else_is() {
        let algorithm = Algorithm::AllToAll;
        let greeting = Greeting { algorithm, from: 63, to: 2, ranks: 64, lane: 15, generation: 70_000 };
        let bytes = greeting.bytes();
        assert_eq!(Greeting::read(&bytes), Some(greeting));
        for (at, wrong) in [(0, b'x'), (4, 3), (9, 1)] {
            let mut other = bytes;
            other[at] = wrong;
            assert_eq!(Greeting::read(&other), None, "byte {at}");
        }
    }
}

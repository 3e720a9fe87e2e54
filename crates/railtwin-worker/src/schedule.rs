//! Schedules of collectives: what a rank sends and receives, in which order, over which connections.
use crate::job::{Algorithm, CollectiveSpec};

/// Bytes of an element: a u32, little endian; sums wrap.
pub(crate) const ELEMENT: usize = 4;

/// A piece that is sent or received. Ranges are bytes of the rank's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// Rank at the other end.
    pub(crate) peer: usize,
    pub(crate) begin: usize,
    pub(crate) end: usize,
    /// Number of receives that must complete before this piece is sent.
    pub(crate) needs: usize,
    /// Whether a received piece is added to the buffer; otherwise it replaces the content.
    pub(crate) adds: bool,
}

/// Schedule of one rank in a collective. Sends are in order, receives are in order, and both proceed in parallel.
///
/// The buffer holds the payload and one element more for each block that goes to another rank on its own: the flag by which
/// ranks agree to stop.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    pub(crate) algorithm: Algorithm,
    /// Bytes of the payload.
    pub(crate) bytes: usize,
    /// Bytes of the buffer.
    pub(crate) buffer: usize,
    pub(crate) sends: Vec<Transfer>,
    pub(crate) receives: Vec<Transfer>,
    /// Rank that most is sent to, and received from: a ring's neighbors.
    pub(crate) to: Option<u32>,
    pub(crate) from: Option<u32>,
}

impl Schedule {
    /// The schedule of a rank.
    pub(crate) fn new(spec: &CollectiveSpec, ranks: usize, rank: usize) -> Self {
        let (bytes, chunk) = (spec.bytes as usize, spec.chunk as usize);
        match spec.algorithm {
            Algorithm::Ring => ring(bytes, chunk, ranks, rank),
            Algorithm::Tree => tree(bytes, chunk, ranks, rank),
            Algorithm::AllToAll => all_to_all(bytes, chunk, ranks, rank),
        }
    }

    /// Stages: the larger one of sends and receives.
    pub(crate) fn stages(&self) -> usize {
        self.sends.len().max(self.receives.len())
    }
}

/// Part `at` of `parts` of a range of elements, in elements.
pub(crate) fn part(begin: usize, end: usize, parts: usize, at: usize) -> (usize, usize) {
    let length = end - begin;
    (begin + length * at / parts, begin + length * (at + 1) / parts)
}

fn ring(bytes: usize, chunk: usize, ranks: usize, rank: usize) -> Schedule {
    let elements = bytes / ELEMENT;
    let loops = bytes.div_ceil(chunk.saturating_mul(ranks)).max(1);
    let (to, from) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    let (mut sends, mut receives) = (Vec::new(), Vec::new());
    for turn in 0..loops {
        let (begin, end) = part(0, elements, loops, turn);
        let range = |block: usize| {
            let (first, last) = part(begin, end, ranks, block);
            // The flag rides behind the very last block.
            let more = usize::from(turn + 1 == loops && block + 1 == ranks);
            (first * ELEMENT, (last + more) * ELEMENT)
        };
        let before = turn * 2 * (ranks - 1);
        for stage in 0..2 * (ranks - 1) {
            let block = |shift: usize| (rank + 2 * ranks - (stage + shift) % ranks) % ranks;
            let is_reduced = stage + 1 < ranks;
            let (begin, end) = range(block(0));
            // A loop's first block is there from the beginning.
            let needs = if stage == 0 { 0 } else { before + stage };
            sends.push(Transfer { peer: to, begin, end, needs, adds: false });
            let (begin, end) = range(block(1));
            receives.push(Transfer { peer: from, begin, end, needs: 0, adds: is_reduced });
        }
    }
    let ends = (Some(to as u32), Some(from as u32));
    Schedule {
        algorithm: Algorithm::Ring,
        bytes,
        buffer: bytes + ELEMENT,
        sends,
        receives,
        to: ends.0,
        from: ends.1,
    }
}

/// Parent of a rank in the binary tree.
pub(crate) fn parent(rank: usize) -> Option<usize> {
    rank.checked_sub(1).map(|before| before / 2)
}

/// Children of a rank in the binary tree.
pub(crate) fn children(ranks: usize, rank: usize) -> impl Iterator<Item = usize> {
    (2 * rank + 1..=2 * rank + 2).filter(move |child| *child < ranks)
}

fn tree(bytes: usize, chunk: usize, ranks: usize, rank: usize) -> Schedule {
    let elements = bytes / ELEMENT;
    let pieces = bytes.div_ceil(chunk).max(1);
    let range = |at: usize| {
        let (first, last) = part(0, elements, pieces, at);
        (first * ELEMENT, (last + usize::from(at + 1 == pieces)) * ELEMENT)
    };
    let (mut sends, mut receives) = (Vec::new(), Vec::new());
    for at in 0..pieces {
        let (begin, end) = range(at);
        for child in children(ranks, rank) {
            receives.push(Transfer { peer: child, begin, end, needs: 0, adds: true });
        }
        if let Some(parent) = parent(rank) {
            sends.push(Transfer { peer: parent, begin, end, needs: receives.len(), adds: false });
        }
    }
    let up = children(ranks, rank).count();
    for at in 0..pieces {
        let (begin, end) = range(at);
        if let Some(parent) = parent(rank) {
            receives.push(Transfer { peer: parent, begin, end, needs: 0, adds: false });
        }
        let needs = if parent(rank).is_some() { receives.len() } else { (at + 1) * up };
        for child in children(ranks, rank) {
            sends.push(Transfer { peer: child, begin, end, needs, adds: false });
        }
    }
    Schedule {
        algorithm: Algorithm::Tree,
        bytes,
        buffer: bytes + ELEMENT,
        sends,
        receives,
        to: None,
        from: None,
    }
}

/// Bytes of the block that goes to a rank, with its flag, and where it begins.
pub(crate) fn block_to(bytes: usize, ranks: usize, to: usize) -> (usize, usize) {
    let (first, last) = part(0, bytes / ELEMENT, ranks, to);
    ((first + to) * ELEMENT, (last + to + 1) * ELEMENT)
}

/// Where the block from a rank arrives in the buffer of `rank`: behind all blocks to send.
pub(crate) fn block_from(bytes: usize, ranks: usize, rank: usize, from: usize) -> (usize, usize) {
    let (begin, end) = block_to(bytes, ranks, rank);
    let first = bytes + ranks * ELEMENT + from * (end - begin);
    (first, first + end - begin)
}

fn all_to_all(bytes: usize, chunk: usize, ranks: usize, rank: usize) -> Schedule {
    let (mut sends, mut receives) = (Vec::new(), Vec::new());
    for shift in 1..ranks {
        let (to, from) = ((rank + shift) % ranks, (rank + ranks - shift) % ranks);
        let cut = |(begin, end): (usize, usize), peer: usize, into: &mut Vec<Transfer>| {
            let pieces = (end - begin).div_ceil(chunk + ELEMENT).max(1);
            for at in 0..pieces {
                let (first, last) = part(begin / ELEMENT, end / ELEMENT, pieces, at);
                let (begin, end) = (first * ELEMENT, last * ELEMENT);
                into.push(Transfer { peer, begin, end, needs: 0, adds: false });
            }
        };
        cut(block_to(bytes, ranks, to), to, &mut sends);
        cut(block_from(bytes, ranks, rank, from), from, &mut receives);
    }
    let (_, buffer) = block_from(bytes, ranks, rank, ranks - 1);
    Schedule { algorithm: Algorithm::AllToAll, bytes, buffer, sends, receives, to: None, from: None }
}

/// Ranks that a rank opens connections to for an algorithm, and those that it accepts them from. A ring has one connection
/// each way; a tree and an all-to-all have one for each pair.
pub(crate) fn neighbors(algorithm: Algorithm, ranks: usize, rank: usize) -> (Vec<usize>, Vec<usize>) {
    match algorithm {
        Algorithm::Ring => (vec![(rank + 1) % ranks], vec![(rank + ranks - 1) % ranks]),
        Algorithm::Tree => (parent(rank).into_iter().collect(), children(ranks, rank).collect()),
        Algorithm::AllToAll => ((0..rank).collect(), (rank + 1..ranks).collect()),
    }
}

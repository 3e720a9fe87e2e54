//! Data of collectives: what ranks bring in, what must come out.
use crate::job::Algorithm;
use crate::schedule::{ELEMENT, Schedule, block_from, block_to};

/// First value that a rank brings into an operation; the others count up from it (golden-ratio hashing keeps ranks apart).
fn first(rank: usize, operation: u64) -> u32 {
    (rank as u32 + 1).wrapping_mul(0x9E37_79B9) ^ (operation as u32).wrapping_mul(0x85EB_CA6B)
}

/// First value of the block that one rank sends to another.
fn first_to(from: usize, to: usize, operation: u64) -> u32 {
    first(from, operation).wrapping_add((to as u32).wrapping_mul(0xC2B2_AE35))
}

fn count_up(into: &mut [u8], first: u32, step: u32) {
    let mut value = first;
    for element in into.chunks_exact_mut(ELEMENT) {
        element.copy_from_slice(&value.to_le_bytes());
        value = value.wrapping_add(step);
    }
}

fn counts_up(of: &[u8], first: u32, step: u32) -> bool {
    let mut value = first;
    of.chunks_exact(ELEMENT).all(|element| {
        let is_right = element == value.to_le_bytes();
        value = value.wrapping_add(step);
        is_right
    })
}

/// Fills the buffer with what a rank brings in; `stops` is its vote that this step is the last one.
pub(crate) fn fill(
    schedule: &Schedule,
    ranks: usize,
    rank: usize,
    operation: u64,
    stops: bool,
    buffer: &mut [u8],
) {
    let vote = u32::from(stops).to_le_bytes();
    if schedule.algorithm != Algorithm::AllToAll {
        count_up(&mut buffer[..schedule.bytes], first(rank, operation), 1);
        buffer[schedule.bytes..].copy_from_slice(&vote);
        return;
    }
    for to in 0..ranks {
        let (begin, end) = block_to(schedule.bytes, ranks, to);
        count_up(&mut buffer[begin..end - ELEMENT], first_to(rank, to, operation), 1);
        buffer[end - ELEMENT..end].copy_from_slice(&vote);
    }
    let (own, end) = block_to(schedule.bytes, ranks, rank);
    let (into, _) = block_from(schedule.bytes, ranks, rank, rank);
    buffer.copy_within(own..end, into);
}

/// Whether the buffer holds the result: all sums, or all blocks from the others.
pub(crate) fn is_right(
    schedule: &Schedule,
    ranks: usize,
    rank: usize,
    operation: u64,
    buffer: &[u8],
) -> bool {
    if schedule.algorithm != Algorithm::AllToAll {
        let sum = (0..ranks).fold(0_u32, |sum, rank| sum.wrapping_add(first(rank, operation)));
        return counts_up(&buffer[..schedule.bytes], sum, ranks as u32);
    }
    (0..ranks).all(|from| {
        let (begin, end) = block_from(schedule.bytes, ranks, rank, from);
        counts_up(&buffer[begin..end - ELEMENT], first_to(from, rank, operation), 1)
    })
}

/// How many ranks voted to stop after this step.
pub(crate) fn stop_votes(schedule: &Schedule, ranks: usize, rank: usize, buffer: &[u8]) -> u32 {
    let element = |end: usize| {
        let bytes = buffer[end - ELEMENT..end].try_into().unwrap_or([0; ELEMENT]);
        u32::from_le_bytes(bytes)
    };
    match schedule.algorithm {
        Algorithm::AllToAll => {
            (0..ranks).map(|from| element(block_from(schedule.bytes, ranks, rank, from).1)).sum()
        }
        _ => element(schedule.buffer),
    }
}

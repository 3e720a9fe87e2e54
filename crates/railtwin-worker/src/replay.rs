//! The newest bytes of a lane, kept until its receiver must have read them.

/// A ring of the newest bytes of a stream.
#[derive(Debug)]
pub(crate) struct ReplayRing {
    bytes: Box<[u8]>,
}

impl ReplayRing {
    /// A ring that keeps `capacity` bytes.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { bytes: vec![0; capacity.max(1)].into_boxed_slice() }
    }

    /// Number of bytes that it keeps.
    pub(crate) fn capacity(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn place(&self, position: u64) -> usize {
        // The remainder is below the length, which is a usize.
        (position % self.capacity()) as usize
    }

    /// Keeps bytes that begin at `position` of the stream.
    pub(crate) fn push(&mut self, mut position: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let at = self.place(position);
            let (now, later) = bytes.split_at(bytes.len().min(self.bytes.len() - at));
            self.bytes[at..at + now.len()].copy_from_slice(now);
            (position, bytes) = (position + now.len() as u64, later);
        }
    }

    /// The bytes from position `begin` to `end` of the stream, or the first of them where the ring wraps. Both must be kept.
    pub(crate) fn from(&self, begin: u64, end: u64) -> &[u8] {
        let at = self.place(begin);
        let length = usize::try_from(end.saturating_sub(begin)).unwrap_or(usize::MAX);
        &self.bytes[at..at + length.min(self.bytes.len() - at)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_bytes_are_kept() {
        let stream: Vec<u8> = (0..1_000_u32).map(|at| (at * 7 % 251) as u8).collect();
        for step in [1, 3, 10, 16, 17, 40] {
            let mut ring = ReplayRing::new(17);
            let mut end = 0;
            for piece in stream.chunks(step) {
                ring.push(end as u64, piece);
                end += piece.len();
                for begin in end.saturating_sub(17)..end {
                    let mut read = Vec::new();
                    while begin + read.len() < end {
                        read.extend_from_slice(ring.from((begin + read.len()) as u64, end as u64));
                    }
                    assert_eq!(read, stream[begin..end], "from {begin} to {end}, pushed {step} at a time");
                }
            }
        }
    }
}

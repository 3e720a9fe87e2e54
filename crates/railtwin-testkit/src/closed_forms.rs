//! What a message, a ring and a queue take, by arithmetic. Times are in ps, sizes in bytes.

/// A full packet on the wire: 4,096 of payload, 82 of headers.
pub const FULL: u64 = 4_178;
/// An acknowledgement on the wire.
pub const CONTROL: u64 = 86;
/// A byte at 100 Gbps.
pub const BYTE: u64 = 80;
/// A microsecond.
pub const US: u64 = 1_000_000;

/// Sizes on the wire of the packets of a transfer: even messages of at most 512 KiB.
pub fn wire(bytes: u64) -> Vec<u64> {
    let messages = bytes.div_ceil(512 << 10).max(1);
    let cut = |row: u64| bytes * row / messages;
    let mut sizes = Vec::new();
    for row in 0..messages {
        let message = cut(row + 1) - cut(row);
        sizes.extend(vec![FULL; (message / 4_096) as usize]);
        if !message.is_multiple_of(4_096) || message == 0 {
            sizes.push(message % 4_096 + FULL - 4_096);
        }
    }
    sizes
}

/// Bytes on the wire of a transfer.
pub fn on_wire(bytes: u64) -> u64 {
    wire(bytes).iter().sum()
}

/// When the last of the packets is there, over hops of (ps a byte, delay) that store and forward.
pub fn tandem(sizes: &[u64], hops: &[(u64, u64)]) -> u64 {
    let mut ready = vec![0; sizes.len()];
    for &(byte, delay) in hops {
        let mut free = 0;
        for (&size, ready) in sizes.iter().zip(&mut ready) {
            free = free.max(*ready) + size * byte;
            *ready = free + delay;
        }
    }
    ready.last().copied().unwrap_or(0)
}

/// Bytes that each of `ranks` sends in a ring all-gather or reduce-scatter of `bytes`; an all-reduce sends twice as many.
pub fn ring_bytes(ranks: u32, bytes: u64) -> f64 {
    bytes as f64 * (f64::from(ranks) - 1.0) / f64::from(ranks)
}

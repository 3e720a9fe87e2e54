//! The Toeplitz hash of receive-side scaling, which NICs and some switches run.
//!
//! Each set bit of the input XORs in the 32 bits of the key that start at that bit's position
//! (Microsoft, Receive Side Scaling specification, "RSS hashing functions").

use crate::error::RoutingError;
use crate::fields::MAX_KEY_BYTES;

/// The 40-byte key of the RSS specification, used by most NICs that are not told another.
pub const RSS_KEY: [u8; 40] = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0,
    0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42,
    0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
];

/// Toeplitz hash of `input` under `key`.
///
/// # Errors
/// The key has fewer than `input.len() + 4` bytes.
pub fn toeplitz(key: &[u8], input: &[u8]) -> Result<u32, RoutingError> {
    if key.len() < input.len() + 4 {
        let (key_bytes, input_bytes) = (key.len(), input.len());
        return Err(RoutingError::ToeplitzKeyTooShort { key_bytes, input_bytes });
    }
    let mut hash = 0;
    for (position, &byte) in input.iter().enumerate() {
        for bit in (0..8).filter(|bit| byte & (0x80 >> bit) != 0) {
            hash ^= window(key, 8 * position + bit);
        }
    }
    Ok(hash)
}

/// Toeplitz hash of at most [`MAX_KEY_BYTES`] bytes under [`RSS_KEY`], two look-ups a byte.
pub(crate) fn toeplitz_rss(input: &[u8]) -> u32 {
    input.iter().zip(TABLE.as_chunks::<2>().0).fold(0, |hash, (&byte, [high, low])| {
        hash ^ high[usize::from(byte >> 4)] ^ low[usize::from(byte & 15)]
    })
}

/// `TABLE[i][v]`: what the value `v` of the input's nibble `i` adds. 2.5 KiB stay in the L1 cache,
/// where a table by whole bytes would take 20 KiB.
static TABLE: [[u32; 16]; 2 * MAX_KEY_BYTES] = nibble_table();

const fn nibble_table() -> [[u32; 16]; 2 * MAX_KEY_BYTES] {
    let mut table = [[0; 16]; 2 * MAX_KEY_BYTES];
    let mut nibble = 0;
    while nibble < 2 * MAX_KEY_BYTES {
        let mut value = 1;
        while value < 16 {
            let lowest = (value as u32).trailing_zeros() as usize;
            let without = table[nibble][value & (value - 1)];
            table[nibble][value] = without ^ window(&RSS_KEY, 4 * nibble + 3 - lowest);
            value += 1;
        }
        nibble += 1;
    }
    table
}

/// The 32 bits of `key` from bit `start` on, the first bit being the highest of the first byte.
const fn window(key: &[u8], start: usize) -> u32 {
    let (byte, bit) = (start / 8, start % 8);
    let mut bits = 0u64;
    let mut index = byte;
    while index < byte + 5 {
        // With `bit` 0 the fifth byte is shifted out again, so one past the key's end may read 0.
        bits = (bits << 8) | if index < key.len() { key[index] as u64 } else { 0 };
        index += 1;
    }
    (bits >> (8 - bit)) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_key_is_refused() {
        let error = toeplitz(&RSS_KEY[..15], &[0; 12]).expect_err("a bad input").to_string();
        assert!(error.contains("15 bytes") && error.contains("at least 16 bytes"), "{error}");
        assert!(toeplitz(&RSS_KEY, &[1; 36]).is_ok());
    }

    proptest! {
        #[test]
        fn table_agrees_with_definition(input in prop::collection::vec(any::<u8>(), 0..=20)) {
            prop_assert_eq!(Ok(toeplitz_rss(&input)), toeplitz(&RSS_KEY, &input));
        }
    }
}

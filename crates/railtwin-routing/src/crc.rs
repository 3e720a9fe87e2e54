//! Cyclic redundancy checks as switches run them: one table look-up a byte.
//!
//! For messages of one length a CRC is affine over GF(2); its initial value only XORs a constant
//! into the result.

/// CRC-16/CCITT-FALSE: polynomial 0x1021, initial value 0xFFFF, not reflected, no final XOR.
#[inline]
pub(crate) fn crc16_ccitt(bytes: &[u8]) -> u16 {
    crc16_ccitt_from(0xFFFF, bytes)
}

/// CRC-32 of IEEE 802.3: reflected polynomial 0xEDB88320, initial value and final XOR all ones.
#[inline]
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    !reflected_from(&CRC32, !0, bytes)
}

/// CRC-32C of Castagnoli (RFC 3720): reflected polynomial 0x82F63B78, otherwise as CRC-32.
#[inline]
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    !reflected_from(&CRC32C, !0, bytes)
}

static CRC16: [u16; 256] = crc16_table(0x1021);
static CRC32: [u32; 256] = reflected_table(0xEDB8_8320);
static CRC32C: [u32; 256] = reflected_table(0x82F6_3B78);

fn crc16_ccitt_from(initial: u16, bytes: &[u8]) -> u16 {
    bytes.iter().fold(initial, |crc, &byte| (crc << 8) ^ CRC16[usize::from((crc >> 8) as u8 ^ byte)])
}

fn reflected_from(table: &[u32; 256], initial: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(initial, |crc, &byte| (crc >> 8) ^ table[usize::from(crc as u8 ^ byte)])
}

const fn crc16_table(polynomial: u16) -> [u16; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = (index as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            let carry = value >> 15;
            value = (value << 1) ^ (carry * polynomial);
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
}

const fn reflected_table(polynomial: u32) -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = index as u32;
        let mut bit = 0;
        while bit < 8 {
            let carry = value & 1;
            value = (value >> 1) ^ (carry * polynomial);
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn check_values() {
        assert_eq!(crc16_ccitt(b"123456789"), 0x29B1);
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }

    proptest! {
        #[test]
        fn initial_value_only_adds_a_constant(
            x: [u8; 13], y: [u8; 13], wide: u32, narrow: u16,
        ) {
            let shift = |m: &[u8]| reflected_from(&CRC32, wide, m) ^ reflected_from(&CRC32, !0, m);
            prop_assert_eq!(shift(&x), shift(&y));
            let shift = |m: &[u8]| crc16_ccitt_from(narrow, m) ^ crc16_ccitt(m);
            prop_assert_eq!(shift(&x), shift(&y));
        }
    }
}

//! What a seed and an offset make of a plain hash, looked up instead of multiplied.
//!
//! Both are linear over GF(2) (see [`crate::HashSpec`]), so the hash is the exclusive or of what each byte of the
//! plain hash comes to. Switches that differ in their seeds alone share the plain hash of a packet.

use crate::hash::HashSpec;

/// From the plain hash of a packet to that of one [`HashSpec`], in four tables of eight bits each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeedTable {
    bytes: [[u32; 256]; 4],
}

impl SeedTable {
    /// Learns what becomes of each of the 32 bits.
    pub fn new(spec: &HashSpec) -> Self {
        let table = |byte: u32| {
            let bits: [u32; 8] = std::array::from_fn(|bit| spec.seeded(1 << (8 * byte + bit as u32)));
            let mut all = [0; 256];
            for value in 1..all.len() {
                all[value] = all[value & (value - 1)] ^ bits[value.trailing_zeros() as usize];
            }
            all
        };
        Self { bytes: [table(0), table(1), table(2), table(3)] }
    }

    /// The hash of a packet whose [`HashSpec::plain`] hash is `plain`.
    #[inline]
    pub fn hash(&self, plain: u32) -> u32 {
        let bytes = plain.to_le_bytes();
        let [a, b, c, d] = std::array::from_fn(|byte| self.bytes[byte][usize::from(bytes[byte])]);
        a ^ b ^ c ^ d
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{FiveTuple, HashFunction, HashKey};

    proptest! {
        #[test]
        fn seeds_work_on_the_plain_hash(seed: u32, offset in 0u8..40, ips: (u32, u32), port: u16, qp: u32) {
            for function in HashFunction::ALL {
                let spec = HashSpec::new(function).with_seed(seed).with_offset(offset);
                let key = HashKey::of(FiveTuple::roce(ips.0, ips.1, port)).with_target_qp(qp);
                prop_assert_eq!(SeedTable::new(&spec).hash(spec.plain(&key)), spec.hash(&key));
            }
        }
    }
}

//! What a source port adds to a switch's hash, looked up instead of hashed.
//!
//! The hash is affine over GF(2), and where the port sits in the key depends on the selected fields alone. So
//! `h(port) = h(0xC000) ^ d(port)`, where `d` is linear in the 14 free bits and the same for every packet that the
//! switch sees. The multiplier that a seed stands for is part of `d`: switches with seeds of their own have tables
//! of their own, switches with one spec share theirs.

use crate::five_tuple::HashKey;
use crate::hash::HashSpec;
use crate::source_port::{FIRST_PORT, PORT_BITS};

const LOW_BITS: u32 = PORT_BITS / 2;
const HALF: usize = 1 << LOW_BITS;

/// The differences that source ports 0xC000..=0xFFFF make to one [`HashSpec`], in two tables of seven bits each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortTable {
    low: [u32; HALF],
    high: [u32; HALF],
}

impl PortTable {
    /// Learns the 14 differences by 15 hashes.
    pub fn new(spec: &HashSpec) -> Self {
        let key = HashKey::default();
        let base = spec.hash(&key.with_source_port(FIRST_PORT));
        let bit = |bit: u32| spec.hash(&key.with_source_port(FIRST_PORT | 1 << bit)) ^ base;
        let half = |first: u32| {
            let bits: [u32; LOW_BITS as usize] = std::array::from_fn(|of| bit(first + of as u32));
            let mut all = [0; HALF];
            for value in 1..HALF {
                all[value] = all[value & (value - 1)] ^ bits[value.trailing_zeros() as usize];
            }
            all
        };
        Self { low: half(0), high: half(LOW_BITS) }
    }

    /// What `port` adds to the hash at port 0xC000; the low 14 bits of `port` count.
    #[inline]
    pub fn difference(&self, port: u16) -> u32 {
        let port = usize::from(port);
        self.low[port % HALF] ^ self.high[port / HALF % HALF]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Fields, FiveTuple, HashFunction};

    proptest! {
        #[test]
        fn a_hash_is_its_base_and_the_difference(
            seed: u32, offset in 0u8..32, port in FIRST_PORT..=u16::MAX, ips: (u32, u32), qp: u32, ingress: u32,
        ) {
            let all = Fields::FIVE_TUPLE_AND_QP | Fields::INGRESS_PORT;
            for function in HashFunction::ALL {
                for fields in [Fields::FIVE_TUPLE, all, Fields::SOURCE_IP, Fields::SOURCE_IP | Fields::SOURCE_PORT] {
                    let spec = HashSpec::new(function).with_fields(fields).with_seed(seed).with_offset(offset);
                    let tuple = FiveTuple::roce(ips.0, ips.1, FIRST_PORT);
                    let key = HashKey::of(tuple).with_target_qp(qp).with_ingress_port(ingress);
                    let foreseen = spec.hash(&key) ^ PortTable::new(&spec).difference(port);
                    prop_assert_eq!(foreseen, spec.hash(&key.with_source_port(port)));
                }
            }
        }
    }
}

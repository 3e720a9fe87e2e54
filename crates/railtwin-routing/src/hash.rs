//! The hash by which a switch picks one member of an ECMP group.

use std::str::FromStr;

use crate::crc::{crc16_ccitt, crc32, crc32c};
use crate::error::RoutingError;
use crate::fields::Fields;
use crate::five_tuple::HashKey;
use crate::seed_mix::mix;
use crate::toeplitz::toeplitz_rss;

railtwin_units::choice! {
    /// A hash function found in switches. Each is affine over GF(2) for keys of one length.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum HashFunction {
        /// `crc-16`: CRC-16/CCITT-FALSE (polynomial 0x1021, initial value 0xFFFF), 16 bits.
        Crc16Ccitt = "crc-16",
        /// `crc-32`: CRC-32 of IEEE 802.3, 32 bits.
        Crc32 = "crc-32",
        /// `crc-32c`: CRC-32C of Castagnoli, 32 bits.
        Crc32c = "crc-32c",
        /// `xor`: XOR of the key's 16-bit words, an odd last byte being padded with zero, 16 bits.
        XorFold16 = "xor",
        /// `toeplitz`: Toeplitz hash under the key of the RSS specification, 32 bits.
        Toeplitz = "toeplitz",
    }
}

impl HashFunction {
    /// Bits of the result: 16 or 32.
    #[inline]
    pub const fn width(self) -> u32 {
        match self {
            Self::Crc16Ccitt | Self::XorFold16 => 16,
            Self::Crc32 | Self::Crc32c | Self::Toeplitz => 32,
        }
    }

    /// The plain function over a serialised key of at most [`crate::fields::MAX_KEY_BYTES`].
    fn of_bytes(self, bytes: &[u8]) -> u32 {
        match self {
            Self::Crc16Ccitt => u32::from(crc16_ccitt(bytes)),
            Self::Crc32 => crc32(bytes),
            Self::Crc32c => crc32c(bytes),
            Self::XorFold16 => u32::from(xor_fold16(bytes)),
            Self::Toeplitz => toeplitz_rss(bytes),
        }
    }
}

impl FromStr for HashFunction {
    type Err = RoutingError;

    fn from_str(name: &str) -> Result<Self, RoutingError> {
        Self::named(name).ok_or_else(|| RoutingError::UnknownHashFunction {
            name: name.to_owned(),
            accepted: Self::NAMES.join(", "),
        })
    }
}

/// All that decides a switch's choice: function, fields, seed and offset.
///
/// The hash is `rotate_right(a(seed) * f(selected fields), offset)`. The product is in GF(2^w),
/// w being the function's width, so the whole stays affine:
/// `h(x ^ d) = h(x) ^ h(d) ^ h(0)` (RePaC, USENIX ATC 2021).
/// Two tiers with equal specs are polarised; different seeds part them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HashSpec {
    /// The function.
    pub function: HashFunction,
    /// The fields it reads.
    pub fields: Fields,
    /// 0 gives the plain function; any other value a field multiplier drawn from it.
    pub seed: u32,
    /// The lowest bit of the result that counts: the result is rotated right by this many bits,
    /// modulo the function's width. It parts tiers of power-of-two groups; groups whose size
    /// shares a factor with 2^width - 1 (3, 5, 15, 17 ...) need different seeds.
    pub offset: u8,
}

impl HashSpec {
    /// The plain function over the five-tuple: seed 0, offset 0.
    #[inline]
    pub const fn new(function: HashFunction) -> Self {
        Self { function, fields: Fields::FIVE_TUPLE, seed: 0, offset: 0 }
    }

    /// Per-port hashing as in the HPN core (HPN, SIGCOMM 2024, §7): the next port is a fixed
    /// function of the port of arrival. The XOR fold of a port number below 65536 is that number,
    /// so any run of `n` ingress ports maps one to one on a group of `n`.
    #[inline]
    pub const fn per_port() -> Self {
        Self::new(HashFunction::XorFold16).with_fields(Fields::INGRESS_PORT)
    }

    /// The same over other fields.
    #[inline]
    pub const fn with_fields(mut self, fields: Fields) -> Self {
        self.fields = fields;
        self
    }

    /// The same with another seed.
    #[inline]
    pub const fn with_seed(mut self, seed: u32) -> Self {
        self.seed = seed;
        self
    }

    /// The same with another bit offset.
    #[inline]
    pub const fn with_offset(mut self, offset: u8) -> Self {
        self.offset = offset;
        self
    }

    /// The hash of `key`, below 2^[`HashFunction::width`].
    #[inline]
    pub fn hash(&self, key: &HashKey) -> u32 {
        self.seeded(self.plain(key))
    }

    /// What `key` comes to before seed and offset: alike for all switches that read the same fields by the same
    /// function.
    #[inline]
    pub fn plain(&self, key: &HashKey) -> u32 {
        self.function.of_bytes(self.fields.serialise(key).as_slice())
    }

    /// Seed and offset at work on a plain hash. Of narrow functions the bits beyond the width are none.
    #[inline]
    pub(crate) fn seeded(&self, plain: u32) -> u32 {
        let width = self.function.width();
        if width < 32 && plain >> width != 0 {
            return 0;
        }
        rotate_right(mix(plain, self.seed, width), u32::from(self.offset), width)
    }

    /// The member of an ECMP group of `members` that `key` takes: the hash modulo the size.
    ///
    /// Modulo reads the low bits of the hash if the size is a power of two and all bits otherwise.
    /// Members whose number is below `2^width mod members` are favoured by one part in
    /// `2^width / members`: 0.1 % for 60 members and 16 bits, nothing to speak of for 32 bits.
    ///
    /// # Panics
    /// If `members` is 0: a route without a next port must not be asked for one.
    #[inline]
    pub fn bucket(&self, key: &HashKey, members: usize) -> usize {
        bucket_of(self.hash(key), members)
    }
}

/// The group member that a hash value stands for.
#[inline]
pub(crate) fn bucket_of(hash: u32, members: usize) -> usize {
    assert!(members > 0, "an ECMP group needs a member, got 0");
    (u64::from(hash) % members as u64) as usize
}

fn rotate_right(value: u32, by: u32, width: u32) -> u32 {
    match width {
        16 => u32::from((value as u16).rotate_right(by)),
        _ => value.rotate_right(by),
    }
}

fn xor_fold16(bytes: &[u8]) -> u16 {
    let (words, rest) = bytes.as_chunks::<2>();
    let even = words.iter().fold(0, |sum, word| sum ^ u16::from_be_bytes(*word));
    even ^ rest.first().map_or(0, |&last| u16::from(last) << 8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::five_tuple::FiveTuple;

    #[test]
    fn names_round_trip_and_errors_list_them() {
        for function in HashFunction::ALL {
            assert_eq!(function.name().parse(), Ok(function));
        }
        let error = "crc32".parse::<HashFunction>().expect_err("a bad input").to_string();
        assert_eq!(error, "unknown hash function `crc32`; accepted: crc-16, crc-32, crc-32c, xor, toeplitz");
    }

    #[test]
    fn seed_zero_offset_zero_is_the_plain_function() {
        let key = HashKey::of(FiveTuple::roce(0x0a00_0001, 0x0a00_0002, 0xC000));
        let bytes = Fields::FIVE_TUPLE.serialise(&key);
        let spec = HashSpec::new(HashFunction::Crc32c);
        assert_eq!(spec.hash(&key), crc32c(bytes.as_slice()));
    }

    #[test]
    fn xor_fold_by_hand() {
        assert_eq!(xor_fold16(&[0x12, 0x34, 0x0F, 0xF0, 0xAA]), 0x1DC4 ^ 0xAA00);
    }

    #[test]
    fn offset_chooses_the_bits() {
        let key = HashKey::of(FiveTuple::roce(0x0a00_0001, 0x0a00_0002, 0xC123));
        for function in HashFunction::ALL {
            let plain = HashSpec::new(function);
            let moved = plain.with_offset(5);
            assert_eq!(moved.bucket(&key, 8), (plain.hash(&key) >> 5 & 7) as usize);
            assert_eq!(plain.with_offset(64).hash(&key), plain.hash(&key));
        }
    }

    #[test]
    fn per_port_hash_is_one_to_one_and_ignores_the_packet() {
        let spec = HashSpec::per_port();
        for (first, members) in [(0, 64), (64, 64), (7, 60)] {
            let mut taken = vec![false; members];
            for port in 0..members as u32 {
                let tuple = FiveTuple::roce(port, 1, 0xC000 + port as u16);
                let member = spec.bucket(&HashKey::of(tuple).with_ingress_port(first + port), members);
                assert!(!std::mem::replace(&mut taken[member], true), "{first} {port}");
            }
        }
    }

    fn any_key() -> impl Strategy<Value = HashKey> {
        any::<(u32, u32, u16, u16, u8, u32, u32)>().prop_map(|parts| {
            let (source_ip, target_ip, source_port, target_port, protocol, qp, ingress) = parts;
            let tuple = FiveTuple { source_ip, target_ip, source_port, target_port, protocol };
            HashKey { tuple, target_qp: qp, ingress_port: ingress }
        })
    }

    fn any_fields() -> impl Strategy<Value = Fields> {
        prop::sample::subsequence(Fields::NAMES.to_vec(), 1..=7)
            .prop_map(|names| Fields::from_names(names).expect("known names, each once"))
    }

    proptest! {
        /// RePaC's property, for every function, field mask, seed and offset.
        #[test]
        fn hash_is_affine(
            x in any_key(), d in any_key(), fields in any_fields(), seed: u32, offset: u8,
        ) {
            for function in HashFunction::ALL {
                let spec = HashSpec { function, fields, seed, offset };
                let zero = spec.hash(&HashKey::default());
                prop_assert_eq!(spec.hash(&(x ^ d)), spec.hash(&x) ^ spec.hash(&d) ^ zero);
            }
        }

        #[test]
        fn hash_fits_its_width_and_bucket_its_group(x in any_key(), seed: u32, n in 1usize..300) {
            for function in HashFunction::ALL {
                let spec = HashSpec::new(function).with_seed(seed).with_offset(3);
                prop_assert!(u64::from(spec.hash(&x)) < 1 << function.width());
                prop_assert!(spec.bucket(&x, n) < n);
            }
        }

        #[test]
        fn unselected_fields_do_not_matter(x in any_key(), qp: u32, ingress: u32) {
            for function in HashFunction::ALL {
                let spec = HashSpec::new(function).with_seed(9);
                let other = x.with_target_qp(qp).with_ingress_port(ingress);
                prop_assert_eq!(spec.hash(&x), spec.hash(&other));
            }
        }
    }
}

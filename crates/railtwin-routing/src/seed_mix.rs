//! How a seed enters a hash: multiplication in the field GF(2^w), w being the hash's width.
//!
//! A seed must tell tiers apart and yet keep the hash affine over GF(2). A seed that is only the
//! initial value of a CRC XORs a constant in, which renames the members of a power-of-two group
//! and leaves two tiers polarised. Multiplying by a fixed non-zero field element is linear,
//! loses nothing (it has an inverse) and moves every output bit. Tiers with multipliers `a` and
//! `b` share a linear relation in their low `k` bits only if `a / b` is a quotient of two elements
//! out of 2^k: at most 2^(2k) of the 2^w multipliers, 2^-26 of them for 8 members and 32 bits.

/// Low terms of x^32 + x^7 + x^3 + x^2 + 1, irreducible over GF(2).
const FIELD_32: u64 = 0x8D;
/// Low terms of x^16 + x^5 + x^3 + x + 1, irreducible over GF(2).
const FIELD_16: u64 = 0x2B;

/// `hash` (of `width` bits, 16 or 32) times the multiplier that `seed` stands for.
/// Seed 0 leaves the hash as it is.
#[inline]
pub(crate) fn mix(hash: u32, seed: u32, width: u32) -> u32 {
    if seed == 0 { hash } else { multiply(hash, multiplier(seed, width), width) }
}

/// A non-zero element of GF(2^width); 1 for seed 0.
fn multiplier(seed: u32, width: u32) -> u32 {
    let drawn = (splitmix64(u64::from(seed)) >> (64 - width)) as u32;
    if seed == 0 || drawn == 0 { 1 } else { drawn }
}

/// Product in GF(2^width) of two elements, each below 2^width.
fn multiply(a: u32, b: u32, width: u32) -> u32 {
    let tail = if width == 16 { FIELD_16 } else { FIELD_32 };
    let mut product = 0u64;
    for bit in 0..32 {
        // All ones where the bit of `b` is set: no branch to mispredict.
        product ^= (u64::from(a) << bit) & 0u64.wrapping_sub(u64::from((b >> bit) & 1));
    }
    // Two folds bring the degree below `width`, because the tail's degree is below width / 2.
    let low = (1u64 << width) - 1;
    product = (product & low) ^ times_tail(product >> width, tail);
    product = (product & low) ^ times_tail(product >> width, tail);
    product as u32
}

/// Carry-less product with a tail of degree at most 7.
fn times_tail(high: u64, tail: u64) -> u64 {
    (0..8).fold(0, |sum, bit| sum ^ ((high << bit) & 0u64.wrapping_sub((tail >> bit) & 1)))
}

/// One step of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): spreads neighbouring seeds.
#[inline]
pub(crate) const fn splitmix64(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Remainder of polynomials over GF(2).
    fn remainder(mut a: u64, b: u64) -> u64 {
        while a != 0 && a.ilog2() >= b.ilog2() {
            a ^= b << (a.ilog2() - b.ilog2());
        }
        a
    }

    fn gcd(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { gcd(b, remainder(a, b)) }
    }

    /// Rabin's test: p of degree 2^m is irreducible if p divides x^(2^w) - x and has no factor in
    /// common with x^(2^(w/2)) - x (2 is the only prime that divides w).
    #[test]
    fn fields_are_fields() {
        for (width, tail) in [(16, FIELD_16), (32, FIELD_32)] {
            let polynomial = (1u64 << width) | tail;
            let power = |squarings: u32| (0..squarings).fold(2, |x, _| multiply(x, x, width));
            assert_eq!(power(width), 2);
            assert_eq!(gcd(polynomial, u64::from(power(width / 2) ^ 2)), 1);
        }
    }

    #[test]
    fn multiply_reduces_by_the_polynomial() {
        assert_eq!(multiply(1 << 31, 2, 32), FIELD_32 as u32);
        assert_eq!(multiply(1 << 15, 2, 16), FIELD_16 as u32);
        assert_eq!(u64::from(multiply(0xDEAD, 0xBEEF, 16)), remainder(clmul(0xDEAD, 0xBEEF), 0x1_002B));
    }

    fn clmul(a: u64, b: u64) -> u64 {
        (0..32).filter(|bit| b >> bit & 1 == 1).fold(0, |sum, bit| sum ^ (a << bit))
    }

    #[test]
    fn seed_zero_is_identity() {
        assert_eq!(mix(0xCBF4_3926, 0, 32), 0xCBF4_3926);
        assert_eq!(multiplier(0, 16), 1);
    }

    proptest! {
        #[test]
        fn mix_is_linear_and_loses_nothing(x: u32, y: u32, seed: u32) {
            prop_assert_eq!(mix(x ^ y, seed, 32), mix(x, seed, 32) ^ mix(y, seed, 32));
            prop_assert_eq!(mix(x, seed, 32) == mix(y, seed, 32), x == y);
            let (x, y) = (x & 0xFFFF, y & 0xFFFF);
            prop_assert_eq!(mix(x ^ y, seed, 16), mix(x, seed, 16) ^ mix(y, seed, 16));
            prop_assert_eq!(mix(x, seed, 16) == mix(y, seed, 16), x == y);
            prop_assert!(mix(x, seed, 16) <= 0xFFFF);
        }

        #[test]
        fn product_is_that_of_polynomials(a: u32, b: u32) {
            let whole = clmul(u64::from(a), u64::from(b));
            prop_assert_eq!(u64::from(multiply(a, b, 32)), remainder(whole, (1 << 32) | FIELD_32));
        }
    }
}

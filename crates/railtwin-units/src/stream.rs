//! Named random streams: adding a consumer never moves another's numbers.
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

/// A random stream that belongs to one purpose.
pub type Stream = Pcg64Mcg;

/// The stream called `name` of run seed `seed`: the same pair gives the same numbers everywhere.
#[inline]
pub fn named(seed: u64, name: &str) -> Stream {
    Stream::seed_from_u64(number(seed, name))
}

/// The one number called `name` of run seed `seed`, where a stream of them is not asked.
#[inline]
pub fn number(seed: u64, name: &str) -> u64 {
    let state = mix(seed ^ 0x9e37_79b9_7f4a_7c15);
    name.bytes().fold(state, |state, byte| mix(state ^ u64::from(byte)))
}

/// One step of splitmix64 (Steele, Lea, Flood 2014): a bijection with full avalanche.
#[inline]
pub fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn streams_differ_by_name_and_by_seed_and_repeat() {
        let first = |seed, name| named(seed, name).next_u64();
        assert_eq!(first(7, "hash"), first(7, "hash"));
        assert_ne!(first(7, "hash"), first(8, "hash"));
        assert_ne!(first(7, "hash"), first(7, "placement"));
        assert_eq!(number(7, "host"), number(7, "host"));
        assert_ne!(number(7, "host"), number(8, "host"));
        assert_ne!(number(7, "host"), number(7, "switch"));
    }
}

//! How unevenly a choice of paths loads the links.

/// Max-mean ratio of link loads (Meta RoCE, SIGCOMM 2024, §4.1.1): 1 is perfect balance, the
/// number of links is all on one. `loads` holds one entry per link, in any unit.
///
/// Without any load (or any link) nothing is out of balance and the ratio is 1.
#[inline]
pub fn max_mean_ratio(loads: &[u64]) -> f64 {
    let total: u128 = loads.iter().map(|&load| u128::from(load)).sum();
    match loads.iter().max() {
        Some(&max) if total > 0 => max as f64 * loads.len() as f64 / total as f64,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;
    use crate::{FiveTuple, HashFunction, HashKey, HashSpec};

    #[test]
    fn ratio_by_hand() {
        assert_eq!(max_mean_ratio(&[3, 1, 2, 2]), 1.5);
        assert_eq!(max_mean_ratio(&[5, 0, 0, 0]), 4.0);
        assert_eq!(max_mean_ratio(&[u64::MAX, u64::MAX]), 1.0);
        assert_eq!(max_mean_ratio(&[0, 0]), 1.0);
        assert_eq!(max_mean_ratio(&[]), 1.0);
    }

    /// Meta RoCE §4.1.1: 1000 flows over 16 links give a mean ratio above 1.2; an ideal hash gives
    /// 1.230 with a deviation of 0.066 between trials.
    #[test]
    fn thousand_random_flows_over_sixteen_links() {
        const TRIALS: u32 = 500;
        let mut rng = Pcg64::seed_from_u64(16);
        let spec = HashSpec::new(HashFunction::Crc32);
        let mut sum = 0.0;
        for _ in 0..TRIALS {
            let mut loads = [0; 16];
            for _ in 0..1000 {
                let port = rng.random_range(0xC000..=0xFFFF);
                let tuple = FiveTuple::roce(rng.random(), rng.random(), port);
                loads[spec.bucket(&HashKey::of(tuple), 16)] += 1;
            }
            sum += max_mean_ratio(&loads);
        }
        let mean = sum / f64::from(TRIALS);
        assert!((1.20..1.26).contains(&mean), "mean max-mean ratio {mean}");
    }
}

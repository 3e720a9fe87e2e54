//! Polarisation: what a second tier does with the traffic that one member of the first sends it.

use railtwin_routing::{FiveTuple, HashFunction, HashKey, HashSpec, max_mean_ratio};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const FLOWS: usize = 200_000;
/// Functions whose 32 bits leave no visible remainder for 60 members.
const WIDE: [HashFunction; 3] = [HashFunction::Crc32, HashFunction::Crc32c, HashFunction::Toeplitz];
const NARROW: [HashFunction; 2] = [HashFunction::Crc16Ccitt, HashFunction::XorFold16];

/// Loads of the second tier's members from flows that took member `via` of the first tier.
fn second_tier_loads(
    first: impl Fn(&HashKey) -> usize,
    second: impl Fn(&HashKey) -> usize,
    via: usize,
    members: usize,
) -> Vec<u64> {
    let mut rng = Pcg64::seed_from_u64(2024);
    let mut loads = vec![0; members];
    for _ in 0..FLOWS {
        let port = rng.random_range(0xC000..=0xFFFF);
        let key = HashKey::of(FiveTuple::roce(rng.random(), rng.random(), port));
        if first(&key) == via {
            loads[second(&key)] += 1;
        }
    }
    loads
}

fn between_specs(first: HashSpec, second: HashSpec, via: usize, members: usize) -> Vec<u64> {
    let pick = |spec: HashSpec| move |key: &HashKey| spec.bucket(key, members);
    second_tier_loads(pick(first), pick(second), via, members)
}

fn used(loads: &[u64]) -> usize {
    loads.iter().filter(|&&load| load > 0).count()
}

/// Pearson's statistic against equal shares.
fn chi_square(loads: &[u64]) -> f64 {
    let mean = loads.iter().sum::<u64>() as f64 / loads.len() as f64;
    loads.iter().map(|&load| (load as f64 - mean).powi(2) / mean).sum()
}

/// Chi-square bound that an even spread passes 9999 times in 10000.
fn bound(members: usize) -> f64 {
    match members {
        8 => 29.9,
        60 => 107.0,
        other => panic!("no bound for {other} members"),
    }
}

#[test]
fn the_same_seed_polarises_fully() {
    for function in HashFunction::ALL {
        for (seed, members) in [(0, 8), (5, 8), (0, 60), (5, 60)] {
            let spec = HashSpec::new(function).with_seed(seed);
            let loads = between_specs(spec, spec, 3, members);
            assert_eq!(used(&loads), 1, "{function} seed {seed} of {members}");
            assert!(loads[3] > 0);
        }
    }
}

#[test]
fn separate_seeds_spread_evenly() {
    for function in WIDE {
        for (first, second) in [(0, 1), (1, 2), (7, 1_000_000)] {
            for members in [8, 60] {
                let spec = HashSpec::new(function);
                let loads = between_specs(spec.with_seed(first), spec.with_seed(second), 3, members);
                let chi = chi_square(&loads);
                assert!(chi < bound(members), "{function} {first} {second} {members}: {chi}");
            }
        }
    }
}

/// 16 bits leave about 1100 values behind one of 60 members, so shares stay lumpy.
#[test]
fn separate_seeds_reach_all_members_with_sixteen_bits() {
    for function in NARROW {
        for (first, second) in [(0, 1), (1, 2), (7, 1_000_000)] {
            let spec = HashSpec::new(function);
            let (first, second) = (spec.with_seed(first), spec.with_seed(second));
            assert!(chi_square(&between_specs(first, second, 3, 8)) < bound(8));
            let loads = between_specs(first, second, 3, 60);
            assert_eq!(used(&loads), 60, "{function}");
            assert!(max_mean_ratio(&loads) < 2.0, "{function}: {loads:?}");
        }
    }
}

/// What an initial value does: a constant XORed into the result.
#[test]
fn a_constant_alone_does_not_part_tiers() {
    let spec = HashSpec::new(HashFunction::Crc32);
    for constant in [0x1234_5679, 0xFFFF_FFFF, 0x8000_0003] {
        let shifted = |members: u32| move |key: &HashKey| ((spec.hash(key) ^ constant) % members) as usize;
        let loads = second_tier_loads(|key| spec.bucket(key, 8), shifted(8), 3, 8);
        assert_eq!(used(&loads), 1);
        let loads = second_tier_loads(|key| spec.bucket(key, 60), shifted(60), 3, 60);
        assert!(chi_square(&loads) > 10.0 * bound(60), "60 members stay partly polarised");
    }
}

#[test]
fn another_polynomial_or_other_bits_part_tiers() {
    let crc32 = HashSpec::new(HashFunction::Crc32);
    let crc32c = HashSpec::new(HashFunction::Crc32c);
    for members in [8, 60] {
        assert!(chi_square(&between_specs(crc32, crc32c, 3, members)) < bound(members));
    }
    assert!(chi_square(&between_specs(crc32, crc32.with_offset(3), 3, 8)) < bound(8));
    // Two bits of three are shared: two members are left.
    assert_eq!(used(&between_specs(crc32, crc32.with_offset(1), 3, 8)), 2);
}

/// Rotating 32 bits multiplies by a power of two modulo 2^32 - 1, which 15 divides: of 60 members
/// the residue modulo 15 stays known, whatever the offset.
#[test]
fn an_offset_does_not_part_tiers_of_sixty() {
    for function in HashFunction::ALL {
        let spec = HashSpec::new(function);
        let loads = between_specs(spec, spec.with_offset(6), 3, 60);
        assert_eq!(used(&loads), 4, "{function}");
    }
}

/// Different sizes are no cure: gcd(8, 60) = 4 residues stay known.
#[test]
fn group_sizes_with_a_common_factor_stay_polarised() {
    let spec = HashSpec::new(HashFunction::Crc32);
    let loads = second_tier_loads(|key| spec.bucket(key, 8), |key| spec.bucket(key, 60), 3, 60);
    assert_eq!(used(&loads), 15);
}

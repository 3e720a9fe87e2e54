//! Source ports as Linux derives them from queue-pair sequences, against ports drawn at random.

use railtwin_routing::{
    FiveTuple, HashFunction, HashKey, HashSpec, QueuePairNumbers, connect, max_mean_ratio, roce_source_port,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const PAIRS: u64 = 2000;
const QUEUE_PAIRS: usize = 16;
const LINKS: usize = 16;

/// Mean ratio over many NIC pairs, each with 16 queue pairs over 16 uplinks of the leaf.
fn mean_ratio(ports_of: impl Fn(u64) -> Vec<u16>) -> f64 {
    let leaf = HashSpec::new(HashFunction::Crc32).with_seed(3);
    let ratio = |pair: u64| {
        let mut loads = [0; LINKS];
        for port in ports_of(pair) {
            let source = 0x0a00_0000 | pair as u32;
            let tuple = FiveTuple::roce(source, source + 0x1_0000, port);
            loads[leaf.bucket(&HashKey::of(tuple), LINKS)] += 1;
        }
        max_mean_ratio(&loads)
    };
    (0..PAIRS).map(ratio).sum::<f64>() / PAIRS as f64
}

#[test]
fn sequential_queue_pairs_are_about_as_uneven_as_luck() {
    let derived = mean_ratio(|pair| {
        let mut sender = QueuePairNumbers::from_stream(2 * pair);
        let mut receiver = QueuePairNumbers::from_stream(2 * pair + 1);
        connect(&mut sender, &mut receiver, QUEUE_PAIRS as u32, true)
            .into_iter()
            .map(|(local, remote)| roce_source_port(local, remote))
            .collect()
    });
    let drawn = mean_ratio(|pair| {
        let mut rng = Pcg64::seed_from_u64(pair);
        (0..QUEUE_PAIRS).map(|_| rng.random_range(0xC000..=0xFFFF)).collect()
    });
    assert!((2.8..3.4).contains(&drawn), "16 flows over 16 links, random ports: {drawn}");
    assert!((derived - drawn).abs() < 0.3, "derived ports {derived}, random ports {drawn}");
}

//! A model made by hand: what was measured, what larger clusters take, and what engines are given of it.
use proptest::prelude::*;

use super::*;

/// Rings of 10 us a step and 40 GB/s, trees of 20 us a level.
fn model() -> ScalingModel {
    let steps =
        (10..28).map(|power| StepPoint { chunk: 1 << power, seconds: 10e-6 + f64::from(1 << power) / 40e9 });
    let tree = |power: u32| LevelPoint {
        bytes: 1 << power,
        first: 10e-6 + f64::from(1_u32 << power) / 20e9,
        level: 20e-6 + f64::from(1_u32 << power) / 40e9,
    };
    ScalingModel {
        collective: Collective::AllReduce,
        local: 4,
        hosts: vec![2, 4, 8],
        steps: steps.collect(),
        trees: (3..24).map(tree).collect(),
        large: Some(LargeTrees {
            first: 10e-6,
            level: 20e-6,
            level_per_byte: 1.0 / 40e9,
            level_bytes: 1 << 23,
            per_byte: 1.0 / 20e9,
        }),
        distance: 0.02,
        switches: vec![Switch { hosts: 8, bytes: 1 << 22 }],
        network: NetworkPart { step: 1e-6, first: 2e-6, level: 3e-6 },
        busbw: [40e9, 30e9],
        network_limits: false,
        band: vec![BandRow { class: 0, beyond: 4, low: 0.9, high: 1.1 }],
    }
}

#[test]
fn what_was_measured_is_said_of_it() {
    let (model, group) = (model(), Group::of(8, 4));
    let ring = model.predict(group, 1 << 22).unwrap();
    assert_eq!((ring.algorithm, ring.beyond), (Algorithm::Ring, 1.0));
    assert!((ring.seconds / (62.0 * (10e-6 + f64::from(1 << 17) / 40e9)) - 1.0).abs() < 1e-12);
    let tree = model.predict(group, 1 << 21).unwrap();
    assert_eq!(tree.algorithm, Algorithm::Tree);
    assert!((tree.seconds / (70e-6 + f64::from(1 << 21) * (1.0 / 20e9 + 3.0 / 40e9)) - 1.0).abs() < 1e-12);
    assert!(model.predict(Group::of(1, 4), 1 << 20).is_none());
}

/// Rings grow with the ranks, trees with their logarithm: at a size of a thousand hosts trees are cheaper for more sizes.
#[test]
fn trees_win_on_larger_clusters() {
    let model = model();
    let from = |hosts: u32| {
        let ring = |power: &u32| {
            model.predict(Group::of(hosts, 4), 1 << power).unwrap().algorithm == Algorithm::Ring
        };
        (10..36).find(ring).unwrap()
    };
    assert!(from(8) < from(64) && from(64) < from(1024), "{} {} {}", from(8), from(64), from(1024));
    let far = model.predict(Group::of(16, 4), 1024).unwrap();
    let of = |hosts: u32| model.tree(Group::of(hosts, 4), 1024).unwrap();
    assert_eq!((far.beyond, far.band), (2.0, (0.9, 1.1)));
    // A level more, and two per cent of distance.
    let level = 20e-6 + 1024.0 / 40e9;
    assert!((of(16) / 1.02 - of(8) - level).abs() < 1e-12);
    let two = model.predict(Group::of(64, 4), 1 << 26).unwrap();
    let both = [two.serial.unwrap(), two.tree.unwrap()];
    assert_eq!(two.other().is_some(), both[0].max(both[1]) < 2.0 * both[0].min(both[1]));
}

#[test]
fn other_collectives_have_steps_of_their_own() {
    let group = Group::of(4, 4);
    assert_eq!(serial(Collective::AllGather, group), (15, 16));
    assert_eq!(serial(Collective::AllToAll, group), (12, 16));
    assert_eq!(serial(Collective::SendReceive, group), (1, 1));
    let model = ScalingModel { collective: Collective::SendReceive, trees: Vec::new(), ..model() };
    let near = model.predict(Group::of(2, 4), 4096).unwrap();
    let far = model.predict(Group::of(512, 4), 4096).unwrap();
    assert_eq!((near.seconds, near.algorithm), (far.seconds, Algorithm::Direct));
}

proptest! {
    /// Latency and bandwidth of hosts, with the network's part, are the time that was predicted.
    #[test]
    fn costs_are_the_time(hosts in 2..4096_u32, power in 3..34_u32, odd in 0..1000_u64) {
        let (model, group, bytes) = (model(), Group::of(hosts, 4), (1_u64 << power) + odd);
        let scaled = model.predict(group, bytes).unwrap();
        prop_assert!(scaled.seconds > 0.0 && scaled.band.0 <= scaled.band.1);
        let (latency, busbw) = model.cost(group, bytes, scaled.algorithm).unwrap();
        let network = match scaled.algorithm {
            Algorithm::Tree => 2e-6 + 3e-6 * f64::from(hosts).log2(),
            _ => 1e-6 * f64::from(serial(Collective::AllReduce, group).0),
        };
        let whole = network + latency + bytes as f64 * bus_factor(Collective::AllReduce, group.ranks) / busbw.unwrap();
        prop_assert!(latency >= 0.0 && (whole / scaled.seconds - 1.0).abs() < 1e-9, "{} {}", whole, scaled.seconds);
    }

    /// Longer messages and larger clusters never take less.
    #[test]
    fn more_never_takes_less(hosts in 2..2048_u32, power in 3..33_u32) {
        let model = ScalingModel { switches: Vec::new(), ..model() };
        let of = |hosts: u32, bytes: u64| model.predict(Group::of(hosts, 4), bytes).unwrap().seconds;
        let bytes = 1_u64 << power;
        prop_assert!(of(hosts, 2 * bytes) >= of(hosts, bytes) * (1.0 - 1e-9));
        prop_assert!(of(2 * hosts, bytes) >= of(hosts, bytes) * (1.0 - 1e-9));
    }
}

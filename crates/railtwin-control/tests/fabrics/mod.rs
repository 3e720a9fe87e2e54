//! Small fabrics of every preset with random links dead, ways of hashing, and demands on them.

use proptest::prelude::*;
use railtwin_control::paths::{Assignment, Demand, JobId, PathAllocator};
use railtwin_fabric::Fabric;
use railtwin_fabric::preset::{DcnPlus, FatTree, Hpn, LeafSpine};
use railtwin_routing::{
    EcmpConfig, FiveTuple, HashFunction, HashKey, HashSpec, LinkMask, NicPort, Routing, Seeds, nic_ip,
};
use railtwin_testkit::draws::{host, shares};
use railtwin_testkit::fabrics::{self as testkit, network_cables, nics};

/// HPN with or without planes, of one pod or two.
pub fn hpn(pods: u32, segments: u32, hosts: u32, spines: u32, planes: bool) -> Fabric {
    let pod = testkit::hpn(host(2), segments, hosts, spines);
    let hpn = Hpn { pods, planes, spine_up: Some(2), cores: Some(spines), ..pod };
    hpn.build().expect("a small fabric")
}

pub fn any_fabric() -> impl Strategy<Value = Fabric> {
    prop_oneof![
        3 => (1u32..=2, 1u32..=3, 1u32..=2, 1u32..=6, any::<bool>()).prop_map(|(p, s, h, n, planes)| hpn(p, s, h, n, planes)),
        2 => (1u32..=2, 1u32..=2, 1u32..=2, 1u32..=3).prop_map(|(pods, segments, spines, parallel)| {
            let host = host(2);
            let cores = spines * segments * parallel;
            DcnPlus { host, pods, segments, hosts: 2, spines, parallel, cores, ..DcnPlus::default() }.build().expect("a small fabric")
        }),
        1 => (1u32..=3, 1u32..=4, 1u32..=3).prop_map(|(pairs, uplinks, parallel)| {
            let base = testkit::leaves(host(2), 2 * pairs, 2, uplinks);
            LeafSpine { parallel, ..base }.build().expect("a small fabric")
        }),
        1 => (1u32..=2).prop_map(|half| FatTree { k: 2 * half, ..FatTree::default() }.build().expect("a small fabric")),
    ]
}

pub fn crc32(seeds: Seeds) -> EcmpConfig {
    EcmpConfig::new(HashSpec::new(HashFunction::Crc32).with_seed(11), seeds)
}

/// A mask with a share of the backend's cables dead.
pub fn masked(fabric: &Fabric, share: f64, seed: u64) -> LinkMask {
    let mut mask = LinkMask::none(fabric);
    let mut draw = shares(seed);
    for cable in network_cables(fabric) {
        if draw() < share {
            mask.set_cable(cable, true);
        }
    }
    mask
}

/// A demand of which the NICs are drawn by index.
#[derive(Clone, Debug)]
pub struct Drawn {
    pub source: prop::sample::Index,
    pub port: u32,
    pub target: prop::sample::Index,
    pub queue_pairs: Vec<u32>,
    pub weight: u16,
}

pub fn any_demands(most: usize) -> impl Strategy<Value = Vec<Drawn>> {
    let queue_pairs = prop::collection::vec(2u32..1 << 24, 1..4);
    let parts = (any::<prop::sample::Index>(), 0u32..2, any::<prop::sample::Index>(), queue_pairs, 1u16..4);
    let drawn = parts.prop_map(|(source, port, target, queue_pairs, weight)| Drawn {
        source,
        port,
        target,
        queue_pairs,
        weight,
    });
    prop::collection::vec(drawn, 1..most)
}

pub fn demands<'a>(fabric: &Fabric, drawn: &'a [Drawn]) -> Vec<Demand<'a>> {
    let nics = nics(fabric);
    let demand = |one: &'a Drawn| Demand {
        source: NicPort { nic: *one.source.get(&nics), port: one.port },
        target: *one.target.get(&nics),
        queue_pairs: &one.queue_pairs,
        weight: one.weight,
    };
    drawn.iter().map(demand).collect()
}

/// The packet of an assignment.
pub fn key_of(given: &Assignment) -> HashKey {
    let tuple = FiveTuple::roce(nic_ip(given.source.nic), nic_ip(given.target), given.source_port);
    HashKey::of(tuple).with_target_qp(given.queue_pair)
}

pub fn all(allocator: &PathAllocator<'_>) -> Vec<(JobId, Assignment)> {
    allocator.jobs().flat_map(|job| allocator.assignments(job).map(move |given| (job, *given))).collect()
}

/// Every assignment's packets take its path, and each link's use is the sum of the assignments that cross it.
pub fn assert_sound(fabric: &Fabric, ecmp: &EcmpConfig, allocator: &PathAllocator<'_>) {
    let routing = Routing::new(fabric, allocator.forwarding(), ecmp);
    let (mut loads, mut crossings) = (vec![0u64; fabric.link_count()], vec![0u32; fabric.link_count()]);
    for (_, given) in all(allocator) {
        let mut path = Vec::new();
        let landed = routing.route(given.source, given.target, &key_of(&given), &mut path);
        assert_eq!(landed.ok().map(|landed| landed.port_index), given.landed, "{given:?}");
        assert_eq!(path, given.path.links(), "{given:?}");
        for link in path {
            loads[link.index()] += u64::from(given.weight);
            crossings[link.index()] += 1;
        }
    }
    for cable in fabric.cables() {
        for link in [cable.forward(), cable.backward()] {
            assert_eq!(allocator.load(link), loads[link.index()]);
            assert_eq!(allocator.crossings(link), crossings[link.index()]);
        }
    }
}

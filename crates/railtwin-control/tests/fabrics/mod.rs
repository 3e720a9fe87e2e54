//! Small fabrics of every preset with random links dead, ways of hashing, and demands on them.
#![allow(dead_code, reason = "each test file is a program of its own")]
#![allow(clippy::unwrap_used, reason = "a fabric that cannot be built fails the test")]

use proptest::prelude::*;
use railtwin_control::paths::{Assignment, Demand, JobId, PathAllocator};
use railtwin_fabric::preset::{DcnPlus, FatTree, Hpn, LeafSpine};
use railtwin_fabric::{CableClass, CableId, DeviceId, DeviceKind, Fabric, HostModel};
use railtwin_routing::{
    EcmpConfig, Fields, FiveTuple, HashFunction, HashKey, HashSpec, LinkMask, NicPort, Routing, Seeds, nic_ip,
};

fn host(nics: u32) -> HostModel {
    HostModel { gpus: nics, nics, frontend_nics: 0, ..HostModel::hgx_h800() }
}

/// HPN with or without planes, of one pod or two.
pub fn hpn(pods: u32, segments: u32, hosts: u32, spines: u32, planes: bool) -> Fabric {
    let hpn = Hpn {
        host: host(2),
        pods,
        segments: Some(segments),
        hosts: Some(hosts),
        spare_hosts: Some(0),
        planes,
        spines,
        spine_up: 2,
        cores: spines,
        ..Hpn::default()
    };
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
            let base = LeafSpine { host: host(2), leaves: 2 * pairs, hosts_per_leaf: 2, ..LeafSpine::default() };
            LeafSpine { uplinks, parallel, ..base }.build().expect("a small fabric")
        }),
        1 => (1u32..=2).prop_map(|half| FatTree { k: 2 * half, ..FatTree::default() }.build().expect("a small fabric")),
    ]
}

pub fn any_ecmp() -> impl Strategy<Value = EcmpConfig> {
    let function = prop::sample::select(HashFunction::ALL.to_vec());
    let seeds = prop::sample::select(vec![Seeds::Shared, Seeds::PerTier, Seeds::PerSwitch]);
    let fields = prop::sample::select(vec![
        Fields::FIVE_TUPLE,
        Fields::FIVE_TUPLE_AND_QP,
        Fields::FIVE_TUPLE | Fields::INGRESS_PORT,
    ]);
    (function, seeds, fields, any::<(u32, bool)>()).prop_map(
        |(function, seeds, fields, (seed, core_per_port))| EcmpConfig {
            spec: HashSpec::new(function).with_fields(fields).with_seed(seed),
            seeds,
            core_per_port,
        },
    )
}

pub fn crc32(seeds: Seeds) -> EcmpConfig {
    EcmpConfig::new(HashSpec::new(HashFunction::Crc32).with_seed(11), seeds)
}

/// The cables of the backend.
pub fn backend(fabric: &Fabric) -> Vec<CableId> {
    let inside = |cable| matches!(fabric.cable_class(cable), CableClass::NvLink | CableClass::Pcie);
    fabric.cables().filter(|&cable| !inside(cable)).collect()
}

pub fn nics(fabric: &Fabric) -> Vec<DeviceId> {
    fabric.devices().filter(|&d| fabric.kind(d) == DeviceKind::Nic).collect()
}

/// A mask with a share of the backend's cables dead.
pub fn masked(fabric: &Fabric, share: f64, seed: u64) -> LinkMask {
    let mut mask = LinkMask::none(fabric);
    let mut state = seed;
    for cable in backend(fabric) {
        state = railtwin_units::stream::mix(state);
        if ((state >> 11) as f64 / (1u64 << 53) as f64) < share {
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

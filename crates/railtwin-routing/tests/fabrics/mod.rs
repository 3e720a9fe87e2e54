//! Small fabrics of every preset, with random links dead, for property tests.

use proptest::prelude::*;
use railtwin_fabric::preset::{DcnPlus, FatTree, Hpn, LeafSpine, Tier2};
use railtwin_fabric::{CableClass, DeviceId, DeviceKind, Fabric, HostModel, LinkId};
use railtwin_routing::{EcmpConfig, Fields, HashFunction, HashSpec, LinkMask, Seeds};

/// Divisors of `whole` from which a count that must divide it is drawn.
fn divisor(whole: u32, draw: u32) -> u32 {
    let divisors: Vec<u32> = (1..=whole).filter(|&d| whole.is_multiple_of(d)).collect();
    divisors[draw as usize % divisors.len()]
}

fn small_host(nics: u32) -> HostModel {
    HostModel { gpus: nics, nics, frontend_nics: 0, ..HostModel::hgx_h800() }
}

fn hpn() -> impl Strategy<Value = Fabric> {
    let shape = (1u32..=3, 1u32..=3, 1u32..=2, 1u32..=6, 1u32..=4, 0u32..8);
    (shape, any::<(bool, bool, bool)>()).prop_map(|(shape, (planes, dual_tor, rail_only))| {
        let (pods, segments, nics, spines, spine_up, draw) = shape;
        let tier2 = if rail_only { Tier2::RailOnly } else { Tier2::AnyToAny };
        let hpn = Hpn {
            host: small_host(nics),
            pods,
            segments: Some(segments),
            hosts: Some(2),
            spare_hosts: Some(0),
            planes,
            dual_tor,
            tier2,
            spines,
            spine_up,
            cores: divisor(spines * spine_up, draw),
            ..Hpn::default()
        };
        hpn.build().expect("a small hpn")
    })
}

fn dcn_plus() -> impl Strategy<Value = Fabric> {
    // Three of each under a single core would ask for more than its chip has.
    let shape = (1u32..=3, 1u32..=3, 1u32..=3, 1u32..=2, 0u32..8);
    shape.prop_map(|(pods, segments, spines, parallel, draw)| {
        let dcn = DcnPlus {
            host: small_host(2),
            pods,
            segments,
            hosts: 2,
            spines,
            parallel,
            cores: divisor(spines * segments * 2 * parallel, draw),
            ..DcnPlus::default()
        };
        dcn.build().expect("a small dcn-plus")
    })
}

fn leaf_spine() -> impl Strategy<Value = Fabric> {
    (1u32..=4, 1u32..=4, 1u32..=3).prop_map(|(pairs, uplinks, parallel)| {
        let leaf_spine = LeafSpine {
            host: small_host(2),
            leaves: 2 * pairs,
            hosts_per_leaf: 1,
            uplinks,
            parallel,
            ..LeafSpine::default()
        };
        leaf_spine.build().expect("a small leaf-spine")
    })
}

fn fat_tree() -> impl Strategy<Value = Fabric> {
    (1u32..=3).prop_map(|half| {
        let tree = FatTree { k: 2 * half, ..FatTree::default() };
        tree.build().expect("a small fat-tree")
    })
}

/// A small fabric of any preset.
pub fn any_fabric() -> impl Strategy<Value = Fabric> {
    prop_oneof![3 => hpn(), 1 => dcn_plus(), 1 => leaf_spine(), 1 => fat_tree()]
}

/// A fabric with up to a third of the backend's links and cables dead.
pub fn any_masked() -> impl Strategy<Value = (Fabric, LinkMask)> {
    (any_fabric(), 0.0..0.35, any::<u64>()).prop_map(|(fabric, share, seed)| {
        let mut mask = LinkMask::none(&fabric);
        let mut state = seed;
        let mut draw = || {
            state = railtwin_units::stream::mix(state);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for cable in fabric.cables() {
            if is_backend(&fabric, cable.forward()) && draw() < share {
                match draw() {
                    0.0..0.2 => mask.set_link(cable.forward(), true),
                    0.2..0.4 => mask.set_link(cable.backward(), true),
                    _ => mask.set_cable(cable, true),
                }
            }
        }
        (fabric, mask)
    })
}

/// Any way of hashing.
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

/// Whether a link joins a NIC and a leaf or two switches.
pub fn is_backend(fabric: &Fabric, link: LinkId) -> bool {
    !matches!(fabric.cable_class(link.cable()), CableClass::NvLink | CableClass::Pcie)
}

/// The backend NICs.
pub fn nics(fabric: &Fabric) -> Vec<DeviceId> {
    let nics = fabric.devices().filter(|&d| fabric.kind(d) == DeviceKind::Nic);
    nics.collect()
}

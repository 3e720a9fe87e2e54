//! Small fabrics of every preset, with random links dead, for property tests.

use proptest::prelude::*;
use railtwin_fabric::Fabric;
use railtwin_fabric::preset::{DcnPlus, FatTree, Hpn, LeafSpine, Tier2};
use railtwin_routing::LinkMask;
use railtwin_testkit::draws::{host, shares};
use railtwin_testkit::fabrics::{self, network_cables};

/// Divisors of `whole` from which a count that must divide it is drawn.
fn divisor(whole: u32, draw: u32) -> u32 {
    let divisors: Vec<u32> = (1..=whole).filter(|&d| whole.is_multiple_of(d)).collect();
    divisors[draw as usize % divisors.len()]
}

fn hpn() -> impl Strategy<Value = Fabric> {
    let shape = (1u32..=3, 1u32..=3, 1u32..=2, 1u32..=6, 1u32..=4, 0u32..8);
    (shape, any::<(bool, bool, bool)>()).prop_map(|(shape, (planes, dual_tor, rail_only))| {
        let (pods, segments, nics, spines, spine_up, draw) = shape;
        let tier2 = if rail_only { Tier2::RailOnly } else { Tier2::AnyToAny };
        let hpn = Hpn {
            host: host(nics),
            pods,
            segments: Some(segments),
            hosts: Some(2),
            spare_hosts: Some(0),
            planes,
            dual_tor,
            tier2,
            spines: Some(spines),
            spine_up: Some(spine_up),
            cores: Some(divisor(spines * spine_up, draw)),
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
            host: host(2),
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
        let leaf_spine = LeafSpine { parallel, ..fabrics::leaves(host(2), 2 * pairs, 1, uplinks) };
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
        let mut draw = shares(seed);
        for cable in network_cables(&fabric) {
            if draw() < share {
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

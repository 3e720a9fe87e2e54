//! The packet engine against the flow engine on the same cases: end times agree within headers, acknowledgements and
//! store-and-forward, which flows do not have. A full packet has 4,178 bytes for 4,096 (2.0 % more); an
//! acknowledgement for each packet takes 2.1 % of the other direction.
#![allow(clippy::unwrap_used, reason = "a test")]
use std::sync::Arc;

use railtwin_engine::packet::Buffer;
use railtwin_engine::{Balancer, Case, Engine};
use railtwin_fabric::Fabric;
use railtwin_flowsim::FlowEngine;
use railtwin_testkit::cases::{collective, pairs};
use railtwin_testkit::fabrics::{host, leaf_spine, one_leaf, rails, t128};
use railtwin_testkit::works::{incast, permutation, shift};
use railtwin_units::Rate;
use railtwin_workload::collective::bus_factor;
use railtwin_workload::{Algorithm, Collective};

use crate::kit::run;

/// A buffer that pauses nobody.
const ENDLESS: Buffer = Buffer::Shared { bytes: 1 << 40, reserved: 0, alpha: 1.0 };

/// Neither pauses nor a window hold anybody up.
fn hold_nobody(case: &mut Case) {
    case.packets.tiers.iter_mut().for_each(|tier| tier.buffer = ENDLESS);
    case.packets.keys.window = None;
}

/// End of the packet engine over that of the flow engine.
fn ratio(name: &str, case: &Case) -> f64 {
    let flows = FlowEngine::default().run(case, 0);
    assert_eq!(flows.unfinished, 0);
    let packets = run(case);
    let ratio = packets.end.seconds() / flows.end.seconds();
    println!(
        "{name}: {:.1} us packets, {:.1} us flows, {ratio:.4}",
        packets.end.seconds() * 1e6,
        flows.end.seconds() * 1e6
    );
    ratio
}

fn within(name: &str, case: &Case, least: f64, most: f64) {
    let ratio = ratio(name, case);
    assert!((least..most).contains(&ratio), "{name}: {ratio} is not in {least}..{most}");
}

#[test]
fn one_message_takes_2_to_3_percent_longer_in_packets() {
    within("one of 20 MB", &pairs(t128(), &[(0, 8)], 20_000_000), 1.02, 1.03);
}

#[test]
fn a_permutation_without_luck_takes_3_to_6_percent_longer_in_packets() {
    let shifted = shift(128, 8);
    let mut case = pairs(t128(), &shifted, 10_000_000);
    case.routing.balancer = Balancer::DModK;
    within("permutation by D-mod-K", &case, 1.03, 1.06);
}

#[test]
fn a_permutation_by_hash_collides_alike_within_minus_5_to_plus_10_percent() {
    for seed in 1..5 {
        let case = pairs(t128(), &permutation(128, seed), 10_000_000);
        within("permutation by hash", &case, 0.95, 1.10);
    }
}

#[test]
fn an_incast_takes_2_to_3_percent_longer_in_packets() {
    let sources = incast((8..128).step_by(8));
    within("incast 15:1", &pairs(t128(), &sources, 10_000_000), 1.02, 1.03);
}

#[test]
fn an_all_to_all_within_a_leaf_takes_3_to_8_percent_longer_in_packets() {
    let fabric = leaf_spine(1, 16, 1, (100, 100), 1_000);
    within(
        "all-to-all of a leaf",
        &collective(fabric, Collective::AllToAll, Algorithm::Direct, 64 << 20),
        1.03,
        1.08,
    );
}

#[test]
fn an_all_to_all_over_spines_takes_up_to_20_percent_longer_in_packets() {
    // Flows of a bundle share the fate of its slowest; packets of others go on. So packets may gain as well.
    let fabric = leaf_spine(4, 4, 4, (100, 100), 1_000);
    for balancer in [Balancer::DModK, Balancer::Spray] {
        let mut case = collective(Arc::clone(&fabric), Collective::AllToAll, Algorithm::Direct, 64 << 20);
        case.routing.balancer = balancer;
        within(&format!("all-to-all, {balancer:?}"), &case, 0.90, 1.20);
    }
}

#[test]
fn a_ring_all_reduce_takes_4_to_10_percent_longer_in_packets() {
    let fabric = leaf_spine(1, 8, 1, (100, 100), 1_000);
    within("ring of 8", &collective(fabric, Collective::AllReduce, Algorithm::Ring, 64 << 20), 1.03, 1.10);
    within(
        "ring of 4 hosts of 4",
        &collective(rails(4, 4), Collective::AllReduce, Algorithm::Ring, 256 << 20),
        1.02,
        1.15,
    );
}

#[test]
fn aggregated_trees_take_2_to_8_percent_longer_in_packets() {
    for hosts in [7, 8] {
        for kind in [Collective::AllGather, Collective::ReduceScatter] {
            let fabric = leaf_spine(1, hosts, 1, (100, 100), 1_000);
            let case = collective(fabric, kind, Algorithm::Pat, 64 << 20);
            within(&format!("{kind} by pat of {hosts}"), &case, 1.02, 1.08);
        }
    }
}

#[test]
fn a_tree_all_reduce_takes_2_to_7_percent_longer_in_packets() {
    // Both children of a host send at once into its link. They stay no further ahead than it has room for, so sums do
    // not crowd out results for long, whether the leaf pauses or not.
    let fabric = leaf_spine(1, 8, 1, (100, 100), 1_000);
    let mut case = collective(Arc::clone(&fabric), Collective::AllReduce, Algorithm::Tree, 64 << 20);
    within("tree of 8", &case, 1.02, 1.06);
    hold_nobody(&mut case);
    within("tree of 8 without pauses or a window", &case, 1.02, 1.06);
    let case = collective(fabric, Collective::AllReduce, Algorithm::Tree, 256 << 20);
    within("long tree of 8", &case, 1.02, 1.06);
    let mut case = collective(rails(4, 4), Collective::AllReduce, Algorithm::Tree, 256 << 20);
    within("tree of 4 hosts of 4", &case, 1.02, 1.07);
    hold_nobody(&mut case);
    within("tree of 4 hosts of 4 without pauses or a window", &case, 1.02, 1.06);
}

#[test]
fn reduction_in_the_nvswitch_takes_2_to_6_percent_longer_in_packets() {
    for algorithm in [Algorithm::NvlsRing, Algorithm::NvlsTree] {
        let mut case = collective(rails(4, 4), Collective::AllReduce, algorithm, 256 << 20);
        within(algorithm.name(), &case, 1.02, 1.06);
        hold_nobody(&mut case);
        within(&format!("{} without pauses or a window", algorithm.name()), &case, 1.02, 1.06);
    }
}

/// Hosts of 8 H800 under one leaf: 200 GB/s of NVLink for each GPU, half of what the NICs of a host carry.
fn h800(hosts: u32) -> Arc<Fabric> {
    Arc::new(one_leaf(host(8, 1, 400), hosts).build().unwrap())
}

#[test]
fn what_nvlink_holds_takes_up_to_5_percent_longer_in_packets() {
    // Up, among hosts and down go on side by side: one after the other they took 1.5 to 1.8 times as long, and trees
    // in which GPUs sent ahead all that is their own 1.2 times.
    for hosts in [2, 4] {
        for (algorithm, most) in [(Algorithm::NvlsRing, 1.05), (Algorithm::Tree, 1.01)] {
            let case = collective(h800(hosts), Collective::AllReduce, algorithm, 256 << 20);
            within(&format!("{} of {hosts} hosts", algorithm.name()), &case, 0.98, most);
        }
    }
    // Two hosts: among four the NICs are as full as NVLink, so headers and acknowledgements count.
    let case = collective(h800(2), Collective::AllReduce, Algorithm::NvlsTree, 256 << 20);
    within("nvls-tree of 2 hosts", &case, 1.0, 1.02);
}

#[test]
fn caps_hold_in_packets() {
    let plain = leaf_spine(1, 4, 1, (100, 100), 1_000);
    let cases = [
        (h800(2), Algorithm::NvlsRing, Collective::AllReduce, 150e9),
        (h800(2), Algorithm::NvlsTree, Collective::AllReduce, 150e9),
        (h800(2), Algorithm::Tree, Collective::AllReduce, 90e9),
        (h800(2), Algorithm::Ring, Collective::AllGather, 90e9),
        (h800(1), Algorithm::Nvls, Collective::AllReduce, 150e9),
        // Nothing inside the host is there to be held: the messages are.
        (Arc::clone(&plain), Algorithm::Ring, Collective::AllReduce, 5e9),
        (Arc::clone(&plain), Algorithm::Tree, Collective::AllReduce, 4e9),
        (plain, Algorithm::Direct, Collective::AllToAll, 5e9),
    ];
    for (fabric, algorithm, kind, busbw) in cases {
        let mut case = collective(fabric, kind, algorithm, 64 << 20);
        for pattern in &mut case.work.jobs[0].plan.patterns {
            pattern.cost.busbw = Some(Rate::from_bits_per_s((8.0 * busbw) as u64));
        }
        let ranks = case.placements[0].len() as u32;
        let floor = bus_factor(kind, ranks) * f64::from(64 << 20) / busbw;
        let took = run(&case).end.seconds();
        let name = format!("{kind:?} {algorithm:?} at {:.0} GB/s", busbw / 1e9);
        println!("{name}: {:.4} of what the cap allows", took / floor);
        assert!((0.97..1.12).contains(&(took / floor)), "{name}: {}", took / floor);
        within(&name, &case, 0.95, 1.12);
    }
}

#[test]
fn gathering_and_scattering_take_2_to_10_percent_longer_in_packets() {
    for kind in [Collective::AllGather, Collective::ReduceScatter] {
        let case = collective(rails(4, 4), kind, Algorithm::Ring, 256 << 20);
        within(kind.name(), &case, 1.02, 1.10);
    }
}

//! Closed forms: times of messages over hops, round trips, incasts and a queue, against arithmetic.
#![allow(clippy::unwrap_used, reason = "a test")]
use std::sync::Arc;

use railtwin_engine::Balancer;
use railtwin_fabric::preset::LeafSpine;
use railtwin_fabric::{Fabric, HostSpec};
use railtwin_testkit::cases::pairs;
use railtwin_testkit::closed_forms::{BYTE, CONTROL, FULL, US, on_wire, tandem, wire};
use railtwin_testkit::fabrics::{leaf_spine, t128};
use railtwin_testkit::works::{incast, shift};
use railtwin_testkit::{cases, fabrics, us};
use railtwin_units::{Rate, SimTime, stream};

use crate::kit::{self, packets, run};

const SIZES: [u64; 9] = [1, 4_095, 4_096, 4_097, 12_345, 524_288, 524_289, 1_000_000, 2_000_000];

#[test]
fn a_message_takes_serialisation_and_delay_at_every_hop_to_the_picosecond() {
    let fabric = leaf_spine(2, 2, 1, (100, 100), 1_000);
    for (target, hops) in [(1, 2), (2, 4)] {
        for bytes in SIZES {
            let log = run(&pairs(Arc::clone(&fabric), &[(0, target)], bytes));
            let sizes = wire(bytes);
            let expected = tandem(&sizes, &vec![(BYTE, US); hops]);
            // The longest packet is serialised at every hop, all others once.
            let (all, longest) = (sizes.iter().sum::<u64>(), sizes.iter().max().unwrap());
            let (n, k) = (sizes.len() as u64, hops as u64);
            let by_hand = (all + (k - 1) * longest) * BYTE + k * US;
            assert_eq!(expected, by_hand, "{bytes} over {hops}");
            assert_eq!(log.end.ps(), expected, "{bytes} over {hops}");
            kit::assert_lossless(&log);
            assert_eq!(packets(&log).counts.data, n);
            assert_eq!(packets(&log).counts.packet_hops, 2 * n * k);
        }
    }
}

#[test]
fn links_of_other_rates_on_the_way_take_their_own_time() {
    for uplink in [40, 50, 200, 400, 800] {
        let fabric = leaf_spine(2, 2, 1, (100, uplink), 500);
        for bytes in SIZES {
            let log = run(&pairs(Arc::clone(&fabric), &[(0, 2)], bytes));
            let (own, up) = ((BYTE, US / 2), (8_000 / uplink, US / 2));
            assert_eq!(log.end.ps(), tandem(&wire(bytes), &[own, up, up, own]), "{bytes} over {uplink}");
        }
    }
}

#[test]
fn pcie_delays_the_first_byte_at_the_source_and_the_last_at_the_target() {
    let host = HostSpec { pcie_delay: Some(SimTime::from_ns(700)), ..fabrics::plain_host(1, 100) };
    let (delay, switch_latency) = (us(1), SimTime::from_ns(300));
    let spec = LeafSpine { delay, switch_latency, ..fabrics::one_leaf(host, 2) };
    let fabric = Arc::new(spec.build().unwrap());
    for bytes in SIZES {
        let log = run(&pairs(Arc::clone(&fabric), &[(0, 1)], bytes));
        let network = tandem(&wire(bytes), &[(BYTE, 1_300_000), (BYTE, US)]);
        assert_eq!(log.end.ps(), network + 2 * 700_000, "{bytes}");
    }
}

#[test]
fn a_slower_pcie_sets_the_pace_of_a_long_message() {
    // 50 Gbps into GPU memory behind a port of 100 Gbps: PCIe adds its own serialisation, and nothing else.
    let host = HostSpec { pcie: Some(Rate::from_gbps(50)), ..fabrics::plain_host(1, 100) };
    let fabric = fabrics::one_leaf(host, 2).build().unwrap();
    let log = run(&pairs(fabric, &[(0, 1)], 2_000_000));
    let floor = on_wire(2_000_000) * 2 * BYTE;
    let ratio = log.end.ps() as f64 / floor as f64;
    assert!((1.0..1.02).contains(&ratio), "{ratio}");
    kit::assert_lossless(&log);
}

fn cut_through(fabric: &Arc<Fabric>, bytes: u64) -> u64 {
    let mut case = pairs(Arc::clone(fabric), &[(0, 2)], bytes);
    case.packets.tiers.iter_mut().for_each(|tier| tier.cut_through = true);
    run(&case).end.ps()
}

#[test]
fn a_switch_that_cuts_through_adds_64_bytes_instead_of_a_packet() {
    let fabric = leaf_spine(2, 2, 1, (100, 100), 1_000);
    for bytes in SIZES {
        let sizes = wire(bytes);
        let whole: u64 = sizes.iter().sum();
        let expected = whole * BYTE + 4 * US + 3 * 64 * BYTE;
        assert_eq!(cut_through(&fabric, bytes), expected, "{bytes}");
    }
}

#[test]
fn nothing_is_cut_through_into_a_faster_link() {
    // Host to leaf at 100, uplink at 400: the leaf waits for the whole packet; the spine cuts through at 400, the far
    // leaf into its slower link.
    let fabric = leaf_spine(2, 2, 1, (100, 400), 1_000);
    let up = BYTE / 4;
    let first = FULL * BYTE + US + 64 * up + US + 64 * up + US + FULL * BYTE + US;
    assert_eq!(cut_through(&fabric, 4_096), first);
    assert_eq!(cut_through(&fabric, 4_096 * 10), first + 9 * FULL * BYTE);
}

#[test]
fn an_empty_message_is_one_packet_of_headers() {
    let fabric = leaf_spine(2, 2, 1, (100, 100), 1_000);
    let log = run(&pairs(fabric, &[(0, 2)], 0));
    assert_eq!(log.end.ps(), 4 * (82 * BYTE + US));
    assert_eq!(packets(&log).counts.data, 1);
}

#[test]
fn the_least_round_trip_is_a_packet_there_and_its_acknowledgement_back() {
    let fabric = leaf_spine(2, 2, 1, (100, 100), 1_000);
    for (target, hops) in [(1, 2), (2, 4)] {
        let log = run(&pairs(Arc::clone(&fabric), &[(0, target)], 4_096));
        let expected = hops * (FULL * BYTE + CONTROL * BYTE + 2 * US);
        let seen = packets(&log).round_trip.min;
        // The packet left at zero; times are kept in steps of 1,024 ps.
        assert_eq!((seen * 1e12).round() as u64, expected / 1_024 * 1_024);
        assert_eq!(packets(&log).round_trip.count, 1);
    }
}

#[test]
fn the_last_byte_of_an_incast_is_there_when_the_egress_has_sent_all() {
    let sources = incast((8..128).step_by(8).chain([9]));
    for bytes in [4_096, 100_000, 2_000_000] {
        let log = run(&pairs(t128(), &sources, bytes));
        let expected = 3 * (wire(bytes)[0] * BYTE + US) + 16 * on_wire(bytes) * BYTE + US;
        assert_eq!(log.end.ps(), expected, "{bytes}");
        kit::assert_lossless(&log);
    }
}

#[test]
fn eight_flows_share_a_fat_uplink_without_loss_of_rate() {
    // 16 leaves of 8 hosts under one spine with uplinks of 800 Gbps: host i sends to i + 64. Packets of a leaf reach
    // the uplink at the same time and leave it one after the other, 41.78 ns apart.
    let fabric = leaf_spine(16, 8, 1, (100, 800), 1_000);
    let shifted: Vec<(u32, u32)> = (0..64).map(|host| (host, host + 64)).collect();
    let log = run(&pairs(fabric, &shifted, 2_000_000));
    let alone = tandem(&wire(2_000_000), &[(80, US), (10, US), (10, US), (80, US)]);
    assert_eq!(alone, 167_645_320);
    let mut ends: Vec<u64> = packets(&log).flows.iter().map(|flow| flow.end.ps()).collect();
    ends.sort_unstable();
    for (row, end) in ends.into_iter().enumerate() {
        assert_eq!(end, alone + (row as u64 / 8) * FULL * 10, "{row}");
    }
    kit::assert_lossless(&log);
}

#[test]
fn a_permutation_over_paths_of_its_own_takes_the_time_of_one_message() {
    let shifted: Vec<(u32, u32)> = (0..64).map(|host| (host, host + 64)).collect();
    let mut case = pairs(t128(), &shifted, 2_000_000);
    case.routing.balancer = Balancer::DModK;
    let log = run(&case);
    let alone = tandem(&wire(2_000_000), &[(BYTE, US); 4]);
    for flow in &packets(&log).flows {
        assert_eq!((flow.start.ps(), flow.end.ps()), (0, alone), "{flow:?}");
    }
    assert_eq!(packets(&log).flows.len(), 64);
    // Nothing ever waits in a switch: a packet comes in as the one before goes out.
    assert!(packets(&log).links.queue_bytes_max.iter().all(|&bytes| bytes <= FULL));
}

#[test]
fn acknowledgements_of_the_other_direction_take_their_own_time() {
    // Every host receives while it sends, so its acknowledgements stand before its data: one for each packet that came
    // in before its last one went out.
    let shifted = shift(128, 8);
    let alone = tandem(&wire(2_000_000), &[(BYTE, US); 4]);
    let all = wire(2_000_000).len() as u64 * CONTROL * BYTE;
    let mut case = pairs(t128(), &shifted, 2_000_000);
    case.routing.balancer = Balancer::DModK;
    for (every, share) in [(1, 1.0), (4, 0.25), (1_000_000, 0.01)] {
        case.packets.keys.acknowledge_every = every;
        let log = run(&case);
        let later = (log.end.ps() - alone) as f64 / all as f64;
        println!(
            "acknowledged every {every}: {:.3} us, {later:.3} of all acknowledgements",
            log.end.seconds() * 1e6
        );
        assert!((share - 0.06..share + 0.03).contains(&later), "{every}: {later}");
    }
}

#[test]
fn packets_that_arrive_at_random_wait_as_in_an_m_d_1_queue() {
    // 63 hosts of one leaf send single packets to the last one, at times drawn so that its link is used by `load`.
    let fabric = leaf_spine(1, 64, 1, (100, 100), 1_000);
    let base = pairs(Arc::clone(&fabric), &[(0, 63)], 4_096);
    let service = (FULL * BYTE) as f64;
    // Uniform in (0, 1].
    let uniform =
        |number: u64| ((stream::mix(7 ^ stream::mix(number)) >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    for load in [0.3, 0.5, 0.7] {
        let count = 12_000_u32;
        let mut time: f64 = 0.0;
        let sends: Vec<_> = (0..count)
            .map(|row| {
                time -= uniform(u64::from(row) * 2).ln() * service / load;
                let source = (stream::mix(u64::from(row) * 2 + 1) % 63) as u32;
                (source, 63, 4_096, SimTime::from_ps(time as u64))
            })
            .collect();
        let log = run(&cases::messages(base.clone(), &sends));
        let log = packets(&log);
        let link = fabrics::into_host(&fabric, 63).index();
        let waited = log.links.queue_byte_seconds[link] / (f64::from(count) * FULL as f64) * 1e12;
        let expected = load * service / (2.0 * (1.0 - load));
        println!(
            "load {load}: waited {waited:.0} ps, M/D/1 {expected:.0} ps, ratio {:.3}",
            waited / expected
        );
        assert!((waited / expected - 1.0).abs() < 0.08, "{load}: {waited} {expected}");
        // The same from outside; two packets of one source now and then wait at the source instead.
        let alone = tandem(&wire(4_096), &[(BYTE, US); 2]);
        let total: u64 = log.flows.iter().map(|flow| (flow.end - flow.start).ps() - alone).sum();
        assert_eq!(log.flows.len(), count as usize);
        assert!((total as f64 / f64::from(count) / expected - 1.0).abs() < 0.12, "{load}: {total}");
    }
}

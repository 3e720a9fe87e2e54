//! Packets that are lost where receivers take them in any order: found by what follows or by a probe, sent again alone and
//! by another path, and never more of them kept than the reorder bound.
#![allow(clippy::unwrap_used, reason = "a test")]
use proptest::prelude::*;
use railtwin_engine::fault::events;
use railtwin_engine::packet::{Aimd, Buffer, CongestionControl, Trouble, Troubled};
use railtwin_engine::{Balancer, Case, Engine, IncidentKind, Outage, PacketLog, Reaction};
use railtwin_fabric::{CableClass, LinkId};
use railtwin_packetsim::PacketEngine;
use railtwin_testkit::cases::pairs;
use railtwin_testkit::closed_forms::{BYTE, CONTROL, FULL, US, wire};
use railtwin_testkit::fabrics::{self, leaf_spine};
use railtwin_testkit::us;
use railtwin_testkit::works::{incast, permutation};
use railtwin_units::{Bytes, SimTime};

use crate::kit::{packets, run};

/// A full packet on a link of 100 Gbps.
const PACKET: u64 = FULL * BYTE;
/// A packet there over four cables of a microsecond, and its acknowledgement back.
const ROUND: u64 = 4 * (PACKET + US) + 4 * (CONTROL * BYTE + US);
const SPREAD: [Balancer; 2] = [Balancer::Spray, Balancer::Adaptive];

/// Two leaves with eight uplinks each.
fn two_leaves(ends: &[(u32, u32)], bytes: u64, balancer: Balancer) -> Case {
    let mut case = pairs(leaf_spine(2, 8, 8, (100, 100), 1_000), ends, bytes);
    case.routing.balancer = balancer;
    // Routes take half a second to change.
    case.reaction = Reaction::default();
    case
}

fn lose(
    case: &mut Case,
    links: impl IntoIterator<Item = LinkId>,
    share: f64,
    (from, until): (SimTime, SimTime),
) {
    let trouble = |link| Troubled { from, until, trouble: Trouble::Loss { link, share } };
    case.packets.troubles.extend(links.into_iter().map(trouble));
}

fn always() -> (SimTime, SimTime) {
    (SimTime::ZERO, SimTime::NEVER)
}

/// One cable dead from the start, and nobody has noticed.
fn cut(case: &mut Case, cable: &str) {
    let cable = case.fabric.cable_named(cable).unwrap();
    case.faults = events(&[Outage { cable, from: SimTime::from_ps(1), until: SimTime::NEVER, silent: None }]);
}

/// Every byte once, no timer, and nothing kept beyond the window.
fn assert_whole(case: &Case, log: &PacketLog, flows: usize, bytes: u64) {
    let counts = log.counts;
    assert_eq!(log.flows.len(), flows);
    assert!(log.flows.iter().all(|flow| flow.bytes == bytes && flow.end != SimTime::NEVER));
    assert_eq!(counts.data, flows as u64 * wire(bytes).len() as u64 + counts.sent_again);
    assert_eq!(counts.ack_timeouts, 0, "{counts:?}");
    let bound = case.packets.keys.reorder.or(case.packets.keys.window).unwrap().0;
    assert!(counts.reorder_packets_max * FULL <= bound, "{counts:?}");
}

#[test]
fn random_loss_costs_what_is_sent_twice_and_a_few_round_trips() {
    const BYTES: u64 = 20_000_000;
    const SHARE: f64 = 1e-3;
    for balancer in SPREAD {
        let mut case = two_leaves(&[(0, 8)], BYTES, balancer);
        let whole = run(&case).end.ps();
        let links = fabrics::links_of(&case.fabric, CableClass::LeafSpine);
        lose(&mut case, links, SHARE, always());
        let log = run(&case);
        let counts = packets(&log).counts;
        println!("{balancer}: {} instead of {whole} ps, {counts:?}", log.end.ps());
        assert_whole(&case, packets(&log), 1, BYTES);
        assert!(counts.lost > 0 && counts.sent_again > 0);
        // A packet and its answer cross two such links each: no more than all of these losses are sent again.
        assert!(counts.sent_again <= counts.lost + counts.probes, "{counts:?}");
        // The line sends what was lost once more; the last one is found within three round trips and sent in another.
        let most = whole + counts.sent_again * PACKET + 4 * ROUND;
        assert!((whole..=most).contains(&log.end.ps()), "{balancer} {} {whole} {most}", log.end.ps());
    }
}

#[test]
fn a_dead_link_of_eight_costs_a_ninth_until_routes_know() {
    const BYTES: u64 = 20_000_000;
    for (cable, words) in [("leaf-0:uplink-3", "up"), ("leaf-1:uplink-3", "down")] {
        for balancer in SPREAD {
            let mut case = two_leaves(&[(0, 8)], BYTES, balancer);
            let whole = run(&case).end.ps();
            cut(&mut case, cable);
            let log = run(&case);
            let counts = packets(&log).counts;
            let ratio = log.end.ps() as f64 / whole as f64;
            println!("{balancer} {words}: {ratio:.4}, {counts:?}");
            assert_whole(&case, packets(&log), 1, BYTES);
            // One of eight is lost. Sprayed packets go by another link the second time: 1 + 1/8 of them. Others draw anew,
            // and are lost again as often: 1 / (1 - 1/8).
            let sent = if balancer == Balancer::Spray { 9.0 / 8.0 } else { 8.0 / 7.0 };
            let rest = (5 * ROUND) as f64 / whole as f64;
            assert!((sent - 0.02..sent + 0.02 + rest).contains(&ratio), "{balancer} {words} {ratio} {sent}");
        }
    }
}

#[test]
fn a_permutation_over_a_dead_link_goes_on_by_the_others() {
    const BYTES: u64 = 4_000_000;
    let ends: Vec<(u32, u32)> = (0..8).map(|host| (host, 8 + (host + 3) % 8)).collect();
    for balancer in SPREAD {
        let mut case = two_leaves(&ends, BYTES, balancer);
        let whole = run(&case).end.ps();
        cut(&mut case, "leaf-0:uplink-3");
        let log = run(&case);
        let ratio = log.end.ps() as f64 / whole as f64;
        println!("{balancer}: {ratio:.4}, {:?}", packets(&log).counts);
        assert_whole(&case, packets(&log), 8, BYTES);
        assert!((1.10..1.45).contains(&ratio), "{balancer} {ratio}");
    }
}

#[test]
fn a_lost_tail_costs_two_round_trips() {
    const BYTES: u64 = 200_000;
    for balancer in SPREAD {
        let mut case = two_leaves(&[(0, 8)], BYTES, balancer);
        let whole = run(&case).end.ps();
        // The last packet leaves its host when all before it have.
        let last = (wire(BYTES).len() as u64 - 1) * PACKET;
        let out = fabrics::into_host(&case.fabric, 0).reverse();
        let span = (SimTime::from_ps(last - PACKET / 2), SimTime::from_ps(last + PACKET / 2));
        lose(&mut case, [out], 1.0, span);
        let log = run(&case);
        let counts = packets(&log).counts;
        assert_eq!((counts.lost, counts.sent_again, counts.probes), (1, 1, 1), "{counts:?}");
        assert_whole(&case, packets(&log), 1, BYTES);
        let later = (log.end.ps() - whole) as f64 / ROUND as f64;
        println!("{balancer}: {later:.3} round trips later");
        // After the last answer, which came a round trip after the packet before it.
        assert!((2.0..3.2).contains(&later), "{balancer} {later}");
    }
}

#[test]
fn a_lone_packet_that_is_lost_waits_for_twice_a_window() {
    // No round trip is known: it is held for that of a whole window in one queue.
    let mut case = two_leaves(&[(0, 8)], 4_096, Balancer::Spray);
    let whole = run(&case).end.ps();
    let out = fabrics::into_host(&case.fabric, 0).reverse();
    lose(&mut case, [out], 1.0, (SimTime::ZERO, us(1)));
    let log = run(&case);
    let expected = 2 * ((4 << 20) * BYTE + ROUND);
    let later = log.end.ps() - whole;
    assert!(later.abs_diff(expected) < ROUND / 4, "{later} {expected}");
    assert_eq!((packets(&log).counts.probes, packets(&log).counts.ack_timeouts), (1, 0));
}

#[test]
fn probes_find_a_path_that_comes_back_before_the_timer() {
    for outage in [50, 500, 1_000] {
        let mut case = pairs(leaf_spine(2, 1, 1, (100, 100), 1_000), &[(0, 1)], 1_000_000);
        case.routing.balancer = Balancer::Spray;
        case.reaction = Reaction::INSTANT;
        let whole = run(&case).end.ps();
        let cable = case.fabric.cable_named("leaf-0:uplink-0").unwrap();
        case.reaction.detection = us(1_000_000).into();
        case.faults = events(&[Outage { cable, from: us(20), until: us(20 + outage), silent: None }]);
        let log = run(&case);
        let counts = packets(&log).counts;
        let later = log.end.ps() - whole;
        println!("outage of {outage} us: {} us later, {counts:?}", later / US);
        assert_eq!((counts.ack_timeouts, log.unfinished), (0, 0));
        // Each probe comes after twice the time of the one before: at worst it is as long again until the next.
        assert!(later <= 2 * outage * US + 12 * ROUND, "{outage} {later}");
        assert!(log.incidents.iter().all(|one| !matches!(one.kind, IncidentKind::Halted(_))));
    }
}

#[test]
fn a_small_reorder_bound_holds_the_sender_back() {
    let mut case = two_leaves(&[(0, 8)], 10_000_000, Balancer::Spray);
    let links = fabrics::links_of(&case.fabric, CableClass::LeafSpine);
    lose(&mut case, links, 1e-3, always());
    let wide = run(&case);
    assert_eq!(packets(&wide).counts.reorder_held_ps, 0);
    case.packets.keys.reorder = Some(Bytes(32 * FULL));
    let tight = run(&case);
    let counts = packets(&tight).counts;
    assert_whole(&case, packets(&tight), 1, 10_000_000);
    // 32 packets take a third of a round trip: each loss stops the sender until it is repaired.
    assert!(counts.reorder_packets_max <= 32 && counts.reorder_held_ps > 0, "{counts:?}");
    assert!(tight.end > wide.end, "{} {}", tight.end, wide.end);
}

#[test]
fn go_back_n_is_as_it_was() {
    // Figures of the engine before it had selective repeat.
    let mut case = pairs(leaf_spine(3, 3, 2, (100, 100), 500), &permutation(9, 7), 1_000_000);
    case.transport.timeout = 8;
    let links = fabrics::links_of(&case.fabric, CableClass::LeafSpine);
    lose(&mut case, links, 2e-3, always());
    let log = run(&case);
    let counts = packets(&log).counts;
    let found =
        (log.end.ps(), counts.data, counts.sent_again, counts.negative, counts.ack_timeouts, counts.lost);
    assert_eq!(found, GO_BACK_N);
    assert_eq!((counts.probes, counts.reorder_packets_max, counts.reorder_held_ps), (0, 0, 0));
}

const GO_BACK_N: (u64, u64, u64, u64, u64, u64) = (345_607_840, 2_898, 684, 10, 0, 23);

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn no_receiver_keeps_more_than_the_bound(
        seed: u64, share in 0.0_f64..0.05, balancer in 0_usize..2, traffic in 0_u8..2, bytes in 1_u64..400_000,
        bound in 1_u64..200, uplink in prop_oneof![Just(25_u64), Just(100)], small: bool, trims: bool
    ) {
        let ends = if traffic == 0 { permutation(9, seed) } else { incast(1..9) };
        let mut case = pairs(leaf_spine(3, 3, 3, (100, uplink), 500), &ends, bytes);
        case.routing.balancer = SPREAD[balancer];
        case.packets.keys.reorder = Some(Bytes(bound * FULL));
        let links = fabrics::links_of(&case.fabric, CableClass::LeafSpine);
        // Links lose differently.
        for (row, link) in links.into_iter().enumerate() {
            lose(&mut case, [link], share * (row % 4) as f64 / 3.0, always());
        }
        if small {
            let buffer = Buffer::Shared { bytes: 200_000, reserved: 1_000, alpha: 8.0 };
            case.packets.tiers.iter_mut().for_each(|tier| (tier.pfc, tier.buffer) = (None, buffer));
        }
        if trims {
            case.packets.keys.congestion_control = CongestionControl::Aimd(Aimd::default());
            case.packets.tiers.iter_mut().for_each(|tier| tier.trim = Some(60_000));
        }
        let log = run(&case);
        let counts = packets(&log).counts;
        prop_assert!(counts.reorder_packets_max <= bound, "{:?}", counts);
        prop_assert_eq!(packets(&log).flows.len(), ends.len());
        let sent: u64 = packets(&log).flows.iter().map(|flow| wire(flow.bytes).len() as u64).sum();
        prop_assert_eq!(counts.data, sent + counts.sent_again);
        prop_assert!(packets(&log).flows.iter().all(|flow| flow.bytes == bytes && flow.end != SimTime::NEVER));
        // A local ACK timeout is 4.3 s: it is for who hears nothing of seven probes.
        prop_assert_eq!(counts.ack_timeouts, 0, "{:?}", counts);
        prop_assert!(log.end < SimTime::from_ps(1_000_000 * US));
        if seed % 4 == 0 {
            let again = PacketEngine { threads: 3 }.run(&case, 0);
            prop_assert!(again == log);
        }
    }
}

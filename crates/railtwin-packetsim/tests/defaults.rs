//! What senders do by default: one window for the queue pairs of a connection, clear-to-send of a collective library, hosts
//! that start apart, turns of queue pairs at a NIC; and that none of it makes pauses of its own.
use std::sync::Arc;

use railtwin_control::PlacementPolicy;
use railtwin_engine::Balancer;
use railtwin_engine::packet::{Buffer, Trouble, Troubled, WindowOf};
use railtwin_engine::{Case, Engine};
use railtwin_packetsim::PacketEngine;
use railtwin_testkit::cases;
use railtwin_testkit::closed_forms::{BYTE, US, wire};
use railtwin_testkit::fabrics::{self, leaf_spine};
use railtwin_testkit::works;
use railtwin_units::{Bytes, SimTime};
use railtwin_workload::{Algorithm, Collective};

use crate::kit::{assert_lossless, packets, run};

const WINDOW: u64 = 4 << 20;

/// The same case with a collective library behind every job.
fn by_library(mut case: Case) -> Case {
    case.packets.libraries = vec![true; case.work.jobs.len()];
    case
}

/// One host sends to another over an uplink of a tenth of its rate; what is in flight waits at its leaf.
fn narrow(queue_pairs: u32, window_of: WindowOf) -> Case {
    let mut case = cases::pairs(leaf_spine(2, 1, 1, (100, 10), 1_000), &[(0, 1)], 64 << 20);
    case.routing.queue_pairs = queue_pairs;
    case.packets.keys.window_of = window_of;
    let endless = Buffer::Shared { bytes: 10_000_000_000, reserved: 10_000, alpha: 8.0 };
    case.packets.tiers.iter_mut().for_each(|tier| tier.buffer = endless);
    case
}

#[test]
fn a_window_is_that_of_a_connection_whatever_its_queue_pairs() {
    let queue = |queue_pairs, window_of| {
        let log = run(&narrow(queue_pairs, window_of));
        assert_lossless(&log);
        (packets(&log).buffer_bytes_max.iter().copied().max().unwrap_or(0), log.end)
    };
    let alone = queue(1, WindowOf::Connection);
    assert_eq!(alone, queue(1, WindowOf::QueuePair), "one queue pair is a connection");
    assert!((WINDOW * 9 / 10..=WINDOW).contains(&alone.0), "{alone:?}");
    for queue_pairs in [2, 4, 16] {
        let shared = queue(queue_pairs, WindowOf::Connection);
        assert!((WINDOW * 9 / 10..=WINDOW).contains(&shared.0), "{queue_pairs}: {shared:?}");
        let ratio = shared.1.seconds() / alone.1.seconds();
        assert!((ratio - 1.0).abs() < 0.01, "{queue_pairs}: the narrow link is always busy, {ratio}");
    }
    let each = queue(4, WindowOf::QueuePair);
    assert!(each.0 > 3 * WINDOW, "{each:?}");
}

#[test]
fn messages_of_a_library_wait_for_clearance_and_plain_ones_do_not() {
    let plain = cases::pairs(leaf_spine(2, 2, 1, (100, 100), 1_000), &[(0, 2), (3, 1)], 16 << 20);
    let mut library = by_library(plain.clone());
    library.packets.keys.start_jitter = SimTime::ZERO;
    let [plain, cleared] = [plain, library].map(|case| run(&case));
    assert_eq!(packets(&plain).counts.clear_to_send, 0);
    assert_eq!(packets(&cleared).counts.clear_to_send, 2 * (16 << 20) / (128 << 10), "one for each chunk");
    // Eight buffers are far more than the bandwidth-delay product: nobody loses time by it.
    let ratio = cleared.end.seconds() / plain.end.seconds();
    assert!((1.0..1.002).contains(&ratio), "{ratio}");
}

#[test]
fn a_tree_counts_its_slots_once() {
    let case = by_library(cases::collective(
        leaf_spine(2, 4, 2, (100, 100), 1_000),
        Collective::AllReduce,
        Algorithm::Tree,
        16 << 20,
    ));
    assert_eq!(packets(&run(&case)).counts.clear_to_send, 0, "its receivers tell what they handed on");
}

#[test]
fn a_lost_clearance_is_sent_again() {
    let fabric = leaf_spine(2, 1, 1, (100, 100), 1_000);
    let mut case = by_library(cases::pairs(Arc::clone(&fabric), &[(0, 1)], 64 << 20));
    case.transport = cases::QUICK;
    // The way back alone is lossy: data arrives, every fifth answer does not.
    let link = fabrics::into_host(&fabric, 0);
    let trouble = Trouble::Loss { link, share: 0.2 };
    case.packets.troubles = vec![Troubled { from: SimTime::ZERO, until: SimTime::NEVER, trouble }];
    let log = run(&case);
    let messages = (64 << 20) / (512 << 10);
    assert!(packets(&log).counts.clear_to_send >= messages, "{:?}", packets(&log).counts);
    assert!(packets(&log).counts.lost > 0);
}

#[test]
fn hosts_of_a_library_start_apart_and_each_draw_differently() {
    let pairs: Vec<(u32, u32)> = (0..32).map(|host| (host, host + 32)).collect();
    let mut case = by_library(cases::pairs(leaf_spine(2, 32, 4, (100, 100), 1_000), &pairs, 4_096));
    let starts = |case: &Case, replicate| {
        let log = PacketEngine::default().run(case, replicate);
        let flows = packets(&log).flows.iter().map(|flow| flow.start.ps());
        flows.collect::<Vec<u64>>()
    };
    let first = starts(&case, 0);
    let most = case.packets.keys.start_jitter.ps();
    let mut distinct = first.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!((first.len(), distinct.len()), (32, 32), "each host its own: {first:?}");
    assert!(first.iter().all(|&start| start < most), "{first:?}");
    let mean = first.iter().sum::<u64>() as f64 / 32.0 / most as f64;
    assert!((0.35..0.65).contains(&mean), "evenly up to {most}: {mean}");
    assert_eq!(first, starts(&case, 0));
    assert_ne!(first, starts(&case, 1));
    case.packets.libraries.clear();
    assert!(starts(&case, 0).iter().all(|&start| start == 0), "plain transfers start when they are told");
}

#[test]
fn a_burst_is_a_turn_of_a_queue_pair() {
    let bytes = 64 * 4_096;
    let mut case = cases::pairs(leaf_spine(1, 3, 1, (100, 100), 1_000), &[(0, 1), (0, 2)], bytes);
    let ends = |case: &Case| {
        let log = run(case);
        let mut ends: Vec<u64> = packets(&log).flows.iter().map(|flow| flow.end.ps()).collect();
        ends.sort_unstable();
        ends
    };
    let whole: u64 = wire(bytes).iter().sum::<u64>() * BYTE;
    let packet = 4_178 * BYTE;
    // The last packet of all leaves when both messages are sent; over the leaf it takes one packet more.
    let last = 2 * whole + packet + 2 * US;
    // The first message has sent a packet, and stands in line again, before the second is there.
    assert_eq!(ends(&case), [last - 2 * packet, last], "in turn, packet for packet");
    case.packets.keys.nic.burst = Some(Bytes(bytes * 4_178 / 4_096));
    assert_eq!(ends(&case), [whole + packet + 2 * US, last], "one after the other");
    case.packets.keys.nic.burst = Some(Bytes(16 * 4_178));
    assert_eq!(ends(&case), [last - 16 * packet, last], "sixteen packets a turn");
}

/// A ring over hosts of four leaves in turn: every edge crosses the spines, on a fabric that carries all of it. Where
/// queue pairs are spread evenly nobody is paused by default. Before, each queue pair had a window, nobody waited for
/// clearance, and all hosts began at once: what met by hash then paused leaves and hosts more often than now.
#[test]
fn defaults_make_no_pauses_of_their_own() {
    let plan = works::collective(16, Collective::AllReduce, Algorithm::Ring, 128 << 20, 1);
    let mut case =
        by_library(cases::jobs(leaf_spine(4, 4, 4, (400, 400), 500), vec![(plan, PlacementPolicy::Spread)]));
    case.routing.queue_pairs = 16;
    let pauses = |case: &Case| {
        let log = run(case);
        assert_lossless(&log);
        packets(&log).counts.pause_frames
    };
    let mut hashed = [0, 0];
    for seed in 1..4 {
        for balancer in [Balancer::C4p, Balancer::Ecmp] {
            (case.seed, case.routing.balancer) = (seed, balancer);
            let now = pauses(&case);
            let mut free = case.clone();
            free.packets.libraries.clear();
            free.packets.keys.window_of = WindowOf::QueuePair;
            let before = pauses(&free);
            println!("seed {seed}, {balancer}: {now} pause frames by default, {before} without");
            match balancer {
                Balancer::C4p => assert_eq!(now, 0, "seed {seed}, without {before}"),
                _ => hashed = [hashed[0] + now, hashed[1] + before],
            }
        }
    }
    assert!(hashed[0] < hashed[1], "{hashed:?}");
}

//! Congestion control: what senders under AIMD, HPCC and DCQCN reach, beside closed forms and beside the same laws written
//! down once more ([`reference`]). Bounds are such that a wrong law fails: docs/models/rate-laws.md has a table of wrong
//! laws and the tests that fail.
use std::sync::Arc;

use railtwin_engine::packet::{
    Aimd, Buffer, CongestionControl, Dcqcn, DcqcnPreset, Ecn, Hpcc, MarkAt, Priority,
};
use railtwin_engine::{Balancer, Case, Engine};
use railtwin_fabric::Fabric;
use railtwin_packetsim::PacketEngine;
use railtwin_testkit::cases;
use railtwin_testkit::cases::pairs;
use railtwin_testkit::closed_forms::{BYTE, FULL, US, on_wire, tandem, wire};
use railtwin_testkit::fabrics::{into_host, leaf_spine, t128};
use railtwin_testkit::works::{incast, permutation};
use railtwin_units::{Bytes, Rate, SimTime};

use crate::kit::reference::{self, Marks, Star};
use crate::kit::{packets, run};

/// DCQCN's congestion point at 100 Gbps.
const ECN: Ecn = Ecn { min: Bytes(100_000), max: Bytes(400_000), probability: 0.2, at: MarkAt::Dequeue };

/// Twelve hosts at 100 Gbps under one leaf, cables of so many microseconds.
fn star(us: u64) -> Arc<Fabric> {
    leaf_spine(1, 12, 1, (100, 100), us * 1_000)
}

/// Seconds of a packet and its acknowledgement over the star where nobody waits.
fn round_trip(us: u64) -> f64 {
    Star::<reference::Hpcc>::new(12.5e9, us as f64 * 1e-6, None, 1).round_trip()
}

fn hpcc(mut case: Case, target: f64, mbps: u64) -> Case {
    let additive = Rate::from_bits_per_s(mbps * 1_000_000);
    case.packets.keys.congestion_control =
        CongestionControl::Hpcc(Hpcc { target, additive, ..Hpcc::default() });
    case.packets.keys.priority = vec![Priority::Acknowledgements];
    case.packets.keys.window = None;
    case
}

fn trimmed(mut case: Case) -> Case {
    case.packets.keys.congestion_control = CongestionControl::Aimd(Aimd::default());
    case.routing.balancer = Balancer::Spray;
    case.packets.keys.priority = vec![Priority::Acknowledgements];
    let ecn = Ecn { min: Bytes(120_000), max: Bytes(160_000), probability: 1.0, at: MarkAt::Enqueue };
    case.packets
        .tiers
        .iter_mut()
        .for_each(|tier| (tier.ecn, tier.trim, tier.pfc) = (Some(ecn), Some(200_000), None));
    case
}

/// A leaf sends each queue pair's packets over its eight uplinks in turn, every round from another place: of a flow a
/// link has one packet in each round of eight, so at most w/8 + 2 of any w in a row, and eight flows leave w + 16 for it:
/// 16 wait at most. Behind spines the same, of packets that are up to 16 early: 32. The last packets wait for those,
/// and eight flows of 489 packets give a link 8 * 62 at most, 7 more than a port has.
#[test]
fn a_sprayed_permutation_waits_no_longer_than_rounds_allow() {
    let log = run(&trimmed(pairs(t128(), &permutation(128, 1), 2_000_000)));
    let sizes = wire(2_000_000);
    let (floor, packet) = (tandem(&sizes, &[(BYTE, US); 4]), FULL * BYTE);
    let rounds = sizes.len().div_ceil(8) * 8 - sizes.len();
    let bound = floor + (rounds as u64 + 16 + 32) * packet;
    let waits = (log.end.ps() - floor) as f64 / packet as f64;
    println!("permutation {:.1} us, {waits:.1} packets more than one message alone", log.end.seconds() * 1e6);
    assert!((floor..=bound).contains(&log.end.ps()), "{} {floor} {bound}", log.end.ps());
    let most = packets(&log).links.queue_bytes_max.iter().max().expect("there are links");
    assert!(*most <= 33 * FULL, "{most}");
    let counts = packets(&log).counts;
    assert_eq!((counts.dropped, counts.lost, counts.ack_timeouts), (0, 0, 0));
    assert_eq!((counts.marked, counts.trimmed, counts.sent_again), (0, 0, 0));
}

/// Eight windows under marks of all packets between two bounds: in a round trip each grows by a packet for its share
/// without a mark and loses half of what is marked, so that p W / 2 = (1 - p) b, and all windows together are the
/// bandwidth-delay product and the queue.
#[test]
fn aimd_leaves_the_queue_where_marks_and_increase_balance() {
    let (fabric, (min, max)) = (star(1), (20_000.0, 420_000.0));
    let link = into_host(&fabric, 0).index();
    for (additive, decrease) in [(1.0, 0.5), (2.0, 0.5), (1.0, 0.25)] {
        let ecn = Ecn { min: Bytes(20_000), max: Bytes(420_000), probability: 1.0, at: MarkAt::Enqueue };
        let of = |bytes: u64| {
            let mut case = trimmed(pairs(fabric.clone(), &incast(1..=8), bytes));
            case.packets.keys.congestion_control =
                CongestionControl::Aimd(Aimd { additive, decrease, ..Aimd::default() });
            let tiers = case.packets.tiers.iter_mut();
            tiers.for_each(|tier| (tier.ecn, tier.trim) = (Some(ecn), Some(4_000_000)));
            let log = run(&case);
            (packets(&log).links.queue_byte_seconds[link], log.end.seconds())
        };
        let (short, long) = (of(4_000_000), of(20_000_000));
        let queue = (long.0 - short.0) / (long.1 - short.1);
        let (packet, product) = (FULL as f64, 12.5e9 * round_trip(1));
        let mut expected = min;
        for _ in 0..100 {
            let odds = additive * packet / (decrease * (product + expected) / 8.0);
            expected = 0.5 * (expected + min + odds / (1.0 + odds) * (max - min));
        }
        println!("additive {additive}, decrease {decrease}: queue {queue:.0} B, expected {expected:.0} B");
        assert!((queue / expected - 1.0).abs() < 0.06, "{queue} {expected}");
    }
}

#[test]
fn a_trimmed_incast_loses_no_time() {
    let sources = incast((8..128).step_by(8));
    let log = run(&trimmed(pairs(t128(), &sources, 2_000_000)));
    let floor = 15 * on_wire(2_000_000) * BYTE;
    let ratio = log.end.ps() as f64 / floor as f64;
    println!(
        "incast 15:1 {:.1} us, {ratio:.4} of {:.1} us, {:?}",
        log.end.seconds() * 1e6,
        floor as f64 * 1e-6,
        packets(&log).counts
    );
    assert!((1.0..1.03).contains(&ratio), "{ratio}");
    let counts = packets(&log).counts;
    assert_eq!((counts.dropped, counts.lost, counts.ack_timeouts), (0, 0, 0));
    assert_eq!(counts.sent_again, counts.trimmed);
    assert_eq!(counts.negative, counts.trimmed);
}

/// Where one sender is alone, U = W / (C T), and W = W eta / U + W_AI: it uses eta C + R_AI, and nothing waits.
/// Cables are so long that a window has 600 packets, of which it cannot send parts.
#[test]
fn hpcc_alone_uses_its_target_and_a_step() {
    let fabric = star(50);
    let link = into_host(&fabric, 0).index();
    for (target, mbps) in [(0.95, 50), (0.95, 2_000), (0.9, 50), (0.8, 1_000)] {
        let of = |bytes: u64| run(&hpcc(pairs(fabric.clone(), &[(1, 0)], bytes), target, mbps));
        let (short, long) = (of(20_000_000), of(100_000_000));
        let more = (on_wire(100_000_000) - on_wire(20_000_000)) as f64;
        let used = more / 12.5e9 / (long.end.seconds() - short.end.seconds());
        let expected = target + mbps as f64 / 1e5;
        let queue = packets(&long).links.queue_bytes_max[link];
        println!(
            "target {target}, {mbps} Mbps: {used:.4} of the link, expected {expected:.4}, queue {queue} B"
        );
        assert!((used / expected - 1.0).abs() < 0.002, "{used} {expected}");
        assert!(queue <= 2 * FULL, "{queue}");
    }
}

/// Eight that start at once send eight windows before any answer is back; what that and the way back up to the target
/// cost is as in the star that was written down once more.
#[test]
fn hpcc_takes_up_an_incast_as_the_paper_says() {
    let fabric = star(10);
    let link = into_host(&fabric, 0).index();
    for (senders, bytes, mbps) in [(8_u32, 5_000_000_u64, 50), (4, 10_000_000, 50), (8, 20_000_000, 250)] {
        let log = run(&hpcc(pairs(fabric.clone(), &incast(1..=senders), bytes), 0.95, mbps));
        let mut again = Star::new(12.5e9, 10e-6, None, 1);
        for _ in 0..senders {
            let law = reference::Hpcc::new(12.5e9, 0.95, 5, mbps as f64 * 1e6 / 8.0, round_trip(10));
            again.send(law, 0.0, bytes.div_ceil(4_096));
        }
        let again = again.run(0.0);
        let floor = f64::from(senders) * on_wire(bytes) as f64 / 12.5e9;
        let (ours, theirs) = (log.end.seconds() / floor, again.last() / floor);
        let seconds = (packets(&log).links.queue_byte_seconds[link], again.queued.0);
        let most = (packets(&log).links.queue_bytes_max[link] as f64, again.queued.1);
        println!(
            "{senders} of {bytes} B: {ours:.4} of the floor, again {theirs:.4}; queue {most:?}, {seconds:?}"
        );
        assert!(ours > 1.0 && (ours / theirs - 1.0).abs() < 0.02, "{ours} {theirs}");
        assert!((most.0 / most.1 - 1.0).abs() < 0.01, "{most:?}");
        assert!((seconds.0 / seconds.1 - 1.0).abs() < 0.04, "{seconds:?}");
    }
}

fn dcqcn(mut case: Case) -> Case {
    case.packets.keys.congestion_control = CongestionControl::Dcqcn(Dcqcn::default());
    case.packets.keys.priority = vec![Priority::Acknowledgements];
    case.packets.tiers.iter_mut().for_each(|tier| tier.ecn = Some(ECN));
    case
}

#[test]
fn dcqcn_slows_an_incast_before_switches_have_to_pause() {
    let sources = incast((8..72).step_by(8));
    let case = pairs(t128(), &sources, 20_000_000);
    let (without, log) = (run(&case), run(&dcqcn(case.clone())));
    let (counts, free) = (packets(&log).counts, packets(&without).counts);
    let link = into_host(&case.fabric, 0).index();
    let mean =
        |log: &railtwin_engine::RunLog| packets(log).links.queue_byte_seconds[link] / log.end.seconds();
    println!(
        "queue {:.0} B instead of {:.0} B, end {:.1} us instead of {:.1} us, {counts:?}, {free:?}",
        mean(&log),
        mean(&without),
        log.end.seconds() * 1e6,
        without.end.seconds() * 1e6
    );
    assert!(counts.marked > 0 && counts.cnps > 8);
    assert_eq!(u64::from(packets(&log).links.cnps.iter().sum::<u32>()), counts.cnps);
    assert!(mean(&log) < 0.5 * mean(&without));
    assert_eq!((counts.dropped, counts.sent_again), (0, 0));
}

/// Means over draws of the marks: last and first end, queue in the mean and at most; in seconds and bytes.
const DRAWS: u32 = 8;

fn ours(case: &Case, link: usize) -> [f64; 4] {
    mean((0..DRAWS).map(|draw| {
        let log = PacketEngine::default().run(case, draw);
        assert_eq!(log.unfinished, 0);
        let ends = packets(&log).flows.iter().map(|flow| flow.end.seconds());
        let links = &packets(&log).links;
        let queue = links.queue_byte_seconds[link] / log.end.seconds();
        [
            ends.clone().fold(0.0, f64::max),
            ends.fold(1.0, f64::min),
            queue,
            links.queue_bytes_max[link] as f64,
        ]
    }))
}

fn again(line: f64, marks: Marks, sends: &[(f64, u64)]) -> [f64; 4] {
    mean((0..u64::from(DRAWS)).map(|draw| {
        let mut star = Star::new(line, 1e-6, Some(marks), draw);
        for &(start, bytes) in sends {
            star.send(reference::Dcqcn::published(line), start, bytes.div_ceil(4_096));
        }
        let star = star.run(50e-6);
        let first = star.ends.iter().copied().fold(1.0, f64::min);
        [star.last(), first, star.queued.0 / star.last(), star.queued.1]
    }))
}

fn mean(all: impl Iterator<Item = [f64; 4]>) -> [f64; 4] {
    let sum = all.fold([0.0; 4], |sum, one| std::array::from_fn(|row| sum[row] + one[row]));
    sum.map(|value| value / f64::from(DRAWS))
}

fn published(mut case: Case, ecn: Ecn) -> Case {
    let law = Dcqcn { preset: DcqcnPreset::Published, ..Dcqcn::default() };
    case.packets.keys.congestion_control = CongestionControl::Dcqcn(law);
    case.packets.keys.priority = vec![Priority::Acknowledgements];
    // Nothing but DCQCN holds senders: no window, and a buffer in which nobody is paused.
    case.packets.keys.window = None;
    let buffer = Buffer::Carved { bytes: 1 << 30 };
    let tiers = case.packets.tiers.iter_mut();
    tiers.for_each(|tier| (tier.ecn, tier.buffer, tier.pfc) = (Some(ecn), buffer, None));
    case
}

fn assert_as_again(what: &str, ours: [f64; 4], again: [f64; 4], within: [f64; 4]) {
    let apart: [f64; 4] = std::array::from_fn(|row| ours[row] / again[row] - 1.0);
    println!("{what}: {ours:.6?}, again {again:.6?}, apart {apart:.4?}");
    assert!(apart.iter().zip(within).all(|(apart, within)| apart.abs() < within), "{apart:?} {within:?}");
}

/// Zhu et al.'s settings at their 40 Gbps (section 5.2). The second begins a millisecond later, at line rate: both cut,
/// fill the link again and meet at fair shares, as in the star that was written down once more.
#[test]
fn two_dcqcn_senders_share_a_link_as_the_paper_says() {
    let fabric = leaf_spine(1, 12, 1, (40, 40), 1_000);
    let base = pairs(fabric.clone(), &[(1, 0), (2, 0)], 100_000_000);
    let sends = [(1, 0, 100_000_000, SimTime::ZERO), (2, 0, 100_000_000, SimTime::from_ns(1_000_000))];
    let ecn = Ecn { min: Bytes(5_000), max: Bytes(200_000), probability: 0.01, at: MarkAt::Dequeue };
    let ours = ours(&published(cases::messages(base, &sends), ecn), into_host(&fabric, 0).index());
    let again = again(5e9, Marks(5e3, 200e3, 0.01), &[(0.0, 100_000_000), (1e-3, 100_000_000)]);
    assert_as_again("two", ours, again, [0.04, 0.04, 0.08, 0.04]);
    let alone = on_wire(100_000_000) as f64 / 5e9;
    // The link is busy but for the time after the first cuts, and shares are fair.
    assert!((2.0..2.2).contains(&(ours[0] / alone)) && ours[1] > 1.8 * alone, "{ours:?} {alone}");
}

/// Eight at once at 100 Gbps: how deep they are cut, and how slowly 40 Mbps fill the link again.
#[test]
fn eight_dcqcn_senders_fall_and_rise_as_the_paper_says() {
    let fabric = star(1);
    let ours = ours(
        &published(pairs(fabric.clone(), &incast(1..=8), 20_000_000), ECN),
        into_host(&fabric, 0).index(),
    );
    let again = again(12.5e9, Marks(100e3, 400e3, 0.2), &[(0.0, 20_000_000); 8]);
    assert_as_again("eight", ours, again, [0.01, 0.01, 0.03, 0.005]);
}

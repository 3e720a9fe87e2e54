//! Congestion control: what trimmed, HPCC's and DCQCN's senders reach beside the floor.
use railtwin_engine::packet::{Aimd, CongestionControl, Dcqcn, DcqcnPreset, Ecn, Hpcc, MarkAt, Priority};
use railtwin_engine::{Balancer, Case};
use railtwin_testkit::cases::pairs;
use railtwin_testkit::closed_forms::{BYTE, US, on_wire, tandem, wire};
use railtwin_testkit::fabrics::{leaf_spine, t128};
use railtwin_testkit::works::{incast, permutation};
use railtwin_testkit::{cases, fabrics};
use railtwin_units::{Bytes, Rate, SimTime};

use crate::kit::{packets, run};

/// DCQCN's congestion point at 100 Gbps.
const ECN: Ecn = Ecn { min: Bytes(100_000), max: Bytes(400_000), probability: 0.2, at: MarkAt::Dequeue };

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

#[test]
fn a_sprayed_permutation_is_near_the_floor() {
    let log = run(&trimmed(pairs(t128(), &permutation(128, 1), 2_000_000)));
    let floor = tandem(&wire(2_000_000), &[(BYTE, US); 4]) as f64;
    let ratio = log.end.ps() as f64 / floor;
    println!(
        "permutation {:.1} us, {ratio:.3} of one message alone, {:?}",
        log.end.seconds() * 1e6,
        packets(&log).counts
    );
    assert!((1.0..1.25).contains(&ratio), "{ratio}");
    let counts = packets(&log).counts;
    assert_eq!((counts.dropped, counts.lost, counts.ack_timeouts), (0, 0, 0));
    assert_eq!(counts.sent_again, counts.trimmed);
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

#[test]
fn hpcc_keeps_queues_short() {
    let sources = incast((8..72).step_by(8));
    let with = |control| {
        let mut case = pairs(t128(), &sources, 2_000_000);
        case.packets.keys.congestion_control = control;
        case.packets.keys.priority = vec![Priority::Acknowledgements];
        run(&case)
    };
    let (none, hpcc) = (with(CongestionControl::None), with(CongestionControl::Hpcc(Hpcc::default())));
    let link = |log: &railtwin_engine::RunLog| {
        let link = fabrics::into_host(&t128(), 0).index();
        (
            packets(log).links.queue_bytes_max[link],
            packets(log).links.queue_byte_seconds[link] / log.end.seconds(),
        )
    };
    let (free, held) = (link(&none), link(&hpcc));
    let floor = (8 * on_wire(2_000_000) * BYTE) as f64 * 1e-12;
    println!("queue without {free:?}, with {held:?}, {:.3} of the floor", hpcc.end.seconds() / floor);
    assert!(held.1 < 0.2 * free.1, "{held:?} {free:?}");
    // 95 % of the link, and a slow start of what is left at the end.
    let ratio = hpcc.end.seconds() / floor;
    assert!((1.0..1.35).contains(&ratio), "{ratio}");
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
    let link = fabrics::into_host(&case.fabric, 0).index();
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

#[test]
fn two_dcqcn_senders_on_one_link_end_up_with_fair_shares() {
    // The second begins a millisecond later, at line rate; both send 100 MB and should share the link about evenly.
    // Zhu et al.'s steps of 40 Mbps need tens of milliseconds to fill 100 Gbps again, in which nobody is held to a fair
    // share: the timers of NICs of that rate are quicker.
    let fabric = leaf_spine(1, 4, 1, (100, 100), 1_000);
    let base = pairs(fabric, &[(1, 0), (2, 0)], 100_000_000);
    let sends = [(1, 0, 100_000_000, SimTime::ZERO), (2, 0, 100_000_000, SimTime::from_ns(1_000_000))];
    let alone = (on_wire(100_000_000) * BYTE) as f64 * 1e-9;
    let quick = Dcqcn {
        preset: DcqcnPreset::Published,
        gain: Some(1.0 / 16.0),
        alpha_timer: Some(SimTime::from_ns(10_000)),
        increase_timer: Some(SimTime::from_ns(10_000)),
        additive: Some(Rate::from_bits_per_s(500_000_000)),
        hyper: Some(Rate::from_gbps(1)),
        ..Dcqcn::default()
    };
    let mut case = dcqcn(cases::messages(base, &sends));
    case.packets.keys.congestion_control = CongestionControl::Dcqcn(quick);
    let log = run(&case);
    let ends: Vec<f64> = packets(&log).flows.iter().map(|flow| flow.end.seconds() * 1e3).collect();
    println!("ends {ends:?} ms; alone {alone:.3} ms, {:?}", packets(&log).counts);
    assert!(packets(&log).counts.cnps > 10);
    let last = ends.iter().copied().fold(0.0, f64::max);
    assert!((1.0..1.3).contains(&(last / (2.0 * alone))), "{last}");
    // Fair: the one that ends first leaves the other little.
    let first = ends.iter().copied().fold(f64::MAX, f64::min);
    assert!(first > 1.4 * alone && first > 0.75 * last, "{first}");
}

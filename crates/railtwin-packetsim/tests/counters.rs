//! What goes wrong with packets while cables are up, and which counters tell of it.
use railtwin_engine::packet::{Admission, Trouble, Troubled};
use railtwin_engine::{Case, Engine, IncidentKind, RunLog};
use railtwin_fabric::{Fabric, LinkId};
use railtwin_packetsim::PacketEngine;
use railtwin_testkit::fabrics::nic;
use railtwin_testkit::{cases, fabrics, works};
use railtwin_units::{Bytes, Rate, SimTime};

use crate::kit::packets;

fn run(case: &Case) -> RunLog {
    PacketEngine::default().run(case, 0)
}

/// The link from a host's NIC into its leaf.
fn up(fabric: &Fabric, host: u32) -> LinkId {
    fabric.access_link(nic(fabric, host), 0).expect("a host has a cabled port")
}

fn forever(trouble: Trouble) -> Vec<Troubled> {
    vec![Troubled { from: SimTime::ZERO, until: SimTime::NEVER, trouble }]
}

#[test]
fn loss_in_one_direction_shows_at_the_receiver_and_is_made_good() {
    let fabric = fabrics::leaf_spine(2, 2, 1, (100, 100), 500);
    let mut case = cases::pairs(fabric.clone(), &[(0, 2), (2, 0)], 8_000_000);
    case.packets.troubles = forever(Trouble::Loss { link: up(&fabric, 0), share: 0.01 });
    case.transport.timeout = 8;
    let log = run(&case);
    let counts = packets(&log).counts;
    assert_eq!(log.unfinished, 0);
    assert!(counts.lost > 20, "{} of about 3,900 packets out of host 0", counts.lost);
    assert!(counts.out_of_sequence > 0 && counts.sent_again > 0 && counts.negative > 0, "{counts:?}");
    // What comes towards host 0 crosses the same cable the other way and loses no data; its acknowledgements do.
    let back = packets(&log).flows.iter().find(|flow| flow.source == nic(&fabric, 2)).expect("it ended");
    let there = packets(&log).flows.iter().find(|flow| flow.source == nic(&fabric, 0)).expect("it ended");
    assert!(back.end < there.end, "{:?} before {:?}", back.end, there.end);
}

#[test]
fn a_storm_of_pauses_trips_the_watchdog_after_200_ms() {
    let fabric = fabrics::leaf_spine(1, 3, 1, (100, 100), 500);
    let mut case = cases::pairs(fabric.clone(), &[(0, 1)], 100_000_000);
    let into = up(&fabric, 1).reverse();
    let from = SimTime::from_ns(1_000_000);
    for (length, trips) in [(199, false), (300, true)] {
        let until = from + SimTime::from_ns(length * 1_000_000);
        case.packets.troubles = vec![Troubled { from, until, trouble: Trouble::PauseStorm { link: into } }];
        let log = run(&case);
        assert_eq!(log.unfinished, 0, "it goes on after the storm");
        let told: Vec<_> = log
            .incidents
            .iter()
            .filter(|one| one.kind == IncidentKind::Paused(into))
            .map(|one| one.at)
            .collect();
        let expected = if trips { vec![from + SimTime::from_ns(200_000_000)] } else { vec![] };
        assert_eq!(told, expected, "after {length} ms");
        assert_eq!(packets(&log).links.paused_ps[into.index()], length * 1_000_000_000);
    }
}

#[test]
fn a_slow_receiver_stands_still_for_the_share_that_it_lacks() {
    let fabric = fabrics::leaf_spine(1, 2, 1, (400, 400), 100);
    let mut case = cases::pairs(fabric.clone(), &[(0, 1)], 400_000_000);
    case.packets.troubles = forever(Trouble::SlowReceiver { nic: nic(&fabric, 1), share: 0.25 });
    let log = run(&case);
    let into = up(&fabric, 1).reverse();
    let paused = packets(&log).links.paused_ps[into.index()] as f64 * 1e-12;
    let share = paused / log.end.seconds();
    assert!((share - 0.75).abs() < 0.01, "the leaf's port stood still for {share} of the time");
    // The receiver takes in wire bytes at a quarter of 400 Gbps.
    let floor = 400e6 * (4096.0 + 82.0) / 4096.0 / 12.5e9;
    assert!(
        log.end.seconds() >= floor && log.end.seconds() < 1.01 * floor,
        "{} against {floor}",
        log.end.seconds()
    );
}

#[test]
fn a_full_buffer_raises_the_alarm_once() {
    let fabric = fabrics::leaf_spine(1, 9, 1, (100, 100), 100);
    let pairs = works::incast(1..9);
    let mut case = cases::pairs(fabric.clone(), &pairs, 3_000_000);
    let filled = |case: &Case| {
        let log = run(case);
        log.incidents.iter().filter(|one| matches!(one.kind, IncidentKind::Filled(_))).count()
    };
    // 24 MB for one port in a pool of 64 MB.
    assert_eq!(filled(&case), 0);
    case.packets.keys.buffer_alarm = 0.2;
    assert_eq!(filled(&case), 1);
}

/// Meta RoCE section 6.4.2: spines that believe their memory to be smaller than it is drop what finds more than half
/// of it filled. That needs bursts, senders that keep much in flight, and fast hosts.
#[test]
fn a_misjudged_buffer_drops_only_when_three_things_meet() {
    let dropped = |gbps: u64, window: u64, leaves: u32| {
        let fabric = fabrics::leaf_spine(5, 8, 1, (gbps, 800), 500);
        // One host of each of so many leaves sends to a host of its own under the fifth, over one spine.
        let pairs: Vec<(u32, u32)> = (0..leaves).map(|leaf| (8 * leaf, 32 + leaf)).collect();
        let mut case = cases::pairs(fabric.clone(), &pairs, 16_000_000);
        let spine =
            fabric.switches().iter().find(|(_, place)| place.tier == 2).expect("there is one spine").0;
        case.packets.tiers[1].buffer = railtwin_engine::packet::Buffer::Carved { bytes: 10_000_000 };
        case.packets.tiers[1].pfc = None;
        case.packets.keys.window = Some(Bytes(window));
        case.transport.timeout = 8;
        case.packets.troubles = forever(Trouble::SmallBuffer { switch: spine, share: 0.5 });
        let log = run(&case);
        assert_eq!(log.unfinished, 0);
        packets(&log).counts.dropped
    };
    let (fast, slow, much, little) = (400, 200, 16 << 20, 4 << 20);
    assert!(dropped(fast, much, 4) > 0, "all three");
    assert_eq!(dropped(slow, much, 4), 0, "slow hosts");
    assert_eq!(dropped(fast, little, 4), 0, "little in flight");
    assert_eq!(dropped(fast, much, 2), 0, "no burst");
}

#[test]
fn admission_bounds_what_is_in_flight_and_keeps_incast_from_pausing() {
    let fabric = fabrics::leaf_spine(2, 16, 2, (400, 400), 500);
    let pairs = works::incast(16..32);
    let mut case = cases::pairs(fabric.clone(), &pairs, 16_000_000);
    case.packets.tiers[0].buffer =
        railtwin_engine::packet::Buffer::Shared { bytes: 16_000_000, reserved: 10_000, alpha: 0.125 };
    let free = run(&case);
    assert!(packets(&free).counts.pause_frames > 0);
    let (channels, buffer) = (2, 32 << 10);
    case.packets.keys.admission =
        Some(Admission { channels, buffer: Bytes(buffer), copy: Rate::from_gbps(1_000) });
    let held = run(&case);
    let log = packets(&held);
    assert_eq!((held.unfinished, log.counts.pause_frames), (0, 0));
    let most: u64 = 16 * u64::from(channels) * buffer * 4178 / 4096 + 16 * 4178;
    assert!(
        log.buffer_bytes_max.iter().all(|&bytes| bytes <= most),
        "{:?} against {most}",
        log.buffer_bytes_max
    );
    assert_eq!(log.counts.clear_to_send, 16 * 16_000_000_u64.div_ceil(buffer));
    // The link into the receiver is never idle for want of clearance.
    assert!(held.end.seconds() < 1.02 * free.end.seconds(), "{:?} {:?}", held.end, free.end);
}

//! Faults and troubles: whatever fails, bytes arrive once, or the job that lost them says so.
#![allow(clippy::unwrap_used, reason = "a test")]
use std::sync::Arc;

use proptest::prelude::*;
use railtwin_engine::fault::events;
use railtwin_engine::packet::{Aimd, Buffer, CongestionControl, Ecn, MarkAt, Trouble, Troubled};
use railtwin_engine::{Balancer, Case, Engine, IncidentKind, Outage, Reaction, Resume, Transport};
use railtwin_fabric::{CableClass, Fabric};
use railtwin_packetsim::PacketEngine;
use railtwin_testkit::cases::{collective, pairs};
use railtwin_testkit::closed_forms::{BYTE, US, on_wire};
use railtwin_testkit::fabrics::leaf_spine;
use railtwin_testkit::works::{incast, permutation};
use railtwin_testkit::{cases, fabrics, us};
use railtwin_units::{Bytes, SimTime};
use railtwin_workload::{Algorithm, Collective};

use crate::kit::{self, packets, run};

/// Time out after 1.05 ms, die after eight of them: a timeout shorter than queues are long makes them longer.
const QUICK: Transport = Transport { timeout: 8, timeout_factor: 1, retry_count: 7, resume: Resume::Nak };

fn troubled(case: &mut Case, from: SimTime, until: SimTime, trouble: Trouble) {
    case.packets.troubles.push(Troubled { from, until, trouble });
}

/// Hosts with two ports of 100 Gbps in two planes.
fn dual() -> Arc<Fabric> {
    Arc::new(fabrics::hpn(fabrics::dual_port(100), 2, 3, 2).build().unwrap())
}

#[derive(Clone, Debug)]
struct Draw {
    dual: bool,
    traffic: u8,
    seed: u64,
    balancer: u8,
    queue_pairs: u32,
    trimmed: bool,
    outages: Vec<(prop::sample::Index, u64, u64)>,
    detection: u64,
    loss: f64,
    small: bool,
}

fn draws() -> impl Strategy<Value = Draw> {
    let outage = (any::<prop::sample::Index>(), 0_u64..400, 1_u64..300);
    let outages = proptest::collection::vec(outage, 0..5);
    let what = (any::<bool>(), 0_u8..3, any::<u64>(), 0_u8..6, 1_u32..5, any::<bool>());
    (what, outages, 0_u64..50, prop_oneof![Just(0.0), 0.0_f64..0.05], any::<bool>()).prop_map(
        |((dual, traffic, seed, balancer, queue_pairs, trimmed), outages, detection, loss, small)| Draw {
            dual,
            traffic,
            seed,
            balancer,
            queue_pairs,
            trimmed,
            outages,
            detection,
            loss,
            small,
        },
    )
}

impl Draw {
    fn case(&self) -> Case {
        let (fabric, hosts) = if self.dual { (dual(), 6) } else { (leaf_spine(3, 3, 2, (100, 100), 500), 9) };
        let mut case = match self.traffic {
            0 => pairs(fabric, &permutation(hosts, self.seed), 2_000_000),
            1 => pairs(fabric, &incast(1..hosts), 600_000),
            _ => collective(fabric, Collective::AllReduce, Algorithm::Ring, 2_000_000),
        };
        case.routing.balancer = [
            Balancer::Ecmp,
            Balancer::Spray,
            Balancer::Adaptive,
            Balancer::Flowlet,
            Balancer::DModK,
            Balancer::Disjoint,
        ][usize::from(self.balancer)];
        case.routing.queue_pairs = self.queue_pairs;
        if self.trimmed {
            case.packets.keys.congestion_control = CongestionControl::Aimd(Aimd::default());
            let ecn = Ecn { min: Bytes(40_000), max: Bytes(80_000), probability: 1.0, at: MarkAt::Enqueue };
            case.packets.tiers.iter_mut().for_each(|tier| (tier.ecn, tier.trim) = (Some(ecn), Some(160_000)));
        }
        if self.small {
            let buffer = Buffer::Shared { bytes: 500_000, reserved: 5_000, alpha: 0.25 };
            case.packets.tiers.iter_mut().for_each(|tier| tier.buffer = buffer);
        }
        (case.transport, case.reaction) =
            (QUICK, Reaction { detection: us(self.detection).into(), ..Reaction::INSTANT });
        let mut cables = fabrics::links_of(&case.fabric, CableClass::LeafSpine);
        cables.extend(fabrics::links_of(&case.fabric, CableClass::Access));
        let outages = self.outages.iter().map(|(which, from, length)| Outage {
            cable: which.get(&cables).cable(),
            from: us(*from),
            until: us(from + length),
            silent: None,
        });
        case.faults = events(&outages.collect::<Vec<_>>());
        if self.loss > 0.0 {
            let link = cables[self.seed as usize % cables.len()];
            troubled(&mut case, us(50), us(250), Trouble::Loss { link, share: self.loss });
        }
        case
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn short_faults_cost_time_and_no_byte(draw in draws()) {
        // No outage outlasts a timeout, so nobody dies.
        let case = draw.case();
        let log = run(&case);
        let counts = packets(&log).counts;
        let (asked, flows): (u64, usize) = match draw.traffic {
            0 => (case.placements[0].len() as u64 * 2_000_000, case.placements[0].len()),
            1 => ((case.placements[0].len() as u64 - 1) * 600_000, case.placements[0].len() - 1),
            _ => (2_000_000 * 2 * (case.placements[0].len() as u64 - 1), case.placements[0].len()),
        };
        let moved: u64 = packets(&log).flows.iter().map(|flow| flow.bytes).sum();
        prop_assert_eq!(packets(&log).flows.len() % flows, 0);
        prop_assert!(moved.abs_diff(asked) <= 2 * packets(&log).flows.len() as u64, "{} {}", moved, asked);
        prop_assert!(log.incidents.iter().all(|one| !matches!(one.kind, IncidentKind::Halted(_))));
        // A neighbor that forgot its pause with the cable may overrun a headroom that is still in use.
        prop_assert!(counts.dropped == 0 || draw.small && !draw.outages.is_empty(), "{:?}", counts);
        if draw.seed % 8 == 0 {
            let again = PacketEngine { threads: 2 }.run(&case, 0);
            prop_assert!(again == log);
        }
    }
}

#[test]
fn what_is_sent_while_there_is_no_way_is_lost_and_sent_again_after_a_timeout() {
    let fabric = leaf_spine(2, 2, 1, (100, 100), 1_000);
    let case = pairs(fabric, &[(0, 2)], 4_096);
    let mut case = cases::messages(case, &[(0, 2, 4_096, us(50))]);
    let there = run(&case).end - us(50);
    for cable in fabrics::links_of(&case.fabric, CableClass::LeafSpine) {
        case.faults = events(&[Outage { cable: cable.cable(), from: us(20), until: us(100), silent: None }]);
        let log = run(&case);
        assert_eq!(log.end, us(50) + case.transport.ack_timeout() + there);
        assert_eq!((packets(&log).counts.lost, packets(&log).counts.sent_again), (1, 1));
    }
}

#[test]
fn a_job_that_is_dead_does_not_move_again() {
    // The acknowledgement comes after 9.4 us, the only timeout after 4.1.
    let mut case = pairs(leaf_spine(2, 2, 1, (100, 100), 1_000), &[(0, 2)], 4_096);
    case.transport = Transport { timeout: 0, retry_count: 0, ..QUICK };
    let log = PacketEngine::default().run(&case, 0);
    let incidents: Vec<_> = log.incidents.iter().map(|one| (one.at.ps(), one.kind)).collect();
    assert_eq!(incidents, [(0, IncidentKind::Stalled(0)), (4_096_000, IncidentKind::Halted(0))]);
}

#[test]
fn queue_pairs_of_a_cut_port_go_on_by_the_other() {
    let mut case = pairs(dual(), &[(0, 4), (1, 3), (2, 5)], 8_000_000);
    case.routing.queue_pairs = 8;
    let whole = run(&case);
    let ports = fabrics::links_of(&case.fabric, CableClass::Access);
    case.faults =
        events(&[Outage { cable: ports[0].cable(), from: us(100), until: SimTime::NEVER, silent: None }]);
    case.reaction = Reaction { detection: us(20).into(), ..Reaction::INSTANT };
    case.transport = QUICK;
    let log = run(&case);
    let ratio = log.end.seconds() / whole.end.seconds();
    println!(
        "one of two ports cut: {:.1} us instead of {:.1} us",
        log.end.seconds() * 1e6,
        whole.end.seconds() * 1e6
    );
    assert!((1.2..2.2).contains(&ratio), "{ratio}");
}

#[test]
fn a_slow_receiver_pauses_its_leaf_and_sets_the_pace() {
    let fabric = leaf_spine(1, 4, 1, (100, 100), 1_000);
    let mut case = pairs(fabric, &[(1, 0), (2, 3)], 10_000_000);
    let nic = fabrics::nic(&case.fabric, 0);
    troubled(&mut case, SimTime::ZERO, SimTime::NEVER, Trouble::SlowReceiver { nic, share: 0.25 });
    let log = run(&case);
    kit::assert_lossless(&log);
    let floor = (on_wire(10_000_000) * BYTE * 4) as f64 * 1e-12;
    let ratio = log.end.seconds() / floor;
    println!("slow receiver: {ratio:.4} of its floor, {} pauses", packets(&log).counts.pause_frames);
    assert!((1.0..1.01).contains(&ratio), "{ratio}");
    let into = fabrics::into_host(&case.fabric, 0).index();
    let links = &packets(&log).links;
    assert!(links.pause_frames[into] > 3 && links.paused_ps[into] > log.end.ps() / 2);
    // The other pair is not held up.
    let other = packets(&log).flows.iter().map(|flow| flow.end).min().unwrap();
    assert!(other < us(900), "{other:?}");
}

#[test]
fn a_pause_storm_stops_the_link_as_long_as_it_lasts_and_the_watchdog_barks() {
    let fabric = leaf_spine(1, 4, 1, (100, 100), 1_000);
    let mut case = pairs(fabric, &[(1, 0)], 1_000_000);
    let whole = run(&case).end;
    let link = fabrics::into_host(&case.fabric, 0);
    troubled(&mut case, us(20), us(320), Trouble::PauseStorm { link });
    (case.packets.keys.watchdog, case.packets.keys.samples) = (us(100), Some(us(50)));
    let log = run(&case);
    assert_eq!(packets(&log).links.paused_ps[link.index()], 300 * US);
    assert!((log.end - whole).ps().abs_diff(300 * US) < US, "{}", log.end - whole);
    let barks: Vec<_> = log.incidents.iter().map(|one| (one.at, one.kind)).collect();
    assert_eq!(barks, [(us(120), IncidentKind::Paused(link))]);
    // Renewed at half of the life of a pause frame: 167.8 us at 100 Gbps.
    assert_eq!(packets(&log).links.pause_frames[link.index()], 2);
    let paused: u64 =
        packets(&log).samples.iter().filter(|row| row.link == link.0).map(|row| row.paused_ps).sum();
    assert_eq!(paused, 300 * US);
}

#[test]
fn a_switch_that_believes_in_a_small_buffer_drops_in_spite_of_pauses() {
    let fabric = leaf_spine(2, 4, 4, (100, 100), 1_000);
    let sources = incast(1..8);
    let mut case = pairs(fabric, &sources, 2_000_000);
    case.transport = QUICK;
    kit::assert_lossless(&run(&case));
    let switch = case
        .fabric
        .switches()
        .iter()
        .map(|(device, _)| *device)
        .find(|&device| device == case.fabric.source(fabrics::into_host(&case.fabric, 0)));
    let trouble = Trouble::SmallBuffer { switch: switch.unwrap(), share: 0.01 };
    troubled(&mut case, SimTime::ZERO, SimTime::NEVER, trouble);
    let log = run(&case);
    let counts = packets(&log).counts;
    assert!(counts.dropped > 0 && counts.sent_again >= counts.dropped, "{counts:?}");
    assert!(counts.out_of_sequence > 0 && counts.negative > 0);
    let by_link: u64 = packets(&log).links.dropped.iter().map(|&dropped| u64::from(dropped)).sum();
    assert_eq!(by_link, counts.dropped);
}

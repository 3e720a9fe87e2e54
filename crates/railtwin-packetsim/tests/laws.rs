//! Laws of packets: what is sent arrives once, pauses lose nothing, retransmission loses nothing in the end.
#![allow(clippy::unwrap_used, reason = "a test")]
use std::sync::Arc;

use proptest::prelude::*;
use railtwin_engine::choose::View;
use railtwin_engine::fault::events;
use railtwin_engine::lower::Lowering;
use railtwin_engine::packet::{Admission, Buffer, Credit, Pfc, Priority, SwitchModel, Trouble, Troubled};
use railtwin_engine::{Balancer, Case, IncidentKind, Outage, Posting, Reaction, Resume, RunLog, Transport};
use railtwin_fabric::preset::LeafSpine;
use railtwin_fabric::{CableClass, LinkId};
use railtwin_routing::LinkMask;
use railtwin_testkit::cases::{collective, pairs};
use railtwin_testkit::closed_forms::{BYTE, CONTROL, FULL, US, on_wire, tandem, wire};
use railtwin_testkit::fabrics::leaf_spine;
use railtwin_testkit::works::{incast, permutation};
use railtwin_testkit::{cases, fabrics, us};
use railtwin_units::{Bytes, Rate, SimTime};
use railtwin_workload::{Algorithm, Collective};

use crate::kit::{self, packets, run};

/// Time out after 65.536 us, die after eight of them.
const QUICK: Transport = Transport { timeout: 4, timeout_factor: 1, retry_count: 7, resume: Resume::Nak };
const TIMEOUT: u64 = 65_536_000;

/// The links of the first flow.
fn path(case: &Case) -> Vec<LinkId> {
    let lowering = Lowering::new(case, 0);
    let mask = LinkMask::none(&case.fabric);
    let planned = mask.clone();
    lowering.paths(View { mask: &mask, planned: &planned }).path(0).links.to_vec()
}

fn trouble(case: &mut Case, trouble: Trouble) {
    case.packets.troubles.push(Troubled { from: SimTime::ZERO, until: SimTime::NEVER, trouble });
}

fn strike(case: &mut Case, link: LinkId, from: SimTime, until: SimTime) {
    case.faults = events(&[Outage { cable: link.cable(), from, until, silent: None }]);
}

/// All payload arrived, each byte once; `messages` are those of every flow.
fn assert_conserved(case: &Case, log: &RunLog) {
    let log_packets = packets(log);
    let counts = log_packets.counts;
    let data: u64 = log_packets.flows.iter().map(|flow| on_wire(flow.bytes)).sum();
    let control = counts.acknowledgements + counts.cnps + counts.clear_to_send;
    let arrived = kit::arrived(&case.fabric, log);
    let least = (data + control * CONTROL) as f64;
    let sent: u64 = log_packets.flows.iter().map(|flow| wire(flow.bytes).len() as u64).sum();
    assert_eq!(counts.data, sent + counts.sent_again);
    assert_eq!(counts.acknowledgements, counts.data);
    assert_eq!(log_packets.round_trip.count, counts.data);
    // Where packets may overtake each other, what a pause holds for two round trips may be sent again: a probe, or a
    // packet among many that others have left behind.
    assert!(counts.sent_again == 0 || case.routing.balancer.is_spread());
    // The answer to what a probe took for lost may come before it is sent again.
    assert!(counts.sent_again.saturating_sub(counts.probes) * 4 <= sent, "{counts:?}");
    let twice = (counts.sent_again * FULL) as f64;
    assert!((least..=least + twice).contains(&arrived), "{arrived} {least} {counts:?}");
    for flow in &log_packets.flows {
        assert!(flow.end > flow.start, "{flow:?}");
    }
}

#[derive(Clone, Debug)]
struct Draw {
    hosts: u32,
    spines: u32,
    rates: (u64, u64),
    delay: u64,
    latency: u64,
    traffic: u8,
    seed: u64,
    buffer: Buffer,
    pfc: Pfc,
    cut_through: bool,
    priority: bool,
    credit: Option<Credit>,
    balancer: u8,
}

fn draws() -> impl Strategy<Value = Draw> {
    let buffer = prop_oneof![
        (0_u64..4_000_000, 0_u64..50_000, 1_u32..40).prop_map(|(bytes, reserved, alpha)| {
            Buffer::Shared { bytes, reserved, alpha: f64::from(alpha) / 8.0 }
        }),
        (700_000_u64..1_500_000).prop_map(|bytes| Buffer::Carved { bytes }),
    ];
    let rate = prop_oneof![Just(100_u64), Just(200), Just(400)];
    let pfc = (0_u64..60_000, 0_u64..1_000).prop_map(|(resume_offset, ns)| Pfc {
        headroom: None,
        resume_offset,
        response: SimTime::from_ns(ns),
    });
    let fabric = (2_u32..5, 1_u32..4, (rate.clone(), rate), 1_u64..2_000, 0_u64..1_500);
    let credit = (0_u64..2_000, 0_u64..100_000, 1_u32..5).prop_map(|(ns, initial, ramp)| Credit {
        latency: SimTime::from_ns(ns),
        initial: Bytes(initial),
        ramp,
    });
    let switch = (buffer, pfc, any::<bool>(), any::<bool>(), proptest::option::of(credit));
    (fabric, 0_u8..3, any::<u64>(), switch, 0_u8..4).prop_map(
        |(
            (hosts, spines, rates, delay, latency),
            traffic,
            seed,
            (buffer, pfc, cut_through, priority, credit),
            balancer,
        )| Draw {
            hosts,
            spines,
            rates,
            delay,
            latency,
            traffic,
            seed,
            buffer,
            pfc,
            cut_through,
            priority,
            credit,
            balancer,
        },
    )
}

impl Draw {
    fn case(&self) -> Case {
        let hosts = 3 * self.hosts;
        let host = fabrics::plain_host(1, self.rates.0);
        let preset = LeafSpine {
            uplink_capacity: Rate::from_gbps(self.rates.1),
            delay: SimTime::from_ns(self.delay),
            switch_latency: SimTime::from_ns(self.latency),
            ..fabrics::leaves(host, 3, self.hosts, self.spines)
        };
        let fabric = Arc::new(preset.build().unwrap());
        let mut case = match self.traffic {
            0 => pairs(fabric, &permutation(hosts, self.seed), 1_000_000),
            1 => pairs(fabric, &incast(1..hosts), 400_000),
            _ => collective(fabric, Collective::AllToAll, Algorithm::Direct, 1_500_000),
        };
        let model = SwitchModel { buffer: self.buffer, pfc: Some(self.pfc), ..SwitchModel::LEAF };
        case.packets.tiers = [SwitchModel { cut_through: self.cut_through, credit: self.credit, ..model }; 3];
        if self.priority {
            case.packets.keys.priority = vec![Priority::Acknowledgements];
        }
        case.routing.balancer = [Balancer::Ecmp, Balancer::Spray, Balancer::Adaptive, Balancer::Flowlet]
            [usize::from(self.balancer)];
        case
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn with_automatic_headroom_nothing_is_ever_dropped_and_nothing_stands_still(draw in draws()) {
        let case = draw.case();
        let log = run(&case);
        assert_conserved(&case, &log);
        let counts = packets(&log).counts;
        prop_assert_eq!((counts.dropped, counts.lost, counts.ack_timeouts), (0, 0, 0));
        // Pauses end: nothing stands still longer than the run lasts, and frames come with pauses.
        let links = &packets(&log).links;
        for (&frames, &paused) in links.pause_frames.iter().zip(&links.paused_ps) {
            // A pause may be called off before it begins.
            prop_assert!(frames > 0 || paused == 0);
            prop_assert!(paused < log.end.ps());
        }
        let frames: u64 = links.pause_frames.iter().map(|&frames| u64::from(frames)).sum();
        prop_assert_eq!(counts.pause_frames, frames);
    }

    #[test]
    fn what_is_lost_is_sent_again_until_all_is_there(
        seed: u64, share in 0.0_f64..0.05, balancer in 0_usize..4, pfc: bool, bytes in 1_u64..600_000, every in 1_u32..9
    ) {
        let fabric = leaf_spine(3, 3, 2, (100, 100), 500);
        let mut case = pairs(fabric, &permutation(9, seed), bytes);
        for link in fabrics::links_of(&case.fabric, CableClass::LeafSpine) {
            trouble(&mut case, Trouble::Loss { link, share });
        }
        // A timeout shorter than queues are long makes them longer.
        (case.transport, case.packets.keys.acknowledge_every) = (Transport { timeout: 8, ..QUICK }, every);
        case.routing.balancer =
            [Balancer::Ecmp, Balancer::Spray, Balancer::Flowlet, Balancer::Adaptive][balancer];
        if !pfc {
            let buffer = Buffer::Shared { bytes: 200_000, reserved: 1_000, alpha: 8.0 };
            case.packets.tiers.iter_mut().for_each(|tier| (tier.pfc, tier.buffer) = (None, buffer));
        }
        let log = run(&case);
        let log = packets(&log);
        prop_assert_eq!(log.flows.len(), 9);
        let counts = log.counts;
        let sent: u64 = log.flows.iter().map(|flow| wire(flow.bytes).len() as u64).sum();
        prop_assert_eq!(counts.data, sent + counts.sent_again);
        prop_assert!(counts.lost + counts.dropped == 0 || counts.sent_again > 0 || every > 1 || counts.acknowledgements > 0);
        if counts.lost + counts.dropped == 0 {
            prop_assert!((counts.sent_again - counts.probes) * 4 <= sent && counts.negative == 0, "{:?}", counts);
        }
    }
}

#[test]
fn an_incast_into_small_buffers_pauses_and_is_as_fast_as_with_large_ones() {
    let fabric = leaf_spine(4, 4, 4, (100, 100), 1_000);
    let sources = incast(1..16);
    let mut case = pairs(fabric, &sources, 1_000_000);
    let buffer = Buffer::Shared { bytes: 1_000_000, reserved: 10_000, alpha: 0.125 };
    case.packets.tiers.iter_mut().for_each(|tier| tier.buffer = buffer);
    let log = run(&case);
    assert_conserved(&case, &log);
    assert!(packets(&log).counts.pause_frames > 100);
    let floor = 15 * on_wire(1_000_000) * BYTE;
    let ratio = log.end.ps() as f64 / floor as f64;
    println!("incast of 15 MB in {:.1} us, {ratio:.4} of the floor", log.end.seconds() * 1e6);
    assert!((1.0..1.02).contains(&ratio), "{ratio}");
    // Resumes do not count: each pause of a link is one frame, and no renewal lasts that long.
    assert!(packets(&log).buffer_bytes_max.iter().all(|&bytes| bytes < 1_000_000));
}

#[test]
fn one_lost_acknowledgement_of_a_lone_packet_costs_one_timeout() {
    let fabric = leaf_spine(2, 2, 1, (100, 100), 1_000);
    let mut case =
        cases::pattern(fabric, (Collective::SendReceive, Algorithm::Direct), vec![vec![0, 2]], 4_096, 2);
    case.transport = QUICK;
    let link = path(&case)[0].reverse();
    let there = 4 * (FULL * BYTE + US);
    let back = 4 * (CONTROL * BYTE + US);
    assert_eq!(run(&case).end.ps(), 2 * there + back);
    trouble(&mut case, Trouble::LoseAcknowledgement { link });
    let log = run(&case);
    assert_eq!(log.end.ps(), TIMEOUT + 2 * there + back);
    let counts = packets(&log).counts;
    assert_eq!((counts.ack_timeouts, counts.sent_again, counts.lost, counts.data), (1, 1, 1, 3));
    assert_eq!((counts.out_of_sequence, counts.negative, counts.acknowledgements), (0, 0, 3));
    let incidents: Vec<_> = log.incidents.iter().map(|one| (one.at.ps(), one.kind)).collect();
    let resumed = (TIMEOUT + there + back, IncidentKind::Resumed(0));
    // It waits since the start: no answer came before.
    assert_eq!(incidents, [(0, IncidentKind::Stalled(0)), resumed]);
}

#[test]
fn a_lost_acknowledgement_before_others_costs_nothing() {
    let fabric = leaf_spine(2, 2, 1, (100, 100), 1_000);
    let mut case =
        cases::pattern(fabric, (Collective::SendReceive, Algorithm::Direct), vec![vec![0, 2]], 100_000, 2);
    let whole = run(&case).end;
    let link = path(&case)[0].reverse();
    trouble(&mut case, Trouble::LoseAcknowledgement { link });
    let log = run(&case);
    assert_eq!(log.end, whole);
    let counts = packets(&log).counts;
    assert_eq!((counts.ack_timeouts, counts.sent_again, counts.lost), (0, 0, 1));
}

#[test]
fn links_are_counted_until_the_last_operation_has_ended() {
    // Packets of 64 B, acknowledgements of 86: the way back is never free from the first one on, and is amid the 74th
    // when the 100th packet arrives.
    let mut case = pairs(leaf_spine(1, 2, 1, (100, 100), 1_000), &[(0, 1)], 5_400);
    (case.packets.keys.payload, case.packets.keys.header) = (Bytes(54), Bytes(10));
    let log = run(&case);
    let there = fabrics::into_host(&case.fabric, 1);
    assert_eq!(log.end.ps(), tandem(&[64; 100], &[(BYTE, US); 2]));
    assert_eq!((log.counted(), log.link_bytes[there.index()]), (log.end, 6_400.0));
    let late = &packets(&log).links.late_bytes;
    assert_eq!(
        (log.link_bytes[there.index() ^ 1], late[there.index() ^ 1]),
        (99.0 * 64.0, 100 * CONTROL - 99 * 64)
    );
    // Nothing of it has crossed the second link but what began a microsecond and an acknowledgement earlier.
    let back = fabrics::into_host(&case.fabric, 0).index();
    assert_eq!((log.link_bytes[back], late[back]), (0.0, 100 * CONTROL));
}

#[test]
fn a_pause_counts_no_longer_than_the_work() {
    let mut case = pairs(leaf_spine(1, 3, 1, (100, 100), 1_000), &[(0, 1)], 100_000);
    let link = fabrics::into_host(&case.fabric, 2);
    let storm = Trouble::PauseStorm { link };
    case.packets.troubles.push(Troubled { from: us(1), until: us(1_000_000), trouble: storm });
    let log = run(&case);
    assert_eq!(packets(&log).links.paused_ps[link.index()], log.end.ps() - US);
}

#[test]
fn a_queue_pair_without_answers_dies_after_all_its_timeouts() {
    for retry_count in [0, 1, 7] {
        let fabric = leaf_spine(2, 2, 1, (100, 100), 1_000);
        let mut case = pairs(fabric, &[(0, 2)], 100_000);
        case.transport = Transport { retry_count, ..QUICK };
        let link = path(&case)[0];
        trouble(&mut case, Trouble::Loss { link, share: 1.0 });
        let log = railtwin_engine::Engine::run(&railtwin_packetsim::PacketEngine::default(), &case, 0);
        assert_eq!(log.unfinished, 1);
        let last = log.incidents.last().unwrap();
        let death = TIMEOUT * u64::from(retry_count + 1);
        assert_eq!((last.at.ps(), last.kind), (death, IncidentKind::Halted(0)));
        assert_eq!(packets(&log).counts.ack_timeouts, u64::from(retry_count));
    }
}

#[test]
fn a_queue_pair_whose_only_path_is_gone_dies_too() {
    let fabric = leaf_spine(2, 2, 1, (100, 100), 1_000);
    let mut case = pairs(fabric, &[(0, 2)], 1_000_000);
    case.transport = QUICK;
    let link = path(&case)[1];
    strike(&mut case, link, us(20), SimTime::NEVER);
    let log = railtwin_engine::Engine::run(&railtwin_packetsim::PacketEngine::default(), &case, 0);
    assert_eq!(log.unfinished, 1);
    let last = log.incidents.last().unwrap();
    assert_eq!(last.kind, IncidentKind::Halted(0));
    // From the last acknowledgement on, which came a round trip after the cut at the latest.
    let died = last.at.ps();
    assert!((20 * US..40 * US).contains(&(died - 8 * TIMEOUT)), "{died}");
}

#[test]
fn a_queue_pair_moves_when_switches_follow_new_routes() {
    let fabric = leaf_spine(2, 2, 2, (100, 100), 1_000);
    let mut case = pairs(fabric, &[(0, 2)], 4_000_000);
    let whole = run(&case).end;
    let link = path(&case)[1];
    strike(&mut case, link, us(100), SimTime::NEVER);
    case.reaction = Reaction { detection: us(30).into(), ecmp_regroup: us(20).into(), ..Reaction::INSTANT };
    let log = run(&case);
    let counts = packets(&log).counts;
    println!("moved: {} us later, {counts:?}", (log.end - whole).seconds() * 1e6);
    assert!(counts.lost > 100 && counts.negative >= 1 && counts.sent_again >= counts.lost, "{counts:?}");
    assert_eq!(counts.ack_timeouts, 0);
    // 50 us went nowhere, and a round trip until the sender knew.
    let later = (log.end - whole).ps();
    assert!((50 * US..65 * US).contains(&later), "{later}");
}

#[test]
fn a_short_cut_during_pauses_leaves_nobody_paused_for_ever() {
    let fabric = leaf_spine(4, 4, 2, (100, 100), 1_000);
    let sources = incast(1..16);
    let mut case = pairs(fabric, &sources, 1_000_000);
    let buffer = Buffer::Shared { bytes: 700_000, reserved: 10_000, alpha: 0.125 };
    case.packets.tiers.iter_mut().for_each(|tier| tier.buffer = buffer);
    (case.transport, case.reaction) =
        (QUICK, Reaction { detection: us(100_000).into(), ..Reaction::INSTANT });
    for link in fabrics::links_of(&case.fabric, CableClass::LeafSpine).into_iter().step_by(2) {
        strike(&mut case, link, us(200), us(260));
        let log = run(&case);
        assert!(log.incidents.iter().all(|one| !matches!(one.kind, IncidentKind::Paused(_))));
    }
}

fn sampled(case: &Case) -> RunLog {
    let mut case = case.clone();
    case.packets.keys.samples = Some(us(10));
    run(&case)
}

#[test]
fn samples_see_all_that_counters_see_and_change_nothing() {
    let fabric = leaf_spine(4, 4, 4, (100, 100), 1_000);
    let sources = incast(1..16);
    let mut case = pairs(fabric, &sources, 1_000_000);
    let buffer = Buffer::Shared { bytes: 1_000_000, reserved: 10_000, alpha: 0.125 };
    case.packets.tiers.iter_mut().for_each(|tier| tier.buffer = buffer);
    let (with, mut without) = (sampled(&case), run(&case));
    let log = without.packets.as_mut().unwrap();
    log.samples.clone_from(&packets(&with).samples);
    log.sample = us(10);
    assert_eq!(without, with);
    let links = &packets(&with).links;
    for link in 0..links.paused_ps.len() {
        let rows = packets(&with).samples.iter().filter(|sample| sample.link as usize == link);
        let (most, paused) =
            rows.fold((0, 0), |(most, paused), row| (row.bytes_max.max(most), paused + row.paused_ps));
        assert_eq!((most, paused), (links.queue_bytes_max[link], links.paused_ps[link]), "link {link}");
    }
}

#[test]
fn a_run_shorter_than_a_sample_has_one() {
    let fabric = leaf_spine(1, 4, 1, (100, 100), 1_000);
    let mut case = pairs(fabric, &[(1, 0), (2, 0), (3, 0)], 100_000);
    case.packets.keys.samples = Some(us(1_000));
    let log = run(&case);
    assert!(!packets(&log).samples.is_empty());
    assert!(packets(&log).samples.iter().all(|sample| sample.index == 0));
}

#[test]
fn admission_clears_every_message_once_and_never_more_than_its_buffers() {
    for (posting, queue_pairs) in [(Posting::RoundRobin, 1), (Posting::RoundRobin, 4), (Posting::Split, 4)] {
        let fabric = leaf_spine(1, 4, 1, (100, 100), 1_000);
        let mut case = pairs(fabric, &[(0, 1)], 8 << 20);
        (case.routing.posting, case.routing.queue_pairs) = (posting, queue_pairs);
        let free = run(&case).end;
        // Two buffers of 64 KiB, copied out at 20 Gbps: that is the pace.
        let admission = Admission { channels: 2, buffer: Bytes(64 << 10), copy: Rate::from_gbps(20) };
        case.packets.keys.admission = Some(admission);
        let log = run(&case);
        let counts = packets(&log).counts;
        assert_eq!(counts.clear_to_send, 128, "{posting:?}");
        assert_eq!(packets(&log).clearance_wait.count, 128, "{posting:?}");
        let copies = 8.0 * f64::from(8 << 20) / 20e9;
        let ratio = log.end.seconds() / copies;
        println!("{posting:?}: {ratio:.4} of the copies, free {:.1} us", free.seconds() * 1e6);
        assert!((0.97..1.05).contains(&ratio), "{posting:?} {ratio}");
        // With many buffers and a fast copy it is as if there were none, but for shorter messages.
        case.packets.keys.admission =
            Some(Admission { channels: 64, buffer: Bytes(512 << 10), copy: Rate::from_gbps(10_000) });
        let ratio = run(&case).end.seconds() / free.seconds();
        assert!((0.999..1.01).contains(&ratio), "{posting:?} {ratio}");
    }
}

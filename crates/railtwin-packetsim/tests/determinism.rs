//! One case, one log: whatever the threads, whoever watches.
#![allow(clippy::unwrap_used, reason = "a test")]
use std::sync::Arc;

use railtwin_engine::fault::events;
use railtwin_engine::packet::{
    Admission, Aimd, Buffer, CongestionControl, Dcqcn, Ecn, Hpcc, MarkAt, SwitchModel, Trouble, Troubled,
};
use railtwin_engine::{Balancer, Case, Engine, Outage, Posting, Reaction, Resume, RunLog, Transport};
use railtwin_fabric::CableClass;
use railtwin_packetsim::PacketEngine;
use railtwin_testkit::cases::{collective, pairs};
use railtwin_testkit::fabrics::leaf_spine;
use railtwin_testkit::works::permutation;
use railtwin_testkit::{fabrics, works};
use railtwin_units::{Bytes, Rate, SimTime};
use railtwin_workload::{Algorithm, Collective};

use crate::kit;

const ECN: Ecn = Ecn { min: Bytes(20_000), max: Bytes(100_000), probability: 0.2, at: MarkAt::Dequeue };

fn run(case: &Case, threads: u32) -> RunLog {
    PacketEngine { threads }.run(case, 0)
}

/// The same log, every field, on one, two, three and eight threads.
fn assert_alike(name: &str, case: &Case) -> RunLog {
    let one = run(case, 1);
    assert_eq!(one.unfinished, 0, "{name}: {:?}", one.incidents);
    assert_eq!(run(case, 1), one, "{name} once more");
    for threads in [2, 3, 8] {
        let other = run(case, threads);
        assert_eq!(kit::packets(&other).counts, kit::packets(&one).counts, "{name} on {threads} threads");
        assert!(other == one, "{name} on {threads} threads");
    }
    one
}

fn permuted(bytes: u64) -> Case {
    pairs(leaf_spine(4, 4, 4, (100, 100), 1_000), &permutation(16, 3), bytes)
}

fn incast(bytes: u64) -> Case {
    let sources = works::incast(1..16);
    let mut case = pairs(leaf_spine(4, 4, 4, (100, 100), 1_000), &sources, bytes);
    let buffer = Buffer::Shared { bytes: 1_000_000, reserved: 10_000, alpha: 0.125 };
    case.packets.tiers.iter_mut().for_each(|tier| tier.buffer = buffer);
    case
}

#[test]
fn balancers() {
    for balancer in [Balancer::Ecmp, Balancer::DModK, Balancer::Spray, Balancer::Adaptive, Balancer::Flowlet]
    {
        let mut case = permuted(1_000_000);
        case.routing.balancer = balancer;
        assert_alike("permutation", &case);
        let mut case = incast(400_000);
        case.routing.balancer = balancer;
        assert_alike("incast", &case);
    }
}

/// So many devices that every thread has work in a window, then few, then none for long: who works alone and who meets
/// changes nothing.
#[test]
fn busy_and_idle_windows() {
    let mut case = pairs(fabrics::t128(), &permutation(128, 7), 60_000);
    assert_alike("all at once", &case);
    case.packets.keys.samples = Some(SimTime::from_ns(9_000));
    case.transport = Transport { timeout: 10, ..Transport::default() };
    let uplink = fabrics::links_of(&case.fabric, CableClass::LeafSpine)[0].cable();
    case.faults = events(&[Outage {
        cable: uplink,
        from: SimTime::from_ns(5_000),
        until: SimTime::NEVER,
        silent: None,
    }]);
    case.reaction = Reaction { detection: SimTime::from_ns(20_000).into(), ..Reaction::INSTANT };
    let log = assert_alike("and one that waits for its timer", &case);
    assert!(kit::packets(&log).counts.ack_timeouts > 0);
}

#[test]
fn congestion_control() {
    let schemes = [
        (CongestionControl::Dcqcn(Dcqcn::default()), Some(ECN), None, Balancer::Ecmp),
        (CongestionControl::Hpcc(Hpcc::default()), None, None, Balancer::Ecmp),
        (CongestionControl::Aimd(Aimd::default()), Some(ECN), Some(150_000), Balancer::Spray),
    ];
    for (scheme, ecn, trim, balancer) in schemes {
        for mut case in [permuted(1_000_000), incast(400_000)] {
            case.packets.keys.congestion_control = scheme;
            case.packets.tiers.iter_mut().for_each(|tier| (tier.ecn, tier.trim) = (ecn, trim));
            case.routing.balancer = balancer;
            assert_alike("congestion control", &case);
        }
    }
}

#[test]
fn collectives() {
    let fabric = leaf_spine(3, 3, 3, (100, 100), 500);
    for (kind, algorithm) in [
        (Collective::AllReduce, Algorithm::Ring),
        (Collective::AllReduce, Algorithm::Tree),
        (Collective::AllToAll, Algorithm::Direct),
    ] {
        let mut case = collective(Arc::clone(&fabric), kind, algorithm, 2_000_000);
        assert_alike("collective", &case);
        (case.routing.queue_pairs, case.routing.posting) = (4, Posting::Split);
        let admission = Admission { channels: 2, buffer: Bytes(64 << 10), copy: Rate::from_gbps(200) };
        case.packets.keys.admission = Some(admission);
        assert_alike("collective with admission", &case);
    }
}

#[test]
fn faults_and_troubles() {
    let transport = Transport { timeout: 4, timeout_factor: 1, retry_count: 7, resume: Resume::Nak };
    let us = SimTime::from_ns;
    for balancer in [Balancer::Ecmp, Balancer::Spray, Balancer::Flowlet] {
        let mut case = permuted(2_000_000);
        (case.routing.balancer, case.transport) = (balancer, transport);
        let uplinks = fabrics::links_of(&case.fabric, CableClass::LeafSpine);
        let outage =
            |row: usize, from, until| Outage { cable: uplinks[row].cable(), from, until, silent: None };
        case.faults = events(&[
            outage(0, us(30_000), SimTime::NEVER),
            outage(6, us(50_000), us(150_000)),
            outage(13, us(60_000), us(61_000)),
        ]);
        case.reaction =
            Reaction { detection: us(10_000).into(), ecmp_regroup: us(5_000).into(), ..Reaction::INSTANT };
        case.packets.troubles = vec![Troubled {
            from: us(20_000),
            until: us(90_000),
            trouble: Trouble::Loss { link: uplinks[8], share: 0.01 },
        }];
        let log = assert_alike("faults", &case);
        assert!(kit::packets(&log).counts.lost > 0);
    }
}

#[test]
fn a_queue_pair_that_dies() {
    let mut case = permuted(2_000_000);
    case.transport = Transport { timeout: 1, timeout_factor: 1, retry_count: 2, resume: Resume::Nak };
    let link = fabrics::into_host(&case.fabric, 5);
    let trouble = Trouble::Loss { link, share: 1.0 };
    case.packets.troubles = vec![Troubled { from: SimTime::from_ns(40_000), until: SimTime::NEVER, trouble }];
    let one = run(&case, 1);
    assert_eq!(one.unfinished, 1);
    for threads in [2, 3, 8] {
        assert!(run(&case, threads) == one, "{threads} threads");
    }
}

#[test]
fn who_watches_changes_nothing() {
    let mut case = incast(400_000);
    case.packets.keys.samples = Some(SimTime::from_ns(7_000));
    let log = assert_alike("samples", &case);
    let samples = &kit::packets(&log).samples;
    assert!(samples.windows(2).all(|two| (two[0].index, two[0].link) < (two[1].index, two[1].link)));
    assert!(samples.len() > 50);
}

#[test]
fn switches_of_all_kinds() {
    let models = [
        SwitchModel { cut_through: true, ..SwitchModel::LEAF },
        SwitchModel::DEEP,
        SwitchModel {
            credit: Some(railtwin_engine::packet::Credit {
                latency: SimTime::from_ns(600),
                initial: Bytes(20_000),
                ramp: 2,
            }),
            ..SwitchModel::DEEP
        },
    ];
    for model in models {
        for mut case in [permuted(1_000_000), incast(400_000)] {
            case.packets.tiers = [model; 3];
            let log = assert_alike("switches", &case);
            kit::assert_lossless(&log);
        }
    }
}

#[test]
fn replicates_differ_where_something_is_drawn() {
    let mut case = permuted(1_000_000);
    case.routing.balancer = Balancer::Spray;
    let ends: Vec<SimTime> =
        (0..6).map(|replicate| PacketEngine::default().run(&case, replicate).end).collect();
    assert!(ends.iter().any(|end| *end != ends[0]), "{ends:?}");
}

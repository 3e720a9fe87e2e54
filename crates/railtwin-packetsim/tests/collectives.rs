//! Collectives in packets: all of them end, in the time that their stages take.
#![allow(clippy::unwrap_used, reason = "a test")]
use std::sync::Arc;

use railtwin_engine::packet::Admission;
use railtwin_engine::{Balancer, Posting, Split, WorkGraph};
use railtwin_testkit::cases::collective;
use railtwin_testkit::closed_forms::{BYTE, CONTROL, US, ring_bytes, tandem, wire};
use railtwin_testkit::fabrics::{leaf_spine, rails};
use railtwin_testkit::{cases, fabrics};
use railtwin_units::{Bytes, Rate, SimTime};
use railtwin_workload::{Algorithm, Axis, Collective, Operation, OperationId, Pattern, PlanBuilder, Work};

use crate::kit::{self, packets, run};

/// All collectives that run on any number of hosts.
const ALL: [(Collective, Algorithm); 10] = [
    (Collective::AllReduce, Algorithm::Ring),
    (Collective::AllReduce, Algorithm::Tree),
    (Collective::AllReduce, Algorithm::NvlsRing),
    (Collective::AllReduce, Algorithm::NvlsTree),
    (Collective::AllGather, Algorithm::Ring),
    (Collective::ReduceScatter, Algorithm::Ring),
    (Collective::AllGather, Algorithm::Direct),
    (Collective::ReduceScatter, Algorithm::Direct),
    (Collective::AllToAll, Algorithm::Direct),
    (Collective::Broadcast, Algorithm::Ring),
];

#[test]
fn collectives_of_hosts_with_several_gpus_end() {
    for (hosts, gpus) in [(2, 1), (2, 8), (4, 4), (6, 2)] {
        let fabric = rails(hosts, gpus);
        for (kind, algorithm) in ALL {
            if gpus == 1 && matches!(algorithm, Algorithm::NvlsRing | Algorithm::NvlsTree) {
                continue;
            }
            for bytes in [1, 1_000_003, 4 << 20] {
                let case = collective(Arc::clone(&fabric), kind, algorithm, bytes);
                let log = run(&case);
                kit::assert_lossless(&log);
                assert!(log.end > SimTime::ZERO, "{kind:?} {algorithm:?}");
                let moved: u64 = packets(&log).flows.iter().map(|flow| flow.bytes).sum();
                let asked = log.pattern_bytes[0];
                assert_eq!(asked, bytes as f64);
                // A byte cut into channels is less than one on each.
                assert!(moved > 0 || bytes == 1, "{kind:?} {algorithm:?} on {hosts} hosts");
            }
        }
    }
}

/// A part of each rank in one packet: a ring takes n - 1 ways through the leaf, aggregated trees ⌈log₂ n⌉, and what waits at
/// the sending NIC behind other parts of the step.
#[test]
fn aggregated_trees_take_their_steps() {
    for hosts in [4_u32, 7, 16] {
        let fabric = leaf_spine(1, hosts, 1, (100, 100), 1_000);
        let took = |algorithm| {
            let bytes = 64 * u64::from(hosts);
            run(&collective(Arc::clone(&fabric), Collective::AllGather, algorithm, bytes)).end.seconds()
        };
        let (ring, pat) = (took(Algorithm::Ring), took(Algorithm::Pat));
        let steps = f64::from(hosts).log2().ceil();
        let ratio = pat / ring * f64::from(hosts - 1) / steps;
        println!("{hosts} hosts: a step takes {ratio:.3} of a ring's");
        assert!((0.95..1.15).contains(&ratio), "{ratio}");
    }
}

#[test]
fn a_ring_all_reduce_takes_its_stages_to_the_picosecond() {
    // Chunks of one message; a host starts a stage when the chunk before has arrived. Its neighbor's acknowledgements
    // leave before its own chunk: at most one stands in the way of each packet.
    for hosts in [2_u64, 3, 8] {
        let fabric = leaf_spine(1, hosts as u32, 1, (100, 100), 1_000);
        for chunk in [4_096, 40_960, 400_000] {
            let mut case =
                collective(Arc::clone(&fabric), Collective::AllReduce, Algorithm::Ring, chunk * hosts);
            case.packets.keys.acknowledge_every = 1_000_000;
            let log = run(&case);
            let stage = tandem(&wire(chunk), &[(BYTE, US); 2]);
            let stages = 2 * (hosts - 1);
            let late = log.end.ps() as i64 - (stages * stage) as i64;
            println!("{hosts} hosts, {chunk} B: {} ps a stage, {late} ps late", stage);
            // One acknowledgement a stage, which goes before the next chunk.
            assert_eq!(late, ((stages - 1) * CONTROL * BYTE) as i64, "{hosts} {chunk}");
        }
    }
}

#[test]
fn repeats_take_as_many_times_one() {
    let fabric = leaf_spine(2, 4, 4, (100, 100), 1_000);
    for (kind, algorithm) in [ALL[0], ALL[1], ALL[4], ALL[8]] {
        let ranks = vec![(0..8).collect::<Vec<u32>>()];
        let of = |repeat| {
            let mut case =
                cases::pattern(Arc::clone(&fabric), (kind, algorithm), ranks.clone(), 4 << 20, repeat);
            case.routing.balancer = Balancer::DModK;
            run(&case)
        };
        let (one, five) = (of(1), of(5));
        assert_eq!(packets(&five).counts.data, 5 * packets(&one).counts.data);
        assert_eq!(five.times.end.len(), 5);
        assert!(five.times.end.is_sorted());
        let ratio = five.end.seconds() / one.end.seconds();
        println!("{kind:?} {algorithm:?}: {ratio:.3}");
        assert!((4.2..5.2).contains(&ratio), "{kind:?} {algorithm:?} {ratio}");
    }
}

#[test]
fn four_queue_pairs_carry_what_one_carries() {
    let fabric = rails(4, 2);
    for (kind, algorithm) in ALL {
        let mut case = collective(Arc::clone(&fabric), kind, algorithm, 8 << 20);
        let one = run(&case);
        case.routing.queue_pairs = 4;
        for (posting, split) in [
            (Posting::RoundRobin, Split::Static),
            (Posting::Split, Split::Static),
            (Posting::RoundRobin, Split::Dynamic),
        ] {
            (case.routing.posting, case.routing.split) = (posting, split);
            let log = run(&case);
            kit::assert_lossless(&log);
            let bytes =
                |log: &railtwin_engine::RunLog| packets(log).flows.iter().map(|flow| flow.bytes).sum::<u64>();
            assert_eq!(bytes(&log), bytes(&one), "{kind:?} {algorithm:?} {posting:?} {split:?}");
            case.packets.keys.admission =
                Some(Admission { channels: 4, buffer: Bytes(128 << 10), copy: Rate::from_gbps(400) });
            let admitted = run(&case);
            kit::assert_lossless(&admitted);
            assert_eq!(bytes(&admitted), bytes(&one));
            assert_eq!(packets(&admitted).counts.clear_to_send, packets(&admitted).clearance_wait.count);
            case.packets.keys.admission = None;
        }
    }
}

#[test]
fn hosts_with_two_ports_use_both() {
    let fabric = Arc::new(fabrics::hpn(fabrics::dual_port(200), 2, 2, 2).build().unwrap());
    for balancer in [Balancer::Ecmp, Balancer::Disjoint, Balancer::Spray] {
        let mut case = collective(Arc::clone(&fabric), Collective::AllReduce, Algorithm::Ring, 64 << 20);
        (case.routing.queue_pairs, case.routing.balancer) = (8, balancer);
        let log = run(&case);
        kit::assert_lossless(&log);
        let floor = 2.0 * ring_bytes(4, 64 << 20) / 50e9;
        println!("{balancer:?}: {:.3} of the floor of both ports", log.end.seconds() / floor);
        assert!(log.end.seconds() > floor);
    }
}

#[test]
fn operations_wait_for_operations_of_other_hosts_in_every_step() {
    let fabric = leaf_spine(2, 4, 4, (100, 100), 1_000);
    let mut case = cases::pairs(Arc::clone(&fabric), &[(0, 1)], 1);
    case.work = WorkGraph::default();
    let mut builder = PlanBuilder::new(8, vec!["all".into()]);
    let name = builder.name("work");
    let mut send = |source: u32, target: u32| {
        let (collective, algorithm) = (Collective::SendReceive, Algorithm::Direct);
        let communicators = vec![vec![source, target]];
        builder.pattern(Pattern::new(Axis::Other, collective, Some(algorithm), communicators))
    };
    // 0 to 4, then 1 to 5 and 2 to 6, then 3 to 7, which waits for both; the next step starts with host 0 again.
    let patterns = [send(0, 4), send(1, 5), send(2, 6), send(3, 7)];
    let mut push = |row: usize, before: &[OperationId]| {
        let work = Work::Communicate { pattern: patterns[row], bytes: 1_000_000 };
        builder.push(Operation { lane: 0, name, axis: Axis::Other, work }, before)
    };
    let first = push(0, &[]);
    let (second, third) = (push(1, &[first]), push(2, &[first]));
    push(3, &[second, third]);
    case.work.push("job".into(), SimTime::ZERO, builder.finish(), 3);
    let log = run(&case);
    let (start, end) = (&log.times.start, &log.times.end);
    let soon = SimTime::from_ns(12_000);
    for step in 0..3 {
        for (before, after) in [(&[0][..], 1), (&[0], 2), (&[1, 2], 3)] {
            let ended = before.iter().map(|row| end[4 * step + row]).max().unwrap();
            let began = start[4 * step + after];
            assert!(began >= ended && began <= ended + soon, "{step} {after}: {ended} {began}");
        }
    }
    for threads in [2, 3] {
        let other = railtwin_engine::Engine::run(&railtwin_packetsim::PacketEngine { threads }, &case, 0);
        assert!(other == log, "{threads} threads");
    }
}

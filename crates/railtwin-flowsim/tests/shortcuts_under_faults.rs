//! Shortcuts change no result while cables fail, links ail and ranks come late or not at all: many bundles that are
//! alike, several jobs, every balancer, either pace,
//! any reaction, timers and re-planning.
#![allow(clippy::unwrap_used, reason = "a test")]
use std::sync::Arc;

use proptest::prelude::*;
use railtwin_control::{PlacementPolicy, Placer};
use railtwin_engine::fault::events;
use railtwin_engine::{
    Balancer, Case, Engine, Impairment, Outage, Pace, RankFault, RankTrouble, Reaction, Replan, Resume,
    RoutingCase, RunLog, Split, Transport, Ways, WorkGraph,
};
use railtwin_fabric::Fabric;
use railtwin_fabric::preset::Hpn;
use railtwin_flowsim::{FlowEngine, Shortcuts};
use railtwin_testkit::{fabrics, near, us};
use railtwin_units::{SimTime, TimeRange};
use railtwin_workload::{Algorithm, Axis, Collective, Operation, Pattern, PlanBuilder, Work};

/// Which links of a cable are silent.
const WAYS: [Ways; 3] = [Ways::Forward, Ways::Backward, Ways::Both];

/// A job as drawn: hosts, and its operations by kind, bytes and times.
type DrawnJob = (u32, Vec<(usize, u64, u32)>);
/// A cable that fails, from when, for how long.
type DrawnFault = (prop::sample::Index, u64, Option<u64>);
/// A link that runs worse: which, the trouble, from when, for how long.
type DrawnIll = (prop::sample::Index, u8, u64, Option<u64>);
/// A rank in trouble: which job, which rank, the trouble, from when, for how long.
type DrawnRank = (prop::sample::Index, prop::sample::Index, u8, u64, Option<u64>);

#[derive(Clone, Debug)]
struct Draw {
    ills: Vec<DrawnIll>,
    ranks: Vec<DrawnRank>,
    fabric: u8,
    jobs: Vec<DrawnJob>,
    faults: Vec<DrawnFault>,
    stages: [u64; 8],
    balancer: Balancer,
    replan: Replan,
    queue_pairs: u32,
    /// Dynamic split, ARP proxy, resume by NAK, class pace, resilient hashing.
    flags: (bool, bool, bool, bool, bool),
    timeout: u32,
    seed: u64,
}

fn draws() -> impl Strategy<Value = Draw> {
    let operation = (0usize..5, 1_000_000u64..300_000_000, 1u32..4);
    let job = (2u32..=3, prop::collection::vec(operation, 1..3));
    let fault =
        (any::<prop::sample::Index>(), prop_oneof![Just(0), 0u64..20_000], prop::option::of(1u64..20_000));
    let replan = prop_oneof![
        Just(Replan::Never),
        Just(Replan::AtOnce),
        (0u64..10_000).prop_map(|after| Replan::After(us(after))),
        (1u64..10_000).prop_map(|every| Replan::Every(us(every))),
    ];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let balancer = prop::sample::select(Balancer::ALL.to_vec());
    let from = || prop_oneof![Just(0), 0u64..20_000];
    let ill = (any::<prop::sample::Index>(), 0u8..5, from(), prop::option::of(1u64..20_000));
    let index = || any::<prop::sample::Index>();
    let rank = (index(), index(), 0u8..7, from(), prop::option::of(1u64..20_000));
    let parts = (
        0u8..4,
        prop::collection::vec(job, 1..3),
        prop::collection::vec(fault, 1..5),
        prop::array::uniform8(0u64..6_000),
        (balancer, replan, 1u32..3),
        flags,
        7u32..12,
        any::<u64>(),
        (prop::collection::vec(ill, 0..4), prop::collection::vec(rank, 0..3)),
    );
    parts.prop_map(|(fabric, jobs, faults, stages, paths, flags, timeout, seed, (ills, ranks))| {
        let (balancer, replan, queue_pairs) = paths;
        Draw {
            ills,
            ranks,
            fabric,
            jobs,
            faults,
            stages,
            balancer,
            replan,
            queue_pairs,
            flags,
            timeout,
            seed,
        }
    })
}

fn fabric(kind: u8) -> Fabric {
    let host = |ports| fabrics::host(4, ports, 200);
    match kind {
        0 => fabrics::hpn(host(2), 2, 4, 2).build(),
        1 => Hpn { planes: false, ..fabrics::hpn(host(2), 2, 4, 2) }.build(),
        2 => fabrics::leaves(host(1), 4, 2, 3).build(),
        _ => fabrics::leaves(fabrics::plain_host(1, 400), 4, 4, 3).build(),
    }
    .unwrap()
}

const KINDS: [(Collective, Algorithm); 5] = [
    (Collective::AllReduce, Algorithm::Ring),
    (Collective::AllToAll, Algorithm::Direct),
    (Collective::AllGather, Algorithm::Ring),
    (Collective::AllReduce, Algorithm::Tree),
    (Collective::SendReceive, Algorithm::Direct),
];

impl Draw {
    fn case(&self) -> Case {
        let fabric = Arc::new(fabric(self.fabric));
        let mut placer = Placer::new(&fabric, self.seed);
        let (mut work, mut placements) = (WorkGraph::default(), Vec::new());
        for (row, (hosts, operations)) in self.jobs.iter().enumerate() {
            let ranks = hosts * fabric.host_models()[0].gpus;
            placements.push(placer.place(&row.to_string(), ranks, &PlacementPolicy::Spread).unwrap());
            let mut builder = PlanBuilder::new(ranks, vec!["all".into()]);
            for &(kind, bytes, times) in operations {
                let (collective, algorithm) = KINDS[kind];
                let ends = vec![0, ranks - 1];
                let all = (0..ranks).collect();
                let communicators = vec![if collective == Collective::SendReceive { ends } else { all }];
                let pattern =
                    builder.pattern(Pattern::new(Axis::Other, collective, Some(algorithm), communicators));
                let (name, mut last) = (builder.name(collective.name()), Vec::new());
                let ponder = builder.name("ponder");
                for _ in 0..times {
                    let work = Work::Compute(us(300));
                    let axis = Axis::Compute;
                    last = vec![builder.push(Operation { lane: 0, name: ponder, axis, work }, &last)];
                    let work = Work::Communicate { pattern, bytes };
                    last = vec![builder.push(Operation { lane: 0, name, axis: Axis::Other, work }, &last)];
                }
            }
            work.push(format!("job-{row}"), SimTime::from_ns(7 * row as u64), builder.finish(), 2);
        }
        let (dynamic, proxy, nak, class, resilient) = self.flags;
        let [detection, lag_failover, ecmp_regroup, withdrawal, convergence, mac_aging, lacp, arp] =
            self.stages.map(us);
        let reaction = Reaction {
            detection: TimeRange::between(detection, lag_failover),
            lag_failover: lag_failover.into(),
            ecmp_regroup: ecmp_regroup.into(),
            withdrawal: TimeRange::between(withdrawal, ecmp_regroup),
            convergence: convergence.into(),
            arp_proxy: proxy,
            mac_aging,
            lacp,
            arp,
            bgp_hold: convergence,
            ..Reaction::default()
        };
        let cables = fabrics::network_cables(&fabric);
        let outage = |&(cable, from, span): &DrawnFault| {
            let until = span.map_or(SimTime::NEVER, |span| us(from + span));
            Outage {
                cable: cables[cable.index(cables.len())],
                from: us(from),
                until,
                silent: (from % 3 == 0).then_some(WAYS[from as usize / 3 % 3]),
            }
        };
        let ill = |&(cable, what, from, span): &DrawnIll| {
            let cable = cables[cable.index(cables.len())];
            let healthy = Impairment::none(if what < 3 { cable.forward() } else { cable.backward() });
            let (capacity, loss, delay) = match what {
                0 => (0.5, 0.0, SimTime::ZERO),
                1 => (0.0, 0.0, SimTime::ZERO),
                2 => (1.0, 0.01, SimTime::ZERO),
                3 => (1.0, 0.0, us(40)),
                _ => (0.3, 1e-4, us(3)),
            };
            let until = span.map_or(SimTime::NEVER, |span| us(from + span));
            Impairment { from: us(from), until, capacity, loss, delay, ..healthy }
        };
        let rank = |&(job, rank, what, from, span): &DrawnRank| {
            let job = job.index(work.jobs.len());
            let trouble = match what {
                0 => RankTrouble::Slow(1.7),
                1 => RankTrouble::Late { time: us(900), every: 1 },
                2 => RankTrouble::Late { time: us(5_000), every: 2 },
                3 => RankTrouble::Hang,
                4 => RankTrouble::Gone,
                5 => RankTrouble::Mismatch,
                _ => RankTrouble::Slow(3.0),
            };
            let lasts = what == 4 || what == 5;
            let until = span.filter(|_| !lasts).map_or(SimTime::NEVER, |span| us(from + span));
            let rank = rank.index(work.jobs[job].plan.ranks as usize) as u32;
            RankFault { job: job as u32, rank, from: us(from), until, trouble }
        };
        let rank_faults = self.ranks.iter().map(rank).collect();
        let routing = RoutingCase {
            balancer: self.balancer,
            queue_pairs: self.queue_pairs,
            split: if dynamic { Split::Dynamic } else { Split::Static },
            resilient,
            replan: self.replan,
            ..RoutingCase::default()
        };
        Case {
            seed: self.seed,
            routing,
            pace: if class { Pace::Class } else { Pace::Bundle },
            faults: events(&self.faults.iter().map(outage).collect::<Vec<_>>()),
            impairments: self.ills.iter().map(ill).collect(),
            rank_faults,
            reaction,
            transport: Transport {
                timeout: self.timeout,
                resume: if nak { Resume::Nak } else { Resume::Timeout },
                ..Transport::default()
            },
            ..Case::new(fabric, work, placements)
        }
    }
}

fn kinds(log: &RunLog) -> Vec<(u64, String)> {
    log.incidents
        .iter()
        .map(|incident| (incident.at.ps() / 1_000_000, format!("{:?}", incident.kind)))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(90))]

    #[test]
    fn shortcuts_change_nothing_whatever_fails(draw in draws(), one in 0usize..5) {
        let case = draw.case();
        let plain = FlowEngine { shortcuts: Shortcuts::NONE }.run(&case, 1);
        let mut but_one = Shortcuts::ALL;
        *[&mut but_one.alone, &mut but_one.remember, &mut but_one.touched, &mut but_one.alike, &mut but_one.parallel][one] = false;
        for shortcuts in [Shortcuts::ALL, but_one] {
            let log = FlowEngine { shortcuts }.run(&case, 1);
            prop_assert_eq!(&log, &FlowEngine { shortcuts }.run(&case, 1));
            prop_assert_eq!(log.unfinished, plain.unfinished, "{:?} {:?}", kinds(&log), kinds(&plain));
            for (a, b) in log.times.end.iter().zip(&plain.times.end) {
                prop_assert!(near(a.seconds(), b.seconds(), 1e-7, 1e-9), "{} {}: {:?} {:?}", a, b, kinds(&log), kinds(&plain));
            }
            for (link, (a, b)) in log.link_bytes.iter().zip(&plain.link_bytes).enumerate() {
                prop_assert!(near(*a, *b, 1e-5, 10.0), "link {link}: {a} {b}");
            }
        }
    }
}

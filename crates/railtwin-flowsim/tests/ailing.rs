//! Links that run worse and ranks in trouble, against arithmetic.
#![allow(clippy::unwrap_used, reason = "a test")]
use std::sync::Arc;

use railtwin_control::{PlacementPolicy, Placer};
use railtwin_engine::fault::impairment::goodput;
use railtwin_engine::lower::Lowering;
use railtwin_engine::{Case, Engine, Impairment, IncidentKind, RankFault, RankTrouble, RunLog, WorkGraph};
use railtwin_fabric::LinkId;
use railtwin_flowsim::{FlowEngine, Shortcuts};
use railtwin_routing::LinkMask;
use railtwin_testkit::cases::{ACK_TIMEOUT, QUICK};
use railtwin_testkit::{fabrics, ms};
use railtwin_units::SimTime;
use railtwin_workload::{Algorithm, Axis, Collective, Operation, Pattern, PlanBuilder, Work};

/// Takes 20 ms at 50 GB/s.
const BYTES: u64 = 1_000_000_000;

/// Two ranks under two leaves compute for 10 ms, then the first sends to the second for 20 ms; three steps.
fn case() -> Case {
    let fabric = Arc::new(fabrics::plain(2, 2, 2));
    let mut placer = Placer::new(&fabric, 1);
    let mut builder = PlanBuilder::new(2, vec!["all".into()]);
    let (collective, algorithm) = (Collective::SendReceive, Algorithm::Direct);
    let communicators = vec![vec![0, 1], vec![1, 0]];
    let pattern = builder.pattern(Pattern::new(Axis::Other, collective, Some(algorithm), communicators));
    let name = builder.name("work");
    let first = Operation { lane: 0, name, axis: Axis::Compute, work: Work::Compute(ms(10)) };
    let first = builder.push(first, &[]);
    let work = Work::Communicate { pattern, bytes: BYTES };
    builder.push(Operation { lane: 0, name, axis: Axis::Other, work }, &[first]);
    let mut work = WorkGraph::default();
    work.push("job".into(), SimTime::ZERO, builder.finish(), 3);
    let placements = vec![placer.place("0", 2, &PlacementPolicy::Hosts(vec![0, 2])).unwrap()];
    Case { transport: QUICK, ..Case::new(fabric, work, placements) }
}

/// The first link of the first flow: out of its NIC.
fn access(case: &Case) -> LinkId {
    Lowering::new(case, 0).table(&LinkMask::none(&case.fabric), true).1[0].links[0]
}

fn latency(case: &Case) -> SimTime {
    Lowering::new(case, 0).table(&LinkMask::none(&case.fabric), false).0.latency[0]
}

fn ailing(from: u64, until: Option<u64>, change: impl FnOnce(&mut Impairment)) -> Case {
    let mut case = case();
    let mut ill = Impairment::none(access(&case));
    (ill.from, ill.until) = (ms(from), until.map_or(SimTime::NEVER, ms));
    change(&mut ill);
    case.impairments.push(ill);
    case
}

fn troubled(from: u64, until: Option<u64>, trouble: RankTrouble) -> Case {
    let mut case = case();
    let until = until.map_or(SimTime::NEVER, ms);
    case.rank_faults.push(RankFault { job: 0, rank: 1, from: ms(from), until, trouble });
    case
}

/// The log under all shortcuts, which is that under none.
fn run(case: &Case) -> RunLog {
    let log = FlowEngine::default().run(case, 0);
    let plain = FlowEngine { shortcuts: Shortcuts::NONE }.run(case, 0);
    assert_eq!((&log.times, &log.incidents), (&plain.times, &plain.incidents));
    log
}

/// Milliseconds that the run took, without latencies of paths.
fn took(case: &Case) -> f64 {
    let log = run(case);
    assert_eq!(log.unfinished, 0, "{:?}", log.incidents);
    (log.end - latency(case) * 3).seconds() * 1e3
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-5, "{a} {b}");
}

#[test]
fn a_slow_link_slows_what_crosses_it_while_it_is_slow() {
    near(took(&case()), 90.0);
    // Five milliseconds at full rate, ten at half, ten more at full.
    near(took(&ailing(15, Some(25), |ill| ill.capacity = 0.5)), 95.0);
    near(took(&ailing(0, None, |ill| ill.capacity = 0.25)), 30.0 + 3.0 * 80.0);
}

#[test]
fn a_lossy_link_carries_its_goodput_once() {
    let case = ailing(0, None, |ill| ill.loss = 1e-3);
    let trip = Lowering::new(&case, 0).round_trips(&[access(&case)])[0];
    let packet = case.packets.keys.full() as f64;
    let window = 50e9 * trip.seconds() / packet;
    assert!(window > 5.0, "{window}");
    near(took(&case), 30.0 + 60.0 / goodput(1e-3, window));
}

#[test]
fn a_late_switch_adds_its_delay_to_what_arrives_while_it_is_late() {
    let healthy = run(&case()).end;
    let late = ailing(0, None, |ill| ill.delay = SimTime::from_ns(5_000));
    assert_eq!(run(&late).end - healthy, SimTime::from_ns(15_000));
    // The step of the first thirty milliseconds only.
    let late = ailing(5, Some(35), |ill| ill.delay = SimTime::from_ns(5_000));
    assert_eq!(run(&late).end - healthy, SimTime::from_ns(5_000));
}

#[test]
fn a_link_that_is_paused_holds_its_queue_pairs_until_they_die() {
    let kinds = |case: &Case| -> Vec<IncidentKind> { run(case).incidents.iter().map(|i| i.kind).collect() };
    let paused = ailing(15, Some(25), |ill| ill.capacity = 0.0);
    assert_eq!(kinds(&paused), [IncidentKind::Stalled(0), IncidentKind::Resumed(0)]);
    near(took(&paused), 100.0);
    let dead = ailing(15, None, |ill| ill.capacity = 0.0);
    let log = run(&dead);
    assert_eq!(kinds(&dead), [IncidentKind::Stalled(0), IncidentKind::Halted(0)]);
    assert_eq!(log.incidents[1].at, ms(15) + ACK_TIMEOUT * 8);
    assert_eq!(log.unfinished, 5);
}

#[test]
fn a_slow_gpu_stretches_computations_and_a_late_rank_its_steps() {
    near(took(&troubled(0, None, RankTrouble::Slow(1.5))), 90.0 + 3.0 * 5.0);
    // Until 5 ms, when 2.5 of ten are done.
    near(took(&troubled(0, Some(5), RankTrouble::Slow(2.0))), 92.5);
    near(took(&troubled(0, None, RankTrouble::Late { time: ms(7), every: 1 })), 90.0 + 21.0);
    // Not the first step, which began before; every second step is the first and the third.
    near(took(&troubled(1, None, RankTrouble::Late { time: ms(7), every: 1 })), 104.0);
    near(took(&troubled(0, None, RankTrouble::Late { time: ms(7), every: 2 })), 104.0);
    near(took(&troubled(1, None, RankTrouble::Late { time: ms(7), every: 2 })), 97.0);
}

#[test]
fn who_hangs_ends_what_it_is_in_and_enters_nothing_more() {
    let log = run(&troubled(15, None, RankTrouble::Hang));
    // The first step ends. Its peer computes on and waits in the next operation.
    assert_eq!(log.unfinished, 3);
    assert_eq!((log.times.end[2], log.times.end[3]), (log.times.start[3], SimTime::NEVER));
    assert!(log.incidents.is_empty(), "nobody sent anything: {:?}", log.incidents);
    // Back after a while, it enters what it missed: the computation of the second step at 50 ms.
    // Nobody waits for the path's latency of the first step then.
    let back = troubled(15, Some(50), RankTrouble::Hang);
    assert_eq!(run(&back).end, ms(50 + 60) + latency(&back) * 2);
}

#[test]
fn who_is_gone_takes_its_peers_along_by_their_timeouts() {
    let log = run(&troubled(15, None, RankTrouble::Gone));
    let told: Vec<_> = log.incidents.iter().map(|incident| (incident.at, incident.kind)).collect();
    let death = ms(15) + ACK_TIMEOUT * 8;
    assert_eq!(told, [(ms(15), IncidentKind::Stalled(0)), (death, IncidentKind::Halted(0))]);
    assert_eq!(log.unfinished, 5);
    // Gone while it computes: peers notice when they send.
    let log = run(&troubled(5, None, RankTrouble::Gone));
    assert_eq!(log.incidents[0].at, ms(10));
    assert_eq!(log.incidents[1].at, ms(10) + ACK_TIMEOUT * 8);
}

#[test]
fn a_mismatch_of_sizes_ends_no_collective() {
    let log = run(&troubled(15, None, RankTrouble::Mismatch));
    assert_eq!((log.unfinished, log.incidents.len()), (3, 0));
    assert!(log.times.start[3] < SimTime::NEVER);
}

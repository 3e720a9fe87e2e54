//! What jobs cost each other: two periodic ones on one uplink, whose phases decide.
use railtwin::interference::{Interference, Options, interference};
use railtwin_control::PlacementPolicy;
use railtwin_control::controller::{Controller, Decision, Event};
use railtwin_engine::own::{Own, Site};
use railtwin_engine::{Case, Engine};
use railtwin_flowsim::FlowEngine;
use railtwin_packetsim::PacketEngine;
use railtwin_testkit::cases;
use railtwin_testkit::fabrics::leaf_spine;
use railtwin_units::SimTime;
use railtwin_workload::{Algorithm, Axis, Collective, Operation, Pattern, Plan, PlanBuilder, Work};

/// A step of so many microseconds of computing and, after it, bytes that take half of that alone.
fn plan(micros: u64) -> Plan {
    let mut builder = PlanBuilder::new(2, vec!["all".into()]);
    let (compute, send) = (builder.name("compute"), builder.name("send"));
    let work = Work::Compute(SimTime::from_ns(micros * 1_000));
    let first = builder.push(Operation { lane: 0, name: compute, axis: Axis::Other, work }, &[]);
    let kind = (Collective::SendReceive, Some(Algorithm::Direct));
    let pattern = builder.pattern(Pattern::new(Axis::Other, kind.0, kind.1, vec![vec![0, 1]]));
    // 12.5 bytes a nanosecond.
    let work = Work::Communicate { pattern, bytes: micros * 1_000 / 2 * 25 / 2 };
    builder.push(Operation { lane: 0, name: send, axis: Axis::Other, work }, &[first]);
    builder.finish()
}

/// Two alike whose transfers share one uplink of 100 Gbps.
fn two(micros: u64, priorities: [u8; 2], compute_jitter: f64) -> Case {
    let hosts = |first| PlacementPolicy::Hosts(vec![first, first + 2]);
    let plans = (0..2).map(|job| (plan(micros), hosts(job))).collect();
    let mut case = cases::jobs(leaf_spine(2, 2, 1, (100, 100), 0), plans);
    for (job, priority) in case.work.jobs.iter_mut().zip(priorities) {
        (job.priority, job.compute_jitter) = (priority, compute_jitter);
    }
    case
}

fn found(case: &Case, engine: &dyn Engine, draws: u32, steps: u32) -> Interference {
    interference(case, engine, Options { draws, steps }, &|| ()).expect("both end")
}

/// Alone a step takes 1.5 times its computing; in step with each other 2 times, out of step nobody notices.
#[test]
fn phases_decide_what_two_alike_cost_each_other() {
    let found = found(&two(1_000, [0, 0], 0.0), &FlowEngine::default(), 200, 8);
    for (job, other) in found.jobs.iter().zip([1, 0]) {
        assert!((job.alone.median - 1.5e-3).abs() < 1e-8, "{job:?}");
        assert!(job.together.p5 < 1.501e-3 && job.together.p95 > 1.85e-3, "{job:?}");
        assert!(job.together.p95 < 2.001e-3, "{job:?}");
        assert_eq!(job.shares, [(other, 2)]);
    }
    // Each takes a third of both links of the way, as it sends for a third of its time.
    assert_eq!(found.links.len(), 2);
    assert!(found.links.iter().all(|link| (link.all() - 2.0 / 3.0).abs() < 1e-6), "{:?}", found.links);
}

#[test]
fn who_goes_first_is_never_slowed_and_jitter_is_even() {
    let first = found(&two(1_000, [1, 0], 0.0), &FlowEngine::default(), 60, 8);
    assert!(first.jobs[0].slowdown.p95 < 1.0001, "{:?}", first.jobs);
    // The other has to wait once, and is out of step from then on.
    let waits = first.jobs[1].slowdown;
    assert!(waits.p95 > 1.02 && waits.p95 < 1.0 + 0.5 / 1.5 / 8.0 + 1e-3, "{waits:?}");
    // Longer and shorter by up to 3 % of what it computes, evenly, over eight steps.
    let alone = found(&two(1_000, [0, 0], 0.03), &FlowEngine::default(), 60, 8).jobs[0].alone;
    assert!(alone.p5 < 1.495e-3 && alone.p95 > 1.505e-3, "{alone:?}");
    assert!((alone.median / 1.5e-3 - 1.0).abs() < 0.005 && alone.p95 < 1.53e-3, "{alone:?}");
}

#[test]
fn packets_say_the_same_of_one_draw() {
    for number in 0..3 {
        let mut case = two(400, [0, 0], 0.02);
        case.seed = number;
        let [flow, packet] = [&FlowEngine::default() as &dyn Engine, &PacketEngine::default()]
            .map(|engine| found(&case, engine, 1, 4));
        for (a, b) in flow.jobs.iter().zip(&packet.jobs) {
            assert!((a.alone.median / b.alone.median - 1.0).abs() < 0.03, "{a:?} {b:?}");
            assert!((a.slowdown.median / b.slowdown.median - 1.0).abs() < 0.06, "{a:?} {b:?}");
        }
    }
}

#[test]
fn what_cannot_be_said_is_refused() {
    let one = cases::job(leaf_spine(2, 2, 1, (100, 100), 0), plan(1_000));
    let refused = |case: &Case| {
        let options = Options { draws: 1, steps: 4 };
        interference(case, &FlowEngine::default(), options, &|| ()).expect_err("refused").to_string()
    };
    assert!(refused(&one).contains("write a second [[job]]"));
    let mut short = two(1_000_000, [0, 0], 0.0);
    short.work.jobs[1].plan = plan(1);
    assert!(refused(&short).contains("more than 1000000 steps"), "{}", refused(&short));
}

/// Hears everything and wants nothing.
#[derive(Debug)]
struct Listens;

impl Controller for Listens {
    fn name(&self) -> &'static str {
        "listens"
    }
    fn on_event(&mut self, _now: SimTime, _event: &Event<'_>) {}
    fn decide(&mut self, _now: SimTime, _decisions: &mut Vec<Decision>) {}
}

/// Jobs that compute for longer than a period of feedback, so that nothing is measured for a while.
#[test]
fn who_only_listens_changes_nothing_whatever_pauses_jobs_make() {
    for period in [7, 100, 900, 5_000] {
        let quiet = two(1_000, [0, 1], 0.02);
        let mut told = quiet.clone();
        told.routing.control.feedback = Some(SimTime::from_ns(period * 1_000));
        told.own = Some(Own::new(&["listens"], |_: &Site| vec![Box::new(Listens)]));
        for engine in [&FlowEngine::default() as &dyn Engine, &PacketEngine::default()] {
            let [quiet, told] = [&quiet, &told].map(|case| engine.run(case, 0));
            for (a, b) in quiet.times.end.iter().zip(&told.times.end) {
                assert!((a.seconds() - b.seconds()).abs() < 1e-11, "{} {period}: {a} {b}", engine.name());
            }
        }
    }
}

//! What hosts cost beside links, in both engines: against closed forms, and nothing where nobody asks.
#![allow(clippy::unwrap_used, reason = "a test")]
use std::sync::Arc;

use railtwin_engine::{Case, Engine, RunLog};
use railtwin_fabric::preset::LeafSpine;
use railtwin_fabric::{Fabric, HostCosts, HostSpec};
use railtwin_flowsim::FlowEngine;
use railtwin_testkit::cases::{job, pairs};
use railtwin_testkit::fabrics::{one_leaf, plain_host};
use railtwin_units::{Bytes, SimTime};
use railtwin_workload::{Algorithm, Axis, Collective, Operation, Pattern, PlanBuilder, Work};

use crate::kit::run;

/// Bytes of a transfer that takes longer than all delays.
const LONG: u64 = 64 << 20;

/// Two hosts of one GPU behind 400 Gbps under one leaf.
fn two(costs: HostCosts) -> Arc<Fabric> {
    let host = HostSpec { costs, pcie_delay: Some(SimTime::ZERO), ..plain_host(1, 400) };
    Arc::new(LeafSpine { switch_latency: SimTime::ZERO, ..one_leaf(host, 2) }.build().unwrap())
}

fn fetching(contexts: u32) -> HostCosts {
    HostCosts { contexts: Some(contexts), context_fetch: SimTime::from_ns(2_000), ..HostCosts::default() }
}

/// A transfer over 64 queue pairs.
fn transfer(costs: HostCosts) -> Case {
    let mut case = pairs(two(costs), &[(0, 1)], LONG);
    case.routing.queue_pairs = 64;
    case
}

fn flows(case: &Case) -> f64 {
    FlowEngine::default().run(case, 0).end.seconds()
}

/// Of 64 queue pairs 16 are held: 3/4 of the messages, of 512 KiB in 10.49 us, wait for 2 us.
#[test]
fn a_nic_that_fetches_contexts_fills_less_of_its_line() {
    let (off, costly) = (transfer(HostCosts::default()), transfer(fetching(16)));
    let message = f64::from(512 << 10) / 50e9;
    let longer = (message + 0.75 * 2e-6) / message;
    let ratio = flows(&costly) / flows(&off);
    assert!((ratio - longer).abs() < 1e-3, "flows: {ratio}, expected {longer}");
    let ratio = run(&costly).end.seconds() / run(&off).end.seconds();
    assert!((ratio - longer).abs() < 0.01, "packets: {ratio}, expected {longer}");
}

#[test]
fn a_nic_that_holds_all_contexts_changes_no_event() {
    let (off, held) = (transfer(HostCosts::default()), transfer(fetching(64)));
    assert_eq!(FlowEngine::default().run(&held, 0), FlowEngine::default().run(&off, 0));
    assert_eq!(run(&held), run(&off));
}

/// A computation beside a gather, in one lane.
fn beside(compute: SimTime, left: f64) -> Case {
    let mut builder = PlanBuilder::new(2, vec!["all".into()]);
    let gather = Pattern::new(Axis::Dp, Collective::AllGather, Some(Algorithm::Ring), vec![vec![0, 1]]);
    let pattern = builder.pattern(gather);
    let name = builder.name("beside");
    let gather = Work::Communicate { pattern, bytes: LONG };
    for (axis, work) in [(Axis::Compute, Work::Compute(compute)), (Axis::Dp, gather)] {
        builder.push(Operation { lane: 0, name, axis, work }, &[]);
    }
    let mut case = job(two(HostCosts::default()), builder.finish());
    case.work.jobs[0].beside = left;
    case
}

/// End of the computation, and of the gather beside it.
fn ends(log: &RunLog) -> [f64; 2] {
    [log.times.end[0].seconds(), log.times.end[1].seconds()]
}

#[test]
fn computation_beside_a_collective_has_the_multiprocessors_that_are_left() {
    for engine in [|case: &Case| FlowEngine::default().run(case, 0), |case: &Case| run(case)] {
        // The gather is over before the computation: what it lasts for counts three quarters.
        let [computed, gathered] = ends(&engine(&beside(SimTime::from_ns(2_000_000), 0.75)));
        let expected = 2e-3 + 0.25 * gathered;
        assert!((computed - expected).abs() < 1e-9, "{computed}, expected {expected}");
        // The computation is over first.
        let [computed, _] = ends(&engine(&beside(SimTime::from_ns(300_000), 0.75)));
        assert!((computed - 0.4e-3).abs() < 1e-9, "{computed}");
        let [computed, _] = ends(&engine(&beside(SimTime::from_ns(2_000_000), 1.0)));
        assert_eq!(computed, 2e-3);
    }
}

/// Cables of 5 us, two of them each way: 256 KiB in flight are 256 KiB each 20 us.
#[test]
fn buffers_of_channels_bound_what_is_in_flight() {
    let case = |buffer: Option<Bytes>| {
        let costs = HostCosts { buffer, channels: Some(2), ..HostCosts::default() };
        let host = HostSpec { costs, pcie_delay: Some(SimTime::ZERO), ..plain_host(1, 400) };
        let delay = SimTime::from_ns(5_000);
        let spec = LeafSpine { switch_latency: SimTime::ZERO, delay, ..one_leaf(host, 2) };
        pairs(Arc::new(spec.build().unwrap()), &[(0, 1)], LONG)
    };
    let (bound, expected) =
        (flows(&case(Some(Bytes(128 << 10)))), LONG as f64 * 20e-6 / f64::from(256 << 10) + 10e-6);
    assert!((bound / expected - 1.0).abs() < 1e-6, "{bound}, expected {expected}");
    assert_eq!(flows(&case(Some(Bytes(1 << 40)))), flows(&case(None)));
}

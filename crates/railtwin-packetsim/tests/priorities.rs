//! Priorities of jobs: strict at every queue, with pause frames and buffers of their own.
#![allow(clippy::unwrap_used, reason = "a test")]
use std::sync::Arc;

use proptest::prelude::*;
use railtwin_control::PlacementPolicy;
use railtwin_control::controller::{Action, Controller, Decision, Event};
use railtwin_control::paths::JobId;
use railtwin_engine::own::{Own, Site};
use railtwin_engine::packet::{Buffer, CongestionControl, Credit, Pfc};
use railtwin_engine::{Case, Engine, RunLog};
use railtwin_fabric::Fabric;
use railtwin_flowsim::FlowEngine;
use railtwin_packetsim::PacketEngine;
use railtwin_testkit::fabrics::leaf_spine;
use railtwin_testkit::{cases, works};
use railtwin_units::{Bytes, SimTime};

use crate::kit;

/// Jobs of one transfer each: source, target, bytes, priority.
type Sends = [(u32, u32, u64, u8)];

fn case(fabric: &Arc<Fabric>, sends: &Sends) -> Case {
    let plan = |&(source, target, bytes, _): &(u32, u32, u64, u8)| {
        (works::send(bytes, 1), PlacementPolicy::Hosts(vec![source, target]))
    };
    let mut case = cases::jobs(Arc::clone(fabric), sends.iter().map(plan).collect());
    for (job, send) in case.work.jobs.iter_mut().zip(sends) {
        job.priority = send.3;
    }
    // Rates of senders would take their time to find what is left.
    case.packets.keys.congestion_control = CongestionControl::None;
    case
}

fn ends(log: &RunLog) -> Vec<f64> {
    log.times.end.iter().map(|end| end.seconds()).collect()
}

fn near(name: &str, packets: &[f64], flows: &[f64], share: f64) {
    for (packets, flows) in packets.iter().zip(flows) {
        assert!((packets / flows - 1.0).abs() < share, "{name}: {packets} and {flows}");
    }
}

/// Six hosts on two leaves with one uplink: what goes over it shares it.
fn narrow() -> Arc<Fabric> {
    leaf_spine(2, 3, 1, (100, 100), 500)
}

const MB: u64 = 1_000_000;

#[test]
fn packets_are_served_as_flows_are() {
    for priorities in [[0, 0, 0], [7, 0, 0], [0, 1, 2], [1, 0, 1], [3, 5, 5]] {
        let bytes = [10 * MB, 20 * MB, 10 * MB];
        let send = |at: usize| (at as u32, at as u32 + 3, bytes[at], priorities[at]);
        let case = case(&narrow(), &[send(0), send(1), send(2)]);
        let packets = kit::run(&case);
        kit::assert_lossless(&packets);
        near(&format!("{priorities:?}"), &ends(&packets), &ends(&FlowEngine::default().run(&case, 0)), 0.04);
    }
}

/// Two hosts send into one, whose leaf pauses the uplink; a third transfer over the uplink to an idle host is held up
/// by that unless it has pause frames of its own.
#[test]
fn pauses_of_one_priority_leave_the_others_alone() {
    let fabric = leaf_spine(2, 3, 1, (100, 200), 500);
    let victim = |priority| {
        let mut case = case(&fabric, &[(3, 4, 40 * MB, 0), (0, 5, 10 * MB, priority)]);
        // Four more senders into the target of the first, as one job cannot share its host.
        let incast = cases::pairs(Arc::clone(&fabric), &[(1, 4), (2, 4), (3, 4)], 20 * MB);
        case.work.jobs[0].plan = incast.work.jobs[0].plan.clone();
        case.placements[0] = incast.placements[0].clone();
        let mut work = railtwin_engine::WorkGraph::default();
        for job in case.work.jobs.drain(..) {
            work.push(job.name, job.start, job.plan, 1);
        }
        work.jobs[1].priority = priority;
        case.work = work;
        let buffer = Buffer::Shared { bytes: 2_000_000, reserved: 10_000, alpha: 0.125 };
        case.packets.tiers.iter_mut().for_each(|tier| {
            tier.buffer = buffer;
            tier.ecn = None;
        });
        let log = kit::run(&case);
        let pauses: u64 = kit::packets(&log).links.pause_frames.iter().map(|&frames| u64::from(frames)).sum();
        assert!(pauses > 0, "nobody was paused");
        let job = &case.work.jobs[1];
        log.times.end[job.first_operation as usize].seconds() / (10.0 * MB as f64 / 12.5e9)
    };
    let (same, own) = (victim(0), victim(1));
    assert!(same > 1.5 && own < 1.1, "{same} {own}");
}

#[derive(Clone, Debug)]
struct Draw {
    sends: Vec<(u32, u32, u64, u8)>,
    uplink: u64,
    buffer: Buffer,
    credit: Option<Credit>,
    cut_through: bool,
}

fn draws() -> impl Strategy<Value = Draw> {
    let shared = (0_u64..4_000_000, 0_u64..20_000, 1_u32..16).prop_map(|(bytes, reserved, alpha)| {
        Buffer::Shared { bytes, reserved, alpha: f64::from(alpha) / 8.0 }
    });
    let buffer = prop_oneof![shared, (1_400_000_u64..3_000_000).prop_map(|bytes| Buffer::Carved { bytes })];
    let credit = (0_u64..1_500, 0_u64..60_000).prop_map(|(ns, initial)| Credit {
        latency: SimTime::from_ns(ns),
        initial: Bytes(initial),
        ramp: 2,
    });
    let job = (100_000_u64..4_000_000, 0_u8..4);
    let order = Just((0_u32..12).collect::<Vec<_>>()).prop_shuffle();
    let jobs = (prop::collection::vec(job, 2..6), order);
    let switch = (buffer, prop::option::of(credit), any::<bool>());
    (jobs, prop_oneof![Just(100_u64), Just(200)], switch).prop_map(
        |((jobs, order), uplink, (buffer, credit, cut_through))| Draw {
            sends: jobs
                .iter()
                .enumerate()
                .map(|(at, &(bytes, priority))| (order[2 * at], order[2 * at + 1], bytes, priority))
                .collect(),
            uplink,
            buffer,
            credit,
            cut_through,
        },
    )
}

impl Draw {
    fn case(&self) -> Case {
        let mut case = case(&leaf_spine(3, 4, 2, (100, self.uplink), 500), &self.sends);
        for tier in &mut case.packets.tiers {
            tier.buffer = self.buffer;
            tier.credit = self.credit;
            tier.cut_through = self.cut_through;
            tier.pfc = Some(Pfc { headroom: None, resume_offset: 10_000, response: SimTime::from_ns(200) });
        }
        case
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Nothing is lost, everything ends, and threads change nothing.
    #[test]
    fn whatever_the_switches_nothing_is_lost(draw in draws()) {
        let case = draw.case();
        let log = kit::run(&case);
        kit::assert_lossless(&log);
        let threads = PacketEngine { threads: 3 }.run(&case, 0);
        prop_assert!(threads == log);
    }

    /// A transfer of the highest priority takes as long as without the others, but for packets that were being sent
    /// when it came, one at each hop for each window of its own, and their acknowledgements. Where the pool does not hold
    /// the headroom of all priorities its own ports are told to pause early: then it notices.
    #[test]
    fn who_goes_first_hardly_notices_the_others(mut draw in draws()) {
        if let Buffer::Shared { bytes, .. } = &mut draw.buffer {
            *bytes = (*bytes).max(1_400_000);
        }
        draw.sends.iter_mut().for_each(|send| send.3 = send.3.min(2));
        draw.sends[0].3 = 3;
        let case = draw.case();
        let mut alone = case.clone();
        alone.work.jobs[1..].iter_mut().for_each(|job| job.start = SimTime::from_ns(1_000_000_000));
        let (with, without) = (ends(&kit::run(&case))[0], ends(&kit::run(&alone))[0]);
        prop_assert!(with <= without * 1.02 + 10e-6, "{} {}", with, without);
    }
}

/// A job gets another priority at some time.
#[derive(Debug)]
struct Turn(Option<(SimTime, u32, u8)>);

impl Controller for Turn {
    fn name(&self) -> &'static str {
        "turn"
    }
    fn on_event(&mut self, _now: SimTime, _event: &Event<'_>) {}
    fn decide(&mut self, now: SimTime, decisions: &mut Vec<Decision>) {
        if let Some((_, job, priority)) = self.0.take_if(|(at, ..)| *at <= now) {
            let action = Action::Priority { job: JobId(job), priority };
            decisions.push(Decision { action, reason: "turn" });
        }
    }
    fn next_time(&self) -> SimTime {
        self.0.map_or(SimTime::NEVER, |(at, ..)| at)
    }
}

#[test]
fn a_controller_changes_priorities_in_the_run() {
    let at = SimTime::from_ns(400_000);
    // Alone each takes 800 us; the two share for 400 us, then the second goes on alone, then the first.
    for (job, priority) in [(0, 1), (1, 5)] {
        let mut case = case(&narrow(), &[(0, 3, 10 * MB, 3), (1, 4, 10 * MB, 3)]);
        let overtakes = priority > 3;
        if !overtakes {
            // What waits in switches keeps the priority that it was sent with: as little as goes.
            let buffer = Buffer::Shared { bytes: 1_500_000, reserved: 10_000, alpha: 0.0625 };
            case.packets.tiers.iter_mut().for_each(|tier| tier.buffer = buffer);
        }
        let turn = move |_: &Site| vec![Box::new(Turn(Some((at, job, priority)))) as Box<dyn Controller>];
        case.own = Some(Own::new(&["turn"], turn));
        let (flows, packets) = (FlowEngine::default().run(&case, 0), kit::run(&case));
        for (end, expected) in ends(&flows).into_iter().zip([1.6e-3, 1.0e-3]) {
            assert!((end / expected - 1.0).abs() < 1e-2, "{end} is not {expected}");
        }
        assert_eq!(flows.actions, packets.actions);
        assert_eq!(flows.actions.len(), 1);
        assert!(PacketEngine { threads: 2 }.run(&case, 0) == packets);
        // What is raised overtakes what was sent before, and is sent again; what is lowered comes behind it.
        let again = kit::packets(&packets).counts.sent_again;
        assert_eq!(again > 0, overtakes, "{again}");
        near("turned", &ends(&packets), &ends(&flows), if overtakes { 0.2 } else { 0.08 });
    }
}

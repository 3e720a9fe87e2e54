//! What a queue pair waits for packets that a fault took: from when to when, in packets and in flows.
//!
//! A stall begins with the loss and ends with the answer that ends the wait, whether a timer or a negative
//! acknowledgement told of it. In packets it begins with the last answer, which is a round trip from the loss at most.
#![allow(clippy::unwrap_used, reason = "a test")]
use std::sync::Arc;

use proptest::prelude::*;
use railtwin_engine::fault::events;
use railtwin_engine::{Case, Engine, IncidentKind, Outage, Reaction, Resume, RunLog, Transport, Ways};
use railtwin_fabric::Fabric;
use railtwin_flowsim::FlowEngine;
use railtwin_packetsim::PacketEngine;
use railtwin_testkit::cases::pairs;
use railtwin_testkit::closed_forms::US;
use railtwin_testkit::fabrics::{self, leaf_spine};
use railtwin_units::{Bytes, SimTime};

const MS: u64 = 1_000 * US;
const SECOND: u64 = 1_000 * MS;
/// Round trips and a window on its way, at the rates of these cases.
const ROUND: u64 = 250 * US;

/// One transfer, whose cable goes down for a while from `from` on.
fn cut(
    fabric: &Arc<Fabric>,
    (source, target): (u32, u32),
    bytes: u64,
    cable: &str,
    outage: (u64, u64),
) -> Case {
    let mut case = pairs(Arc::clone(fabric), &[(source, target)], bytes);
    case.reaction = Reaction::default();
    let cable = case.fabric.cable_named(cable).unwrap();
    let (from, until) = (SimTime::from_ps(outage.0), SimTime::from_ps(outage.0.saturating_add(outage.1)));
    case.faults = events(&[Outage { cable, from, until, silent: None }]);
    case
}

/// Two hosts with one path between them.
fn lone() -> Arc<Fabric> {
    leaf_spine(2, 1, 1, (100, 100), 1_000)
}

/// Hosts with two ports on two leaves.
fn dual(gbps: u64) -> Arc<Fabric> {
    Arc::new(fabrics::hpn(fabrics::dual_port(gbps), 2, 2, 2).build().unwrap())
}

/// The stalls of the first job, in ps: beginning and end.
fn stalls(log: &RunLog) -> Vec<(u64, u64)> {
    let mut open = None;
    let mut all = Vec::new();
    for one in &log.incidents {
        match one.kind {
            IncidentKind::Stalled(0) => {
                assert_eq!(open.replace(one.at.ps()), None, "{:?}", log.incidents);
            }
            IncidentKind::Resumed(0) | IncidentKind::Halted(0) => {
                all.push((open.take().unwrap(), one.at.ps()));
            }
            _ => {}
        }
    }
    assert_eq!(open, None, "{:?}", log.incidents);
    all
}

fn both(case: &Case) -> [RunLog; 2] {
    [FlowEngine::default().run(case, 0), PacketEngine::default().run(case, 0)]
}

/// Equally many stalls, which begin within a round trip of each other and last as long within 1 % or a round trip.
fn assert_alike(case: &Case, words: &str) {
    let [flow, packet] = both(case).map(|log| stalls(&log));
    assert_eq!((flow.len(), packet.len()), (1, 1), "{words}: {flow:?} {packet:?}");
    for (flow, packet) in flow.iter().zip(&packet) {
        let words = format!("{words}: {flow:?} {packet:?}");
        assert!(flow.0.abs_diff(packet.0) <= ROUND, "{words}");
        let [long, as_long] = [flow, packet].map(|stall| stall.1 - stall.0);
        assert!(long.abs_diff(as_long) <= ROUND.max(long / 100), "{words}");
    }
}

#[test]
fn a_stall_begins_and_ends_alike_for_every_outage_that_takes_a_window() {
    for resume in Resume::ALL {
        for outage in
            [MS, 20 * MS, 300 * MS, SECOND, 4 * SECOND, 5 * SECOND, 10 * SECOND, 20 * SECOND, 60 * SECOND]
        {
            for from in [0, US, 20 * US, 500 * US] {
                let mut case = cut(&lone(), (0, 1), 20_000_000, "leaf-0:uplink-0", (from, outage));
                case.transport.resume = resume;
                assert_alike(&case, &format!("{resume}, {} from {from}", SimTime::from_ps(outage)));
            }
        }
    }
}

#[test]
fn an_outage_that_takes_less_than_a_window_stalls_both_engines_only_for_itself() {
    // 4 MiB at 100 Gbps last for 336 us.
    for resume in [Resume::Nak, Resume::Window] {
        for outage in [50 * US, 100 * US, 250 * US] {
            let mut case = cut(&lone(), (0, 1), 20_000_000, "leaf-0:uplink-0", (200 * US, outage));
            case.transport.resume = resume;
            let whole = both(&Case { faults: Vec::new(), ..case.clone() });
            let [flow, packet] = both(&case);
            let [one, other] = [&flow, &packet].map(stalls);
            assert_eq!(one, [(200 * US, 200 * US + outage)]);
            assert_eq!(other.len(), 1, "{other:?}");
            assert!(other[0].0.abs_diff(200 * US) < 20 * US, "{other:?}");
            assert!((other[0].1 - other[0].0).abs_diff(outage) < 20 * US, "{other:?}");
            for (log, whole) in [&flow, &packet].into_iter().zip(&whole) {
                assert!((log.end - whole.end).ps().abs_diff(outage) < 20 * US, "{} {}", log.end, whole.end);
            }
        }
    }
}

/// Queue pairs of two ports of 1 Gbps with 300 MB and a window of so many bytes; the port of a NIC dies for good.
fn failover(port: &str, window: u64, resume: Resume) -> Case {
    let mut case = cut(&dual(1), (0, 2), 300_000_000, port, (200 * US, u64::MAX));
    case.transport.resume = resume;
    case.packets.keys.window = Some(Bytes(window));
    case.packets.message = 65_536;
    case
}

/// The two values of `resume` are the two things that packets do: go on with the routes where packets still follow those
/// that were lost, and wait for the timer where the window was used up.
#[test]
fn resume_says_whether_packets_follow_those_that_were_lost() {
    for (port, path_back) in [("host-0/nic-0:port-0", 110 * MS), ("host-2/nic-0:port-0", 610 * MS)] {
        for (window, resume) in [(256 << 20, Resume::Nak), (64 << 10, Resume::Timeout)] {
            let case = failover(port, window, resume);
            let [flow, packet] = both(&case).map(|log| stalls(&log));
            let until = match resume {
                Resume::Nak => path_back,
                Resume::Timeout | Resume::Window => case.transport.ack_timeout().ps(),
            };
            assert_eq!(flow, [(200 * US, 200 * US + until)], "{port} {resume}");
            assert_eq!(packet.len(), 1, "{port} {resume} {packet:?}");
            // A packet lasts 33 us at this rate.
            assert!(packet[0].0.abs_diff(200 * US) < ROUND, "{port} {resume} {packet:?}");
            let long = packet[0].1 - packet[0].0;
            assert!(long.abs_diff(until) <= until / 100, "{port} {resume} {packet:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// With `resume = "window"` both engines follow one law: who finds the path again while its window lasts, from the
    /// loss or from the last end of the timer on, goes on at once, everybody else at the next end of the timer.
    #[test]
    fn the_window_decides_alike_in_both_engines(
        outage in prop_oneof![20 * US..2 * MS, 2 * MS..3 * SECOND],
        from in 100 * US..2 * MS,
        timeout in 14u32..20,
        window in 64u64 << 10..8 << 20,
        (silent, far) in any::<(bool, bool)>(),
    ) {
        let bytes = 20_000_000;
        let place = if far { "host-1/nic-0:port-0" } else { "leaf-0:uplink-0" };
        let mut case = cut(&leaf_spine(2, 1, 1, (10, 10), 1_000), (0, 1), bytes, place, (from, outage));
        if silent {
            let cable = case.fabric.cable_named(place).unwrap();
            let (from, until) = (SimTime::from_ps(from), SimTime::from_ps(from + outage));
            case.faults = events(&[Outage { cable, from, until, silent: Some(Ways::Both) }]);
        }
        case.transport = Transport { timeout, resume: Resume::Window, ..Transport::default() };
        case.packets.keys.window = Some(Bytes(window));
        // What is shorter than detection, or than silence tells, moves nothing; after that a port has to join its bond,
        // and routes have to converge.
        let detected = !silent && outage >= case.reaction.detection.most().ps();
        let regrouped = outage > (case.reaction.detection.most() + case.reaction.ecmp_regroup.most()).ps();
        let later = match (detected, far) {
            (true, true) => (case.reaction.lacp + case.reaction.arp).ps(),
            (true, false) if regrouped => case.reaction.convergence.most().ps(),
            _ => 0,
        };
        let back = outage + later;
        let full = case.packets.keys.full();
        let rate = 10e9 / 8.0 * case.packets.keys.wire_share() / 1e12;
        let alone = bytes as f64 / rate;
        let sends = ((window / full * case.packets.keys.payload.0) as f64 / rate).min(alone - from as f64);
        let timer = case.transport.ack_timeout().ps();
        // Each end of the timer sends the window anew, and counts as the loss did.
        let since = back % timer;
        // A packet more or less decides nothing here.
        prop_assume!((since as f64 - sends).abs() > 20.0 * US as f64 + sends / 25.0);
        let wait = if (since as f64) < sends { back } else { back.div_ceil(timer) * timer };
        prop_assume!(wait <= 7 * timer);
        let healthy = both(&Case { faults: Vec::new(), ..case.clone() });
        for ((log, whole), name) in both(&case).iter().zip(&healthy).zip(["flow", "packet"]) {
            prop_assert_eq!(log.unfinished, 0, "{}", name);
            let (longer, near) = ((log.end - whole.end).ps(), (wait / 100).max(ROUND));
            prop_assert!(longer.abs_diff(wait) <= near, "{} {} not {}", name, longer, wait);
        }
    }

    /// Whatever `resume` says and packets do, the two engines are a timer apart at most, and what they transfer besides.
    #[test]
    fn engines_are_a_timer_apart_at_most(
        outage in 20 * US..3 * SECOND,
        from in 0..300 * US,
        timeout in 14u32..19,
        (nak, wide, far) in any::<(bool, bool, bool)>(),
    ) {
        let port = if far { "host-2/nic-0:port-0" } else { "host-0/nic-0:port-0" };
        let mut case = cut(&dual(10), (0, 2), 4_000_000, port, (from, outage));
        case.transport = Transport {
            timeout,
            resume: if nak { Resume::Nak } else { Resume::Timeout },
            ..Transport::default()
        };
        case.packets.keys.window = Some(Bytes(if wide { 16 << 20 } else { 256 << 10 }));
        let logs = both(&case);
        let halted = logs.each_ref().map(|log| log.unfinished);
        prop_assert_eq!(halted[0], halted[1]);
        if halted[0] == 0 {
            let alone = case.transport.ack_timeout() + SimTime::from_ps(10 * MS);
            let [flow, packet] = logs.each_ref().map(|log| log.end);
            prop_assert!(flow.max(packet).since(flow.min(packet)) <= alone, "{} {}", flow, packet);
        }
    }
}

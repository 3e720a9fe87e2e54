//! Queue pairs whose path is gone: what they send is lost, their timers count from the loss on, and only a
//! retransmission finds the path that came back. The flow engine follows the same law.
#![allow(clippy::unwrap_used, reason = "a test")]
use std::sync::Arc;

use railtwin_engine::fault::events;
use railtwin_engine::packet::{Aimd, CongestionControl, Dcqcn, Hpcc};
use railtwin_engine::{
    Balancer, Case, Engine, IncidentKind, LacpRate, Outage, Reaction, Resume, RunLog, Transport, Ways,
};
use railtwin_fabric::{CableClass, CableId, Fabric, LinkId};
use railtwin_flowsim::FlowEngine;
use railtwin_packetsim::PacketEngine;
use railtwin_testkit::cases::pairs;
use railtwin_testkit::closed_forms::US;
use railtwin_testkit::fabrics::leaf_spine;
use railtwin_testkit::{cases, fabrics};
use railtwin_units::{Bytes, SimTime};

use crate::kit;

const SECOND: u64 = 1_000_000 * US;
/// What packets may end later than the law: the 1 MB themselves, their headers and a few round trips.
const REST: u64 = 250 * US;

/// Two leaves with one uplink each and a host at each: 1 MB from the one to the other.
fn lone_path() -> Case {
    let mut case = pairs(leaf_spine(2, 1, 1, (100, 100), 1_000), &[(0, 1)], 1_000_000);
    case.reaction = Reaction::default();
    case
}

fn cable(fabric: &Arc<Fabric>, class: CableClass, which: usize) -> CableId {
    let links = fabrics::links_of(fabric, class);
    let mut cables: Vec<CableId> = links.into_iter().map(LinkId::cable).collect();
    cables.dedup();
    cables[which]
}

fn cut(case: &mut Case, cable: CableId, from: u64, until: Option<u64>) {
    strike(case, cable, (from, until), None);
}

fn strike(case: &mut Case, cable: CableId, (from, until): (u64, Option<u64>), silent: Option<Ways>) {
    let until = until.map_or(SimTime::NEVER, SimTime::from_ps);
    case.faults = events(&[Outage { cable, from: SimTime::from_ps(from), until, silent }]);
}

fn both(case: &Case) -> [RunLog; 2] {
    [FlowEngine::default().run(case, 0), PacketEngine::default().run(case, 0)]
}

fn halts(log: &RunLog) -> Vec<SimTime> {
    let halts = log.incidents.iter().filter(|one| one.kind == IncidentKind::Halted(0));
    halts.map(|one| one.at).collect()
}

/// Started, and neither ended nor given up.
fn transfers_unfinished(log: &RunLog) -> usize {
    kit::packets(log).flows.iter().filter(|flow| flow.end == SimTime::NEVER).count()
}

/// End, or death, of both engines against `path_back`, the moment from which packets get through.
fn assert_law(case: &Case, path_back: Option<u64>, words: &str) {
    let timeout = case.transport.ack_timeout().ps();
    let tries = path_back.map(|back| back.div_ceil(timeout)).filter(|&tries| tries <= 7);
    for (log, name) in both(case).iter().zip(["flow", "packet"]) {
        let (ended, words) = (log.end.ps(), format!("{name} {words}: {}", log.end));
        match tries {
            Some(tries) => {
                assert_eq!((log.unfinished, halts(log).len()), (0, 0), "{words}");
                let law = tries * timeout;
                assert!((law..law + REST).contains(&ended), "{words}, not {}", SimTime::from_ps(law));
            }
            None => {
                let death = 8 * timeout;
                assert_eq!((log.unfinished, halts(log).len()), (1, 1), "{words}");
                assert!((death..death + REST).contains(&halts(log)[0].ps()), "{words} {:?}", halts(log));
                assert_eq!(ended, 0);
                // Links are counted until the last queue pair gave up.
                assert!(log.counted() >= halts(log)[0]);
            }
        }
        // Who waits waits since the path is gone, not since a timer told it.
        let stalled = log.incidents.iter().find(|one| one.kind == IncidentKind::Stalled(0));
        assert!(stalled.is_some_and(|one| one.at.ps() < REST), "{words} {stalled:?}");
        if name == "packet" {
            assert_eq!(transfers_unfinished(log) as u64, log.unfinished, "{words}");
        }
    }
}

#[test]
fn only_a_retransmission_ends_the_wait_for_a_path_that_comes_back() {
    for timeout in [14, 16, 18, 19, 20] {
        for seconds in [4, 5, 10, 20] {
            for from in [0, US] {
                let mut case = lone_path();
                case.transport = Transport { timeout, ..Transport::default() };
                let uplink = cable(&case.fabric, CableClass::LeafSpine, 0);
                cut(&mut case, uplink, from, Some(from + seconds * SECOND));
                let back = seconds * SECOND + case.reaction.convergence.most().ps();
                assert_law(&case, Some(back), &format!("timeout {timeout}, {seconds} s from {from} ps"));
            }
        }
    }
}

#[test]
fn a_path_that_never_comes_back_kills_at_the_same_time_in_both_engines() {
    for class in [CableClass::LeafSpine, CableClass::Access] {
        for which in [0, 1] {
            for from in [0, US] {
                let mut case = lone_path();
                let dead = cable(&case.fabric, class, which);
                cut(&mut case, dead, from, None);
                assert_law(&case, None, &format!("{class:?} {which} from {from} ps"));
            }
        }
    }
}

#[test]
fn a_port_of_a_nic_is_found_again_when_it_is_back_in_its_bond() {
    for which in [0, 1] {
        for seconds in [4, 10] {
            let mut case = lone_path();
            let access = cable(&case.fabric, CableClass::Access, which);
            cut(&mut case, access, US, Some(US + seconds * SECOND));
            let Reaction { lacp, arp, .. } = case.reaction;
            assert_law(
                &case,
                Some(seconds * SECOND + (lacp + arp).ps()),
                &format!("nic {which}, {seconds} s"),
            );
        }
    }
}

#[test]
fn a_silent_cable_is_used_until_a_protocol_misses_its_messages() {
    for (lacp_rate, bfd) in [(LacpRate::Slow, None), (LacpRate::Fast, Some(SimTime::from_ps(SECOND)))] {
        let noticed = bfd.is_some();
        for (class, rejoin) in [(CableClass::LeafSpine, "routes"), (CableClass::Access, "bond")] {
            let mut case = lone_path();
            case.reaction = Reaction { lacp_rate, bfd, ..Reaction::default() };
            let dead = cable(&case.fabric, class, 0);
            strike(&mut case, dead, (US, Some(US + 10 * SECOND)), Some(Ways::Both));
            let Reaction { lacp, arp, convergence, .. } = case.reaction;
            let later = match (noticed, class) {
                (false, _) => SimTime::ZERO,
                (true, CableClass::Access) => lacp + arp,
                (true, _) => convergence.most(),
            };
            let words = format!("{class:?} by {rejoin}, {lacp_rate} {bfd:?}");
            assert_law(&case, Some(10 * SECOND + later.ps()), &words);
        }
    }
}

#[test]
fn both_engines_leave_a_silent_port_when_its_bond_has_missed_three_messages() {
    // Two ports on two leaves: what the silent one holds goes on by the other one, with the timer in both engines.
    let mut case =
        pairs(fabrics::hpn(fabrics::dual_port(100), 2, 2, 2).build().unwrap(), &[(0, 2)], 4_000_000);
    // A timer of 4.3 s: the first finds the other port, which the bond chose after 2 to 3 s.
    case.transport =
        Transport { timeout: 18, timeout_factor: 4, resume: Resume::Timeout, ..Transport::default() };
    case.reaction = Reaction { lacp_rate: LacpRate::Fast, ..Reaction::default() };
    let port = case.fabric.cable_named("host-0/nic-0:port-0").unwrap();
    strike(&mut case, port, (5 * US, None), Some(Ways::Both));
    let [flow, packet] = both(&case);
    for (log, name) in [(&flow, "flow"), (&packet, "packet")] {
        assert_eq!((log.unfinished, halts(log).len()), (0, 0), "{name}");
        let law = case.transport.ack_timeout().ps();
        assert!(
            (law..law + 10 * REST).contains(&log.end.ps()),
            "{name} {} not {}",
            log.end,
            SimTime::from_ps(law)
        );
    }
}

#[test]
fn a_direction_that_is_silent_alone_stops_a_queue_pair_whose_data_or_whose_answers_take_it() {
    for ways in [Ways::Forward, Ways::Backward] {
        for class in [CableClass::LeafSpine, CableClass::Access] {
            for noticed in [false, true] {
                let mut case = lone_path();
                // Not all of it fits into the window: what does arrives, though its answers are lost.
                case.packets.keys.window = Some(Bytes(64 << 10));
                if noticed {
                    case.reaction.lacp_rate = LacpRate::Fast;
                    case.reaction.bfd = Some(SimTime::from_ps(SECOND));
                }
                let dead = cable(&case.fabric, class, 0);
                strike(&mut case, dead, (US, Some(US + 10 * SECOND)), Some(ways));
                let Reaction { lacp, arp, convergence, .. } = case.reaction;
                let later = match (noticed, class) {
                    (false, _) => SimTime::ZERO,
                    (true, CableClass::Access) => lacp + arp,
                    (true, _) => convergence.most(),
                };
                let words = format!("{class:?} {ways:?}, noticed {noticed}");
                assert_law(&case, Some(10 * SECOND + later.ps()), &words);
                strike(&mut case, dead, (US, None), Some(ways));
                assert_law(&case, None, &words);
            }
        }
    }
}

#[test]
fn the_law_holds_for_every_transport() {
    let controls = [
        CongestionControl::None,
        CongestionControl::Dcqcn(Dcqcn::default()),
        CongestionControl::Hpcc(Hpcc::default()),
        CongestionControl::Aimd(Aimd::default()),
    ];
    for balancer in
        [Balancer::Ecmp, Balancer::Spray, Balancer::Adaptive, Balancer::Flowlet, Balancer::Disjoint]
    {
        for control in controls {
            for (from, until) in
                [(0, Some(10 * SECOND)), (20 * US, Some(10 * SECOND)), (20 * US, None), (0, None)]
            {
                let mut case = lone_path();
                (case.routing.balancer, case.packets.keys.congestion_control) = (balancer, control);
                let uplink = cable(&case.fabric, CableClass::LeafSpine, 0);
                cut(&mut case, uplink, from, until);
                let back = until.map(|until| until + case.reaction.convergence.most().ps());
                assert_law(&case, back, &format!("{balancer:?} {control:?} {from} {until:?}"));
            }
        }
    }
}

#[test]
fn what_was_lost_on_the_way_back_is_asked_for_again() {
    // The data are there when the path dies; their acknowledgements are not. The second operation waits for them.
    let mut case = cases::pattern(
        leaf_spine(2, 1, 1, (100, 100), 1_000),
        (railtwin_workload::Collective::SendReceive, railtwin_workload::Algorithm::Direct),
        vec![vec![0, 1]],
        4_096,
        2,
    );
    case.reaction = Reaction::default();
    let whole = PacketEngine::default().run(&case, 0);
    let first = whole.times.end[0].ps();
    let uplink = cable(&case.fabric, CableClass::LeafSpine, 0);
    cut(&mut case, uplink, first + 100, Some(5 * SECOND));
    let log = PacketEngine::default().run(&case, 0);
    assert_eq!((log.unfinished, log.times.end[0].ps()), (0, first));
    let tries =
        (5 * SECOND + case.reaction.convergence.most().ps()).div_ceil(case.transport.ack_timeout().ps());
    let law = tries * case.transport.ack_timeout().ps();
    assert!((law..law + REST).contains(&log.end.ps()), "{}", log.end);
    // Where nothing comes after it, the job has ended, and a queue pair that dies later halts nothing.
    let mut case = lone_path();
    let ended = PacketEngine::default().run(&case, 0).end.ps();
    let uplink = cable(&case.fabric, CableClass::LeafSpine, 0);
    cut(&mut case, uplink, ended + 100, None);
    let log = PacketEngine::default().run(&case, 0);
    assert_eq!((log.unfinished, log.end.ps(), halts(&log).len()), (0, ended, 0));
    assert_eq!(kit::packets(&log).counts.ack_timeouts, 7);
}

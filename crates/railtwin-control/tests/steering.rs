//! Steering by random events: ranks keep their order, limits hold, nothing is isolated twice or that is nobody's.
use std::collections::BTreeSet;

use proptest::prelude::*;
use railtwin_control::controller::Finding;
use railtwin_control::paths::JobId;
use railtwin_control::{Action, Controller, Decision, Event, Policy, SpareScope, Steering};
use railtwin_fabric::preset::Hpn;
use railtwin_fabric::{Fabric, HostId};
use railtwin_units::SimTime;

const JOB: JobId = JobId(0);

/// Two segments of 6 hosts and 2 spares each: hosts 0 to 7 and 8 to 15, spares 6, 7, 14, 15.
fn fabric() -> Fabric {
    let hpn =
        Hpn { segments: Some(2), hosts: Some(6), spare_hosts: Some(2), spines: Some(2), ..Hpn::default() };
    hpn.build().expect("valid")
}

fn policy() -> Policy {
    Policy {
        automatic: vec!["ecc-nvlink", "cuda"],
        confidence: 0.5,
        hosts_out: 4,
        hosts_per_hour: 4,
        spares: SpareScope::Segment,
    }
}

/// A job on four hosts of each segment, in an order of its own.
fn hosts() -> Vec<HostId> {
    [3, 0, 10, 1, 9, 2, 8, 11].map(HostId).to_vec()
}

fn steering(policy: Policy) -> Steering {
    Steering::new(policy, &fabric(), &[(JOB, hosts())])
}

fn finding(host: u32, halts: bool) -> Finding {
    Finding { host: HostId(host), job: JOB, confidence: 0.9, cause: "cuda", halts }
}

fn minutes(minutes: u64) -> SimTime {
    SimTime::from_ps(minutes * 60_000_000_000_000)
}

fn decided(steering: &mut Steering, at: SimTime, events: &[Event<'_>]) -> Vec<Action> {
    let mut decisions: Vec<Decision> = Vec::new();
    events.iter().for_each(|event| steering.on_event(at, event));
    steering.decide(at, &mut decisions);
    decisions.into_iter().map(|decision| decision.action).collect()
}

/// The hosts of the job after these actions, in the order of its ranks.
fn seated(mut seats: Vec<HostId>, actions: &[Action]) -> Vec<HostId> {
    for action in actions {
        if let Action::Swap { out, spare, .. } = *action {
            seats.iter_mut().filter(|seat| **seat == out).for_each(|seat| *seat = spare);
        }
    }
    seats
}

#[test]
fn a_spare_of_the_segment_takes_the_place_and_the_ranks() {
    let mut steering = steering(policy());
    let actions = decided(&mut steering, minutes(1), &[Event::Found(finding(10, true))]);
    let swap = |out, spare| Action::Swap { job: JOB, out: HostId(out), spare: HostId(spare) };
    assert_eq!(actions, [Action::Isolate(HostId(10)), swap(10, 14), Action::Restart(JOB)]);
    let mut expected = hosts();
    expected[2] = HostId(14);
    assert_eq!(seated(hosts(), &actions), expected);
    // The second goes to the other spare, the third waits for the first to come back.
    assert_eq!(decided(&mut steering, minutes(2), &[Event::Found(finding(9, true))]).len(), 3);
    let third = decided(&mut steering, minutes(3), &[Event::Found(finding(8, true))]);
    assert_eq!(third, [Action::Isolate(HostId(8))]);
    let back = decided(&mut steering, minutes(9), &[Event::Repaired(HostId(10))]);
    assert_eq!(back, [swap(8, 10), Action::Restart(JOB)]);
    assert!(decided(&mut steering, minutes(10), &[]).is_empty());
    // One that is mended before anybody took its place has it again.
    assert_eq!(
        decided(&mut steering, minutes(11), &[Event::Found(finding(10, true))]),
        [Action::Isolate(HostId(10))]
    );
    assert_eq!(decided(&mut steering, minutes(12), &[Event::Repaired(HostId(10))]), [Action::Restart(JOB)]);
}

#[test]
fn the_pod_lends_spares_where_it_may() {
    let mut steering = steering(Policy { spares: SpareScope::Pod, ..policy() });
    let all = [3, 0, 1].map(|host| Event::Found(finding(host, true)));
    let actions = decided(&mut steering, minutes(0), &all);
    let expected = [6, 7, 10, 14, 9, 2, 8, 11].map(HostId);
    assert_eq!(seated(hosts(), &actions), expected);
}

#[test]
fn what_is_not_automatic_waits_for_a_person() {
    let mut steering = steering(policy());
    let unsure = Finding { confidence: 0.3, ..finding(3, true) };
    let other = Finding { cause: "unknown", ..finding(0, true) };
    let both = [Event::Found(unsure), Event::Found(other), Event::Found(unsure)];
    assert!(decided(&mut steering, minutes(0), &both).is_empty());
    assert_eq!(steering.proposed(), [unsure, other]);
    let actions = decided(&mut steering, minutes(5), &[Event::Confirmed(other)]);
    assert_eq!(actions[0], Action::Isolate(HostId(0)));
    assert_eq!(steering.proposed(), [unsure]);
    // A surer finding about the same host needs nobody.
    let sure = decided(&mut steering, minutes(6), &[Event::Found(finding(3, true))]);
    assert_eq!((sure[0], steering.proposed().len()), (Action::Isolate(HostId(3)), 0));
}

#[test]
fn a_slow_host_stays_until_a_spare_is_there() {
    let mut steering = steering(policy());
    decided(&mut steering, minutes(0), &[3, 0].map(|host| Event::Found(finding(host, true))));
    assert!(decided(&mut steering, minutes(1), &[Event::Found(finding(1, false))]).is_empty());
    let back = decided(&mut steering, minutes(2), &[Event::Repaired(HostId(3))]);
    assert_eq!(back[0], Action::Isolate(HostId(1)));
    assert_eq!(back.len(), 3);
}

#[test]
fn limits_hold_and_the_controller_asks_again() {
    let mut steering = steering(Policy { hosts_per_hour: 1, ..policy() });
    let two = [3, 10].map(|host| Event::Found(finding(host, true)));
    assert_eq!(decided(&mut steering, minutes(0), &two)[0], Action::Isolate(HostId(3)));
    assert_eq!(steering.next_time(), minutes(60));
    assert_eq!(decided(&mut steering, minutes(60), &[])[0], Action::Isolate(HostId(10)));
    assert_eq!(steering.next_time(), SimTime::NEVER);
    let cleared = decided(&mut steering, minutes(61), &[Event::Cleared(JOB)]);
    assert_eq!(cleared, [Action::Restart(JOB)]);
    assert!(
        decided(&mut steering, minutes(62), &[Event::Closed(JOB), Event::Found(finding(9, true))]).is_empty()
    );
}

/// A random event: of which kind, about which host, how many minutes after the one before.
fn events() -> impl Strategy<Value = Vec<(u8, u32, u64)>> {
    prop::collection::vec((0..6_u8, 0..16_u32, 0..40_u64), 1..120)
}

proptest! {
    #[test]
    fn whatever_happens_order_is_kept_and_limits_hold(
        events in events(), most in 1..5_u32, hourly in 1..5_u32, pod in any::<bool>(),
    ) {
        let spares = if pod { SpareScope::Pod } else { SpareScope::Segment };
        let policy = Policy { hosts_out: most, hosts_per_hour: hourly, spares, ..policy() };
        let (mut one, mut two) = (steering(policy.clone()), steering(policy));
        let fabric = fabric();
        let (mut seats, mut out, mut isolated) = (hosts(), BTreeSet::new(), Vec::<SimTime>::new());
        let mut now = SimTime::ZERO;
        for (kind, host, later) in events {
            now += minutes(later);
            let unsure = Finding { confidence: 0.2, ..finding(host, true) };
            let event = match kind {
                0 | 1 => Event::Found(finding(host, kind == 0)),
                2 => Event::Found(unsure),
                3 => Event::Confirmed(unsure),
                4 => Event::Cleared(JOB),
                _ => Event::Repaired(HostId(host)),
            };
            if let Event::Repaired(host) = event {
                out.remove(&host);
            }
            let actions = decided(&mut one, now, &[event]);
            // The same events, the same actions.
            prop_assert_eq!(&actions, &decided(&mut two, now, &[event]));
            let mut swapped = false;
            for action in actions {
                match action {
                    Action::Isolate(host) => {
                        prop_assert!(seats.contains(&host) && out.insert(host), "{:?}", host);
                        prop_assert!(out.len() <= most as usize);
                        isolated.push(now);
                        let within = isolated.iter().filter(|at| at.saturating_add(minutes(60)) > now);
                        prop_assert!(within.count() <= hourly as usize);
                    }
                    Action::Swap { out: gone, spare, .. } => {
                        let seat = seats.iter().position(|&host| host == gone).unwrap();
                        prop_assert!(!out.contains(&spare) && !seats.contains(&spare));
                        let at = |host: HostId| (fabric.host(host).pod, fabric.host(host).segment);
                        prop_assert!(pod || at(spare) == at(gone));
                        seats[seat] = spare;
                        swapped = true;
                    }
                    Action::Restart(_) => {
                        // Nobody starts with an empty place.
                        prop_assert!(seats.iter().all(|host| !out.contains(host)));
                        swapped = false;
                    }
                    _ => prop_assert!(false, "{action:?}"),
                }
            }
            prop_assert!(!swapped || seats.iter().any(|host| out.contains(host)), "a swap without a restart");
            prop_assert!(one.next_time() > now);
        }
    }
}

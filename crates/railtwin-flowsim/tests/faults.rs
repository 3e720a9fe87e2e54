//! Faults against arithmetic: when flows go on, when they die, what moved meanwhile.
#![allow(clippy::unwrap_used, reason = "a test")]
use proptest::prelude::*;
use railtwin_control::PlacementPolicy;
use railtwin_engine::ControlSpec;
use railtwin_engine::choose::View;
use railtwin_engine::fault::events;
use railtwin_engine::lower::Lowering;
use railtwin_engine::{
    Balancer, Case, Engine, IncidentKind, Outage, Reaction, Replan, Resume, RunLog, SlotOrder, Split,
    Transport, Ways,
};
use railtwin_fabric::{CableId, DeviceKind, Fabric, LinkId};
use railtwin_flowsim::{FlowEngine, Shortcuts};
use railtwin_routing::LinkMask;
use railtwin_testkit::cases::{ACK_TIMEOUT, QUICK};
use railtwin_testkit::{cases, fabrics, ms, us, works};
use railtwin_units::{SimTime, TimeRange};

/// Which links of a cable are silent.
const WAYS: [Ways; 3] = [Ways::Forward, Ways::Backward, Ways::Both];

const US: u64 = 1_000_000;
/// 1 GB takes 20 ms at 50 GB/s.
const GB: u64 = 1_000_000_000;

/// Stages that can be told apart in every sum.
fn reaction() -> Reaction {
    Reaction {
        detection: ms(1).into(),
        lag_failover: ms(2).into(),
        ecmp_regroup: ms(4).into(),
        withdrawal: ms(8).into(),
        convergence: ms(16).into(),
        arp_proxy: true,
        mac_aging: ms(300_000),
        lacp: ms(2),
        arp: ms(1),
        ..Reaction::default()
    }
}

/// Jobs of two ranks, the first sending to the second, `repeat` operations each.
fn sends(fabric: Fabric, jobs: &[Vec<u32>], bytes: u64, repeat: u32) -> Case {
    let job = |hosts: &Vec<u32>| (works::send(bytes, repeat), PlacementPolicy::Hosts(hosts.clone()));
    let case = cases::jobs(fabric, jobs.iter().map(job).collect());
    Case { reaction: reaction(), transport: QUICK, ..case }
}

/// Hosts of one GPU with one port of 400 Gbps, under two leaves and two spines.
fn single() -> Fabric {
    fabrics::plain(2, 2, 2)
}

/// Hosts of one GPU with two ports of 200 Gbps on two leaves in two planes; two segments of two hosts.
fn dual() -> Fabric {
    fabrics::hpn(fabrics::dual_port(200), 2, 2, 2).build().unwrap()
}

fn strike(case: &mut Case, cable: CableId, spans: &[(SimTime, SimTime)]) {
    let outages: Vec<Outage> =
        spans.iter().map(|&(from, until)| Outage { cable, from, until, silent: None }).collect();
    case.faults = events(&outages);
}

/// The link of the first job's flow by its place on the path: 0 leaves the NIC, -1 enters the other.
fn crossed(case: &Case, place: isize) -> CableId {
    let flows = Lowering::new(case, 0).table(&LinkMask::none(&case.fabric), true).1;
    let links = &flows[0].links;
    links[place.rem_euclid(links.len() as isize) as usize].cable()
}

fn run(case: &Case) -> RunLog {
    FlowEngine::default().run(case, 0)
}

/// End of the last operation without the latency of its path.
fn end(case: &Case, log: &RunLog) -> SimTime {
    assert_eq!(log.unfinished, 0, "{:?}", log.incidents);
    let latency = Lowering::new(case, 0).table(&LinkMask::none(&case.fabric), false).0.latency[0];
    log.end - latency
}

fn kinds(log: &RunLog) -> Vec<(u64, &'static str)> {
    log.incidents.iter().map(|incident| (incident.at.ps() / US, incident.kind.name())).collect()
}

/// A cable on the path dies after 10 ms, for good: when 1 GB has arrived.
fn hit(fabric: Fabric, hosts: Vec<u32>, place: isize, change: impl Fn(&mut Case)) -> SimTime {
    let mut case = sends(fabric, &[hosts], GB, 1);
    change(&mut case);
    let cable = crossed(&case, place);
    strike(&mut case, cable, &[(ms(10), SimTime::NEVER)]);
    let log = run(&case);
    assert_eq!(kinds(&log)[..2], [(10_000, "down"), (10_000, "stalled")]);
    end(&case, &log)
}

#[test]
fn each_place_of_a_fault_has_its_own_stage() {
    let patient = |case: &mut Case| case.transport.timeout = 20;
    // The bond: 1 + 2 ms, then the other half by the one port left.
    assert_eq!(hit(dual(), vec![0, 2], 0, patient), ms(10 + 3 + 20));
    // The leaf's group: 1 + 4 ms, then the other half by the other uplink.
    assert_eq!(hit(single(), vec![0, 2], 1, patient), ms(10 + 5 + 10));
    // The spine's only way down: withdrawn and converged after 1 + 8 + 16 ms.
    assert_eq!(hit(single(), vec![0, 2], -2, patient), ms(10 + 25 + 10));
    // The access cable of the target: the same, then half the rate.
    assert_eq!(hit(dual(), vec![0, 2], -1, patient), ms(10 + 25 + 20));
    // Within a segment it is the same, thanks to the ARP proxy.
    assert_eq!(hit(dual(), vec![0, 1], -1, patient), ms(10 + 25 + 20));
}

#[test]
fn without_an_arp_proxy_a_segment_is_a_black_hole_until_its_macs_age() {
    let bridge = |case: &mut Case| (case.reaction.arp_proxy, case.transport.timeout) = (false, 24);
    for balancer in [Balancer::Ecmp, Balancer::Spray, Balancer::Adaptive] {
        let bridge = |case: &mut Case| {
            bridge(case);
            case.routing.balancer = balancer;
        };
        assert_eq!(hit(dual(), vec![0, 1], -1, bridge), ms(10 + 300_000 + 20), "{balancer:?}");
        // The other way round, where the cable of the target was laid before that of the source.
        assert_eq!(hit(dual(), vec![1, 0], -1, bridge), ms(10 + 300_000 + 20), "{balancer:?}");
    }
    // Slots in order hold while leaves bridge, too; in any order the other port carries on.
    let split = |order: SlotOrder| {
        move |case: &mut Case| {
            bridge(case);
            (case.routing.split, case.routing.slot_order) = (Split::Dynamic, order);
        }
    };
    assert_eq!(hit(dual(), vec![0, 1], -1, split(SlotOrder::InOrder)), ms(10 + 300_000 + 20));
    assert_eq!(hit(dual(), vec![0, 1], -1, split(SlotOrder::Any)), ms(10 + 20));
    // What comes from another segment was routed all along.
    assert_eq!(hit(dual(), vec![0, 2], -1, bridge), ms(10 + 25 + 20));
}

#[test]
fn a_new_path_may_wait_for_the_timer() {
    let late = |case: &mut Case| case.transport.resume = Resume::Timeout;
    // Routes are there after 25 ms, the sixth retransmission goes out after 25.165824 ms.
    let expected = us(10_000) + ACK_TIMEOUT * 6 + ms(10);
    assert_eq!(hit(single(), vec![0, 2], -2, late), expected);
}

#[test]
fn a_dynamic_split_carries_on_by_the_other_port() {
    let mut case = sends(dual(), &[vec![0, 2]], GB, 1);
    let cable = crossed(&case, 0);
    strike(&mut case, cable, &[(ms(10), SimTime::NEVER)]);
    let fixed = end(&case, &run(&case));
    // Slots in order wait for the message on the dead port, as all do under a static split; in any order they do not.
    case.routing.split = Split::Dynamic;
    assert_eq!(end(&case, &run(&case)), fixed);
    case.routing.slot_order = SlotOrder::Any;
    assert_eq!(end(&case, &run(&case)), ms(10 + 20));
    // A mended port carries again, and its queue pair with the next retransmission: both after 18.388608 ms.
    case.reaction = Reaction { detection: ms(1_000).into(), ..reaction() };
    strike(&mut case, cable, &[(ms(10), ms(15))]);
    let alone = ACK_TIMEOUT * 2;
    let left = SimTime::from_ps((ms(10).ps() * 2 - alone.ps()) / 2);
    assert_eq!(end(&case, &run(&case)), ms(10) + alone + left);
}

#[test]
fn a_mended_path_waits_for_a_retransmission() {
    let mut case = sends(single(), &[vec![0, 2]], GB, 1);
    let cable = crossed(&case, 0);
    // Mended after 2 ms, back in the bond after 3 more: the second retransmission finds it.
    strike(&mut case, cable, &[(ms(10), ms(12))]);
    let log = run(&case);
    assert_eq!(end(&case, &log), ms(10) + ACK_TIMEOUT * 2 + ms(10));
    assert_eq!(kinds(&log), [(10_000, "down"), (10_000, "stalled"), (12_000, "up"), (18_388, "resumed")]);
    // Shorter than detection: the port never left its bond, the first retransmission finds it.
    strike(&mut case, cable, &[(ms(10), ms(10) + us(900))]);
    assert_eq!(end(&case, &run(&case)), ms(10) + ACK_TIMEOUT + ms(10));
    // Flaps: each costs its own timeouts, the second begins while the port is away still.
    strike(&mut case, cable, &[(ms(10), ms(12)), (ms(14), ms(16))]);
    assert_eq!(end(&case, &run(&case)), ms(10) + ACK_TIMEOUT * 3 + ms(10));
}

#[test]
fn the_last_retransmission_is_the_last_chance() {
    let mut case = sends(single(), &[vec![0, 2]], GB, 1);
    let cable = crossed(&case, 0);
    let last = ms(10) + ACK_TIMEOUT * 7;
    let rejoin = ms(3);
    strike(&mut case, cable, &[(ms(10), last - rejoin)]);
    assert_eq!(end(&case, &run(&case)), last + ms(10));
    // A little later it is found by what follows of the window that was sent again last, …
    let late = SimTime::from_ps(1);
    strike(&mut case, cable, &[(ms(10), last - rejoin + late)]);
    assert_eq!(end(&case, &run(&case)), last + late + ms(10));
    // … and by nothing where nothing follows, or the window is used up: 4 MiB at 400 Gbps last 84 us.
    strike(&mut case, cable, &[(ms(10), last - rejoin + us(85))]);
    assert_eq!(run(&case).unfinished, 1);
    strike(&mut case, cable, &[(ms(10), last - rejoin + late)]);
    case.transport.resume = Resume::Timeout;
    let log = run(&case);
    assert_eq!(log.unfinished, 1);
    let halted = log.incidents.last().unwrap();
    assert_eq!((halted.at, halted.kind), (ms(10) + ACK_TIMEOUT * 8, IncidentKind::Halted(0)));
    // Half the bytes went over the links of its path, and none after.
    let carried = log.link_bytes[crossed(&case, 0).forward().index()];
    assert!((carried / 5e8 - 1.0).abs() < 1e-9, "{carried}");
}

#[test]
fn a_job_that_halts_leaves_the_others_alone() {
    // Both jobs share the path of two hosts of one leaf each; the NIC of host 0 dies.
    let mut case = sends(single(), &[vec![0, 2], vec![1, 3]], GB, 3);
    case.throughput = Some(us(500));
    let cable = crossed(&case, 0);
    strike(&mut case, cable, &[(ms(10), SimTime::NEVER)]);
    let log = run(&case);
    assert_eq!(log.unfinished, 3);
    assert!(log.times.end[3..].iter().all(|&end| end < SimTime::NEVER));
    let throughput = log.throughput.as_ref().unwrap();
    let sums: Vec<f64> = throughput.jobs.iter().map(|job| job.bytes.iter().sum()).collect();
    assert!((sums[1] / 3e9 - 1.0).abs() < 1e-9, "{sums:?}");
    assert!(
        throughput.jobs[0].bytes[20..].iter().all(|&bytes| bytes == 0.0),
        "nothing moves after the fault"
    );
    let steps: Vec<u32> = throughput.jobs.iter().map(|job| job.steps_ended.iter().sum()).collect();
    assert_eq!(steps, [0, 1]);
}

#[test]
fn what_is_down_from_the_start_is_avoided_from_the_start() {
    let mut case = sends(dual(), &[vec![0, 2]], GB, 1);
    let cable = crossed(&case, 0);
    strike(&mut case, cable, &[(SimTime::ZERO, SimTime::NEVER)]);
    let log = run(&case);
    assert_eq!((end(&case, &log), kinds(&log)), (ms(40), vec![(0, "down")]));
}

/// Two flows on an uplink each by traffic engineering, 40 s long; one uplink dies after 10 s, and hashing puts both on
/// one of the two that are left.
fn engineered(replan: Replan) -> (Case, CableId) {
    let mut case = sends(fabrics::plain(2, 2, 3), &[vec![0, 2], vec![1, 3]], 2_000 * GB, 1);
    (case.routing.balancer, case.routing.replan, case.reaction) = (Balancer::Te, replan, Reaction::INSTANT);
    case.routing.control.programming = Some(SimTime::ZERO);
    let none = LinkMask::none(&case.fabric);
    for seed in 0..64 {
        case.routing.ecmp.spec.seed = seed;
        let cable = crossed(&case, 1);
        let mut mask = none.clone();
        mask.set_cable(cable, true);
        let lowering = Lowering::new(&case, 0);
        let shares = |view: View<'_>| {
            let flows = lowering.table_of(view, true).1;
            flows[0].links[1] == flows[1].links[1]
        };
        assert!(
            !shares(View { mask: &none, planned: &none }) && !shares(View { mask: &mask, planned: &mask })
        );
        if shares(View { mask: &mask, planned: &none }) {
            strike(&mut case, cable, &[(ms(10_000), SimTime::NEVER)]);
            return (case, cable);
        }
    }
    panic!("hashing never puts two flows on one of two uplinks");
}

#[test]
fn between_a_fault_and_the_next_plan_flows_follow_the_hash() {
    let (half, period) = (ms(30_000), ms(30_000));
    for (replan, expected) in [
        // 500 GB before the fault, 25 GB/s until the plan, 50 GB/s from then on.
        (Replan::AtOnce, ms(40_000)),
        (Replan::After(SimTime::ZERO), ms(40_000)),
        (Replan::After(ms(5_000)), ms(42_500)),
        (Replan::Every(period), ms(50_000)),
        (Replan::Every(ms(7_000)), ms(42_000)),
        (Replan::Every(ms(5_000)), ms(42_500)),
        (Replan::Never, ms(10_000) + half + half),
    ] {
        let (case, _) = engineered(replan);
        let log = run(&case);
        assert!(end(&case, &log).ps().abs_diff(expected.ps()) < 1_000, "{replan:?} ends at {}", log.end);
        let plain = FlowEngine { shortcuts: Shortcuts::NONE }.run(&case, 0);
        assert!(plain.end.ps().abs_diff(log.end.ps()) < 1_000);
    }
}

#[test]
fn reports_and_writes_take_their_time() {
    let s = |seconds: u64| ms(seconds * 1_000);
    // Half rate from 10 s until the entries hold: a run every 30 s, or at once; entries 1 s later by default.
    for (replan, report, programming, expected) in [
        (Replan::Every(s(30)), 0, None, ms(50_500)),
        (Replan::Every(s(30)), 0, Some(s(4)), s(52)),
        // The report of 10 s arrives after the run of 30 s.
        (Replan::Every(s(30)), 21, Some(s(1)), ms(65_500)),
        (Replan::AtOnce, 0, Some(s(2)), s(41)),
        (Replan::AtOnce, 3, Some(s(2)), ms(42_500)),
        (Replan::After(s(5)), 3, Some(s(2)), s(45)),
    ] {
        let (mut case, _) = engineered(replan);
        case.routing.control = ControlSpec { report: s(report), programming, ..case.routing.control };
        let log = run(&case);
        assert!(
            end(&case, &log).ps().abs_diff(expected.ps()) < 1_000,
            "{replan:?} {report} ends at {}",
            log.end
        );
        let late = log.actions.iter().filter(|action| action.decided > SimTime::ZERO);
        for action in late {
            let delay = programming.unwrap_or(s(1));
            assert_eq!(action.effective, action.decided + delay, "{action:?}");
        }
    }
}

#[test]
fn lost_writes_are_written_again_in_the_next_period() {
    // Every write is lost: nothing but the hash after the fault. One in two: sooner or later it holds.
    let (mut case, _) = engineered(Replan::Every(ms(1_000)));
    case.routing.control.lost_writes = Some(1.0);
    let log = run(&case);
    assert!(end(&case, &log).ps().abs_diff(ms(70_000).ps()) < 1_000, "{}", log.end);
    let late = |log: &RunLog| log.actions.iter().filter(|one| one.decided > SimTime::ZERO).count();
    assert!(log.actions.iter().all(|one| one.decided == SimTime::ZERO || one.effective == SimTime::NEVER));
    assert!(late(&log) >= 59, "{}", late(&log));
    // Nothing is moved by a write that never arrives.
    let moved = |row: &railtwin_engine::ActionRow| row.moved == u32::from(row.effective != SimTime::NEVER);
    assert!(log.actions.iter().filter(|one| one.decided > SimTime::ZERO).all(moved), "{:?}", log.actions);
    case.routing.control.lost_writes = Some(0.5);
    let half = run(&case);
    assert!(half.actions.iter().filter(|one| one.decided > SimTime::ZERO).all(moved), "{:?}", half.actions);
    assert!(half.end < ms(50_000) && late(&half) < 10, "{} {}", half.end, late(&half));
}

#[test]
fn plans_are_made_when_something_changed_and_not_else() {
    // Mended before the plan: the old entries hold again, and there is nothing to plan.
    let (mut case, cable) = engineered(Replan::Every(ms(30_000)));
    strike(&mut case, cable, &[(ms(10_000), ms(20_000))]);
    let log = run(&case);
    assert!(end(&case, &log).ps().abs_diff(ms(45_000).ps()) < 1_000, "{}", log.end);
    // A picosecond's period asks for one plan for each change.
    case.routing.replan = Replan::Every(SimTime::from_ps(1));
    let often = run(&case);
    assert!(often.events <= log.events + 2, "{} {}", often.events, log.events);
    assert!(end(&case, &often).ps().abs_diff(ms(40_000).ps()) < 1_000, "{}", often.end);
    // Without a fault nobody plans again, and nobody waits for it.
    case.faults.clear();
    let quiet = run(&case);
    case.routing.replan = Replan::Never;
    assert_eq!(quiet, run(&case));
}

/// Bytes that links into NICs carried.
fn arrived(case: &Case, log: &RunLog) -> f64 {
    let fabric = &case.fabric;
    let into = |link: &LinkId| {
        fabric.kind(fabric.target(*link)) == DeviceKind::Nic
            && fabric.kind(fabric.source(*link)) == DeviceKind::Switch
    };
    let links = (0..fabric.link_count() as u32).map(LinkId).filter(into);
    links.map(|link| log.link_bytes[link.index()]).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Any cables fail, for good or not, under any reaction: bytes are conserved, nothing crosses what was dead
    /// all the time, buckets add up to what arrived, and the same case gives the same log.
    #[test]
    fn whatever_fails_bytes_are_conserved(
        faults in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![Just(0), 0u64..60_000], of_span()), 1..5),
        stages in prop::array::uniform8(0u64..30_000),
        flags in (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        timeout in 8u32..13,
        buckets in 50u64..5_000,
    ) {
        let (dynamic, proxy, nak, planes) = flags;
        let fabric = if planes { dual() } else { single() };
        let mut case = sends(fabric, &[vec![0, 2], vec![1, 3]], GB / 2, 3);
        case.routing.split = if dynamic { Split::Dynamic } else { Split::Static };
        case.transport =
            Transport { timeout, resume: if nak { Resume::Nak } else { Resume::Timeout }, ..Transport::default() };
        let [detection, lag_failover, ecmp_regroup, withdrawal, convergence, mac_aging, lacp, arp] = stages.map(us);
        case.reaction = Reaction {
            detection: TimeRange::between(detection, lag_failover), lag_failover: lag_failover.into(),
            ecmp_regroup: ecmp_regroup.into(), withdrawal: withdrawal.into(), convergence: convergence.into(),
            arp_proxy: proxy, mac_aging, lacp, arp, bgp_hold: convergence, ..Reaction::default()
        };
        case.throughput = Some(us(buckets));
        let cables = fabrics::network_cables(&case.fabric);
        let outages: Vec<Outage> = faults.iter().map(|(cable, from, span)| {
            let (cable, from) = (cables[cable.index(cables.len())], us(*from));
            let silent = (from.ps() % 3 == 0).then_some(WAYS[(from.ps() / 3 % 3) as usize]);
            Outage { cable, from, until: span.map_or(SimTime::NEVER, |span| from + us(span)), silent }
        }).collect();
        case.faults = events(&outages);
        let log = run(&case);
        prop_assert_eq!(&log, &run(&case));
        let halted = log.incidents.iter().filter(|i| matches!(i.kind, IncidentKind::Halted(_))).count();
        prop_assert_eq!(halted > 0, log.unfinished > 0, "{:?}", log.incidents);
        let moved: f64 = log.throughput.as_ref().unwrap().jobs.iter().flat_map(|job| &job.bytes).sum();
        let arrived = arrived(&case, &log);
        prop_assert!((moved - arrived).abs() <= 1e-6 * arrived + 10.0, "{moved} {arrived}");
        let whole: f64 = log.pattern_bytes.iter().sum();
        prop_assert!(halted > 0 || (arrived / whole - 1.0).abs() < 1e-6, "{arrived} {whole}");
        for outage in outages.iter().filter(|o| o.from == SimTime::ZERO && o.until == SimTime::NEVER) {
            prop_assert_eq!(log.link_bytes[outage.cable.forward().index()], 0.0);
            prop_assert_eq!(log.link_bytes[outage.cable.backward().index()], 0.0);
        }
        let plain = FlowEngine { shortcuts: Shortcuts::NONE }.run(&case, 0);
        for (a, b) in log.times.end.iter().zip(&plain.times.end) {
            prop_assert!(a.ps().abs_diff(b.ps()) <= 1_000 + a.ps() / 100_000_000, "{a} {b}");
        }
        let of = |log: &RunLog| -> Vec<Vec<f64>> {
            log.throughput.as_ref().unwrap().jobs.iter().map(|job| job.bytes.clone()).collect()
        };
        for (mut a, mut b) in of(&log).into_iter().zip(of(&plain)) {
            // What moves for a rounding error longer may begin one more bucket.
            let buckets = a.len().max(b.len());
            a.resize(buckets, 0.0);
            b.resize(buckets, 0.0);
            for (a, b) in a.iter().zip(b) {
                prop_assert!((a - b).abs() <= 1e-5 * a + 100.0, "{a} {b}");
            }
        }
    }
}

/// Half of all faults stay.
fn of_span() -> impl Strategy<Value = Option<u64>> {
    prop::option::of(1u64..40_000)
}

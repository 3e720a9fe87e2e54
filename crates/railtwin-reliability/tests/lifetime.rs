//! Lifetimes without an engine: each response takes the time that its setting says, and every moment is booked once.
use std::sync::Arc;

use proptest::prelude::*;
use railtwin_control::{Controller, Policy, SpareScope};
use railtwin_fabric::preset::Hpn;
use railtwin_fabric::{Fabric, HostId};
use railtwin_records::FaultKind;
use railtwin_reliability::downtime::Part;
use railtwin_reliability::failure_process::PartKind;
use railtwin_reliability::failure_rates::Cause;
use railtwin_reliability::lifetime::booking::{RunPeriod, book};
use railtwin_reliability::lifetime::hits::{Effect, Hit, JobFailure, Responses};
use railtwin_reliability::lifetime::{Finder, Lifetime, Recovery, driver};
use railtwin_units::SimTime;

const STEP: SimTime = minutes(1);

const fn minutes(minutes: u64) -> SimTime {
    SimTime::from_ps(minutes * 60_000_000_000_000)
}

/// A segment of 4 hosts and 2 spares: hosts 0 to 3, spares 4 and 5.
fn fabric() -> Arc<Fabric> {
    let hpn =
        Hpn { segments: Some(1), hosts: Some(4), spare_hosts: Some(2), spines: Some(2), ..Hpn::default() };
    Arc::new(hpn.build().expect("valid"))
}

fn recovery() -> Recovery {
    Recovery {
        has_detectors: true,
        has_own_controllers: false,
        checkpoint: minutes(30),
        checkpoint_cost: SimTime::ZERO,
        detection: Some(minutes(2)),
        recall: 1.0,
        false_alarms: None,
        watchdog: minutes(20),
        isolation: minutes(10),
        restart: minutes(7),
        by_hand: [Some(minutes(40)); 5],
        answer: minutes(30),
        tests: minutes(600),
    }
}

fn failure(at: u64, seat: usize, effect: Effect) -> JobFailure {
    JobFailure {
        at: minutes(at),
        seat: Some(seat),
        host: None,
        subject: format!("host-{seat}"),
        source: "test".to_owned(),
        kind: FaultKind::GpuError,
        gpu_cause: None,
        part: PartKind::Gpu,
        effect,
        repair: Some(minutes(300)),
    }
}

fn simulated(recovery: &Recovery, failures: Vec<JobFailure>, end: SimTime) -> Lifetime {
    let fabric = fabric();
    let hosts: Vec<HostId> = (0..4).map(HostId).collect();
    let policy = Policy {
        automatic: Cause::ALL.map(Cause::name).to_vec(),
        confidence: 0.5,
        hosts_out: 2,
        hosts_per_hour: 2,
        spares: SpareScope::Segment,
    };
    let mut responses = Responses::new(7);
    let hits: Vec<Hit> = failures.into_iter().map(|one| responses.hit(recovery, one)).collect();
    let steering: Box<dyn Controller> = Box::new(driver::steering(policy, &fabric, &hosts));
    driver::simulate(recovery, &fabric, (&hosts, vec![steering]), STEP, &hits, 7, end)
}

#[test]
fn each_response_takes_its_time() {
    let end = minutes(200);
    let lifetime = simulated(&recovery(), vec![failure(65, 2, Effect::Stops)], end);
    let [one] = &lifetime.standstills[..] else { panic!("{:?}", lifetime.standstills) };
    let times =
        [Some(one.checkpoint), Some(one.failed), one.detected, one.isolated, one.replaced, one.restarted];
    assert_eq!(times, [60, 65, 67, 77, 77, 84].map(|at| Some(minutes(at))));
    assert_eq!((one.finder, one.cause), (Finder::Detectors, Cause::Cuda));
    assert_eq!(lifetime.hosts.iter().filter(|host| host.0 >= 4).count(), 1, "{:?}", lifetime.hosts);
    let minutes_of = |part| (lifetime.shares[part] * 200.0 * 1e6).round() / 1e6;
    let parts = [
        Part::PostCheckpoint,
        Part::Detection,
        Part::Diagnosis(Cause::Cuda),
        Part::Reinitialisation,
        Part::Productive,
    ];
    assert_eq!(parts.map(minutes_of), [5.0, 2.0, 10.0, 7.0, 60.0 + 116.0]);
    assert_eq!(lifetime.steps, 60 + 116);
}

#[test]
fn without_detectors_the_watchdog_and_people_find_the_host() {
    let lifetime = simulated(
        &Recovery { has_detectors: false, ..recovery() },
        vec![failure(65, 2, Effect::Stops)],
        minutes(2000),
    );
    let [one] = &lifetime.standstills[..] else { panic!("{:?}", lifetime.standstills) };
    assert_eq!((one.finder, one.detected), (Finder::Watchdog, Some(minutes(85))));
    assert!(one.isolated > one.detected && one.restarted > one.isolated, "{one:?}");
}

proptest! {
    #[test]
    fn every_moment_is_booked_once(
        failures in prop::collection::vec((0_u64..3000, 0_usize..4, 0_u64..3), 0..12), recall in 0.0..=1.0_f64,
    ) {
        let mut failures = failures;
        failures.sort_unstable();
        let all = || failures.iter().map(|&(at, seat, slower)| {
            failure(at, seat, if slower == 0 { Effect::Stops } else { Effect::Slows(minutes(1 + slower)) })
        });
        let recovery = Recovery { recall, false_alarms: Some(2.0), ..recovery() };
        let lifetime = simulated(&recovery, all().collect(), minutes(4000));
        prop_assert!((lifetime.shares.total() - 1.0).abs() < 1e-9, "{:?}", lifetime.shares);
        for one in &lifetime.standstills {
            let times = [Some(one.failed), one.detected, one.isolated, one.replaced, one.restarted];
            let known: Vec<SimTime> = times.into_iter().flatten().collect();
            prop_assert!(known.is_sorted() && one.checkpoint <= one.failed, "{:?}", one);
        }
        let again = simulated(&recovery, all().collect(), minutes(4000));
        prop_assert_eq!(format!("{lifetime:?}"), format!("{again:?}"));
    }
}

#[test]
fn a_followed_job_is_booked_by_its_steps() {
    let mut lifetime = simulated(&recovery(), vec![failure(65, 2, Effect::Stops)], minutes(200));
    let period = |start, worked: f64, healthy: f64, steps| RunPeriod {
        start: minutes(start),
        hosts: (0..4).map(HostId).collect(),
        worked: worked / 60.0,
        healthy: healthy / 60.0,
        steps,
        checkpoint: (start == 0).then_some(minutes(50)),
        stopped: None,
    };
    let periods = [period(0, 50.0, 40.0, 40), period(84, 110.0, 110.0, 150)];
    book(&mut lifetime, &periods, &[], minutes(200));
    let minutes_of = |part| (lifetime.shares[part] * 200.0 * 1e6).round() / 1e6;
    assert_eq!(minutes_of(Part::PostCheckpoint), 15.0);
    assert_eq!(minutes_of(Part::SlowCommunication), 10.0);
    assert_eq!(minutes_of(Part::Productive), 40.0 + 116.0);
    assert!((lifetime.shares.total() - 1.0).abs() < 1e-9, "{:?}", lifetime.shares);
    assert_eq!((lifetime.steps, lifetime.standstills[0].checkpoint), (150, minutes(50)));
}

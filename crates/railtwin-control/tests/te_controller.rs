//! Traffic engineering in time: what leaves hold lags what happens, and the lag is bounded.

use proptest::prelude::*;
use railtwin_control::te::{
    Applied, Demand, Engine, EngineOptions, LinkReport, MemoryDriver, Subject, Timing, TrafficEngineering,
    TrafficMatrix,
};
use railtwin_fabric::{Fabric, HostId, LinkId};
use railtwin_routing::{NicPort, Prefixes};
use railtwin_testkit::fabrics;
use railtwin_units::{Rate, SimTime};

fn fabric() -> Fabric {
    fabrics::leaves(fabrics::host(8, 1, 200), 4, 1, 8).build().expect("valid")
}

/// Host 0 to host 1, NIC by NIC.
fn matrix(fabric: &Fabric) -> TrafficMatrix {
    let demand = |nic| Demand {
        source: NicPort { nic: fabric.nic(HostId(0), nic), port: 0 },
        target: fabric.nic(HostId(1), nic),
        rate: Rate::from_gbps(200),
    };
    (0..8).map(demand).collect()
}

fn at(seconds: f64) -> SimTime {
    SimTime::from_seconds(seconds)
}

fn parts(fabric: &Fabric) -> (TrafficEngineering<'_>, MemoryDriver) {
    let prefixes = Prefixes::by_leaf_set(fabric);
    let driver = MemoryDriver::new(prefixes.clone(), 100);
    let engine = Engine::new(prefixes, EngineOptions::default());
    (TrafficEngineering::new(fabric, engine, Timing::default()), driver)
}

#[test]
fn a_fault_is_answered_at_the_next_run_and_not_before() {
    let fabric = fabric();
    let matrix = matrix(&fabric);
    let (mut te, mut driver) = parts(&fabric);
    assert_eq!(te.next_tick(), SimTime::ZERO);
    let tick = te.tick(SimTime::ZERO, &matrix, &mut driver);
    assert!(tick.ran && tick.written.is_empty());
    assert!(te.entries().is_empty(), "nothing is written before the delay is over");
    assert_eq!(te.next_tick(), at(1.0));
    let tick = te.tick(at(1.0), &matrix, &mut driver);
    assert_eq!((tick.ran, tick.written[0].done.len()), (false, 8));
    assert_eq!(te.next_tick(), at(30.0));

    // At 7 s an uplink in use dies. Its entry stays until 31 s, and is for the leaf to ignore.
    let uplink = te.entries().iter().next().expect("eight entries").next;
    let report =
        |up, version| LinkReport { time: at(7.0), subject: Subject::Cable(uplink.cable()), up, version };
    assert_eq!(te.report(&report(false, 1)), Applied::Changed);
    assert_eq!(te.next_run_after(at(7.0)), at(30.0));
    let uses = |te: &TrafficEngineering<'_>, link: LinkId| {
        te.entries().iter().filter(|entry| entry.next == link).count()
    };
    for seconds in [7.0, 29.9, 30.0, 30.9] {
        te.tick(at(seconds), &matrix, &mut driver);
        assert_eq!(uses(&te, uplink), 1, "at {seconds} s");
    }
    let tick = te.tick(at(31.0), &matrix, &mut driver);
    assert_eq!((uses(&te, uplink), tick.written[0].done.len()), (0, 1), "one flow moves");
    assert_eq!(driver.table(), te.entries());

    // A job that ends takes its entries with it.
    te.tick(at(60.0), &TrafficMatrix::default(), &mut driver);
    te.tick(at(61.0), &TrafficMatrix::default(), &mut driver);
    assert!(te.entries().is_empty() && te.placement().is_some_and(|placement| placement.flows.is_empty()));
}

#[test]
fn a_silent_leaf_is_written_in_the_next_period() {
    let fabric = fabric();
    let matrix = matrix(&fabric);
    let (mut te, mut driver) = parts(&fabric);
    let leaf = fabric.target(fabric.access_link(fabric.nic(HostId(0), 0), 0).expect("cabled"));
    driver.set_silent(leaf, true);
    te.tick(at(0.0), &matrix, &mut driver);
    assert_eq!(te.tick(at(1.0), &matrix, &mut driver).written[0].failed.len(), 8);
    driver.set_silent(leaf, false);
    te.tick(at(30.0), &matrix, &mut driver);
    assert_eq!(te.tick(at(31.0), &matrix, &mut driver).written[0].done.len(), 8);

    // A restart of the leaf is mended in the same way.
    te.programmer().forget(&fabric, leaf);
    te.tick(at(60.0), &matrix, &mut driver);
    assert_eq!(te.tick(at(61.0), &matrix, &mut driver).written[0].done.len(), 8);
}

#[test]
fn missed_runs_are_made_up_for_by_one() {
    let fabric = fabric();
    let (mut te, mut driver) = parts(&fabric);
    let tick = te.tick(at(100.0), &matrix(&fabric), &mut driver);
    assert!(tick.ran);
    assert_eq!(tick.written.len(), 1, "the run of 90 s was due by 91 s");
    assert_eq!(te.next_tick(), at(120.0));
    let once = Timing { period: SimTime::ZERO, ..Timing::default() };
    assert_eq!(once.next_run_after(SimTime::ZERO), SimTime::NEVER);
}

proptest! {
    /// Calling only when told to is as good as calling all the time.
    #[test]
    fn ticks_between_due_times_change_nothing(calls in prop::collection::vec(0u64..120_000, 0..20)) {
        let fabric = fabric();
        let matrix = matrix(&fabric);
        let end = at(120.0);
        let run = |extra: &[u64]| {
            let (mut te, mut driver) = parts(&fabric);
            let mut extra: Vec<SimTime> = extra.iter().map(|&ms| SimTime::from_ns(ms * 1_000_000)).collect();
            extra.sort_unstable();
            let (mut extra, mut runs) = (extra.into_iter().peekable(), 0);
            while te.next_tick() < end {
                let due = te.next_tick();
                while let Some(call) = extra.next_if(|&call| call < due) {
                    prop_assert_eq!(te.tick(call, &matrix, &mut driver), Default::default());
                }
                runs += usize::from(te.tick(due, &matrix, &mut driver).ran);
            }
            prop_assert_eq!((runs, te.entries()), (4, driver.table()));
            Ok(driver.writes())
        };
        prop_assert_eq!(run(&calls)?, run(&[])?);
    }

    #[test]
    fn the_next_run_is_later_by_at_most_a_period(first in 0u64..100, period in 1u64..100, now in 0u64..1000) {
        let [first, period, now] = [first, period, now].map(SimTime::from_ps);
        let timing = Timing { first, period, delay: SimTime::ZERO };
        let next = timing.next_run_after(now);
        prop_assert!(next > now && next.since(first).ps().is_multiple_of(period.ps()));
        prop_assert!(next == first || next.since(now) <= period);
    }
}

//! Months of simulated time: what is short beside them still ends, and what outlasts simulated time is told.
#![allow(clippy::unwrap_used, reason = "a test")]
use railtwin_engine::bundles::Strand;
use railtwin_engine::{BundleTable, BundleWriter, RunLog, WorkGraph};
use railtwin_fabric::preset::LeafSpine;
use railtwin_fabric::{CableClass, Fabric, LinkId};
use railtwin_flowsim::{FlowEngine, Shortcuts};
use railtwin_testkit::{fabrics, works};
use railtwin_units::{Rate, SimTime};

/// Two leaves under a spine by links of 1 bps, hosts at 400 Gbps.
fn fabric() -> Fabric {
    let host = fabrics::plain_host(1, 400);
    let uplink_capacity = Rate::from_bits_per_s(1);
    LeafSpine { uplink_capacity, ..fabrics::leaves(host, 2, 2, 1) }.build().unwrap()
}

/// One pattern for each path, of one queue pair.
fn table(paths: &[LinkId]) -> BundleTable {
    let mut writer = BundleWriter::new(false);
    for &link in paths {
        let strand = Strand { edge: 0, amount: 1.0, of: 1, links: vec![link], parts: Vec::new() };
        writer.push(1.0, f64::INFINITY, &[strand]);
        writer.close_pattern(SimTime::from_ns(10));
    }
    writer.finish()
}

/// A transfer of so many bytes over the slow link, and two that share a fast one from a late moment on.
fn run(bytes: u64, start: SimTime, shortcuts: Shortcuts) -> RunLog {
    let fabric = fabric();
    let first = |class| fabrics::links_of(&fabric, class)[0];
    let (slow, fast) = (first(CableClass::LeafSpine), first(CableClass::Access));
    let mut work = WorkGraph::default();
    work.push("a".into(), SimTime::ZERO, works::send(bytes, 1), 1);
    work.push("b".into(), start, works::send(1_000_000, 20), 1);
    work.push("c".into(), start, works::send(1_234_567, 20), 1);
    FlowEngine { shortcuts }.run_table(&fabric, table(&[slow, fast, fast]), &work)
}

const MONTHS: u64 = 9_000_000;

#[test]
fn short_operations_end_months_after_a_long_one_began() {
    let start = SimTime::from_seconds(MONTHS as f64);
    let whole = Shortcuts { touched: false, ..Shortcuts::ALL };
    // Without other patterns in between a lone one runs its known course: the two that share a link do not.
    for shortcuts in [Shortcuts { remember: false, ..Shortcuts::ALL }, whole] {
        let log = run(2_000_000, start, shortcuts);
        assert_eq!((log.unfinished, log.time_up), (0, false));
        let took = log.times.end[1..].iter().max().unwrap().since(start).seconds();
        let expected = 20.0 * (1_000_000.0 + 1_234_567.0) / 50e9;
        assert!((took / expected - 1.0).abs() < 0.02, "{took} is not {expected}");
        assert!((log.end.seconds() / 16e6 - 1.0).abs() < 1e-9, "{}", log.end);
    }
}

#[test]
fn what_outlasts_simulated_time_is_told_and_the_rest_ends() {
    let log = run(2_310_000, SimTime::ZERO, Shortcuts::ALL);
    assert!(log.time_up);
    assert_eq!((log.unfinished, log.times.end[0]), (1, SimTime::NEVER));
    assert!(log.times.end[1..].iter().all(|end| *end < SimTime::from_seconds(1.0)));
    assert!(!run(2_000, SimTime::ZERO, Shortcuts::ALL).time_up);
}

//! Months of simulated time: what is short beside them still ends, and what outlasts simulated time is told.
#![allow(clippy::unwrap_used, reason = "a test")]
use railtwin_engine::bundles::Strand;
use railtwin_engine::{BundleTable, BundleWriter, RunLog, WorkGraph};
use railtwin_fabric::preset::LeafSpine;
use railtwin_fabric::{CableClass, Fabric, HostModel, LinkId};
use railtwin_flowsim::{FlowEngine, Shortcuts};
use railtwin_units::{Rate, SimTime};
use railtwin_workload::{Algorithm, Axis, Collective, Operation, Pattern, Plan, PlanBuilder, Work};

/// Two leaves under a spine by links of 1 bps, hosts at 400 Gbps.
fn fabric() -> Fabric {
    let host = HostModel::plain(Rate::from_gbps(400));
    let slow = Rate::from_bits_per_s(1);
    let spec = LeafSpine {
        leaves: 2,
        hosts_per_leaf: 2,
        uplinks: 1,
        uplink_capacity: slow,
        host,
        ..LeafSpine::default()
    };
    spec.build().unwrap()
}

fn link(fabric: &Fabric, class: CableClass) -> LinkId {
    (0..fabric.link_count() as u32)
        .map(LinkId)
        .find(|link| fabric.cable_class(link.cable()) == class)
        .unwrap()
}

/// Sends of so many bytes, one after the other.
fn sends(bytes: u64, repeat: u32) -> Plan {
    let mut builder = PlanBuilder::new(2, vec!["all".into()]);
    let (collective, algorithm) = (Collective::SendReceive, Algorithm::Direct);
    let communicators = vec![vec![0, 1]];
    let pattern = builder.pattern(Pattern { axis: Axis::Other, collective, algorithm, communicators });
    let name = builder.name("send");
    let mut last = Vec::new();
    for _ in 0..repeat {
        let work = Work::Communicate { pattern, bytes };
        last = vec![builder.push(Operation { lane: 0, name, axis: Axis::Other, work }, &last)];
    }
    builder.finish()
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
    let (slow, fast) = (link(&fabric, CableClass::LeafSpine), link(&fabric, CableClass::Access));
    let mut work = WorkGraph::default();
    work.push("a".into(), SimTime::ZERO, sends(bytes, 1), 1);
    work.push("b".into(), start, sends(1_000_000, 20), 1);
    work.push("c".into(), start, sends(1_234_567, 20), 1);
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

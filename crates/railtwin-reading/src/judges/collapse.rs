//! Tests over several hosts whose bandwidth collapses above a size (NVIDIA/nccl#1453).
//!
//! Tests between pairs are compared with each other elsewhere; a test over more hosts is compared with itself: bandwidth rises
//! with size until it is level, and never falls to a fraction.
use std::collections::BTreeSet;

use railtwin_formats::telemetry::{NcclTest, NcclTestResult};
use railtwin_records::seen::CauseSeen;
use railtwin_records::{Evidence, FaultKind, Finding, SourceLine, Syndrome};

use super::causes::finding;
use super::{Judgement, RowsView};

/// Share of the largest bandwidth to which all larger sizes must fall.
const SHARE: f64 = 0.5;
/// Least results that fell.
const FALLEN: usize = 2;
/// Least hosts; tests of two are compared between pairs.
const HOSTS: usize = 3;
/// Least bytes of a size from which on bandwidth counts: below, time is that of latency.
const BYTES: u64 = 1 << 20;

/// Findings of tests that collapse; they accuse nobody.
pub(super) fn judge(view: &RowsView<'_>) -> Judgement {
    let tests = view.merged.nccl_tests.iter();
    let told = tests.flat_map(|(file, tests)| tests.iter().filter_map(move |test| of_test(file, test)));
    told.collect::<Vec<_>>().into()
}

/// The better bandwidth of a result, in GB/s.
fn bandwidth(row: &NcclTestResult) -> f64 {
    let both = [&row.out_of_place, &row.in_place].into_iter().flatten();
    both.map(|measure| measure.bus_gb_per_s).fold(0.0, f64::max)
}

fn of_test(file: &str, test: &NcclTest) -> Option<Finding> {
    let hosts: BTreeSet<&str> = test.devices.iter().map(|device| device.host.as_str()).collect();
    let mut rows: Vec<&NcclTestResult> = test.results.iter().filter(|row| row.bytes >= BYTES).collect();
    rows.sort_by_key(|row| row.bytes);
    let best = rows.iter().copied().max_by(|a, b| bandwidth(a).total_cmp(&bandwidth(b)))?;
    let fallen: Vec<&NcclTestResult> = rows.iter().copied().filter(|row| row.bytes > best.bytes).collect();
    let most = bandwidth(best);
    let is_fallen = |row: &&NcclTestResult| bandwidth(row) < SHARE * most;
    if hosts.len() < HOSTS || fallen.len() < FALLEN || !fallen.iter().all(is_fallen) {
        return None;
    }
    let (first, last) = (*fallen.first()?, *fallen.last()?);
    let cause = CauseSeen::FallsWithSize {
        test: test.name.clone(),
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        most_at: best.bytes,
        from: first.bytes,
    };
    let mut one = finding(Syndrome::CommunicationSlow, Vec::new(), 0.0, cause.clone(), 0.0, &[]);
    let line = |row: &NcclTestResult| {
        let evidence = Evidence::new(cause.clone(), bandwidth(row), most);
        if row.line > 0 { evidence.at(SourceLine::new(file, row.line)) } else { evidence }
    };
    one.evidence = vec![line(first)];
    if last.bytes != first.bytes {
        one.evidence.push(line(last));
    }
    one.severity = 1.0 - bandwidth(first) / most;
    one.faults = vec![FaultKind::Lossy];
    one.advice = "large messages are lost, paused or sent another way: see drops and pauses (PFC, ECN) of NICs and switches, run the \
                  test over each pair of these hosts, and with NCCL_ALGO=Ring and NCCL_ALGO=Tree"
        .into();
    Some(one)
}

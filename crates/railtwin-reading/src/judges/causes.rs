//! Findings of causes that lines name: the parts that their judges share.
use std::collections::BTreeMap;

use railtwin_diagnosis::ends::UNKNOWN_HOST;
use railtwin_formats::telemetry::{LogEvent, LogSays, NcclEvent, NcclSetup};
use railtwin_records::seen::{CauseSeen, LogSeen};
use railtwin_records::{Component, Evidence, FaultKind, Finding, Since, SourceLine, Suspect, Syndrome};

use super::RowsView;
use crate::logs::Said;

/// Most lines that a finding quotes.
const QUOTED: usize = 6;
/// Confidence in a set.
pub(super) const SET: f64 = 0.45;

/// A finding that rests on a cause, with the lines that name it; `value` is its figure.
pub(super) fn finding(
    syndrome: Syndrome,
    suspects: Vec<Component>,
    confidence: f64,
    cause: CauseSeen,
    value: f64,
    said: &[Said<'_>],
) -> Finding {
    let at_ns = said.iter().filter_map(|(_, event)| event.time_ns).min().unwrap_or(0);
    let mut first = Evidence::new(cause, value, 0.0);
    if let Some((file, event)) = said.first() {
        first = first.at(SourceLine::new(*file, event.line));
    }
    let share = confidence / suspects.len().max(1) as f64;
    let confidence = if suspects.is_empty() { 0.0 } else { confidence };
    Finding {
        at_ns,
        since: Since::at(at_ns),
        syndrome,
        faults: faults(syndrome),
        suspects: suspects.into_iter().map(|component| Suspect { component, share }).collect(),
        confidence,
        severity: 1.0,
        cost: None,
        evidence: std::iter::once(first).chain(said.iter().take(QUOTED).map(quoted)).collect(),
        advice: String::new(),
    }
}

/// Faults that explain a syndrome.
fn faults(syndrome: Syndrome) -> Vec<FaultKind> {
    match syndrome {
        Syndrome::NonCommunicationHang => vec![FaultKind::Hang, FaultKind::Crash, FaultKind::GpuError],
        Syndrome::CommunicationHang => vec![FaultKind::Down, FaultKind::GpuError],
        Syndrome::Unreachable => vec![FaultKind::Down],
        _ => Vec::new(),
    }
}

/// A line of a log as evidence.
pub(super) fn quoted((file, event): &Said<'_>) -> Evidence {
    let seen = LogSeen::Quoted { text: event.text.clone() };
    Evidence::new(seen, 1.0, 0.0).at(SourceLine::new(*file, event.line))
}

/// Lines that say something of the setup of NCCL.
pub(super) fn setups<'v>(view: &'v RowsView<'_>) -> impl Iterator<Item = (Said<'v>, &'v NcclSetup)> {
    view.events.iter().filter_map(|&(file, event)| match &event.what {
        LogSays::Nccl(NcclEvent::Setup(setup)) => Some(((file, event), setup)),
        _ => None,
    })
}

/// Lines of the setup by the host that writes them; hosts that nothing names are left out.
pub(super) fn by_host<'v>(view: &'v RowsView<'_>) -> BTreeMap<String, Vec<(Said<'v>, &'v NcclSetup)>> {
    let mut hosts: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for (said, setup) in setups(view) {
        let host = view.who.host_of(said.1);
        if host != UNKNOWN_HOST {
            hosts.entry(host).or_default().push((said, setup));
        }
    }
    hosts
}

/// Whether all tests of a file came to their end: what its lines report did not end them.
pub(super) fn is_survived(view: &RowsView<'_>, file: &str) -> bool {
    let tests = view.merged.nccl_tests.iter().filter(|(name, _)| name == file).flat_map(|(_, tests)| tests);
    let mut tests = tests.peekable();
    tests.peek().is_some() && tests.all(|test| test.complete && test.failure.is_none())
}

/// The host of a line as a suspect; none where nothing names it.
pub(super) fn host_of(view: &RowsView<'_>, event: &LogEvent) -> Option<Component> {
    Some(view.who.host_of(event)).filter(|host| host != UNKNOWN_HOST).map(Component::Host)
}

/// A rank of the job as a suspect.
pub(super) fn rank(view: &RowsView<'_>, rank: u32) -> Component {
    Component::Rank(format!("{}/{rank}", view.job))
}

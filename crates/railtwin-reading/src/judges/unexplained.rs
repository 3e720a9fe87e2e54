//! Failures that lines report and no other judge explains, quoted: no answer is an all-clear over them.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::ends::UNKNOWN_HOST;
use railtwin_formats::telemetry::{Alarm, AlarmLevel, LogEvent, LogSays, NcclEvent, NcclTest};
use railtwin_records::seen::LogSeen;
use railtwin_records::{Component, Evidence, Finding, Since, SourceLine, Suspect, Syndrome};

use super::view::{Judgement, RowsView};
use crate::logs::Said;

/// Confidence in a process that reports a failure: it may report that of another.
const REPORTER: f64 = 0.3;
/// Most processes that are named.
const NAMED: usize = 4;
/// Most lines that are quoted.
const QUOTED: usize = 8;
/// Most kinds of warnings that a note lists.
const KINDS: usize = 4;

/// A finding that quotes all failures, and a note on warnings that no failure follows.
pub(super) fn judge(view: &RowsView<'_>) -> Judgement {
    let alarms: Vec<(usize, Said<'_>)> =
        view.events.iter().copied().enumerate().filter(|(_, (_, event))| level(event).is_some()).collect();
    let (mut failures, mut warnings): (Vec<Said<'_>>, Vec<Said<'_>>) = (Vec::new(), Vec::new());
    for (row, said) in alarms {
        let is_failure = match level(said.1) {
            Some(AlarmLevel::Fatal | AlarmLevel::Exception) => true,
            Some(AlarmLevel::Warning) => is_followed(&view.events[row + 1..], said),
            _ => continue,
        };
        let is_teardown = ends_well(&view.merged.nccl_tests, said);
        if is_failure && !is_teardown { failures.push(said) } else { warnings.push(said) }
    }
    let notes = note_of(&warnings).into_iter().collect();
    let findings = (!failures.is_empty()).then(|| finding(view, &failures)).into_iter().collect();
    Judgement { findings, notes, failed_tests: 0 }
}

/// How grave an event is that no other judge makes a finding of.
fn level(event: &LogEvent) -> Option<AlarmLevel> {
    match &event.what {
        LogSays::Alarm(alarm) => Some(alarm.level),
        LogSays::WatchdogStuck(_) => Some(AlarmLevel::Fatal),
        // Of which judges of setup and rails make a finding.
        LogSays::Nccl(NcclEvent::Verbs { call, error, gids, .. }) => {
            let is_told = call.contains("reg_mr") && error.contains("memory")
                || error.contains("timed out") && !gids[1].is_empty();
            if is_told { None } else { Some(AlarmLevel::Warning) }
        }
        _ => None,
    }
}

/// Whether a failure of the same process follows a warning in its file.
fn is_followed(later: &[Said<'_>], (file, warning): Said<'_>) -> bool {
    let is_failure = |event: &LogEvent| match &event.what {
        LogSays::Alarm(alarm) => alarm.level != AlarmLevel::Warning,
        LogSays::Cuda(_) | LogSays::Exception { .. } | LogSays::WatchdogStuck(_) => true,
        LogSays::Exit(code) => *code != 0,
        _ => false,
    };
    let may_be_same =
        |event: &LogEvent| event.host.is_none() || warning.host.is_none() || event.host == warning.host;
    later.iter().any(|(other, event)| *other == file && is_failure(event) && may_be_same(event))
}

/// Whether all tests of the file came to their end before the line: the rest is teardown.
fn ends_well(tests: &[(String, Vec<NcclTest>)], (file, event): Said<'_>) -> bool {
    let Some((_, tests)) = tests.iter().find(|(name, _)| name == file) else { return false };
    let last = tests.iter().flat_map(|test| &test.results).map(|row| row.line).max();
    tests.iter().all(|test| test.failure.is_none()) && last.is_some_and(|last| last > 0 && event.line > last)
}

fn finding(view: &RowsView<'_>, failures: &[Said<'_>]) -> Finding {
    let of = |(_, event): &Said<'_>| match (event.rank, view.who.host_of(event)) {
        (Some(rank), _) => Some(Component::Rank(format!("{}/{rank}", view.job))),
        (None, host) if host != UNKNOWN_HOST => Some(Component::Host(host)),
        _ => None,
    };
    let mut reporters: BTreeSet<Component> = failures.iter().filter_map(of).collect();
    if reporters.len() > NAMED || failures.iter().any(|said| of(said).is_none()) {
        reporters.clear();
    }
    let confidence = if reporters.is_empty() { 0.0 } else { REPORTER };
    let share = confidence / reporters.len().max(1) as f64;
    let at_ns = failures.iter().filter_map(|(_, event)| event.time_ns).min().unwrap_or(0);
    let quoted = |(file, event): &Said<'_>| {
        let seen = LogSeen::Unexplained { text: event.text.clone() };
        Evidence::new(seen, 1.0, 0.0).at(SourceLine::new(*file, event.line))
    };
    Finding {
        at_ns,
        since: Since::at(at_ns),
        syndrome: Syndrome::Crash,
        faults: Vec::new(),
        suspects: reporters.into_iter().map(|component| Suspect { component, share }).collect(),
        confidence,
        severity: 1.0,
        cost: None,
        evidence: failures.iter().take(QUOTED).map(quoted).collect(),
        advice: "no rule explains this failure: read the quoted lines with those before them, and give logs of the other ranks \
                 and hosts"
            .into(),
    }
}

/// A note on warnings and on errors of teardown, counted by kind.
fn note_of(warnings: &[Said<'_>]) -> Option<String> {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, event) in warnings {
        let kind = match &event.what {
            LogSays::Alarm(Alarm { kind, .. }) => kind.as_str(),
            _ => event.text.as_str(),
        };
        *kinds.entry(kind).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = kinds.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown: Vec<String> =
        counts.iter().take(KINDS).map(|(kind, count)| format!("{kind} ({count})")).collect();
    let more = if counts.len() > KINDS { ", …" } else { "" };
    let word = if warnings.len() == 1 { "warning" } else { "warnings" };
    (!warnings.is_empty()).then(|| {
        format!("{} {word} of logs without a failure after them: {}{more}", warnings.len(), shown.join(", "))
    })
}

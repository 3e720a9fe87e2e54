//! Timeouts beside a state of RAS in which no rank is behind (NVIDIA/nccl#1730).
use std::collections::BTreeSet;

use railtwin_formats::telemetry::WatchdogTimeout;
use railtwin_records::seen::CauseSeen;
use railtwin_records::{Evidence, FaultKind, Finding, SourceLine, Syndrome};

use super::RowsView;
use crate::{logs, ras};

/// Findings of a watchdog that name ranks only because no line tells of them: where RAS reports that all ranks have launched
/// their operations and none is behind, none of them is late, and what is wrong is within the operation.
pub(super) fn clear(view: &RowsView<'_>, findings: &mut Vec<Finding>) {
    let ranks = view
        .merged
        .ras
        .iter()
        .flat_map(|(_, snapshot)| &snapshot.communicators)
        .map(|one| u64::from(one.size));
    let timeouts = || view.merged.logs.iter().flat_map(|(_, log)| &log.timeouts);
    let waiting: BTreeSet<u32> = timeouts().filter_map(|one| one.rank).collect();
    let Some(size) = ranks.max().filter(|size| waiting.last().is_some_and(|last| u64::from(*last) < *size))
    else {
        return;
    };
    if !ras::is_quiet(&view.merged.ras, &view.later_ras) || findings.iter().any(Finding::accuses) {
        return;
    }
    findings.retain(|one| one.syndrome == Syndrome::Mismatch);
    let Some(mut one) = logs::of_timeouts(&view.merged.logs) else { return };
    let after_s = timeouts().filter_map(|one| one.ran_ms).max().map(|ms| ms / 1000);
    let count = waiting.len() as f64;
    let cause = CauseSeen::AllLaunched { ranks: size, waiting: waiting.into_iter().collect(), after_s };
    let mut first = Evidence::new(cause, count, 0.0);
    if let Some((file, line)) = first_line(view) {
        first = first.at(SourceLine::new(file, line.line));
    }
    let waited = |line: &Evidence| {
        !matches!(
            line.seen,
            railtwin_records::Seen::Log(railtwin_records::seen::LogSeen::NoTimeoutLine { .. })
        )
    };
    one.evidence.retain(waited);
    one.evidence.insert(0, first);
    one.faults = vec![FaultKind::Down, FaultKind::Lossy, FaultKind::GpuError];
    one.advice = "no rank is late: see counters and dmesg of NICs and switches (link down, retransmissions), Xid of GPUs, and dumps of \
                  the Flight Recorder of all ranks at the moment of the hang"
        .into();
    findings.push(one);
}

/// The first timeout, with its file.
fn first_line<'v>(view: &'v RowsView<'_>) -> Option<(&'v str, &'v WatchdogTimeout)> {
    view.merged.logs.iter().find_map(|(file, log)| Some((file.as_str(), log.timeouts.first()?)))
}

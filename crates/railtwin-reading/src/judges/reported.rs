//! Ranks that tools of others report: PyTorch's desync report and analyzer of dumps, NVIDIA's resiliency extension, Megatron's
//! straggler detector.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_formats::telemetry::{LogSays, RankReport};
use railtwin_records::seen::CauseSeen;
use railtwin_records::{FaultKind, Finding, Syndrome};

use super::causes::{self, finding};
use super::{Judgement, RowsView};
use crate::logs::Said;

/// Confidence in what a tool reports.
const REPORTED: f64 = 0.7;
const STRAGGLER: f64 = 0.6;
/// Most ranks that are named one by one.
const NAMED: usize = 8;
/// Least reports of Megatron in which one rank is slowest, the share of them, and how slow beside the fastest.
const REPORTS: usize = 3;
const MOSTLY: f64 = 0.75;
const SLOW: f64 = 0.85;

/// Findings of all tools.
pub(super) fn judge(view: &RowsView<'_>) -> Judgement {
    let mut findings = if view.dumps.is_some() { Vec::new() } else { not_joined(view) };
    findings.extend(stragglers(view));
    findings.extend(slowest(view));
    findings.into()
}

/// Lines of tools.
fn reports<'v>(view: &'v RowsView<'_>) -> impl Iterator<Item = (Said<'v>, &'v RankReport)> {
    view.events.iter().filter_map(|&(file, event)| match &event.what {
        LogSays::Report(report) => Some(((file, event), report)),
        _ => None,
    })
}

/// Ranks that did not join a collective; where all did, nobody.
fn not_joined(view: &RowsView<'_>) -> Vec<Finding> {
    let (mut absent, mut within) = (BTreeSet::new(), BTreeSet::new());
    let (mut of_absent, mut of_within) = (Vec::new(), Vec::new());
    let (mut number, mut of_number) = (None, None);
    for (said, report) in reports(view) {
        match report {
            RankReport::NotJoined { ranks, collective } => {
                absent.extend(ranks.iter().copied());
                of_absent.push(said);
                number = number.or(*collective);
            }
            RankReport::Within { ranks, collective } => {
                within.extend(ranks.iter().copied());
                of_within.push(said);
                of_number = of_number.or(*collective);
            }
            _ => {}
        }
    }
    if absent.is_empty() {
        return all_joined(&within, of_number, &of_within).into_iter().collect();
    }
    let ranks: Vec<u32> = absent.into_iter().collect();
    let waits = view.merged.logs.iter().flat_map(|(_, log)| &log.timeouts).filter_map(|one| one.rank);
    let world = waits.chain(within).chain(ranks.iter().copied()).max().map_or(0, |last| last as usize + 1);
    let is_few = ranks.len() <= NAMED && 2 * ranks.len() <= world;
    let confidence = if is_few { REPORTED } else { causes::SET };
    let of = |suspects: Vec<u32>| {
        let cause = CauseSeen::NotJoined { ranks: ranks.clone(), collective: number };
        let count = ranks.len() as f64;
        let suspects = suspects.into_iter().map(|rank| causes::rank(view, rank)).collect();
        let mut one = finding(Syndrome::NonCommunicationHang, suspects, confidence, cause, count, &of_absent);
        one.advice = "see the logs of these ranks and stacks of their processes (py-spy): they are gone, or do something else".into();
        one
    };
    if is_few {
        ranks.iter().map(|rank| of(vec![*rank])).collect()
    } else {
        vec![of(ranks.iter().copied().take(NAMED).collect())]
    }
}

/// A hang within a collective that all ranks have joined: nobody is late.
fn all_joined(within: &BTreeSet<u32>, collective: Option<u64>, said: &[Said<'_>]) -> Option<Finding> {
    let is_all = within.last().is_some_and(|last| *last as usize + 1 == within.len());
    if !is_all {
        return None;
    }
    let cause = CauseSeen::AllJoined { ranks: within.iter().copied().collect(), collective };
    let mut one = finding(Syndrome::CommunicationHang, Vec::new(), 0.0, cause, within.len() as f64, said);
    one.advice = "no rank is late: see counters and dmesg of NICs and switches, Xid of GPUs, and whether sizes of the call agree".into();
    Some(one)
}

/// Ranks that NVIDIA's resiliency extension takes for stragglers.
fn stragglers(view: &RowsView<'_>) -> Vec<Finding> {
    let mut ranks: BTreeMap<u32, (bool, Vec<Said<'_>>)> = BTreeMap::new();
    for (said, report) in reports(view) {
        if let RankReport::Stragglers { ranks: named, is_relative } = report {
            for rank in named {
                let known = ranks.entry(*rank).or_default();
                known.0 |= is_relative;
                known.1.push(said);
            }
        }
    }
    let is_few = ranks.len() <= NAMED;
    let one = |(rank, (is_relative, said)): (u32, (bool, Vec<Said<'_>>))| {
        let what = if is_relative { "slower than other ranks" } else { "slower than before" };
        let cause = CauseSeen::Straggler { tool: "NVRx".into(), what: what.into() };
        let confidence = if is_few { STRAGGLER } else { causes::SET };
        let suspects = vec![causes::rank(view, rank)];
        slow(finding(Syndrome::NonCommunicationSlow, suspects, confidence, cause, said.len() as f64, &said))
    };
    ranks.into_iter().take(64).map(one).collect()
}

/// A rank that is slowest in most of Megatron's reports, and far below the fastest.
fn slowest(view: &RowsView<'_>) -> Option<Finding> {
    let told: Vec<(Said<'_>, u32, f64)> = reports(view)
        .filter_map(|(said, report)| match report {
            RankReport::Throughput { least, most } if most.0 > 0 => {
                Some((said, least.1, least.0 as f64 / most.0 as f64))
            }
            _ => None,
        })
        .collect();
    let mut of: BTreeMap<u32, Vec<(Said<'_>, f64)>> = BTreeMap::new();
    for (said, rank, share) in &told {
        of.entry(*rank).or_default().push((*said, *share));
    }
    let (rank, mut lines) = of.into_iter().max_by_key(|(_, lines)| lines.len())?;
    lines.sort_by(|a, b| a.1.total_cmp(&b.1));
    let median = lines.get(lines.len() / 2)?.1;
    if lines.len() < REPORTS || (lines.len() as f64) < MOSTLY * told.len() as f64 || median > SLOW {
        return None;
    }
    let what = format!(
        "{:.0} % of the fastest rank's throughput in {} of {} reports",
        100.0 * median,
        lines.len(),
        told.len()
    );
    let cause = CauseSeen::Straggler { tool: "Megatron".into(), what };
    let said: Vec<Said<'_>> = lines.iter().map(|(said, _)| *said).collect();
    let suspects = vec![causes::rank(view, rank)];
    Some(slow(finding(Syndrome::NonCommunicationSlow, suspects, STRAGGLER, cause, lines.len() as f64, &said)))
}

/// Adds the faults and the advice of a slow rank.
fn slow(mut one: Finding) -> Finding {
    one.faults = vec![FaultKind::Slow];
    one.severity = 0.3;
    one.advice = "see clocks, temperature and Xid of its GPU, and what else runs on its host".into();
    one
}

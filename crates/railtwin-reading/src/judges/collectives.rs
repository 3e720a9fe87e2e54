//! Ranks that call unlike operations, and ranks that do not come, by PyTorch's own checks and by lines of old watchdogs.
//!
//! Sources of the messages: modelscope/ms-swift#9443, pytorch/pytorch#148976 (unlike calls), NVIDIA/nccl#849 (barrier),
//! pytorch/pytorch#77030 (watchdog of 1.13 to 2.1).
use std::collections::{BTreeMap, BTreeSet};

use railtwin_formats::telemetry::{CalledOperation, CollectiveCheck, LogSays, WatchdogTimeout};
use railtwin_records::seen::CauseSeen;
use railtwin_records::{Component, Evidence, Finding, SourceLine, Syndrome};

use super::causes::{self, finding};
use super::{Judgement, RowsView};
use crate::flight::NAMED as COLLECTIVES;
use crate::logs::Said;

/// Confidence in the one rank that calls something else than most.
const MOST: f64 = 0.8;
/// Confidence in two ranks of which one is wrong.
const BOTH: f64 = 0.6;
/// Confidence in ranks that did not come to a barrier.
const ABSENT: f64 = 0.7;
/// Fewest ranks of which one can be told from the others.
const LEAST: usize = 3;

/// Findings of checks and of old watchdogs.
pub(super) fn judge(view: &RowsView<'_>) -> Judgement {
    let mut findings: Vec<Finding> = unlike(view).into_iter().collect();
    findings.extend(absent(view));
    if findings.is_empty() {
        findings.extend(old_watchdog(view));
    }
    findings.into()
}

/// A number for people: `195,812,480`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let parts: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|part| std::str::from_utf8(part).ok()).collect();
    parts.join(",")
}

/// A call in words: `all-reduce 3104 with 195,812,480 elements`.
fn words(call: &CalledOperation) -> String {
    let number = call.sequence.map_or(String::new(), |number| format!(" {number}"));
    let size = match call.elements() {
        Some(1) => " with 1 element".to_owned(),
        Some(count) => format!(" with {} elements", grouped(count)),
        None if call.shape.is_empty() => String::new(),
        None => format!(" with shapes {}", call.shape),
    };
    let data_type = if call.data_type.is_empty() { String::new() } else { format!(" of {}", call.data_type) };
    format!("{}{number}{size}{data_type}", call.kind)
}

/// Ranks with their calls, in words; what all calls share is told once.
fn told(ranks: &BTreeMap<u32, &CalledOperation>) -> String {
    let all: Vec<String> = ranks.values().map(|call| words(call)).collect();
    let each = ranks.keys().zip(&all).take(4).map(|(rank, call)| format!("rank {rank} calls {call}"));
    let more = if all.len() > 4 { format!(", and {} more", all.len() - 4) } else { String::new() };
    format!("{}{more}", each.collect::<Vec<_>>().join(", "))
}

/// Ranks that call unlike operations under one number.
fn unlike(view: &RowsView<'_>) -> Option<Finding> {
    let mut said: Vec<Said<'_>> = Vec::new();
    let mut calls: BTreeMap<u32, &CalledOperation> = BTreeMap::new();
    for &(file, event) in &view.events {
        if let LogSays::Check(CollectiveCheck::Unlike(of)) = &event.what {
            said.push((file, event));
            for call in of {
                calls.entry(call.rank).or_insert(call);
            }
        }
    }
    let first = *calls.values().next()?;
    let (like, other): (Vec<u32>, Vec<u32>) =
        calls.keys().copied().partition(|rank| calls[rank].is_like(first));
    let odd = if like.len() < other.len() { &like } else { &other };
    // Two groups of unlike calls, or more than two kinds of them, name nobody alone.
    let is_one = odd.len() == 1 && calls.len() >= LEAST && {
        let rest: Vec<&CalledOperation> =
            calls.iter().filter(|(rank, _)| !odd.contains(rank)).map(|(_, call)| *call).collect();
        rest.windows(2).all(|two| two[0].is_like(two[1]))
    };
    let suspects: Vec<u32> = if is_one { odd.clone() } else { calls.keys().copied().take(8).collect() };
    let confidence = match (is_one, calls.len()) {
        (true, _) => MOST,
        (false, 2) if !odd.is_empty() => BOTH,
        _ => causes::SET,
    };
    let suspects = suspects.into_iter().map(|rank| causes::rank(view, rank)).collect();
    let cause = CauseSeen::CallsUnlike { calls: told(&calls) };
    let mut one = finding(Syndrome::Mismatch, suspects, confidence, cause, calls.len() as f64, &said);
    one.advice = "the ranks do not run the same program here: compare their data, shapes and branches before this call (uneven batches, \
                  a rank without some parameter)"
        .into();
    Some(one)
}

/// Ranks that did not come to a barrier.
fn absent(view: &RowsView<'_>) -> Vec<Finding> {
    let mut said: Vec<Said<'_>> = Vec::new();
    let mut absent: BTreeSet<u32> = BTreeSet::new();
    let mut after = 0;
    for &(file, event) in &view.events {
        if let LogSays::Check(CollectiveCheck::NotPassed { ranks, after_ms }) = &event.what {
            said.push((file, event));
            absent.extend(ranks);
            after = after.max(*after_ms);
        }
    }
    if absent.is_empty() {
        return Vec::new();
    }
    // Beside a barrier at which most are missing those that came may be the odd ones.
    let world = absent.last().map_or(0, |last| *last as usize + 1);
    let confidence = if 2 * absent.len() > world { causes::SET } else { ABSENT };
    let places = view.directory.ranks.iter().filter(|info| absent.contains(&info.rank));
    let hosts: BTreeSet<u32> = places.clone().map(|info| info.host).collect();
    let is_placed = places.count() == absent.len() && hosts.len() == 1;
    let host = hosts.first().filter(|_| is_placed).and_then(|host| view.directory.hosts.get(*host as usize));
    let ranks: Vec<u32> = absent.iter().copied().collect();
    let of = |suspect: Component| {
        let cause = CauseSeen::NotAtBarrier {
            ranks: ranks.clone(),
            after_s: after / 1000,
            host: host.map(|host| host.name.clone()),
        };
        let count = ranks.len() as f64;
        let mut one = finding(Syndrome::NonCommunicationHang, vec![suspect], confidence, cause, count, &said);
        one.advice = match (ranks.len(), ranks.last()) {
            (2.., Some(last)) if (last - ranks[0]) as usize + 1 == ranks.len() => {
                "these ranks stand in a row: see whether they are of one host, then its logs, and stacks of their processes (py-spy)"
            }
            _ => "see the logs of these ranks, and stacks of their processes (py-spy)",
        }
        .into();
        one
    };
    match host {
        Some(host) if ranks.len() > 1 => vec![of(Component::Host(host.name.clone()))],
        _ => ranks.iter().take(64).map(|rank| of(causes::rank(view, *rank))).collect(),
    }
}

/// The one rank that waits in another operation than all others under one number, where lines name no process group: PyTorch
/// up to 2.1 prints `[Rank 3] … WorkNCCL(SeqNum=7, OpType=REDUCE, …)` and no more.
fn old_watchdog(view: &RowsView<'_>) -> Option<Finding> {
    let timeouts: Vec<(&str, &WatchdogTimeout)> = (view.merged.logs.iter())
        .flat_map(|(file, log)| log.timeouts.iter().map(move |one| (file.as_str(), one)))
        .collect();
    let has_states = view.merged.logs.iter().any(|(_, log)| !log.states.is_empty());
    let first = timeouts.first()?.1;
    let is_one_call = timeouts.iter().all(|(_, one)| {
        one.sequence.is_some()
            && one.sequence == first.sequence
            && one.group.is_none()
            && one.rank == one.group_rank
            && COLLECTIVES.contains(&one.kind.as_str())
    });
    let ranks: BTreeSet<u32> = timeouts.iter().filter_map(|(_, one)| one.rank).collect();
    // Ranks of several groups repeat numbers, or leave gaps.
    let is_whole =
        ranks.len() == timeouts.len() && ranks.last().is_some_and(|last| *last as usize + 1 == ranks.len());
    if has_states || !is_one_call || !is_whole || ranks.len() < LEAST || view.dumps.is_some() {
        return None;
    }
    let mut kinds: BTreeMap<&str, Vec<(&str, &WatchdogTimeout)>> = BTreeMap::new();
    for one in &timeouts {
        kinds.entry(&one.1.kind).or_default().push(*one);
    }
    let mut by_count: Vec<(&str, Vec<(&str, &WatchdogTimeout)>)> = kinds.into_iter().collect();
    by_count.sort_by_key(|(_, of)| of.len());
    let [(own, odd), (others, most)] = &by_count[..] else { return None };
    let [(file, one)] = odd[..] else { return None };
    let rank = one.rank?;
    let number = first.sequence.unwrap_or(0);
    let calls = format!("rank {rank} calls {own} {number} where {} others call {others}", most.len());
    let cause = CauseSeen::CallsUnlike { calls };
    let suspects = vec![causes::rank(view, rank)];
    let mut found = finding(Syndrome::Mismatch, suspects, MOST, cause, 1.0, &[]);
    let line = |file: &str, one: &WatchdogTimeout| {
        let seen = railtwin_records::seen::LogSeen::Quoted { text: one.words() };
        Evidence::new(seen, 1.0, 0.0).at(SourceLine::new(file, one.line))
    };
    found.evidence.push(line(file, one));
    found.evidence.extend(most.first().map(|(file, one)| line(file, one)));
    found.advice = "the rank runs another branch of the program: see what it calls that the others do not (a save, a log, an uneven \
                    batch)"
        .into();
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(grouped(195_812_480), "195,812,480");
        assert_eq!((grouped(0), grouped(999), grouped(1000)), ("0".into(), "999".into(), "1,000".into()));
    }
}

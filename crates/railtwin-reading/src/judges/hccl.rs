//! Failures that HCCL reports (vllm-project/vllm-ascend#10591, #382, #486).
use std::collections::{BTreeMap, BTreeSet};

use railtwin_formats::telemetry::{HcclEvent, LogSays};
use railtwin_records::seen::CauseSeen;
use railtwin_records::{Component, Finding, Syndrome};

use super::causes::{self, finding};
use super::{Judgement, RowsView};
use crate::logs::{self, Said};

/// Confidence in a link that is not made, and in a rank that several cannot reach.
const LINK: f64 = 0.6;
const SHARED: f64 = 0.7;
/// Ranks that must report another one for it to be named.
const SEVERAL: usize = 2;

/// Findings of links and of silent peers.
pub(super) fn judge(view: &RowsView<'_>) -> Judgement {
    let mut findings = links(view);
    if findings.is_empty() {
        findings.extend(silent(view));
    }
    findings.into()
}

/// A line of a link that could not be made: both ends, and whether by RDMA.
type NoLink<'v> = (Said<'v>, &'v (u32, String), &'v (u32, String), bool);

/// Links that could not be made: a rank that several others cannot reach and that reports nobody, else each link.
fn links(view: &RowsView<'_>) -> Vec<Finding> {
    let told: Vec<NoLink<'_>> = (view.events.iter())
        .filter_map(|&(file, event)| match &event.what {
            LogSays::Hccl(HcclEvent::NoLink { local, remote, is_rdma }) => {
                Some(((file, event), local, remote, *is_rdma))
            }
            _ => None,
        })
        .collect();
    let reporters: BTreeSet<u32> = told.iter().map(|(_, local, ..)| local.0).collect();
    let mut by: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (_, local, remote, _) in &told {
        by.entry(remote.0).or_default().insert(local.0);
    }
    let name = |end: &(u32, String)| match end.1.as_str() {
        "" => format!("rank {}", end.0),
        address => format!("rank {} ({address})", end.0),
    };
    let mut done: BTreeSet<(u32, u32)> = BTreeSet::new();
    let mut findings = Vec::new();
    for (said, local, remote, is_rdma) in &told {
        let is_shared = by[&remote.0].len() >= SEVERAL && !reporters.contains(&remote.0);
        let key =
            if is_shared { (remote.0, remote.0) } else { (local.0.min(remote.0), local.0.max(remote.0)) };
        if !done.insert(key) {
            continue;
        }
        let (suspect, confidence) = if is_shared {
            (causes::rank(view, remote.0), SHARED)
        } else {
            (Component::Connection(format!("rank {} > rank {}", local.0, remote.0)), LINK)
        };
        let cause = CauseSeen::NoLink {
            library: "HCCL".into(),
            from: name(local),
            to: name(remote),
            is_rdma: *is_rdma,
        };
        let count = by[&remote.0].len() as f64;
        let mut one = finding(Syndrome::Unreachable, vec![suspect], confidence, cause, count, &[*said]);
        one.advice = "test the two ports against each other (hccn_tool -ping), see their link, address and TLS switch (hccn_tool), and \
                      whether the process at the other end came to its start"
            .into();
        findings.push(one);
    }
    findings
}

/// Peers that did not send in time, with the operations that ran out of their time.
fn silent(view: &RowsView<'_>) -> Option<Finding> {
    let mut waited: BTreeMap<Option<u32>, (&str, BTreeSet<u32>, Said<'_>)> = BTreeMap::new();
    for &(file, event) in &view.events {
        if let LogSays::Hccl(HcclEvent::PeerSilent { code, peers }) = &event.what {
            let known = waited.entry(event.rank).or_insert((code, BTreeSet::new(), (file, event)));
            known.1.extend(peers);
        }
    }
    let waits: BTreeSet<u32> = waited.keys().copied().flatten().collect();
    let all: BTreeSet<u32> = waited.values().flat_map(|(_, peers, _)| peers.iter().copied()).collect();
    let named: Vec<u32> = all.difference(&waits).copied().collect();
    let (&rank, (code, peers, said)) = waited.iter().next()?;
    let cause =
        CauseSeen::PeerSilent { rank, code: (*code).to_owned(), peers: peers.iter().copied().collect() };
    let suspects: Vec<Component> = named.iter().take(8).map(|rank| causes::rank(view, *rank)).collect();
    let count = waited.len() as f64;
    let (syndrome, confidence) = if suspects.is_empty() {
        (Syndrome::CommunicationHang, 0.0)
    } else {
        (Syndrome::NonCommunicationHang, causes::SET)
    };
    let mut one = finding(syndrome, suspects, confidence, cause, count, &[*said]);
    if let Some(timeouts) = logs::of_timeouts(&view.merged.logs) {
        one.evidence.extend(timeouts.evidence);
    }
    one.evidence.truncate(8);
    one.advice = "look at the ranks that do not say that they wait: one did not send, or was stopped before it; give logs of all ranks"
        .into();
    Some(one)
}

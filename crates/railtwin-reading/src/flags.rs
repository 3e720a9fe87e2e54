//! What xpu_timer flags: which ranks of a job hang.
use std::collections::BTreeMap;

use railtwin_formats::telemetry::{XpuTimerRank, XpuTimerSnapshot};
use railtwin_records::seen::XpuTimerSeen;
use railtwin_records::{Component, Evidence, FaultKind, Finding, Since, Suspect, Syndrome};

/// Most ranks that are named.
const NAMED: usize = 8;

/// A finding for each job of which ranks are flagged in its newest snapshot.
///
/// - all ranks: the flag says that kernels do not end and not why, so that nobody can be named;
/// - fewer than half: those;
/// - most: the few that are not within, for whom the others wait.
pub fn of_xpu_timer(files: &[(String, XpuTimerSnapshot)]) -> Vec<Finding> {
    let mut jobs: BTreeMap<&str, BTreeMap<u32, &XpuTimerRank>> = BTreeMap::new();
    for rank in files.iter().flat_map(|(_, snapshot)| &snapshot.ranks) {
        // A rank may stand in several files: a flag in any of them counts.
        let known = jobs.entry(&rank.job).or_default().entry(rank.rank).or_insert(rank);
        if rank.hung == Some(true) || known.hung.is_none() {
            *known = rank;
        }
    }
    jobs.into_iter().filter_map(|(job, ranks)| of_job(job, ranks.values().copied().collect())).collect()
}

fn of_job(job: &str, ranks: Vec<&XpuTimerRank>) -> Option<Finding> {
    // Of whom it is not told whether it hangs, nothing is said.
    let ranks: Vec<&XpuTimerRank> = ranks.into_iter().filter(|rank| rank.hung.is_some()).collect();
    let (hung, free): (Vec<&XpuTimerRank>, Vec<&XpuTimerRank>) =
        ranks.iter().partition(|rank| rank.hung == Some(true));
    if hung.is_empty() {
        return None;
    }
    let (who, syndrome, confidence, advice) = if free.is_empty() {
        let advice = "not enough evidence: when all ranks hang, the flag cannot tell a rank that stopped from a \
                      connection that did; give the Flight Recorder dumps or a RAS snapshot of all ranks";
        (Vec::new(), Syndrome::CommunicationHang, 0.0, advice)
    } else if hung.len() * 2 <= ranks.len() {
        let advice = "a Flight Recorder dump of these ranks tells the operation in which they stand";
        (hung.clone(), Syndrome::NonCommunicationHang, 0.6, advice)
    } else {
        let advice = "most ranks wait within a kernel and these do not: they are what the others wait for, or are about \
                      to be flagged too; a Flight Recorder dump of all ranks tells";
        (free, Syndrome::NonCommunicationHang, 0.5, advice)
    };
    let who = if who.len() > NAMED { Vec::new() } else { who };
    let confidence = if who.is_empty() { 0.0 } else { confidence };
    let share = confidence / who.len().max(1) as f64;
    let suspect =
        |rank: &&XpuTimerRank| Suspect { component: Component::Rank(format!("{job}/{}", rank.rank)), share };
    Some(Finding {
        at_ns: 0,
        since: Since::default(),
        syndrome,
        faults: vec![FaultKind::Hang, FaultKind::Crash, FaultKind::GpuError, FaultKind::Down],
        suspects: who.iter().map(suspect).collect(),
        confidence,
        severity: 1.0,
        cost: None,
        evidence: vec![Evidence::new(
            XpuTimerSeen::HangFlags { job: job.to_owned(), ranks: ranks.len() },
            hung.len() as f64,
            0.0,
        )],
        advice: advice.into(),
    })
}

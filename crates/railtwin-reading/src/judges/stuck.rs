//! Processes whose watchdog itself stands still: they are stuck in a call of CUDA or NCCL (hiyouga/LlamaFactory#6953,
//! snowflakedb/ArcticTraining#219).
use std::collections::{BTreeMap, BTreeSet};

use railtwin_formats::telemetry::LogSays;
use railtwin_records::Syndrome;
use railtwin_records::seen::CauseSeen;

use super::causes::{self, finding, host_of};
use super::{Judgement, RowsView};
use crate::logs::Said;

/// Confidence in the one rank that is stuck, with nobody who waits until the time is over.
const ALONE: f64 = 0.6;
/// Most ranks that are named.
const NAMED: usize = 8;

/// A finding of all processes that are stuck.
pub(super) fn judge(view: &RowsView<'_>) -> Judgement {
    let mut stuck: BTreeMap<Option<u32>, (Option<u64>, Vec<Said<'_>>)> = BTreeMap::new();
    for &(file, event) in &view.events {
        if let LogSays::WatchdogStuck(after) = event.what {
            let known = stuck.entry(event.rank).or_default();
            known.0 = known.0.max(after);
            known.1.push((file, event));
        }
    }
    // Who waits until the time is over may be stuck in its end: others tell then who it waits for.
    let waiting = view.merged.logs.iter().flat_map(|(_, log)| &log.timeouts).filter_map(|one| one.rank);
    let waiting: BTreeSet<u32> = waiting.collect();
    stuck.retain(|rank, _| rank.is_none_or(|rank| !waiting.contains(&rank)));
    let Some((&first, _)) = stuck.iter().next() else { return Judgement::default() };
    let ranks: Vec<u32> = stuck.keys().copied().flatten().collect();
    let is_alone = ranks.len() == 1 && stuck.len() == 1 && waiting.is_empty();
    let mut suspects: Vec<_> = ranks.iter().map(|rank| causes::rank(view, *rank)).collect();
    if suspects.is_empty() {
        suspects
            .extend(stuck.values().flat_map(|(_, said)| said).find_map(|(_, event)| host_of(view, event)));
    }
    if suspects.len() > NAMED {
        suspects.clear();
    }
    let after_s = stuck.values().filter_map(|(after, _)| *after).max();
    let said: Vec<Said<'_>> = stuck.values().flat_map(|(_, said)| said.iter().rev().copied()).collect();
    let cause = CauseSeen::StuckInCall { rank: first.filter(|_| is_alone), after_s };
    let confidence = if is_alone { ALONE } else { causes::SET };
    let count = ranks.len().max(1) as f64;
    let mut one = finding(Syndrome::NonCommunicationHang, suspects, confidence, cause, count, &said);
    one.advice = "take stacks of its process (py-spy dump, gdb) and see Xid of its GPU: a call of CUDA or NCCL does not return, or a \
                  thread holds the interpreter (GIL) within one"
        .into();
    vec![one].into()
}

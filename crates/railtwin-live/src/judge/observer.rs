//! The observer judges itself: where its own timer fires late it accuses nobody.
use railtwin_records::Evidence;
use railtwin_records::seen::LiveSeen;
use serde::{Deserialize, Serialize};

use super::state::State;
use crate::incident::{LiveKind, Sign};

/// The window in which gaps between heartbeats are looked at: ten of the common 200 ms.
const WINDOW_NS: u64 = 2_000_000_000;
/// The observer is starved where the median rank misses a whole heartbeat, so that its gap is twice the usual one: then
/// one that misses some is nothing special any more. A timer that is late by a part of its interval only shifts windows.
const GAPS: u64 = 2;
/// It is starved until so long after the last such gap: starvation comes in bursts, and windows must fill again.
const CALM_NS: u64 = 10_000_000_000;
/// Share of time in which something waited for a processor from which an observer that was late is starved, percent.
/// The share alone says nothing about the observer: data loaders that take all processors bring it to 95, with every
/// heartbeat in time.
const STALL: f64 = 50.0;
/// Time for which an observer's word of itself holds, ns.
const TOLD_NS: u64 = 10_000_000_000;

/// Whether the observer can be believed.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(super) struct Watch {
    starved_ns: Option<u64>,
}

impl Watch {
    pub(super) const fn is_starved(&self) -> bool {
        self.starved_ns.is_some()
    }

    /// Looks at the gaps between heartbeats up to a moment, and at what observers say of themselves.
    pub(super) fn look(&mut self, now_ns: u64, state: &State) -> Option<Sign> {
        let (gap_ns, ranks) = longest_gap(now_ns, state);
        let interval_ns = state.interval_ns().unwrap_or(u64::MAX / GAPS);
        let stalled = state.ranks.iter().find_map(|(rank, seen)| {
            let (told_ns, stall, late_us) = seen.stall?;
            let is_starved = stall >= STALL && late_us.saturating_mul(1_000) >= interval_ns;
            (is_starved && now_ns.saturating_sub(told_ns) <= TOLD_NS).then_some((*rank, stall))
        });
        let is_late = ranks > 0 && gap_ns >= GAPS * interval_ns;
        if is_late || stalled.is_some() {
            self.starved_ns = Some(now_ns);
        } else if self.starved_ns.is_some_and(|last| now_ns.saturating_sub(last) >= CALM_NS) {
            self.starved_ns = None;
        }
        self.starved_ns?;
        let mut evidence = vec![Evidence::new(
            LiveSeen::HeartbeatsLate { ranks },
            gap_ns as f64 / 1e9,
            interval_ns as f64 / 1e9,
        )];
        evidence.extend(
            stalled
                .map(|(rank, stall)| Evidence::new(LiveSeen::ObserverStalled { rank }, stall / 100.0, 0.0)),
        );
        Some(Sign {
            kind: LiveKind::ObserverStarved,
            suspects: Vec::new(),
            edge: None,
            evidence,
            is_sure: true,
        })
    }
}

/// The longest gap in the window of the median rank, the lower one of two, and how many ranks were looked at. Ranks whose
/// processes end, or whose records ended before the window, have none; one rank that is silent is not the median.
fn longest_gap(now_ns: u64, state: &State) -> (u64, usize) {
    let from_ns = now_ns.saturating_sub(WINDOW_NS);
    let gaps = state.living().map(|(_, rank)| {
        let (mut before_ns, mut longest_ns) = (None, 0);
        let times = rank.times.iter().copied().chain([now_ns]);
        for time_ns in times.filter(|time_ns| *time_ns >= from_ns) {
            let since_ns = before_ns.unwrap_or(from_ns.max(rank.first_ns));
            longest_ns = longest_ns.max(time_ns.saturating_sub(since_ns));
            before_ns = Some(time_ns);
        }
        longest_ns
    });
    let mut gaps: Vec<u64> = gaps.collect();
    gaps.sort_unstable();
    let middle = gaps.len().saturating_sub(1) / 2;
    (gaps.get(middle).copied().unwrap_or(0), gaps.len())
}

//! The judge: takes records one at a time, says at any moment which incidents there are.
mod hard;
mod link;
mod lossy;
mod observer;
mod operations;
mod pings;
mod slow_rank;
mod standstill;
mod state;

use crate::incident::{Book, LiveIncident, LiveKind};
use crate::record::Record;
use observer::Watch;
use serde::{Deserialize, Serialize};
use state::State;

/// Settings of the judge.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct JudgeSettings {
    /// A job that does not move for so long hangs, ns: that confirms what a direct sign opened.
    pub hang_ns: u64,
}

impl Default for JudgeSettings {
    /// The hang limit of the detectors of telemetry.
    fn default() -> Self {
        Self { hang_ns: railtwin_diagnosis::Settings::default().hang.ps() / 1_000 }
    }
}

/// Follows the records of a job and keeps its incidents.
///
/// Records come in the order of time, as far as clocks of hosts agree; [`LiveJudge::advance`] says that time has passed, and is
/// where everything is judged. Times of calls and records alone decide, so that the same records give the same incidents.
/// A judge that is stored and read back goes on as if it had not been; evidence of incidents alone is not stored, and comes
/// again with the next sign.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct LiveJudge {
    settings: JudgeSettings,
    state: State,
    watch: Watch,
    book: Book,
}

impl LiveJudge {
    /// A judge that has seen nothing.
    pub fn new(settings: JudgeSettings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Takes a record in.
    pub fn feed(&mut self, record: &Record) {
        let is_slow = self.book.open().any(|incident| incident.kind.is_of_job());
        self.state.take(record, !is_slow && !self.watch.is_starved());
    }

    /// Judges at a moment, ns on the clock of the records; not earlier than that of the call before.
    pub fn advance(&mut self, now_ns: u64) {
        let mut signs = Vec::new();
        signs.extend(self.watch.look(now_ns, &self.state));
        if self.watch.is_starved() {
            // Who cannot keep its own time says nothing of others, nor that a fault of theirs is gone.
            self.state.ranks.values_mut().for_each(|rank| rank.forget_windows());
            self.book.hold(now_ns);
        } else {
            signs.extend(self.seen(now_ns));
        }
        let still_ns = now_ns.saturating_sub(self.state.moved_ns);
        self.book.take(now_ns, signs, still_ns, self.settings.hang_ns);
    }

    /// All incidents in the order in which they were opened.
    pub fn incidents(&self) -> &[LiveIncident] {
        &self.book.incidents
    }

    fn seen(&self, now_ns: u64) -> Vec<crate::incident::Sign> {
        let state = &self.state;
        let still_ns = now_ns.saturating_sub(state.moved_ns);
        let mut signs: Vec<_> = hard::killed(state).into_iter().collect();
        let Some(interval_ns) = state.interval_ns() else { return signs };
        let (stopped, missing) = hard::silent_ranks(now_ns, interval_ns, state);
        signs.extend(stopped);
        signs.extend(missing);
        signs.extend(hard::silent_link(now_ns, interval_ns, state, &self.book));
        let is_stopped = self.book.is_stopped() || signs.iter().any(|sign| sign.kind.stops());
        if is_stopped {
            return signs;
        }
        if still_ns < hard::SILENT_BEATS * interval_ns {
            signs.extend(slow_rank::signs(state));
            let slow = link::sign(now_ns, state, &self.book);
            let lossy = lossy::sign(now_ns, interval_ns, state);
            // A full queue drops packets: the slow link is the cause.
            let follows = slow.is_some() || self.book.open().any(|open| open.kind == LiveKind::SlowLink);
            signs.extend(slow);
            signs.extend(lossy.filter(|_| !follows));
        }
        signs.extend(standstill::sign(now_ns, self.settings.hang_ns, state));
        signs
    }
}

//! Records through the judge: looks at fixed distances, of the past as of now.
use serde::{Deserialize, Serialize};

use crate::incident::LiveIncident;
use crate::judge::{JudgeSettings, LiveJudge};
use crate::record::Record;

/// Time between two looks of the judge, ns: half a heartbeat of the common 200 ms, so that a look adds little to the time
/// that a sign takes.
pub const LOOK_NS: u64 = 100_000_000;

/// Looks in a gap without any record: two minutes.
const GAP_LOOKS: u64 = 1_200;

/// The incidents of records that stand in the order of time. The last look is at the last record.
pub fn incidents(records: &[Record], settings: JudgeSettings) -> Vec<LiveIncident> {
    let mut judge = LiveJudge::new(settings);
    Pace::default().take(&mut judge, records);
    judge.incidents().to_vec()
}

/// How far a judge has looked.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
pub struct Pace {
    now_ns: Option<u64>,
}

impl Pace {
    /// The moment of the newest look, ns; none before the first.
    pub const fn now_ns(&self) -> Option<u64> {
        self.now_ns
    }

    /// Gives records in the order of time to a judge, which looks at least each [`LOOK_NS`] of their time, the last time at
    /// the last record. Records of before the newest look are taken as they come.
    pub fn take(&mut self, judge: &mut LiveJudge, records: &[Record]) {
        let mut rows = records.iter().peekable();
        let Some(first) = rows.peek() else { return };
        let mut now_ns = self.now_ns.unwrap_or(first.time_ns);
        while let Some(next) = rows.peek() {
            // A gap without any record is passed in looks, but not in more of them than decide anything.
            let behind = next.time_ns.saturating_sub(now_ns);
            if behind > LOOK_NS * GAP_LOOKS {
                now_ns = next.time_ns - LOOK_NS * GAP_LOOKS;
            }
            let look_ns = now_ns.saturating_add(LOOK_NS);
            while let Some(record) = rows.next_if(|record| record.time_ns <= look_ns) {
                judge.feed(record);
            }
            now_ns = match rows.peek() {
                Some(_) => look_ns,
                None => records.last().map_or(look_ns, |last| last.time_ns.max(now_ns)),
            };
            judge.advance(now_ns);
        }
        self.now_ns = Some(now_ns);
    }

    /// Lets a judge look at a moment up to which no more records came, ns; nothing happens for one before the newest look.
    pub fn look(&mut self, judge: &mut LiveJudge, moment_ns: u64) {
        if self.now_ns.is_some_and(|now_ns| now_ns < moment_ns) {
            judge.advance(moment_ns);
            self.now_ns = Some(moment_ns);
        }
    }
}

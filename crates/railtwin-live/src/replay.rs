//! Records of the past through the judge, as if they came in now.
use crate::incident::LiveIncident;
use crate::judge::{JudgeSettings, LiveJudge};
use crate::record::Record;

/// Time between two looks of the judge, ns: half a heartbeat of the common 200 ms, so that a look adds little to the time
/// that a sign takes.
pub const LOOK_NS: u64 = 100_000_000;

/// The incidents of records that stand in the order of time. The last look is at the last record.
pub fn incidents(records: &[Record], settings: JudgeSettings) -> Vec<LiveIncident> {
    let mut judge = LiveJudge::new(settings);
    let mut rows = records.iter().peekable();
    let Some(mut now_ns) = rows.peek().map(|first| first.time_ns) else { return Vec::new() };
    while let Some(next) = rows.peek() {
        // A gap without any record is passed in looks, but not in more of them than decide anything.
        let behind = next.time_ns.saturating_sub(now_ns);
        if behind > LOOK_NS * GAP_LOOKS {
            now_ns = next.time_ns - LOOK_NS * GAP_LOOKS;
        }
        now_ns = now_ns.saturating_add(LOOK_NS);
        while let Some(record) = rows.next_if(|record| record.time_ns <= now_ns) {
            judge.feed(record);
        }
        match rows.peek() {
            Some(_) => judge.advance(now_ns),
            None => judge.advance(records.last().map_or(now_ns, |last| last.time_ns)),
        }
    }
    judge.incidents().to_vec()
}

/// Looks in a gap without any record: two minutes.
const GAP_LOOKS: u64 = 1_200;

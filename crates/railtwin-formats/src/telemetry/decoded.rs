//! Content of a decoded file, apart from its notes and skipped records.

use super::inspector::InspectorDump;
use super::nccl_tests::NcclTestLog;
use super::probe_table::ProbeTable;
use super::steps::StepLog;
use super::{
    Content, FlightRecorderDump, KinetoTrace, LldpNeighbors, Note, PerftestLog, RasSnapshot, Skipped,
    Telemetry, XpuTimerSnapshot,
};

/// Content of a file, with notes and skipped records apart.
pub(super) struct Decoded {
    pub(super) content: Content,
    pub(super) notes: Vec<Note>,
    pub(super) skipped: Skipped,
}

impl From<Content> for Decoded {
    fn from(content: Content) -> Self {
        Self { content, notes: Vec::new(), skipped: Skipped::default() }
    }
}

/// Decoders whose result holds its own notes and skipped records.
macro_rules! whole {
    ($($type:ident => $make:expr),+ $(,)?) => {
        $(impl From<$type> for Decoded {
            fn from(mut found: $type) -> Self {
                let (notes, skipped) = (std::mem::take(&mut found.notes), std::mem::take(&mut found.skipped));
                let notes = notes.into_iter().map(Note::from).collect();
                Self { content: $make(found), notes, skipped }
            }
        })+
    };
}

whole! {
    InspectorDump => Content::Inspector,
    RasSnapshot => Content::Ras,
    FlightRecorderDump => Content::FlightRecorder,
    KinetoTrace => Content::Kineto,
    XpuTimerSnapshot => Content::XpuTimer,
    Telemetry => |telemetry| Content::Counters(Box::new(telemetry)),
    NcclTestLog => |log: NcclTestLog| Content::NcclTests(log.tests),
    PerftestLog => |log: PerftestLog| Content::Perftest(log.runs),
    ProbeTable => |table: ProbeTable| Content::Pairs(table.pairs),
    LldpNeighbors => |found: LldpNeighbors| Content::Neighbors(found.neighbors),
}

impl From<StepLog> for Decoded {
    fn from(log: StepLog) -> Self {
        Self { content: Content::Steps(log.series), notes: vec![log.taken.into()], skipped: log.skipped }
    }
}

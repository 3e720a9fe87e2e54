//! What an engine hands back: when operations ran and what links carried.
use railtwin_fabric::{CableId, LinkId};
use railtwin_units::SimTime;

use crate::graph::{JobGraph, WorkGraph};
use crate::mediator::{ActionRow, Survey};
use crate::packet_log::PacketLog;

/// Start and end of every operation, by operation id; [`SimTime::NEVER`] where it did not happen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OperationTimes {
    /// Starts.
    pub start: Vec<SimTime>,
    /// Ends.
    pub end: Vec<SimTime>,
}

/// What happened to a cable or to a job.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum IncidentKind {
    /// A cable went down, its carrier with it or not.
    Down(CableId),
    /// A cable was mended.
    Up(CableId),
    /// A queue pair of the job, by its number, lost packets while none of its others waited.
    Stalled(u32),
    /// All queue pairs of the job move again.
    Resumed(u32),
    /// A queue pair of the job died; the job stops.
    Halted(u32),
    /// A link stood still by pauses for longer than the watchdog allows.
    Paused(LinkId),
    /// A switch, by its row, filled more of its buffer than the alarm allows.
    Filled(u32),
}

impl IncidentKind {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Down(_) => "down",
            Self::Up(_) => "up",
            Self::Stalled(_) => "stalled",
            Self::Resumed(_) => "resumed",
            Self::Halted(_) => "halted",
            Self::Paused(_) => "paused",
            Self::Filled(_) => "filled",
        }
    }

    /// The cable that it happened to.
    #[inline]
    pub const fn cable(self) -> Option<CableId> {
        match self {
            Self::Down(cable) | Self::Up(cable) => Some(cable),
            Self::Paused(link) => Some(link.cable()),
            _ => None,
        }
    }

    /// The job that it happened to, by its row.
    #[inline]
    pub const fn job(self) -> Option<u32> {
        match self {
            Self::Stalled(job) | Self::Resumed(job) | Self::Halted(job) => Some(job),
            _ => None,
        }
    }
}

/// Something that befell the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Incident {
    /// When.
    pub at: SimTime,
    /// What.
    pub kind: IncidentKind,
}

/// How far an operation had moved when a fault or a change of paths acted, or while one of its queue pairs waited.
/// Between two such moments it moved evenly.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// The operation.
    pub operation: u32,
    /// When.
    pub at: SimTime,
    /// Share of its bytes that had moved by then, 0..1.
    pub share: f64,
}

/// A queue pair that waited because packets were lost, or because its path stood still.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Wait {
    /// Its job.
    pub job: u32,
    /// From when on.
    pub from: SimTime,
    /// From when on its path carried again; [`SimTime::NEVER`] where it did not before the end of the wait.
    pub carries: SimTime,
    /// When it went on, or died; [`SimTime::NEVER`] where it waited at the end of the run.
    pub until: SimTime,
    /// The dead cable on its path, the last one of several; none where nothing on its path was dead.
    pub cable: Option<CableId>,
    /// Nothing was lost: a link on its path stood still by pauses.
    pub paused: bool,
}

/// Work done by one job over time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct JobThroughput {
    /// Bytes that arrived at NICs in each bucket.
    pub bytes: Vec<f64>,
    /// Steps that ended in each bucket.
    pub steps_ended: Vec<u32>,
}

/// Work done over time, in buckets of equal width from time zero on.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Throughput {
    /// Width of a bucket: as asked for, doubled until no more than [`Throughput::BUCKETS_MAX`] are needed.
    pub bucket: SimTime,
    /// The jobs, with equally many buckets.
    pub jobs: Vec<JobThroughput>,
}

impl Throughput {
    /// Most buckets of a job: a million rows can still be drawn.
    pub const BUCKETS_MAX: usize = 1 << 20;
}

/// The record of one run of one replicate.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunLog {
    /// When operations ran.
    pub times: OperationTimes,
    /// End of the last operation that ended.
    pub end: SimTime,
    /// Operations that never ended because a bundle had no route or no capacity.
    pub unfinished: u64,
    /// Whether simulated time came to its end ([`SimTime::NEVER`]) while something still moved.
    pub time_up: bool,
    /// Up to when bytes, pauses and queues of links count: `end`, or where operations are left that never ended,
    /// when the last of them had stopped for good. Never before `end`; ask [`RunLog::counted`].
    pub counted_until: SimTime,
    /// Bytes carried by each link until [`RunLog::counted`], by link id.
    pub link_bytes: Vec<f64>,
    /// Bytes that each pattern's operations asked for, by pattern id; of those that never ended what was carried of them.
    pub pattern_bytes: Vec<f64>,
    /// Faults that acted and what they did to jobs, in order.
    pub incidents: Vec<Incident>,
    /// Queue pairs that waited; of flows.
    pub waits: Vec<Wait>,
    /// Progress of operations that faults or changes of paths met in flight, by operation and time; of flows.
    pub progress: Vec<Progress>,
    /// What controllers decided, in order.
    pub actions: Vec<ActionRow>,
    /// What controllers had probed, in the order in which it was sent, and what became of it.
    pub surveys: Vec<Survey>,
    /// Work done over time, where it was asked for.
    pub throughput: Option<Throughput>,
    /// What packets left behind, where the engine moves packets.
    pub packets: Option<Box<PacketLog>>,
    /// Times that the max-min problem was solved.
    pub solves: u64,
    /// Bundles in all those solves together.
    pub solved_bundles: u64,
    /// Rounds of the search for rates under a dynamic split, over all those solves.
    pub search_rounds: u64,
    /// Solves whose search did not come to rest within its bound: their rates are feasible, not exact.
    pub restless_searches: u64,
    /// Phases in which bundles ended together, because the searches took too much work: see the flow engine.
    pub joined_phases: u64,
    /// Events handled.
    pub events: u64,
}

impl RunLog {
    /// For how long links were counted: what their bytes and pauses are a share of.
    #[inline]
    pub fn counted(&self) -> SimTime {
        self.counted_until.max(self.end)
    }

    /// From when on nothing of a job is under way any more, whether it had ended or not: its processes were ended, one of its
    /// queue pairs died, or the run was over.
    pub fn over(&self, row: u32, job: &JobGraph) -> SimTime {
        let halted = self.incidents.iter().find(|incident| incident.kind == IncidentKind::Halted(row));
        let halted = halted.map_or(SimTime::NEVER, |incident| incident.at);
        self.end.min(job.until).min(halted)
    }

    /// When each job ended, by row: as controllers were told of it. [`SimTime::NEVER`] for one that did not end, and for
    /// what ended last of all, of which nobody hears any more.
    pub fn job_ends(&self, work: &WorkGraph) -> Vec<SimTime> {
        let ends = work.jobs.iter().map(|job| {
            let end = self.times.end[job.operations()].iter().max().copied();
            end.unwrap_or(SimTime::NEVER).min(job.until)
        });
        ends.map(|end| if end == self.end && self.unfinished == 0 { SimTime::NEVER } else { end }).collect()
    }
}

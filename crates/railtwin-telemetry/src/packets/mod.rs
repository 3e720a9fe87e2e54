//! Records of a run under the packet engine: what its hosts, queue pairs and ports told, by rank and flow.
//!
//! Nothing is replayed and nothing is drawn but by how much the clocks of hosts are off. Times, bytes and counters are the
//! engine's own; routing says who sends to whom over which queue pair and path.
//!
//! * [`operations`]: when ranks entered and left operations; [`messages`]: what queue pairs sent and waited for;
//!   [`counters`]: what NICs, ports and switches counted.
mod counters;
mod messages;
mod operations;

use railtwin_engine::lower::layout_of;
use railtwin_engine::{Case, EdgeRates, PacketRecords, RunLog};
use railtwin_records::directory::Directory;
use railtwin_records::telemetry::{Batch, NOT_YET};
use railtwin_units::SimTime;
use railtwin_workload::Work;

use crate::durations::no_job;
use crate::error::TelemetryError;
use crate::layout::{PatternPlace, Seats, place};
use crate::ranks::Ranks;
use crate::replay::Progress;
use crate::settings::Settings;
use crate::who::{self, Rows};

/// Longest stretch of time whose records come at once, in nanoseconds: as if they were gathered once a second.
const BATCH_NS: u64 = 1_000_000_000;

/// The telemetry of one job of a packet run, in order of time.
#[derive(Debug)]
pub struct PacketTelemetry {
    /// All records, each kind in order of time.
    all: Batch,
    /// When each row of operations, messages and counters was known, on the controller's clock.
    known_ns: [Vec<u64>; 3],
    /// How many rows of each were given.
    given: [usize; 3],
    /// Up to when batches go, and whether a step ends there.
    bounds: Vec<(u64, bool)>,
    next: usize,
    steps: u64,
    start_ns: u64,
    last_step_ns: u64,
    began_ns: u64,
    stuck: bool,
    clocks: Ranks,
}

/// What the parts read of a run.
struct Source<'a> {
    case: &'a Case,
    job: usize,
    log: &'a RunLog,
    records: &'a PacketRecords,
    /// States of the network: who takes which path from when on.
    paths: &'a [EdgeRates],
    /// Flow of every row of the job's patterns, by state and pattern.
    flows: Vec<Vec<Vec<u32>>>,
    places: Vec<PatternPlace>,
    told: Vec<bool>,
    seats: &'a Seats,
    rows: &'a Rows,
    clocks: &'a Ranks,
    /// Number of each communication in the communicators of its groups, by operation of the case less the job's first.
    sequences: Vec<Vec<u32>>,
}

/// Picoseconds as whole nanoseconds.
fn ns(time: SimTime) -> u64 {
    time.ps() / 1_000
}

/// A time of the controller on the clock of a rank's host.
fn clock(clocks: &Ranks, rank: u32, at_ns: u64) -> u64 {
    let (offset, rate) = (clocks.offset_ns.get(rank as usize), clocks.clock_rate.get(rank as usize));
    (offset.copied().unwrap_or_default() + at_ns as f64 * rate.copied().unwrap_or(1.0)) as u64
}

impl PacketTelemetry {
    /// The telemetry of job `job`. `paths` are the states of the network in order of time, of which the paths of queue
    /// pairs are read and no rate; `counters` says whether counters are told.
    ///
    /// # Errors
    /// When the case has no such job, the log has no records of packets, or states are not those of the case.
    pub fn new(
        case: &Case,
        (job, replicate): (usize, u32),
        log: &RunLog,
        paths: &[EdgeRates],
        settings: &Settings,
        counters: bool,
        directory: &mut Directory,
    ) -> Result<Self, TelemetryError> {
        let graph = case.work.jobs.get(job).ok_or_else(|| no_job(job, case.work.jobs.len()))?;
        let records = log.packets.as_ref().and_then(|packets| packets.records.as_ref()).ok_or_else(|| {
            TelemetryError::new("log", "none", "a run of the packet engine that was asked for records")
        })?;
        let healthy = paths.first().ok_or_else(|| {
            TelemetryError::new("paths", 0, "the paths of the network, and of each change after it")
        })?;
        for state in paths {
            if state.latency.len() != case.work.patterns || state.rows() != healthy.rows() {
                let accepted = format!("paths of the case: {} patterns", case.work.patterns);
                return Err(TelemetryError::new("paths", state.latency.len(), accepted));
            }
        }
        let seats = Seats::new(case, job);
        let rows = who::enter_job(case, job, &seats, directory);
        let plan = &graph.plan;
        let communicators = who::enter_communicators(&plan.patterns, &rows, directory);
        let shapes = who::enter_shapes(plan, directory);
        let first_pattern = graph.first_pattern as usize;
        let layout = layout_of(case, job);
        let patterns = plan.patterns.iter().enumerate().zip(communicators);
        let places: Vec<PatternPlace> = patterns
            .map(|((row, pattern), communicator)| {
                place(&seats, pattern, first_pattern + row, healthy, communicator, &layout)
            })
            .collect();
        let mut known = std::collections::BTreeMap::new();
        let flows = paths
            .iter()
            .map(|state| who::enter_flows(case, &places, state, &rows, &mut known, directory))
            .collect();
        let clocks = Ranks::new(&rows, settings);
        let sequences = sequences(case, job, &places, directory.communicators.len());
        let told = places.iter().map(|place| settings.axes.contains(&place.axis)).collect();
        let source = Source {
            case,
            job,
            log,
            records,
            paths,
            flows,
            places,
            told,
            seats: &seats,
            rows: &rows,
            clocks: &clocks,
            sequences,
        };
        let mut known_ns = [const { Vec::new() }; 3];
        let mut all = Batch::default();
        operations::write(&source, &shapes, &mut known_ns[0], &mut all.operations);
        if settings.messages {
            messages::write(&source, &mut known_ns[1], &mut all.messages);
        }
        if counters {
            counters::write(&source, replicate, directory, &mut known_ns[2], &mut all.counters);
        }
        let (bounds, stuck) = bounds(&source);
        let start_ns = ns(graph.start);
        Ok(Self {
            all,
            known_ns,
            given: [0; 3],
            bounds,
            next: 0,
            steps: 0,
            start_ns,
            last_step_ns: 0,
            began_ns: start_ns,
            stuck,
            clocks,
        })
    }

    /// Appends what became known up to the next moment, the end of a step or a second later, and sets the batch's
    /// `until_ns`. None once all was told; the job stands still then where [`Self::is_stuck`] says so.
    pub fn next(&mut self, batch: &mut Batch) -> Option<Progress> {
        let &(until_ns, ends) = self.bounds.get(self.next)?;
        self.next += 1;
        let last = self.next == self.bounds.len();
        let upto = |known: &[u64]| match last {
            true => known.len(),
            false => known.partition_point(|&at| at <= until_ns),
        };
        let [operations, messages, counters] = self.known_ns.each_ref().map(|known| upto(known));
        let rows = &self.all.operations;
        for row in self.given[0]..operations {
            let (communicator, rank, sequence) = (rows.communicator[row], rows.rank[row], rows.sequence[row]);
            let (shape, enter, end) = (rows.shape[row], rows.enter_ns[row], rows.end_ns[row]);
            batch.operations.push(communicator, rank, sequence, shape, enter, end);
        }
        messages::copy(&self.all.messages, self.given[1]..messages, &mut batch.messages);
        let rows = &self.all.counters;
        for row in self.given[2]..counters {
            batch.counters.push(rows.time_ns[row], rows.entity[row], rows.counter[row], rows.value[row]);
        }
        self.given = [operations, messages, counters];
        batch.until_ns = batch.until_ns.max(until_ns);
        if ends {
            self.steps += 1;
            self.last_step_ns = until_ns - self.began_ns.min(until_ns);
            self.began_ns = until_ns;
        }
        Some(if last && self.stuck { Progress::Stuck } else { Progress::Ended })
    }

    /// Steps that ended up to the last batch.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// How long the last of them took.
    pub fn last_step_ns(&self) -> u64 {
        self.last_step_ns
    }

    /// When the job starts.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// Whether all was told and operations of the job are left that never ended.
    pub fn is_stuck(&self) -> bool {
        self.stuck && self.next == self.bounds.len()
    }

    /// What the clock of a rank's host shows at `now_ns` of the controller's.
    pub fn host_clock(&self, rank: u32, now_ns: u64) -> u64 {
        clock(&self.clocks, rank, now_ns)
    }
}

/// Numbers of operations in their communicators, in the order of the plan.
fn sequences(case: &Case, job: usize, places: &[PatternPlace], communicators: usize) -> Vec<Vec<u32>> {
    let graph = &case.work.jobs[job];
    let mut next = vec![0_u32; communicators];
    let mut all = Vec::with_capacity(graph.plan.operations.len() * graph.steps as usize);
    for _ in 0..graph.steps {
        for operation in &graph.plan.operations {
            let Work::Communicate { pattern, .. } = operation.work else {
                all.push(Vec::new());
                continue;
            };
            let numbers = places[pattern.index()].communicator.iter().map(|&communicator| {
                let next = &mut next[communicator as usize];
                *next += 1;
                *next - 1
            });
            all.push(numbers.collect());
        }
    }
    all
}

/// Up to when batches go, and whether the job stands still after the last.
fn bounds(source: &Source<'_>) -> (Vec<(u64, bool)>, bool) {
    let graph = &source.case.work.jobs[source.job];
    let length = graph.plan.operations.len();
    let mut bounds: Vec<(u64, bool)> = Vec::new();
    let mut stuck = false;
    let mut at = ns(graph.start);
    let mut push = |until: u64, ends: bool, bounds: &mut Vec<(u64, bool)>| {
        while at + BATCH_NS < until {
            at += BATCH_NS;
            bounds.push((at, false));
        }
        at = at.max(until);
        bounds.push((at, ends));
    };
    for step in 0..graph.steps as usize {
        let first = graph.first_operation as usize + step * length;
        let ends = source.log.times.end.get(first..first + length).unwrap_or_default();
        match ends.iter().max() {
            Some(&end) if end != SimTime::NEVER => push(ns(end).max(1), true, &mut bounds),
            _ => {
                stuck = true;
                break;
            }
        }
    }
    // What ports count after the last operation, and up to when something moved where one never ended.
    let still = if stuck { source.log.counted().max(source.records.end) } else { source.records.end };
    push(ns(still) + 1, false, &mut bounds);
    (bounds, stuck)
}

/// Puts the rows of columns in order of time; rows of one time stay as they are.
fn order(known_ns: &mut Vec<u64>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..known_ns.len()).collect();
    order.sort_by_key(|&row| known_ns[row]);
    *known_ns = order.iter().map(|&row| known_ns[row]).collect();
    order
}

/// When a row is known that may be of an operation which never ended.
fn known(end: Option<u64>) -> u64 {
    end.unwrap_or(NOT_YET)
}

//! Step after step, rank by rank: when each enters and leaves each operation.
use std::collections::BTreeMap;
use std::sync::Arc;

use railtwin_engine::lower::layout_of;
use railtwin_engine::{Case, EdgeRates, RankFault};
use railtwin_fabric::{Fabric, LinkId};
use railtwin_records::directory::Directory;
use railtwin_records::telemetry::Batch;

use crate::durations::{Durations, no_job};
use crate::error::TelemetryError;
use crate::layout::{PatternPlace, Seats, place};
use crate::messages::{Found, Scratch};
use crate::network::Network;
use crate::ranks::{Ranks, Tables, Told};
use crate::schedule::{Entry, Schedule, Task};
use crate::settings::Settings;
use crate::who::{self, Rows};

/// How a step went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// All ranks are through.
    Ended,
    /// A rank waits for what will not come: the job stands still, and no further step begins.
    Stuck,
}

/// Replays one job. See [`crate`] for an example.
///
/// Nothing is allocated for a step once batches have grown to its rows, as long as the network stays as it is.
#[derive(Debug)]
pub struct Replay {
    pub(crate) fabric: Arc<Fabric>,
    /// Row of the job in the case.
    pub(crate) job: usize,
    pub(crate) rows: Rows,
    pub(crate) seats: Seats,
    schedule: Schedule,
    pub(crate) places: Vec<PatternPlace>,
    /// By pattern, whether it is told.
    told: Vec<bool>,
    pub(crate) network: Network,
    durations: Durations,
    /// Healthy latency by pattern, which durations hold, in nanoseconds.
    latency_ns: Vec<f64>,
    shapes: BTreeMap<(u32, u64), (u32, u32)>,
    pub(crate) settings: Settings,
    pub(crate) troubles: Vec<RankFault>,
    tables: Tables,
    ranks: Ranks,
    /// Ends by slot.
    ends: Vec<Vec<f64>>,
    group: Groups,
    /// When each group of each pattern is free, within the step.
    busy: Vec<Vec<f64>>,
    /// Operations so far of each communicator; by its row less the first of the job's.
    sequence: Vec<u32>,
    first_communicator: u32,
    scratch: Scratch,
    now_ns: u64,
    step: u64,
    last_step_ns: u64,
    stuck: bool,
    unended: u64,
}

/// Groups of the operation at hand.
#[derive(Debug, Default)]
struct Groups {
    latest: Vec<f64>,
    lasts: Vec<f64>,
    sequence: Vec<u32>,
}

impl Replay {
    /// A replay of job `job` of a case from its start on, and its rows in the directory.
    ///
    /// `states` are the states of the network in order of their time: the first healthy (its time does not matter),
    /// one more for each change after which rates differ. Flows of all of them are entered now.
    ///
    /// # Errors
    /// When the case has no such job, durations or states are not those of the case, or rank classes differ in size.
    pub fn new(
        case: &Case,
        job: usize,
        durations: Durations,
        states: Vec<EdgeRates>,
        settings: Settings,
        directory: &mut Directory,
    ) -> Result<Self, TelemetryError> {
        let graph = case.work.jobs.get(job).ok_or_else(|| no_job(job, case.work.jobs.len()))?;
        let plan = &graph.plan;
        if durations.operations() != plan.operations.len() {
            let accepted = format!("the {} operations of the job's step", plan.operations.len());
            return Err(TelemetryError::new("durations", durations.operations(), accepted));
        }
        let healthy = states.first().ok_or_else(|| {
            TelemetryError::new("states", 0, "the rates of the healthy network, and of each change after it")
        })?;
        for state in &states {
            if state.latency.len() != case.work.patterns || state.rows() != healthy.rows() {
                let accepted = format!("rates of the case: {} patterns", case.work.patterns);
                return Err(TelemetryError::new("states", state.latency.len(), accepted));
            }
        }
        if !states[1..].is_sorted_by_key(|state| state.at) {
            return Err(TelemetryError::new("states", states.len(), "states in order of time"));
        }
        let schedule = Schedule::new(graph)?;
        let seats = Seats::new(case, job);
        let rows = who::enter_job(case, job, &seats, directory);
        let first_communicator = directory.communicators.len() as u32;
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
        let latency = healthy.latency[first_pattern..first_pattern + places.len()].iter();
        let latency_ns = latency.map(|latency| latency.ps() as f64 / 1e3).collect();
        let mut known = BTreeMap::new();
        let states = states
            .into_iter()
            .enumerate()
            .map(|(row, rates)| {
                let flows = who::enter_flows(case, &places, &rates, &rows, &mut known, directory);
                (if row == 0 { 0 } else { rates.at.ps() / 1_000 }, rates, flows)
            })
            .collect();
        let factor = settings.jitter.collision_factor.max(1.0);
        let fabric = &*case.fabric;
        let is_shared = |link: u32| {
            let ends = [fabric.source(LinkId(link)), fabric.target(LinkId(link))];
            ends.into_iter().all(|device| fabric.place(device).is_some())
        };
        let network = Network::new(&places, states, first_pattern, factor, is_shared);
        let told = places.iter().map(|place| settings.axes.contains(&place.axis)).collect();
        let troubles = case.rank_faults.iter().filter(|fault| fault.job as usize == job).copied().collect();
        let ranks = Ranks::new(&rows, &settings);
        Ok(Self {
            fabric: Arc::clone(&case.fabric),
            job,
            ends: schedule.slots.iter().map(|&length| vec![0.0; length]).collect(),
            busy: places.iter().map(|place| vec![0.0; place.communicator.len()]).collect(),
            sequence: vec![0; directory.communicators.len() - first_communicator as usize],
            tables: Tables::new(&settings),
            now_ns: graph.start.ps() / 1_000,
            group: Groups::default(),
            scratch: Scratch::default(),
            step: 0,
            last_step_ns: 0,
            stuck: false,
            unended: 0,
            rows,
            seats,
            schedule,
            places,
            told,
            network,
            durations,
            latency_ns,
            shapes,
            settings,
            troubles,
            ranks,
            first_communicator,
        })
    }

    /// The time up to which the job was replayed, on the controller's clock.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Steps that ended.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// How long the last step took.
    pub fn last_step_ns(&self) -> u64 {
        self.last_step_ns
    }

    /// What the clock of a rank's host shows at `now_ns` of the controller's.
    pub fn host_clock(&self, rank: u32, now_ns: u64) -> u64 {
        let ranks = &self.ranks;
        (ranks.offset_ns[rank as usize] + now_ns as f64 * ranks.clock_rate[rank as usize]) as u64
    }

    /// Nanoseconds of the last step, or before the first of all its operations one after the other.
    pub(crate) fn quiet_step_ns(&self) -> f64 {
        let all = self.durations.of_step(0).iter().sum::<f64>() / self.schedule.lanes;
        if self.last_step_ns > 0 { self.last_step_ns as f64 } else { all }
    }

    /// Whether the job stands still.
    pub fn is_stuck(&self) -> bool {
        self.stuck
    }

    /// Operations that never end when the job goes through so many steps: some of the step in which it stands still, and
    /// all of the steps after that; none where it does not stand still.
    pub fn unended_of(&self, steps: u64) -> u64 {
        let later = steps.saturating_sub(self.step + 1) * self.durations.operations() as u64;
        if self.stuck { self.unended + later } else { 0 }
    }

    /// Other jobs' visits so far: what a detector should call a collision.
    pub fn collisions(&self) -> &[crate::Collision] {
        self.network.collisions()
    }

    /// Makes another job's flows cross a link for a while.
    pub fn add_collision(&mut self, collision: crate::Collision) {
        self.network.add_collision(collision);
    }

    /// Appends the records of one training step of all ranks to a batch and sets its `until_ns`; nothing once the job
    /// stands still.
    pub fn step(&mut self, batch: &mut Batch) -> Progress {
        if self.stuck {
            batch.until_ns = batch.until_ns.max(self.now_ns);
            return Progress::Stuck;
        }
        self.ranks.begin_step(
            self.now_ns,
            self.step,
            &self.rows,
            &self.tables,
            &self.settings,
            &self.troubles,
        );
        let span = self.last_step_ns;
        let draws = self.tables.draws;
        self.network.draw_collisions(&self.settings.jitter, draws, self.step, self.now_ns, span);
        self.busy.iter_mut().for_each(|busy| busy.fill(0.0));
        let (mut last, mut stuck) = (0.0_f64, false);
        for at in 0..self.schedule.entries.len() {
            let entry = self.schedule.entries[at].clone();
            self.enter(&entry);
            match entry.task {
                Task::Compute { expert } => self.compute(&entry, expert),
                Task::Communicate { pattern, bytes } => {
                    self.communicate(&entry, pattern as usize, bytes, batch);
                }
            }
            let mut never = false;
            for &end in &self.ends[entry.slot as usize][..entry.ranks.len()] {
                if end < f64::INFINITY {
                    last = last.max(end);
                } else {
                    never = true;
                }
            }
            stuck |= never;
            self.unended += u64::from(never && self.is_unended(&entry));
        }
        self.last_step_ns = last as u64;
        self.now_ns += self.last_step_ns;
        batch.until_ns = batch.until_ns.max(self.now_ns);
        if stuck {
            self.stuck = true;
            return Progress::Stuck;
        }
        self.step += 1;
        Progress::Ended
    }

    /// Whether an operation that some rank does not end is one that never ends: a rank that enters nothing more leaves the
    /// others of its lane to compute on.
    fn is_unended(&self, entry: &Entry) -> bool {
        let ends = &self.ends[entry.slot as usize][..entry.ranks.len()];
        let stopped = |rank: u32| self.ranks.stops.iter().any(|stop| stop.0 == rank && stop.3);
        let mut waits = entry.ranks.clone().zip(ends).filter(|(_, end)| **end == f64::INFINITY);
        match entry.task {
            Task::Communicate { .. } => true,
            Task::Compute { .. } => {
                ends.iter().all(|end| *end == f64::INFINITY) || waits.any(|(rank, _)| !stopped(rank))
            }
        }
    }

    /// When each rank enters an operation.
    fn enter(&mut self, entry: &Entry) {
        let (first, count) = (entry.ranks.start as usize, entry.ranks.len());
        let Ranks { entry: entries, begin, stops, .. } = &mut self.ranks;
        entries.clear();
        entries.extend_from_slice(&begin[first..first + count]);
        for wait in &self.schedule.waits[entry.waits.start as usize..entry.waits.end as usize] {
            let ends = &self.ends[wait.slot as usize][..wait.ranks.len()];
            if wait.barrier {
                let last = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                entries.iter_mut().for_each(|entry| *entry = entry.max(last));
                continue;
            }
            let from = wait.ranks.start.max(entry.ranks.start);
            let until = wait.ranks.end.min(entry.ranks.end);
            let own = &mut entries[(from - entry.ranks.start) as usize..(until - entry.ranks.start) as usize];
            let theirs = &ends[(from - wait.ranks.start) as usize..(until - wait.ranks.start) as usize];
            for (own, &end) in own.iter_mut().zip(theirs) {
                *own = if *own < end { end } else { *own };
            }
        }
        for (rank, from, until, stopped) in stops.iter_mut().filter(|stop| entry.ranks.contains(&stop.0)) {
            let own = &mut entries[(*rank - entry.ranks.start) as usize];
            if *stopped || (*from..*until).contains(own) {
                *stopped = true;
                *own = f64::INFINITY;
            }
        }
    }

    fn compute(&mut self, entry: &Entry, expert: bool) {
        let base = self.durations.of_step(self.step)[entry.operation as usize];
        let first = entry.ranks.start as usize;
        let ends = &mut self.ends[entry.slot as usize][..entry.ranks.len()];
        let rows = self.ranks.entry.iter().zip(&self.ranks.compute[first..]);
        if expert {
            for ((end, (start, factor)), load) in ends.iter_mut().zip(rows).zip(&self.ranks.expert[first..]) {
                *end = start + base * factor * load;
            }
        } else {
            for (end, (start, factor)) in ends.iter_mut().zip(rows) {
                *end = start + base * factor;
            }
        }
    }

    fn communicate(&mut self, entry: &Entry, pattern: usize, bytes: u64, batch: &mut Batch) {
        let place = &self.places[pattern];
        let first = entry.ranks.start;
        let base = self.durations.of_step(self.step)[entry.operation as usize];
        let begins = self.ranks.entry.iter().copied().fold(f64::INFINITY, f64::min);
        if begins.is_finite() {
            self.network.advance(&self.places, self.now_ns + begins as u64);
        }
        let state = self.network.of(pattern);
        let transfer = (base - self.latency_ns[pattern]).max(0.0);
        let latency = state.latency_ns.min(state.latency_ns - self.latency_ns[pattern] + base).max(0.0);
        let draw = self.tables.draws.bits(self.step, u64::from(entry.operation)) as usize;
        let ends = &mut self.ends[entry.slot as usize][..entry.ranks.len()];
        if !entry.all {
            ends.fill(f64::NEG_INFINITY);
        }
        let Groups { latest, lasts, sequence } = &mut self.group;
        latest.clear();
        lasts.clear();
        sequence.clear();
        let busy = &mut self.busy[pattern];
        for (group, busy) in busy.iter_mut().enumerate() {
            let ranks = place.group(group);
            let entries = &mut self.ranks.entry;
            let mut last = *busy;
            for &rank in ranks {
                let own = &mut entries[(rank - first) as usize];
                *own = own.max(*busy);
                last = if last < *own { *own } else { last };
            }
            let noise = self.tables.operation.at(draw.wrapping_add(group));
            let mut takes = latency + transfer * state.group_ratio[group] * noise;
            if takes == f64::INFINITY
                && let Some((from_ns, ratio)) = self.network.relief(pattern, place, group)
            {
                let from = from_ns.saturating_sub(self.now_ns) as f64;
                takes = (from - last).max(0.0) + latency + transfer * ratio * noise;
            }
            for (rank, from, until) in &self.ranks.others {
                let member = ranks.contains(rank).then(|| entries[(rank - first) as usize]);
                if member.is_some_and(|entry| entry >= *from && entry < *until) {
                    takes = f64::INFINITY;
                }
            }
            let own_ends = place.own_ends && takes.is_finite();
            let mut end = last + takes;
            if place.is_pairs() {
                // What is sent waits in the receiver's buffer: the receiver ends when it has entered, too.
                let sender = entries[(ranks[0] - first) as usize];
                end = (sender + takes).max(last);
                last = if last < f64::INFINITY { sender } else { last };
                ends[(ranks[0] - first) as usize] =
                    sender + takes + if end < f64::INFINITY { 0.0 } else { end };
                ends[(ranks[1] - first) as usize] = end;
            } else if own_ends {
                let from = place.group_start[group] as usize;
                for (&rank, ratio) in ranks.iter().zip(&state.member_ratio[from..]) {
                    ends[(rank - first) as usize] = last + (latency + transfer * ratio * noise).min(takes);
                }
            } else {
                for &rank in ranks {
                    ends[(rank - first) as usize] = end;
                }
            }
            *busy = last + takes;
            latest.push(last);
            lasts.push(takes);
            let counted = &mut self.sequence[(place.communicator[group] - self.first_communicator) as usize];
            sequence.push(*counted);
            *counted += 1;
        }
        if !self.told[pattern] {
            return;
        }
        let shapes = self.shapes[&(pattern as u32, bytes)];
        let operation =
            Told { place, first, shapes, first_rank: self.rows.first_rank, ends, ranks: &self.ranks };
        operation.write(sequence, &mut batch.operations);
        if self.settings.messages && place.messages > 0 {
            let found = Found {
                place,
                state,
                rates: self.network.rates(),
                bytes: bytes as f64,
                entry: &self.ranks.entry,
                first_rank: first,
                ends,
                latest,
                lasts,
                sequence,
                factors: &self.tables.message,
                draw: draw >> 20,
            };
            found.write(&mut self.scratch, &mut batch.messages);
        }
    }
}

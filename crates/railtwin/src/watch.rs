//! A replayed job with detectors that watch it: what score cards and runs with telemetry have in common.
use railtwin_diagnosis::join::{Places, join};
use railtwin_diagnosis::slow::communicators::unplaced;
use railtwin_diagnosis::{Detector, Diagnosis, Settings};
use railtwin_engine::{Case, EdgeRates, Fault};
use railtwin_fabric::LinkId;
use railtwin_records::{Batch, Directory, Finding, Syndrome};
use railtwin_telemetry::{CounterSettings, Counters, Durations, Progress, Replay};
use railtwin_units::SimTime;

use crate::error::Error;
use crate::probe_rounds::{paths, round};

/// Most of the job's paths that a round over the mesh probes.
const MESH: usize = 4_096;
/// Rounds of pairwise probes between suspects that findings may ask for in an hour: probes take bandwidth from the job.
const ASKED: u32 = 3;
/// Findings without suspects that may ask in an hour for a round over all NICs of slow communicators.
const ROUNDS: u32 = 3;
const HOUR_S: f64 = 3_600.0;
/// Seconds from such a round to its second, which shows whether what was slow still is: a burst of others' traffic is over
/// by then.
const AGAIN_S: f64 = 10.0;
/// Seconds by which the time goes on at once while the job stands still.
pub const IDLE_S: f64 = 1.0;

/// What is asked for besides operations and messages, in seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Rhythm {
    /// Between readings of counters; none = never.
    pub counters: Option<f64>,
    /// Between rounds of pings over the job's paths; none = never.
    pub probes: Option<f64>,
    /// From when on findings may ask for pairwise probes; none = never.
    pub asked_from: Option<f64>,
}

/// A replayed job and who watches it.
#[derive(Debug)]
pub struct Watch<'a> {
    case: &'a Case,
    /// The replay.
    pub replay: Replay,
    counters: Counters,
    diagnosis: Diagnosis,
    rhythm: Rhythm,
    /// Who is who.
    pub directory: Directory,
    /// The records of the last turn.
    pub batch: Batch,
    /// All that was found so far, as it was told.
    pub findings: Vec<Finding>,
    /// Seconds up to which everything was told.
    pub now: f64,
    mesh: Vec<u32>,
    due: [f64; 2],
    probe: Option<Vec<u32>>,
    asked: u32,
    hour_ends: f64,
    orders: u32,
    /// Slow communicators, the paths of their round, and when its second is due.
    round: (Vec<u32>, Vec<u32>),
    rounds: u32,
    again_at: Option<f64>,
}

impl<'a> Watch<'a> {
    /// The same with other thresholds of the detectors.
    #[must_use]
    pub fn at(self, thresholds: Settings) -> Self {
        Self { diagnosis: self.diagnosis.at(thresholds), ..self }
    }

    /// A job at its start. `rates` are the states of the network, as [`Replay::new`] wants them.
    ///
    /// # Errors
    /// What the replay says of a case that it cannot go through.
    pub fn new(
        case: &'a Case,
        job: usize,
        durations: Durations,
        rates: Vec<EdgeRates>,
        settings: railtwin_telemetry::Settings,
        rhythm: Rhythm,
        detectors: Vec<Box<dyn Detector>>,
    ) -> Result<Self, Error> {
        let mut directory = Directory::default();
        let replay = Replay::new(case, job, durations, rates, settings, &mut directory)?;
        let counters = Counters::new(case, &replay, CounterSettings::default(), &mut directory);
        // Queue pairs that have no way while a cable is down stand there too: nothing can be sent over none.
        let with_path = |&flow: &u32| !directory.flows[flow as usize].links.is_empty();
        let paths: Vec<u32> = (0..directory.flows.len() as u32).filter(with_path).collect();
        let step = paths.len().div_ceil(MESH).max(1);
        Ok(Self {
            case,
            counters,
            diagnosis: Diagnosis::with(Settings::default(), detectors),
            rhythm,
            mesh: paths.into_iter().step_by(step).collect(),
            directory,
            batch: Batch::default(),
            findings: Vec::new(),
            now: replay.now_ns() as f64 / 1e9,
            due: [0.0; 2],
            probe: None,
            asked: 0,
            hour_ends: 0.0,
            orders: 0,
            round: Default::default(),
            rounds: 0,
            again_at: None,
            replay,
        })
    }

    /// One step of the job, or a second in which it stands still; gives the row of the first finding that is new.
    pub fn turn(&mut self) -> (Progress, usize) {
        self.batch.clear();
        let progress = if self.replay.is_stuck() {
            self.now += IDLE_S;
            self.batch.until_ns = (self.now * 1e9) as u64;
            Progress::Stuck
        } else {
            let progress = self.replay.step(&mut self.batch);
            self.now = self.batch.until_ns as f64 / 1e9;
            progress
        };
        let until_ns = self.batch.until_ns;
        if self.is_due(0, self.rhythm.counters) {
            self.counters.read(&self.replay, until_ns, &mut self.batch.counters);
        }
        if self.is_due(1, self.rhythm.probes) {
            let mesh = std::mem::take(&mut self.mesh);
            self.send(&mesh);
            self.mesh = mesh;
            // Pings: delay and loss, no bandwidth.
            self.batch.probes.bits_per_s.fill(0.0);
        }
        if self.again_at.is_some_and(|at| self.now >= at) {
            self.again_at = None;
            self.probe.get_or_insert_default().extend(&self.round.1);
        }
        if let Some(asked) = self.probe.take() {
            self.send(&asked);
        }
        let told = self.findings.len();
        let fabric = Some(&*self.case.fabric);
        self.diagnosis.observe(&self.directory, fabric, &self.batch, &mut self.findings);
        self.ask(told);
        (progress, told)
    }

    /// Orders the probes that findings from row `told` on ask for; they are sent after the next step.
    fn ask(&mut self, told: usize) {
        if self.rhythm.asked_from.is_none_or(|from| self.now < from) {
            return;
        }
        if self.now >= self.hour_ends {
            (self.asked, self.rounds, self.hour_ends) = (0, 0, self.now + HOUR_S);
        }
        let new = &self.findings[told..];
        // One slow cable, too: a port may be slow because it carries what that beside it no longer does.
        let is_open = |finding: &&Finding| {
            finding.accuses()
                && (finding.suspects.len() > 1 || finding.syndrome == Syndrome::CommunicationSlow)
        };
        if let Some(finding) = new.iter().find(is_open).filter(|_| self.asked < ASKED) {
            self.asked += 1;
            self.orders += 1;
            self.probe.get_or_insert_default().extend(paths(self.case, finding, &mut self.directory));
        }
        for finding in new {
            let slow = unplaced(&self.directory, finding);
            if slow.is_empty() || self.rounds == ROUNDS {
                continue;
            }
            self.rounds += 1;
            self.orders += 1;
            if self.round.0 != slow {
                self.round = (slow, round(self.case, finding, &mut self.directory));
            }
            self.again_at = Some(self.now + AGAIN_S);
            self.probe.get_or_insert_default().extend(&self.round.1);
        }
    }

    /// Sends probes over the paths of flows.
    fn send(&mut self, flows: &[u32]) {
        let until_ns = self.batch.until_ns;
        let path = |&flow: &u32| (flow, &self.directory.flows[flow as usize].links[..]);
        let paths: Vec<(u32, &[u32])> = flows.iter().map(path).collect();
        let down = down_at(&self.case.faults, SimTime::from_ns(until_ns));
        let wrong = (&self.case.impairments[..], &down[..]);
        self.replay.probe(&paths, wrong, true, until_ns, &mut self.batch.probes);
    }

    /// Rounds of pairwise probes that findings asked for.
    pub fn orders(&self) -> u32 {
        self.orders
    }

    fn is_due(&mut self, what: usize, interval: Option<f64>) -> bool {
        let Some(interval) = interval.filter(|_| self.now >= self.due[what]) else { return false };
        self.due[what] = self.now + interval;
        true
    }

    /// Where components lie.
    pub fn places(&self) -> Places<'_> {
        Places { directory: &self.directory, fabric: Some(&self.case.fabric) }
    }

    /// What was found, findings about the same thing as one.
    pub fn joined(&self) -> Vec<Finding> {
        join(&self.places(), &self.findings)
    }
}

/// Links that carry nothing at a moment.
fn down_at(faults: &[Fault], now: SimTime) -> Vec<LinkId> {
    let mut down = std::collections::BTreeSet::new();
    for fault in faults.iter().filter(|fault| fault.at <= now) {
        for link in [fault.cable.forward(), fault.cable.backward()] {
            match fault.state.takes(link) {
                true => down.insert(link),
                false => down.remove(&link),
            };
        }
    }
    down.into_iter().collect()
}

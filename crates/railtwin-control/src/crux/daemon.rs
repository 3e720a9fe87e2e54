//! Measuring a job's communication in a run (Crux, section 5): it goes before all others for a while, and the time in
//! which its queue pairs have something to do is held against what they carried.
use std::collections::{BTreeMap, VecDeque};

use railtwin_units::SimTime;

use super::fleet::Pair;
use crate::controller::Completion;
use crate::paths::JobId;

/// Profiles one job after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Daemon {
    /// For how long each; none where nothing is measured.
    time: Option<SimTime>,
    waiting: VecDeque<JobId>,
    /// Who is profiled, and until when.
    current: Option<(JobId, SimTime)>,
    /// By row of its queue pairs: bytes that completed, seconds that they took.
    carried: BTreeMap<u32, (f64, f64)>,
    /// Bytes of a step by row.
    step: BTreeMap<u32, f64>,
}

impl Daemon {
    pub(super) fn new(time: Option<SimTime>) -> Self {
        Self { time, ..Self::default() }
    }

    /// Who goes first to be measured.
    pub(super) fn profiled(&self) -> Option<JobId> {
        self.current.map(|(job, _)| job)
    }

    /// Has a job measured when its turn comes.
    pub(super) fn ask(&mut self, job: JobId) {
        if self.time.is_some() && !self.waiting.contains(&job) {
            self.waiting.push_back(job);
        }
    }

    /// A job is gone.
    pub(super) fn forget(&mut self, job: JobId) {
        self.waiting.retain(|&one| one != job);
        self.current = self.current.filter(|&(one, _)| one != job);
    }

    /// Begins with the next job where nobody is measured; false where nobody waits either.
    pub(super) fn begin(&mut self, now: SimTime) -> bool {
        let (Some(time), None) = (self.time, self.current) else { return false };
        let Some(job) = self.waiting.pop_front() else { return false };
        self.current = Some((job, now.saturating_add(time)));
        self.carried.clear();
        self.step.clear();
        true
    }

    /// Takes in what queue pairs completed, `pairs` being those of the job that is measured.
    pub(super) fn hear(&mut self, pairs: &[Pair], completions: &[Completion]) {
        if self.step.is_empty() {
            self.step.extend(pairs.iter().map(|pair| (pair.row, pair.bytes as f64)));
        }
        for one in completions.iter().filter(|one| self.step.contains_key(&one.queue_pair)) {
            let (bytes, seconds) = self.carried.entry(one.queue_pair).or_default();
            *bytes += one.bytes as f64;
            *seconds += one.time.seconds();
        }
    }

    /// Who was measured by `now`, with the seconds that its slowest queue pair communicates in a step; none of these where
    /// it sent less than a step.
    pub(super) fn finished(&mut self, now: SimTime) -> Option<(JobId, Option<f64>)> {
        let (job, _) = self.current.filter(|&(_, until)| until <= now)?;
        self.current = None;
        let whole = |(row, &(bytes, seconds)): (&u32, &(f64, f64))| {
            let step = self.step[row];
            (bytes >= step && bytes > 0.0).then_some(seconds * step / bytes)
        };
        let seconds = self.carried.iter().map(whole).collect::<Option<Vec<f64>>>();
        let longest = seconds.and_then(|all| all.into_iter().max_by(f64::total_cmp));
        Some((job, longest.filter(|&seconds| seconds > 0.0)))
    }

    /// When somebody was measured for long enough.
    pub(super) fn next_time(&self) -> SimTime {
        self.current.map_or(SimTime::NEVER, |(_, until)| until)
    }
}

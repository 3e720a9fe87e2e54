//! Jobs step after step on shared links: a fluid that can stop at any moment and go on.
use std::sync::Arc;

use super::demand::{Demand, JobDemand};
use super::paces::Paces;
use super::slots::Slots;

/// Of a step's communication; what is left below it is rounding.
const NOTHING: f64 = 1e-12;

/// What became of one job so far.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Served {
    /// Seconds in which it computed.
    pub computing: f64,
    /// Seconds of its communication at the pace that it has alone.
    pub communicating: f64,
    /// Steps that ended.
    pub steps: u64,
    /// Seconds from begin to end of these steps, and of waiting for the next one's slot.
    pub stepping: f64,
}

impl Served {
    /// Mean seconds of the steps that ended; none where none did.
    pub fn mean_step(&self) -> Option<f64> {
        (self.steps > 0).then(|| self.stepping / self.steps as f64)
    }
}

/// Where a job is in its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Computes, and may not communicate yet.
    Before,
    /// Communicates.
    Talking,
    /// Has communicated and computes on.
    After,
    /// Is done, and waits for what goes on beside it.
    Waiting,
}

/// A job in the middle of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Running {
    pub(super) phase: Phase,
    /// When it leaves that phase if nothing changes.
    due: f64,
    pub(super) step_began: f64,
    /// Part of the step's communication that is left.
    left: f64,
    /// How many times as long as planned this step computes.
    pub(super) stretch: f64,
    /// Whether a step ends when what goes on beside it has ended, too.
    is_paired: bool,
    /// What became of it so far.
    pub served: Served,
}

impl Running {
    /// A job whose step begins at `at` and computes `stretch` times as long as planned.
    pub fn from(job: &JobDemand, at: f64, stretch: f64) -> Self {
        let (phase, served) = (Phase::Before, Served::default());
        let due = at + job.ready * stretch;
        Self { phase, due, step_began: at, left: 0.0, stretch, is_paired: false, served }
    }

    /// A job that is alone on its links and whose step began `elapsed` seconds before `now`.
    pub fn within(job: &JobDemand, now: f64, elapsed: f64) -> Self {
        let mut one = Self::from(job, now - elapsed, 1.0);
        if elapsed >= job.ready {
            let talked = elapsed - job.ready;
            (one.phase, one.due) = match job.seconds > 0.0 && talked < job.seconds {
                true => (Phase::Talking, f64::INFINITY),
                false => (Phase::After, one.step_began + job.step_alone()),
            };
            one.left = 1.0 - talked / job.seconds;
        }
        one
    }

    /// Seconds for which its step would have gone on by `now` if nobody had been in its way.
    pub fn elapsed(&self, job: &JobDemand, now: f64) -> f64 {
        match self.phase {
            Phase::Talking => job.ready + (1.0 - self.left) * job.seconds,
            Phase::Before => (now - self.step_began).min(job.ready),
            Phase::After | Phase::Waiting => (now - self.step_began).min(job.step_alone()),
        }
    }

    /// Seconds of the clock at which its step began.
    pub fn step_began(&self) -> f64 {
        self.step_began
    }

    /// The same with all times later by `by` seconds.
    pub fn put_off(&mut self, by: f64) {
        self.due += by;
        self.step_began += by;
    }

    /// Enters the phase after the one whose end is due.
    #[inline]
    fn advance(&mut self, job: &JobDemand, number: usize, now: f64, end: f64, steps: &mut impl Steps) {
        let computed = self.step_began + job.compute * self.stretch;
        match self.phase {
            Phase::Before if job.seconds > 0.0 => (self.phase, self.left) = (Phase::Talking, 1.0),
            Phase::Before | Phase::Talking if computed > now => {
                (self.phase, self.due) = (Phase::After, computed);
            }
            Phase::Before | Phase::Talking | Phase::After if self.is_paired => {
                (self.phase, self.due) = (Phase::Waiting, f64::INFINITY);
            }
            Phase::Before | Phase::Talking | Phase::After => {
                self.served.steps += 1;
                let stretch = steps.ended(number, now);
                let begin = steps.begins(number, now);
                self.served.stepping += begin - self.step_began;
                self.begin(job, begin, end, stretch);
            }
            Phase::Waiting => (),
        }
    }

    #[inline]
    fn begin(&mut self, job: &JobDemand, now: f64, end: f64, stretch: f64) {
        (self.phase, self.step_began, self.stretch) = (Phase::Before, now, stretch);
        self.due = now + job.ready * stretch;
        self.served.computing += ((now + job.compute * stretch).min(end) - now.max(0.0)).max(0.0);
    }
}

/// Who is told of steps that end.
pub trait Steps {
    /// A step of `job` has ended `now`; how many times as long as planned the next one computes.
    fn ended(&mut self, job: usize, now: f64) -> f64;

    /// When the next step of `job` begins, at `now` or later.
    fn begins(&mut self, _job: usize, now: f64) -> f64 {
        now
    }

    /// Whether [`Fluid::run`] shall stop where it is.
    fn is_over(&self) -> bool {
        false
    }
}

/// Nobody: all steps are as planned.
#[derive(Clone, Copy, Debug)]
pub struct AsPlanned;

impl Steps for AsPlanned {
    fn ended(&mut self, _job: usize, _now: f64) -> f64 {
        1.0
    }
}

/// All steps are as planned and begin in their slots.
impl Steps for Slots {
    fn ended(&mut self, _job: usize, _now: f64) -> f64 {
        1.0
    }

    fn begins(&mut self, job: usize, now: f64) -> f64 {
        self.begin(job, now)
    }
}

/// Jobs on links under strict priorities.
#[derive(Clone, Debug)]
pub struct Fluid {
    demand: Arc<Demand>,
    paces: Paces,
    /// By job.
    pub jobs: Vec<Running>,
    talking: Vec<bool>,
    pace: Vec<f64>,
    /// Of the last rows, the row beside whose steps they are.
    owners: Vec<usize>,
    /// Seconds of the clock of [`Running`].
    pub now: f64,
    end: f64,
}

impl Fluid {
    /// Jobs as they are at `now` under `levels`, by job; 0 goes first. Computation after `end` is not counted.
    pub fn new(demand: Arc<Demand>, levels: &[u32], jobs: Vec<Running>, now: f64, end: f64) -> Self {
        let talking: Vec<bool> = jobs.iter().map(|job| job.phase == Phase::Talking).collect();
        let mut fluid = Self {
            paces: Paces::new(&demand, levels),
            demand,
            pace: vec![0.0; jobs.len()],
            owners: Vec::new(),
            jobs,
            talking,
            now,
            end,
        };
        fluid.repace();
        fluid
    }

    /// Jobs whose first steps begin at `starts`, in seconds; negative where they compute already.
    pub fn starting(demand: Arc<Demand>, levels: &[u32], starts: &[f64], end: f64) -> Self {
        let begun = |(job, &start): (&JobDemand, &f64)| {
            let mut one = Running::from(job, start, 1.0);
            one.begin(job, start, end, 1.0);
            one
        };
        let jobs = demand.jobs.iter().zip(starts).map(begun).collect();
        Self::new(demand, levels, jobs, 0.0, end)
    }

    /// The same where the last rows of the demand are no jobs of their own but what goes on beside the steps of jobs, such as
    /// the reading of data: it begins with a step of its owner, and the step ends when both have ended. Rows of owners are
    /// given in their order; [`Steps`] hears of these alone.
    #[must_use]
    pub fn beside(mut self, owners: Vec<usize>) -> Self {
        let first = self.jobs.len() - owners.len();
        for (row, &owner) in (first..).zip(&owners) {
            self.jobs[row].is_paired = true;
            self.jobs[owner].is_paired = true;
        }
        self.owners = owners;
        self
    }

    /// Goes on until `until`, or until `steps` says that it is over. `seen` is shown every span between two events.
    ///
    /// Weeks of jobs spend much of their time here: so it is compiled for who is told and shown.
    #[inline]
    pub fn run<S: Steps>(&mut self, until: f64, steps: &mut S, mut seen: impl FnMut(f64, f64, &[Running])) {
        let demand = Arc::clone(&self.demand);
        let jobs = &demand.jobs;
        loop {
            let mut next = f64::INFINITY;
            for one in &self.jobs {
                next = if one.due < next { one.due } else { next };
            }
            next = next.max(self.now);
            let to = next.min(until);
            for (one, &pace) in
                self.jobs.iter_mut().zip(&self.pace).filter(|(one, _)| one.phase == Phase::Talking)
            {
                one.left -= pace * (to - self.now);
            }
            seen(self.now, to, &self.jobs);
            self.now = to;
            if next >= until {
                return;
            }
            let mut changed = false;
            let soon = to * (1.0 + NOTHING);
            for (job, one) in self.jobs.iter_mut().enumerate() {
                // Ends that fall together up to rounding are one event.
                while one.due <= soon || (one.phase == Phase::Talking && one.left <= NOTHING) {
                    if one.phase == Phase::Talking {
                        one.served.communicating += jobs[job].seconds;
                    }
                    one.advance(&jobs[job], job, to, self.end, steps);
                    changed = true;
                    if one.phase == Phase::Talking {
                        one.due = f64::INFINITY;
                    }
                }
                self.talking[job] = one.phase == Phase::Talking;
            }
            if changed {
                if !self.owners.is_empty() {
                    self.meet(jobs, steps);
                }
                self.repace();
            }
            if steps.is_over() {
                return;
            }
        }
    }

    /// Begins the next step of those who are done and have nothing beside them any more.
    fn meet(&mut self, jobs: &[JobDemand], steps: &mut impl Steps) {
        let (now, end, first) = (self.now, self.end, self.jobs.len() - self.owners.len());
        for (row, &owner) in (first..).zip(&self.owners) {
            if [row, owner].iter().any(|&one| self.jobs[one].phase != Phase::Waiting) {
                continue;
            }
            let one = &mut self.jobs[owner];
            one.served.steps += 1;
            let stretch = steps.ended(owner, now);
            let begin = steps.begins(owner, now);
            one.served.stepping += begin - one.step_began;
            one.begin(&jobs[owner], begin, end, stretch);
            self.jobs[row].begin(&jobs[row], begin, end, 1.0);
        }
    }

    #[inline]
    fn repace(&mut self) {
        let (changed, paces) = self.paces.of(&self.talking);
        for job in changed.iter().map(|&job| job as usize) {
            let (one, pace) = (&mut self.jobs[job], paces[job]);
            self.pace[job] = pace;
            if one.phase == Phase::Talking {
                one.due = if pace > 0.0 { self.now + one.left / pace } else { f64::INFINITY };
            }
        }
        // Who begins to communicate at the moment at which it ended has the pace that it had.
        for (one, &pace) in self.jobs.iter_mut().zip(&self.pace) {
            if one.phase == Phase::Talking && one.due == f64::INFINITY && pace > 0.0 {
                one.due = self.now + one.left / pace;
            }
        }
    }

    /// What became of each job, with the part of the communication that is under way.
    pub fn served(&self) -> Vec<Served> {
        let so_far = |(one, job): (&Running, &JobDemand)| {
            let part = if one.phase == Phase::Talking { 1.0 - one.left } else { 0.0 };
            let communicating = one.served.communicating + part * job.seconds;
            Served { communicating, ..one.served }
        };
        self.jobs.iter().zip(&self.demand.jobs).map(so_far).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn demands() -> impl Strategy<Value = (Demand, Vec<u32>, Vec<f64>)> {
        let load = (0u32..9, 1u32..20).prop_map(|(link, parts)| (link, f64::from(parts) / 10.0));
        let one = (prop::collection::vec(load, 0..4), 1u32..9, 0u32..4, 0u32..5, 1u32..30, 0.0..3.0);
        prop::collection::vec(one, 13..20).prop_map(|drawn| {
            let levels = drawn.iter().map(|one| one.2).collect();
            let starts = drawn.iter().map(|one| one.5).collect();
            let of = |(loads, largest, _, ready, compute, _): (Vec<(u32, f64)>, u32, u32, u32, u32, f64)| {
                let compute = f64::from(compute) / 7.0;
                let ready = compute * f64::from(ready) / 4.0;
                JobDemand {
                    largest: f64::from(largest),
                    compute,
                    ready,
                    work: 1.0,
                    gpus: 1,
                    ..JobDemand::default()
                }
                .asking(super::super::demand::summed(loads))
            };
            let jobs = drawn.into_iter().map(of).collect();
            (Demand { jobs, links: 9, fair: Vec::new() }, levels, starts)
        })
    }

    proptest! {
        #[test]
        fn many_jobs_take_the_steps_that_they_take_when_all_paces_are_filled_anew((demand, levels, starts) in demands()) {
            let demand = Arc::new(demand);
            let mut islands = Fluid::starting(Arc::clone(&demand), &levels, &starts, f64::INFINITY);
            let mut whole = islands.clone();
            whole.paces = whole.paces.whole();
            // Short of where a tie that is one up to rounding could fall the other way.
            for until in [1.0, 3.0, 7.0] {
                islands.run(until, &mut AsPlanned, |_, _, _| ());
                whole.run(until, &mut AsPlanned, |_, _, _| ());
                for (one, other) in islands.served().iter().zip(whole.served()) {
                    prop_assert!((one.communicating - other.communicating).abs() <= 1e-6, "{one:?} {other:?}");
                    prop_assert!((one.computing - other.computing).abs() <= 1e-6, "{one:?} {other:?}");
                }
            }
        }
    }
}

//! Jobs step after step on shared links: a fluid model with strict priorities.
//!
//! A step computes for `compute` seconds; its communication begins `ready` seconds after the step and moves at one pace
//! over all its links; the next step begins when both have ended. At every moment links go to the highest level first,
//! within a level max-min fair in the rate of each job's largest transfer.
use super::demand::{Demand, JobDemand};
use super::measure::Seen;
use super::paces::Paces;
use super::tenants::Tenants;

/// Of a step's communication; what is left below it is rounding.
const NOTHING: f64 = 1e-12;

/// When each job's first step begins, in seconds from the begin of the window; negative where it computes already.
#[derive(Clone, Debug, PartialEq)]
pub struct Start(pub Vec<f64>);

impl Start {
    /// All jobs are ready to communicate when the window begins, as in both examples of the paper.
    pub fn all_ready(tenants: &Tenants) -> Self {
        Self(tenants.jobs.iter().map(|job| -job.compute.seconds() * job.overlap_from).collect())
    }
}

/// What became of one job within the window.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Served {
    /// Seconds in which it computed.
    pub computing: f64,
    /// Seconds of its communication at the pace that it has alone.
    pub communicating: f64,
    /// Steps that ended.
    pub steps: u64,
    /// Seconds from begin to end of these steps.
    pub stepping: f64,
}

impl Served {
    /// Mean seconds of the steps that ended; none where none did.
    pub fn mean_step(&self) -> Option<f64> {
        (self.steps > 0).then(|| self.stepping / self.steps as f64)
    }
}

/// What became of the jobs within the window.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// By job.
    pub jobs: Vec<Served>,
    /// Seconds of the window.
    pub window: f64,
}

impl Outcome {
    /// Work that was done, `U` of the paper (definition 1).
    pub fn work(&self, demand: &Demand) -> f64 {
        let work = |(served, job): (&Served, &JobDemand)| served.computing / job.compute * job.work;
        self.jobs.iter().zip(&demand.jobs).map(work).sum()
    }

    /// Share of the GPUs' time in which they computed, 0..1.
    pub fn utilization(&self, demand: &Demand) -> f64 {
        let gpus: f64 = demand.jobs.iter().map(|job| f64::from(job.gpus)).sum();
        let busy = self.jobs.iter().zip(&demand.jobs);
        busy.map(|(served, job)| served.computing * f64::from(job.gpus)).sum::<f64>() / (gpus * self.window)
    }
}

/// Jobs on links for a window of time.
#[derive(Clone, Copy, Debug)]
pub struct Contention<'a> {
    demand: &'a Demand,
    start: &'a Start,
    window: f64,
}

/// Where a job is in its step, and when it leaves that state if nothing changes.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    /// Computes, and may not communicate yet.
    Before,
    /// Communicates.
    Talking,
    /// Has communicated and computes on.
    After,
}

struct Running {
    phase: Phase,
    due: f64,
    step_began: f64,
    left: f64,
    served: Served,
}

impl Running {
    /// Enters the phase after the one whose end is due.
    fn advance(&mut self, job: &JobDemand, now: f64, window: f64) {
        let computed = self.step_began + job.compute;
        match self.phase {
            Phase::Before if job.seconds > 0.0 => (self.phase, self.left) = (Phase::Talking, 1.0),
            Phase::Before | Phase::Talking if computed > now => {
                (self.phase, self.due) = (Phase::After, computed);
            }
            Phase::Before | Phase::Talking | Phase::After => {
                self.served.steps += 1;
                self.served.stepping += now - self.step_began;
                self.begin(job, now, window);
            }
        }
    }

    fn begin(&mut self, job: &JobDemand, now: f64, window: f64) {
        (self.phase, self.step_began, self.due) = (Phase::Before, now, now + job.ready);
        self.served.computing += ((now + job.compute).min(window) - now.max(0.0)).max(0.0);
    }
}

impl<'a> Contention<'a> {
    /// Jobs with `demand` that begin at `start`, for `window` seconds.
    pub fn new(demand: &'a Demand, start: &'a Start, window: f64) -> Self {
        Self { demand, start, window }
    }

    /// What becomes of them under `levels`, by job; 0 goes first.
    pub fn run(&self, levels: &[u32]) -> Outcome {
        self.run_seen(levels, &mut |_, _, _| ())
    }

    /// Shows `seen` what `job` does under `levels`.
    pub(super) fn watch(&self, levels: &[u32], job: usize, seen: &mut Seen) {
        let compute = self.demand.jobs[job].compute;
        self.run_seen(levels, &mut |from, until, running| {
            let one = &running[job];
            let computing = (one.step_began + compute).min(until) - from.max(one.step_began);
            seen.add(from, until, one.phase == Phase::Talking, computing.max(0.0));
        });
    }

    /// The same; `seen` is shown every span between two events.
    fn run_seen(&self, levels: &[u32], seen: &mut dyn FnMut(f64, f64, &[Running])) -> Outcome {
        let (jobs, window) = (&self.demand.jobs, self.window);
        let mut paces = Paces::new(self.demand, levels);
        let mut talking = vec![false; jobs.len()];
        let mut pace = vec![0.0; jobs.len()];
        let mut running: Vec<Running> = Vec::with_capacity(jobs.len());
        for (job, &start) in jobs.iter().zip(&self.start.0) {
            let (phase, served) = (Phase::Before, Served::default());
            let mut one = Running { phase, due: start, step_began: start, left: 0.0, served };
            one.begin(job, start, window);
            running.push(one);
        }
        let mut now = 0.0;
        loop {
            let next = running.iter().map(|one| one.due).fold(f64::INFINITY, f64::min).max(now);
            let until = next.min(window);
            for (one, &pace) in running.iter_mut().zip(&pace).filter(|(one, _)| one.phase == Phase::Talking) {
                one.left -= pace * (until - now);
            }
            seen(now, until, &running);
            now = until;
            if next >= window {
                break;
            }
            let mut changed = false;
            for (job, one) in running.iter_mut().enumerate() {
                // Ends that fall together up to rounding are one event.
                while one.due <= now * (1.0 + NOTHING) || (one.phase == Phase::Talking && one.left <= NOTHING)
                {
                    if one.phase == Phase::Talking {
                        one.served.communicating += jobs[job].seconds;
                    }
                    one.advance(&jobs[job], now, window);
                    changed = true;
                    if one.phase == Phase::Talking {
                        one.due = f64::INFINITY;
                    }
                }
                talking[job] = one.phase == Phase::Talking;
            }
            if changed {
                pace.copy_from_slice(paces.of(&talking));
                for (one, &pace) in running.iter_mut().zip(&pace) {
                    if one.phase == Phase::Talking {
                        one.due = if pace > 0.0 { now + one.left / pace } else { f64::INFINITY };
                    }
                }
            }
        }
        let end = |(one, job): (Running, &JobDemand)| {
            let part = if one.phase == Phase::Talking { 1.0 - one.left } else { 0.0 };
            let communicating = one.served.communicating + part * job.seconds;
            Served { communicating, ..one.served }
        };
        Outcome { jobs: running.into_iter().zip(jobs).map(end).collect(), window }
    }
}

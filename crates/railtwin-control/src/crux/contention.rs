//! Jobs step after step on shared links: a fluid model with strict priorities.
//!
//! A step computes for `compute` seconds; its communication begins `ready` seconds after the step and moves at one pace
//! over all its links; the next step begins when both have ended. At every moment links go to the highest level first,
//! within a level max-min fair in the rate of each job's largest transfer.
use std::sync::Arc;

use super::demand::{Demand, JobDemand};
use super::fluid::{AsPlanned, Fluid, Phase, Running, Steps};
use super::measure::Seen;
use super::slots::Slots;
use super::tenants::Tenants;

pub use super::fluid::Served;

/// When each job's first step begins, in seconds from the begin of the window; negative where it computes already.
#[derive(Clone, Debug, PartialEq)]
pub struct Start(pub Vec<f64>);

impl Start {
    /// All jobs are ready to communicate when the window begins, as in both examples of the paper.
    pub fn all_ready(tenants: &Tenants) -> Self {
        Self(tenants.jobs.iter().map(|job| -job.compute.seconds() * job.overlap_from).collect())
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

impl<'a> Contention<'a> {
    /// Jobs with `demand` that begin at `start`, for `window` seconds.
    pub fn new(demand: &'a Demand, start: &'a Start, window: f64) -> Self {
        Self { demand, start, window }
    }

    /// What becomes of them under `levels`, by job; 0 goes first.
    pub fn run(&self, levels: &[u32]) -> Outcome {
        self.run_seen(levels, &mut AsPlanned, |_, _, _| ())
    }

    /// The same where jobs keep to `slots`.
    pub fn run_in(&self, slots: &Slots, levels: &[u32]) -> Outcome {
        self.run_seen(levels, &mut slots.clone(), |_, _, _| ())
    }

    /// Shows `seen` what `job` does under `levels`.
    pub(super) fn watch(&self, levels: &[u32], job: usize, seen: &mut Seen) {
        let compute = self.demand.jobs[job].compute;
        self.run_seen(levels, &mut AsPlanned, |from, until, running| {
            let one = &running[job];
            let computing = (one.step_began + compute * one.stretch).min(until) - from.max(one.step_began);
            seen.add(from, until, one.phase == Phase::Talking, computing.max(0.0));
        });
    }

    /// The same; `seen` is shown every span between two events.
    fn run_seen(
        &self,
        levels: &[u32],
        steps: &mut impl Steps,
        seen: impl FnMut(f64, f64, &[Running]),
    ) -> Outcome {
        let mut fluid = Fluid::starting(Arc::new(self.demand.clone()), levels, &self.start.0, self.window);
        fluid.run(self.window, steps, seen);
        Outcome { jobs: fluid.served(), window: self.window }
    }
}

//! A job alone with what goes on beside its steps, which may be in its own way.
use std::sync::Arc;

use super::demand::{Demand, JobDemand};
use super::fluid::{Fluid, Running, Steps};

/// A step is taken as under way up to this share of it.
const WITHIN: f64 = 1.0 - 1e-9;

/// A job and what goes on beside its steps, such as the reading of data: both begin together, and the step ends when both
/// have ended.
#[derive(Clone, Debug)]
pub struct Pair {
    demand: Arc<Demand>,
    step: f64,
}

/// Stops where the first step ends.
struct First(bool);

impl Steps for First {
    fn ended(&mut self, _job: usize, _now: f64) -> f64 {
        self.0 = true;
        1.0
    }

    fn is_over(&self) -> bool {
        self.0
    }
}

impl Pair {
    /// Of the demand of a step and of what is beside it, on so many links of which on some levels do not hold.
    pub fn of(step: &JobDemand, beside: &JobDemand, links: usize, fair: &[u32]) -> Self {
        let jobs = vec![step.clone(), beside.clone()];
        let whole = Demand { jobs, links, fair: fair.to_vec() };
        let mut pair = Self { demand: Arc::new(whole.reduced(&[0, 1])), step: 0.0 };
        pair.step = pair.left(pair.begun(0.0), 0.0);
        pair
    }

    /// Seconds of a step when nobody else is in the way.
    pub fn step_alone(&self) -> f64 {
        self.step
    }

    fn begun(&self, at: f64) -> [Running; 2] {
        [0, 1].map(|row| Running::from(&self.demand.jobs[row], at, 1.0))
    }

    fn fluid(&self, rows: [Running; 2], now: f64) -> Fluid {
        Fluid::new(Arc::clone(&self.demand), &[0, 0], rows.into(), now, f64::INFINITY).beside(vec![0])
    }

    /// Where both are at `now` in a step that began `elapsed` seconds before and met nobody.
    pub fn within(&self, now: f64, elapsed: f64) -> [Running; 2] {
        let mut rows = self.begun(0.0);
        if elapsed > 0.0 {
            let mut fluid = self.fluid(rows, 0.0);
            fluid.run(elapsed.min(self.step * WITHIN), &mut First(false), |_, _, _| ());
            rows = [fluid.jobs[0], fluid.jobs[1]];
        }
        rows.iter_mut().for_each(|one| one.put_off(now - elapsed));
        rows
    }

    /// Seconds from `now` until the step ends that is under way, if nobody else is in the way from there.
    pub fn left(&self, mut rows: [Running; 2], now: f64) -> f64 {
        rows.iter_mut().for_each(|one| one.put_off(-now));
        let mut fluid = self.fluid(rows, 0.0);
        fluid.run(f64::INFINITY, &mut First(false), |_, _, _| ());
        fluid.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(compute: f64, loads: &[(u32, f64)]) -> JobDemand {
        let seconds = loads.iter().fold(0.0f64, |most, load| most.max(load.1));
        let loads = loads.to_vec();
        JobDemand {
            loads,
            seconds,
            largest: 1.0,
            compute,
            ready: compute,
            work: 1.0,
            gpus: 1,
            measured: None,
        }
    }

    #[test]
    fn a_step_is_the_longer_of_both_where_they_share_nothing() {
        for (compute, talk, read) in [(1.0, 2.0, 2.5), (1.0, 2.0, 3.5), (1.0, 0.0, 3.5), (0.0, 2.0, 0.5)] {
            let step = demand(compute, if talk > 0.0 { &[(0, 2.0)] } else { &[] });
            let pair = Pair::of(&step, &demand(0.0, &[(1, read)]), 2, &[]);
            let exact = f64::max(compute + talk, read);
            assert!((pair.step_alone() - exact).abs() < 1e-9, "{} {exact}", pair.step_alone());
        }
    }

    #[test]
    fn both_have_half_of_a_link_that_both_want() {
        // Two seconds of computation, in which 2 of 4 seconds of reading are done; then both have half of the link until
        // the 2 seconds of each are.
        let pair = Pair::of(&demand(2.0, &[(0, 2.0)]), &demand(0.0, &[(0, 4.0)]), 1, &[]);
        assert!((pair.step_alone() - 6.0).abs() < 1e-9, "{}", pair.step_alone());
        for elapsed in [-1.5, 0.0, 0.5, 2.0, 3.0, 5.9] {
            let left = pair.left(pair.within(1e4, elapsed), 1e4);
            assert!((left - (6.0 - elapsed)).abs() < 1e-6, "{elapsed}: {left}");
        }
    }
}

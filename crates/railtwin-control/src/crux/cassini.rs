//! CASSINI's time shifts (Rajasekaran et al., NSDI '24): steps of jobs that share links are put beside each other in time.
//!
//! A job's communication is an arc of a circle whose perimeter is a step. On the circle of all jobs of a link, on which each
//! has a whole number of steps, arcs are turned until as little as possible of the demand exceeds the capacity. Jobs are
//! turned one after another along the affinity graph, each against those that stand already. Steps that are not exact
//! multiples of each other are drawn out a little, so that they are; where no demand is left beyond the capacity, jobs keep
//! to their [slots](super::slots).
use super::contention::Start;
use super::demand::Demand;
use super::slots::OFF;

/// Positions of a job on its circle, of 5 degrees each as in the paper's experiments.
const POSITIONS: u32 = 72;
/// Most steps of the longest job on a circle.
const STEPS_MOST: u32 = 24;
/// Samples of a circle for each of its shortest arcs.
const SAMPLES: f64 = 8.0;
/// Most samples of a circle.
const SAMPLES_MOST: f64 = 1e4;
/// Demand beyond the capacity, of the capacity, that is rounding.
const NOTHING: f64 = 1e-9;

/// Time shift of a job.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct TimeShift {
    /// Seconds, less than a step, by which the first step is put off.
    pub by: f64,
    /// Seconds from the begin of one step to that of the next where the job keeps to slots; none where it does not.
    pub period: Option<f64>,
}

/// A circle on which each job has a whole number of steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Circle {
    seconds: f64,
    /// By job: seconds of a step on it.
    periods: Vec<f64>,
    is_common: bool,
}

impl Circle {
    /// The shortest circle on which all `steps`, in seconds, fit a whole number of times when none is drawn out by more than
    /// [`OFF`]; where none is that has at most 24 of the longest step, 24 of these with steps as they are.
    pub fn of(steps: &[f64]) -> Self {
        let longest = steps.iter().copied().fold(0.0, f64::max);
        let common = (1..=STEPS_MOST).find_map(|count| {
            let counts: Vec<f64> =
                steps.iter().map(|step| (f64::from(count) * longest / step).round()).collect();
            let seconds = counts.iter().zip(steps).map(|(count, step)| count * step).fold(0.0, f64::max);
            let fits = counts.iter().zip(steps).all(|(count, step)| seconds <= count * step * (1.0 + OFF));
            fits.then(|| (seconds, counts.iter().map(|count| seconds / count).collect()))
        });
        match common {
            Some((seconds, periods)) => Self { seconds, periods, is_common: true },
            None => {
                let seconds = f64::from(STEPS_MOST) * longest;
                Self { seconds, periods: steps.to_vec(), is_common: false }
            }
        }
    }

    /// Seconds of a step of a job on it; none where steps have no circle in common.
    pub fn period(&self, job: usize) -> Option<f64> {
        self.is_common.then(|| self.periods[job])
    }
}

/// By job: how its steps are put off from `start`.
pub fn time_shifts(demand: &Demand, start: &Start) -> Vec<TimeShift> {
    let mut shifts = vec![TimeShift::default(); demand.jobs.len()];
    let contending = demand.contending();
    let are_neighbors = |first: usize, second: usize| {
        contending.binary_search(&(first.min(second), first.max(second))).is_ok()
    };
    for component in demand.components().into_iter().filter(|jobs| jobs.len() > 1) {
        let part = demand.part(&component);
        let steps: Vec<f64> = part.jobs.iter().map(|job| job.step_alone()).collect();
        let circle = Circle::of(&steps);
        let mut placed = vec![(0, start.0[component[0]])];
        let mut is_beside = true;
        while placed.len() < component.len() {
            let meets =
                |one: &usize| placed.iter().any(|stands| are_neighbors(component[stands.0], component[*one]));
            let waits = |one: &usize| placed.iter().all(|stands| stands.0 != *one);
            let one = (0..component.len()).find(|one| waits(one) && meets(one));
            let one = one.expect("a component hangs together");
            let begin = start.0[component[one]];
            let (by, excess) = shift_beside(&part, &circle, &placed, (one, begin));
            is_beside &= excess <= NOTHING;
            shifts[component[one]].by = by;
            placed.push((one, begin + by));
        }
        for (one, &job) in component.iter().enumerate() {
            shifts[job].period = circle.period(one).filter(|_| is_beside);
        }
    }
    shifts
}

/// Seconds by which a job that would begin a step at `moved` is put off beside jobs that begin theirs as `placed`: the
/// first of the positions at which least of the demand exceeds the capacity, and that excess, 0 where it is rounding.
pub fn shift_beside(
    demand: &Demand,
    circle: &Circle,
    placed: &[(usize, f64)],
    moved: (usize, f64),
) -> (f64, f64) {
    let step = circle.periods[moved.0];
    let shift = |position: u32| f64::from(position) * step / f64::from(POSITIONS);
    let mut best = (f64::INFINITY, 0);
    for position in 0..POSITIONS {
        let excess = excess(demand, circle, placed, (moved.0, moved.1 + shift(position)));
        if excess < best.0 {
            best = (excess, position);
        }
    }
    (shift(best.1), if best.0 <= NOTHING { 0.0 } else { best.0 })
}

/// Mean demand beyond the capacity, over the circle and summed over the contended links of `moved`; of each job with
/// the begin of a step.
fn excess(demand: &Demand, circle: &Circle, placed: &[(usize, f64)], moved: (usize, f64)) -> f64 {
    let jobs: Vec<(usize, f64)> = placed.iter().copied().chain(std::iter::once(moved)).collect();
    let shortest = jobs.iter().map(|&(job, _)| demand.jobs[job].seconds).fold(f64::INFINITY, f64::min);
    // Finer than the positions, or a turn by one of them is not seen.
    let periods = jobs.iter().map(|&(job, _)| circle.periods[job]);
    let finest = periods.fold(f64::INFINITY, f64::min) / f64::from(2 * POSITIONS);
    let samples = (circle.seconds / finest.min(shortest / SAMPLES)).ceil().min(SAMPLES_MOST);
    let mut sum = 0.0;
    for link in demand.contended_links() {
        if demand.jobs[moved.0].share_of(link) == 0.0 {
            continue;
        }
        for sample in 0..samples as u64 {
            let now = (sample as f64 + 0.5) * circle.seconds / samples;
            let wants = |&(number, begin): &(usize, f64)| {
                let job = &demand.jobs[number];
                let since = (now - begin - job.ready).rem_euclid(circle.periods[number]);
                if since < job.seconds { job.share_of(link) } else { 0.0 }
            };
            sum += (jobs.iter().map(wants).sum::<f64>() - 1.0).max(0.0);
        }
    }
    sum / samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_holds_whole_steps_and_draws_none_out_by_more_than_it_may() {
        let of = |steps: &[f64]| {
            let circle = Circle::of(steps);
            (circle.seconds, circle.periods.clone(), circle.is_common)
        };
        assert_eq!(of(&[2.0, 3.0]), (6.0, vec![2.0, 3.0], true));
        // Nearly one, nearly a half: drawn out.
        assert_eq!(of(&[1.0, 1.03]), (1.03, vec![1.03, 1.03], true));
        assert_eq!(of(&[1.01, 2.0]), (2.02, vec![1.01, 2.02], true));
        let (seconds, periods, is_common) = of(&[1.0, 1.3, 1.7]);
        assert!(is_common);
        for (period, step) in periods.iter().zip([1.0, 1.3, 1.7]) {
            let count = seconds / period;
            assert!((count - count.round()).abs() < 1e-9 && *period >= step && *period <= step * (1.0 + OFF));
        }
    }
}

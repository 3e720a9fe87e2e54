//! CASSINI's time shifts (Rajasekaran et al., NSDI '24): steps of jobs that share links are put beside each other in time.
//!
//! A job's communication is an arc of a circle whose perimeter is a step. On the circle of all jobs of a link, the least
//! common multiple of their steps, arcs are turned until as little as possible of the demand exceeds the capacity. Jobs
//! are turned one after another along the affinity graph, each against those that stand already.
use super::contention::Start;
use super::demand::Demand;

/// Positions of a job on its circle, of 5 degrees each as in the paper's experiments.
const POSITIONS: u32 = 72;
/// Longest steps that a circle spans where no common multiple is shorter.
const STEPS_MOST: f64 = 24.0;
/// Samples of a circle for each of its shortest arcs.
const SAMPLES: f64 = 8.0;
/// Most samples of a circle.
const SAMPLES_MOST: f64 = 1e4;
/// Part of a step by which multiples may miss each other and are still common.
const COMMON: f64 = 1e-6;

/// By job: seconds, less than its step, by which its first step is put off from `start`.
pub fn time_shifts(demand: &Demand, start: &Start) -> Vec<f64> {
    let mut shifts = vec![0.0; demand.jobs.len()];
    let contending = demand.contending();
    let are_neighbors = |first: usize, second: usize| {
        contending.binary_search(&(first.min(second), first.max(second))).is_ok()
    };
    for component in demand.components().into_iter().filter(|jobs| jobs.len() > 1) {
        let mut standing = vec![component[0]];
        while standing.len() < component.len() {
            let meets = |job: &usize| standing.iter().any(|&one| are_neighbors(one, *job));
            let waiting = |job: &&usize| !standing.contains(job) && meets(job);
            let job = *component.iter().find(waiting).expect("a component hangs together");
            let placed: Vec<(usize, f64)> =
                standing.iter().map(|&one| (one, start.0[one] + shifts[one])).collect();
            shifts[job] = shift_beside(demand, &placed, (job, start.0[job]));
            standing.push(job);
        }
    }
    shifts
}

/// Seconds by which a job that would begin a step at `moved` is put off beside jobs that begin theirs as `placed`: the
/// first of the positions at which least of the demand exceeds the capacity.
pub fn shift_beside(demand: &Demand, placed: &[(usize, f64)], moved: (usize, f64)) -> f64 {
    let step = demand.jobs[moved.0].step_alone();
    let shift = |position: u32| f64::from(position) * step / f64::from(POSITIONS);
    let mut best = (f64::INFINITY, 0);
    for position in 0..POSITIONS {
        let excess = excess(demand, placed, (moved.0, moved.1 + shift(position)));
        if excess < best.0 {
            best = (excess, position);
        }
    }
    shift(best.1)
}

/// Mean demand beyond the capacity, over the circle and summed over the contended links of `moved`; of each job with
/// the begin of a step.
fn excess(demand: &Demand, placed: &[(usize, f64)], moved: (usize, f64)) -> f64 {
    let jobs: Vec<(usize, f64)> = placed.iter().copied().chain(std::iter::once(moved)).collect();
    let steps: Vec<f64> = jobs.iter().map(|&(job, _)| demand.jobs[job].step_alone()).collect();
    let circle = perimeter(&steps);
    let shortest = jobs.iter().map(|&(job, _)| demand.jobs[job].seconds).fold(f64::INFINITY, f64::min);
    // Finer than the positions, or a turn by one of them is not seen.
    let finest = steps.iter().copied().fold(f64::INFINITY, f64::min) / f64::from(2 * POSITIONS);
    let samples = (circle / finest.min(shortest / SAMPLES)).ceil().min(SAMPLES_MOST);
    let mut sum = 0.0;
    for link in demand.contended_links() {
        if demand.jobs[moved.0].share_of(link) == 0.0 {
            continue;
        }
        for sample in 0..samples as u64 {
            let now = (sample as f64 + 0.5) * circle / samples;
            let wants = |&(job, begin): &(usize, f64)| {
                let job = &demand.jobs[job];
                let since = (now - begin - job.ready).rem_euclid(job.step_alone());
                if since < job.seconds { job.share_of(link) } else { 0.0 }
            };
            sum += (jobs.iter().map(wants).sum::<f64>() - 1.0).max(0.0);
        }
    }
    sum / samples
}

/// The least common multiple of steps, or [`STEPS_MOST`] of the longest where there is none as short.
fn perimeter(steps: &[f64]) -> f64 {
    let longest = steps.iter().copied().fold(0.0, f64::max);
    let is_common = |circle: f64| {
        steps.iter().all(|step| ((circle / step).round() - circle / step).abs() <= COMMON * circle / step)
    };
    (1..=STEPS_MOST as u32)
        .map(|count| f64::from(count) * longest)
        .find(|&circle| is_common(circle))
        .unwrap_or(STEPS_MOST * longest)
}

//! Where the time of a step goes: computation, communication that nothing hides, waiting.
//!
//! Every moment of a lane belongs to one axis: to computation while the lane computes; else to the axis of the
//! communication in flight on that lane (tp, ep, dp, dp_ep in this order); else to pp while a message for the
//! lane is on its way; else to storage while it writes or reads there; else it is idle, the pipeline's bubble. Times
//! are means over the lanes of a job and over its steps within one state of faults, so the parts add up to the mean
//! duration of those steps: the step time.
use railtwin_engine::{Case, JobGraph, OperationTimes, RunLog, WorkGraph};
use railtwin_units::SimTime;
use railtwin_workload::{Axis, OperationId, Work};

use crate::fault_states::{FaultStates, StepTimes};

/// One axis of one job.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AxisTime {
    /// Axis; none = idle.
    pub axis: Option<Axis>,
    /// Seconds of a step that belong to it alone, mean over lanes.
    pub exposed: f64,
    /// Seconds of a step in which any of its operations ran on the lane, mean over lanes.
    pub busy: f64,
    /// Bytes that its operations of a step were handed, mean over lanes.
    pub bytes: f64,
}

/// In order of precedence.
pub const ORDER: [Axis; 8] =
    [Axis::Compute, Axis::Tp, Axis::Ep, Axis::Dp, Axis::DpEp, Axis::Other, Axis::Pp, Axis::Storage];

/// Name in tables; idle where there is no axis.
pub fn axis_name(axis: Option<Axis>) -> &'static str {
    axis.map_or("idle", Axis::name)
}

/// Steps of a job that ended: number, start and end. A step begins where the one before ended, the first with the
/// job: ranks that wait for their input first are within it.
pub fn steps_of(job: &JobGraph, times: &OperationTimes) -> Vec<(u32, SimTime, SimTime)> {
    let length = job.plan.operations.len();
    let mut steps = Vec::new();
    let mut begins = job.start;
    for step in 0..job.steps {
        let first = job.first_operation as usize + step as usize * length;
        let (starts, ends) = (&times.start[first..first + length], &times.end[first..first + length]);
        // A checkpoint that is written beside the steps that follow holds none up.
        let waited = ends.iter().zip(0..).filter(|(_, row)| job.plan.ends_step(OperationId(*row)));
        let (Some(&start), Some(end)) = (starts.iter().min(), waited.map(|(end, _)| *end).max()) else {
            continue;
        };
        if end != SimTime::NEVER {
            steps.push((step, start.min(begins), end));
            begins = end;
        }
    }
    steps
}

/// Splits the time of the lanes of a job, as the mean over the steps of its leading span ([`StepTimes::lead`]), so that
/// the parts add up to its step time; nothing where there are none.
pub fn in_lead(case: &Case, job: usize, log: &RunLog, states: &FaultStates) -> Vec<AxisTime> {
    let Some(graph) = case.work.jobs.get(job) else { return Vec::new() };
    let mut steps = steps_of(graph, &log.times);
    let span = |step: &(u32, SimTime, SimTime)| states.span(job, step.1, step.2);
    let lead = StepTimes::of(steps.iter().map(|step| (span(step), 0.0))).lead();
    steps.retain(|step| Some(span(step)) == lead);
    of_steps(&case.work, job, &log.times, &steps)
}

/// Splits the time of the lanes of a job, as the mean over `steps`; nothing without steps.
fn of_steps(
    work: &WorkGraph,
    job: usize,
    times: &OperationTimes,
    steps: &[(u32, SimTime, SimTime)],
) -> Vec<AxisTime> {
    let Some(graph) = work.jobs.get(job) else { return Vec::new() };
    if steps.is_empty() {
        return Vec::new();
    }
    let lanes = graph.plan.lanes.len().max(1);
    let mut parts: Vec<AxisTime> = ORDER
        .map(Some)
        .into_iter()
        .chain([None])
        .map(|axis| AxisTime { axis, exposed: 0.0, busy: 0.0, bytes: 0.0 })
        .collect();
    // Beginnings and ends of steps are changes too: what lies in no step that ended does not count.
    let windows = steps.iter().flat_map(|&(_, start, end)| [(start, STEP, 1), (end, STEP, -1)]);
    let mut changes: Vec<Vec<(SimTime, usize, i32)>> = vec![windows.collect(); lanes];
    let receivers = receivers(work, job);
    let length = graph.plan.operations.len();
    let mut ended = vec![false; graph.steps as usize];
    for &(step, ..) in steps {
        ended[step as usize] = true;
    }
    for i in 0..length * graph.steps as usize {
        let operation = graph.plan.operations[i % length];
        let at = graph.first_operation as usize + i;
        let (start, end) = (times.start[at], times.end[at]);
        if start == SimTime::NEVER {
            continue;
        }
        let axis = ORDER.iter().position(|&axis| axis == operation.axis).expect("every axis has a rank");
        let lane = receivers[i % length].unwrap_or(operation.lane) as usize;
        changes[lane].extend([(start, axis, 1), (end, axis, -1)]);
        if let Work::Communicate { bytes, .. } = operation.work
            && ended[i / length]
            && graph.plan.is_due(OperationId::from_index(i % length), (i / length) as u32)
        {
            parts[axis].bytes += bytes as f64 / lanes as f64;
        }
    }
    for changes in &mut changes {
        split(changes, lanes as f64, &mut parts);
    }
    for part in &mut parts {
        for value in [&mut part.exposed, &mut part.busy, &mut part.bytes] {
            *value /= steps.len() as f64;
        }
    }
    parts.retain(|part| part.busy > 0.0 || part.axis.is_none());
    parts
}

/// For each operation the lane that waits for it, where another lane does.
fn receivers(work: &WorkGraph, job: usize) -> Vec<Option<u32>> {
    let plan = &work.jobs[job].plan;
    let mut receivers = vec![None; plan.operations.len()];
    for (i, operation) in plan.operations.iter().enumerate() {
        for before in plan.dependencies_of(OperationId::from_index(i)) {
            if plan.operations[before.index()].lane != operation.lane {
                receivers[before.index()] = Some(operation.lane);
            }
        }
    }
    receivers
}

/// Where changes say that a step begins or ends, rather than that an operation of an axis does.
const STEP: usize = ORDER.len();

/// Adds what one lane did within steps to `parts`.
fn split(changes: &mut [(SimTime, usize, i32)], lanes: f64, parts: &mut [AxisTime]) {
    changes.sort_unstable();
    let mut active = [0_i32; ORDER.len() + 1];
    let mut from = SimTime::ZERO;
    let idle = ORDER.len();
    let mut account = |active: &[i32], span: f64| {
        let first = active[..STEP].iter().position(|&count| count > 0).unwrap_or(idle);
        parts[first].exposed += span / lanes;
        if first == idle {
            parts[idle].busy += span / lanes;
        }
        for (axis, _) in active[..STEP].iter().enumerate().filter(|(_, count)| **count > 0) {
            parts[axis].busy += span / lanes;
        }
    };
    for &(time, what, change) in changes.iter() {
        if time > from {
            if active[STEP] > 0 {
                // Where steps overlap each of them lasts through this.
                account(&active, time.since(from).seconds() * f64::from(active[STEP]));
            }
            from = time;
        }
        active[what] += change;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_workload::{Algorithm, Collective, Operation, Pattern, PlanBuilder};

    #[test]
    fn every_moment_belongs_to_one_axis() {
        let mut builder = PlanBuilder::new(2, vec!["a".into(), "b".into()]);
        let pattern = builder.pattern(Pattern::new(
            Axis::Tp,
            Collective::AllReduce,
            Some(Algorithm::Ring),
            vec![vec![0, 1]],
        ));
        let name = builder.name("x");
        let compute = |lane, ns| Operation {
            lane,
            name,
            axis: Axis::Compute,
            work: Work::Compute(SimTime::from_ns(ns)),
        };
        let communicate =
            |axis| Operation { lane: 0, name, axis, work: Work::Communicate { pattern, bytes: 10 } };
        let first = builder.push(compute(0, 10), &[]);
        let hidden = builder.push(communicate(Axis::Tp), &[]);
        let send = builder.push(communicate(Axis::Pp), &[first, hidden]);
        builder.push(compute(1, 5), &[send]);
        let mut work = WorkGraph::default();
        work.push("job".into(), SimTime::ZERO, builder.finish(), 1);
        let ns = |list: [u64; 4]| list.map(SimTime::from_ns).to_vec();
        let times = OperationTimes { start: ns([0, 0, 14, 20]), end: ns([10, 14, 20, 25]) };
        let parts = of_steps(&work, 0, &times, &steps_of(&work.jobs[0], &times));
        let of = |axis| parts.iter().find(|part| part.axis == axis).map_or(0.0, |part| part.exposed * 1e9);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b}");
        // Lane a: 10 compute, 4 tp alone, 11 idle. Lane b: 14 idle, 6 pp, 5 compute.
        close(of(Some(Axis::Compute)), 7.5);
        close(of(Some(Axis::Tp)), 2.0);
        close(of(Some(Axis::Pp)), 3.0);
        close(of(None), 12.5);
        close(parts.iter().map(|part| part.exposed * 1e9).sum(), 25.0);
    }
}

//! Bus bandwidth of jobs that run collectives and nothing else, as nccl-tests reports it.
use railtwin_engine::{JobGraph, RunLog};
use railtwin_units::SimTime;
use railtwin_workload::collective::busbw;
use railtwin_workload::{OperationId, Work};

/// Bits per second of each finished operation of a job without computation; nothing for other jobs.
pub fn of_job<'a>(job: &'a JobGraph, log: &'a RunLog) -> impl Iterator<Item = f64> + 'a {
    let collectives = job.plan.operations.iter().all(|o| matches!(o.work, Work::Communicate { .. }));
    let length = job.plan.operations.len();
    let total = if collectives { length * job.steps as usize } else { 0 };
    (0..total).filter_map(move |i| {
        let id = OperationId::from_index(job.first_operation as usize + i);
        let Work::Communicate { pattern, bytes } = job.plan.operations[i % length].work else { return None };
        let pattern = &job.plan.patterns[pattern.index()];
        let ranks = pattern.communicators.iter().map(Vec::len).max()? as u32;
        let end = log.times.end[id.index()];
        let seconds = end.since(log.times.start[id.index()]).seconds();
        let bits = 8.0 * busbw(pattern.collective, ranks, bytes, seconds);
        (end != SimTime::NEVER && seconds > 0.0).then_some(bits)
    })
}

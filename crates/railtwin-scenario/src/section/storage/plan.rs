//! Operations of checkpoints and reads in the plan of a job.
use railtwin_units::Bytes;
use railtwin_workload::{Axis, Operation, OperationId, Pattern, Plan, PlanBuilder, StorageWay, Work};

use super::{CHECKPOINT, CheckpointSpec, READ};
use crate::JobSpec;

/// The plan with what the job's ranks exchange with storage: behind the last operations of a lane its checkpoint, beside
/// all of them the data of the next step.
pub(crate) fn with_storage(plan: Plan, job: &JobSpec) -> Plan {
    if job.checkpoint.is_none() && job.read.is_none() {
        return plan;
    }
    let lanes: Vec<(u32, Vec<u32>, Vec<OperationId>)> = (0..plan.lanes.len() as u32)
        .map(|lane| (lane, plan.ranks_of_lane(lane), last_of(&plan, lane)))
        .collect();
    let mut builder = PlanBuilder::over(plan);
    for (lane, ranks, last) in &lanes {
        let mut push = |name: &str, way, bytes: Bytes, after: &[OperationId], occasional| {
            let pattern = builder.pattern(Pattern::of_storage(way, ranks));
            let work = Work::Communicate { pattern, bytes: bytes.0 };
            let operation = Operation { lane: *lane, name: builder.name(name), axis: Axis::Storage, work };
            builder.push_occasional(operation, after, occasional);
        };
        if let Some(read) = job.read {
            push(READ, StorageWay::Read, read.bytes_per_gpu, &[], (1, false));
        }
        if let Some(CheckpointSpec { bytes_per_gpu, every, blocking }) = job.checkpoint {
            push(CHECKPOINT, StorageWay::Write, bytes_per_gpu, last, (every, !blocking));
        }
    }
    builder.finish()
}

/// Operations of a lane that no other of it waits for.
fn last_of(plan: &Plan, lane: u32) -> Vec<OperationId> {
    let of_lane = |id: OperationId| plan.operations[id.index()].lane == lane;
    let mut last: Vec<bool> = plan.operations.iter().map(|operation| operation.lane == lane).collect();
    for id in (0..plan.operations.len()).map(OperationId::from_index).filter(|&id| of_lane(id)) {
        plan.dependencies_of(id).iter().for_each(|before| last[before.index()] = false);
    }
    (0..last.len()).filter(|&row| last[row]).map(OperationId::from_index).collect()
}

//! The pipeline stages of a plan as runs of ranks.
use railtwin_workload::Plan;

/// Ranks of each pipeline stage: where a plan has several rank classes, each as many consecutive ranks, in the order of
/// their lanes. None where it has not, as where each rank is a class of its own.
pub fn stage_ranks(plan: &Plan) -> Option<u32> {
    let lanes = plan.lanes.len() as u32;
    if lanes < 2 || lanes >= plan.ranks || !plan.ranks.is_multiple_of(lanes) {
        return None;
    }
    let size = plan.ranks / lanes;
    let is_run = |lane: u32| {
        // Those that send in a lane that only sends are of its stage, but not all of it has to be there.
        plan.ranks_of_lane(lane).iter().all(|rank| rank / size == lane)
    };
    (0..lanes).all(is_run).then_some(size)
}

//! From a job of a scenario to the GPUs of its ranks.
use railtwin_control::placement::{HostTraffic, arranged, stage_ranks};
use railtwin_control::{Place, PlacementError, PlacementPolicy, Placer, RankOrder};
use railtwin_fabric::Fabric;
use railtwin_workload::Plan;

use super::{JobSpec, Placement};

/// What is wrong with the placement of a job: the key, none where it is the job; the problem, and what to do.
pub(crate) type Misplaced = (&'static str, String, &'static str);

/// Where each rank of a job goes, with `priced` for what its ranks send each other: it has the algorithms that run on
/// given places.
pub(crate) fn placed(
    placer: &mut Placer<'_>,
    (fabric, seed): (&Fabric, u64),
    (job, name): (&JobSpec, &str),
    plan: &Plan,
    priced: impl FnOnce(&[Place]) -> Result<Plan, String>,
) -> Result<Vec<Place>, Misplaced> {
    let policy = policy_of(job, plan, fabric)?;
    let most = job.gpus_per_host.unwrap_or(u32::MAX);
    let taken = match job.gpus_of_host.as_slice() {
        [] => placer.place_some(name, plan.ranks, most, &policy),
        gpus => placer.place_on(name, plan.ranks, gpus, &policy),
    };
    let places = taken.map_err(|error| match error {
        PlacementError::Units { .. } => ("placement", error.to_string(), "write another placement"),
        PlacementError::Host { .. } => {
            let hint = "name hosts of the fabric; a job gets only free ones that are no backup hosts";
            ("placement", error.to_string(), hint)
        }
        _ => ("", error.to_string(), "make the job smaller or the fabric larger"),
    })?;
    let places = match (job.rank_order, places.first()) {
        (RankOrder::MinCut, Some(first)) => {
            let priced = priced(&places).map_err(|message| ("collective.algorithm", message, ""))?;
            let of_first = places.iter().take_while(|place| place.host == first.host);
            let gpus: Vec<u32> = of_first.map(|place| place.gpu).collect();
            let traffic = || HostTraffic::of(&priced, fabric.host_model(first.host), &gpus, |_| true);
            arranged(fabric, &places, RankOrder::MinCut, (seed, name), traffic)
        }
        (order, _) => arranged(fabric, &places, order, (seed, name), || HostTraffic::new(0)),
    };
    Ok(places)
}

/// Who takes the hosts.
fn policy_of(job: &JobSpec, plan: &Plan, fabric: &Fabric) -> Result<PlacementPolicy, Misplaced> {
    Ok(match &job.placement {
        Placement::Packed => PlacementPolicy::Packed,
        Placement::Spread => PlacementPolicy::Spread,
        Placement::Random => PlacementPolicy::Random,
        Placement::SegmentFirst => PlacementPolicy::SegmentFirst,
        Placement::Hosts(hosts) => PlacementPolicy::Hosts(hosts.clone()),
        Placement::Near(hosts) => PlacementPolicy::Near(hosts.clone()),
        Placement::PpAcrossPods => {
            let wrong = |message: String| Err(("placement", message, "write segment-first"));
            let Some(stage) = stage_ranks(plan) else {
                return wrong("the job has no pipeline stages that could be cut between pods".to_owned());
            };
            let gpus = fabric.host_models().first().map_or(1, |model| model.gpus);
            if !stage.is_multiple_of(gpus) {
                return wrong(format!("a pipeline stage of {stage} GPUs is not whole hosts of {gpus}"));
            }
            PlacementPolicy::WholeInPods(stage)
        }
    })
}

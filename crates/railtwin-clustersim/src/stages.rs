//! Pipelines that cross pods, and nothing else of a job: HPN section 7, for jobs that come and go.
use std::collections::BTreeMap;

use railtwin_control::{ClusterPlacer, Place, PlacementPolicy};
use railtwin_fabric::{Fabric, HostId};
use railtwin_workload::job_class::ClassStep;

/// Says how each job is placed so that no pod boundary cuts a pipeline stage of it.
///
/// What is not cut are the fewest stages that fill whole hosts. Jobs without a pipeline, and those whose stages the pods
/// of the empty cluster do not hold so, would wait for ever: they are placed segment-first.
#[derive(Debug)]
pub struct StagesInPods {
    /// The cluster with nobody on it.
    empty: ClusterPlacer,
    gpus_of_host: u32,
    /// By GPUs of a job and of what is not cut, whether pods hold it.
    held: BTreeMap<(u32, u32), bool>,
}

impl StagesInPods {
    /// For jobs on this fabric, of which these GPUs are none's.
    pub fn new(fabric: &Fabric, serve: &[Place]) -> Self {
        // Whether a job fits is no matter of lots.
        let mut empty = ClusterPlacer::new(fabric, 0);
        empty.occupy(serve, (0.0, 0.0));
        Self { empty, gpus_of_host: fabric.host_model(HostId(0)).gpus.max(1), held: BTreeMap::new() }
    }

    /// How a job with such steps is placed, and whether it has stages that pods do not hold.
    pub fn policy(&mut self, gpus: u32, step: &ClassStep) -> (PlacementPolicy, bool) {
        if step.pipeline < 2 || gpus > self.empty.free_gpus() {
            return (PlacementPolicy::SegmentFirst, false);
        }
        let stage = u64::from(step.tensor) * u64::from(step.data);
        let unit = stage / divisor(stage, u64::from(self.gpus_of_host)) * u64::from(self.gpus_of_host);
        // What has more GPUs than the cluster is not cut anyway.
        let unit = u32::try_from(unit).unwrap_or(u32::MAX);
        let policy = PlacementPolicy::WholeInPods(unit);
        let empty = &self.empty;
        let holds = || empty.clone().place(0, gpus, &policy).is_some();
        let is_held = *self.held.entry((gpus, unit)).or_insert_with(holds);
        if is_held { (policy, false) } else { (PlacementPolicy::SegmentFirst, true) }
    }
}

/// Greatest common divisor (Euclid).
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a.max(1) } else { divisor(b, a % b) }
}

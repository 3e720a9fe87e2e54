//! Work on a fabric, ready for an engine.
//!
//! All of them are what a scenario has by default, but that the network knows of a fault at once; what a test asks for
//! besides it sets itself.
use std::sync::Arc;

use railtwin_control::{PlacementPolicy, Placer};
use railtwin_engine::{Case, Reaction, Resume, Transport, WorkGraph};
use railtwin_fabric::Fabric;
use railtwin_units::SimTime;
use railtwin_workload::{Algorithm, Collective, Plan};

use crate::fabrics::gpus;
use crate::works;

/// Timers of 4.194304 ms, of which a queue pair lives through seven and dies at the eighth.
pub const QUICK: Transport =
    Transport { timeout: 10, timeout_factor: 1, retry_count: 7, resume: Resume::Nak };
/// The timer of [`QUICK`].
pub const ACK_TIMEOUT: SimTime = SimTime::from_ns(4_194_304);

/// Jobs that start together, each placed on what those before have left.
pub fn jobs(fabric: impl Into<Arc<Fabric>>, plans: Vec<(Plan, PlacementPolicy)>) -> Case {
    placed(fabric.into(), plans, 1)
}

/// One job, packed.
pub fn job(fabric: impl Into<Arc<Fabric>>, plan: Plan) -> Case {
    jobs(fabric, vec![(plan, PlacementPolicy::Packed)])
}

/// One job over all GPUs that runs one pattern in each of so many steps.
pub fn pattern(
    fabric: impl Into<Arc<Fabric>>,
    kind: (Collective, Algorithm),
    communicators: Vec<Vec<u32>>,
    bytes: u64,
    steps: u32,
) -> Case {
    let fabric = fabric.into();
    let plan = works::in_turn(gpus(&fabric), kind, communicators, bytes, 1);
    placed(fabric, vec![(plan, PlacementPolicy::Packed)], steps)
}

fn placed(fabric: Arc<Fabric>, plans: Vec<(Plan, PlacementPolicy)>, steps: u32) -> Case {
    let mut placer = Placer::new(&fabric, 1);
    let (mut work, mut placements) = (WorkGraph::default(), Vec::new());
    for (row, (plan, policy)) in plans.into_iter().enumerate() {
        let places = placer.place(&row.to_string(), plan.ranks, &policy);
        placements.push(places.expect("the fabric has room for the jobs"));
        work.push(format!("job-{row}"), SimTime::ZERO, plan, steps);
    }
    Case { reaction: Reaction::INSTANT, ..Case::new(fabric, work, placements) }
}

/// Pairs that send `bytes` each, all at once.
pub fn pairs(fabric: impl Into<Arc<Fabric>>, pairs: &[(u32, u32)], bytes: u64) -> Case {
    let kind = (Collective::SendReceive, Algorithm::Direct);
    pattern(fabric, kind, works::together(pairs), bytes, 1)
}

/// One collective over all GPUs.
pub fn collective(
    fabric: impl Into<Arc<Fabric>>,
    kind: Collective,
    algorithm: Algorithm,
    bytes: u64,
) -> Case {
    let fabric = fabric.into();
    let all = vec![(0..gpus(&fabric)).collect()];
    pattern(fabric, (kind, algorithm), all, bytes, 1)
}

/// Jobs of two hosts that send one message each, in place of the work of `case`: source, target, bytes, start. Hosts may
/// have several.
pub fn messages(case: Case, sends: &[(u32, u32, u64, SimTime)]) -> Case {
    let (mut work, mut placements) = (WorkGraph::default(), Vec::new());
    for &(source, target, bytes, start) in sends {
        let policy = PlacementPolicy::Hosts(vec![source, target]);
        let places = Placer::new(&case.fabric, 1).place("job", 2, &policy);
        placements.push(places.expect("there are such hosts"));
        work.push("job".into(), start, works::send(bytes, 1), 1);
    }
    Case { work, placements, ..case }
}

//! What is asked: jobs, and the policies of queue, placement and sharing.
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_control::{Place, PlacementPolicy, RankOrder};
use railtwin_units::Bytes;
use railtwin_workload::job_class::ClassStep;

use crate::serving::Serving;

railtwin_units::choice! {
    /// Who of those that wait is next.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum QueuePolicy {
        /// In the order in which they came; who does not fit holds up the others.
        #[default]
        Fifo = "fifo",
        /// In that order, but who fits goes ahead where the first that waits does not start later by it (EASY: Lifka 1995).
        Backfill = "backfill",
    }
}

/// A job as it is submitted.
#[derive(Clone, Debug)]
pub struct ClusterJob {
    /// Name.
    pub name: String,
    /// What it trains.
    pub class: String,
    /// Seconds from the begin.
    pub submitted: f64,
    /// GPUs.
    pub gpus: u32,
    /// Seconds for which it would run if nobody were in its way, a whole number of steps after rounding.
    pub duration: f64,
    /// What a step of it is.
    pub step: ClassStep,
    /// GPUs that it wants, in the order of its ranks; none: those that the placement gives it.
    pub places: Vec<Place>,
    /// Where it is to be placed, if otherwise than all.
    pub placement: Option<PlacementPolicy>,
    /// Time for which it would write checkpoints alone, and stand still, over the time of its steps alone: what a scheduler
    /// knows of them.
    pub checkpoints: f64,
}

/// What jobs write to storage, standing still until all of it is there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Checkpoints {
    /// Bytes of each GPU.
    pub bytes_per_gpu: Bytes,
    /// Seconds of steps alone from one to the next.
    pub every: f64,
}

/// How a cluster is run.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// Seconds that are looked at.
    pub span: f64,
    /// Who is next.
    pub queue: QueuePolicy,
    /// Which GPUs a job gets.
    pub placement: PlacementPolicy,
    /// Which ranks sit on which of these; who names its GPUs says it by their order.
    pub rank_order: RankOrder,
    /// Seconds for which a job stands still that moves so that another fits a segment; none: nobody moves.
    pub defragment: Option<f64>,
    /// What jobs write to storage hosts; none: nothing.
    pub checkpoints: Option<Checkpoints>,
    /// Bytes that each GPU reads from storage hosts beside each step; none: nothing.
    pub reads: Option<Bytes>,
    /// GPUs that serve inference, which no job has, and what that takes of links; none: nobody does.
    pub serving: Option<Serving>,
    /// Whose communication goes first and by which path.
    pub sharing: SharingPolicy,
    /// Priority levels of the network.
    pub levels: u32,
    /// Whether Crux holds back what lower levels send over PCIe: its priorities hold in the network alone. Without a gate,
    /// and under other policies, all share links inside hosts alike.
    pub gate: bool,
    /// Seconds from an arrival or a departure until paths and priorities are planned anew; who came runs first until
    /// then under policies that measure it.
    pub replan: f64,
    /// Queue pairs of each port between two NICs.
    pub queue_pairs: u32,
    /// Share by which a step computes longer or shorter at most.
    pub jitter: f64,
    /// Share within which a pace must be known before time is skipped; 0 = nothing is skipped, as where steps jitter.
    pub steady: f64,
    /// Seed of hashes, lots and jitter.
    pub seed: u64,
}

impl Ask {
    /// Where a job is to be placed.
    pub fn placement_of<'a>(&'a self, job: &'a ClusterJob) -> &'a PlacementPolicy {
        job.placement.as_ref().unwrap_or(&self.placement)
    }
}

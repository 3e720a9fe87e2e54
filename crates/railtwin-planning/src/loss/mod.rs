//! Losses by lost part: GPUs and pairs cut off, bandwidth that is left, whether a job stops.
//!
//! Devices of a [`ClosSpec`] are alike within their class, so one of each class stands for all and no graph is built.
//! Bandwidth is what a GPU has while every GPU sends at once. Towards its leaf set its own ports bound it; towards other
//! segments and rails the uplinks of its leaf too; towards other pods what the spines of its pod carry to the cores, which is the
//! least cut between leaves and cores. A share compares it with the whole fabric's.
mod capacity;
mod goals;
mod report;

use railtwin_fabric::clos::ClosSpec;
use serde::Serialize;

pub(crate) use capacity::bisection;
pub use goals::{Goal, Goals};

railtwin_units::choice! {
    /// A class of parts, of which one is lost.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum LostPart {
        /// A leaf.
        Leaf = "leaf",
        /// A spine.
        Spine = "spine",
        /// A core.
        Core = "core",
        /// A port of a NIC, or the cable from it to its leaf.
        NicPort = "NIC port or its cable",
        /// A cable from leaf to spine.
        LeafSpineCable = "leaf-spine cable",
        /// A cable from spine to core.
        SpineCoreCable = "spine-core cable",
        /// All switches of a plane; where there is one plane, of the network.
        Plane = "plane",
    }
}

/// Shares of its bandwidth that a GPU keeps, 0 to 1.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Kept {
    /// Of the GPU that loses most.
    pub worst: f64,
    /// Mean over all GPUs.
    pub mean: f64,
}

/// Loss of one part.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Loss {
    /// The part.
    pub part: LostPart,
    /// How many of it there are.
    pub count: u64,
    /// GPUs without a path to any GPU of another host.
    pub gpus_cut: u64,
    /// Pairs of GPUs of different hosts that lose their last path. GPUs do not relay for each other.
    pub pairs_cut: u64,
    /// GPUs that lose bandwidth.
    pub gpus_slowed: u64,
    /// Kept towards the GPUs of the same leaf set.
    pub to_leaf_set: Kept,
    /// Kept towards other leaf sets of the pod, those of other segments and other rails; none where there is one.
    pub to_segments: Option<Kept>,
    /// Kept towards other pods; none where there is one pod.
    pub to_pods: Option<Kept>,
    /// Bisection that is left, as a share.
    pub bisection: f64,
    /// Whether a ring all-reduce over all GPUs stops: a ring needs every pair of neighbors.
    pub stops_ring: bool,
}

impl Loss {
    /// Least share that any GPU keeps in any direction.
    pub fn worst(&self) -> f64 {
        let others = [self.to_segments, self.to_pods].into_iter().flatten().map(|kept| kept.worst);
        others.fold(self.to_leaf_set.worst, f64::min)
    }

    /// Whether the part alone cuts any pair of GPUs.
    pub const fn is_single_point_of_failure(&self) -> bool {
        self.pairs_cut > 0
    }
}

/// Losses by class of parts.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct LossReport {
    /// A row for each class that the fabric has, from the leaf up.
    pub losses: Vec<Loss>,
    /// Remarks, such as why there are no rows.
    pub notes: Vec<String>,
}

impl LossReport {
    /// Computes what each class takes. A rail-only tier 2, whose pairs the switches do not all join, and cables
    /// between switches of one tier give a note in place of rows.
    pub fn of(spec: &ClosSpec) -> Self {
        report::report(spec)
    }

    /// The row of a class.
    pub fn of_part(&self, part: LostPart) -> Option<&Loss> {
        self.losses.iter().find(|loss| loss.part == part)
    }

    /// Parts that alone cut pairs of GPUs: class and count. Planes are no single parts.
    pub fn single_points_of_failure(&self) -> Vec<(LostPart, u64)> {
        let points = self.losses.iter().filter(|loss| loss.part != LostPart::Plane);
        points.filter(|loss| loss.is_single_point_of_failure()).map(|loss| (loss.part, loss.count)).collect()
    }
}

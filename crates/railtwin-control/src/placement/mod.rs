//! Placement: which GPU each rank of a job gets.
//!
//! * [`Placer`]: whole hosts for the jobs of a scenario.
//! * [`ClusterPlacer`]: GPUs for jobs that come and go, several on a host where they are small.
//!
//! Both take hosts in the order of a [`PlacementPolicy`] and leave backup hosts alone. [`arranged`] says which ranks sit
//! on which of them, [`min_cut`] by what they send each other ([`HostTraffic`]); [`substituted`] puts a spare in the
//! place of a host, and [`ClusterPlacer::defragment`] says which jobs to move so that another fits a segment.
mod cells;
mod cluster;
mod defragment;
mod fewest;
mod ground;
mod interleave;
mod min_cut;
mod order;
mod phases;
mod placer;
mod rank_order;
mod stages;
mod traffic;

use railtwin_fabric::HostId;

pub use self::cluster::ClusterPlacer;
pub use self::defragment::{Defragmentation, Move};
pub use self::interleave::interleaving_efficiency;
pub use self::min_cut::min_cut;
pub use self::phases::Phases;
pub use self::placer::Placer;
pub use self::rank_order::{RankOrder, arranged};
pub use self::stages::stage_ranks;
pub use self::traffic::HostTraffic;

/// Where a rank sits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// Host.
    pub host: HostId,
    /// GPU in the host.
    pub gpu: u32,
}

/// How free hosts are chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlacementPolicy {
    /// In order of their ids: segment after segment.
    Packed,
    /// In turn from every segment.
    Spread,
    /// By lot.
    Random,
    /// In the fewest segments, of which a job that one holds gets the tightest.
    SegmentFirst,
    /// As near as can be to these hosts: in their segments first, then in their pods.
    Near(Vec<u32>),
    /// Units of so many GPUs, such as pipeline stages, none of which a boundary of pods cuts: what passes between units
    /// alone crosses pods (HPN section 7). As [`Self::SegmentFirst`] where one pod holds all. A unit is whole hosts.
    WholeInPods(u32),
    /// These hosts in this order.
    Hosts(Vec<u32>),
    /// The smallest free cell that holds a job, so that large cells stay whole (as HiveD's buddies do). For jobs that come
    /// and go; whole hosts are taken as [`Self::SegmentFirst`] does.
    Cells,
    /// Beside jobs that compute while it communicates (after Muri). For jobs that come and go; else as
    /// [`Self::SegmentFirst`].
    Interleaved,
}

/// A job that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlacementError {
    /// Fewer free GPUs than ranks.
    #[error("job {job:?} wants {wanted} GPUs, but {free} of the fabric's {active} active GPUs are free")]
    TooFewGpus {
        /// Job name.
        job: String,
        /// GPUs wanted.
        wanted: u32,
        /// GPUs free.
        free: u32,
        /// Active GPUs.
        active: u32,
    },
    /// Units that pods do not hold whole.
    #[error(
        "job {job:?} has {units} parts of {unit} GPUs that are to stay in a pod each, and the free hosts of pods hold fewer"
    )]
    Units {
        /// Job name.
        job: String,
        /// How many.
        units: u32,
        /// GPUs of each.
        unit: u32,
    },
    /// A host that the fabric does not have, or that is a spare, or taken.
    #[error("job {job:?} names host {host}: {problem}")]
    Host {
        /// Job name.
        job: String,
        /// Host as named.
        host: u32,
        /// What is wrong with it.
        problem: String,
    },
}

/// The places of a job where `spare` has taken the place of `lost`: every rank keeps its number and its GPU's.
pub fn substituted(places: &[Place], lost: HostId, spare: HostId) -> Vec<Place> {
    let moved = |place: &Place| match place.host == lost {
        true => Place { host: spare, ..*place },
        false => *place,
    };
    places.iter().map(moved).collect()
}

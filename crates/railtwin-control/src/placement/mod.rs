//! Placement: which GPU each rank of a job gets.
//!
//! * [`Placer`]: whole hosts for the jobs of a scenario.
//! * [`ClusterPlacer`]: GPUs for jobs that come and go, several on a host where they are small.
//!
//! Both take hosts in the order of a [`PlacementPolicy`] and leave backup hosts alone.
mod cluster;
mod fewest;
mod ground;
mod order;
mod placer;

use railtwin_fabric::HostId;

pub use self::cluster::ClusterPlacer;
pub use self::placer::Placer;

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
    /// These hosts in this order.
    Hosts(Vec<u32>),
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

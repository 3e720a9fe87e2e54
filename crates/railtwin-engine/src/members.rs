//! Where the ranks of a communicator sit.
use railtwin_workload::Member;

use crate::case::Case;

/// Where the ranks of a communicator sit.
pub(crate) fn members_of(case: &Case, job: usize, communicator: &[u32]) -> Vec<Member> {
    let places = &case.placements[job];
    let member = |&rank: &u32| {
        let place = places[rank as usize];
        let nic = case.fabric.host_model(place.host).nic_of_gpu(place.gpu);
        Member { rank, host: place.host.0, gpu: place.gpu, nic }
    };
    communicator.iter().map(member).collect()
}

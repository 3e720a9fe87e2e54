//! What of a pattern decides its cost: the group of its slowest communicator, and the algorithm that runs on its hosts.
use railtwin_control::Place;
use railtwin_workload::{Algorithm, Group, Member, Pattern};

/// The communicator of a pattern on most hosts, and of those the one of most ranks: the slowest.
pub(crate) fn largest(pattern: &Pattern, places: &[Place]) -> Group {
    let of = |ranks: &[u32]| {
        // Of transfers senders and receivers alternate, so that most ranks are there twice.
        let mut ranks = ranks.to_vec();
        ranks.sort_unstable();
        ranks.dedup();
        let member = |&rank: &u32| {
            let place = places[rank as usize];
            Member { rank, host: place.host.0, gpu: place.gpu, nic: 0 }
        };
        Group::of_members(&ranks.iter().map(member).collect::<Vec<_>>())
    };
    let groups = pattern.communicators.iter().map(|ranks| of(ranks));
    groups.max_by_key(|group| (group.hosts, group.ranks)).unwrap_or(Group { ranks: 0, hosts: 0, local: 0 })
}

/// What runs where an algorithm was asked for: NVLS algorithms over hosts become rings where hosts have no NVSwitch, one rank
/// or different numbers of them, as [`railtwin_workload::nvls_tree`] lays them.
pub(crate) fn what_runs(algorithm: Algorithm, group: Group, switch: bool) -> Algorithm {
    let Group { ranks, hosts, local } = group;
    match algorithm {
        Algorithm::NvlsTree | Algorithm::NvlsRing if !switch || local < 2 || ranks != hosts * local => {
            Algorithm::Ring
        }
        Algorithm::Forward if !switch => Algorithm::Direct,
        other => other,
    }
}

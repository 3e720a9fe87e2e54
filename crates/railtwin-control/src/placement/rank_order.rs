//! Which ranks sit on which of a job's hosts.
use std::collections::BTreeMap;

use railtwin_fabric::{Fabric, HostId};
use railtwin_units::stream;

use super::ground::Ground;
use super::min_cut::min_cut;
use super::order::shuffled;
use super::{HostTraffic, Place};

railtwin_units::choice! {
    /// In which order ranks fill a job's hosts.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum RankOrder {
        /// In that in which the placement took them.
        Given = "given",
        /// Pod by pod, segment by segment: a ring over consecutive ranks enters and leaves each segment once.
        Topology = "topology",
        /// By lot.
        Random = "random",
        /// So that little crosses pods, and within a pod segments: Meta's minimum cut. Where the job has not as many GPUs
        /// of each host it is `topology`: ranks of a host are then not those of another.
        MinCut = "min-cut",
    }
}

/// The same GPUs with the job's hosts in another order; those of a host keep theirs. Lots are drawn by the seed and the
/// job's name; `traffic` is asked for the minimum cut alone and has as many blocks as the job hosts.
pub fn arranged(
    fabric: &Fabric,
    places: &[Place],
    order: RankOrder,
    (seed, job): (u64, &str),
    traffic: impl FnOnce() -> HostTraffic,
) -> Vec<Place> {
    let ground = Ground::of(fabric);
    let mut hosts: Vec<HostId> = Vec::new();
    let mut of_host: BTreeMap<HostId, Vec<Place>> = BTreeMap::new();
    for &place in places {
        let own = of_host.entry(place.host).or_default();
        if own.is_empty() {
            hosts.push(place.host);
        }
        own.push(place);
    }
    let stands = |host: &HostId| (ground.pod(*host), ground.segment(*host), *host);
    let alike = hosts.iter().all(|host| of_host[host].len() == of_host[&hosts[0]].len());
    match order {
        RankOrder::Given => return places.to_vec(),
        RankOrder::Random => {
            hosts = shuffled(hosts, &mut stream::named(seed, &format!("rank-order/{job}")));
        }
        RankOrder::MinCut if alike => hosts = least_crossing(&ground, &hosts, &traffic()),
        RankOrder::Topology | RankOrder::MinCut => hosts.sort_unstable_by_key(stands),
    }
    hosts.iter().flat_map(|host| of_host[host].iter().copied()).collect()
}

/// The host of each block: first blocks to pods, then those of a pod to its segments; within one they keep their order.
fn least_crossing(ground: &Ground, hosts: &[HostId], traffic: &HostTraffic) -> Vec<HostId> {
    let mut chosen = hosts.to_vec();
    let blocks: Vec<u32> = (0..hosts.len() as u32).collect();
    for (hosts, blocks) in divided(traffic, hosts, &blocks, |host| ground.pod(host)) {
        for (mut hosts, mut blocks) in divided(traffic, &hosts, &blocks, |host| ground.segment(host)) {
            hosts.sort_unstable();
            blocks.sort_unstable();
            for (host, block) in hosts.into_iter().zip(blocks) {
                chosen[block as usize] = host;
            }
        }
    }
    chosen
}

/// Hosts of each zone with the blocks that go there; `blocks` sit on `hosts` in their order.
fn divided(
    traffic: &HostTraffic,
    hosts: &[HostId],
    blocks: &[u32],
    zone: impl Fn(HostId) -> u32,
) -> Vec<(Vec<HostId>, Vec<u32>)> {
    let mut of_zone: BTreeMap<u32, Vec<HostId>> = BTreeMap::new();
    for &host in hosts {
        of_zone.entry(zone(host)).or_default().push(host);
    }
    let names: Vec<u32> = of_zone.keys().copied().collect();
    let row = |host: &HostId| names.binary_search(&zone(*host)).unwrap_or_default() as u32;
    let sizes: Vec<u32> = of_zone.values().map(|hosts| hosts.len() as u32).collect();
    let given: Vec<u32> = hosts.iter().map(row).collect();
    let zones = min_cut(&traffic.among(blocks), &sizes, &given);
    let mut divided: Vec<(Vec<HostId>, Vec<u32>)> =
        of_zone.into_values().map(|hosts| (hosts, Vec::new())).collect();
    for (&block, zone) in blocks.iter().zip(zones) {
        divided[zone as usize].1.push(block);
    }
    divided
}

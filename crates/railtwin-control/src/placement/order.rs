//! Free hosts in the order in which a policy takes them.
use std::collections::BTreeMap;

use railtwin_fabric::HostId;
use railtwin_units::stream::Stream;
use rand::RngExt;

use super::PlacementPolicy;
use super::fewest::fewest;
use super::ground::Ground;

/// The hosts `free`, which ascend, in the order of a policy. Where they have `wanted` GPUs, so have those that come back;
/// policies that count segments leave hosts away that they need not. `lot` is asked by lots alone.
pub(super) fn ordered(
    ground: &Ground,
    free: Vec<HostId>,
    wanted: u32,
    policy: &PlacementPolicy,
    lot: impl FnOnce() -> Stream,
) -> Vec<HostId> {
    match policy {
        PlacementPolicy::Packed => free,
        PlacementPolicy::Spread => spread(ground, &free),
        PlacementPolicy::Random => shuffled(free, &mut lot()),
        PlacementPolicy::SegmentFirst | PlacementPolicy::Cells | PlacementPolicy::Interleaved => {
            segment_first(ground, free, wanted)
        }
        PlacementPolicy::Near(anchors) => near(ground, &free, wanted, anchors),
        PlacementPolicy::WholeInPods(unit) => whole_in_pods(ground, free, wanted, *unit),
        PlacementPolicy::Hosts(hosts) => {
            hosts.iter().map(|&host| HostId(host)).filter(|host| free.binary_search(host).is_ok()).collect()
        }
    }
}

/// A host of every segment in turn.
fn spread(ground: &Ground, free: &[HostId]) -> Vec<HostId> {
    // Rank of a host among the free ones of its segment first, then the segment.
    let mut seen = vec![0_u32; ground.pod_of.len()];
    let mut keyed: Vec<(u32, HostId)> = free
        .iter()
        .map(|&host| {
            let count = &mut seen[ground.segment(host) as usize];
            *count += 1;
            (*count, host)
        })
        .collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, host)| host).collect()
}

/// Fisher and Yates.
pub(super) fn shuffled(mut hosts: Vec<HostId>, lot: &mut Stream) -> Vec<HostId> {
    for last in (1..hosts.len()).rev() {
        hosts.swap(last, lot.random_range(0..=last));
    }
    hosts
}

/// GPUs of hosts by a key, keys ascending.
fn capacities(ground: &Ground, hosts: &[HostId], key: impl Fn(HostId) -> u32) -> Vec<(u32, u32)> {
    let mut sums: BTreeMap<u32, u32> = BTreeMap::new();
    for &host in hosts {
        *sums.entry(key(host)).or_default() += ground.gpus[host.index()];
    }
    sums.into_iter().collect()
}

/// Hosts of the fewest segments. One pod holds the job where one can: that in which it takes the fewest segments, of these
/// the tightest. Otherwise it gets the fewest pods, and of their segments the fewest.
fn segment_first(ground: &Ground, free: Vec<HostId>, wanted: u32) -> Vec<HostId> {
    let segments = capacities(ground, &free, |host| ground.segment(host));
    let pods = capacities(ground, &free, |host| ground.pod(host));
    let of_pods = |pods: &[u32]| -> Vec<(u32, u32)> {
        let in_pods = |segment: &&(u32, u32)| pods.contains(&ground.pod_of[segment.0 as usize]);
        segments.iter().filter(in_pods).copied().collect()
    };
    let alone = pods.iter().filter(|pod| pod.1 >= wanted).map(|&(pod, free)| {
        let mine = of_pods(&[pod]);
        let chosen = fewest(&mine, wanted);
        let held: u32 =
            mine.iter().filter(|segment| chosen.contains(&segment.0)).map(|segment| segment.1).sum();
        (chosen.len(), held, free, chosen)
    });
    // `min` takes the first of equals: the pod of the lowest number.
    let chosen = match alone.min_by(|a, b| (a.0, a.1, a.2).cmp(&(b.0, b.1, b.2))) {
        Some((.., chosen)) => chosen,
        None => fewest(&of_pods(&fewest(&pods, wanted)), wanted),
    };
    let mut hosts: Vec<HostId> =
        free.into_iter().filter(|&host| chosen.binary_search(&ground.segment(host)).is_ok()).collect();
    hosts.sort_by_key(|&host| ground.segment(host));
    hosts
}

/// The nearest hosts first; of those of one distance that are more than needed, those of the fewest segments.
fn near(ground: &Ground, free: &[HostId], wanted: u32, anchors: &[u32]) -> Vec<HostId> {
    let (mut hosts, mut rest) = (Vec::new(), wanted);
    for distance in 0..=3 {
        let alike = |host: &HostId| ground.distance_to_any(*host, anchors) == distance;
        let ring: Vec<HostId> = free.iter().copied().filter(alike).collect();
        let chosen = segment_first(ground, ring, rest);
        let held: u32 = chosen.iter().map(|host| ground.gpus[host.index()]).sum();
        hosts.extend(chosen);
        rest = rest.saturating_sub(held);
        if rest == 0 {
            break;
        }
    }
    hosts
}

/// Hosts for units of `unit` GPUs that no pod boundary cuts: as [`segment_first`] where one pod holds all, else in the
/// fewest pods, the units one after another. None where pods do not hold them so.
pub(super) fn whole_in_pods(ground: &Ground, free: Vec<HostId>, wanted: u32, unit: u32) -> Vec<HostId> {
    let unit = unit.max(1);
    let pods = capacities(ground, &free, |host| ground.pod(host));
    if pods.iter().any(|pod| pod.1 >= wanted) {
        return segment_first(ground, free, wanted);
    }
    let of_pod =
        |pod: u32| -> Vec<HostId> { free.iter().copied().filter(|&host| ground.pod(host) == pod).collect() };
    let units: Vec<(u32, u32)> =
        pods.iter().map(|&(pod, _)| (pod, units_of(ground, &of_pod(pod), unit))).collect();
    let mut rest = wanted.div_ceil(unit);
    let mut hosts = Vec::new();
    for pod in fewest(&units, rest) {
        let held = units.iter().find(|known| known.0 == pod).map_or(0, |known| known.1).min(rest);
        let gpus = held * unit;
        let mut taken = 0;
        let enough = segment_first(ground, of_pod(pod), gpus).into_iter().take_while(|host| {
            let more = taken < gpus;
            taken += ground.gpus[host.index()];
            more
        });
        hosts.extend(enough);
        rest -= held;
    }
    if rest > 0 { Vec::new() } else { hosts }
}

/// Units that hosts hold, each on hosts of its own.
fn units_of(ground: &Ground, hosts: &[HostId], unit: u32) -> u32 {
    let (mut units, mut held) = (0, 0);
    for host in hosts {
        held += ground.gpus[host.index()];
        if held >= unit {
            (units, held) = (units + 1, 0);
        }
    }
    units
}

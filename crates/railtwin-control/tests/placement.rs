//! Jobs that come and go on a cluster.
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use railtwin_control::placement::substituted;
use railtwin_control::{ClusterPlacer, Place, PlacementPolicy, Placer};
use railtwin_fabric::preset::{DcnPlus, Hpn};
use railtwin_fabric::{Fabric, HostId};

fn hpn(segments: u32, hosts: u32, spare_hosts: u32) -> Fabric {
    let spec = Hpn {
        segments: Some(segments),
        hosts: Some(hosts),
        spare_hosts: Some(spare_hosts),
        ..Hpn::default()
    };
    spec.build().expect("the counts fit")
}

fn policies() -> [PlacementPolicy; 6] {
    [
        PlacementPolicy::Packed,
        PlacementPolicy::Spread,
        PlacementPolicy::Random,
        PlacementPolicy::SegmentFirst,
        PlacementPolicy::Near(vec![5]),
        PlacementPolicy::WholeInPods(8),
    ]
}

/// Segments of places, with their pods.
fn segments(fabric: &Fabric, places: &[Place]) -> BTreeSet<(u32, u32)> {
    let of = |place: &Place| (fabric.host(place.host).pod, fabric.host(place.host).segment);
    places.iter().map(of).collect()
}

#[test]
fn small_jobs_fill_hosts_that_are_partly_used_first() {
    let fabric = hpn(2, 4, 0);
    let mut cluster = ClusterPlacer::new(&fabric, 1);
    for policy in policies() {
        let before = cluster.clone();
        let first = cluster.place(0, 3, &policy).unwrap();
        let second = cluster.place(1, 4, &policy).unwrap();
        assert_eq!(first[0].host, second[0].host, "{policy:?}");
        // One is left there: 2 go elsewhere, 1 fits.
        let third = cluster.place(2, 2, &policy).unwrap();
        assert_ne!(third[0].host, first[0].host, "{policy:?}");
        assert_eq!(cluster.place(3, 1, &policy).unwrap()[0].host, first[0].host, "{policy:?}");
        // What is no whole host goes on a part of one.
        let large = cluster.place(4, 12, &policy).unwrap();
        assert_eq!(large[8..].iter().map(|place| place.host).collect::<BTreeSet<_>>().len(), 1);
        assert_eq!(large[8].host, third[0].host, "{policy:?}");
        cluster = before;
    }
}

#[test]
fn a_host_that_is_lost_gives_its_place_to_a_spare_of_its_segment() {
    let fabric = hpn(2, 4, 1);
    let mut cluster = ClusterPlacer::new(&fabric, 1);
    let places = cluster.place(0, 36, &PlacementPolicy::Packed).unwrap();
    let lost = places[8].host;
    let spare = cluster.substitute(lost).unwrap();
    assert!(fabric.host(spare).spare);
    assert_eq!(fabric.host(spare).segment, fabric.host(lost).segment);
    let moved = substituted(&places, lost, spare);
    for (before, after) in places.iter().zip(&moved) {
        assert_eq!(before.gpu, after.gpu);
        assert_eq!(after.host, if before.host == lost { spare } else { before.host });
    }
    // The segment has no other; nothing is placed on the lost host, and all is given back.
    assert_eq!(cluster.substitute(places[0].host), None);
    assert_eq!((cluster.free_gpus(), cluster.free_on(lost)), (28, 0));
    cluster.release(&moved);
    assert_eq!(cluster.free_gpus(), 64);
    // Back from repair it is a spare, and takes the place of the next.
    cluster.keep(lost);
    assert_eq!(cluster.substitute(places[0].host), Some(lost));
}

#[test]
fn a_closed_host_is_left_alone_and_keeps_its_jobs() {
    let fabric = hpn(1, 2, 0);
    let mut cluster = ClusterPlacer::new(&fabric, 1);
    let places = cluster.place(0, 4, &PlacementPolicy::Packed).unwrap();
    cluster.close(places[0].host);
    cluster.close(places[0].host);
    assert_eq!(cluster.free_gpus(), 8);
    assert_ne!(cluster.place(1, 2, &PlacementPolicy::Packed).unwrap()[0].host, places[0].host);
    cluster.release(&places);
    assert_eq!(cluster.free_gpus(), 6);
    cluster.open(places[0].host);
    assert_eq!(cluster.free_gpus(), 14);
}

#[test]
fn near_takes_the_segment_of_its_hosts_then_their_pod() {
    let fabric = DcnPlus { pods: 2, ..DcnPlus::default() }.build().unwrap();
    let in_pod = |pod: u32| fabric.hosts().iter().filter(|host| host.pod == pod).count() as u32;
    let anchor = fabric.hosts().iter().rposition(|host| host.pod == 1).unwrap() as u32;
    let segment = fabric.host(HostId(anchor)).segment;
    let alike = |host: &&railtwin_fabric::graph::Host| host.pod == 1 && host.segment == segment;
    let in_segment = fabric.hosts().iter().filter(alike).count() as u32;
    let policy = PlacementPolicy::Near(vec![anchor]);
    for hosts in [1, in_segment, in_segment + 1, in_pod(1), in_pod(1) + 1] {
        let places = Placer::new(&fabric, 1).place("a", hosts * 8, &policy).unwrap();
        assert_eq!(places[0].host, HostId(anchor));
        let beyond = places.iter().filter(|place| fabric.host(place.host).pod != 1).count() as u32;
        assert_eq!(beyond, (hosts * 8).saturating_sub(in_pod(1) * 8));
        let near = places.iter().filter(|place| alike(&fabric.host(place.host))).count() as u32;
        assert_eq!(near, hosts.min(in_segment) * 8);
    }
    let unknown = Placer::new(&fabric, 1).place("a", 8, &PlacementPolicy::Near(vec![9_999]));
    assert!(unknown.unwrap_err().to_string().contains("names host 9999: the fabric has hosts 0 to"));
}

/// The fewest segments that have so many free hosts: all sets are tried.
fn fewest_segments(free: &BTreeMap<(u32, u32), u32>, hosts: u32) -> Option<u32> {
    let free: Vec<u32> = free.values().copied().collect();
    let held =
        |set: u32| -> u32 { (0..free.len()).filter(|row| set >> row & 1 == 1).map(|row| free[row]).sum() };
    (0..1_u32 << free.len()).filter(|&set| held(set) >= hosts).map(u32::count_ones).min()
}

proptest! {
    /// Whatever comes and goes: no GPU is given twice, spares are untouched, what is given back is free.
    #[test]
    fn gpus_are_given_once_and_come_back(
        seed: u64,
        events in prop::collection::vec((0usize..6, 1u32..40, any::<bool>(), 0usize..64), 1..60),
    ) {
        let fabric = hpn(3, 4, 1);
        let run = || {
            let mut cluster = ClusterPlacer::new(&fabric, seed);
            let (mut running, mut all): (Vec<Vec<Place>>, Vec<Option<Vec<Place>>>) = (Vec::new(), Vec::new());
            for (number, &(policy, gpus, ends, which)) in events.iter().enumerate() {
                if ends && !running.is_empty() {
                    cluster.release(&running.swap_remove(which % running.len()));
                    continue;
                }
                let before = cluster.free_gpus();
                let places = cluster.place(number as u64, gpus, &policies()[policy]);
                let taken = places.as_ref().map_or(0, Vec::len) as u32;
                assert!(places.is_none() || taken == gpus);
                assert_eq!(before - cluster.free_gpus(), taken);
                running.extend(places.clone());
                all.push(places);
                let mut seen = BTreeSet::new();
                for place in running.iter().flatten() {
                    assert!(seen.insert(*place) && !fabric.host(place.host).spare && place.gpu < 8);
                }
                assert_eq!(96 - seen.len() as u32, cluster.free_gpus());
            }
            all
        };
        prop_assert_eq!(run(), run());
    }

    /// Segment-first against all sets of segments, on hosts of which some are taken.
    #[test]
    fn segment_first_takes_the_fewest_segments(
        taken in prop::collection::btree_set(0u32..24, 0..20),
        hosts in 1u32..24,
    ) {
        let fabric = hpn(6, 4, 0);
        let mut free: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (row, host) in fabric.hosts().iter().enumerate() {
            *free.entry((host.pod, host.segment)).or_default() += u32::from(!taken.contains(&(row as u32)));
        }
        let mut placer = Placer::new(&fabric, 1);
        let mut cluster = ClusterPlacer::new(&fabric, 1);
        for host in &taken {
            placer.place("taken", 8, &PlacementPolicy::Hosts(vec![*host])).unwrap();
            cluster.place(0, 8, &PlacementPolicy::Hosts(vec![*host])).unwrap();
        }
        let places = placer.place("a", hosts * 8, &PlacementPolicy::SegmentFirst).ok();
        prop_assert_eq!(&cluster.place(1, hosts * 8, &PlacementPolicy::SegmentFirst), &places);
        let least = fewest_segments(&free, hosts);
        prop_assert_eq!(places.as_ref().map(|places| segments(&fabric, places).len() as u32), least);
        // One segment: the tightest of those that hold it.
        if let (Some(1), Some(places)) = (least, &places) {
            let used = free[&segments(&fabric, places).pop_first().unwrap()];
            prop_assert_eq!(Some(used), free.values().copied().filter(|&free| free >= hosts).min());
        }
    }

    /// A pod that holds a job gets it whole.
    #[test]
    fn segment_first_does_not_cross_pods_where_one_holds_the_job(
        taken in prop::collection::btree_set(0u32..24, 0..16),
        hosts in 1u32..12,
    ) {
        let fabric = DcnPlus { pods: 3, hosts: 4, segments: 2, ..DcnPlus::default() }.build().unwrap();
        let mut placer = Placer::new(&fabric, 1);
        for host in &taken {
            placer.place("taken", 8, &PlacementPolicy::Hosts(vec![*host])).unwrap();
        }
        let mut free: BTreeMap<u32, u32> = BTreeMap::new();
        for (row, host) in fabric.hosts().iter().enumerate() {
            *free.entry(host.pod).or_default() += u32::from(!taken.contains(&(row as u32)));
        }
        let free = BTreeMap::from_iter(free.into_iter().map(|(pod, free)| ((pod, 0), free)));
        let places = placer.place("a", hosts * 8, &PlacementPolicy::SegmentFirst).ok();
        let pods = |places: &Vec<Place>| -> BTreeSet<u32> { places.iter().map(|p| fabric.host(p.host).pod).collect() };
        prop_assert_eq!(places.as_ref().map(|places| pods(places).len() as u32), fewest_segments(&free, hosts));
    }
}

#[test]
fn jobs_that_name_their_gpus_are_known_to_who_takes_turns() {
    type Take<'a> = dyn Fn(&mut ClusterPlacer, u32, (f64, f64)) + 'a;
    // Both hosts have two GPUs left. Beside whom computes while it communicates the job takes turns; beside the other not.
    let phases = (1.0, 1.0);
    let on = |host, gpus: u32| (0..gpus).map(|gpu| Place { host: HostId(host), gpu }).collect::<Vec<Place>>();
    let beside = |take: &Take<'_>| {
        let mut cluster = ClusterPlacer::new(&hpn(1, 2, 0), 1);
        take(&mut cluster, 0, (0.2, 1.8));
        take(&mut cluster, 1, (1.0, 0.1));
        cluster.place_phased(7, 2, &PlacementPolicy::Interleaved, phases).expect("there is room")[0].host
    };
    assert_eq!(beside(&|cluster, host, phases| assert!(cluster.take_these(&on(host, 6), phases))), HostId(1));
    assert_eq!(beside(&|cluster, host, phases| cluster.occupy(&on(host, 6), phases)), HostId(1));
    assert_eq!(beside(&|cluster, host, phases| drop(cluster.take_of(HostId(host), 6, phases))), HostId(1));
}

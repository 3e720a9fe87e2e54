//! Which ranks of a job sit where: orders of ranks over weeks, and pipelines that alone cross pods.
use std::collections::BTreeSet;

use proptest::prelude::*;
use railtwin_clustersim::plant::Plant;
use railtwin_clustersim::traffic::host_traffic;
use railtwin_clustersim::{Ask, ClusterJob, Lived, StagesInPods, live};
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_control::placement::{HostTraffic, arranged};
use railtwin_control::{ClusterPlacer, Place, PlacementPolicy, RankOrder};
use railtwin_fabric::preset::{DcnPlus, LeafSpine};
use railtwin_fabric::{Fabric, HostId};
use railtwin_units::Bytes;
use railtwin_workload::job_class::ClassStep;

use crate::skipping::{ask, step};

/// Pods of two segments of four hosts of eight GPUs.
fn pods(count: u32) -> Fabric {
    DcnPlus { pods: count, hosts: 4, segments: 2, ..DcnPlus::default() }.build().expect("the counts fit")
}

/// Bytes of a step between pods, and between segments of one pod.
fn crossing(fabric: &Fabric, places: &[Place], traffic: &HostTraffic) -> (f64, f64) {
    let mut hosts: Vec<HostId> = places.iter().map(|place| place.host).collect();
    hosts.dedup();
    let zones = |zone: &dyn Fn(HostId) -> u32| -> Vec<u32> { hosts.iter().map(|&host| zone(host)).collect() };
    let pods = traffic.across(&zones(&|host| fabric.host(host).pod));
    let segments = traffic.across(&zones(&|host| fabric.host(host).pod * 100 + fabric.host(host).segment));
    (pods, segments - pods)
}

/// A step of such a layout in which all kinds of bytes are sent.
fn laid_out(tensor: u32, pipeline: u32, data: u32, among: u32) -> ClassStep {
    let (passed, exchanged) = (Bytes(700_000_000), Bytes(if among > 1 { 300_000_000 } else { 0 }));
    ClassStep { tensor, pipeline, passed, exchanged, among, ..step(1.0, 1.0, data, 2.0) }
}

/// A cluster of which some hosts are taken, whole or in part.
fn partly_taken(fabric: &Fabric, taken: &BTreeSet<(u32, bool)>) -> ClusterPlacer {
    let mut placer = ClusterPlacer::new(fabric, 1);
    for &(host, is_whole) in taken {
        let gpus = if is_whole { 8 } else { 3 };
        placer.place(0, gpus.min(placer.free_on(HostId(host))), &PlacementPolicy::Hosts(vec![host]));
    }
    placer
}

proptest! {
    /// Whatever is taken, nothing but the pipeline's bytes crosses pods, and an empty cluster takes who may wait for that.
    #[test]
    fn pipelines_alone_cross_pods(
        (tensor, pipeline, data) in (prop::sample::select(vec![1u32, 2, 4, 8]), 2u32..7, 1u32..7),
        taken in prop::collection::btree_set((0u32..24, any::<bool>()), 0..16),
    ) {
        let fabric = pods(3);
        let step = laid_out(tensor, pipeline, data, 1);
        let gpus = tensor * pipeline * data;
        prop_assume!(gpus <= 192);
        let (policy, is_torn) = StagesInPods::new(&fabric, &[]).policy(gpus, &step);
        let PlacementPolicy::WholeInPods(unit) = policy else {
            // Three pods of eight hosts do not hold the stages that fill whole hosts, nor one pod the job.
            prop_assert!(is_torn && policy == PlacementPolicy::SegmentFirst);
            let stage = tensor * data;
            let hosts = (1..).find(|hosts| (hosts * 8) % stage == 0).expect("stage hosts at the latest");
            prop_assert!(gpus > 64 && 3 * (8 / hosts) < gpus.div_ceil(hosts * 8));
            return Ok(());
        };
        prop_assert!(unit % 8 == 0 && unit % (tensor * data) == 0);
        let alone = ClusterPlacer::new(&fabric, 1).place(1, gpus, &policy);
        prop_assert!(alone.is_some());
        let mut placer = partly_taken(&fabric, &taken);
        let before = placer.free_gpus();
        for places in [alone, placer.place(1, gpus, &policy)].into_iter().flatten() {
            let all = host_traffic(&fabric, &step, &places);
            let others = host_traffic(&fabric, &ClassStep { passed: Bytes(0), ..step }, &places);
            prop_assert_eq!(crossing(&fabric, &places, &others).0, 0.0);
            let pods: BTreeSet<u32> = places.iter().map(|place| fabric.host(place.host).pod).collect();
            prop_assert_eq!(crossing(&fabric, &places, &all).0 > 0.0, pods.len() > 1);
            prop_assert_eq!(places.iter().collect::<BTreeSet<_>>().len() as u32, gpus);
        }
        prop_assert!(placer.free_gpus() == before || placer.free_gpus() == before - gpus);
    }

    /// The minimum cut has no more bytes across pods than any other order, and all orders have the same GPUs.
    #[test]
    fn a_minimum_cut_of_a_class_crosses_pods_no_more_than_other_orders(
        (tensor, pipeline, data) in (prop::sample::select(vec![4u32, 8]), 1u32..5, 1u32..9),
        shares in any::<bool>(),
        taken in prop::collection::btree_set((0u32..24, Just(true)), 0..8),
        seed in 0u64..100,
    ) {
        let fabric = pods(3);
        let step = laid_out(tensor, pipeline, data, if shares { data } else { 1 });
        let gpus = tensor * pipeline * data;
        prop_assume!(gpus <= 128 && gpus % 8 == 0);
        let placed = partly_taken(&fabric, &taken).place(seed, gpus, &PlacementPolicy::Random);
        let Some(places) = placed else { return Ok(()) };
        let traffic = host_traffic(&fabric, &step, &places);
        let of = |order| arranged(&fabric, &places, order, (seed, "a"), || traffic.clone());
        let cut = of(RankOrder::MinCut);
        for order in [RankOrder::Given, RankOrder::Topology, RankOrder::Random] {
            let other = of(order);
            prop_assert_eq!(other.iter().collect::<BTreeSet<_>>(), places.iter().collect::<BTreeSet<_>>());
            // Where blocks of ranks stand does not change what they send each other.
            prop_assert_eq!(&host_traffic(&fabric, &step, &other), &traffic);
            let (least, more) = (crossing(&fabric, &cut, &traffic).0, crossing(&fabric, &other, &traffic).0);
            prop_assert!(least <= more * (1.0 + 1e-9), "{order:?}: {least} {more}");
        }
    }
}

/// Four pairs of leaves of four hosts, each with as much capacity upwards as two of them have.
fn narrow() -> Fabric {
    let spec = LeafSpine { leaves: 8, hosts_per_leaf: 4, uplinks: 8, ..LeafSpine::default() };
    spec.build().expect("it can be built")
}

fn lived(fabric: &Fabric, jobs: &[ClusterJob], rank_order: RankOrder, seed: u64) -> Lived {
    let placement = PlacementPolicy::Random;
    let asked = Ask { rank_order, placement, seed, queue_pairs: 4, ..ask(SharingPolicy::Ecmp) };
    live(jobs, &Plant::new(fabric, 16), &asked)
}

/// A ring over eight hosts in tensor parallel groups of eight.
fn ring(name: &str, submitted: f64) -> ClusterJob {
    ClusterJob {
        name: name.to_owned(),
        class: String::new(),
        submitted,
        gpus: 64,
        duration: 600.0,
        step: ClassStep { tensor: 8, ..step(0.5, 0.5, 8, 30.0) },
        places: Vec::new(),
        placement: None,
        checkpoints: 0.0,
    }
}

#[test]
fn rings_in_the_order_of_leaves_cost_less_than_rings_by_lot() {
    let fabric = narrow();
    let jobs = [ring("a", 0.0), ring("b", 1.0)];
    let mut slowed = [0.0; 3];
    for seed in 0..5 {
        let orders = [RankOrder::Random, RankOrder::Topology, RankOrder::MinCut];
        let lives = orders.map(|order| lived(&fabric, &jobs, order, seed));
        let gpus = |lived: &Lived| -> Vec<BTreeSet<(u32, u32)>> {
            lived.jobs.iter().map(|job| job.places.iter().copied().collect()).collect()
        };
        assert_eq!(gpus(&lives[0]), gpus(&lives[1]));
        assert_ne!(lives[0].jobs[0].places, lives[1].jobs[0].places);
        assert_eq!(lives[0], lived(&fabric, &jobs, RankOrder::Random, seed));
        for (slowed, lived) in slowed.iter_mut().zip(&lives) {
            *slowed += lived.jobs.iter().map(|job| job.slowdown().expect("it ends")).sum::<f64>() / 10.0;
        }
    }
    let [random, topology, min_cut] = slowed;
    assert!(random > 1.1 * topology, "{slowed:?}");
    assert!(min_cut <= topology * 1.01, "{slowed:?}");
}

#[test]
fn who_names_its_gpus_has_said_the_order_of_its_ranks() {
    let fabric = narrow();
    let places: Vec<Place> = [9, 2, 5]
        .into_iter()
        .flat_map(|host| (0..8).map(move |gpu| Place { host: HostId(host), gpu }))
        .collect();
    let named = ClusterJob {
        gpus: 24,
        step: ClassStep { tensor: 8, ..step(0.5, 0.5, 3, 3.0) },
        places: places.clone(),
        ..ring("a", 0.0)
    };
    let given: Vec<(u32, u32)> = places.iter().map(|place| (place.host.0, place.gpu)).collect();
    for order in [RankOrder::Topology, RankOrder::Random, RankOrder::MinCut] {
        assert_eq!(lived(&fabric, std::slice::from_ref(&named), order, 1).jobs[0].places, given);
    }
}

#[test]
fn a_job_with_a_placement_of_its_own_is_placed_by_it_and_stays_there() {
    let fabric = pods(2);
    let near = |name: &str, host, submitted, gpus| ClusterJob {
        gpus,
        step: step(1.0, 1.0, gpus, 0.0),
        placement: Some(PlacementPolicy::Near(vec![host])),
        duration: 5_000.0,
        ..ring(name, submitted)
    };
    let asked =
        Ask { placement: PlacementPolicy::SegmentFirst, defragment: Some(1.0), ..ask(SharingPolicy::Ecmp) };
    // A host of each of the four segments is taken, so that a job of four hosts fits none, though twelve are free.
    let mut jobs: Vec<ClusterJob> = [("a", 0), ("b", 4), ("c", 8), ("d", 12)]
        .map(|(name, host)| near(name, host, 0.0, 8))
        .into_iter()
        .chain([ClusterJob { placement: None, ..near("wide", 0, 10.0, 32) }])
        .collect();
    let plant = Plant::new(&fabric, 4);
    let lived = live(&jobs, &plant, &asked);
    let hosts = |lived: &Lived| [0, 1, 2, 3].map(|job| lived.jobs[job].places[0].0);
    assert_eq!((hosts(&lived), lived.effort.moves), ([0, 4, 8, 12], 0));
    // The first has none: it stands where it stood, and makes room.
    jobs[0].placement = None;
    let lived = live(&jobs, &plant, &asked);
    assert_eq!((hosts(&lived), lived.effort.moves), ([5, 4, 8, 12], 1));
}

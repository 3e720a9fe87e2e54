//! Which ranks sit where: minimum cut against enumeration, stages in pods, spares, room in a segment.
use std::collections::BTreeSet;

use proptest::prelude::*;
use railtwin_control::placement::{HostTraffic, RankOrder, arranged, min_cut, stage_ranks};
use railtwin_control::{ClusterPlacer, Place, PlacementPolicy, Placer};
use railtwin_fabric::preset::{DcnPlus, Hpn};
use railtwin_fabric::{Fabric, HostId, HostModel};
use railtwin_units::stream;
use railtwin_workload::models::Transformer;
use railtwin_workload::recipe::Training;
use railtwin_workload::{Axis, Parallelism, Plan, Recompute};

/// Pods of `hosts` hosts in segments of four.
fn pods(count: u32, segments: u32) -> Fabric {
    let spec = DcnPlus { pods: count, hosts: 4, segments, ..DcnPlus::default() };
    spec.build().expect("the counts fit")
}

fn training(tp: u32, pp: u32, dp: u32) -> Plan {
    let training = Training {
        model: Transformer::named("gpt3-175b").expect("it is known"),
        parallelism: Parallelism { tp, pp, dp, ep: 1 },
        micro_batches: 4,
        micro_batch: 1,
        interleave: 1,
        zero: 0,
        recompute: Recompute::Selective,
        gpu_flops: 989e12,
        efficiency: 0.5,
    };
    training.plan().expect("it is a training step")
}

/// The least traffic across zones: every way to fill them is tried.
fn least(traffic: &HostTraffic, sizes: &[u32]) -> f64 {
    fn fill(traffic: &HostTraffic, left: &mut [u32], zones: &mut Vec<u32>, best: &mut f64) {
        if zones.len() as u32 == traffic.blocks() {
            *best = best.min(traffic.across(zones));
            return;
        }
        for zone in 0..left.len() {
            if left[zone] > 0 {
                left[zone] -= 1;
                zones.push(zone as u32);
                fill(traffic, left, zones, best);
                zones.pop();
                left[zone] += 1;
            }
        }
    }
    let mut best = f64::INFINITY;
    fill(traffic, &mut sizes.to_vec(), &mut Vec::new(), &mut best);
    best
}

/// Traffic drawn by a number: each pair has some with probability one half.
fn drawn(blocks: u32, seed: u64) -> HostTraffic {
    let mut traffic = HostTraffic::new(blocks);
    for a in 0..blocks {
        for b in a + 1..blocks {
            let lot = stream::mix(seed << 16 | u64::from(a) << 8 | u64::from(b));
            if lot & 1 == 0 {
                traffic.add(a, b, (1 + (lot >> 1) % 100) as f64);
            }
        }
    }
    traffic
}

#[test]
fn small_graphs_are_cut_as_enumeration_cuts_them() {
    let (mut met, mut all, mut worst) = (0, 0, 1.0_f64);
    for seed in 0..200 {
        for sizes in [&[4, 4][..], &[5, 3], &[3, 3, 2], &[2, 2, 2, 2]] {
            let traffic = drawn(8, seed);
            let given: Vec<u32> =
                (0..).zip(sizes).flat_map(|(zone, &size)| vec![zone; size as usize]).collect();
            let zones = min_cut(&traffic, sizes, &given);
            let (found, least) = (traffic.across(&zones), least(&traffic, sizes));
            for (zone, &size) in (0..).zip(sizes) {
                assert_eq!(zones.iter().filter(|own| **own == zone).count() as u32, size);
            }
            all += 1;
            met += u32::from(found <= least * (1.0 + 1e-9));
            worst = worst.max(found / least);
        }
    }
    println!("{met} of {all} at the optimum, the worst at {worst:.3} of it");
    assert!(met * 100 >= all * 95 && worst < 1.1, "{met} of {all}, {worst}");
}

#[test]
fn groups_that_are_hidden_are_found() {
    // Rings of four hosts whose ranks are strided over the job, as data parallel groups of a pipeline are.
    let mut traffic = HostTraffic::new(32);
    for ring in 0..8 {
        (0..4).for_each(|at| traffic.add(ring + 8 * at, ring + 8 * ((at + 1) % 4), 1.0));
    }
    let given: Vec<u32> = (0..32).map(|block| block / 8).collect();
    assert_eq!(traffic.across(&given), 32.0);
    assert_eq!(traffic.across(&min_cut(&traffic, &[8; 4], &given)), 0.0);
}

/// Bytes between pods and between segments of one pod.
fn crossing(fabric: &Fabric, places: &[Place], traffic: &HostTraffic) -> (f64, f64) {
    let hosts: Vec<HostId> = places.iter().step_by(8).map(|place| place.host).collect();
    let pods: Vec<u32> = hosts.iter().map(|host| fabric.host(*host).pod).collect();
    let segments: Vec<u32> =
        hosts.iter().map(|host| fabric.host(*host).pod * 100 + fabric.host(*host).segment).collect();
    (traffic.across(&pods), traffic.across(&segments) - traffic.across(&pods))
}

#[test]
fn a_minimum_cut_crosses_pods_no_more_than_other_orders() {
    let fabric = pods(4, 4);
    for (tp, pp, dp, hosts) in [(8, 6, 8, 48), (8, 4, 15, 60), (8, 12, 4, 48), (4, 3, 40, 60)] {
        let plan = training(tp, pp, dp);
        let model = HostModel::hgx_h800();
        let traffic = HostTraffic::of(&plan, &model, &[0, 1, 2, 3, 4, 5, 6, 7], |_| true);
        assert_eq!(traffic.blocks(), hosts);
        for policy in [PlacementPolicy::Packed, PlacementPolicy::Spread, PlacementPolicy::Random] {
            let places = Placer::new(&fabric, 7).place("a", plan.ranks, &policy).unwrap();
            let of = |order: RankOrder| arranged(&fabric, &places, order, (7, "a"), || traffic.clone());
            let cut = crossing(&fabric, &of(RankOrder::MinCut), &traffic);
            for order in [RankOrder::Given, RankOrder::Topology, RankOrder::Random] {
                let other = of(order);
                let hosts = |places: &[Place]| places.iter().copied().collect::<BTreeSet<Place>>();
                assert_eq!(hosts(&other), hosts(&places), "the same GPUs");
                assert!(
                    cut.0 <= crossing(&fabric, &other, &traffic).0 * (1.0 + 1e-9),
                    "{policy:?} {order:?}"
                );
            }
        }
    }
}

#[test]
fn every_order_keeps_the_gpus_that_a_job_has_of_its_hosts() {
    let fabric = pods(4, 4);
    let plan = training(4, 6, 8);
    let model = HostModel::hgx_h800();
    for gpus in [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![7, 5, 3, 1]] {
        let traffic = HostTraffic::of(&plan, &model, &gpus, |_| true);
        assert_eq!(traffic.blocks(), 48);
        let mut placer = Placer::new(&fabric, 7);
        let places = placer.place_on("a", plan.ranks, &gpus, &PlacementPolicy::Random).unwrap();
        let some = placer.place_some("b", 10, 4, &PlacementPolicy::Spread).unwrap();
        for order in [RankOrder::Topology, RankOrder::Random, RankOrder::MinCut] {
            let other = arranged(&fabric, &places, order, (7, "a"), || traffic.clone());
            assert_ne!(other, places, "{order:?}");
            assert!(other.chunks(4).all(|host| host.iter().map(|place| place.gpu).eq(gpus.iter().copied())));
            let set = |places: &[Place]| places.iter().copied().collect::<BTreeSet<Place>>();
            assert_eq!(set(&other), set(&places), "{order:?}");
            let other = arranged(&fabric, &some, order, (7, "b"), || HostTraffic::new(3));
            assert_eq!(set(&other), set(&some), "{order:?}: two of the GPUs are of a host of their own");
        }
    }
}

#[test]
fn only_pipelines_cross_pods_where_stages_stay_whole() {
    let fabric = pods(4, 2);
    // Six stages of five hosts: a pod of eight holds one.
    let plan = training(8, 3, 5);
    assert_eq!(stage_ranks(&plan), Some(40));
    let model = HostModel::hgx_h800();
    let places = Placer::new(&fabric, 1).place("a", plan.ranks, &PlacementPolicy::WholeInPods(40)).unwrap();
    let others = HostTraffic::of(&plan, &model, &[0, 1, 2, 3, 4, 5, 6, 7], |axis| !matches!(axis, Axis::Pp));
    let pipeline = HostTraffic::of(&plan, &model, &[0, 1, 2, 3, 4, 5, 6, 7], |axis| axis == Axis::Pp);
    assert_eq!(crossing(&fabric, &places, &others).0, 0.0);
    assert!(crossing(&fabric, &places, &pipeline).0 > 0.0);
    // Packed, the second stage sits in two pods.
    let packed = Placer::new(&fabric, 1).place("a", plan.ranks, &PlacementPolicy::Packed).unwrap();
    assert!(crossing(&fabric, &packed, &others).0 > 0.0);
    // 25 hosts fit, 5 stages of 5 do not.
    let error = Placer::new(&fabric, 1).place("b", 200, &PlacementPolicy::WholeInPods(40)).unwrap_err();
    assert!(error.to_string().contains("5 parts of 40 GPUs"), "{error}");
    // What one pod holds is not cut.
    let small = Placer::new(&fabric, 1).place("c", 64, &PlacementPolicy::WholeInPods(32)).unwrap();
    assert_eq!(small.iter().map(|place| fabric.host(place.host).pod).collect::<BTreeSet<_>>().len(), 1);
}

#[test]
fn stages_are_told_where_ranks_of_a_class_follow_each_other() {
    assert_eq!(stage_ranks(&training(8, 4, 2)), Some(16));
    assert_eq!(stage_ranks(&training(8, 1, 2)), None);
}

/// Switches between two hosts on each rail: how many are crossed at least.
fn hops(fabric: &Fabric, a: Place, b: Place) -> u32 {
    let (a, b) = (fabric.host(a.host), fabric.host(b.host));
    match () {
        () if (a.pod, a.segment) == (b.pod, b.segment) => 1,
        () if a.pod == b.pod => 3,
        () => 5,
    }
}

proptest! {
    /// Any 128 of 136: whoever is lost, every pair of ranks is as far apart as before.
    #[test]
    fn a_spare_keeps_ranks_and_hops(lost in prop::collection::btree_set(0u32..8, 1..5), seed: u64) {
        let spec = Hpn { segments: Some(2), hosts: Some(4), spare_hosts: Some(2), ..Hpn::default() };
        let fabric = spec.build().unwrap();
        let mut placer = Placer::new(&fabric, seed);
        let places = placer.place("a", 64, &PlacementPolicy::Random).unwrap();
        let active: Vec<u32> = (0..fabric.hosts().len() as u32).filter(|&host| !fabric.host(HostId(host)).spare).collect();
        let (mut now, mut lost_in) = (places.clone(), [0, 0]);
        for row in lost {
            let host = active[row as usize];
            let segment = fabric.host(HostId(host)).segment as usize;
            lost_in[segment] += 1;
            match placer.substitute("a", &now, host) {
                Ok(moved) => now = moved,
                Err(error) => {
                    prop_assert!(lost_in[segment] > 2, "{error}");
                    prop_assert!(error.to_string().contains("no backup host left"));
                }
            }
        }
        let distinct: BTreeSet<Place> = now.iter().copied().collect();
        prop_assert_eq!(distinct.len(), 64);
        for a in (0..64).step_by(8) {
            prop_assert_eq!(places[a].gpu, now[a].gpu);
            for b in (0..64).step_by(8) {
                prop_assert_eq!(hops(&fabric, places[a], places[b]), hops(&fabric, now[a], now[b]));
            }
        }
    }

    /// Against all sets of jobs, on two segments of three hosts.
    #[test]
    fn room_is_made_with_the_fewest_gpus_moved(
        sizes in prop::collection::vec(prop::sample::select(vec![2u32, 4, 8, 12, 16]), 2..7),
        ended in prop::collection::vec(any::<bool>(), 7),
        wanted in 1u32..4,
        seed: u64,
    ) {
        let spec = Hpn { segments: Some(2), hosts: Some(3), spare_hosts: Some(0), ..Hpn::default() };
        let fabric = spec.build().unwrap();
        let mut cluster = ClusterPlacer::new(&fabric, seed);
        let mut running = Vec::new();
        for (job, &gpus) in (0..).zip(&sizes) {
            running.extend(cluster.place(job, gpus, &PlacementPolicy::Random).map(|places| (job, places)));
        }
        let rows: Vec<(u64, Vec<Place>)> = running.into_iter().filter(|(job, places)| {
            let ends = ended[*job as usize];
            if ends { cluster.release(places); }
            !ends
        }).collect();
        let running: Vec<(u64, &[Place])> = rows.iter().map(|(job, places)| (*job, places.as_slice())).collect();
        // A set of jobs is taken off and the new one placed first; the others come back where they find room.
        let works = |set: u32| {
            (0..2).any(|segment| {
                let is_here = |place: &Place| fabric.host(place.host).segment == segment;
                if (0..running.len()).any(|row| set >> row & 1 == 1 && !running[row].1.iter().any(is_here)) {
                    return false;
                }
                let mut after = cluster.clone();
                let moved = |row: &usize| set >> row & 1 == 1;
                (0..running.len()).filter(moved).for_each(|row| after.release(running[row].1));
                let of_segment = |host: &HostId| fabric.host(*host).segment == segment && after.free_on(*host) == 8;
                let empty: Vec<HostId> = (0..6).map(HostId).filter(of_segment).collect();
                // Every choice of hosts that the new job may have.
                (0..1_u32 << empty.len()).filter(|own| own.count_ones() == wanted).any(|own| {
                    let mut after = after.clone();
                    let given = empty.iter().enumerate().filter(|(at, _)| own >> at & 1 == 1);
                    given.for_each(|(_, host)| after.close(*host));
                    let mut sizes: Vec<(u64, u32)> = (0..running.len()).filter(moved)
                        .map(|row| (running[row].0, running[row].1.len() as u32)).collect();
                    sizes.sort_by_key(|&(job, gpus)| (std::cmp::Reverse(gpus), job));
                    sizes.iter().all(|&(job, gpus)| after.place(job, gpus, &PlacementPolicy::SegmentFirst).is_some())
                })
            })
        };
        let gpus_of = |set: u32| -> u32 {
            (0..running.len()).filter(|row| set >> row & 1 == 1).map(|row| running[row].1.len() as u32).sum()
        };
        let least = (0..1_u32 << running.len()).filter(|&set| works(set)).map(gpus_of).min();
        let found = cluster.defragment(&running, wanted * 8);
        prop_assert_eq!(found.as_ref().map(|found| found.gpus_moved), least);
        if let Some(found) = found {
            // It can be carried out.
            let moves = |job: u64| found.moves.iter().any(|one| one.job == job);
            running.iter().filter(|(job, _)| moves(*job)).for_each(|(_, places)| cluster.release(places));
            let taken: BTreeSet<Place> = running.iter().filter(|(job, _)| !moves(*job))
                .flat_map(|(_, places)| places.iter().copied()).collect();
            let to: Vec<Place> = found.moves.iter().flat_map(|one| one.to.iter().copied()).collect();
            let distinct: BTreeSet<Place> = to.iter().copied().collect();
            prop_assert_eq!(distinct.len(), to.len());
            prop_assert!(to.iter().all(|place| !taken.contains(place) && !found.room.contains(&place.host)));
            prop_assert!(found.room.iter().all(|&host| cluster.free_on(host) == 8));
            prop_assert!(found.room.len() as u32 >= wanted);
        }
    }
}

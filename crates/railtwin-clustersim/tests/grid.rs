//! Two laws of weeks on a leaf-spine, for each choice of uplinks and queue pairs and each policy.
use railtwin_clustersim::plant::Plant;
use railtwin_clustersim::{Ask, ClusterJob, Lived, live};
use railtwin_control::PlacementPolicy;
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_fabric::preset::LeafSpine;
use railtwin_fabric::{Fabric, HostSpec};
use railtwin_units::Rate;
use railtwin_workload::job_class::ClassStep;

use crate::skipping::{ask, step};

/// Uplinks of a leaf with Gbps each, and queue pairs: those of `scenarios/cluster/crux-clos-grid.toml` that carry as much up
/// as down.
fn cells() -> impl Iterator<Item = (u32, u64, u32)> {
    [(16, 100), (8, 200)]
        .into_iter()
        .flat_map(|(uplinks, gbps)| [1, 2, 4].map(|pairs| (uplinks, gbps, pairs)))
}

/// Leaves of two hosts with eight GPUs and four NICs of 200 Gbps each.
fn clos(uplinks: u32, gbps: u64) -> Fabric {
    let host = HostSpec { nics: Some(4), ..HostSpec::named("hgx-a100") };
    let uplink_capacity = Rate::from_gbps(gbps);
    let spec =
        LeafSpine { leaves: 6, hosts_per_leaf: 2, uplinks, uplink_capacity, host, ..LeafSpine::default() };
    spec.build().expect("it can be built")
}

/// A job of GPUs that all reduce over NICs, and communicate longer than they compute.
fn job(name: &str, submitted: f64, gpus: u32, compute: f64) -> ClusterJob {
    let step = ClassStep { tensor: 8, ..step(compute, 0.0, gpus / 8, 20.0) };
    ClusterJob {
        name: name.to_owned(),
        class: String::new(),
        submitted,
        gpus,
        duration: 2_000.0,
        step,
        places: Vec::new(),
        placement: None,
        checkpoints: 0.0,
    }
}

fn lived(fabric: &Fabric, jobs: &[ClusterJob], queue_pairs: u32, sharing: SharingPolicy) -> Lived {
    let placement = PlacementPolicy::Packed;
    live(jobs, &Plant::new(fabric, 16), &Ask { placement, queue_pairs, span: 20_000.0, ..ask(sharing) })
}

/// Law 1: nobody slows a job that is alone, whatever its own flows do to each other; and with sixteen times the capacity
/// they do nothing.
#[test]
fn a_job_alone_is_slowed_by_nobody_in_any_cell() {
    let alone = [job("alone", 0.0, 32, 0.1)];
    let mut most = 0.0_f64;
    for (uplinks, gbps, queue_pairs) in cells() {
        for sharing in SharingPolicy::ALL {
            let case = format!("{uplinks} x {gbps}, {queue_pairs} queue pairs, {sharing}");
            let of = |gbps| {
                let life = lived(&clos(uplinks, gbps), &alone, queue_pairs, sharing).jobs.remove(0);
                (life.slowdown().expect("it ends"), life.own_collisions().expect("it did steps"))
            };
            let ((slowdown, own), (open_slowdown, open_own)) = (of(gbps), of(16 * gbps));
            // Those who choose paths do so once the plan is made, and until then take those of hashes.
            assert!((1.0 - 1e-9..1.01).contains(&slowdown) && own >= 1.0 - 1e-9, "{case}: {slowdown} {own}");
            assert!(
                (open_slowdown - 1.0).abs() < 1e-9 && (open_own - 1.0).abs() < 1e-9,
                "{case}: {open_own}"
            );
            most = most.max(own);
        }
    }
    assert!(most > 1.1, "{most}");
}

/// Law 2: no policy does more than sixteen times the capacity between leaves does for hashes, and there all are alike.
#[test]
fn no_policy_does_more_than_uplinks_that_hold_nobody_back() {
    let jobs: Vec<ClusterJob> = [(24, 0.3), (32, 0.2), (24, 0.4)]
        .into_iter()
        .enumerate()
        .map(|(number, (gpus, compute))| job(&format!("job-{number}"), 100.0 * number as f64, gpus, compute))
        .collect();
    let ends = |lived: &Lived| lived.jobs.iter().map(|life| life.ended.expect("it ends")).collect::<Vec<_>>();
    let mut gap = 0.0_f64;
    for (uplinks, gbps, queue_pairs) in cells() {
        let (fabric, open) = (clos(uplinks, gbps), clos(uplinks, 16 * gbps));
        let least = ends(&lived(&open, &jobs, queue_pairs, SharingPolicy::Ecmp));
        for sharing in SharingPolicy::ALL {
            let case = format!("{uplinks} x {gbps}, {queue_pairs} queue pairs, {sharing}");
            let [ours, unbound] = [&fabric, &open].map(|on| ends(&lived(on, &jobs, queue_pairs, sharing)));
            for ((ours, unbound), least) in ours.iter().zip(&unbound).zip(&least) {
                assert!(ours >= &(least - 1e-6) && (unbound - least).abs() < 1e-6, "{case}: {ours} {least}");
                gap = gap.max(ours / least);
            }
        }
    }
    assert!(gap > 1.1, "{gap}");
}

//! Who waits for whom, and what standing still and rails cost.
use railtwin_clustersim::plant::Plant;
use railtwin_clustersim::{Ask, ClusterJob, Lived, QueuePolicy, live};
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_control::{Place, PlacementPolicy};
use railtwin_fabric::preset::{Hpn, LeafSpine, Tier2};
use railtwin_fabric::{Fabric, HostId};
use railtwin_workload::job_class::ClassStep;

use crate::skipping::{ask, step};

fn hosts(count: u32) -> Fabric {
    let spec = LeafSpine { leaves: 2, hosts_per_leaf: count, uplinks: 8, ..LeafSpine::default() };
    spec.build().expect("it can be built")
}

/// A job that computes for so many seconds, one a step.
fn job(name: &str, submitted: f64, gpus: u32, duration: f64) -> ClusterJob {
    let (name, class) = (name.to_owned(), String::new());
    let step = step(1.0, 1.0, gpus, 0.0);
    let (places, placement, checkpoints) = (Vec::new(), None, 0.0);
    ClusterJob { name, class, submitted, gpus, duration, step, places, placement, checkpoints }
}

fn lived(fabric: &Fabric, jobs: &[ClusterJob], queue: QueuePolicy) -> Lived {
    let asked = Ask { queue, placement: PlacementPolicy::Packed, ..ask(SharingPolicy::Ecmp) };
    live(jobs, &Plant::new(fabric, 4), &asked)
}

fn started(lived: &Lived, job: usize) -> f64 {
    lived.jobs[job].started.expect("it starts")
}

#[test]
fn nobody_who_goes_ahead_puts_off_the_first_that_waits() {
    // Two hosts are free at 100: the third job takes one until 1100, and the fourth, which wants two, must start then.
    let jobs = [
        job("long", 0.0, 8, 10_000.0),
        job("wide", 0.0, 16, 100.0),
        job("short", 1.0, 8, 1_000.0),
        job("head", 1.0, 16, 50.0),
        job("behind", 1.0, 8, 5_000.0),
    ];
    let lived = lived(&hosts(3), &jobs, QueuePolicy::Backfill);
    assert_eq!(started(&lived, 3), 1_100.0);
    assert!(started(&lived, 4) >= 1_100.0);
}

#[test]
fn who_goes_ahead_leaves_the_hosts_alone_that_the_first_waits_for() {
    // Four GPUs of each of two hosts are taken, so of 32 GPUs 16 are never two whole hosts until 4,000.
    let mut jobs = Vec::new();
    for host in 0..4 {
        jobs.push(job(&format!("part-{host}"), 0.0, 5, if host < 2 { 4_000.0 } else { 9_000.0 }));
    }
    jobs.push(job("head", 1.0, 16, 50.0));
    jobs.push(job("behind", 1.0, 3, 15_000.0));
    let fabric = hosts(4);
    let [fifo, backfill] =
        [QueuePolicy::Fifo, QueuePolicy::Backfill].map(|queue| lived(&fabric, &jobs, queue));
    assert_eq!(started(&fifo, 4), 4_000.0);
    assert_eq!(started(&backfill, 4), 4_000.0);
    assert!(started(&backfill, 5) < started(&fifo, 5), "there is room beside the hosts that stay taken");
}

/// GPUs of a host.
fn gpus(host: u32, gpus: std::ops::Range<u32>) -> impl Iterator<Item = Place> {
    gpus.map(move |gpu| Place { host: HostId(host), gpu })
}

#[test]
fn nobody_moves_who_named_its_gpus() {
    let spec = Hpn { segments: Some(2), hosts: Some(2), spare_hosts: Some(0), ..Hpn::default() };
    let fabric = spec.build().expect("it can be built");
    // Each segment has one host left, and the last wants two of one segment.
    let on =
        |name: &str, host| ClusterJob { places: gpus(host, 0..8).collect(), ..job(name, 0.0, 8, 5_000.0) };
    let head = job("head", 1.0, 16, 50.0);
    let moved = |first: ClusterJob, second: ClusterJob| {
        let placement = PlacementPolicy::Spread;
        let asked = Ask { placement, defragment: Some(1.0), ..ask(SharingPolicy::Ecmp) };
        let lived = live(&[first, second, head.clone()], &Plant::new(&fabric, 4), &asked);
        (lived.effort.moves, lived.jobs[0].places[0].0, lived.jobs[1].places[0].0)
    };
    assert_eq!(moved(on("one", 0), on("two", 2)), (0, 0, 2));
    // Who names none is beside the first, and makes room.
    let (moves, first, second) = moved(on("one", 2), job("any", 0.0, 8, 5_000.0));
    assert_eq!((moves, first), (1, 2));
    assert_eq!(second, 3);
}

#[test]
fn bytes_that_rails_do_not_join_leave_by_the_rail_of_their_target() {
    let of = |tier2| {
        let spec = Hpn { segments: Some(1), hosts: Some(3), spare_hosts: Some(0), tier2, ..Hpn::default() };
        spec.build().expect("it can be built")
    };
    // The first stays on rails 0 to 3 of two hosts; the other goes from rails 4 to 7 of the first host to 0 to 3.
    let on = |name, places: Vec<Place>| {
        let step = ClassStep { tensor: 4, ..step(1.0, 1.0, 2, 8.0) };
        ClusterJob { places, step, ..job(name, 0.0, 8, 500.0) }
    };
    let jobs = [
        on("straight", gpus(0, 0..4).chain(gpus(1, 0..4)).collect()),
        on("across", gpus(0, 4..8).chain(gpus(2, 0..4)).collect()),
    ];
    let [any, rails] = [Tier2::AnyToAny, Tier2::RailOnly].map(|tier2| {
        let lived = lived(&of(tier2), &jobs, QueuePolicy::Fifo);
        let across = &lived.jobs[1];
        (across.communication, lived.jobs[0].contended, across.contended)
    });
    // A NIC for each GPU either way; but those of the rails are the other job's.
    assert!(any.0 > 0.0 && (rails.0 / any.0 - 1.0).abs() < 1e-9, "{any:?} {rails:?}");
    assert_eq!(((any.1, any.2), (rails.1, rails.2)), ((false, false), (true, true)));
}

#[test]
fn a_job_alone_is_slowed_by_nobody_and_collides_with_itself() {
    // Hashed flows meet at uplinks and at one of a NIC's two ports.
    let spec = LeafSpine { leaves: 4, hosts_per_leaf: 2, uplinks: 16, ..LeafSpine::default() };
    let fabric = spec.build().expect("it can be built");
    let of_seed = |seed, sharing| {
        let across = ClassStep { tensor: 8, ..step(0.1, 0.0, 4, 20.0) };
        let long = ClusterJob { step: across, ..job("long", 0.0, 32, 2_000.0) };
        let asked = Ask { placement: PlacementPolicy::Packed, seed, queue_pairs: 2, ..ask(sharing) };
        let lived = live(&[long], &Plant::new(&fabric, 64), &asked).jobs.remove(0);
        let own = lived.own_collisions().expect("it did steps");
        (lived.step_alone, lived.slowdown().expect("it ends"), own)
    };
    let mut hashed = 0.0_f64;
    for seed in 0..10 {
        let [ecmp, crux] = [SharingPolicy::Ecmp, SharingPolicy::Crux].map(|sharing| of_seed(seed, sharing));
        assert_eq!(ecmp.0, crux.0);
        assert_eq!(ecmp.0, of_seed(0, SharingPolicy::Ecmp).0);
        // Under Crux it computes by the paths of hashes until the plan is made.
        assert!((ecmp.1 - 1.0).abs() < 1e-9 && (1.0 - 1e-9..1.01).contains(&crux.1), "{ecmp:?} {crux:?}");
        assert!((1.0 - 1e-9..=ecmp.2 + 1e-9).contains(&crux.2), "{ecmp:?} {crux:?}");
        hashed = hashed.max(ecmp.2);
    }
    assert!(hashed > 1.1, "{hashed}");
}

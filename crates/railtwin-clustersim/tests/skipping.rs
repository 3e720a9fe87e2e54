//! What is skipped against what is computed step by step.
use proptest::prelude::*;
use railtwin_clustersim::plant::Plant;
use railtwin_clustersim::{Ask, ClusterJob, Lived, QueuePolicy, live};
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_control::{PlacementPolicy, RankOrder};
use railtwin_fabric::preset::LeafSpine;
use railtwin_fabric::{Fabric, HostSpec};
use railtwin_units::stream;
use railtwin_units::{Bytes, Rate, SimTime};
use railtwin_workload::job_class::ClassStep;
use rand::RngExt;

pub(crate) fn step(compute: f64, overlap_from: f64, data: u32, gigabytes: f64) -> ClassStep {
    ClassStep {
        compute: SimTime::from_ps((compute * 1e12) as u64),
        overlap_from,
        tensor: 1,
        pipeline: 1,
        data,
        reduced: Bytes((gigabytes * 1e9) as u64),
        passed: Bytes(0),
        exchanged: Bytes(0),
        among: 1,
    }
}

pub(crate) fn ask(sharing: SharingPolicy) -> Ask {
    Ask {
        span: 40_000.0,
        queue: QueuePolicy::Backfill,
        placement: PlacementPolicy::Spread,
        rank_order: RankOrder::Given,
        defragment: None,
        checkpoints: None,
        reads: None,
        serving: None,
        sharing,
        levels: 8,
        gate: true,
        replan: 30.0,
        queue_pairs: 1,
        jitter: 0.0,
        steady: 0.01,
        seed: 1,
    }
}

pub(crate) fn jobs(seed: u64, count: usize) -> Vec<ClusterJob> {
    let mut lot = stream::named(seed, "jobs");
    let mut submitted = 0.0;
    (0..count)
        .map(|number| {
            submitted += lot.random_range(0.0..600.0);
            let gpus = 8 * lot.random_range(1..=4);
            let compute = lot.random_range(0.2..2.0);
            ClusterJob {
                name: format!("job-{number}"),
                class: String::new(),
                submitted,
                gpus,
                duration: lot.random_range(500.0..8000.0),
                step: step(compute, lot.random_range(0.3..1.0), gpus, lot.random_range(1.0..20.0) * compute),
                places: Vec::new(),
                placement: None,
                checkpoints: 0.0,
            }
        })
        .collect()
}

/// The largest relative difference of an end, and how many ends were held against each other.
fn worst(one: &Lived, other: &Lived) -> (f64, usize) {
    let ends = one.jobs.iter().zip(&other.jobs).filter_map(|(one, other)| Some((one.ended?, other.ended?)));
    let apart: Vec<f64> = ends.map(|(one, other)| (one - other).abs() / one).collect();
    (apart.iter().copied().fold(0.0, f64::max), apart.len())
}

fn small() -> Fabric {
    let spec = LeafSpine { leaves: 8, hosts_per_leaf: 3, uplinks: 12, ..LeafSpine::default() };
    spec.build().expect("it can be built")
}

#[test]
fn skipped_time_ends_when_computed_time_does() {
    // Nobody waits for GPUs: a queue turns a difference of a second into another order of jobs.
    let spec = LeafSpine { leaves: 8, hosts_per_leaf: 40, uplinks: 12, ..LeafSpine::default() };
    let fabric = spec.build().expect("it can be built");
    let plant = Plant::new(&fabric, 16);
    let mut skipped_steps = 0.0;
    for (sharing, jitter, most) in [
        (SharingPolicy::Ecmp, 0.0, 0.002),
        (SharingPolicy::Sincronia, 0.0, 0.002),
        // With jitter phases wander, and nothing is skipped.
        (SharingPolicy::Ecmp, 0.02, f64::MIN_POSITIVE),
    ] {
        for seed in 0..3 {
            let jobs = jobs(seed, 40);
            let full = live(&jobs, &plant, &Ask { steady: 0.0, jitter, seed, ..ask(sharing) });
            let skipped = live(&jobs, &plant, &Ask { jitter, seed, ..ask(sharing) });
            assert_eq!(full.effort.skipped_steps, 0.0);
            skipped_steps += skipped.effort.skipped_steps;
            let (apart, ends) = worst(&full, &skipped);
            assert!(ends > 20 && apart < most, "{sharing:?} {seed}: {ends} ends, {apart}");
            let [one, other] = [&full, &skipped].map(Lived::gpu_utilization);
            assert!((one - other).abs() < 0.002, "{one} {other}");
        }
    }
    assert!(skipped_steps > 1e5, "{skipped_steps}");
}

#[test]
fn jobs_that_share_no_link_end_to_the_moment() {
    let fabric = small();
    let plant = Plant::new(&fabric, 16);
    // One host each: nothing leaves it, and nobody waits.
    let alone: Vec<ClusterJob> = jobs(7, 12)
        .into_iter()
        .map(|job| ClusterJob { gpus: 8, step: ClassStep { data: 8, ..job.step }, ..job })
        .collect();
    let lived = live(&alone, &plant, &ask(SharingPolicy::Ecmp));
    for (job, life) in alone.iter().zip(&lived.jobs) {
        let (started, ended) = (life.started.unwrap(), life.ended.unwrap());
        assert_eq!(started, job.submitted);
        let computed = life.steps * life.step_alone;
        assert!((ended - started - computed).abs() < 1e-9 * ended, "{}", job.name);
        assert!((computed - job.duration).abs() <= 0.5 * life.step_alone);
        assert!(!life.contended && !life.shared_a_link);
    }
}

#[test]
fn two_jobs_on_one_link_run_as_in_the_paper() {
    // Crux, example 1: 2 s + 2 s and 1 s + 1 s on one link: job 1 first leaves 1/4 of the link's time unused.
    let fabric = LeafSpine {
        leaves: 2,
        hosts_per_leaf: 2,
        uplinks: 1,
        uplink_capacity: Rate::from_gbps(8),
        host: HostSpec::named("grand-teton"),
        ..LeafSpine::default()
    };
    let fabric = fabric.build().unwrap();
    let plant = Plant::new(&fabric, 4);
    let of = |name: &str, seconds: f64| ClusterJob {
        name: name.to_owned(),
        class: String::new(),
        submitted: 0.0,
        gpus: 2 * 8,
        duration: 1000.0 * seconds,
        // 2 (n - 1) / n of the gradients go over the uplink in eight rings.
        step: step(seconds, 1.0, 16, seconds / 1.875),
        places: Vec::new(),
        placement: None,
        checkpoints: 0.0,
    };
    let jobs = [of("long", 2.0), of("short", 1.0)];
    let asked = Ask { span: 900.0, replan: 1.0, ..ask(SharingPolicy::Crux) };
    let lived = live(&jobs, &plant, &asked);
    let [long, short] = [&lived.jobs[0], &lived.jobs[1]];
    assert!(long.contended && short.contended);
    // Who goes first loses nothing; the other is served while the first computes.
    let steps = [long.steps / 900.0, short.steps / 900.0];
    let first =
        steps.iter().zip([4.0, 2.0]).filter(|(pace, alone)| (*pace * alone - 1.0).abs() < 0.02).count();
    assert_eq!(first, 1, "{steps:?}");
}

#[test]
fn the_same_seed_lives_the_same() {
    let fabric = small();
    let plant = Plant::new(&fabric, 16);
    let jobs = jobs(3, 60);
    let asked = Ask { jitter: 0.01, ..ask(SharingPolicy::Crux) };
    assert_eq!(live(&jobs, &plant, &asked), live(&jobs, &plant, &asked));
    assert_ne!(live(&jobs, &plant, &asked), live(&jobs, &plant, &Ask { seed: 2, ..asked }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn what_is_lived_adds_up(seed in 0u64..1000, policy in 0usize..8, jitter in 0.0..0.03f64, spread: bool) {
        let fabric = small();
        let plant = Plant::new(&fabric, 8);
        let jobs = jobs(seed, 30);
        let placement = if spread { PlacementPolicy::Spread } else { PlacementPolicy::Random };
        let sharing = SharingPolicy::ALL[policy];
        let lived = live(&jobs, &plant, &Ask { jitter, seed, placement, ..ask(sharing) });
        let held: f64 = lived.hours.iter().map(|hour| hour.held).sum();
        let mut of_jobs = 0.0;
        let mut events = Vec::new();
        for (job, life) in jobs.iter().zip(&lived.jobs) {
            let Some(started) = life.started else { continue };
            prop_assert!(started >= job.submitted - 1e-9);
            let ended = life.ended.unwrap_or(lived.span);
            of_jobs += f64::from(job.gpus) * (ended - started);
            // Nobody is faster than on a network of its own, up to half a step and jitter.
            if let Some(slowdown) = life.slowdown() {
                prop_assert!(slowdown > (1.0 - jitter) * (1.0 - 1.0 / life.steps) - 1e-9, "{slowdown}");
            }
            events.push((started, true, life.places.as_slice()));
            events.push((ended, false, life.places.as_slice()));
        }
        prop_assert!((held - of_jobs).abs() <= 1e-6 * of_jobs, "{held} {of_jobs}");
        for hour in &lived.hours {
            prop_assert!(hour.held <= f64::from(lived.gpus) * 3600.0 * (1.0 + 1e-9));
            prop_assert!(hour.computed <= hour.held * (1.0 + jitter) + 1.0 * f64::from(lived.gpus));
        }
        // At no moment two jobs hold one GPU.
        events.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let mut busy = std::collections::BTreeSet::new();
        for (_, begins, places) in events {
            for place in places {
                let is_new = if begins { busy.insert(place) } else { busy.remove(&place) };
                prop_assert!(is_new);
            }
        }
    }
}

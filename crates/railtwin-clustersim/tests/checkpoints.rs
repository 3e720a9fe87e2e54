//! Checkpoints over weeks: who writes when, what that costs writers and those that train, and that skipping knows of it.
use proptest::prelude::*;
use railtwin_clustersim::plant::Plant;
use railtwin_clustersim::{Ask, Checkpoints, ClusterJob, Lived, QueuePolicy, live};
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_control::{Place, PlacementPolicy};
use railtwin_fabric::preset::{Layout as _, LeafSpine};
use railtwin_fabric::{Fabric, HostId, Network, Outside, Storage};
use railtwin_units::Bytes;

use crate::skipping::{ask, jobs, step};

/// Two pairs of leaves of so many hosts each, and storage hosts.
pub(crate) fn fabric(hosts: u32, uplinks: u32, storage: Storage) -> Fabric {
    let spec = LeafSpine { leaves: 4, hosts_per_leaf: hosts, uplinks, ..LeafSpine::default() };
    let outside = Outside { frontend: None, storage: Some(storage) };
    outside.build(&spec.spec().expect("the counts fit")).expect("it can be built")
}

/// A job on these hosts whose steps compute for a second, and then reduce so many bytes.
pub(crate) fn job(name: &str, hosts: &[u32], steps: f64, gigabytes: f64) -> ClusterJob {
    let places: Vec<Place> =
        hosts.iter().flat_map(|&host| (0..8).map(move |gpu| Place { host: HostId(host), gpu })).collect();
    let gpus = places.len() as u32;
    let step = step(1.0, 1.0, gpus, gigabytes);
    ClusterJob {
        name: name.to_owned(),
        class: String::new(),
        submitted: 0.0,
        gpus,
        duration: steps,
        step,
        places,
        placement: None,
        checkpoints: 0.0,
    }
}

/// 30 GB of each GPU, once in so many seconds of steps.
pub(crate) fn every(seconds: f64) -> Option<Checkpoints> {
    Some(Checkpoints { bytes_per_gpu: Bytes(30_000_000_000), every: seconds })
}

fn lived(fabric: &Fabric, jobs: &[ClusterJob], checkpoints: Option<Checkpoints>) -> Lived {
    live(jobs, &Plant::new(fabric, 4), &Ask { checkpoints, ..ask(SharingPolicy::Ecmp) })
}

/// Seconds that a frontend NIC of two ports of 200 Gbps takes for eight GPUs.
const HOST_S: f64 = 8.0 * 30e9 / 50e9;

#[test]
fn a_job_alone_stands_still_for_what_its_nics_take() {
    // A storage host for each rank: the frontend NICs of its hosts are what holds it up.
    let fabric = fabric(2, 8, Storage::of(64));
    for (steps, count) in [(100.0, 0), (101.0, 1), (400.0, 3), (401.0, 4), (50.0, 0)] {
        let lived = lived(&fabric, &[job("a", &[0, 1], steps, 0.0)], every(100.0));
        let life = &lived.jobs[0];
        assert_eq!((life.steps, life.checkpoints), (steps, count));
        let written = f64::from(count) * HOST_S;
        assert!((life.writing_s - written).abs() < 1e-9 && (life.writing_alone_s - written).abs() < 1e-9);
        assert!((life.ended.expect("it ends") - steps - written).abs() < 1e-6, "{life:?}");
        // Who stands still computes nothing.
        let used = steps / (steps + written);
        assert!((lived.gpu_utilization() - used).abs() < 1e-9, "{} {used}", lived.gpu_utilization());
        assert!(!life.contended && !life.shared_a_link);
    }
}

#[test]
fn slowdown_has_the_checkpoints_in_that_a_job_writes() {
    let fabric = fabric(2, 8, Storage::of(64));
    for (gigabytes, checkpoints) in [(0.0, None), (0.0, every(40.0)), (20.0, None), (20.0, every(40.0))] {
        let lived = lived(&fabric, &[job("a", &[0, 3], 1_000.0, gigabytes)], checkpoints);
        let life = &lived.jobs[0];
        let alone = life.steps * life.step_alone;
        assert!(life.checkpoints > 20 || checkpoints.is_none(), "{life:?}");
        let slowdown = life.slowdown().expect("it ends");
        let exact = 1.0 + f64::from(life.checkpoints) * HOST_S / alone;
        assert!((slowdown - exact).abs() < 1e-9, "{gigabytes}: {slowdown} {exact}");
        let (computing, used) = (1.0 / life.step_alone, lived.gpu_utilization());
        assert!((life.computing_alone - computing).abs() < 1e-9, "{} {computing}", life.computing_alone);
        assert!((used * slowdown - computing).abs() < 1e-9, "{used} {computing}");
    }
}

#[test]
fn a_scheduler_knows_of_the_checkpoints_that_jobs_write() {
    // Who is known to write is expected to end later, and the first that waits for its host to begin later: until then
    // another may go ahead.
    let fabric = fabric(1, 8, Storage::of(64));
    let plain = |name: &str, submitted, gpus, duration| ClusterJob {
        submitted,
        gpus,
        duration,
        step: step(1.0, 1.0, gpus, 0.0),
        places: Vec::new(),
        ..job(name, &[0], 1.0, 0.0)
    };
    let started = |known: f64| {
        let writes = ClusterJob { checkpoints: known, ..plain("writes", 0.0, 8, 1_000.0) };
        let jobs = [writes, plain("head", 1.0, 16, 50.0), plain("behind", 2.0, 8, 1_400.0)];
        let asked = Ask {
            checkpoints: every(10.0),
            queue: QueuePolicy::Backfill,
            placement: PlacementPolicy::Packed,
            ..ask(SharingPolicy::Ecmp)
        };
        let lived = live(&jobs, &Plant::new(&fabric, 4), &asked);
        [0, 1, 2].map(|job: usize| lived.jobs[job].started.expect("it starts"))
    };
    // 99 checkpoints of 4.8 s: the head waits for 1,475.2 s, within which the other would end.
    let end = 1_000.0 + 99.0 * HOST_S;
    let known = started(99.0 * HOST_S / 1_000.0);
    assert_eq!(known[2], 2.0);
    let blind = started(0.0);
    assert!((blind[1] - end).abs() < 1e-6 && blind[2] > end, "{blind:?}");
}

#[test]
fn who_writes_at_one_time_shares_the_storage_hosts() {
    let fabric = fabric(4, 8, Storage::of(1));
    let two = |second: f64| {
        let jobs = [
            job("a", &[0, 1], 301.0, 0.0),
            ClusterJob { submitted: second, ..job("b", &[2, 3], 301.0, 0.0) },
        ];
        let lived = lived(&fabric, &jobs, every(100.0));
        let [a, b] = [&lived.jobs[0], &lived.jobs[1]];
        assert_eq!((a.checkpoints, b.checkpoints), (3, 3));
        // 16 ranks on one NIC of two ports: evenly over them, or all on one.
        let alone = [a, b].map(|life| life.writing_alone_s / 3.0);
        let (even, one_port) = (16.0 * 30e9 / 50e9, 16.0 * 30e9 / 25e9);
        assert!(alone.iter().all(|&alone| alone >= even - 1e-9 && alone <= one_port + 1e-9), "{alone:?}");
        assert_eq!(a.contended, b.contended);
        let seconds = lived.contended.iter().map(|pair| pair.seconds).sum::<f64>();
        (a.contended, [a, b].map(|life| life.writing_s / 3.0), alone, seconds, even)
    };
    let (contended, wrote, alone, seconds, even) = two(0.0);
    assert!(contended && (seconds - 3.0 * wrote[0]).abs() < 1e-3, "{seconds} {wrote:?}");
    // All that both write goes through one NIC, both at one pace, and one after the other is the worst.
    assert!((wrote[0] - wrote[1]).abs() < 1e-6, "{wrote:?}");
    assert!(wrote[0] >= 2.0 * even - 1e-6 && wrote[0] <= alone[0] + alone[1] + 1e-6, "{wrote:?} {alone:?}");
    let (contended, wrote, alone, seconds, _) = two(50.0);
    assert!(!contended && seconds == 0.0);
    assert!(
        wrote.iter().zip(alone).all(|(wrote, alone)| (wrote - alone).abs() < 1e-9),
        "{wrote:?} {alone:?}"
    );
}

#[test]
fn on_the_backend_checkpoints_are_in_the_way_of_training() {
    let of = |on: Network, bytes: u64| {
        let fabric = fabric(4, 2, Storage { on, ..Storage::of(8) });
        let last = fabric.hosts().len() as u32 - 1;
        // The rings of one cross the leaves, and so does what the other writes while it runs.
        let writer = job("writes", &[1], 3_000.0, 0.0);
        let trainer = ClusterJob { submitted: 1_990.0, ..job("trains", &[0, last], 600.0, 20.0) };
        let checkpoints = Some(Checkpoints { bytes_per_gpu: Bytes(bytes), every: 2_000.0 });
        let lived = lived(&fabric, &[writer, trainer], checkpoints);
        let [writes, trains] = [&lived.jobs[0], &lived.jobs[1]];
        assert_eq!((writes.checkpoints, trains.checkpoints), (u32::from(bytes > 0), 0));
        (trains.slowdown().expect("it ends"), trains.contended, writes.writing_s / writes.writing_alone_s)
    };
    let (without, with) = (of(Network::Frontend, 0), of(Network::Frontend, 3_000_000_000_000));
    assert_eq!((with.0, with.1), (without.0, false));
    assert!((with.2 - 1.0).abs() < 1e-9, "{with:?}");
    let (without, with) = (of(Network::Backend, 0), of(Network::Backend, 3_000_000_000_000));
    assert!(!without.1 && with.1, "{without:?} {with:?}");
    assert!(with.0 > 1.03 * without.0 && with.2 > 1.03, "{without:?} {with:?}");
}

#[test]
fn skipped_time_with_checkpoints_ends_when_computed_time_does() {
    let fabric = fabric(8, 4, Storage::of(2));
    let plant = Plant::new(&fabric, 4);
    let across = |name: &str, first: u32, compute: f64, gigabytes: f64| {
        let base = job(name, &[first, first + 8], 1.0, 0.0);
        ClusterJob { duration: 6_000.0, step: step(compute, 0.7, 16, gigabytes), ..base }
    };
    let jobs = [
        across("a", 0, 1.0, 30.0),
        across("b", 1, 1.7, 40.0),
        across("c", 2, 0.6, 20.0),
        across("d", 3, 2.3, 50.0),
    ];
    let mut skipped_steps = 0.0;
    for sharing in [SharingPolicy::Ecmp, SharingPolicy::Crux] {
        let asked = Ask { checkpoints: every(1_900.0), ..ask(sharing) };
        let full = live(&jobs, &plant, &Ask { steady: 0.0, ..asked.clone() });
        let skipped = live(&jobs, &plant, &asked);
        assert_eq!(full.effort.skipped_steps, 0.0);
        skipped_steps += skipped.effort.skipped_steps;
        for (one, other) in full.jobs.iter().zip(&skipped.jobs) {
            assert!(one.contended && one.checkpoints >= 2 && one.checkpoints == other.checkpoints);
            let (one, other) = (one.ended.expect("it ends"), other.ended.expect("it ends"));
            assert!((one - other).abs() < 0.004 * one, "{sharing:?}: {one} {other}");
        }
        let [one, other] = [&full, &skipped].map(Lived::gpu_utilization);
        assert!((one - other).abs() < 0.002, "{one} {other}");
    }
    assert!(skipped_steps > 1e3, "{skipped_steps}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Jobs that write, contend, move and wait: GPUs are held by one job at a time, and nobody is faster than alone.
    #[test]
    fn what_is_lived_with_checkpoints_adds_up(
        seed in 0u64..1000,
        policy in 0usize..8,
        jitter in prop::sample::select(vec![0.0, 0.01]),
        on_backend: bool,
        moves: bool,
    ) {
        let on = if on_backend { Network::Backend } else { Network::Frontend };
        let fabric = fabric(6, 6, Storage { on, ..Storage::of(2) });
        let plant = Plant::new(&fabric, 4);
        let jobs = jobs(seed, 16);
        let asked = Ask {
            checkpoints: every(300.0),
            placement: if moves { PlacementPolicy::SegmentFirst } else { PlacementPolicy::Spread },
            defragment: moves.then_some(20.0),
            jitter,
            seed,
            ..ask(SharingPolicy::ALL[policy])
        };
        let lived = live(&jobs, &plant, &asked);
        prop_assert_eq!(&live(&jobs, &plant, &asked), &lived);
        let (mut held, mut events, mut written) = (0.0, Vec::new(), 0);
        for (job, life) in jobs.iter().zip(&lived.jobs) {
            let Some(started) = life.started else { continue };
            let ended = life.ended.unwrap_or(lived.span);
            held += f64::from(job.gpus) * (ended - started);
            written += life.checkpoints;
            prop_assert!(life.writing_s >= life.writing_alone_s * (1.0 - 1e-9), "{life:?}");
            if let Some(slowdown) = life.slowdown() {
                // Alone under the same policy its own flows may collide, too.
                let alone = life.steps * life.step_alone * life.own_collisions().unwrap_or(1.0);
                let least = (1.0 - jitter) * (1.0 - 1.0 / life.steps) + life.writing_alone_s / alone;
                prop_assert!(slowdown > least - 1e-9, "{slowdown} {least}");
                let every = (300.0 / life.step_alone).round().max(1.0);
                prop_assert_eq!(life.checkpoints, ((life.steps - 1.0) / every).floor() as u32);
            }
            if !moves {
                events.push((started, true, life.places.as_slice()));
                events.push((ended, false, life.places.as_slice()));
            }
        }
        prop_assert!(written > 0);
        let of_hours: f64 = lived.hours.iter().map(|hour| hour.held).sum();
        prop_assert!((held - of_hours).abs() <= 1e-6 * held, "{held} {of_hours}");
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

/// Skipped time ends stretches within half a step of their ends; that does not add up to a checkpoint more.
#[test]
fn skipped_time_writes_no_checkpoint_more() {
    let fabric = fabric(6, 6, Storage { on: Network::Frontend, ..Storage::of(2) });
    let plant = Plant::new(&fabric, 4);
    let asked = Ask {
        checkpoints: every(300.0),
        placement: PlacementPolicy::Spread,
        seed: 835,
        ..ask(SharingPolicy::ALL[1])
    };
    let lived = live(&jobs(835, 16), &plant, &asked);
    for life in &lived.jobs {
        let every = (300.0 / life.step_alone).round().max(1.0);
        assert_eq!(life.checkpoints, ((life.steps - 1.0) / every).floor() as u32, "{life:?}");
    }
}

//! Inference over weeks: who loses what to requests, at which hour, and that skipping knows of it.
use proptest::prelude::*;
use railtwin_clustersim::plant::Plant;
use railtwin_clustersim::{Ask, ClusterJob, Inference, Lived, NotServed, Serving, live};
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_control::{Place, PlacementPolicy};
use railtwin_fabric::preset::{Layout as _, LeafSpine};
use railtwin_fabric::{Fabric, Frontend, HostId, HostSpec, Network, Outside, Storage};
use railtwin_units::{Bytes, Rate};

use crate::checkpoints::{every, job};
use crate::skipping::{ask, jobs, step};

/// Four leaves of so many hosts each, gateways and storage hosts.
fn fabric(hosts: u32, uplinks: u32, storage: Storage) -> Fabric {
    let spec = LeafSpine { leaves: 4, hosts_per_leaf: hosts, uplinks, ..LeafSpine::default() };
    // Few uplinks on the frontend, where it is used.
    let narrow = Frontend { hosts_per_leaf: 4, leaf_oversubscription: 8.0, ..Frontend::default() };
    let frontend = (storage.on == Network::Frontend).then_some(narrow);
    let outside = Outside { frontend, storage: Some(storage) };
    outside.build(&spec.spec().expect("the counts fit")).expect("it can be built")
}

fn gateways(on: Network) -> Storage {
    Storage { on, gateways: 8, ..Storage::of(8) }
}

fn on_backend(hosts: u32) -> Storage {
    Storage { on: Network::Backend, ..Storage::of(hosts) }
}

/// All GPUs of some hosts.
fn seats(hosts: &[u32]) -> Vec<Place> {
    hosts.iter().flat_map(|&host| (0..8).map(move |gpu| Place { host: HostId(host), gpu })).collect()
}

/// Answers of so many bytes a second from each GPU on the mean of the day, in messages of a megabyte.
fn answers(gigabytes_per_s: f64, tide: f64) -> Inference {
    let requests_per_s = gigabytes_per_s * 1e3;
    Inference { requests_per_s, request: Bytes(0), response: Bytes(1_000_000), tide }
}

fn serving(plant: &Plant<'_>, hosts: &[u32], asked: Inference) -> Result<Serving, NotServed> {
    Serving::new(plant, seats(hosts), &asked, 1, (86_400.0, 1))
}

fn lived(fabric: &Fabric, jobs: &[ClusterJob], asked: Option<(&[u32], Inference)>, base: &Ask) -> Lived {
    let plant = Plant::new(fabric, 4);
    let serving = asked.map(|(hosts, asked)| serving(&plant, hosts, asked).expect("links carry it"));
    live(jobs, &plant, &Ask { serving, ..base.clone() })
}

fn base() -> Ask {
    Ask { span: 90_000.0, ..ask(SharingPolicy::Ecmp) }
}

fn slowdown(lived: &Lived, job: usize) -> f64 {
    lived.jobs[job].slowdown().expect("it ends")
}

/// Two leaves of four hosts of a GPU each, with an uplink of half a NIC, and a gateway under the second.
pub(crate) fn one_uplink() -> Fabric {
    let spec = LeafSpine {
        leaves: 2,
        hosts_per_leaf: 4,
        uplinks: 1,
        uplink_capacity: Rate::from_gbps(200),
        host: HostSpec::named("plain"),
        ..LeafSpine::default()
    };
    let outside = Outside { frontend: None, storage: Some(Storage { gateways: 1, ..on_backend(1) }) };
    outside.build(&spec.spec().expect("the counts fit")).expect("it can be built")
}

/// Two ranks that compute for a second and send each other 25 GB over the uplinks, which is a second.
pub(crate) fn pair(submitted: f64, steps: f64) -> ClusterJob {
    let places = [0, 4].map(|host| Place { host: HostId(host), gpu: 0 }).to_vec();
    let (gpus, duration, step) = (2, 2.0 * steps, step(1.0, 1.0, 2, 25.0));
    ClusterJob { submitted, gpus, duration, step, places, ..job("trains", &[0], 1.0, 0.0) }
}

/// What becomes of it beside a GPU whose answers take so much of the uplink.
fn beside(job: ClusterJob, share: f64, tide: f64) -> Lived {
    let fabric = one_uplink();
    let plant = Plant::new(&fabric, 4);
    let places = vec![Place { host: HostId(1), gpu: 0 }];
    let asked = answers(25.0 * share, tide);
    let serving = Serving::new(&plant, places, &asked, 1, (86_400.0, 1)).expect("links carry it");
    assert!((serving.fullest_at(9) - share).abs() < 0.2 * tide * share + 1e-12);
    live(&[job], &plant, &Ask { serving: Some(serving), ..base() })
}

#[test]
fn a_job_has_what_requests_leave_of_its_links() {
    for share in [0.0, 0.1, 0.4, 0.9] {
        let lived = beside(pair(0.0, 500.0), share, 0.0);
        let life = &lived.jobs[0];
        assert!(!life.contended && !life.shared_a_link, "requests are no job");
        let exact = (1.0 + 1.0 / (1.0 - share)) / 2.0;
        let longer = life.steps_beside_inference_s / life.steps_by_paths_s;
        let step = life.ended.expect("it ends") / life.steps;
        assert!(
            (step / 2.0 - exact).abs() < 1e-9 && (longer - exact).abs() < 1e-9,
            "{share}: {step} {longer}"
        );
    }
}

#[test]
fn the_top_of_the_tide_costs_more_than_its_bottom() {
    let of = |hour: f64| slowdown(&beside(pair(hour * 3_600.0, 1_000.0), 0.4, 0.9), 0);
    let (bottom, top) = (of(2.0), of(14.0));
    assert!(top > 1.3 * bottom && bottom > 1.0, "{top} {bottom}");
    // One that runs all day pays for each hour what one within it pays.
    let day = beside(pair(0.0, 1e6), 0.4, 0.9);
    let mut worst = (0.0, 0);
    for (hour, lived) in day.hours[..24].iter().enumerate() {
        let swing = 1.0 + 0.9 * ((hour as f64 + 0.5 - 15.0) / 24.0 * std::f64::consts::TAU).cos();
        let step = 1.0 + 1.0 / (1.0 - 0.4 * swing);
        // Two GPUs compute a second each in a step. One is under way where an hour ends.
        assert!((lived.computed / (2.0 * 3_600.0 / step) - 1.0).abs() < 1e-3, "{hour}: {lived:?} {step}");
        worst = if step > worst.0 { (step, hour) } else { worst };
    }
    assert!(worst.1 == 14 || worst.1 == 15, "{worst:?}");
}

#[test]
fn on_the_frontend_requests_cost_checkpoints_and_no_step() {
    let cost = |on: Network| {
        // Hosts of two frontend leaves, whose uplinks are an eighth of what hosts have.
        let fabric = fabric(4, 2, gateways(on));
        let last = fabric.hosts().len() as u32 - 1;
        let base = Ask { checkpoints: every(400.0), ..base() };
        let of = |asked: Option<(&[u32], Inference)>| {
            let lived = lived(&fabric, &[job("a", &[0, last], 2_001.0, 20.0)], asked, &base);
            let life = &lived.jobs[0];
            assert!(life.checkpoints >= 3);
            let steps = life.ended.expect("it ends") - life.writing_s;
            (steps / life.steps, life.writing_s / life.writing_alone_s)
        };
        let plant = Plant::new(&fabric, 4);
        let serve = [1, 2, 3];
        let unit = serving(&plant, &serve, answers(1e-4, 0.0)).expect("it is little").fullest_at(0);
        let asked = answers(1e-4 * 0.7 / unit, 0.0);
        let ((step, write), (beside, slower)) = (of(None), of(Some((&serve, asked))));
        assert!((write - 1.0).abs() < 1e-9, "{write}");
        (beside / step, slower)
    };
    let (step, write) = cost(Network::Frontend);
    assert!((step - 1.0).abs() < 1e-9 && write > 1.05, "{step} {write}");
    let (step, _) = cost(Network::Backend);
    assert!(step > 1.05, "{step}");
}

#[test]
fn who_serves_trains_nothing_and_links_carry_all_that_is_asked_for() {
    let fabric = fabric(6, 2, gateways(Network::Backend));
    let plant = Plant::new(&fabric, 4);
    let many: Vec<ClusterJob> = jobs(3, 20);
    let serve: &[u32] = &[0, 2];
    let seen = lived(&fabric, &many, Some((serve, answers(0.01, 0.5))), &base());
    assert_eq!(seen.gpus, 8 * (fabric.hosts().len() as u32 - 2));
    let started = seen.jobs.iter().filter(|job| job.started.is_some()).count();
    assert!(started > 15, "{started}");
    let hosts = seen.jobs.iter().flat_map(|job| &job.places).map(|place| place.0);
    assert!(hosts.clone().all(|host| !serve.contains(&host)) && hosts.count() > 0);
    // Half a NIC for the mean of the day is more than a NIC at its top.
    let full = answers(30.0, 0.9);
    let Err(NotServed::TooMuch { hour, share, .. }) = serving(&plant, serve, full) else {
        panic!("it is too much")
    };
    assert!((hour == 14 || hour == 15) && share > 1.0, "{hour} {share}");
    let night = Serving::new(&plant, seats(serve), &answers(1.0, 1.0), 1, (3_600.0, 1)).expect("few ask");
    assert!(night.fullest_at(15) > 8.0 * night.fullest_at(0));
    let room = railtwin_clustersim::serving::seats(&fabric, 1_000, &PlacementPolicy::Packed, 1);
    assert_eq!(room, Err(NotServed::NoRoom { free: 8 * fabric.hosts().len() as u32 }));
}

#[test]
fn skipped_time_beside_a_tide_ends_when_computed_time_does() {
    let fabric = fabric(12, 4, gateways(Network::Backend));
    let across = |name: &str, first: u32, compute: f64, gigabytes: f64| {
        let base = job(name, &[first, first + 12], 1.0, 0.0);
        ClusterJob { duration: 20_000.0, step: step(compute, 0.7, 16, gigabytes), ..base }
    };
    // Steps in ratios of small numbers lock, and into which of several courses hangs on where they meet.
    let jobs = [
        across("a", 0, 1.0, 30.0),
        across("b", 1, 1.618, 40.0),
        across("c", 2, 0.583, 20.0),
        across("d", 3, 2.236, 50.0),
    ];
    let (mut skipped_steps, mut beside) = (0.0, 0.0);
    let asked = answers(5.0, 0.8);
    for sharing in [SharingPolicy::Ecmp, SharingPolicy::Crux] {
        let base = Ask { checkpoints: every(6_000.0), span: 90_000.0, ..ask(sharing) };
        let of = |steady: f64, asked| lived(&fabric, &jobs, asked, &Ask { steady, ..base.clone() });
        let (full, skipped) = (of(0.0, Some((&[5, 6][..], asked))), of(0.01, Some((&[5, 6][..], asked))));
        assert_eq!(full.effort.skipped_steps, 0.0);
        skipped_steps += skipped.effort.skipped_steps;
        for (one, other) in full.jobs.iter().zip(&skipped.jobs) {
            assert!(one.contended && one.checkpoints == other.checkpoints);
            beside += one.steps_beside_inference_s / one.steps_by_paths_s - 1.0;
            let (one, other) = (one.ended.expect("it ends"), other.ended.expect("it ends"));
            assert!((one - other).abs() < 0.002 * one, "{sharing:?}: {one} {other}");
        }
        let [one, other] = [&full, &skipped].map(Lived::gpu_utilization);
        assert!((one - other).abs() < 0.002, "{one} {other}");
    }
    assert!(skipped_steps > 1e3 && beside > 0.03, "{skipped_steps} {beside}");
}

#[test]
fn an_hour_of_the_tide_ends_no_skip_of_jobs_that_share_nothing_with_it() {
    let fabric = fabric(12, 4, gateways(Network::Frontend));
    let across = |name: &str, first: u32, compute: f64, gigabytes: f64| {
        let base = job(name, &[first, first + 12], 1.0, 0.0);
        ClusterJob { duration: 20_000.0, step: step(compute, 0.7, 16, gigabytes), ..base }
    };
    let jobs = [across("a", 0, 1.0, 30.0), across("b", 1, 1.7, 40.0), across("c", 2, 0.6, 20.0)];
    let without = lived(&fabric, &jobs, None, &base());
    let beside = lived(&fabric, &jobs, Some((&[5, 6], answers(0.1, 0.8))), &base());
    assert!(without.effort.skipped_steps > 1e3);
    assert_eq!(without.effort, beside.effort);
    assert_eq!(without.jobs, beside.jobs);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Jobs that write, contend, move and wait beside requests: nobody is faster than alone, and seeds live the same.
    #[test]
    fn what_is_lived_beside_inference_adds_up(
        seed in 0u64..1000,
        policy in 0usize..8,
        jitter in prop::sample::select(vec![0.0, 0.01]),
        on_backend: bool,
        moves: bool,
    ) {
        let on = if on_backend { Network::Backend } else { Network::Frontend };
        let fabric = fabric(6, 6, gateways(on));
        let plant = Plant::new(&fabric, 4);
        let jobs = jobs(seed, 16);
        let serve = &[2, 3][..];
        let asked = Ask {
            checkpoints: every(300.0),
            serving: Some(serving(&plant, serve, answers(0.4, 0.9)).expect("links carry it")),
            placement: if moves { PlacementPolicy::SegmentFirst } else { PlacementPolicy::Spread },
            defragment: moves.then_some(20.0),
            jitter,
            seed,
            ..ask(SharingPolicy::ALL[policy])
        };
        let lived = live(&jobs, &plant, &asked);
        prop_assert_eq!(&live(&jobs, &plant, &asked), &lived);
        let (mut held, mut beside) = (0.0, 0.0);
        for (job, life) in jobs.iter().zip(&lived.jobs) {
            let Some(started) = life.started else { continue };
            let ended = life.ended.unwrap_or(lived.span);
            held += f64::from(job.gpus) * (ended - started);
            prop_assert!(life.places.iter().all(|place| !serve.contains(&place.0)));
            prop_assert!(life.steps_beside_inference_s >= life.steps_by_paths_s * (1.0 - 1e-12));
            beside += life.steps_beside_inference_s - life.steps_by_paths_s;
            if let Some(slowdown) = life.slowdown() {
                let own = life.own_collisions().expect("it did steps");
                let alone = life.steps * life.step_alone * own;
                let least = (1.0 - jitter) * (1.0 - 1.0 / life.steps) + life.writing_alone_s / alone;
                prop_assert!(slowdown > least - 1e-9, "{slowdown} {least}");
            }
        }
        prop_assert!(on_backend || beside.abs() < 1e-6, "{beside}");
        let of_hours: f64 = lived.hours.iter().map(|hour| hour.held).sum();
        prop_assert!((held - of_hours).abs() <= 1e-6 * held, "{held} {of_hours}");
    }
}

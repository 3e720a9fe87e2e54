//! Reads over weeks: a step ends when what is read beside it is there, and who reads shares links with others.
use proptest::prelude::*;
use railtwin_clustersim::plant::Plant;
use railtwin_clustersim::{Ask, ClusterJob, Lived, live};
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_control::{Place, PlacementPolicy};
use railtwin_fabric::{Fabric, HostId, Network, Storage};
use railtwin_units::Bytes;

use crate::checkpoints::{every, fabric, job};
use crate::serving::{one_uplink, pair};
use crate::skipping::{ask, jobs, step};

fn lived(fabric: &Fabric, jobs: &[ClusterJob], gigabytes: f64, base: &Ask) -> Lived {
    let reads = (gigabytes > 0.0).then_some(Bytes((gigabytes * 1e9) as u64));
    live(jobs, &Plant::new(fabric, 4), &Ask { reads, ..base.clone() })
}

/// Seconds of a step of a job that ended, with all that held it up.
fn step_of(lived: &Lived, job: usize) -> f64 {
    let life = &lived.jobs[job];
    (life.ended.expect("it ends") - life.started.expect("it starts") - life.writing_s) / life.steps
}

#[test]
fn a_step_is_the_longer_of_its_own_and_of_what_it_reads() {
    // A storage host for each rank: eight ranks of a host share its frontend NIC of 50 GB/s.
    let fabric = fabric(2, 8, Storage::of(64));
    for gigabytes in [0.0, 20.0] {
        let base = ask(SharingPolicy::Ecmp);
        let asked = [job("a", &[0, 3], 300.0, gigabytes)];
        let alone = step_of(&lived(&fabric, &asked, 0.0, &base), 0);
        for read in [1.0, 5.0, 8.0, 20.0] {
            let reads = 8.0 * read / 50.0;
            let lived = lived(&fabric, &asked, read, &base);
            let exact = alone.max(reads);
            let step = step_of(&lived, 0);
            assert!((step - exact).abs() < 1e-9 * exact, "{gigabytes} {read}: {step} {exact}");
            let life = &lived.jobs[0];
            let longer = life.steps_by_paths_s / life.steps_without_reads_s;
            assert!((longer - exact / alone).abs() < 1e-9 && !life.contended, "{longer} {life:?}");
        }
    }
}

#[test]
fn on_the_backend_a_job_is_in_its_own_way() {
    // Ranks send each other 25 GB over an uplink of 25 GB/s, and one of them reads over it as much as it gets there.
    let fabric = one_uplink();
    let base = Ask { span: 90_000.0, ..ask(SharingPolicy::Ecmp) };
    let of = |read: f64| step_of(&lived(&fabric, &[pair(0.0, 400.0)], read, &base), 0);
    assert!((of(0.0) - 2.0).abs() < 1e-9);
    // The other reads under its own leaf. What the first reads by the time that both compute is in nobody's way.
    assert!((of(20.0) - 2.0).abs() < 1e-9, "{}", of(20.0));
    // Of 40 GB 15 are left then. Both have half of the uplink down until those are read, 1.2 s, and 10 of 25 GB are to be sent.
    assert!((of(40.0) - (1.0 + 1.2 + 0.4)).abs() < 1e-9, "{}", of(40.0));
    // Of 60 GB 35 are left: the ring has its 25 after 2 s, and the last 10 have the uplink.
    assert!((of(60.0) - (1.0 + 2.0 + 0.4)).abs() < 1e-9, "{}", of(60.0));
}

#[test]
fn who_reads_at_one_time_shares_the_storage_hosts() {
    let fabric = fabric(4, 8, Storage::of(1));
    let base = Ask { steady: 0.0, ..ask(SharingPolicy::Ecmp) };
    let two = [job("a", &[0, 1], 500.0, 0.0), job("b", &[2, 3], 500.0, 0.0)];
    let alone = step_of(&lived(&fabric, &two[..1], 10.0, &base), 0);
    // 16 ranks on a NIC of two ports, evenly or not.
    assert!(alone > 16.0 * 10.0 / 50.0 - 1e-9, "{alone}");
    let both = lived(&fabric, &two, 10.0, &base);
    assert!(both.jobs.iter().all(|job| job.contended));
    for job in 0..2 {
        let step = step_of(&both, job);
        assert!(step > 1.5 * alone && step < 2.0 * alone + 1e-6, "{step} {alone}");
    }
    // One of them is gone after half of the time, and the other reads alone.
    let short = [ClusterJob { duration: 250.0, ..two[0].clone() }, two[1].clone()];
    let lived = lived(&fabric, &short, 10.0, &base);
    let steps = [0, 1].map(|job| step_of(&lived, job));
    assert!(steps[1] < 0.9 * steps[0], "{steps:?}");
}

#[test]
fn skipped_time_with_reads_ends_when_computed_time_does() {
    let mut skipped_steps = 0.0;
    for on in [Network::Frontend, Network::Backend] {
        let fabric = fabric(8, 4, Storage { on, ..Storage::of(2) });
        let across = |name: &str, first: u32, compute: f64, gigabytes: f64| {
            let base = job(name, &[first, first + 8], 1.0, 0.0);
            ClusterJob { duration: 6_000.0, step: step(compute, 0.7, 16, gigabytes), ..base }
        };
        let jobs = [
            across("a", 0, 1.0, 30.0),
            across("b", 1, 1.618, 40.0),
            across("c", 2, 0.583, 20.0),
            across("d", 3, 2.236, 50.0),
        ];
        for sharing in [SharingPolicy::Ecmp, SharingPolicy::Crux] {
            let base = Ask { checkpoints: every(1_900.0), ..ask(sharing) };
            let full = lived(&fabric, &jobs, 4.0, &Ask { steady: 0.0, ..base.clone() });
            let skipped = lived(&fabric, &jobs, 4.0, &base);
            assert_eq!(full.effort.skipped_steps, 0.0);
            skipped_steps += skipped.effort.skipped_steps;
            for (one, other) in full.jobs.iter().zip(&skipped.jobs) {
                assert!(one.contended && one.checkpoints == other.checkpoints);
                let (one, other) = (one.ended.expect("it ends"), other.ended.expect("it ends"));
                assert!((one - other).abs() < 0.004 * one, "{on:?} {sharing:?}: {one} {other}");
            }
        }
    }
    assert!(skipped_steps > 1e3, "{skipped_steps}");
}

#[test]
fn a_job_that_reads_goes_on_where_it_was_when_another_comes_and_goes() {
    // Another contends for a moment now and then; what was read and sent by then is read and sent.
    let fabric = one_uplink();
    let base = Ask { span: 90_000.0, ..ask(SharingPolicy::Ecmp) };
    let other = |row: usize| {
        let places = [1, 5].map(|host| Place { host: HostId(host), gpu: 0 }).to_vec();
        let (submitted, duration) = (100.0 + 97.3 * row as f64, 1.5);
        ClusterJob { name: format!("other-{row}"), submitted, duration, places, ..pair(0.0, 1.0) }
    };
    let mut all: Vec<ClusterJob> = vec![pair(0.0, 400.0)];
    all.extend((0..8).map(other));
    let alone = lived(&fabric, &all[..1], 60.0, &base);
    let beside = lived(&fabric, &all, 60.0, &base);
    let [alone, with] = [&alone, &beside].map(|lived| lived.jobs[0].ended.expect("it ends"));
    assert!(beside.jobs.iter().all(|job| job.contended));
    // It reads or sends over the uplink all the time, so it is held up by just what the others read and send there, 85 GB
    // each at 25 GB/s.
    assert!((with - alone - 8.0 * 85.0 / 25.0).abs() < 1e-6, "{alone} {with}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Jobs that read, write, contend, move and wait: nobody is faster than alone, and seeds live the same.
    #[test]
    fn what_is_lived_with_reads_adds_up(
        seed in 0u64..1000,
        policy in 0usize..8,
        jitter in prop::sample::select(vec![0.0, 0.01]),
        on_backend: bool,
        moves: bool,
        gigabytes in 0.1..4.0f64,
    ) {
        let on = if on_backend { Network::Backend } else { Network::Frontend };
        let fabric = fabric(6, 6, Storage { on, ..Storage::of(8) });
        let jobs = jobs(seed, 16);
        let asked = Ask {
            checkpoints: every(300.0),
            placement: if moves { PlacementPolicy::SegmentFirst } else { PlacementPolicy::Spread },
            defragment: moves.then_some(20.0),
            jitter,
            seed,
            ..ask(SharingPolicy::ALL[policy])
        };
        let seen = lived(&fabric, &jobs, gigabytes, &asked);
        prop_assert_eq!(&lived(&fabric, &jobs, gigabytes, &asked), &seen);
        let mut held = 0.0;
        for (job, life) in jobs.iter().zip(&seen.jobs) {
            let Some(started) = life.started else { continue };
            let ended = life.ended.unwrap_or(seen.span);
            held += f64::from(job.gpus) * (ended - started);
            prop_assert!(life.steps_by_paths_s >= life.steps_without_reads_s * (1.0 - 1e-9));
            prop_assert_eq!(life.steps_by_paths_s, life.steps_beside_inference_s);
            // No step is shorter than alone, nor than its bytes take on the NICs by which they come: one for the eight GPUs of a
            // host, or one for each on the backend. Paces at which time is skipped are known within `steady`.
            if life.ended.is_some() {
                let reads = if on_backend { gigabytes } else { 8.0 * gigabytes } / 50.0;
                let least = life.step_alone.max(reads) * (life.steps - 1.0) * (1.0 - jitter - asked.steady);
                prop_assert!(ended - started - life.writing_s > least - 1e-6, "{life:?}");
            }
        }
        let of_hours: f64 = seen.hours.iter().map(|hour| hour.held).sum();
        prop_assert!((held - of_hours).abs() <= 1e-6 * held, "{held} {of_hours}");
    }
}

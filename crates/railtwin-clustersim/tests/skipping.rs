//! What is skipped against what is computed step by step.
use railtwin_clustersim::plant::Plant;
use railtwin_clustersim::{Ask, ClusterJob, QueuePolicy, live};
use railtwin_control::PlacementPolicy;
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_fabric::preset::LeafSpine;
use railtwin_units::stream;
use railtwin_units::{Bytes, SimTime};
use railtwin_workload::job_class::ClassStep;
use rand::RngExt;

fn step(compute: f64, overlap_from: f64, data: u32, gigabytes: f64) -> ClassStep {
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

fn ask(sharing: SharingPolicy) -> Ask {
    Ask {
        span: 40_000.0,
        queue: QueuePolicy::Backfill,
        placement: PlacementPolicy::Spread,
        sharing,
        levels: 8,
        replan: 30.0,
        queue_pairs: 1,
        jitter: 0.0,
        steady: 0.01,
        seed: 1,
    }
}

fn jobs(seed: u64, count: usize) -> Vec<ClusterJob> {
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
            }
        })
        .collect()
}

#[test]
fn skipped_weeks_end_when_computed_ones_do() {
    let fabric =
        LeafSpine { leaves: 8, hosts_per_leaf: 3, uplinks: 12, ..LeafSpine::default() }.build().unwrap();
    let plant = Plant::new(&fabric, 16);
    for sharing in [SharingPolicy::Ecmp, SharingPolicy::Crux] {
        for seed in 0..3 {
            let jobs = jobs(seed, 40);
            let time = std::time::Instant::now();
            let full = live(&jobs, &plant, &Ask { steady: 0.0, seed, ..ask(sharing) });
            let took = time.elapsed();
            let time = std::time::Instant::now();
            let skipped = live(&jobs, &plant, &Ask { seed, ..ask(sharing) });
            eprintln!("{sharing:?} {seed} {:?} {:?}", took, time.elapsed());
            eprintln!(
                "{:?}\n{:?} {} {} {}",
                full.effort,
                skipped.effort,
                full.gpu_utilization(),
                skipped.gpu_utilization(),
                full.occupancy()
            );
            let mut worst = 0.0f64;
            for (one, other) in full.jobs.iter().zip(&skipped.jobs) {
                if let (Some(one), Some(other)) = (one.ended, other.ended) {
                    worst = worst.max((one - other).abs() / one);
                }
            }
            eprintln!("worst {worst} {:?}", full.share_of(|job| job.contended));
        }
    }
}

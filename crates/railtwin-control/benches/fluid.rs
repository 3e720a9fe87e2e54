//! Steps of jobs that share links by hashing, as in weeks of jobs: of those that communicate who is in the way of a change
//! is filled anew, against all of them. Both count the same steps.
#![allow(clippy::disallowed_methods, reason = "a bench: time is what it measures")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use criterion::{Criterion, criterion_group, criterion_main};
use railtwin_control::crux::demand::{Demand, JobDemand};
use railtwin_control::crux::fluid::{AsPlanned, Fluid};
use railtwin_control::crux::tenants::{Candidate, SharedLink, Tenant, Tenants, Transfer};
use railtwin_units::stream::{self, Stream};
use railtwin_units::{Bytes, Rate, SimTime};
use rand::RngExt;

const LEAVES: u32 = 64;
const SPINES: u32 = 32;
/// NICs of a job under each of its leaves.
const NICS: u32 = 8;
/// Leaves of the largest job.
const LEAVES_MOST: u32 = 48;
/// Seconds of the clock that the ratio is taken over.
const SECONDS: f64 = 30.0;

/// A ring over NICs under leaves anywhere, from each to the next by the spine of a lot, and a step of 50 ms to 5 s.
fn tenant(lot: &mut Stream, duty: f64) -> Tenant {
    let leaves = 2.0f64.powf(lot.random_range(1.0..f64::from(LEAVES_MOST).log2())) as u32;
    let stride = [1, 3, 5, 7][lot.random_range(0..4)];
    let first = lot.random_range(0..LEAVES);
    let compute = 0.05 * 100.0f64.powf(lot.random_range(0.0..1.0));
    let bytes = Bytes((compute * duty * lot.random_range(0.5e9..2e9)) as u64);
    let transfers = (0..leaves * NICS).map(|nic| {
        let leaf = |step: u32| (first + stride * ((nic / NICS + step) % leaves)) % LEAVES;
        let spine = lot.random_range(0..SPINES);
        let links = vec![leaf(0) * SPINES + spine, LEAVES * SPINES + spine * LEAVES + leaf(1)];
        Transfer { bytes, candidates: vec![Candidate { links, source_port: None }] }
    });
    Tenant {
        transfers: transfers.collect(),
        ..Tenant::new("", leaves * NICS, SimTime::from_seconds(compute), 0.5)
    }
}

/// Jobs, and the same where a link that nobody crosses knows no levels, so that all paces are filled at every change.
fn demands(jobs: usize, duty: f64) -> [Arc<Demand>; 2] {
    let mut lot = stream::named(5, "bench");
    let links = (0..2 * LEAVES * SPINES).map(|_| SharedLink::new("", Rate::from_gbps(400))).collect();
    let tenants = Tenants { links, jobs: (0..jobs).map(|_| tenant(&mut lot, duty)).collect() };
    let asks = |job: &Tenant| JobDemand::of(&tenants, job, &vec![0; job.transfers.len()]);
    let all: Vec<usize> = (0..jobs).collect();
    let jobs = tenants.jobs.iter().map(asks).collect();
    let whole = Demand { jobs, links: tenants.links.len(), fair: Vec::new() };
    let less = whole.reduced(&all).binding();
    let anew = Demand { links: less.links + 1, fair: vec![less.links as u32], ..less.clone() };
    [Arc::new(less), Arc::new(anew)]
}

fn steps(demand: &Arc<Demand>, seconds: f64) -> u64 {
    let levels: Vec<u32> = (0..demand.jobs.len() as u32).map(|job| job % 8).collect();
    let starts = vec![0.0; levels.len()];
    let mut fluid = Fluid::starting(Arc::clone(demand), &levels, &starts, f64::INFINITY);
    fluid.run(seconds, &mut AsPlanned, |_, _, _| ());
    fluid.jobs.iter().map(|job| job.served.steps).sum()
}

fn told((jobs, duty): (usize, f64)) {
    let mut seconds = [0.0; 2];
    let mut counted = [0; 2];
    for (place, demand) in demands(jobs, duty).iter().enumerate() {
        let begin = Instant::now();
        counted[place] = black_box(steps(demand, SECONDS));
        seconds[place] = begin.elapsed().as_secs_f64();
    }
    println!(
        "{jobs} jobs, communication times {duty}, {} and {} steps: {:.3} s, all anew {:.3} s, {:.1} times as long",
        counted[0],
        counted[1],
        seconds[0],
        seconds[1],
        seconds[1] / seconds[0],
    );
}

fn bench(criterion: &mut Criterion) {
    [(20, 1.0), (40, 1.0), (80, 1.0), (20, 10.0), (40, 10.0), (80, 10.0)].into_iter().for_each(told);
    let [demand, _] = demands(40, 1.0);
    criterion.bench_function("a second of 40 jobs", |bench| bench.iter(|| steps(black_box(&demand), 1.0)));
}

criterion_group!(benches, bench);
criterion_main!(benches);

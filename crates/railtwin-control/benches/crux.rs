//! Crux's plan after one job left and another came, of jobs that share a fabric: paths and what is asked by them, from
//! what the plan before left, against every candidate's loads summed anew. Levels are the same work on either side.
#![allow(clippy::disallowed_methods, reason = "a bench: time is what it measures")]

use std::cmp::Reverse;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use criterion::{Criterion, criterion_group, criterion_main};
use railtwin_control::crux::burdens::Burdens;
use railtwin_control::crux::demand::{Demand, JobDemand};
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_control::crux::selection::Selection;
use railtwin_control::crux::tenants::{Candidate, Paths, SharedLink, Tenant, Tenants, Transfer};
use railtwin_units::stream::{self, Stream};
use railtwin_units::{Bytes, Rate, SimTime};
use rand::RngExt;

const LEAVES: u32 = 256;
const SPINES: u32 = 32;
/// NICs of a job under each of its leaves.
const NICS: u32 = 8;
/// Leaves of the largest job.
const LEAVES_MOST: u32 = 12;
/// Jobs that came and left before the ratio is told.
const ARRIVALS: u32 = 40;

fn up(leaf: u32, spine: u32) -> u32 {
    leaf * SPINES + spine
}

fn down(spine: u32, leaf: u32) -> u32 {
    LEAVES * SPINES + up(leaf, spine)
}

fn links() -> Vec<SharedLink> {
    (0..2 * LEAVES * SPINES).map(|_| SharedLink::new("", Rate::from_gbps(400))).collect()
}

/// A ring over the NICs of some leaves beside each other, from each leaf to the next by any spine.
fn tenant(lot: &mut Stream) -> Tenant {
    let leaves = lot.random_range(2..=LEAVES_MOST);
    let first = lot.random_range(0..LEAVES);
    let bytes = Bytes(lot.random_range(1_000_000_000..20_000_000_000));
    let transfers = (0..leaves * NICS).map(|nic| {
        let leaf = |step: u32| (first + (nic / NICS + step) % leaves) % LEAVES;
        let by =
            |spine| Candidate { links: vec![up(leaf(0), spine), down(spine, leaf(1))], source_port: None };
        Transfer { bytes, candidates: (0..SPINES).map(by).collect() }
    });
    let compute = SimTime::from_seconds(lot.random_range(0.5..4.0));
    Tenant { transfers: transfers.collect(), ..Tenant::new("", leaves * NICS, compute, 0.5) }
}

fn profiled(tenants: &Tenants, job: &Tenant) -> JobDemand {
    JobDemand::of(tenants, job, &vec![0; job.transfers.len()])
}

/// Jobs of which one leaves and another comes, time after time.
struct Fleet {
    tenants: Tenants,
    lot: Stream,
    next: usize,
    selection: Selection,
    burdens: Vec<Arc<Burdens>>,
    paths: Paths,
    demand: Vec<JobDemand>,
}

impl Fleet {
    fn new(jobs: usize) -> Self {
        let mut lot = stream::named(5, "bench");
        let mut tenants = Tenants { links: links(), jobs: Vec::new() };
        tenants.jobs = (0..jobs).map(|_| tenant(&mut lot)).collect();
        let burdens = tenants.jobs.iter().map(|job| Burdens::of(&tenants, job, &profiled(&tenants, job)));
        let burdens: Vec<Arc<Burdens>> = burdens.map(Arc::new).collect();
        let demand = tenants.jobs.iter().map(|job| profiled(&tenants, job)).collect();
        let (paths, selection) = (tenants.first_paths(), Selection::default());
        let mut fleet = Self { tenants, lot, next: 0, selection, burdens, paths, demand };
        fleet.since();
        fleet
    }

    fn arrives(&mut self) -> usize {
        let job = self.next % self.tenants.jobs.len();
        self.next += 7;
        self.tenants.jobs[job] = tenant(&mut self.lot);
        job
    }

    /// What the job that came last puts on links, once.
    fn weigh(&mut self, job: usize) {
        let tenant = &self.tenants.jobs[job];
        let demand = profiled(&self.tenants, tenant);
        self.burdens[job] = Arc::new(Burdens::of(&self.tenants, tenant, &demand));
        (self.paths[job], self.demand[job]) = (vec![0; tenant.transfers.len()], demand);
    }

    fn since(&mut self) {
        let links = self.tenants.links.len();
        let paths = SharingPolicy::Crux.paths_since(&mut self.selection, &self.burdens, links);
        for (job, chosen) in paths.into_iter().flatten().enumerate() {
            if self.paths[job] != chosen {
                self.demand[job] = self.burdens[job].demand(&self.tenants, &chosen);
                self.paths[job] = chosen;
            }
        }
    }

    fn anew(&self) -> (Paths, Demand) {
        let hashed = self.tenants.first_paths();
        let demand = Demand::of(&self.tenants, &hashed);
        let mut order: Vec<usize> = (0..self.tenants.jobs.len()).collect();
        let intensity = |job: usize| demand.jobs[job].intensity();
        order.sort_by(|&one, &other| intensity(other).total_cmp(&intensity(one)));
        let (mut paths, mut used) = (hashed, vec![0.0f64; self.tenants.links.len()]);
        let (mut loads, mut best_loads) = (Vec::<(u32, f64)>::new(), Vec::new());
        for job in order {
            let (transfers, step) = (&self.tenants.jobs[job].transfers, demand.jobs[job].step_alone());
            let mut largest_first: Vec<usize> = (0..transfers.len()).collect();
            largest_first.sort_by_key(|&transfer| Reverse(transfers[transfer].bytes));
            for transfer in largest_first {
                let mut best: Option<(f64, f64)> = None;
                for (number, candidate) in (0..).zip(&transfers[transfer].candidates) {
                    let bytes = transfers[transfer].bytes.0 as f64;
                    let load = |&link: &u32| {
                        (link, bytes / self.tenants.links[link as usize].capacity.bytes_per_s())
                    };
                    loads.clear();
                    loads.extend(candidate.links.iter().map(load));
                    loads.sort_by_key(|load| load.0);
                    let after = loads.iter().map(|&(link, seconds)| used[link as usize] + seconds / step);
                    let burden = after.fold((0.0f64, 0.0), |(most, sum), one| (most.max(one), sum + one));
                    if best.is_none_or(|best| burden < best) {
                        (best, paths[job][transfer]) = (Some(burden), number);
                        best_loads.clone_from(&loads);
                    }
                }
                best_loads.iter().for_each(|&(link, seconds)| used[link as usize] += seconds / step);
            }
        }
        let demand = Demand::of(&self.tenants, &paths);
        (paths, demand)
    }
}

fn plans(c: &mut Criterion) {
    let mut group = c.benchmark_group("crux");
    group.sample_size(10);
    for jobs in [30, 100, 300] {
        let mut fleet = Fleet::new(jobs);
        let mut seconds = [0.0, 0.0];
        for _ in 0..ARRIVALS {
            let job = fleet.arrives();
            let start = Instant::now();
            fleet.weigh(job);
            fleet.since();
            seconds[0] += start.elapsed().as_secs_f64() / f64::from(ARRIVALS);
            let start = Instant::now();
            let (paths, demand) = fleet.anew();
            seconds[1] += start.elapsed().as_secs_f64() / f64::from(ARRIVALS);
            assert!(
                paths == fleet.paths && demand.jobs == fleet.demand,
                "what is kept is what is chosen anew"
            );
        }
        println!(
            "crux/{jobs}-jobs: {:.3} ms a plan after a job came, {:.3} ms with all summed anew: {:.1} times as long",
            1e3 * seconds[0],
            1e3 * seconds[1],
            seconds[1] / seconds[0],
        );
        group.bench_function(format!("since/{jobs}"), |b| {
            b.iter(|| {
                let job = fleet.arrives();
                fleet.weigh(job);
                fleet.since();
            });
        });
        group.bench_function(format!("anew/{jobs}"), |b| b.iter(|| black_box(fleet.anew())));
    }
    group.finish();
}

criterion_group!(benches, plans);
criterion_main!(benches);

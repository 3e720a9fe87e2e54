//! Speed of the max-min solver, in flow-links, and of a whole run of an all-to-all on two fabrics.
use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use railtwin_engine::bundles::Strand;
use railtwin_engine::lower::Lowering;
use railtwin_engine::{BundleWriter, Case, Engine};
use railtwin_fabric::preset::{DcnPlus, Hpn};
use railtwin_fabric::{Fabric, LinkId};
use railtwin_flowsim::course::Course;
use railtwin_flowsim::max_min::{Problem, Solver};
use railtwin_flowsim::reduce::Constraints;
use railtwin_flowsim::symmetry::Likeness;
use railtwin_flowsim::{FlowEngine, Shortcuts};
use railtwin_routing::LinkMask;
use railtwin_testkit::{cases, works};
use railtwin_units::{SimTime, stream};
use railtwin_workload::{Algorithm, Collective};
use rand::RngExt;

/// Links of a path through three tiers: PCIe and access at both ends, two up, two down.
const LINKS_PER_FLOW: usize = 8;

/// Random flows: a random link of each of eight layers; hosts' layers are wide, the core's half as wide.
struct Flows {
    start: Vec<u32>,
    links: Vec<u32>,
    ones: Vec<f64>,
    caps: Vec<f64>,
    capacities: Vec<f64>,
}

impl Flows {
    fn draw(count: usize) -> Self {
        let mut random = stream::named(1, "bench");
        let nics = (count / 4) as u32;
        let widths = [nics, nics, nics / 2, nics / 2, nics / 2, nics / 2, nics, nics];
        let mut links = Vec::with_capacity(count * LINKS_PER_FLOW);
        for _ in 0..count {
            let mut first = 0;
            for width in widths {
                links.push(first + random.random_range(0..width));
                first += width;
            }
        }
        let capacities =
            widths.iter().flat_map(|&width| vec![f64::from(nics) / f64::from(width); width as usize]);
        Self {
            start: (0..=count as u32).map(|flow| flow * LINKS_PER_FLOW as u32).collect(),
            ones: vec![1.0; links.len()],
            links,
            caps: vec![f64::INFINITY; count],
            capacities: capacities.collect(),
        }
    }
}

fn solve(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("max_min");
    group.sample_size(10);
    for count in [10_000, 100_000] {
        let flows = Flows::draw(count);
        let problem = Problem {
            start: &flows.start,
            links: &flows.links,
            shares: &flows.ones,
            weights: &flows.ones[..count],
            caps: &flows.caps,
            capacities: &flows.capacities,
        };
        let (mut solver, mut rates) = (Solver::default(), Vec::new());
        group.throughput(Throughput::Elements((count * LINKS_PER_FLOW) as u64));
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            bencher.iter(|| {
                solver.solve(black_box(&problem), &mut rates);
                black_box(rates[0])
            });
        });
    }
    group.finish();
}

/// An all-to-all of 512 GPUs, 1 GiB a rank.
fn all_to_all(fabric: Fabric) -> Case {
    cases::job(fabric, works::collective(512, Collective::AllToAll, Algorithm::Direct, 1 << 30, 1))
}

/// What solving only the touched saves, and what an end of a bundle costs: the engine alone, without lowering.
fn touched(criterion: &mut Criterion) {
    let dcn_plus = DcnPlus { pods: 1, ..DcnPlus::default() }.build().expect("the preset builds");
    let case = all_to_all(dcn_plus);
    let table = Lowering::new(&case, 0).table(&LinkMask::none(&case.fabric), false).0;
    let mut group = criterion.benchmark_group("engine_512_dcn_plus");
    group.sample_size(10).throughput(Throughput::Elements(table.bundles() as u64));
    let run = |shortcuts, table| FlowEngine { shortcuts }.run_table(&case.fabric, table, &case.work).end;
    for (name, shortcuts) in
        [("touched", Shortcuts::ALL), ("whole", Shortcuts { touched: false, ..Shortcuts::ALL })]
    {
        let bench = |table| run(shortcuts, black_box(table));
        group.bench_function(name, |bencher| {
            bencher.iter_batched(|| table.clone(), bench, BatchSize::LargeInput);
        });
    }
    group.finish();
}

/// 32,000 bundles of which 32 each are alike, on 100 links: one variable for all alike, and one for each.
fn alike(criterion: &mut Criterion) {
    let mut writer = BundleWriter::new(false);
    let mut random = stream::named(1, "alike");
    for _ in 0..1_000 {
        let links: Vec<LinkId> =
            (0..4).map(|layer| LinkId(25 * layer + random.random_range(0..25))).collect();
        for _ in 0..32 {
            let strand = Strand { edge: 0, amount: 1.0, of: 1, links: links.clone(), parts: Vec::new() };
            writer.push(1.0, f64::INFINITY, &[strand]);
        }
    }
    writer.close_pattern(SimTime::ZERO);
    let table = writer.finish();
    let constraints = Constraints::of(&table, &[1e9; 100]);
    let likeness = Likeness::of(&table, &constraints);
    let mut group = criterion.benchmark_group("course_of_32000");
    group.sample_size(10).throughput(Throughput::Elements(table.bundles() as u64));
    for (name, counts) in [("alike", &likeness.count), ("each", &vec![1; table.bundles()])] {
        group.bench_function(name, |bencher| {
            bencher
                .iter(|| Course::of(&table, &constraints, black_box(counts), 0..table.bundles()).0.seconds);
        });
    }
    group.finish();
}

fn run(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("all_to_all_512");
    group.sample_size(10);
    let hpn = Hpn { segments: Some(2), hosts: Some(32), ..Hpn::default() }.build();
    let dcn_plus = DcnPlus { pods: 1, ..DcnPlus::default() }.build();
    for (name, fabric) in [("hpn", hpn), ("dcn-plus", dcn_plus)] {
        let case = all_to_all(fabric.expect("the preset builds"));
        group.bench_function(name, |bencher| bencher.iter(|| FlowEngine::default().run(black_box(&case), 0)));
    }
    group.finish();
}

criterion_group!(benches, solve, run, touched, alike);
criterion_main!(benches);

//! Speed of the max-min solver, in flow-links, and of a whole run of an all-to-all on two fabrics.
use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use railtwin_control::{PlacementPolicy, Placer};
use railtwin_engine::{Balancer, Case, Engine, RoutingCase, Split, WorkGraph};
use railtwin_fabric::Fabric;
use railtwin_fabric::preset::{DcnPlus, Hpn};
use railtwin_flowsim::FlowEngine;
use railtwin_flowsim::max_min::{Problem, Solver};
use railtwin_routing::{EcmpConfig, HashFunction, HashSpec, Seeds};
use railtwin_units::{SimTime, stream};
use railtwin_workload::{Algorithm, Axis, Collective, Operation, Pattern, PlanBuilder, Work};
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
    let fabric = Arc::new(fabric);
    let place = Placer::new(&fabric, 1).place("job", 512, &PlacementPolicy::Packed);
    let mut builder = PlanBuilder::new(512, vec!["all".into()]);
    let (collective, algorithm) = (Collective::AllToAll, Algorithm::Direct);
    let communicators = vec![(0..512).collect()];
    let pattern = builder.pattern(Pattern { axis: Axis::Ep, collective, algorithm, communicators });
    let name = builder.name(collective.name());
    let work = Work::Communicate { pattern, bytes: 1 << 30 };
    builder.push(Operation { lane: 0, name, axis: Axis::Ep, work }, &[]);
    let mut graph = WorkGraph::default();
    graph.push("job".into(), SimTime::ZERO, builder.finish(), 1);
    let routing = RoutingCase {
        balancer: Balancer::Ecmp,
        ecmp: EcmpConfig::new(HashSpec::new(HashFunction::Crc32), Seeds::PerSwitch),
        queue_pairs: 1,
        split: Split::Static,
        pxn: true,
    };
    let placements = vec![place.expect("the fabric has 512 free GPUs")];
    let name = "all-to-all".into();
    Case {
        name,
        seed: 1,
        fabric,
        work: graph,
        placements,
        routing,
        pace: railtwin_engine::Pace::Bundle,
        caps: vec![],
        faults: vec![],
        reaction: railtwin_engine::Reaction::INSTANT,
        transport: railtwin_engine::Transport::default(),
        throughput: None,
    }
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

criterion_group!(benches, solve, run);
criterion_main!(benches);

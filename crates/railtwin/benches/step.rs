//! One training step per replicate: lowering (shapes, queue pairs, routes) and the engine apart.
use std::hint::black_box;
use std::path::Path;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use railtwin::Question;
use railtwin_engine::lower::Lowering;
use railtwin_engine::{Case, Engine};
use railtwin_flowsim::FlowEngine;
use railtwin_routing::LinkMask;

fn case(name: &str) -> Case {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/reference");
    let question = Question::read(&scenarios.join(format!("{name}.toml"))).expect("the scenario is there");
    let point = question.points().expect("the scenario is well formed").remove(0);
    question.resolve(&point.scenario).expect("the scenario resolves").case
}

fn step(criterion: &mut Criterion) {
    for name in ["moe-9216-hpn", "moe-9216-dcn-plus", "gpt3-15360-hpn"] {
        let case = case(name);
        let none = LinkMask::none(&case.fabric);
        let lower = || Lowering::new(&case, 0).table(&none, false).0;
        let table = lower();
        let (paths, operations) = (Lowering::new(&case, 0).table(&none, true).1.len(), case.work.operations);
        println!("{name}: {operations} operations, {paths} queue-pair paths");
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10);
        group.bench_function("lowering", |bencher| bencher.iter(|| black_box(lower()).bundles()));
        group.bench_function("engine", |bencher| {
            let run = |table| FlowEngine::default().run_table(&case.fabric, table, &case.work).end;
            bencher.iter_batched(|| table.clone(), run, BatchSize::LargeInput);
        });
        group.bench_function("replicate", |bencher| {
            bencher.iter(|| FlowEngine::default().run(black_box(&case), 0).end);
        });
        group.finish();
    }
}

criterion_group!(benches, step);
criterion_main!(benches);

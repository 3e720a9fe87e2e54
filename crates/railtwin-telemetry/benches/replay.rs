//! Rows a second that the replay writes, at 1,024 and at 16,384 ranks.
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use railtwin_records::Batch;
use railtwin_telemetry::Settings;

#[path = "../tests/kit/mod.rs"]
mod kit;

fn steps(criterion: &mut Criterion) {
    let jobs = [
        ("dp 1024", kit::Job::new(1, 1, 1_024, 1)),
        ("tp 8, dp 128", kit::Job::new(8, 1, 128, 1)),
        ("dp 16384", kit::Job::new(1, 1, 16_384, 1)),
        ("tp 8, dp 2048", kit::Job::new(8, 1, 2_048, 1)),
    ];
    let mut group = criterion.benchmark_group("replay");
    group.sample_size(10);
    for (name, job) in jobs {
        let case = kit::case(job, 1);
        let (mut replay, _) = kit::replay(&case, Settings::default(), &[]);
        let mut batch = Batch::default();
        replay.step(&mut batch);
        let rows = batch.operations.len() + batch.messages.len();
        println!("{name}: {rows} rows a step, {} of them messages", batch.messages.len());
        group.throughput(Throughput::Elements(rows as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                batch.clear();
                replay.step(&mut batch)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, steps);
criterion_main!(benches);

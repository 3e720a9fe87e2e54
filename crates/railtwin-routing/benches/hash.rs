//! Nanoseconds a hash, for each function, and the cost of solving for a source port.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use railtwin_routing::{FiveTuple, HashFunction, HashKey, HashSpec, PortSolver, ports_by_bucket};

fn hashes(c: &mut Criterion) {
    let key = HashKey::of(FiveTuple::roce(0x0a00_0001, 0x0a00_0102, 0xC123));
    let mut group = c.benchmark_group("hash");
    for function in HashFunction::ALL {
        for (label, seed) in [("plain", 0), ("seeded", 7)] {
            let spec = HashSpec::new(function).with_seed(seed);
            group.bench_function(format!("{function}/{label}"), |b| {
                b.iter(|| black_box(&spec).hash(black_box(&key)));
            });
        }
    }
    group.finish();
}

fn solving(c: &mut Criterion) {
    let key = HashKey::of(FiveTuple::roce(0x0a00_0001, 0x0a00_0102, 0xC123));
    let spec = HashSpec::new(HashFunction::Crc32).with_seed(7);
    let mut group = c.benchmark_group("solve");
    group.bench_function("learn", |b| b.iter(|| PortSolver::new(black_box(&spec), &key)));
    let solver = PortSolver::new(&spec, &key);
    for members in [64, 60] {
        group.bench_function(format!("one of {members}"), |b| {
            b.iter(|| solver.solve(members, black_box(42)));
        });
    }
    group.bench_function("all ports by 60", |b| {
        b.iter(|| ports_by_bucket(black_box(&spec), &key, 60));
    });
    group.finish();
}

criterion_group!(benches, hashes, solving);
criterion_main!(benches);

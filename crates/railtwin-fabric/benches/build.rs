//! Time and memory of building a pod of HPN and a hundred thousand GPUs, and of the design report.
#![allow(clippy::disallowed_methods, reason = "a bench reads the clock and its own memory")]
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use railtwin_fabric::design::DesignReport;
use railtwin_fabric::preset::Hpn;

/// Pods of 15,360 GPUs.
const PODS: [u32; 2] = [1, 7];

fn hpn(pods: u32) -> Hpn {
    Hpn { pods, ..Hpn::default() }
}

fn build(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("build_hpn");
    group.sample_size(10);
    for pods in PODS {
        let gpus = u64::from(pods) * 15_360;
        group.throughput(Throughput::Elements(gpus));
        group.bench_function(BenchmarkId::from_parameter(gpus), |bencher| {
            bencher.iter(|| black_box(hpn(pods).build()).map(|fabric| fabric.port_count()));
        });
    }
    group.finish();
}

fn report(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("design_report_hpn");
    group.sample_size(10);
    for pods in PODS {
        let fabric = hpn(pods).build().expect("the preset builds");
        let gpus = u64::from(pods) * 15_360;
        group.bench_function(BenchmarkId::from_parameter(gpus), |bencher| {
            bencher.iter(|| DesignReport::of(black_box(&fabric)));
        });
    }
    group.finish();
}

/// The most memory that this process has had, in MiB; none where the system does not say.
fn peak_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

/// Before anything else has run, so that the peak is that of one build.
fn memory() {
    for pods in PODS {
        let before = peak_mib();
        let fabric = hpn(pods).build().expect("the preset builds");
        let columns = fabric.memory_bytes() as f64 / f64::from(1 << 20);
        let gpus = pods * 15_360;
        let (ports, cables) = (fabric.port_count(), fabric.cable_count());
        println!("hpn, {gpus} GPUs: {ports} ports, {cables} cables, {columns:.1} MiB of columns");
        if let (Some(before), Some(after)) = (before, peak_mib()) {
            println!("  peak of the process {before:.1} MiB before, {after:.1} MiB after the build");
        }
    }
}

criterion_group!(benches, build, report);

fn main() {
    memory();
    benches();
    Criterion::default().configure_from_args().final_summary();
}

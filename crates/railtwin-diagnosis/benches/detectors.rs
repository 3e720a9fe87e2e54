//! Records per second that all detectors together take on one core, and the memory of those that see every record.
//!
//! Operations of a tp × dp grid on hosts of 8, 128 to 16,384 ranks; and the same with a message for each queue pair.
//! Beside it what it costs to go through the same columns and add them up: no detector can be faster.
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use railtwin_diagnosis::{
    Context, Detector, Diagnosis, Hang, Settings, SlowMessages, SlowRanks, all_detectors,
};
use railtwin_records::{Batch, CommunicatorInfo, Directory, FlowInfo, HostInfo, OperationShape, RankInfo};

const TP: u32 = 8;
/// Tensor-parallel operations for each data-parallel one.
const LAYERS: u32 = 8;
/// Records of a measured run, at least.
const RECORDS: usize = 2_000_000;

fn directory(ranks: u32) -> Directory {
    let dp = ranks / TP;
    let mut directory = Directory { jobs: vec!["job".into()], ..Directory::default() };
    directory.hosts = (0..dp).map(|host| HostInfo { name: format!("host-{host}") }).collect();
    directory.ranks = (0..ranks)
        .map(|rank| RankInfo { job: 0, rank, host: rank / TP, gpu: rank % TP, nic: rank % TP })
        .collect();
    let communicator = |axis: &str, index: u32, ranks: Vec<u32>| CommunicatorInfo {
        job: 0,
        name: format!("{axis}-{index}"),
        axis: axis.into(),
        ranks,
    };
    for host in 0..dp {
        directory.communicators.push(communicator("tp", host, (host * TP..(host + 1) * TP).collect()));
    }
    for tp in 0..TP {
        directory.communicators.push(communicator("dp", tp, (0..dp).map(|host| host * TP + tp).collect()));
    }
    directory.shapes = vec![OperationShape {
        kind: "all-reduce".into(),
        algorithm: "ring".into(),
        data_type: "float32".into(),
        bytes: 1 << 24,
    }];
    directory.flows = (0..ranks)
        .map(|rank| {
            let target = (rank + TP) % ranks;
            FlowInfo {
                source: rank,
                target,
                source_nic: format!("host-{}/nic-{}", rank / TP, rank % TP),
                target_nic: format!("host-{}/nic-{}", target / TP, target % TP),
                nic_port: 0,
                queue_pair: rank,
                source_port: 50_000,
                links: Vec::new(),
            }
        })
        .collect();
    directory
}

/// One batch per step; times jitter, so that medians have work to do.
fn batches(ranks: u32, steps: u32, messages: bool) -> Vec<Batch> {
    let (dp, mut state) = (ranks / TP, 1_u64);
    let mut jitter = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % 20_000
    };
    let mut batches = Vec::new();
    for step in 0..steps {
        let start = 1_000_000_000 + u64::from(step) * 100_000_000;
        let mut batch = Batch { until_ns: start + 100_000_000, ..Batch::default() };
        for layer in 0..LAYERS {
            for rank in 0..ranks {
                let enter = start + u64::from(layer) * 10_000_000 + jitter();
                let end = start + u64::from(layer) * 10_000_000 + 1_000_000;
                batch.operations.push(rank / TP, rank, step * LAYERS + layer, 0, enter, end);
            }
        }
        for rank in 0..ranks {
            let enter = start + 85_000_000 + jitter();
            batch.operations.push(dp + rank % TP, rank, step, 0, enter, start + 95_000_000);
            if messages {
                let network = 9_000_000 + jitter();
                batch.messages.push(dp + rank % TP, step, 0, rank, 0, 14, 14, 1 << 24, network, 0, 0, 0, 14);
            }
        }
        batches.push(batch);
    }
    batches
}

/// All columns, added up.
fn sums(batch: &Batch) -> u64 {
    let narrow = |column: &[u32]| column.iter().map(|&value| u64::from(value)).sum::<u64>();
    let wide = |column: &[u64]| column.iter().copied().fold(0, u64::wrapping_add);
    let (operations, messages) = (&batch.operations, &batch.messages);
    let all = [
        narrow(&operations.communicator),
        narrow(&operations.rank),
        narrow(&operations.sequence),
        narrow(&operations.shape),
        wide(&operations.enter_ns),
        wide(&operations.end_ns),
        narrow(&messages.communicator),
        narrow(&messages.sequence),
        narrow(&messages.channel),
        narrow(&messages.flow),
        narrow(&messages.stage),
        narrow(&messages.stages),
        narrow(&messages.messages),
        wide(&messages.bytes),
        wide(&messages.network_ns),
        wide(&messages.data_wait_ns),
        wide(&messages.credit_wait_ns),
        wide(&messages.receive_wait_ns),
        narrow(&messages.first_wait_stage),
    ];
    all.into_iter().fold(0, u64::wrapping_add)
}

/// What the detectors that see every record hold after all batches; the others keep a few values for each counter.
fn memory(directory: &Directory, settings: &Settings, batches: &[Batch], name: &str) {
    let context = Context { directory, fabric: None, settings };
    let (mut hang, mut ranks, mut messages) =
        (Hang::default(), SlowRanks::default(), SlowMessages::default());
    let mut findings = Vec::new();
    for batch in batches {
        for detector in [&mut hang as &mut dyn Detector, &mut ranks, &mut messages] {
            detector.observe(&context, batch);
            detector.judge(&context, batch.until_ns, &mut findings);
        }
    }
    println!(
        "memory {name}: hangs {:.1} MB, ranks {:.1} MB, messages {:.1} MB; {} findings of a healthy job",
        hang.memory_bytes() as f64 / 1e6,
        ranks.memory_bytes() as f64 / 1e6,
        messages.memory_bytes() as f64 / 1e6,
        findings.len()
    );
}

fn detectors(criterion: &mut Criterion) {
    let settings = Settings::default();
    let mut group = criterion.benchmark_group("detectors");
    group.sample_size(10);
    for ranks in [128, 1_024, 16_384] {
        let directory = directory(ranks);
        for messages in [false, true] {
            let steps = (RECORDS as u32 / (ranks * (LAYERS + 1))).max(16);
            let batches = batches(ranks, steps, messages);
            let records: usize =
                batches.iter().map(|batch| batch.operations.len() + batch.messages.len()).sum();
            let name = if messages { "with messages" } else { "operations" };
            group.throughput(Throughput::Elements(records as u64));
            group.bench_with_input(BenchmarkId::new(name, ranks), &batches, |bencher, batches| {
                bencher.iter(|| {
                    // Numbers of operations begin anew, so the state does; its growth is part of the time.
                    let mut diagnosis = Diagnosis::with(settings, all_detectors());
                    let mut findings = Vec::new();
                    for batch in batches {
                        diagnosis.observe(&directory, None, black_box(batch), &mut findings);
                    }
                    findings.len()
                });
            });
            group.bench_with_input(
                BenchmarkId::new(format!("sums of {name}"), ranks),
                &batches,
                |bencher, all| {
                    bencher
                        .iter(|| all.iter().map(|batch| sums(black_box(batch))).fold(0, u64::wrapping_add));
                },
            );
            memory(&directory, &settings, &batches, &format!("{name}/{ranks}"));
        }
    }
    group.finish();
}

criterion_group!(benches, detectors);
criterion_main!(benches);

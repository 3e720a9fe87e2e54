//! One run of traffic engineering for 24K GPUs against the bar of one second, on two tiers and on three.
#![allow(clippy::disallowed_methods, reason = "a bench: time is what it measures")]

use std::hint::black_box;
use std::time::Instant;

use criterion::{Criterion, criterion_group, criterion_main};
use railtwin_control::te::{Demand, Engine, EngineOptions, FlowPlacement, TrafficMatrix, changes};
use railtwin_fabric::preset::{DcnPlus, LeafSpine};
use railtwin_fabric::{CableClass, Fabric, HostId, LinkId};
use railtwin_routing::{EntryTable, Forwarding, LinkMask, NicPort, Prefixes};
use railtwin_testkit::fabrics;
use railtwin_units::{Rate, stream};
use rand::RngExt;

const BAR_SECONDS: f64 = 1.0;
const LEAVES: u32 = 1536;
/// Pods of three tiers, of 512 GPUs each.
const PODS: u32 = 48;
/// Capacity of a switch chip, Tbps: 1,536 leaves meet at spines that stand for several boxes.
const CHIP: u64 = 700;
/// GPUs of a job, on as many leaves as sixteen each make.
const JOB: u32 = 128;

/// 24,576 GPUs: two hosts of eight 400G NICs under a leaf, 18 uplinks (1:1.125, Meta RoCE section 6.2).
fn two_tiers() -> Fabric {
    let leaves = fabrics::leaves(fabrics::host(8, 1, 400), LEAVES, 2, 18);
    let chip = Some(Rate::from_bits_per_s(CHIP * 1_000_000_000_000));
    LeafSpine { chip, ..leaves }.build().expect("valid")
}

/// As many GPUs in pods of DCN+, so that most jobs cross the core.
fn three_tiers() -> Fabric {
    DcnPlus { pods: PODS, chip: Rate::from_bits_per_s(CHIP * 1_000_000_000_000), ..DcnPlus::default() }
        .build()
        .expect("valid")
}

/// Jobs of 128 GPUs on shuffled hosts, so that racks are shared; each port of each NIC sends to the same
/// rail of `peers` other hosts of its job, at line rate in all.
fn matrix(fabric: &Fabric, peers: u32) -> TrafficMatrix {
    let mut hosts: Vec<u32> = (0..fabric.hosts().len() as u32).collect();
    let mut random = stream::named(7, "bench");
    for last in (1..hosts.len()).rev() {
        hosts.swap(last, random.random_range(0..=last));
    }
    let ports = (0..2).filter(|&port| fabric.access_link(fabric.nic(HostId(0), 0), port).is_some());
    let ports: Vec<u32> = ports.collect();
    let mut demands = Vec::new();
    for job in hosts.chunks((JOB / 8) as usize) {
        for (row, &host) in job.iter().enumerate() {
            for (nic, step) in (0..8).flat_map(|nic| (1..=peers).map(move |step| (nic, step))) {
                let peer = job[(row + step as usize) % job.len()];
                let target = fabric.nic(HostId(peer), nic);
                for &port in &ports {
                    let source = NicPort { nic: fabric.nic(HostId(host), nic), port };
                    let link = fabric.access_link(source.nic, port).expect("a port has a cable");
                    let rate = Rate::from_bits_per_s(fabric.capacity(link).bits_per_s() / u64::from(peers));
                    demands.push(Demand { source, target, rate });
                }
            }
        }
    }
    demands.into_iter().collect()
}

fn report(name: &str, fabric: &Fabric, seconds: f64, placement: &FlowPlacement) {
    let entries = placement.entries().count();
    let over =
        |(&load, link): (&f64, u32)| (load - fabric.capacity(LinkId(link)).bits_per_s() as f64).max(0.0);
    let beyond: f64 = placement.load_bits_per_s.iter().zip(0..).map(over).sum();
    println!(
        "te/{name}: {entries} entries, fullest link {:.3}, {:.2} % of the traffic beyond capacity, \
         {:.0} ms a run, {:.2} of the {BAR_SECONDS} s bar for {} GPUs",
        placement.max_utilization(fabric),
        100.0 * beyond / placement.flows.iter().map(|flow| flow.rate_bits_per_s).sum::<f64>(),
        seconds * 1e3,
        seconds / BAR_SECONDS,
        fabric.hosts().len() * 8,
    );
}

fn runs(c: &mut Criterion) {
    for (tiers, fabric) in [("two-tiers", two_tiers()), ("three-tiers", three_tiers())] {
        of_fabric(c, tiers, &fabric);
    }
}

fn of_fabric(c: &mut Criterion, tiers: &str, fabric: &Fabric) {
    let healthy = LinkMask::none(fabric);
    // Every ninth cable between switches: two links of a leaf, which is what 1:1.125 has to spare,
    // but not the same two for all leaves, so that spines are not full alike.
    let mut faulty = healthy.clone();
    let between = fabric.cables().filter(|&cable| fabric.cable_class(cable) == CableClass::LeafSpine);
    let mut random = stream::named(8, "faults");
    between.for_each(|cable| faulty.set_cable(cable, random.random_range(0..9) == 0));
    let engine = Engine::new(Prefixes::by_leaf_set(fabric), EngineOptions::default());
    let mut group = c.benchmark_group(format!("te/{tiers}"));
    group.sample_size(10);
    let all = JOB / 8 - 1;
    let runs = [
        ("ring", 1, &healthy),
        ("all-to-all", all, &healthy),
        ("ring-faults", 1, &faulty),
        ("all-to-all-faults", all, &faulty),
    ];
    for (name, peers, mask) in runs {
        let matrix = matrix(fabric, peers);
        // As after a link changed: tables are made anew.
        let run = |previous: Option<&FlowPlacement>| {
            let forwarding = Forwarding::new(fabric, mask);
            engine.place(fabric, &forwarding, &matrix, previous)
        };
        let start = Instant::now();
        let placement = run(None);
        report(&format!("{tiers}/{name}"), fabric, start.elapsed().as_secs_f64(), &placement);
        group.bench_function(format!("{name}/cold"), |b| b.iter(|| black_box(run(None))));
        group.bench_function(format!("{name}/kept"), |b| b.iter(|| black_box(run(Some(&placement)))));
        let intended = placement.intended(engine.prefixes());
        let empty = EntryTable::new(engine.prefixes().clone());
        group.bench_function(format!("{name}/diff"), |b| b.iter(|| black_box(changes(&empty, &intended))));
    }
    group.finish();
}

criterion_group!(benches, runs);
criterion_main!(benches);

//! Packet-hops a second: `cargo bench -p railtwin-packetsim --bench packet`.
//!
//! Every case runs the full RoCE model with PFC; beside it stands the limit of a bare loop on the same machine in
//! the same run.
#![allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
use std::time::Instant;

use railtwin_engine::packet::{CongestionControl, Dcqcn, Ecn, Hpcc, MarkAt};
use railtwin_engine::{Case, Engine, PacketLog, RunLog};
use railtwin_packetsim::PacketEngine;
use railtwin_testkit::{cases, fabrics, works};
use railtwin_units::Bytes;
use railtwin_workload::{Algorithm, Collective};

mod bare;

/// Bytes that the process holds, and the most that it ever held.
fn memory() -> (f64, f64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |key: &str| {
        let line = status.lines().find(|line| line.starts_with(key));
        let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
        kilobytes.unwrap_or(f64::NAN) * 1024.0
    };
    (of("VmRSS:"), of("VmHWM:"))
}

/// Cycles a second of this machine as the kernel states them; none where it does not.
fn cycles_per_s() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("cpu MHz"))?;
    Some(line.split(':').nth(1)?.trim().parse::<f64>().ok()? * 1e6)
}

/// The bare loop on the same flows, with a timing wheel and with a heap: packet-hops a second, and the share of the
/// better one that the engine reaches.
fn beside_bare(case: &Case, rate: f64, repeats: usize) {
    let median = |one: fn(&Case) -> u64| {
        let timed = |_| {
            let start = Instant::now();
            let hops = one(case);
            hops as f64 / start.elapsed().as_secs_f64()
        };
        let mut rates: Vec<f64> = (0..repeats).map(timed).collect();
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    let (wheel, heap) = (median(bare::run::<bare::Wheel>), median(bare::run::<bare::Heap>));
    println!(
        "{:<24} {:.2} M/s with a timing wheel, {:.2} with a binary heap; the full model reaches {:.2} of the better",
        "  bare loop",
        wheel * 1e-6,
        heap * 1e-6,
        rate / wheel.max(heap)
    );
}

fn measure(name: &str, case: &Case, threads: u32, repeats: usize) -> (f64, RunLog) {
    let mut times = Vec::new();
    let mut log = RunLog::default();
    for _ in 0..repeats {
        let start = Instant::now();
        log = PacketEngine { threads }.run(case, 0);
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let seconds = times[times.len() / 2];
    let packets: &PacketLog = log.packets.as_deref().expect("the packet engine logs packets");
    let hops = packets.counts.packet_hops as f64;
    println!(
        "{name:<24} {threads} thread  {:>6.2} M packet-hops  {seconds:>7.3} s  {:>6.2} M/s  {:>5.1} ns{} and {:.2} events a hop",
        hops * 1e-6,
        hops / seconds * 1e-6,
        seconds / hops * 1e9,
        cycles_per_s().map_or(String::new(), |cycles| format!(" ({:.0} cycles)", seconds / hops * cycles)),
        log.events as f64 / hops,
    );
    (hops / seconds, log)
}

/// What the rate laws cost: the same messages on the same paths under each, and their packet-hops a second over those of
/// nobody who slows senders down, in turn with them so that a machine whose speed drifts favors none.
fn beside_none(case: &Case, repeats: usize) {
    // Alibaba's thresholds for 25 Gb/s, times the rate, as its simulator of HPCC has them.
    let ecn = Ecn { min: Bytes(400_000), max: Bytes(1_600_000), probability: 0.2, at: MarkAt::Dequeue };
    let laws = [
        ("none", CongestionControl::None),
        ("dcqcn", CongestionControl::Dcqcn(Dcqcn::default())),
        ("hpcc", CongestionControl::Hpcc(Hpcc::default())),
    ];
    let mut rates = [const { Vec::new() }; 3];
    let mut told = [(0.0, 0, 0.0); 3];
    for _ in 0..repeats {
        for (row, (_, law)) in laws.into_iter().enumerate() {
            let mut case = case.clone();
            case.packets.keys.congestion_control = law;
            case.packets.tiers.iter_mut().for_each(|tier| tier.ecn = Some(ecn));
            let start = Instant::now();
            let log = PacketEngine { threads: 1 }.run(&case, 0);
            let seconds = start.elapsed().as_secs_f64();
            let counts = log.packets.as_deref().expect("the packet engine logs packets").counts;
            rates[row].push(counts.packet_hops as f64 / seconds);
            told[row] = (counts.packet_hops as f64, counts.cnps, log.end.seconds());
        }
    }
    let medians = rates.map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    });
    for (row, (name, _)) in laws.into_iter().enumerate() {
        let (hops, cnps, end) = told[row];
        println!(
            "  under {name:<16} 1 thread  {:>6.2} M packet-hops  {:>6.2} M/s  {:.3} of none; {cnps} CNPs, ends at {:.3} ms",
            hops * 1e-6,
            medians[row] * 1e-6,
            medians[row] / medians[0],
            end * 1e3,
        );
    }
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str()));
    if wants("small") {
        let small = cases::pairs(fabrics::t128(), &works::permutation(128, 1), 2_000_000);
        let (rate, _) = measure("permutation 128", &small, 1, 5);
        beside_bare(&small, rate, 5);
        beside_none(&small, 9);
        let long = cases::pairs(fabrics::t128(), &works::permutation(128, 1), 20_000_000);
        measure("permutation 128, 20 MB", &long, 1, 3);
    }
    if wants("medium") {
        let fabric = fabrics::leaf_spine(64, 16, 16, (100, 100), 1_000);
        let medium = cases::pairs(fabric, &works::permutation(1024, 1), 2_000_000);
        let (one, _) = measure("permutation 1,024", &medium, 1, 3);
        let (two, _) = measure("permutation 1,024", &medium, 2, 3);
        println!("{:<24} {:.2} times the rate of one", "  2 threads", two / one);
        beside_bare(&medium, one, 3);
        beside_none(&medium, 3);
    }
    if wants("short") {
        // Cables as clusters have them, next to the long ones of the other cases, in turn.
        let of = |delay| {
            let fabric = fabrics::leaf_spine(64, 16, 16, (100, 100), delay);
            cases::pairs(fabric, &works::permutation(1024, 1), 2_000_000)
        };
        let (short, long) = (of(25), of(1_000));
        let mut ratios: Vec<f64> = (0..5)
            .map(|_| {
                measure("1,024 hosts, 25 ns", &short, 1, 1).0 / measure("1,024 hosts, 1 us", &long, 1, 1).0
            })
            .collect();
        ratios.sort_by(f64::total_cmp);
        println!("{:<24} {:.2} of the rate over cables of 1 us", "  cables of 25 ns", ratios[2]);
        let tree = cases::pairs(fabrics::fat_tree(16, 100), &works::permutation(1024, 1), 2_000_000);
        measure("fat-tree, 1,024 hosts", &tree, 1, 5);
    }
    if wants("large") {
        let fabric = fabrics::leaf_spine(128, 64, 64, (100, 100), 1_000);
        let large = cases::pairs(fabric, &works::permutation(8192, 1), 2_000_000);
        let (before, _) = memory();
        let (rate, log) = measure("permutation 8,192", &large, 1, 1);
        let (_, most) = memory();
        let queued: u64 = log.packets.as_ref().map_or(0, |packets| packets.buffer_bytes_max.iter().sum());
        println!(
            "{:<24} {:.0} MiB at most, {:.0} MiB of it the fabric; switches held up to {:.1} M packets",
            "  memory",
            most / (1 << 20) as f64,
            before / (1 << 20) as f64,
            queued as f64 / 4178.0 * 1e-6,
        );
        beside_bare(&large, rate, 1);
        beside_none(&large, 3);
    }
    if wants("incast") {
        let incast = works::incast((8..128).step_by(8).chain([9]));
        measure("incast 16:1", &cases::pairs(fabrics::t128(), &incast, 2_000_000), 1, 5);
    }
    if wants("all-to-all") {
        let all = cases::collective(fabrics::t128(), Collective::AllToAll, Algorithm::Direct, 128 << 20);
        measure("all-to-all 128, 128 MiB", &all, 1, 1);
    }
}

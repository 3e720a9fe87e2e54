//! Packet-hops a second: `cargo bench -p railtwin-packetsim --bench packet`.
//!
//! Every case runs the full RoCE model with PFC; beside it stands the limit of a bare loop on the same machine in
//! the same run.
#![allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
use std::time::Instant;

use railtwin_engine::{Case, Engine, PacketLog, RunLog};
use railtwin_packetsim::PacketEngine;
use railtwin_workload::{Algorithm, Collective};

#[path = "../tests/common/mod.rs"]
mod common;

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
        "{name:<28} {threads} thread  {:>7.2} M packet-hops  {seconds:>7.3} s  {:>6.2} M/s  {:>5.1} ns/hop  {:.2} events/hop  end {:.1} us",
        hops * 1e-6,
        hops / seconds * 1e-6,
        seconds / hops * 1e9,
        log.events as f64 / hops,
        log.end.seconds() * 1e6,
    );
    (hops / seconds, log)
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str()));
    if wants("small") {
        let small = common::pairs(common::t128(), &common::permutation(128, 1), 2_000_000);
        measure("permutation 128", &small, 1, 5);
        let long = common::pairs(common::t128(), &common::permutation(128, 1), 20_000_000);
        measure("permutation 128, 20 MB", &long, 1, 3);
    }
    if wants("medium") {
        let fabric = common::leaf_spine(64, 16, 16, (100, 100), 1_000);
        let medium = common::pairs(fabric, &common::permutation(1024, 1), 2_000_000);
        let (one, _) = measure("permutation 1,024", &medium, 1, 3);
        let (two, _) = measure("permutation 1,024", &medium, 2, 3);
        println!("2 threads over 1: {:.2}", two / one);
    }
    if wants("large") {
        let fabric = common::leaf_spine(128, 64, 64, (100, 100), 1_000);
        let large = common::pairs(fabric, &common::permutation(8192, 1), 2_000_000);
        measure("permutation 8,192", &large, 1, 1);
    }
    if wants("incast") {
        let incast: Vec<(u32, u32)> = (1..16).map(|leaf| (8 * leaf, 0)).chain([(9, 0)]).collect();
        measure("incast 16:1", &common::pairs(common::t128(), &incast, 2_000_000), 1, 5);
    }
    if wants("all-to-all") {
        let all = common::collective(common::t128(), Collective::AllToAll, Algorithm::Direct, 128 << 20);
        measure("all-to-all 128, 128 MiB", &all, 1, 1);
    }
}

//! Packet-hops a second of the credit world: `cargo bench -p railtwin-packetsim --bench intranode`.
//!
//! SAURON's hosts of eight GPUs at 512 Gbps under C1 and C5 at full load: 16 hosts (128 GPUs), and 512 (4,096 GPUs). A
//! packet-hop is one packet on one link, inside a host or between hosts.
#![allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
use std::time::Instant;

use railtwin_engine::intranode::{IntranodeSpec, Pattern};
use railtwin_fabric::HostSpec;
use railtwin_fabric::preset::{LeafSpine, Rlft};
use railtwin_packetsim::intranode::IntranodeRun;
use railtwin_units::{Rate, SimTime};

/// Most bytes that the process ever held.
fn most() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.unwrap_or(f64::NAN) * 1024.0
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    let host = HostSpec {
        gpus: Some(8),
        nics: Some(1),
        nvlink: Some(Rate::from_gbps(512)),
        model: Some("plain".to_owned()),
        ..HostSpec::default()
    };
    let small = LeafSpine {
        leaves: 4,
        hosts_per_leaf: 4,
        uplinks: 4,
        delay: SimTime::from_ns(250),
        switch_latency: SimTime::ZERO,
        host: host.clone(),
        ..LeafSpine::default()
    };
    let large = Rlft { ports: 32, host, ..Rlft::default() };
    for (name, fabric, duration, threads, repeats) in [
        ("small", small.build(), 100_000, 1, 5),
        ("large", large.build(), 20_000, 1, 1),
        ("large", large.build(), 20_000, 2, 1),
    ] {
        if !wants(name) {
            continue;
        }
        let fabric = fabric.expect("a fabric of the bench");
        for pattern in [Pattern::C1, Pattern::C5] {
            let spec = IntranodeSpec {
                pattern,
                unpack: SimTime::from_ps(8_240),
                duration: SimTime::from_ns(duration),
                warm_up: SimTime::ZERO,
                ..IntranodeSpec::default()
            };
            let run = IntranodeRun::new(&fabric, &spec, 1, threads).expect("a spec of the bench");
            let mut times = Vec::new();
            let mut log = run.run();
            for _ in 0..repeats {
                let start = Instant::now();
                log = run.run();
                times.push(start.elapsed().as_secs_f64());
            }
            times.sort_by(f64::total_cmp);
            let (seconds, hops) = (times[times.len() / 2], log.packet_hops as f64);
            println!(
                "{:>5} GPUs {pattern} {threads} thread  {:>6.2} M packet-hops  {seconds:>7.3} s  {:>6.2} M/s  {:>5.1} ns \
                 and {:.2} events a hop, {:.0} MiB at most",
                fabric.hosts().len() * 8,
                hops * 1e-6,
                hops / seconds * 1e-6,
                seconds / hops * 1e9,
                log.events as f64 / hops,
                most() / (1 << 20) as f64,
            );
        }
    }
}

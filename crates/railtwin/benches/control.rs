//! What the control loop costs the start of a run: the mediator with the controller of a balancer against the bare
//! planning calls that the controller makes, on the same connections, and what it adds against a whole run.
//!
//! GPT-3 175B on a pod of HPN, 15,360 GPUs; `-- --quick` on a segment of 1,024. The two run in turn; of each the
//! fastest counts, which other work on the machine disturbs least.
#![allow(clippy::disallowed_methods, reason = "a bench: time is what it measures")]
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use railtwin::{Question, Run};
use railtwin_control::paths::{Demand, JobId, PathAllocator, QueuePairs, disjoint};
use railtwin_control::te::{Demand as Rated, Engine as Placer, TrafficMatrix};
use railtwin_engine::lower::Lowering;
use railtwin_engine::{Case, Mediator};
use railtwin_fabric::DeviceId;
use railtwin_routing::{EntryTable, Forwarding, LinkMask, NicPort, Prefixes, Routing};
use railtwin_units::Rate;

/// What the loop may add to a run without events.
const BAR: f64 = 0.02;

/// The case of a balancer, and seconds of a whole run of it, from the scenario's text to the figures.
fn case(segments: u32, balancer: &str, rounds: usize) -> (Case, f64) {
    let dp = 16 * segments;
    let text = format!(
        "schema = 1\nname = \"control\"\nseed = 1\n\
         fabric = {{ preset = \"hpn\", pods = 1, segments = {segments} }}\n\
         routing = {{ balancer = \"{balancer}\", queue_pairs = 2 }}\n[[job]]\nname = \"gpt3\"\n\
         workload = {{ recipe = \"gpt3-175b\", tp = 8, pp = 8, dp = {dp}, micro_batches = 16 }}\n"
    );
    let question = Question::of_text("control.toml", &text, Path::new("."));
    let point = question.points().expect("the scenario is well formed").remove(0);
    let resolve = || question.resolve(&point.scenario).expect("the scenario resolves");
    let mut whole = f64::INFINITY;
    for _ in 0..rounds {
        seconds(&mut whole, || Run::of(resolve(), &|| ()));
    }
    (resolve().case, whole)
}

/// What a controller came to, without a controller.
enum Planned {
    Ports(Vec<Option<u16>>),
    Entries(EntryTable),
}

/// C4P: every port of every connection in turn, over the least used paths.
fn least_used(case: &Case, lowering: &Lowering<'_>) -> Planned {
    let (fabric, numbers) = (&*case.fabric, lowering.queue_pair_numbers());
    let mut allocator = PathAllocator::new(fabric, lowering.draw().ecmp, &LinkMask::none(fabric));
    let mut ports = vec![None; numbers.len()];
    let mut rows: BTreeMap<JobId, Vec<u32>> = BTreeMap::new();
    for one in lowering.connections() {
        for port in 0..one.ports {
            let of_port = (port..one.count).step_by(one.ports as usize).map(|number| one.first + number);
            let of_job = rows.entry(JobId(one.job)).or_default();
            let before = of_job.len();
            of_job.extend(of_port);
            let targets: Vec<u32> = of_job[before..].iter().map(|&row| numbers[row as usize].1).collect();
            let source = NicPort { nic: one.source, port };
            let demand = Demand { source, target: one.target, queue_pairs: &targets, weight: 1 };
            allocator.allocate(JobId(one.job), &[demand]);
        }
    }
    for (&job, rows) in &rows {
        for (given, &row) in allocator.assignments(job).zip(rows) {
            ports[row as usize] = Some(given.source_port);
        }
    }
    Planned::Ports(ports)
}

/// Hosts: each connection by itself.
fn apart(case: &Case, lowering: &Lowering<'_>) -> Planned {
    let none = LinkMask::none(&case.fabric);
    let (forwarding, ecmp) = (Forwarding::new(&case.fabric, &none), lowering.draw().ecmp);
    let routing = Routing::new(&case.fabric, &forwarding, &ecmp);
    let (connections, pairs) = (lowering.connections(), lowering.queue_pair_numbers());
    let own = connections.iter().map(|one| QueuePairs {
        job: JobId(one.job),
        source: one.source,
        target: one.target,
        first: one.first,
        count: one.count,
        ports: one.ports,
    });
    let numbers: Vec<u32> = pairs.iter().map(|&(_, target)| target).collect();
    Planned::Ports(disjoint(&routing, &own.collect::<Vec<_>>(), &numbers, lowering.draw().draw))
}

/// Traffic engineering: what ports send to NICs, placed, as entries.
fn placed(case: &Case, lowering: &Lowering<'_>) -> Planned {
    let fabric = &*case.fabric;
    let forwarding = Forwarding::new(fabric, &LinkMask::none(fabric));
    let mut of_port: BTreeMap<(DeviceId, u32), f64> = BTreeMap::new();
    let sent = || {
        let each = lowering.connections().iter();
        each.flat_map(|one| (0..one.ports).map(move |port| (one, port, one.bytes / f64::from(one.ports))))
    };
    sent().for_each(|(one, port, bytes)| *of_port.entry((one.source, port)).or_insert(0.0) += bytes);
    let busiest = of_port.values().copied().fold(0.0, f64::max);
    let demands = sent().filter_map(|(one, port, bytes)| {
        let line = fabric.capacity(forwarding.access(one.source, port)?.link).bits_per_s() as f64;
        let rate = Rate::from_bits_per_s((line * (bytes / busiest)).round() as u64);
        Some(Rated { source: NicPort { nic: one.source, port }, target: one.target, rate })
    });
    let matrix: TrafficMatrix = demands.collect();
    let engine = Placer::new(Prefixes::by_leaf_set(fabric), case.routing.control.engine_options());
    let placement = engine.place(fabric, &forwarding, &matrix, None);
    Planned::Entries(placement.intended(engine.prefixes()))
}

/// Both came to the same.
fn agree(mediator: &Mediator<'_>, planned: &Planned) -> usize {
    let programmed = mediator.programmed();
    match planned {
        Planned::Ports(ports) => {
            assert!((0..).zip(ports).all(|(row, &port)| programmed.port(row) == port));
            ports.len()
        }
        Planned::Entries(entries) => {
            let written = programmed.entries().into_iter().flat_map(EntryTable::iter);
            assert!(written.eq(entries.iter()));
            entries.iter().count()
        }
    }
}

fn seconds<T>(best: &mut f64, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = black_box(run());
    *best = best.min(start.elapsed().as_secs_f64());
    result
}

fn main() {
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let (segments, rounds) = if is_quick { (1, 40) } else { (15, 15) };
    println!("balancer: decisions, bare ms, loop ms, loop to bare, whole run ms, added to a run (bar {BAR})");
    for (name, bare) in [
        ("ecmp", None),
        ("disjoint", Some(apart as fn(&Case, &Lowering<'_>) -> Planned)),
        ("c4p", Some(least_used)),
        ("te", Some(placed)),
    ] {
        let (case, whole) = case(segments, name, rounds / 3);
        let lowering = Lowering::new(&case, 0);
        let [mut alone, mut within] = [f64::INFINITY; 2];
        let mut decisions = 0;
        for _ in 0..rounds {
            let planned = bare.map(|bare| seconds(&mut alone, || bare(&case, &lowering)));
            let mediator = seconds(&mut within, || lowering.mediator(&[]));
            decisions = planned.map_or(0, |planned| agree(&mediator, &planned));
        }
        let alone = if bare.is_some() { alone } else { 0.0 };
        let (ratio, added) = (within / alone, (within - alone) / whole);
        let [alone, within, whole] = [alone, within, whole].map(|seconds| seconds * 1e3);
        println!("{name}: {decisions}, {alone:.2}, {within:.2}, {ratio:.3}, {whole:.1}, {added:+.4}",);
    }
}

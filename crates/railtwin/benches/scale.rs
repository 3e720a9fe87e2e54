//! A GPT-3 175B step on 1,024 to 122,880 GPUs, every flow routed: how time and memory grow with GPUs.
//!
//! The data-parallel size grows with the fabric; micro-batches, tp and pp stay. `-- --quick` runs up to 15,360 GPUs,
//! `-- c4p` another balancer. Sizes run in a process of their own each, so that a peak of memory is its own.
#![allow(clippy::disallowed_methods, reason = "a bench: time and memory are what it measures")]
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use railtwin::{Question, Run};
use railtwin_engine::lower::Lowering;
use railtwin_engine::{BundleTable, Case};
use railtwin_fabric::CableClass;
use railtwin_flowsim::FlowEngine;
use railtwin_routing::LinkMask;
use railtwin_workload::{Axis, PatternId};

/// GPUs, pods and segments of a pod; a segment of HPN has 1,024 GPUs.
const SIZES: [(u32, u32, u32); 5] =
    [(1_024, 1, 1), (3_840, 1, 4), (15_360, 1, 15), (61_440, 4, 15), (122_880, 8, 15)];
/// The size that others are compared with.
const BASE: u32 = 15_360;
/// GPUs, seconds and GiB that a whole run may take.
const BARS: [(u32, f64, f64); 2] = [(15_360, 10.0, 4.0), (122_880, 60.0, 12.0)];

/// What one size took.
struct Row {
    gpus: u32,
    queue_pairs: usize,
    lowering: f64,
    engine: f64,
    total: f64,
    peak_gib: f64,
    core_tb: f64,
}

impl Row {
    fn to_text(&self) -> String {
        let Self { gpus, queue_pairs, lowering, engine, total, peak_gib, core_tb } = self;
        format!("row {gpus} {queue_pairs} {lowering} {engine} {total} {peak_gib} {core_tb}")
    }

    fn of_text(text: &str) -> Option<Self> {
        let mut words = text.strip_prefix("row ")?.split(' ');
        let mut next = || words.next()?.parse::<f64>().ok();
        let (gpus, queue_pairs) = (next()? as u32, next()? as usize);
        let (lowering, engine, total) = (next()?, next()?, next()?);
        let (peak_gib, core_tb) = (next()?, next()?);
        Some(Self { gpus, queue_pairs, lowering, engine, total, peak_gib, core_tb })
    }
}

fn scenario(gpus: u32, pods: u32, segments: u32, balancer: &str) -> String {
    let dp = gpus / 64;
    format!(
        "schema = 1\nname = \"scale\"\nseed = 1\n\
         fabric = {{ preset = \"hpn\", pods = {pods}, segments = {segments} }}\n\
         routing = {{ balancer = \"{balancer}\", core_per_port = true, queue_pairs = 2 }}\n[[job]]\nname = \"gpt3\"\n\
         workload = {{ recipe = \"gpt3-175b\", tp = 8, pp = 8, dp = {dp}, micro_batches = 16 }}\n"
    )
}

/// Most memory that this process held, where the system tells.
fn peak_gib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kib.map_or(f64::NAN, |kib| kib / f64::from(1 << 20))
}

/// Terabytes of a step on cables between spines and cores, all of which must be PP's: a stage is a pod or a part of one.
fn core_tb(case: &Case, table: &BundleTable) -> f64 {
    let plan = &case.work.jobs[0].plan;
    let mut sum = 0.0;
    for (row, bytes) in plan.bytes_by_pattern().into_iter().enumerate() {
        for bundle in table.bundles_of(PatternId::from_index(row)) {
            let links = table.links_of(bundle);
            let on_core =
                links.filter(|(link, _)| case.fabric.cable_class(link.cable()) == CableClass::SpineCore);
            let bytes = bytes * table.volume[bundle] * on_core.map(|(_, share)| share).sum::<f64>();
            assert!(bytes == 0.0 || plan.patterns[row].axis == Axis::Pp, "{bytes} bytes over the core");
            sum += bytes;
        }
    }
    sum / 1e12
}

/// One size in this process: the whole run first, for its peak; then lowering and the engine apart.
fn one(text: &str) -> Row {
    let question = Question::of_text("scale.toml", text, Path::new("."));
    let point = question.points().expect("the scenario is well formed").remove(0);
    let start = Instant::now();
    let run = Run::of(question.resolve(&point.scenario).expect("the scenario resolves"), &|| ());
    let (total, peak_gib) = (start.elapsed().as_secs_f64(), peak_gib());
    assert_eq!(run.figure("operations_unfinished"), Some(0.0));
    let queue_pairs = run.info.counters["queue_pair_paths"] as usize;
    let case = run.resolved.case.clone();
    drop(run);
    let start = Instant::now();
    let table = Lowering::new(&case, 0).table(&LinkMask::none(&case.fabric), false).0;
    let lowering = start.elapsed().as_secs_f64();
    let core_tb = core_tb(&case, &table);
    let start = Instant::now();
    let log = FlowEngine::default().run_table(&case.fabric, table, &case.work);
    let engine = start.elapsed().as_secs_f64();
    assert_eq!(log.unfinished, 0);
    Row { gpus: case.placements[0].len() as u32, queue_pairs, lowering, engine, total, peak_gib, core_tb }
}

fn curve(balancer: &str, most: u32) {
    let program = std::env::current_exe().expect("a running program has a path");
    let mut rows: Vec<Row> = Vec::new();
    for (gpus, pods, segments) in SIZES.into_iter().filter(|size| size.0 <= most) {
        let output = Command::new(&program)
            .args(["one", &scenario(gpus, pods, segments, balancer)])
            .output()
            .expect("the program runs itself");
        let text = String::from_utf8_lossy(&output.stdout);
        let row = text.lines().find_map(Row::of_text);
        rows.push(row.unwrap_or_else(|| panic!("{gpus}: {}", String::from_utf8_lossy(&output.stderr))));
    }
    let per_gpu = |row: &Row| row.total / f64::from(row.gpus) * 1e6;
    let base = rows.iter().find(|row| row.gpus == BASE).map_or(f64::NAN, per_gpu);
    println!("{balancer}: load {}", std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
    println!(
        "GPUs, queue pairs, lowering s, engine s, whole run s, us per GPU, to {BASE} GPUs, peak GiB, PP TB up and down the core, bars"
    );
    for row in &rows {
        let Row { gpus, queue_pairs, lowering, engine, total, peak_gib, core_tb } = row;
        let (each, ratio) = (per_gpu(row), per_gpu(row) / base);
        let bar = BARS.iter().find(|bar| bar.0 == *gpus).map_or(String::new(), |(_, seconds, gib)| {
            format!("{:.2} of {seconds} s, {:.2} of {gib} GiB", total / seconds, peak_gib / gib)
        });
        println!(
            "{gpus}, {queue_pairs}, {lowering:.2}, {engine:.2}, {total:.2}, {each:.0}, {ratio:.2}, {peak_gib:.2}, {core_tb:.2}, {bar}"
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [mode, text] = &arguments[..]
        && mode == "one"
    {
        return println!("{}", one(text).to_text());
    }
    let most = if arguments.iter().any(|argument| argument == "--quick") { BASE } else { u32::MAX };
    let named: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|argument| !argument.starts_with('-')).collect();
    for balancer in if named.is_empty() { vec!["ecmp", "disjoint"] } else { named } {
        curve(balancer, most);
    }
}

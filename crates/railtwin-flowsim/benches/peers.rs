//! The same problems for our engine and for SimGrid, on the same machine in the same run: `make bench-peers`.
//!
//! Called with the path of the compiled `benches/peers/simgrid/peer.cpp`; without one it says so and ends.
#![allow(
    clippy::disallowed_methods,
    reason = "a bench asks another program through files, and reads the clock"
)]
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use railtwin_engine::{Case, Engine};
use railtwin_flowsim::FlowEngine;
use railtwin_flowsim::max_min::{Problem, Solver, check_optimal};
use railtwin_testkit::{cases, fabrics};
use railtwin_units::{SimTime, stream};
use railtwin_workload::{Algorithm, Collective};
use rand::RngExt;

const REPEATS: usize = 7;
const FLOWS: usize = 100_000;
/// Four links each: up from the host, up from the leaf, down from the spine, down to the host.
const LINKS_PER_FLOW: usize = 4;
const RING_BYTES: u64 = 64 << 20;
/// 100 Gb/s.
const RING_BYTES_PER_S: f64 = 12.5e9;

/// Flows between random hosts of a leaf-spine fabric, each over a random spine.
struct LeafSpineFlows {
    capacities: Vec<f64>,
    links: Vec<u32>,
}

impl LeafSpineFlows {
    /// 64 leaves of 32 hosts at 100 Gb/s, 16 spines at 400 Gb/s.
    fn draw() -> Self {
        const LEAVES: u32 = 64;
        const HOSTS: u32 = 32 * LEAVES;
        const SPINES: u32 = 16;
        let mut random = stream::named(1, "peers");
        let mut capacities = vec![12.5e9; 2 * HOSTS as usize];
        capacities.resize(capacities.len() + 2 * (LEAVES * SPINES) as usize, 50e9);
        let mut links = Vec::with_capacity(FLOWS * LINKS_PER_FLOW);
        while links.len() < FLOWS * LINKS_PER_FLOW {
            let (from, to) = (random.random_range(0..HOSTS), random.random_range(0..HOSTS));
            if from / 32 == to / 32 {
                continue;
            }
            let spine = random.random_range(0..SPINES);
            let uplinks = 2 * HOSTS;
            let (up, down) = (from / 32 * SPINES + spine, to / 32 * SPINES + spine);
            links.extend([from, uplinks + up, uplinks + LEAVES * SPINES + down, HOSTS + to]);
        }
        Self { capacities, links }
    }

    /// As `peer.cpp` reads it.
    fn text(&self) -> String {
        let mut text = format!("{}\n", self.capacities.len());
        for capacity in &self.capacities {
            let _ = write!(text, "{capacity} ");
        }
        let _ = write!(text, "\n{FLOWS}\n");
        for flow in self.links.chunks(LINKS_PER_FLOW) {
            let _ = writeln!(text, "{LINKS_PER_FLOW} {} {} {} {}", flow[0], flow[1], flow[2], flow[3]);
        }
        text
    }
}

/// Runs the peer; its answer, line by line as numbers.
fn ask(peer: &Path, arguments: &[&str]) -> Vec<Vec<f64>> {
    let out = Command::new(peer).args(arguments).arg("--log=root.thresh:error").output();
    let out = out.unwrap_or_else(|error| panic!("{}: {error}", peer.display()));
    assert!(out.status.success(), "{}: {}", peer.display(), String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let number = |word: &str| word.parse().unwrap_or_else(|_| panic!("the peer said {word:?}"));
    text.lines().map(|line| line.split_whitespace().map(number).collect()).collect()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn compare_solvers(peer: &Path) {
    let folder = std::env::temp_dir().join(format!("railtwin-peers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
    let (problem_path, rates_path) = (folder.join("problem.txt"), folder.join("rates.txt"));
    let flows = LeafSpineFlows::draw();
    std::fs::write(&problem_path, flows.text()).expect("the temporary folder can be written");
    let path = |path: &Path| path.to_str().expect("temporary folders have plain names").to_owned();
    let (problem_name, rates_name) = (path(&problem_path), path(&rates_path));
    let answer = ask(peer, &["solve", &problem_name, &rates_name, &REPEATS.to_string()]);
    let theirs = std::fs::read_to_string(&rates_path).expect("the peer wrote its rates");
    let theirs: Vec<f64> = theirs.lines().map(|line| line.parse().expect("rates are numbers")).collect();
    std::fs::remove_dir_all(&folder).expect("the temporary folder is ours");

    let start: Vec<u32> = (0..=FLOWS).map(|flow| (flow * LINKS_PER_FLOW) as u32).collect();
    let (ones, caps) = (vec![1.0; flows.links.len()], vec![f64::INFINITY; FLOWS]);
    let problem = Problem {
        start: &start,
        links: &flows.links,
        shares: &ones,
        weights: &ones[..FLOWS],
        caps: &caps,
        capacities: &flows.capacities,
    };
    let (mut rates, mut times) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let mut solver = Solver::default();
        let begin = Instant::now();
        solver.solve(&problem, &mut rates);
        times.push(begin.elapsed().as_secs_f64());
    }
    check_optimal(&problem, &rates, 1e-9).expect("our rates are max-min");
    assert_eq!(theirs.len(), rates.len(), "the peer gives one rate for each flow");
    assert!(theirs.iter().all(|rate| rate.is_finite() && *rate > 0.0), "every flow of the peer moves");
    let apart = rates.iter().zip(&theirs).map(|(a, b)| (a - b).abs() / a).fold(0.0, f64::max);
    let ours = median(times);
    let build = median(answer.iter().map(|line| line[0]).collect());
    let solve = median(answer.iter().map(|line| line[1]).collect());
    println!(
        "max-min, {FLOWS} flows of {LINKS_PER_FLOW} links over a leaf-spine fabric, median of {REPEATS}:"
    );
    println!("  ours     {:10.3} ms, from columns to rates", ours * 1e3);
    println!("  SimGrid  {:10.3} ms, after {:.3} ms to build its system", solve * 1e3, build * 1e3);
    println!("  ratio    {:10.1}, bar 10", solve / ours);
    println!("  rates    {apart:10.1e} apart at most, relative; bar 1e-6");
}

/// A ring all-reduce over one leaf without any delay.
fn ring(hosts: u32) -> Case {
    let mut leaf = fabrics::one_leaf(fabrics::plain_host(1, 100), hosts);
    (leaf.delay, leaf.switch_latency) = (SimTime::ZERO, SimTime::ZERO);
    let fabric = leaf.build().expect("the preset builds");
    cases::collective(fabric, Collective::AllReduce, Algorithm::Ring, RING_BYTES)
}

fn compare_rings(peer: &Path) {
    for hosts in [64, 256] {
        let (hosts_text, bytes) = (hosts.to_string(), RING_BYTES.to_string());
        let theirs = &ask(peer, &["ring", &hosts_text, &bytes, &RING_BYTES_PER_S.to_string()])[0];
        let case = ring(hosts);
        let begin = Instant::now();
        let end = FlowEngine::default().run(&case, 0).end;
        let wall = begin.elapsed().as_secs_f64();
        println!("ring all-reduce of 64 MiB over {hosts} hosts at 100 Gb/s:");
        println!("  ours     {:.9} ms, found in {:.3} ms", end.seconds() * 1e3, wall * 1e3);
        println!("  SimGrid  {:.9} ms, found in {:.3} ms", theirs[0] * 1e3, theirs[1] * 1e3);
        println!("  apart    {:.1e}, relative", (end.seconds() - theirs[0]).abs() / theirs[0]);
    }
}

fn main() {
    let Some(peer) = std::env::args().skip(1).find(|argument| !argument.starts_with("--")) else {
        println!("peers: no peer given, nothing compared: make bench-peers");
        return;
    };
    let peer = Path::new(&peer);
    compare_solvers(peer);
    compare_rings(peer);
}

//! Puts faults into a healthy cluster's logs of nccl-tests and scores the diagnosis:
//! `cargo run --release -p railtwin-reading --example faults_in_pairs FOLDER [DRAWS] [SEED]`.
//!
//! A fault takes a share of the bandwidth of each test between hosts that has a host, two hosts, or one NIC in it; nothing
//! else of the logs changes. One table is of all logs together, one of each number of GPUs.
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use railtwin_formats::telemetry::{FileNotes, NcclTest};
use railtwin_reading::{Diagnosed, Inputs, diagnosis_of};
use railtwin_records::Component;

type Logs = Vec<(String, Vec<NcclTest>)>;

/// Pseudo-random numbers: Marsaglia's xorshift64.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

/// A part that is slow.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Slow {
    Host(String),
    Pair(String, String),
    Port(String, String),
}

impl Slow {
    fn is_in(&self, test: &NcclTest) -> bool {
        let has = |host: &str| test.devices.iter().any(|device| device.host == host);
        match self {
            Self::Host(host) => has(host),
            Self::Pair(a, b) => has(a) && has(b),
            Self::Port(host, bus) => match test.name.as_str() {
                "sendrecv_perf" => sent_between(test).contains(&(host.as_str(), bus.as_str())),
                _ => test.devices.iter().any(|device| device.host == *host && device.bus == *bus),
            },
        }
    }

    fn is_within(&self, component: &Component) -> bool {
        matches!((self, component), (Self::Port(host, _), Component::Host(name)) if host == name)
    }

    fn is(&self, component: &Component) -> bool {
        match (self, component) {
            (Self::Host(host), Component::Host(name)) => host == name,
            (Self::Pair(a, b), Component::Connection(name)) => *name == format!("{a} > {b}"),
            (Self::Port(host, bus), Component::Nic(name)) => *name == format!("{host}/{bus}"),
            _ => false,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// One suspect, the truth.
    Right,
    /// Several suspects, the truth among them.
    Honest,
    /// The host of a slow NIC.
    Host,
    Silent,
    Wrong,
}

fn diagnosed(logs: Logs, files: Vec<FileNotes>) -> Diagnosed {
    let mut inputs = Inputs::default();
    (inputs.merged.nccl_tests, inputs.merged.files) = (logs, files);
    diagnosis_of(inputs, None, "job").expect("no site is given")
}

fn score(told: &Diagnosed, truth: &Slow) -> Verdict {
    let named = told.findings.iter().filter(|finding| !finding.suspects.is_empty());
    let mut verdict = Verdict::Silent;
    for finding in named {
        let holds = finding.suspects.iter().any(|suspect| truth.is(&suspect.component));
        match (holds, finding.suspects.len()) {
            (true, 1) => verdict = Verdict::Right,
            (true, _) if verdict == Verdict::Silent => verdict = Verdict::Honest,
            (true, _) => {}
            (false, 1) if truth.is_within(&finding.suspects[0].component) => verdict = Verdict::Host,
            (false, _) if finding.accuses() => return Verdict::Wrong,
            (false, _) => {}
        }
    }
    verdict
}

fn slowed(logs: &Logs, slow: &Slow, share: f64) -> Logs {
    let mut logs = logs.clone();
    let is_between = |test: &NcclTest| hosts_of(test).len() > 1;
    let tests = logs.iter_mut().flat_map(|(_, tests)| tests);
    let tests = tests.filter(|test| is_between(test) && slow.is_in(test));
    for result in tests.flat_map(|test| &mut test.results) {
        for measure in [&mut result.out_of_place, &mut result.in_place].into_iter().flatten() {
            measure.bus_gb_per_s *= 1.0 - share;
            measure.algorithm_gb_per_s *= 1.0 - share;
        }
    }
    logs
}

fn hosts_of(test: &NcclTest) -> BTreeSet<&str> {
    test.devices.iter().map(|device| device.host.as_str()).collect()
}

/// NICs over which ranks send to the next rank on another host: a message leaves on the rail of its receiver where the
/// sender's host takes part with that one (PXN of NCCL).
fn sent_between(test: &NcclTest) -> BTreeSet<(&str, &str)> {
    let devices = &test.devices;
    let mut used = BTreeSet::new();
    for (at, from) in devices.iter().enumerate() {
        let to = &devices[(at + 1) % devices.len()];
        if from.host == to.host {
            continue;
        }
        let has_rail = devices.iter().any(|one| one.host == from.host && one.bus == to.bus);
        used.insert((from.host.as_str(), if has_rail { to.bus.as_str() } else { from.bus.as_str() }));
        used.insert((to.host.as_str(), to.bus.as_str()));
    }
    used
}

/// Ports, hosts and pairs of the logs, each once.
fn parts(logs: &Logs) -> [Vec<Slow>; 3] {
    let mut all = [BTreeSet::new(), BTreeSet::new(), BTreeSet::new()];
    for test in logs.iter().flat_map(|(_, tests)| tests) {
        let hosts: Vec<String> = hosts_of(test).into_iter().map(str::to_owned).collect();
        if hosts.len() < 2 {
            continue;
        }
        all[0].extend(hosts.iter().map(|host| Slow::Host(host.clone())));
        if let [a, b] = &hosts[..] {
            all[1].insert(Slow::Pair(a.clone(), b.clone()));
        }
        let ports = test.devices.iter().map(|device| Slow::Port(device.host.clone(), device.bus.clone()));
        all[2].extend(ports);
    }
    all.map(|part| part.into_iter().collect())
}

fn table(title: &str, logs: &Logs, files: &[FileNotes], (draws, seed): (usize, u64)) {
    let healthy = diagnosed(logs.clone(), files.to_vec());
    println!("{title}: {} logs, without a fault {} accusations", logs.len(), healthy.accusations());
    println!("fault      less  right honest   host silent  wrong");
    let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for (name, part) in ["host", "pair", "port"].into_iter().zip(parts(logs)) {
        for share in [0.1, 0.2, 0.5] {
            let mut counts = [0_usize; 5];
            for _ in 0..draws {
                let slow = &part[draw.below(part.len())];
                let told = diagnosed(slowed(logs, slow, share), files.to_vec());
                let verdict = score(&told, slow);
                counts[verdict as usize] += 1;
                if verdict == Verdict::Wrong {
                    println!("  wrong: {slow:?}: {}", told.sentence());
                }
            }
            let [right, honest, host, silent, wrong] = counts;
            println!(
                "{name:<8} {:>4.0} % {right:>6} {honest:>6} {host:>6} {silent:>6} {wrong:>6}",
                100.0 * share
            );
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(folder) = arguments.first() else {
        eprintln!("give a folder of logs of nccl-tests of a healthy cluster");
        std::process::exit(2);
    };
    let number =
        |at: usize, usual: u64| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let times = (number(1, 10) as usize, number(2, 1));
    let inputs = match Inputs::read(&[PathBuf::from(folder)], "job") {
        Ok(inputs) => inputs,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    };
    let (logs, files) = (inputs.merged.nccl_tests, inputs.merged.files);
    table("all logs", &logs, &files, times);
    let mut by_gpus: BTreeMap<usize, Logs> = BTreeMap::new();
    for (name, tests) in &logs {
        let hosts: BTreeSet<&str> = tests.iter().flat_map(hosts_of).collect();
        let gpus = tests.first().map_or(0, |test| test.devices.len()) / hosts.len().max(1);
        if hosts.len() == 2 {
            by_gpus.entry(gpus).or_default().push((name.clone(), tests.clone()));
        }
    }
    for (gpus, logs) in by_gpus {
        println!();
        table(&format!("pairs with {gpus} GPUs a host"), &logs, &files, times);
    }
}

//! Synthetic tests with known faults of many kinds.
use std::collections::BTreeSet;

use railtwin_pairs::{Exit, FaultShape, Port, Trial, TrialOutcome, TrialSet, TrialTraffic};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Kinds of cases, with the weight of each in a run of 3,000.
pub const KINDS: [(&str, usize); 33] = [
    ("healthy, noise 1 %", 320),
    ("healthy, noise 3 %", 320),
    ("healthy, noise 5 %", 300),
    ("healthy, Student t3 3 %", 320),
    ("healthy, hosts differ 1.5 %", 300),
    ("healthy, two kinds of hosts 4.5 % apart", 220),
    ("healthy, two leaves, hop 5 to 11 %", 220),
    ("disjoint pairs", 100),
    ("ring, one host", 100),
    ("star, one leg", 100),
    ("star, the hub", 50),
    ("four hosts all pairs, one host", 100),
    ("one pair, one kind of test", 100),
    ("one pair, three kinds of test", 100),
    ("one lone result", 100),
    ("one rail, 1 GPU", 50),
    ("one rail, 4 GPUs", 50),
    ("one port, 1 GPU, three rounds", 50),
    ("one port, 4 GPUs", 50),
    ("leaf of a rail, 1 GPU", 40),
    ("leaf of a rail, 4 GPUs", 40),
    ("leaf of a rail, 8 GPUs", 40),
    ("leaf of a rail, 1, 4 and 8 GPUs", 40),
    ("two halves, all rails", 80),
    ("one direction of a host", 80),
    ("one direction of a pair", 80),
    ("one host among 64", 30),
    ("two hosts", 100),
    ("a third of the hosts", 60),
    ("one pair dead in three kinds", 60),
    ("one host dead", 60),
    ("one host, two leaves with a hop", 100),
    ("rings over four random hosts, one host", 80),
];

/// One case: tests and the faults in them.
pub struct Case {
    /// Tests.
    pub set: TrialSet,
    /// Faults; none where all is well.
    pub truth: Vec<FaultShape>,
    /// Whether silence is right because nothing compares with the fault.
    pub is_untold: bool,
}

struct Builder {
    random: Pcg64,
    set: TrialSet,
    hosts: usize,
    noise: f64,
    depth: f64,
    /// Logarithm that each host adds.
    offsets: Vec<f64>,
    /// Leaf of each host and the cost of a hop as a logarithm.
    leaves: (Vec<usize>, f64),
    heavy: bool,
}

const PLACES: usize = 8;

impl Builder {
    fn new(seed: u64, hosts: usize) -> Self {
        let mut random = Pcg64::seed_from_u64(seed);
        let noise = if random.random_bool(0.5) { 0.01 } else { 0.03 };
        let depth = [0.2, 0.5, 0.75][random.random_range(0..3)];
        let set = TrialSet {
            hosts: (0..hosts).map(|host| format!("host-{host}")).collect(),
            places: (0..PLACES).map(|place| format!("place-{place}")).collect(),
            trials: Vec::new(),
        };
        let leaves = (vec![0; hosts], 0.0);
        Self { random, set, hosts, noise, depth, offsets: vec![0.0; hosts], leaves, heavy: false }
    }

    fn normal(&mut self) -> f64 {
        let [a, b] = [self.random.random_range(1e-12..1.0_f64), self.random.random_range(0.0..1.0_f64)];
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    /// Noise of one result: normal, or Student's t with three degrees of freedom.
    fn noise(&mut self) -> f64 {
        let value = self.normal();
        if !self.heavy {
            return value * self.noise;
        }
        let squares: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        value / (squares / 3.0).sqrt() * self.noise
    }

    fn ports(&mut self, hosts: &[usize], gpus: usize, aligned: bool) -> Vec<Port> {
        let mut ports = Vec::new();
        let mut places: Vec<usize> = (0..PLACES).collect();
        places.shuffle(&mut self.random);
        for &host in hosts {
            if !aligned {
                places.shuffle(&mut self.random);
            }
            let mut own: Vec<usize> = places[..gpus].to_vec();
            own.sort_unstable();
            ports.extend(own.into_iter().map(|place| Port { host, place: Some(place) }));
        }
        ports
    }

    fn add(&mut self, class: &str, traffic: TrialTraffic, ports: Vec<Port>, faults: &[(FaultShape, Fault)]) {
        let mut trial =
            Trial { class: class.to_owned(), traffic, ports, outcome: TrialOutcome::Died(String::new()) };
        let hosts: BTreeSet<usize> = trial.ports.iter().map(|port| port.host).collect();
        let mut log = 3.0 + class.len() as f64 / 10.0 + self.noise();
        log += hosts.iter().map(|host| self.offsets[*host]).sum::<f64>();
        let leaves: BTreeSet<usize> = hosts.iter().map(|host| self.leaves.0[*host]).collect();
        log -= if leaves.len() > 1 { self.leaves.1 } else { 0.0 };
        let mut lost = 0.0_f64;
        let mut dies = self.random.random_bool(0.0005).then(|| "common.cu:401".to_owned());
        for (shape, fault) in faults {
            if !trial.is_touched(shape, Exit::ReceiverRail) {
                continue;
            }
            match fault {
                Fault::Slow => {
                    let depth = self.depth * self.random.random_range(0.85..1.15_f64);
                    lost = lost.max(-(1.0 - depth.min(0.97)).ln());
                }
                Fault::SlowIn(own) if *own == class => lost = lost.max(-(1.0 - self.depth).ln()),
                Fault::SlowIn(_) => {}
                Fault::Dies(rate) => {
                    if self.random.random_bool(*rate) {
                        dies = Some("common.cu:1279".to_owned());
                    }
                }
            }
        }
        let size = |at: u32, more: f64| (1_u64 << (25 + 4 * at), (log - lost + more).exp());
        let sizes = (0..3).map(|at| {
            let more = 0.002 * self.normal();
            size(at, more)
        });
        let sizes: Vec<(u64, f64)> = sizes.collect();
        trial.outcome = dies.map_or(TrialOutcome::Sizes(sizes), TrialOutcome::Died);
        self.set.trials.push(trial);
    }

    fn pairs(&self) -> Vec<[usize; 2]> {
        (0..self.hosts).flat_map(|a| (0..a).map(move |b| [b, a])).collect()
    }

    /// All-to-all and send and receive between some pairs, with some GPUs of each host.
    fn dense(&mut self, pairs: &[[usize; 2]], gpus: usize, faults: &[(FaultShape, Fault)]) {
        for pair in pairs {
            for (class, traffic) in
                [("alltoall", TrialTraffic::AllToAll), ("sendrecv", TrialTraffic::SendReceive)]
            {
                let ports = self.ports(pair, gpus, false);
                self.add(&format!("{class}-{gpus}"), traffic, ports, faults);
            }
        }
    }

    fn one_kind(&mut self, pairs: &[[usize; 2]], class: &str, faults: &[(FaultShape, Fault)]) {
        for pair in pairs {
            let ports = self.ports(pair, PLACES, true);
            self.add(class, TrialTraffic::Rings, ports, faults);
        }
    }

    fn some_hosts(&mut self, count: usize) -> BTreeSet<usize> {
        let mut hosts: Vec<usize> = (0..self.hosts).collect();
        hosts.shuffle(&mut self.random);
        hosts.into_iter().take(count).collect()
    }

    fn done(self, truth: Vec<FaultShape>) -> Case {
        Case { set: self.set, truth, is_untold: false }
    }
}

#[derive(Clone)]
enum Fault {
    Slow,
    SlowIn(&'static str),
    Dies(f64),
}

fn slow(shapes: &[FaultShape]) -> Vec<(FaultShape, Fault)> {
    shapes.iter().map(|shape| (shape.clone(), Fault::Slow)).collect()
}

/// A case of a kind.
pub fn case(kind: &str, seed: u64) -> Case {
    let mut hosts = Pcg64::seed_from_u64(seed ^ 0x9e37);
    let mut between = |least: usize, most: usize| hosts.random_range(least..=most);
    if kind.starts_with("healthy") {
        return healthy(kind, Builder::new(seed, between(6, 20)));
    }
    match kind {
        "disjoint pairs"
        | "ring, one host"
        | "star, one leg"
        | "star, the hub"
        | "four hosts all pairs, one host"
        | "rings over four random hosts, one host" => sparse(kind, Builder::new(seed, between(8, 32))),
        "one host among 64" => {
            let mut build = Builder::new(seed, 64);
            build.noise = 0.03;
            build.depth = [0.1, 0.2, 0.5][between(0, 2)];
            let truth = vec![FaultShape::Host(build.random.random_range(0..64))];
            let pairs = build.pairs();
            build.one_kind(&pairs, "allreduce", &slow(&truth));
            build.done(truth)
        }
        "one rail, 1 GPU"
        | "one rail, 4 GPUs"
        | "one port, 1 GPU, three rounds"
        | "one port, 4 GPUs"
        | "leaf of a rail, 1 GPU"
        | "leaf of a rail, 4 GPUs"
        | "leaf of a rail, 8 GPUs"
        | "leaf of a rail, 1, 4 and 8 GPUs" => rails(kind, Builder::new(seed, between(10, 17))),
        _ => dense(kind, Builder::new(seed, between(8, 17))),
    }
}

fn healthy(kind: &str, mut build: Builder) -> Case {
    match kind {
        "healthy, noise 1 %" => build.noise = 0.01,
        "healthy, noise 5 %" => build.noise = 0.05,
        _ => build.noise = 0.03,
    }
    match kind {
        "healthy, Student t3 3 %" => build.heavy = true,
        "healthy, hosts differ 1.5 %" => {
            build.noise = 0.01;
            build.offsets = (0..build.hosts).map(|_| 0.015 * build.normal()).collect();
        }
        "healthy, two kinds of hosts 4.5 % apart" => {
            build.noise = 0.01;
            build.offsets =
                (0..build.hosts).map(|_| if build.random.random_bool(0.5) { -0.0225 } else { 0.0 }).collect();
        }
        "healthy, two leaves, hop 5 to 11 %" => leafy(&mut build),
        _ => {}
    }
    let pairs = build.pairs();
    let gpus = [1, 4, 8][build.random.random_range(0..3)];
    build.dense(&pairs, gpus, &[]);
    build.done(Vec::new())
}

fn leafy(build: &mut Builder) {
    build.noise = 0.01;
    let size = build.random.random_range(build.hosts / 3..=build.hosts / 2);
    build.leaves = (
        (0..build.hosts).map(|host| usize::from(host < size)).collect(),
        build.random.random_range(0.05..0.11),
    );
}

fn sparse(kind: &str, mut build: Builder) -> Case {
    let hosts = build.hosts;
    let (pairs, truth): (Vec<[usize; 2]>, FaultShape) = match kind {
        "disjoint pairs" => ((0..hosts / 2).map(|at| [2 * at, 2 * at + 1]).collect(), FaultShape::Host(0)),
        "ring, one host" => {
            let next = |at: usize| [at.min((at + 1) % hosts), at.max((at + 1) % hosts)];
            ((0..hosts).map(next).collect(), FaultShape::Host(build.random.random_range(0..hosts)))
        }
        "star, one leg" => {
            ((1..hosts).map(|leg| [0, leg]).collect(), FaultShape::Host(build.random.random_range(1..hosts)))
        }
        "star, the hub" => ((1..hosts).map(|leg| [0, leg]).collect(), FaultShape::Host(0)),
        "four hosts all pairs, one host" => {
            build.hosts = 4;
            build.set.hosts.truncate(4);
            build.offsets.truncate(4);
            (build.pairs(), FaultShape::Host(build.random.random_range(0..4)))
        }
        _ => (Vec::new(), FaultShape::Host(build.random.random_range(0..hosts))),
    };
    let faults = slow(std::slice::from_ref(&truth));
    for _ in 0..if pairs.is_empty() { 3 * hosts } else { 0 } {
        let four: Vec<usize> = build.some_hosts(4).into_iter().collect();
        let ports = build.ports(&four, PLACES, true);
        build.add("ring of four", TrialTraffic::Rings, ports, &faults);
    }
    build.one_kind(&pairs, "allreduce", &faults);
    Case { is_untold: kind == "star, the hub", ..build.done(vec![truth]) }
}

fn rails(kind: &str, mut build: Builder) -> Case {
    let (rail, size) = (build.random.random_range(0..PLACES), build.random.random_range(3..=build.hosts / 2));
    let truth = if kind.starts_with("one rail") {
        FaultShape::Rail(rail)
    } else if kind.starts_with("one port") {
        FaultShape::Port(build.random.random_range(0..build.hosts), rail)
    } else {
        FaultShape::Group { cut: true, rail: Some(rail), hosts: build.some_hosts(size) }
    };
    let faults = slow(std::slice::from_ref(&truth));
    let pairs = build.pairs();
    let gpus: &[usize] = match kind {
        "one port, 1 GPU, three rounds" => &[1, 1, 1],
        "leaf of a rail, 1, 4 and 8 GPUs" => &[1, 4, 8],
        _ if kind.contains("4 GPUs") => &[4],
        _ if kind.contains("8 GPUs") => &[8],
        _ => &[1],
    };
    for count in gpus {
        build.dense(&pairs, *count, &faults);
    }
    build.done(vec![truth])
}

fn dense(kind: &str, mut build: Builder) -> Case {
    let mut pairs = build.pairs();
    pairs.shuffle(&mut build.random);
    let pair = pairs[0];
    let host = pair[build.random.random_range(0..2)];
    let (truth, faults) = match kind {
        "one pair, one kind of test" => {
            (vec![FaultShape::Pair(pair)], vec![(FaultShape::Pair(pair), Fault::SlowIn("kind-0"))])
        }
        "one pair, three kinds of test" => (vec![FaultShape::Pair(pair)], slow(&[FaultShape::Pair(pair)])),
        "one lone result" => {
            build.depth = build.random.random_range(0.15..0.7);
            (vec![FaultShape::Pair(pair)], vec![(FaultShape::Pair(pair), Fault::SlowIn("kind-1"))])
        }
        "two halves, all rails" => {
            let half = FaultShape::Group { cut: true, rail: None, hosts: build.some_hosts(build.hosts / 2) };
            (vec![half.clone()], slow(&[half]))
        }
        "one direction of a host" => {
            let one = if build.random.random_bool(0.5) {
                FaultShape::Sends(host)
            } else {
                FaultShape::Receives(host)
            };
            (vec![one.clone()], slow(&[one]))
        }
        "one direction of a pair" => (vec![FaultShape::OneWay(pair)], slow(&[FaultShape::OneWay(pair)])),
        "two hosts" => {
            let two: Vec<FaultShape> = pair.map(FaultShape::Host).to_vec();
            (two.clone(), slow(&two))
        }
        "a third of the hosts" => {
            let third: Vec<FaultShape> =
                build.some_hosts(build.hosts / 3).into_iter().map(FaultShape::Host).collect();
            (third.clone(), slow(&third))
        }
        "one pair dead in three kinds" => {
            (vec![FaultShape::Pair(pair)], vec![(FaultShape::Pair(pair), Fault::Dies(1.0))])
        }
        "one host dead" => (vec![FaultShape::Host(host)], vec![(FaultShape::Host(host), Fault::Dies(0.9))]),
        _ => {
            leafy(&mut build);
            (vec![FaultShape::Host(host)], slow(&[FaultShape::Host(host)]))
        }
    };
    if kind.starts_with("one direction") {
        for [a, b] in pairs {
            for ends in [[a, b], [b, a]] {
                let ports = ends.map(|host| Port { host, place: None }).to_vec();
                build.add("write", TrialTraffic::OneWay, ports, &faults);
            }
        }
    } else {
        let kinds = if kind == "one lone result" { 1..2 } else { 0..3 };
        for kind in kinds {
            build.one_kind(&pairs, &format!("kind-{kind}"), &faults);
        }
    }
    build.done(truth)
}

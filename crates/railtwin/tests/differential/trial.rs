//! A random small scenario for both engines: NICs of one or two ports, messages of any size, faults, retry counts.
//!
//! A number gives a trial, and the same number the same one.
use crate::kit::Draws;

/// What is drawn of a fault.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// The key and its value, such as `cable = "leaf-0:uplink-1"`.
    pub place: String,
    /// The kind, as the scenario has it.
    pub kind: &'static str,
    /// When, in runs without faults.
    pub at: f64,
    /// How long, in microseconds; none where it stays.
    pub length: Option<f64>,
    /// Flaps of a fault that flaps.
    pub flaps: u64,
}

/// What is drawn of a job.
#[derive(Clone, PartialEq, Debug)]
pub struct Job {
    /// Its collective.
    pub kind: &'static str,
    /// Hosts.
    pub hosts: u64,
    /// Bytes of the operation.
    pub bytes: u64,
    /// Steps.
    pub steps: u64,
}

/// A random small scenario.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Fabric, routing and transport.
    head: String,
    /// Jobs, as text and by themselves.
    text_of_jobs: String,
    /// Jobs.
    pub jobs: Vec<Job>,
    /// Whether hosts have several GPUs.
    pub has_gpus: bool,
    /// Slowest link of the network, bit/s.
    pub slowest: f64,
    /// Queue pairs of a port.
    pub queue_pairs: u64,
    /// Faults, in the order of the draw.
    pub faults: Vec<Fault>,
    /// Balancer.
    pub balancer: &'static str,
    /// `resume` of `[transport]`.
    pub resume: &'static str,
    /// Local ACK timeout, seconds.
    pub timeout: f64,
}

const BALANCERS: [&str; 9] =
    ["ecmp", "ecmp", "ecmp", "pinned", "pinned", "d-mod-k", "disjoint", "c4p", "spray"];
const KINDS: [&str; 6] =
    ["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "send-receive"];
const SPEEDS: [&u64; 3] = [&100, &200, &400];

impl Trial {
    /// Draws one.
    pub fn draw(number: u64) -> Self {
        let draws = &mut Draws::new(number ^ 0xD1FF);
        let Drawn { hosts, places, fabric, has_gpus, slowest } = fabric(draws);
        let balancer = draws.pick(&BALANCERS);
        let queue_pairs = *draws.pick(&[&1, &1, &2, &4, &8]);
        let mut head = format!(
            "schema = 1\nname = \"trial\"\nseed = {}\n[fabric]\n{fabric}[routing]\nbalancer = \"{balancer}\"\n\
             queue_pairs = {queue_pairs}\n",
            draws.below(1_000)
        );
        if draws.once_in(4) {
            head += "posting = \"split\"\n";
        }
        let exponent = 5 + draws.below(7);
        let retry_count = draws.below(8);
        let resume = draws.pick(&["nak", "nak", "timeout", "window"]);
        head += &format!(
            "[packet]\nstart_jitter = \"0 s\"\n[transport]\ntimeout = {exponent}\nretry_count = {retry_count}\n\
             resume = \"{resume}\"\n"
        );
        if draws.once_in(2) {
            let stage = draws.size(10.0, 3_000.0) as u64;
            head += "[reaction]\n";
            for key in
                ["detection", "lag_failover", "ecmp_regroup", "withdrawal", "convergence", "lacp", "arp"]
            {
                head += &format!("{key} = \"{stage} us\"\n");
            }
        }
        let (text_of_jobs, jobs) = jobs(draws, hosts);
        let faults = if draws.once_in(3) { 0 } else { 1 + draws.below(2) };
        let faults = (0..faults).map(|_| fault(draws, &places)).collect();
        let timeout = 4.096e-6 * (1_u64 << exponent) as f64;
        Self { head, text_of_jobs, jobs, has_gpus, slowest, queue_pairs, faults, balancer, resume, timeout }
    }

    /// What storing and forwarding of whole packets adds to a step of a job, seconds: over four switches' links, in each
    /// of the stages that follow each other.
    pub fn store_and_forward(&self, job: usize) -> f64 {
        let Job { kind, hosts, .. } = self.jobs[job];
        let stages = match kind {
            "all-reduce" => 2 * (hosts - 1),
            "send-receive" | "all-to-all" => 1,
            _ => hosts - 1,
        };
        4.0 * 8.0 * 4_178.0 / self.slowest * stages as f64
    }

    /// As text, without its faults.
    pub fn whole(&self) -> String {
        format!("{}{}", self.head, self.text_of_jobs)
    }

    /// As text; a run without faults takes `run` seconds, and faults come `stretch` times as late as they were drawn.
    pub fn text(&self, run: f64, stretch: f64) -> String {
        let ns = |seconds: f64| format!("\"{} ns\"", (seconds * 1e9).round() as u64);
        let mut text = self.whole();
        for fault in &self.faults {
            let at = fault.at * run * stretch;
            text += &format!("[[fault]]\n{}\nat = {}\nkind = \"{}\"\n", fault.place, ns(at), fault.kind);
            match fault.length.map(|us| us * 1e-6) {
                Some(length) if fault.kind == "flap" => {
                    let (flaps, period) = (fault.flaps, ns(2.0 * length));
                    text += &format!("flaps = {flaps}\nlength = {}\nperiod = {period}\n", ns(length));
                }
                Some(length) => text += &format!("until = {}\n", ns(at + length)),
                None => {}
            }
            if fault.kind == "slow" {
                text += "capacity = 0.25\n";
            }
        }
        text
    }
}

/// A fabric.
struct Drawn {
    hosts: u64,
    /// Hosts, leaves, uplinks of a leaf and ports of a NIC: what can fail.
    places: [u64; 4],
    fabric: String,
    has_gpus: bool,
    slowest: f64,
}

fn fabric(draws: &mut Draws) -> Drawn {
    let (own, up) = (draws.pick(&SPEEDS), draws.pick(&SPEEDS));
    let uplinks = 1 + draws.below(4);
    let ports = 1 + draws.below(2);
    // A host with two ports is under two leaves.
    let leaves = ports * (1 + draws.below(2)).max(3 - ports);
    let has_gpus = ports == 2 && draws.once_in(3);
    let host = if has_gpus {
        "model = \"hgx-h100\"".to_owned()
    } else {
        format!("model = \"plain\", nic_ports = {ports}, nic_port_capacity = \"{own} Gbps\"")
    };
    let each = 1 + draws.below(4) + u64::from(leaves == ports);
    let fabric = format!(
        "preset = \"leaf-spine\"\nleaves = {leaves}\nhosts_per_leaf = {each}\nuplinks = {uplinks}\n\
         uplink_capacity = \"{up} Gbps\"\n\
         host = {{ {host} }}\n"
    );
    let hosts = leaves * each / ports;
    let slowest = *own.min(up) as f64 * 1e9;
    Drawn { hosts, places: [hosts, leaves, uplinks, ports], fabric, has_gpus, slowest }
}

/// One job or two, and their collectives.
fn jobs(draws: &mut Draws, hosts: u64) -> (String, Vec<Job>) {
    let jobs = if hosts >= 4 && draws.once_in(3) { 2 } else { 1 };
    let (mut text, mut drawn) = (String::new(), Vec::new());
    for _ in 0..jobs {
        let kind: &'static str = draws.pick(&KINDS);
        let ranks = if hosts / jobs <= 2 { 2 } else { 2 + draws.below((hosts / jobs - 1).min(7)) };
        let bytes = draws.size(16e3, 16e6) as u64;
        let steps = 1 + draws.below(3);
        text += &format!(
            "[[job]]\nhosts = {ranks}\nplacement = \"{}\"\nsteps = {}\n\
             collective = {{ kind = \"{kind}\", bytes = \"{bytes} B\" }}\n",
            draws.pick(&["packed", "spread", "random"]),
            steps
        );
        drawn.push(Job { kind, hosts: ranks, bytes, steps });
    }
    (text, drawn)
}

fn fault(draws: &mut Draws, &[hosts, leaves, uplinks, ports]: &[u64; 4]) -> Fault {
    let kind = draws.pick(&["down", "down", "flap", "slow"]);
    let place = match draws.below(8) {
        _ if kind == "slow" => format!("nic = \"host-{}/nic-0\"\ndirection = \"in\"", draws.below(hosts)),
        0..3 => format!("cable = \"leaf-{}:uplink-{}\"", draws.below(leaves), draws.below(uplinks)),
        3..6 => format!("port = \"host-{}/nic-0:port-{}\"", draws.below(hosts), draws.below(ports)),
        6 => format!("leaf = \"leaf-{}\"", draws.below(leaves)),
        _ => format!("spine = \"spine-{}\"", draws.below(uplinks)),
    };
    let at = if draws.once_in(5) { 0.0 } else { draws.share(0.02, 0.9) };
    let stays = kind != "flap" && draws.once_in(3);
    let length = (!stays).then(|| draws.size(2.0, 20_000.0));
    Fault { place, kind, at, length, flaps: 1 + draws.below(3) }
}

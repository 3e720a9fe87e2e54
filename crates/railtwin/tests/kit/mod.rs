//! Random small scenarios as text: a few hosts, one or two jobs of collectives, links of any speed, cables that die.
//!
//! A number gives a scene, and the same number the same one. Sizes are such that a run of either engine takes
//! milliseconds, and timers such that nothing but a fault makes a queue pair wait for one.
#![allow(dead_code, reason = "every test uses its own part of it")]
use railtwin_units::stream::mix;

/// Draws from one seed, each another one.
#[derive(Clone, Debug)]
pub struct Draws(u64);

impl Draws {
    /// Those of a number.
    pub fn new(number: u64) -> Self {
        Self(mix(number ^ 0x005C_E4E5))
    }

    /// One of `0..count`.
    pub fn below(&mut self, count: u64) -> u64 {
        self.0 = mix(self.0.wrapping_add(1));
        self.0 % count
    }

    /// True once in so many times.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of them.
    pub fn pick<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len() as u64) as usize]
    }

    /// Between two shares.
    pub fn share(&mut self, least: f64, most: f64) -> f64 {
        least + (most - least) * self.below(1 << 30) as f64 / f64::from(1 << 30)
    }

    /// Between two sizes, each order of magnitude as likely as any other.
    pub fn size(&mut self, least: f64, most: f64) -> f64 {
        (self.share(least.ln(), most.ln())).exp()
    }
}

/// How long from a fault to its end.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Length {
    /// It stays.
    Ever,
    /// In runs without faults.
    Runs(f64),
    /// In local ACK timeouts.
    Timeouts(f64),
}

/// A cable, NIC, leaf or spine that goes down.
#[derive(Clone, PartialEq, Debug)]
struct Fault {
    place: String,
    /// When, in runs without faults; 0 for what is down from the start.
    at: f64,
    length: Length,
    /// How often, where it flaps.
    flaps: u64,
}

/// A scenario that is not written down yet.
#[derive(Clone, Debug)]
pub struct Scene {
    /// What it was drawn from.
    pub number: u64,
    head: String,
    faults: Vec<Fault>,
    /// Stages of the reaction, in runs without faults.
    reaction: f64,
    /// Exponent of the local ACK timeout.
    pub timeout: u32,
    retry_count: u64,
    /// What path ends the wait of a queue pair in flows.
    pub resume: &'static str,
}

/// What is known of time before a scene is written.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// How long it takes without faults, in seconds.
    pub run: f64,
    /// Times of faults against what was drawn.
    pub stretch: f64,
    /// Lengths counted in timeouts against what was drawn.
    pub patience: f64,
}

/// Balancers that both engines do alike under faults: a dynamic split moves bytes away from who waits.
const BALANCERS: [&str; 8] =
    ["ecmp", "e-ecmp", "pinned", "flowlet", "spray", "adaptive", "d-mod-k", "disjoint"];
/// The longest that a scene without faults may take, in seconds.
const LONGEST: f64 = 3_000.0;

impl Scene {
    /// Draws one.
    pub fn draw(number: u64) -> Self {
        let draws = &mut Draws::new(number);
        let speed = |draws: &mut Draws| match draws.below(3) {
            0 => draws.size(1e3, 8e11) as u64,
            1 => *draws.pick(&[&1_000, &1_000_000, &10_000_000_000]),
            _ => *draws.pick(&[&100_000_000_000, &200_000_000_000, &400_000_000_000, &800_000_000_000]),
        };
        let (slowest, hosts, leaves, uplinks, fabric);
        if draws.once_in(4) {
            slowest = speed(draws);
            (hosts, leaves, uplinks) = (16, 8, 2);
            fabric = format!("preset = \"fat-tree\"\nk = 4\ncapacity = \"{slowest} bps\"\n");
        } else {
            let (own, up) = (speed(draws), speed(draws));
            slowest = own.min(up);
            (leaves, uplinks) = (1 + draws.below(3), 1 + draws.below(3));
            let each = 1 + draws.below(3) + u64::from(leaves == 1);
            hosts = leaves * each;
            fabric = format!(
                "preset = \"leaf-spine\"\nleaves = {leaves}\nhosts_per_leaf = {each}\nuplinks = {uplinks}\n\
                 uplink_capacity = \"{up} bps\"\nhost = {{ model = \"plain\", nic_port_capacity = \"{own} bps\" }}\n"
            );
        }
        let jobs = if hosts >= 4 && draws.once_in(2) { 2 } else { 1 };
        let balancer = draws.pick(&BALANCERS);
        let queue_pairs = 1 + draws.below(4);
        let mut head = format!(
            "schema = 1\nname = \"scene\"\nseed = {}\n[fabric]\n{fabric}[routing]\nbalancer = \"{balancer}\"\n\
             queue_pairs = {queue_pairs}\n",
            draws.below(1_000)
        );
        // No transfer takes longer than all of them one after the other over the slowest link.
        let mut longest = 1e-3;
        for _ in 0..jobs {
            let ranks = if hosts / jobs < 2 { 2 } else { 2 + draws.below((hosts / jobs - 1).min(7)) };
            let repeat = 1 + draws.below(2);
            let kinds =
                ["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "send-receive"];
            let kind = draws.pick(&kinds);
            let all = (ranks * repeat * 2 * 8) as f64 / slowest as f64;
            let small = all * (ranks * 180 * 4) as f64;
            let most = ((LONGEST / 2.0 - small).max(0.0) / all / 1.05).clamp(64.0, 2_000_000.0);
            let bytes = draws.size(32.0, most) as u64;
            longest += small + all * 1.05 * bytes as f64;
            head += &format!(
                "[[job]]\ngpus = {ranks}\nplacement = \"{}\"\ncollective = {{ kind = \"{kind}\", bytes = \"{bytes} B\", \
                 repeat = {repeat} }}\n",
                draws.pick(&["packed", "spread", "random"])
            );
        }
        let timeout = (1..31).find(|&exponent| 4.096e-6 * f64::from(1_u32 << exponent) >= 2.0 * longest);
        let faults = if draws.once_in(5) { 0 } else { 1 + draws.below(3) };
        Self {
            number,
            head,
            faults: (0..faults).map(|_| fault(draws, [hosts, leaves, uplinks])).collect(),
            reaction: draws.share(0.0, 0.2),
            timeout: timeout.unwrap_or(31),
            retry_count: 1 + draws.below(7),
            resume: draws.pick(&["nak", "timeout"]),
        }
    }

    /// Whether anything breaks.
    pub fn breaks(&self) -> bool {
        !self.faults.is_empty()
    }

    /// How many things break.
    pub fn faults(&self) -> usize {
        self.faults.len()
    }

    /// As text, without its faults.
    pub fn whole(&self) -> String {
        format!(
            "{}[packet]\nstart_jitter = \"0 s\"\n[transport]\ntimeout = {}\nretry_count = {}\nresume = \"{}\"\n",
            self.head, self.timeout, self.retry_count, self.resume
        )
    }

    /// As text.
    pub fn text(&self, times: Times) -> String {
        let ps = |seconds: f64| format!("\"{} ps\"", (seconds * 1e12).ceil().max(1.0) as u64);
        let timeout = 4.096e-6 * f64::from(1_u32 << self.timeout);
        let run = times.run * times.stretch;
        let span = |length: Length| match length {
            Length::Ever => None,
            Length::Runs(runs) => Some(run * runs),
            Length::Timeouts(timeouts) => Some(timeout * timeouts * times.patience),
        };
        let stage = ps(times.run * self.reaction);
        let mut text = self.whole();
        text += "[reaction]\n";
        for key in ["detection", "lag_failover", "ecmp_regroup", "withdrawal", "convergence", "lacp", "arp"] {
            text += &format!("{key} = {stage}\n");
        }
        for fault in &self.faults {
            let at = if fault.at == 0.0 { "\"0 s\"".to_owned() } else { ps(fault.at * run) };
            text += &format!("[[fault]]\n{}\nat = {at}\n", fault.place);
            match span(fault.length) {
                None => text += "kind = \"down\"\n",
                Some(length) if fault.flaps == 0 => {
                    text += &format!("kind = \"down\"\nuntil = {}\n", ps(fault.at * run + length));
                }
                Some(length) => {
                    let (flaps, period) = (fault.flaps, ps(length * 2.0));
                    text += &format!(
                        "kind = \"flap\"\nflaps = {flaps}\nlength = {}\nperiod = {period}\n",
                        ps(length)
                    );
                }
            }
        }
        text
    }
}

fn fault(draws: &mut Draws, [hosts, leaves, uplinks]: [u64; 3]) -> Fault {
    let place = match draws.below(8) {
        0..4 => format!("cable = \"leaf-{}:uplink-{}\"", draws.below(leaves), draws.below(uplinks)),
        4 | 5 => format!("nic = \"host-{}/nic-0\"", draws.below(hosts)),
        6 => format!("leaf = \"leaf-{}\"", draws.below(leaves)),
        _ => format!("spine = \"spine-{}\"", draws.below(uplinks)),
    };
    let length = match draws.below(3) {
        0 => Length::Ever,
        1 => Length::Runs(draws.share(0.05, 2.0)),
        _ => Length::Timeouts(draws.share(0.1, 9.0)),
    };
    let at = if draws.once_in(4) { 0.0 } else { draws.share(0.02, 0.8) };
    let flaps = if draws.once_in(4) { 1 + draws.below(3) } else { 0 };
    Fault { place, at, length, flaps }
}

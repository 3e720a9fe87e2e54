//! How much of what hosts know of each other's connections is worth: random draws of paths with no code of ours but the
//! shape of the fabric, beside the simulation. `cargo test -p railtwin-lab --test all knowledge -- --nocapture` prints it.
use std::collections::BTreeMap;

use railtwin_lab::simulated::{DrawOutcome, by_balancer, four_jobs};
use railtwin_units::stream::mix;

/// A link of the lab: from a leaf up to a spine, from a spine down to a leaf, between a host and a leaf.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Link {
    Up(u32, u32),
    Down(u32, u32),
    In(u32, u32),
    Out(u32, u32),
}

/// Which paths a connection keeps off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Knows {
    /// None: every queue pair by chance.
    Nothing,
    /// Those of its queue pairs on the same NIC port.
    Port,
    /// Those of all its queue pairs.
    Connection,
    /// Those of all connections of its host.
    Host,
}

/// Random numbers by counting.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u32 {
        self.0 += 1;
        (mix(self.0) >> 20) as u32 % sides as u32
    }
}

/// Hosts of each job.
const JOBS: [(u32, u32); 4] = [(0, 2), (0, 2), (1, 3), (1, 3)];
/// Spines.
const SPINES: u64 = 4;

/// A random path by a port of the sender.
fn path(from: u32, to: u32, port: u32, dice: &mut Dice) -> [Link; 4] {
    let (spine, far) = (dice.throw(SPINES), 2 * (to / 2) + dice.throw(2));
    let leaf = 2 * (from / 2) + port;
    [Link::Out(from, leaf), Link::Up(leaf, spine), Link::Down(spine, far), Link::In(far, to)]
}

/// The links of all queue pairs by job: `per_port` of a connection leave by each port. None where a path that shares
/// nothing with those that the host knows of was not found: then all is drawn again.
fn draw(knows: Knows, per_port: u32, dice: &mut Dice) -> Option<[Vec<Link>; 4]> {
    let mut of_host: BTreeMap<u32, Vec<Link>> = BTreeMap::new();
    let mut all = [const { Vec::new() }; 4];
    for (job, (a, b)) in JOBS.into_iter().enumerate() {
        for (from, to) in [(a, b), (b, a)] {
            let mut of_connection: Vec<Link> = Vec::new();
            for port in 0..2 {
                let mut of_port: Vec<Link> = Vec::new();
                for _ in 0..per_port {
                    let known = match knows {
                        Knows::Nothing => &Vec::new(),
                        Knows::Port => &of_port,
                        Knows::Connection => &of_connection,
                        Knows::Host => of_host.entry(from).or_default(),
                    };
                    let free = |path: &[Link; 4]| path[1..3].iter().all(|link| !known.contains(link));
                    let path = (0..400).map(|_| path(from, to, port, dice)).find(free)?;
                    of_port.extend(&path[1..3]);
                    of_connection.extend(&path[1..3]);
                    of_host.entry(from).or_default().extend(&path[1..3]);
                    all[job].extend(path);
                }
            }
        }
    }
    Some(all)
}

/// Max-min rates of jobs whose queue pairs all move at one rate, Mbit/s of data a job: raise all rates until a link is
/// full, hold the jobs on it, go on with the others.
fn rates(jobs: &[Vec<Link>; 4], per_connection: u32) -> [f64; 4] {
    let capacity = |link: Link| if matches!(link, Link::In(..) | Link::Out(..)) { 200.0 } else { 100.0 };
    let mut rate: [Option<f64>; 4] = [None; 4];
    while rate.contains(&None) {
        let mut fullest: Option<(f64, Link)> = None;
        for &link in jobs.iter().flatten() {
            let uses = |job: usize| jobs[job].iter().filter(|&&other| other == link).count() as f64;
            let taken: f64 = (0..4).map(|job| rate[job].unwrap_or(0.0) * uses(job)).sum();
            let open: f64 = (0..4).filter(|&job| rate[job].is_none()).map(uses).sum();
            let level = (capacity(link) - taken) / open;
            if open > 0.0 && fullest.is_none_or(|(least, _)| level < least) {
                fullest = Some((level, link));
            }
        }
        let (level, link) = fullest.unwrap();
        for job in 0..4 {
            if rate[job].is_none() && jobs[job].contains(&link) {
                rate[job] = Some(level);
            }
        }
    }
    rate.map(|rate| rate.unwrap() * f64::from(per_connection) * 1448.0 / 1514.0)
}

/// Mean over draws and jobs, Mbit/s.
fn expected(knows: Knows, per_port: u32, draws: u32) -> f64 {
    let mut dice = Dice(mix(u64::from(per_port)) ^ 17);
    let mut sum = 0.0;
    for _ in 0..draws {
        let jobs = std::iter::repeat_with(|| draw(knows, per_port, &mut dice)).take(1000).flatten().next();
        sum += rates(&jobs.unwrap(), 2 * per_port).iter().sum::<f64>() / 4.0;
    }
    sum / f64::from(draws)
}

/// Mean of the simulation, Mbit/s.
fn simulated(balancer: &str, per_port: u32) -> f64 {
    let mut case = four_jobs(balancer).unwrap().case;
    case.routing.queue_pairs = per_port;
    let all = by_balancer(&case, 200).unwrap();
    all.iter().map(DrawOutcome::mean_bit_per_s).sum::<f64>() / 200e6
}

/// The simulation agrees with random draws: hashing knows nothing, disjoint paths know their own connection. With all
/// disjoint paths of a connection, as FINDPATHS returns them (HPN appendix B), nothing more is to be gained.
#[test]
fn disjoint_paths_gain_what_knowing_ones_own_connection_is_worth() {
    let draws = 4000;
    println!(
        "queue pairs on a port | nothing | port | connection | host | ecmp | disjoint | c4p, Mbit/s a job"
    );
    for per_port in [1, 2, 4] {
        let [nothing, port, connection] =
            [Knows::Nothing, Knows::Port, Knows::Connection].map(|knows| expected(knows, per_port, draws));
        // Four on a port are all disjoint paths: two connections of a host cannot keep off each other then.
        let host = if per_port < 4 { expected(Knows::Host, per_port, draws) } else { connection };
        let [ecmp, disjoint, c4p] = ["ecmp", "disjoint", "c4p"].map(|balancer| simulated(balancer, per_port));
        println!(
            "{per_port} | {nothing:.1} | {port:.1} | {connection:.1} | {host:.1} | {ecmp:.1} | {disjoint:.1} | {c4p:.1}"
        );
        assert!((ecmp / nothing - 1.0).abs() < 0.03, "{per_port}: ecmp {ecmp}, expected {nothing}");
        assert!((disjoint / connection - 1.0).abs() < 0.03, "{per_port}: {disjoint}, expected {connection}");
        assert!(port < connection && connection <= host, "{per_port}");
        let best = 200.0 * 1448.0 / 1514.0;
        assert!((c4p / best - 1.0).abs() < 2e-3, "{per_port}: c4p {c4p}, at best {best}");
        if per_port == 4 {
            assert!((disjoint / best - 1.0).abs() < 2e-3, "disjoint {disjoint}, at best {best}");
        }
    }
}

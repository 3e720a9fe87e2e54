//! Paths and source ports of the queue pairs of given connections, by the same code that a run chooses them with.
use std::collections::BTreeMap;

use railtwin_engine::Connection;
use railtwin_engine::balancer::BySwitch;
use railtwin_engine::choose::{Chooser, ChosenPaths};
use railtwin_engine::lower::Lowering;
use railtwin_engine::opened::{Draw, Opened};
use railtwin_engine::{Balancer, Case, Programmed};
use railtwin_fabric::{DeviceId, Fabric, LinkId};
use railtwin_routing::LinkMask;
use railtwin_scenario::EngineName;
use railtwin_units::SimTime;

use crate::engines::engine;

/// A connection that is asked for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Demand {
    /// The job, numbered from 0.
    pub job: u32,
    /// The NIC that sends.
    pub source: DeviceId,
    /// The NIC that receives.
    pub target: DeviceId,
    /// Queue pairs on each port of the source.
    pub queue_pairs: u32,
    /// Bytes that a step sends over it; traffic engineering places them.
    pub bytes: f64,
}

/// A queue pair with its path.
#[derive(Clone, PartialEq, Debug)]
pub struct QueuePair {
    /// Row of the demand.
    pub demand: u32,
    /// Its index in the connection, as the table `flows` of a run counts.
    pub index: u32,
    /// Its number at the target, which switches may hash.
    pub number: u32,
    /// The port of the source NIC that it leaves by; its own where it has no path.
    pub port: u32,
    /// UDP source port.
    pub source_port: u16,
    /// The port of the target NIC that it lands on.
    pub landed_port: u32,
    /// Links from NIC to NIC; empty without a path.
    pub links: Vec<LinkId>,
    /// Why this path.
    pub reason: &'static str,
}

/// Why the queue pairs of a balancer have no path of their own; none where they have one.
pub fn without_paths(balancer: Balancer) -> Option<&'static str> {
    balancer.properties().by_switch.map(BySwitch::why)
}

/// The queue pairs of all demands in their order, each connection's by port and index: their numbers, ports and paths
/// are those of replicate `replicate` of a run that opens these connections in this order, with the links of `down`
/// dead from the start.
///
/// # Panics
/// For a balancer of [`without_paths`].
pub fn plan(case: &Case, replicate: u32, demands: &[Demand], down: &LinkMask) -> Vec<QueuePair> {
    assert!(without_paths(case.routing.balancer).is_none(), "queue pairs have no path of their own");
    let (fabric, draw) = (&*case.fabric, Draw::of(case.seed, case.routing.ecmp, replicate));
    let mut opened = Opened::new(fabric, &draw);
    for demand in demands {
        let row = opened.open(demand.job, demand.source, demand.target, demand.queue_pairs) as usize;
        opened.connections[row].bytes = demand.bytes;
    }
    let Opened { connections, queue_pairs: numbers, .. } = opened;
    let chooser = Chooser::new(fabric, &case.routing, draw, &connections, &numbers);
    // What is down from the start was known to who planned, also to who never plans again.
    let programmed = chooser.settled(down);
    let chosen = chooser.choose_by(down, &programmed);
    rows(case, &connections, &numbers, (&programmed, &chosen))
}

/// The connections that the jobs of a case open, in the order in which replicate `replicate` of a run opens them, and their
/// queue pairs, as [`plan`] gives those of demands. Jobs come and go as in that run: where some come later than others
/// and controllers plan for them, it is carried out by flows with all links up until the last has come, as only a run
/// knows when those before have ended.
///
/// # Panics
/// For a balancer of [`without_paths`].
pub fn plan_jobs(case: &Case, replicate: u32, down: &LinkMask) -> (Vec<Demand>, Vec<QueuePair>) {
    assert!(without_paths(case.routing.balancer).is_none(), "queue pairs have no path of their own");
    let mut lowering = Lowering::new(case, replicate);
    let last = case.work.jobs.iter().map(|job| job.start).max().unwrap_or(SimTime::ZERO);
    if last > SimTime::ZERO && lowering.mediator(&[]).has_controllers() {
        lowering = lowering.with_ends(&ends_before(case, replicate, last));
    }
    let programmed = lowering.settled(down).0;
    let chosen = lowering.paths_by(down, &programmed);
    let demand = |one: &Connection| Demand {
        job: one.job,
        source: one.source,
        target: one.target,
        queue_pairs: one.count / one.ports.max(1),
        bytes: one.bytes,
    };
    let connections = lowering.connections();
    let all = rows(case, connections, lowering.queue_pair_numbers(), (&programmed, &chosen));
    (connections.iter().map(demand).collect(), all)
}

/// When jobs end that end by the time at which the last one comes; [`SimTime::NEVER`] of the others, whose end frees
/// nothing for anybody.
fn ends_before(case: &Case, replicate: u32, last: SimTime) -> Vec<SimTime> {
    let mut case = case.clone();
    let over = last.saturating_add(SimTime::from_ps(1));
    case.work.jobs.iter_mut().for_each(|job| job.until = job.until.min(over));
    let log = engine(EngineName::Flow, 1).run(&case, replicate);
    log.job_ends(&case.work).into_iter().map(|end| if end < over { end } else { SimTime::NEVER }).collect()
}

/// The rows of connections on chosen paths.
fn rows(
    case: &Case,
    connections: &[Connection],
    numbers: &[(u32, u32)],
    (programmed, chosen): (&Programmed, &ChosenPaths),
) -> Vec<QueuePair> {
    let fabric = &*case.fabric;
    let mut all = Vec::with_capacity(numbers.len());
    for (row, connection) in (0..).zip(connections) {
        let mut busy = BTreeMap::new();
        let by_port = (0..connection.ports)
            .flat_map(|port| (port..connection.count).step_by(connection.ports as usize));
        for index in by_port {
            let queue_pair = connection.first + index;
            let path = chosen.path(queue_pair);
            let own = index % connection.ports;
            let port = port_of(fabric, connection, path.links).unwrap_or(own);
            let reason = match path.links {
                [] => "stranded",
                _ if port != own => "bond",
                links => reason(case.routing.balancer, programmed, queue_pair, links, &busy),
            };
            between(path.links).iter().for_each(|&link| *busy.entry(link).or_insert(0) += 1);
            all.push(QueuePair {
                demand: row,
                index,
                number: numbers[queue_pair as usize].1,
                port,
                source_port: path.source_port,
                landed_port: path.landed_port,
                links: path.links.to_vec(),
                reason,
            });
        }
    }
    all
}

/// The port of the source NIC that a path leaves by.
fn port_of(fabric: &Fabric, connection: &Connection, links: &[LinkId]) -> Option<u32> {
    let first = *links.first()?;
    (0..connection.ports).find(|&port| fabric.access_link(connection.source, port) == Some(first))
}

/// Links between switches: those that paths should not share.
fn between(links: &[LinkId]) -> &[LinkId] {
    &links[links.len().min(1)..links.len().saturating_sub(1)]
}

fn reason(
    balancer: Balancer,
    programmed: &Programmed,
    queue_pair: u32,
    links: &[LinkId],
    busy: &BTreeMap<LinkId, u32>,
) -> &'static str {
    let properties = balancer.properties();
    if properties.is_disjoint && between(links).iter().any(|link| busy.contains_key(link)) {
        return "shared";
    }
    programmed.reason(queue_pair).unwrap_or(properties.reason)
}

//! What hosts and controllers plan for the connections of a case: source ports that reach chosen paths, or
//! entries of leaves.
use railtwin_control::paths::{self, JobId, PathAllocator, Reason};
use railtwin_control::te::{Demand, Engine, EngineOptions, TrafficMatrix};
use railtwin_fabric::{DeviceId, Fabric, LinkId};
use railtwin_routing::source_port::{FIRST_PORT, LAST_PORT};
use railtwin_routing::{
    Avoid, EcmpConfig, EntryTable, Fields, FiveTuple, Forwarding, HashKey, LinkMask, NicPort, Prefixes,
    Routing, nic_ip,
};
use railtwin_units::{Rate, stream};
use rayon::prelude::*;

use crate::choose::Connection;

/// The source port of every queue pair, by queue-pair index; none where there is no live path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SteeredPorts {
    ports: Vec<Option<u16>>,
    reasons: Vec<Option<Reason>>,
}

impl SteeredPorts {
    fn none(connections: &[Connection]) -> Self {
        let total = connections.iter().map(|c| c.first + c.count).max().unwrap_or(0);
        Self { ports: vec![None; total as usize], reasons: vec![None; total as usize] }
    }

    /// The source port of a queue pair.
    pub fn port(&self, queue_pair: u32) -> Option<u16> {
        self.ports.get(queue_pair as usize).copied().flatten()
    }

    /// Why a controller chose the path of a queue pair; none where hosts choose.
    pub fn reason(&self, queue_pair: u32) -> Option<Reason> {
        self.reasons.get(queue_pair as usize).copied().flatten()
    }
}

/// Queue pairs of a connection that leave by a port of its NIC.
fn by_port(connection: &Connection, port: u32) -> impl Iterator<Item = u32> + use<> {
    let first = connection.first;
    (port..connection.count).step_by(connection.ports as usize).map(move |queue_pair| first + queue_pair)
}

/// Every connection by itself (HPN appendix B, algorithm 1): the queue pairs of one NIC port get pairwise
/// disjoint paths as far as there are any, whatever others use. Source ports are replayed through the switches'
/// hashes from a place that the draw gives each connection, as hosts know nothing of each other; where so many
/// tries find too few, all 16,384 are sorted by path. `numbers` are those of the queue pairs at both ends.
pub fn disjoint(
    routing: &Routing<'_>,
    connections: &[Connection],
    numbers: &[(u32, u32)],
    draw: u64,
) -> SteeredPorts {
    let reads_queue_pair = routing.ecmp.spec.fields.contains(Fields::TARGET_QP);
    let mut steered = SteeredPorts::none(connections);
    let found: Vec<Vec<(u32, u16)>> = connections
        .par_iter()
        .map(|connection| {
            let mut ports = Vec::with_capacity(connection.count as usize);
            for port in 0..connection.ports {
                let wanted: Vec<u32> = by_port(connection, port).collect();
                let from = NicPort { nic: connection.source, port };
                let first = stream::mix(draw ^ stream::mix(u64::from(wanted[0])));
                let chosen = if reads_queue_pair {
                    let numbers = wanted.iter().map(|&row| numbers[row as usize].1);
                    disjoint_ports_by_number(routing, from, connection.target, numbers, first)
                } else {
                    disjoint_ports(routing, from, connection.target, wanted.len(), first)
                };
                let turns = chosen.iter().cycle();
                ports.extend(wanted.into_iter().zip(turns).map(|(row, &port)| (row, port)));
            }
            ports
        })
        .collect();
    for (row, port) in found.into_iter().flatten() {
        steered.ports[row as usize] = Some(port);
    }
    steered
}

/// Tries for each path wanted before all source ports are sorted.
const TRIES: usize = 64;

/// Up to `count` source ports with pairwise disjoint paths; none where there is no way.
fn disjoint_ports(
    routing: &Routing<'_>,
    from: NicPort,
    target: DeviceId,
    count: usize,
    first: u64,
) -> Vec<u16> {
    let key = HashKey::of(FiveTuple::roce(nic_ip(from.nic), nic_ip(target), 0));
    let (mut ports, mut used, mut path) = (Vec::new(), Vec::new(), Vec::new());
    for step in 0..TRIES * count {
        let port = 0xC000 | ((first as usize + step) & 0x3FFF) as u16;
        path.clear();
        if routing.route(from, target, &key.with_source_port(port), &mut path).is_err() {
            return Vec::new();
        }
        let between = &path[1..path.len() - 1];
        if between.iter().all(|link| !used.contains(link)) {
            used.extend_from_slice(between);
            ports.push(port);
            // A path within one leaf shares nothing with any other.
            if ports.len() == count || between.is_empty() {
                return ports;
            }
        }
    }
    let exact = routing.disjoint_source_ports(from, target, &key, count, &Avoid::default());
    exact.map_or_else(|_| ports, |paths| paths.iter().map(|path| path.source_port).collect())
}

/// The same where switches hash the queue pair, whose number at the target is one of `numbers`: a port found for one
/// takes another path for the next, so each is steered by itself, to the path least used where none is free.
fn disjoint_ports_by_number(
    routing: &Routing<'_>,
    from: NicPort,
    target: DeviceId,
    numbers: impl ExactSizeIterator<Item = u32>,
    first: u64,
) -> Vec<u16> {
    let key = HashKey::of(FiveTuple::roce(nic_ip(from.nic), nic_ip(target), 0));
    let tries = TRIES * numbers.len();
    let (mut ports, mut used, mut path) = (Vec::new(), Vec::<LinkId>::new(), Vec::new());
    for number in numbers {
        let key = key.with_target_qp(number);
        let mut walk = |port: u16| {
            path.clear();
            routing.route(from, target, &key.with_source_port(port), &mut path).ok()?;
            Some(path[1..path.len() - 1].to_vec())
        };
        let Some(mut between) = walk(0xC000) else { return Vec::new() };
        let mut turns = (0..tries).map(|step| 0xC000 | ((first as usize + step) & 0x3FFF) as u16);
        let free = turns.find(|&port| {
            between = walk(port).unwrap_or_default();
            between.iter().all(|link| !used.contains(link))
        });
        let port = free.unwrap_or_else(|| {
            let mut busy = vec![0_u32; routing.fabric.link_count()];
            used.iter().for_each(|link| busy[link.index()] += 1);
            let exact =
                routing.disjoint_source_ports(from, target, &key, 1, &Avoid { dead: None, busy: &busy });
            let port = exact.ok().and_then(|paths| paths.first().map(|path| path.source_port));
            let port = port.unwrap_or(0xC000 | (first & 0x3FFF) as u16);
            between = walk(port).unwrap_or_default();
            port
        });
        ports.push(port);
        used.append(&mut between);
    }
    ports
}

/// One controller for all jobs (C4P, C4 section III-B): planned on the whole fabric, job after job, then as
/// little moved as the links that it knows to be dead ask for. `resilient` are the tables without faults where groups
/// keep the numbers of their members.
pub fn least_used(
    fabric: &Fabric,
    ecmp: EcmpConfig,
    connections: &[Connection],
    numbers: &[(u32, u32)],
    known: &LinkMask,
    resilient: Option<&Forwarding>,
) -> SteeredPorts {
    let mut allocator = PathAllocator::new(fabric, ecmp, &LinkMask::none(fabric));
    let mut rows: Vec<(JobId, Vec<u32>)> = Vec::new();
    let mut targets = Vec::new();
    for connection in connections {
        let job = JobId(connection.job);
        // Connections of a job mostly stand together.
        let place = match rows.last() {
            Some((last, _)) if *last == job => rows.len() - 1,
            _ => rows.iter().position(|(of, _)| *of == job).unwrap_or_else(|| {
                rows.push((job, Vec::new()));
                rows.len() - 1
            }),
        };
        let rows = &mut rows[place].1;
        for port in 0..connection.ports {
            targets.clear();
            for queue_pair in by_port(connection, port) {
                rows.push(queue_pair);
                targets.push(numbers[queue_pair as usize].1);
            }
            let source = NicPort { nic: connection.source, port };
            let demand =
                paths::Demand { source, target: connection.target, queue_pairs: &targets, weight: 1 };
            allocator.allocate(job, &[demand]);
        }
    }
    let dead: Vec<_> = known.down_links().map(|link| (link, paths::LinkState::Down)).collect();
    let mut steered = SteeredPorts::none(connections);
    let tell = |allocator: &PathAllocator<'_>, steered: &mut SteeredPorts| {
        for (job, rows) in &rows {
            for (&queue_pair, given) in rows.iter().zip(allocator.assignments(*job)) {
                let alive = given.reason != Reason::Stranded;
                steered.ports[queue_pair as usize] = alive.then_some(given.source_port);
                steered.reasons[queue_pair as usize] = Some(given.reason);
            }
        }
    };
    tell(&allocator, &mut steered);
    if dead.is_empty() {
        return steered;
    }
    let replan = allocator.replan(&dead);
    let Some(whole) = resilient else {
        tell(&allocator, &mut steered);
        return steered;
    };
    // The allocator gave new ports to all whose groups shrank. These groups do not: who keeps its path keeps its
    // port, and who moves needs the port that leads there through groups of the old size.
    let routing = Routing::new(fabric, allocator.forwarding(), &ecmp).with_resilience(whole);
    let row = |job: JobId, index: usize| rows.iter().find(|(of, _)| *of == job).map(|(_, rows)| rows[index]);
    let moved = replan.moved.par_iter().chain(&replan.stranded);
    let ports: Vec<(Option<u32>, Option<u16>, Reason)> =
        moved.map(|one| (row(one.job, one.index), port_to(&routing, &one.after), one.after.reason)).collect();
    for (row, port, reason) in ports {
        let row = row.expect("what moved was allocated") as usize;
        (steered.ports[row], steered.reasons[row]) = (port, Some(reason));
    }
    steered
}

/// A source port that takes the path of an assignment; its own where none does, none without a path.
fn port_to(routing: &Routing<'_>, given: &paths::Assignment) -> Option<u16> {
    if given.reason == Reason::Stranded {
        return None;
    }
    let tuple = FiveTuple::roce(nic_ip(given.source.nic), nic_ip(given.target), FIRST_PORT);
    let key = HashKey::of(tuple).with_target_qp(given.queue_pair);
    let mut path = Vec::new();
    let found = (FIRST_PORT..=LAST_PORT).find(|&port| {
        path.clear();
        let way = routing.route(given.source, given.target, &key.with_source_port(port), &mut path);
        way.is_ok() && path == given.path.links()
    });
    found.or(Some(given.source_port))
}

/// Traffic engineering over the links that it knows to be alive (Meta RoCE section 4.3). The demand of a
/// connection is what it sends in a step, on the scale at which the busiest NIC port sends at line rate.
pub fn entries(fabric: &Fabric, connections: &[Connection], known: &LinkMask) -> EntryTable {
    let forwarding = Forwarding::new(fabric, known);
    let mut sent = std::collections::BTreeMap::new();
    for connection in connections {
        for port in 0..connection.ports {
            *sent.entry((connection.source, port)).or_insert(0.0) +=
                connection.bytes / f64::from(connection.ports);
        }
    }
    let busiest = sent.values().copied().fold(0.0, f64::max);
    let demands = connections.iter().flat_map(|connection| {
        let forwarding = &forwarding;
        (0..connection.ports).filter_map(move |port| {
            let access = forwarding.access(connection.source, port)?;
            let line = fabric.capacity(access.link).bits_per_s() as f64;
            let share = connection.bytes / f64::from(connection.ports) / busiest;
            let source = NicPort { nic: connection.source, port };
            let rate = Rate::from_bits_per_s((line * share).round() as u64);
            Some(Demand { source, target: connection.target, rate })
        })
    });
    let engine = Engine::new(Prefixes::by_leaf_set(fabric), EngineOptions::default());
    let matrix: TrafficMatrix = demands.collect();
    engine.place(fabric, &forwarding, &matrix, None).intended(engine.prefixes())
}

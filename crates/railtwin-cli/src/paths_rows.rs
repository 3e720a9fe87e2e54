//! Paths for the demands of `railtwin paths`, by each of its balancers.
use std::collections::BTreeMap;

use railtwin_control::paths::{Demand, JobId, Path, PathAllocator};
use railtwin_fabric::{DeviceId, Fabric};
use railtwin_routing::source_port::FIRST_QPN;
use railtwin_routing::{
    Avoid, EcmpConfig, FiveTuple, Forwarding, HashKey, LinkMask, NicPort, QueuePairNumbers, Routing, nic_ip,
    roce_source_port,
};

use crate::paths::PathBalancer;

/// Queue pairs between a port of a NIC and another NIC.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) job: String,
    pub(crate) source: NicPort,
    pub(crate) target: DeviceId,
    pub(crate) queue_pairs: u32,
}

/// One queue pair of the table.
#[derive(Clone, Debug)]
pub(crate) struct Assigned<'c> {
    pub(crate) connection: &'c Connection,
    /// Its number at the target.
    pub(crate) queue_pair: u32,
    /// Without a path all but the reason means nothing.
    pub(crate) way: Option<Way>,
    pub(crate) reason: &'static str,
}

/// A source port and the path that it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) source_port: u16,
    pub(crate) landed: u32,
    pub(crate) path: Path,
}

/// The queue pair numbers of each connection, (at the source, at the target), as NICs count them from the first.
fn numbers(connections: &[Connection]) -> Vec<Vec<(u32, u32)>> {
    let mut of_nic: BTreeMap<DeviceId, QueuePairNumbers> = BTreeMap::new();
    let mut next = |nic: DeviceId| {
        of_nic.entry(nic).or_insert_with(|| QueuePairNumbers::starting_at(FIRST_QPN)).allocate()
    };
    let pairs =
        |one: &Connection| (0..one.queue_pairs).map(|_| (next(one.source.nic), next(one.target))).collect();
    connections.iter().map(pairs).collect()
}

/// A row for each queue pair, in the order of the connections.
pub(crate) fn assign<'c>(
    fabric: &Fabric,
    ecmp: &EcmpConfig,
    mask: &LinkMask,
    balancer: PathBalancer,
    connections: &'c [Connection],
) -> Vec<Assigned<'c>> {
    let numbers = numbers(connections);
    if balancer == PathBalancer::C4p {
        return allocated(fabric, ecmp, mask, connections, &numbers);
    }
    let forwarding = Forwarding::new(fabric, mask);
    let routing = Routing::new(fabric, &forwarding, ecmp);
    let mut rows = Vec::new();
    for (connection, numbers) in connections.iter().zip(&numbers) {
        match balancer {
            PathBalancer::Disjoint => disjoint(&routing, connection, numbers, &mut rows),
            _ => hashed(&routing, connection, numbers, &mut rows),
        }
    }
    rows
}

fn allocated<'c>(
    fabric: &Fabric,
    ecmp: &EcmpConfig,
    mask: &LinkMask,
    connections: &'c [Connection],
    numbers: &[Vec<(u32, u32)>],
) -> Vec<Assigned<'c>> {
    let mut allocator = PathAllocator::new(fabric, *ecmp, mask);
    let mut jobs: BTreeMap<&str, JobId> = BTreeMap::new();
    let mut rows = Vec::new();
    for (connection, numbers) in connections.iter().zip(numbers) {
        let next = JobId::from_index(jobs.len());
        let job = *jobs.entry(&connection.job).or_insert(next);
        let queue_pairs: Vec<u32> = numbers.iter().map(|&(_, at_target)| at_target).collect();
        let Connection { source, target, .. } = *connection;
        let demand = Demand { source, target, queue_pairs: &queue_pairs, weight: 1 };
        rows.extend(allocator.allocate(job, &[demand]).into_iter().map(|given| Assigned {
            connection,
            queue_pair: given.queue_pair,
            way: given.landed.map(|landed| Way { source_port: given.source_port, landed, path: given.path }),
            reason: given.reason.name(),
        }));
    }
    rows
}

fn key(connection: &Connection, source_port: u16, queue_pair: u32) -> HashKey {
    let tuple = FiveTuple::roce(nic_ip(connection.source.nic), nic_ip(connection.target), source_port);
    HashKey::of(tuple).with_target_qp(queue_pair)
}

/// Where a packet goes.
fn way(routing: &Routing<'_>, connection: &Connection, queue_pair: u32, source_port: u16) -> Option<Way> {
    let mut links = Vec::new();
    let key = key(connection, source_port, queue_pair);
    let landed = routing.route(connection.source, connection.target, &key, &mut links).ok()?;
    Some(Way { source_port, landed: landed.port_index, path: Path::of(&links) })
}

fn hashed<'c>(
    routing: &Routing<'_>,
    connection: &'c Connection,
    numbers: &[(u32, u32)],
    rows: &mut Vec<Assigned<'c>>,
) {
    rows.extend(numbers.iter().map(|&(at_source, queue_pair)| {
        let way = way(routing, connection, queue_pair, roce_source_port(at_source, queue_pair));
        let reason = if way.is_some() { "hashed" } else { "stranded" };
        Assigned { connection, queue_pair, way, reason }
    }));
}

/// Disjoint paths in turn. Where switches hash the queue pair, ports found for one number would not do for another:
/// each queue pair is then steered by itself, to the path that the connection uses least.
fn disjoint<'c>(
    routing: &Routing<'_>,
    connection: &'c Connection,
    numbers: &[(u32, u32)],
    rows: &mut Vec<Assigned<'c>>,
) {
    let Connection { source, target, .. } = *connection;
    let reads_queue_pair = routing.ecmp.spec.fields.contains(railtwin_routing::Fields::TARGET_QP);
    let find = |queue_pair: u32, count: usize, busy: &[u32]| {
        let avoid = Avoid { dead: None, busy };
        let found =
            routing.disjoint_source_ports(source, target, &key(connection, 0, queue_pair), count, &avoid);
        found.unwrap_or_default()
    };
    let together = match reads_queue_pair {
        true => Vec::new(),
        false => find(0, numbers.len(), &[]),
    };
    let mut busy = vec![0u32; routing.fabric.link_count()];
    for (index, &(_, queue_pair)) in numbers.iter().enumerate() {
        let port = match reads_queue_pair {
            true => find(queue_pair, 1, &busy).first().map(|steered| steered.source_port),
            false => together.get(index % together.len().max(1)).map(|steered| steered.source_port),
        };
        let way = port.and_then(|port| way(routing, connection, queue_pair, port));
        let between = way.map_or(Path::NONE, |way| way.path);
        let is_shared = between.beyond_access().iter().any(|link| busy[link.index()] > 0);
        for link in between.beyond_access() {
            busy[link.index()] += 1;
        }
        let reason = match way {
            None => "stranded",
            Some(_) if is_shared => "shared",
            Some(_) => "disjoint",
        };
        rows.push(Assigned { connection, queue_pair, way, reason });
    }
}

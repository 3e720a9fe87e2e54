//! The paths of all connections of a cluster by one controller.
use railtwin_fabric::Fabric;
use railtwin_routing::source_port::{FIRST_PORT, LAST_PORT};
use railtwin_routing::{EcmpConfig, FiveTuple, Forwarding, HashKey, LinkMask, NicPort, Routing, nic_ip};
use rayon::prelude::*;

use super::allocator::PathAllocator;
use super::assignment::{Assignment, Demand, JobId, Reason};
use super::replan::LinkState;
use super::steered::{QueuePairs, SteeredPorts};

/// One controller for all jobs (C4P, C4 section III-B): planned on the whole fabric, job after job, then as
/// little moved as the links that it knows to be dead ask for. `resilient` are the tables without faults where groups
/// keep the numbers of their members.
pub fn least_used(
    fabric: &Fabric,
    ecmp: EcmpConfig,
    connections: &[QueuePairs],
    numbers: &[(u32, u32)],
    known: &LinkMask,
    resilient: Option<&Forwarding>,
) -> SteeredPorts {
    let mut allocator = PathAllocator::new(fabric, ecmp, &LinkMask::none(fabric));
    let mut rows: Vec<(JobId, Vec<u32>)> = Vec::new();
    let mut targets = Vec::new();
    for connection in connections {
        let job = connection.job;
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
            for queue_pair in connection.by_port(port) {
                rows.push(queue_pair);
                targets.push(numbers[queue_pair as usize].1);
            }
            let source = NicPort { nic: connection.source, port };
            let demand = Demand { source, target: connection.target, queue_pairs: &targets, weight: 1 };
            allocator.allocate(job, &[demand]);
        }
    }
    let dead: Vec<_> = known.down_links().map(|link| (link, LinkState::Down)).collect();
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
fn port_to(routing: &Routing<'_>, given: &Assignment) -> Option<u16> {
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

//! What hosts and controllers plan for the connections of a case: `railtwin-control` decides, here it is asked.
use railtwin_control::paths::{self, JobId, QueuePairs, SteeredPorts};
use railtwin_control::te::{Demand, Engine, EngineOptions, TrafficMatrix};
use railtwin_fabric::Fabric;
use railtwin_routing::{EcmpConfig, EntryTable, Forwarding, LinkMask, NicPort, Prefixes, Routing};
use railtwin_units::Rate;

use crate::choose::Connection;

fn queue_pairs(connections: &[Connection]) -> Vec<QueuePairs> {
    let of = |&Connection { job, source, target, first, count, ports, .. }: &Connection| QueuePairs {
        job: JobId(job),
        source,
        target,
        first,
        count,
        ports,
    };
    connections.iter().map(of).collect()
}

/// Every connection by itself: [`paths::disjoint()`].
pub fn disjoint(
    routing: &Routing<'_>,
    connections: &[Connection],
    numbers: &[(u32, u32)],
    draw: u64,
) -> SteeredPorts {
    paths::disjoint(routing, &queue_pairs(connections), numbers, draw)
}

/// One controller for all jobs: [`paths::least_used()`].
pub fn least_used(
    fabric: &Fabric,
    ecmp: EcmpConfig,
    connections: &[Connection],
    numbers: &[(u32, u32)],
    known: &LinkMask,
    resilient: Option<&Forwarding>,
) -> SteeredPorts {
    paths::least_used(fabric, ecmp, &queue_pairs(connections), numbers, known, resilient)
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

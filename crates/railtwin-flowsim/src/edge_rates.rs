//! What each queue pair carries and could carry in the state that the network is in at one moment.
use std::collections::BTreeSet;

use railtwin_engine::choose::ChosenPaths;
use railtwin_engine::fault::{Change, Known};
use railtwin_engine::lower::Lowering;
use railtwin_engine::{BundleTable, Case, EdgeRates, Programmed};
use railtwin_fabric::LinkId;
use railtwin_units::SimTime;
use railtwin_workload::{Edge, PatternId};

use crate::ailing::Ailing;
use crate::component::{Profile, RateBook};
use crate::engine::FlowEngine;

/// Plays faults up to and with `at`: what is known then, and what links carry.
fn state(
    case: &Case,
    lowering: &Lowering<'_>,
    replicate: u32,
    at: SimTime,
) -> ((Known, Programmed), Vec<f64>) {
    let fabric = &*case.fabric;
    let capacity = |link: u32| case.data_rate(LinkId(link));
    let mut capacities: Vec<f64> = (0..fabric.link_count() as u32).map(capacity).collect();
    let moments = case.timeline(replicate);
    let mut mediator = lowering.mediator(&moments);
    while let Some(now) = mediator.next_time().filter(|now| *now <= at) {
        let news = mediator.pass(now);
        mediator.answer_idle();
        for moment in news.moments {
            let (cable, ways, dead) = match moment.change {
                Change::Dies(cable, ways) => (cable, ways, true),
                Change::Carries(cable, ways) => (cable, ways, false),
                _ => continue,
            };
            for link in ways.links(cable) {
                capacities[link.index()] = if dead { 0.0 } else { capacity(link.0) };
            }
        }
    }
    let ailing = Ailing::new(case, lowering);
    for link in case.impairments.iter().map(|ill| ill.link).collect::<BTreeSet<_>>() {
        capacities[link.index()] *= ailing.share(link, at);
    }
    (mediator.into_state(), capacities)
}

/// Seconds for each byte of the operation, by bundle of a pattern's own shape.
fn seconds(profile: &Profile, bundles: usize) -> Vec<f64> {
    let joined = profile.phases.first().map_or(bundles, |(_, rates)| rates.bundles.len());
    let mut ends = vec![if profile.seconds.is_finite() { 0.0 } else { f64::INFINITY }; joined];
    for (end, rates) in &profile.phases {
        for (seconds, rate) in ends.iter_mut().zip(&rates.bundles) {
            if *rate > 0.0 {
                *seconds = *end;
            }
        }
    }
    // What still moves in the last phase of a course that never ends has bytes left or not; all of it waits for
    // what stands still, and only that is told.
    if joined == bundles { ends } else { vec![profile.seconds; bundles] }
}

impl FlowEngine {
    /// What each queue pair of a case carries while its pattern runs alone, and what it could carry, in the state of
    /// the network at `at`: dead links, links with impairments, paths as hosts, switches and planners know them then.
    ///
    /// Leaves that bridge past a dead link are left out, and under a dynamic split all queue pairs of an edge are told
    /// with the same rate.
    pub fn edge_rates(&self, case: &Case, replicate: u32, at: SimTime) -> EdgeRates {
        let lowering = Lowering::new(case, replicate);
        let ((known, programmed), capacities) = state(case, &lowering, replicate, at);
        let chosen = lowering.paths_by(&known.routed, &programmed);
        let (table, _) = lowering.table_on(&chosen, false);
        let mut book = RateBook::new(&capacities, table.patterns(), false);
        let mut out = EdgeRates { at, pattern_start: vec![0], row_start: vec![0], ..EdgeRates::default() };
        out.link_start.push(0);
        let mut spare = capacities.clone();
        for pattern in 0..table.patterns() {
            let first_row = out.rows();
            write(case, &lowering, &chosen, (&table, &mut book), pattern, &mut out);
            raise(case, &lowering, &chosen, pattern, first_row, &mut spare, &mut out);
        }
        out
    }
}

/// Writes bundles and rows of a pattern with their paces.
fn write(
    case: &Case,
    lowering: &Lowering<'_>,
    chosen: &ChosenPaths,
    (table, book): (&BundleTable, &mut RateBook),
    pattern: usize,
    out: &mut EdgeRates,
) {
    let fabric = &*case.fabric;
    let (shape, connections) = lowering.shape_of(pattern);
    let connections: Vec<Option<u32>> = connections.collect();
    let firsts = lowering.first_bundles(pattern);
    let profile = book.profile(table, PatternId::from_index(pattern));
    let seconds = seconds(&profile, shape.bundles.len());
    for (row, (bundle, seconds)) in (0_u32..).zip(shape.bundles.iter().zip(seconds)) {
        let communicator = firsts.partition_point(|&first| first <= row) as u32 - 1;
        out.communicator.push(communicator);
        out.channel.push(row - firsts[communicator as usize]);
        out.stages.push(bundle.stages);
        out.ring_hops.push(bundle.ring_hops);
        out.aggregated.push(bundle.aggregated);
        out.seconds_per_byte.push(seconds);
        for (edge, at) in (0..).zip(shape.edges_of(bundle)) {
            let Edge::Network { source_host, source_nic, target_host, target_nic, amount } = *at else {
                continue;
            };
            let connection = connections[(bundle.first_edge + edge) as usize];
            let connection = connection.expect("a network edge has a connection");
            let connection = &lowering.connections()[connection as usize];
            for queue_pair in 0..connection.count {
                let path = chosen.path(connection.first + queue_pair);
                let row = connection.first + queue_pair;
                let share = chosen.carried(row, connection.count, bundle.volume * amount);
                out.edge.push(edge);
                out.source.push((source_host, source_nic));
                out.target.push((target_host, target_nic));
                let port = path.links.first().map_or(queue_pair % connection.ports, |&link| {
                    let port = fabric
                        .cable_ports(link.cable())
                        .into_iter()
                        .find(|&port| fabric.port_device(port) == connection.source);
                    port.map_or(0, |port| network_port(case, port))
                });
                out.nic_port.push(port);
                out.queue_pair
                    .push(lowering.queue_pair_numbers()[(connection.first + queue_pair) as usize].0);
                out.source_port.push(path.source_port);
                out.share.push(share);
                out.pace.push(if seconds > 0.0 { share / seconds } else { 0.0 });
                out.links.extend(path.links.iter().map(|link| link.0));
                out.link_start.push(out.links.len() as u32);
            }
        }
        out.row_start.push(out.edge.len() as u32);
    }
    out.pattern_start.push(out.communicator.len() as u32);
    out.latency.push(table.latency[pattern]);
}

/// Number of a NIC's port among its ports to the network.
fn network_port(case: &Case, port: railtwin_fabric::PortId) -> u32 {
    let fabric = &*case.fabric;
    let ports = fabric.ports(fabric.port_device(port));
    ports.filter(|&p| fabric.port_role(p).is_network()).position(|p| p == port).unwrap_or(0) as u32
}

/// Writes what the queue pairs of a pattern could carry; `spare` holds what links have and is left as it was.
fn raise(
    case: &Case,
    lowering: &Lowering<'_>,
    chosen: &ChosenPaths,
    pattern: usize,
    first_row: usize,
    spare: &mut [f64],
    out: &mut EdgeRates,
) {
    // Shares of links where packets are spread, in the order of rows.
    let spread = case.routing.balancer.is_spread();
    let mut parts: Vec<f64> = Vec::new();
    if spread {
        let (_, connections) = lowering.shape_of(pattern);
        for connection in connections.flatten() {
            let connection = &lowering.connections()[connection as usize];
            for queue_pair in connection.first..connection.first + connection.count {
                parts.extend(chosen.path(queue_pair).parts);
            }
        }
    }
    let first_link = out.link_start[first_row] as usize;
    let part = |at: usize| if spread { parts[at - first_link] } else { 1.0 };
    let mut touched: Vec<(u32, f64)> = Vec::new();
    for row in first_row..out.rows() {
        for at in out.link_start[row] as usize..out.link_start[row + 1] as usize {
            let link = out.links[at];
            touched.push((link, spare[link as usize]));
            spare[link as usize] -= out.pace[row] * part(at);
        }
    }
    for row in first_row..out.rows() {
        let links = out.link_start[row] as usize..out.link_start[row + 1] as usize;
        let mut rate = if links.is_empty() { 0.0 } else { f64::INFINITY };
        for at in links {
            let (left, part) = (spare[out.links[at] as usize].max(0.0), part(at));
            if part > 0.0 {
                rate = rate.min(out.pace[row] + left / part);
            }
        }
        out.rate.push(rate);
    }
    // Backwards: the first note of a link is what it has.
    for (link, before) in touched.into_iter().rev() {
        spare[link as usize] = before;
    }
}

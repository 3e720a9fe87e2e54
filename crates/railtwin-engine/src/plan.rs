//! What hosts plan for the connections of a case: source ports that reach disjoint paths.
use railtwin_fabric::{DeviceId, LinkId};
use railtwin_routing::{Avoid, Fields, FiveTuple, HashKey, NicPort, Routing, nic_ip};
use railtwin_units::stream;
use rayon::prelude::*;

use crate::choose::Connection;

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
) -> Vec<Option<u16>> {
    let reads_queue_pair = routing.ecmp.spec.fields.contains(Fields::TARGET_QP);
    let mut ports = vec![None; numbers.len()];
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
        ports[row as usize] = Some(port);
    }
    ports
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

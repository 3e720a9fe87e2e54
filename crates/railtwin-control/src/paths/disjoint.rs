//! Source ports whose paths share no link: HPN's EstablishConns and FINDPATHS.
//!
//! HPN (SIGCOMM 2024, section 6.1 and appendix B, algorithm 1) opens one connection for each of several source ports
//! that the host knows to take disjoint paths, because it can replay the exact hash of each switch (RePaC, USENIX ATC
//! 2021). Here some ports are replayed one by one; where these do not do, all 16,384 are sorted by path and links are
//! shared out among the paths.
use railtwin_fabric::{DeviceId, LinkId};
use railtwin_routing::{
    Fields, FiveTuple, HashKey, LinkMask, NicPort, NoRoute, Routing, SteeredPath, nic_ip,
};
use railtwin_units::stream;
use rayon::prelude::*;

use super::matching::disjoint_subset;
use super::steered::QueuePairs;

/// What a host would rather not use.
#[derive(Clone, Copy, Default, Debug)]
pub struct Avoid<'a> {
    /// Links never to use, such as those that died since the tables converged.
    pub dead: Option<&'a LinkMask>,
    /// Use of each link so far, by [`LinkId`]; links beyond the end count as unused.
    /// Of the paths at hand those with the least used links are taken first.
    pub busy: &'a [u32],
}

impl Avoid<'_> {
    fn allows(&self, links: &[LinkId]) -> bool {
        self.dead.is_none_or(|mask| links.iter().all(|&link| !mask.is_down(link)))
    }

    /// Most used link of a path, then the sum of uses.
    fn burden(&self, links: &[LinkId]) -> (u32, u64) {
        let uses = || links.iter().map(|link| self.busy.get(link.index()).copied().unwrap_or(0));
        (uses().max().unwrap_or(0), uses().map(u64::from).sum())
    }
}

/// Up to `count` source ports whose paths pairwise share no link but access links: FINDPATHS. The key gives all but
/// the source port. On fabrics of one or two tiers as many as exist among the hashed paths; with three tiers a larger
/// set may exist. Empty only if `avoid` forbids all paths or `count` is 0.
///
/// # Errors
/// [`NoRoute`] if the source port or the target is down or out of reach.
pub fn disjoint_source_ports(
    routing: &Routing<'_>,
    source: NicPort,
    target_nic: DeviceId,
    key: &HashKey,
    count: usize,
    avoid: &Avoid<'_>,
) -> Result<Vec<SteeredPath>, NoRoute> {
    let mut paths = routing.paths_by_source_port(source, target_nic, key)?;
    paths.retain(|path| avoid.allows(&path.links));
    paths.sort_by_cached_key(|path| (avoid.burden(path.beyond_access()), path.source_port));
    let between: Vec<&[LinkId]> = paths.iter().map(SteeredPath::beyond_access).collect();
    let chosen = disjoint_subset(&between, count);
    Ok(chosen.into_iter().map(|path| paths[path].clone()).collect())
}

/// Every connection by itself (HPN appendix B, algorithm 1): its queue pairs get pairwise disjoint paths as far as
/// there are any, whatever other connections use. Ports of the NIC are planned in turn, each off the links of those
/// before it: with planes they never meet, elsewhere they share links down from the spines. Source ports are replayed
/// through the switches' hashes from a place that the draw gives each connection, as hosts know nothing of each other;
/// where so many tries find too few, all 16,384 are sorted by path. `numbers` are those of the queue pairs at the
/// target, by row. Returns the source port of each row; none where there is no live path.
pub fn disjoint(
    routing: &Routing<'_>,
    connections: &[QueuePairs],
    numbers: &[u32],
    draw: u64,
) -> Vec<Option<u16>> {
    let reads_queue_pair = routing.ecmp.spec.fields.contains(Fields::TARGET_QP);
    let mut ports = vec![None; numbers.len()];
    let found: Vec<Vec<(u32, u16)>> = connections
        .par_iter()
        .map(|connection| {
            let mut ports = Vec::with_capacity(connection.count as usize);
            let mut used = Vec::new();
            for port in 0..connection.ports {
                let wanted: Vec<u32> = connection.by_port(port).collect();
                let from = NicPort { nic: connection.source, port };
                let first = stream::mix(draw ^ stream::mix(u64::from(wanted[0])));
                let chosen = if reads_queue_pair {
                    let numbers = wanted.iter().map(|&row| numbers[row as usize]);
                    disjoint_ports_by_number(routing, from, connection.target, numbers, first, &mut used)
                } else {
                    disjoint_ports(routing, from, connection.target, wanted.len(), first, &mut used)
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

/// How often each link stands in `used`, by [`LinkId`].
fn uses(routing: &Routing<'_>, used: &[LinkId]) -> Vec<u32> {
    let mut busy = vec![0_u32; routing.fabric.link_count()];
    used.iter().for_each(|link| busy[link.index()] += 1);
    busy
}

/// Up to `count` source ports with pairwise disjoint paths off the links in `used`, to which theirs are added. Where
/// there are too few, fewer or those that share least with it; none where there is no way.
fn disjoint_ports(
    routing: &Routing<'_>,
    from: NicPort,
    target: DeviceId,
    count: usize,
    first: u64,
    used: &mut Vec<LinkId>,
) -> Vec<u16> {
    let key = HashKey::of(FiveTuple::roce(nic_ip(from.nic), nic_ip(target), 0));
    let (mut ports, mut path, before) = (Vec::new(), Vec::new(), used.len());
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
    let busy = uses(routing, &used[..before]);
    let avoid = Avoid { dead: None, busy: &busy };
    let Ok(exact) = disjoint_source_ports(routing, from, target, &key, count, &avoid) else { return ports };
    used.truncate(before);
    used.extend(exact.iter().flat_map(SteeredPath::beyond_access));
    exact.iter().map(|path| path.source_port).collect()
}

/// The same where switches hash the queue pair, whose number at the target is one of `numbers`: a port found for one
/// takes another path for the next, so each is steered by itself, to the path least used where none is free.
fn disjoint_ports_by_number(
    routing: &Routing<'_>,
    from: NicPort,
    target: DeviceId,
    numbers: impl ExactSizeIterator<Item = u32>,
    first: u64,
    used: &mut Vec<LinkId>,
) -> Vec<u16> {
    let key = HashKey::of(FiveTuple::roce(nic_ip(from.nic), nic_ip(target), 0));
    let tries = TRIES * numbers.len();
    let (mut ports, mut path) = (Vec::new(), Vec::new());
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
            let busy = uses(routing, used);
            let exact =
                disjoint_source_ports(routing, from, target, &key, 1, &Avoid { dead: None, busy: &busy });
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

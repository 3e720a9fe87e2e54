//! The paths from a port of a NIC to another NIC, and a UDP source port that leads over each: what there is to choose
//! from. Crux probes them with pings of varied source ports (section 5); who knows the switches' hashes follows them.
use std::collections::BTreeSet;

use railtwin_fabric::{DeviceId, Fabric, LinkId};
use railtwin_routing::source_port::{FIRST_PORT, LAST_PORT};
use railtwin_routing::{EcmpConfig, FiveTuple, Forwarding, HashKey, LinkMask, NicPort, Routing, nic_ip};

use super::assignment::Path;
use super::catalogue::Catalogue;
use super::dag::PathDag;

/// Ports that are tried for each way that there is, beyond a few: one of n ways is missed by all of 16 n even draws with
/// a chance of e^-16.
const TRIES_EACH: u64 = 16;
/// Ports that are tried at least.
const TRIES_LEAST: u64 = 256;

/// A path and the lowest source port that takes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// The UDP source port.
    pub source_port: u16,
    /// From NIC to NIC.
    pub path: Path,
}

/// Finds ways by the tables and hashes of a fabric's switches.
#[derive(Clone, Debug)]
pub struct PortWays<'a> {
    fabric: &'a Fabric,
    ecmp: EcmpConfig,
    forwarding: Forwarding,
    /// The tables without faults, where groups keep the numbers of their members.
    whole: Option<Forwarding>,
    catalogue: Catalogue,
}

impl<'a> PortWays<'a> {
    /// Ways that avoid the links of `down`. `resilient` says whether groups keep the numbers of their members when one is
    /// dead.
    pub fn new(fabric: &'a Fabric, ecmp: EcmpConfig, down: &LinkMask, resilient: bool) -> Self {
        Self {
            fabric,
            ecmp,
            forwarding: Forwarding::new(fabric, down),
            whole: resilient.then(|| Forwarding::new(fabric, &LinkMask::none(fabric))),
            catalogue: Catalogue::new(fabric),
        }
    }

    /// The dead links of its tables.
    pub fn down(&self) -> &LinkMask {
        self.forwarding.mask()
    }

    /// At most `most` ways from a port to the queue pair of this number at a NIC, in order of source ports; none where
    /// nothing leads there.
    pub fn of(&mut self, source: NicPort, target: DeviceId, number: u32, most: usize) -> Vec<Way> {
        let wanted = self.count(source, target).min(most as u64);
        let mut seen = BTreeSet::new();
        let mut ways = Vec::new();
        for source_port in tried(wanted) {
            if ways.len() as u64 >= wanted {
                break;
            }
            let Some(path) = self.path(source, target, number, source_port) else { break };
            if seen.insert(path) {
                ways.push(Way { source_port, path });
            }
        }
        ways
    }

    /// The source ports that [`Self::of`] tries for all ways.
    pub fn tried(&mut self, source: NicPort, target: DeviceId) -> impl Iterator<Item = u16> + use<> {
        tried(self.count(source, target))
    }

    /// The path of packets with a source port; none where nothing leads to the target.
    pub fn path(&self, source: NicPort, target: DeviceId, number: u32, source_port: u16) -> Option<Path> {
        let mut routing = Routing::new(self.fabric, &self.forwarding, &self.ecmp);
        if let Some(whole) = &self.whole {
            routing = routing.with_resilience(whole);
        }
        let tuple = FiveTuple::roce(nic_ip(source.nic), nic_ip(target), source_port);
        let mut links: Vec<LinkId> = Vec::new();
        routing.route(source, target, &HashKey::of(tuple).with_target_qp(number), &mut links).ok()?;
        Some(Path::of(&links))
    }

    /// How many ways there are by the tables, whichever source ports lead there.
    fn count(&mut self, source: NicPort, target: DeviceId) -> u64 {
        let routing = Routing::new(self.fabric, &self.forwarding, &self.ecmp);
        let Some(access) = self.forwarding.access(source.nic, source.port) else { return 0 };
        if self.forwarding.mask().is_down(access.link) {
            return 0;
        }
        let Some(pair) = self.catalogue.pair(&routing, access.leaf, target) else { return 0 };
        let last = |row: u32| self.forwarding.next_links(row, target).len() as u64;
        ways(self.catalogue.dag(pair), last)
    }
}

/// The source ports that are tried where so many ways are wanted.
fn tried(wanted: u64) -> impl Iterator<Item = u16> {
    let tries = (TRIES_EACH * wanted + TRIES_LEAST).min(u64::from(LAST_PORT - FIRST_PORT) + 1);
    (FIRST_PORT..=LAST_PORT).take(tries as usize)
}

/// Ways through a graph, at most `u64::MAX`, where `last` tells the links to the target of each leaf that delivers.
pub(super) fn ways(dag: &PathDag, last: impl Fn(u32) -> u64) -> u64 {
    let mut ways = vec![0u64; dag.nodes.len()];
    for (index, node) in dag.nodes.iter().enumerate().rev() {
        ways[index] = match node.delivers {
            true => last(node.row),
            false => {
                let next = dag.edges[node.edges()].iter().map(|edge| ways[edge.next as usize]);
                next.fold(0, u64::saturating_add)
            }
        };
    }
    ways[0]
}

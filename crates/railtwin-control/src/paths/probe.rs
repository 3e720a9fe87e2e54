//! The paths between leaves and their faulty links, found by probes (C4 section III-B).
//!
//! Between chosen servers of every two leaves packets are sent along each path, by a source port that the switches'
//! hashes send there. What was lost is laid to as few links as will do.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::{DeviceId, Fabric, LinkId};
use railtwin_routing::source_port::{FIRST_PORT, LAST_PORT};
use railtwin_routing::{FiveTuple, HashKey, NicPort, Routing, nic_ip};
use railtwin_units::stream;

use super::assignment::Path;
use super::catalogue::Catalogue;
use super::flow::Flow;
use super::search::Scratch;
use super::ways::ways;

/// A path between two leaves, the probe that takes it, and what became of its packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProbedPath {
    /// The port of the server that probes.
    pub source: NicPort,
    /// The NIC that is probed.
    pub target: DeviceId,
    /// The UDP source port of the packets.
    pub source_port: u16,
    /// Where they go by the tables and hashes that the prober knows.
    pub path: Path,
    /// Packets sent.
    pub sent: u32,
    /// Packets that did not arrive.
    pub lost: u32,
}

/// Plans probes over what the switches' tables offer.
#[derive(Clone, Debug)]
pub struct Prober<'a> {
    routing: Routing<'a>,
    catalogue: Catalogue,
    scratch: Scratch,
    no_use: Vec<u64>,
    servers: BTreeMap<u32, NicPort>,
    most_paths: usize,
}

impl<'a> Prober<'a> {
    /// A prober that draws the servers by `seed` and probes at most `most_paths` paths of a pair of leaves.
    pub fn new(routing: Routing<'a>, seed: u64, most_paths: usize) -> Self {
        let fabric = routing.fabric;
        Self {
            servers: servers(&routing, seed),
            catalogue: Catalogue::new(fabric),
            scratch: Scratch::default(),
            no_use: vec![0; fabric.link_count()],
            most_paths,
            routing,
        }
    }

    /// Probes along all paths between all pairs of leaves, pair after pair; nothing is sent yet.
    pub fn plan(&mut self) -> Vec<ProbedPath> {
        let leaves: Vec<u32> = self.servers.keys().copied().collect();
        let mut all = Vec::new();
        for &source in &leaves {
            for &target in leaves.iter().filter(|&&target| target != source) {
                self.pair(source, target, &mut all);
            }
        }
        all
    }

    /// The paths from a server of one leaf to a server of another, each by the lowest source port that takes it.
    fn pair(&mut self, source_leaf: u32, target_leaf: u32, all: &mut Vec<ProbedPath>) {
        let (source, target) = (self.servers[&source_leaf], self.servers[&target_leaf].nic);
        let access = self.routing.forwarding.access(source.nic, source.port);
        let access = access.expect("servers are chosen by their access links").link;
        let Some(pair) = self.catalogue.pair(&self.routing, source_leaf, target) else {
            return;
        };
        let dag = self.catalogue.dag(pair);
        let flow = Flow {
            routing: &self.routing,
            tables: &self.catalogue.tables,
            pair,
            dag,
            twist: Flow::first_twist(&self.routing, &self.catalogue.tables, dag, access),
            cost: &self.no_use,
            key: HashKey::of(FiveTuple::roce(nic_ip(source.nic), nic_ip(target), FIRST_PORT)),
            access,
            target,
        };
        self.scratch.new_key();
        let wanted = ways(dag, |row| u64::from(row == target_leaf)).min(self.most_paths as u64) as usize;
        let mut seen = BTreeSet::new();
        for source_port in FIRST_PORT..=LAST_PORT {
            if seen.len() >= wanted {
                break;
            }
            let Some(taken) = self.scratch.follow(&flow, source_port) else { break };
            let path = taken.path;
            let last = path.links()[path.links().len() - 1];
            let is_there =
                self.routing.fabric.switch_row(self.routing.fabric.source(last)) == Some(target_leaf);
            // A server with two ports on the leaf has several last links; one will do.
            if is_there && seen.insert(Path::of(path.beyond_access())) {
                all.push(ProbedPath { source, target, source_port, path, sent: 0, lost: 0 });
            }
        }
    }
}

/// The links to which lost packets are laid, ascending: again and again, of the paths that lost something and are not
/// explained yet, the link that lost the largest share of what crossed it; of several the one that most of these paths
/// cross, then the lowest. A link on a path that loses nothing loses less than one that only such paths cross, so the
/// one link that all lossy paths share comes first.
pub fn blame(probed: &[ProbedPath]) -> Vec<LinkId> {
    let mut open: Vec<&ProbedPath> = probed.iter().filter(|one| one.sent > 0).collect();
    let mut faulty = Vec::new();
    loop {
        // Packets sent, packets lost, lossy paths, by link.
        let mut crossed: BTreeMap<LinkId, (u64, u64, u64)> = BTreeMap::new();
        for one in &open {
            for &link in one.path.links() {
                let (sent, lost, paths) = crossed.entry(link).or_default();
                *sent += u64::from(one.sent);
                *lost += u64::from(one.lost);
                *paths += u64::from(one.lost > 0);
            }
        }
        // Shares are compared exactly: a / b above c / d as a d above c b.
        crossed.retain(|_, (_, lost, _)| *lost > 0);
        let worst =
            crossed.iter().max_by(|&(one, &(sent, lost, paths)), &(other, &(of_sent, of_lost, of_paths))| {
                let (left, right) =
                    (u128::from(lost) * u128::from(of_sent), u128::from(of_lost) * u128::from(sent));
                left.cmp(&right).then(paths.cmp(&of_paths)).then(other.cmp(one))
            });
        let Some((&worst, _)) = worst else { break };
        open.retain(|one| !one.path.links().contains(&worst));
        faulty.push(worst);
    }
    faulty.sort_unstable();
    faulty
}

/// A live port of a server for each leaf.
fn servers(routing: &Routing<'_>, seed: u64) -> BTreeMap<u32, NicPort> {
    let fabric: &Fabric = routing.fabric;
    let mut candidates: BTreeMap<u32, Vec<NicPort>> = BTreeMap::new();
    for nic in fabric.devices() {
        for access in routing.forwarding.accesses(nic) {
            let mask = routing.forwarding.mask();
            if !mask.is_down(access.link) && !mask.is_down(access.link.reverse()) {
                candidates.entry(access.leaf).or_default().push(NicPort { nic, port: access.port });
            }
        }
    }
    let choose = |(leaf, ports): (u32, Vec<NicPort>)| {
        let draw = stream::mix(stream::mix(seed) ^ u64::from(leaf));
        (leaf, ports[(draw % ports.len() as u64) as usize])
    };
    candidates.into_iter().map(choose).collect()
}

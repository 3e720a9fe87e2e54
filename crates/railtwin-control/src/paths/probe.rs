//! The paths between leaves and their faulty links, found by probes (C4 section III-B).
//!
//! Between chosen servers of every two leaves one packet is sent along each path, by a source port that the switches'
//! hashes send there. Links of a path that was reached are sound. What was lost is laid to as few of the other links
//! as will do.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::{DeviceId, Fabric, LinkId};
use railtwin_routing::source_port::{FIRST_PORT, LAST_PORT};
use railtwin_routing::{FiveTuple, HashKey, LinkMask, NicPort, Routing, nic_ip};
use railtwin_units::stream;

use super::assignment::Path;
use super::catalogue::Catalogue;
use super::dag::PathDag;
use super::flow::Flow;
use super::search::Scratch;

/// What became of a probe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Answer {
    /// It came back.
    Reached,
    /// It did not.
    Lost,
}

/// Sends probes: a live prober on hosts, or a replay of the switches.
pub trait Probe {
    /// Sends one packet with this UDP source port from a port of a NIC to another NIC.
    fn probe(&mut self, source: NicPort, target: DeviceId, source_port: u16) -> Answer;
}

/// Probes by replay: packets go as the switches' tables and hashes say, and are lost on the links in `lossy`.
#[derive(Clone, Debug)]
pub struct Replay<'a> {
    /// The switches.
    pub routing: Routing<'a>,
    /// Links that lose what crosses them, though the switches do not know.
    pub lossy: LinkMask,
}

impl Probe for Replay<'_> {
    fn probe(&mut self, source: NicPort, target: DeviceId, source_port: u16) -> Answer {
        let key = HashKey::of(FiveTuple::roce(nic_ip(source.nic), nic_ip(target), source_port));
        let mut path = Vec::new();
        let landed = self.routing.route(source, target, &key, &mut path);
        match landed.is_ok() && !path.iter().any(|&link| self.lossy.is_down(link)) {
            true => Answer::Reached,
            false => Answer::Lost,
        }
    }
}

/// A path between two leaves, with the probe that took it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProbedPath {
    /// Where the probe set out.
    pub source: NicPort,
    /// Where it was to arrive.
    pub target: DeviceId,
    /// Its source port.
    pub source_port: u16,
    /// Its links.
    pub path: Path,
    /// What became of it.
    pub answer: Answer,
}

/// What the probes found.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Survey {
    /// By rows of source and target leaf: the paths, reached and lost.
    pub paths: BTreeMap<(u32, u32), Vec<ProbedPath>>,
    /// Links to which the losses are laid, ascending: for [`super::PathAllocator::replan`] to avoid.
    pub faulty: Vec<LinkId>,
    /// Lost probes all of whose links others crossed soundly: losses by chance, not by a link.
    pub unexplained: usize,
}

impl Survey {
    /// The healthy paths of a pair of leaves.
    pub fn healthy(&self, source_leaf: u32, target_leaf: u32) -> impl Iterator<Item = &ProbedPath> {
        let all = self.paths.get(&(source_leaf, target_leaf)).map_or(&[][..], Vec::as_slice);
        all.iter().filter(|one| !one.path.links().iter().any(|link| self.faulty.binary_search(link).is_ok()))
    }

    /// Number of probes sent.
    pub fn probes(&self) -> usize {
        self.paths.values().map(Vec::len).sum()
    }
}

/// Plans probes over what the switches' tables offer; each pair of leaves is worked out when asked for.
#[derive(Clone, Debug)]
pub struct Prober<'a> {
    routing: Routing<'a>,
    catalogue: Catalogue,
    scratch: Scratch,
    no_use: Vec<u64>,
    /// By row of a leaf: the port of a server that stands for it.
    servers: BTreeMap<u32, NicPort>,
    most_paths: usize,
}

impl<'a> Prober<'a> {
    /// Chooses a server for every leaf by lot, from the stream of `seed` named after the leaf's row. A pair of leaves
    /// gets at most `most_paths` probes; two tiers have as many paths as uplinks, three have very many.
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

    /// Rows of the leaves that have a server, ascending.
    pub fn leaves(&self) -> impl Iterator<Item = u32> + '_ {
        self.servers.keys().copied()
    }

    /// Probes every path from one leaf to another; none if the fabric does not join them.
    pub fn pair(&mut self, source_leaf: u32, target_leaf: u32, probe: &mut impl Probe) -> Vec<ProbedPath> {
        let (Some(&source), Some(&to)) = (self.servers.get(&source_leaf), self.servers.get(&target_leaf))
        else {
            return Vec::new();
        };
        let target = to.nic;
        let access = self.routing.forwarding.access(source.nic, source.port);
        let access = access.expect("servers are chosen by their access links").link;
        let Some(pair) = self.catalogue.pair(&self.routing, source_leaf, target) else {
            return Vec::new();
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
        let wanted = ways_to(dag, target_leaf).min(self.most_paths as u64) as usize;
        let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
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
                let answer = probe.probe(source, target, source_port);
                found.push(ProbedPath { source, target, source_port, path, answer });
            }
        }
        found
    }

    /// Probes all pairs of leaves and lays the losses to links.
    pub fn survey(&mut self, probe: &mut impl Probe) -> Survey {
        let leaves: Vec<u32> = self.leaves().collect();
        let mut survey = Survey::default();
        for &source in &leaves {
            for &target in leaves.iter().filter(|&&target| target != source) {
                let paths = self.pair(source, target, probe);
                if !paths.is_empty() {
                    survey.paths.insert((source, target), paths);
                }
            }
        }
        (survey.faulty, survey.unexplained) = blame(survey.paths.values().flatten());
        survey
    }
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

/// Number of ways that end at the leaf in row `leaf`, at most `u64::MAX`.
fn ways_to(dag: &PathDag, leaf: u32) -> u64 {
    let mut ways = vec![0u64; dag.nodes.len()];
    for (index, node) in dag.nodes.iter().enumerate().rev() {
        ways[index] = match node.delivers {
            true => u64::from(node.row == leaf),
            false => {
                let next = dag.edges[node.edges()].iter().map(|edge| ways[edge.next as usize]);
                next.fold(0, u64::saturating_add)
            }
        };
    }
    ways[0]
}

/// The links to which lost probes are laid, and how many are left without any: of the links that no reached probe
/// crossed, again and again the one that explains most of what is left, the lowest of several.
fn blame<'p>(probed: impl Iterator<Item = &'p ProbedPath> + Clone) -> (Vec<LinkId>, usize) {
    let of = |answer| probed.clone().filter(move |one| one.answer == answer);
    let sound: BTreeSet<LinkId> = of(Answer::Reached).flat_map(|one| one.path.links()).copied().collect();
    let suspects =
        |one: &'p ProbedPath| one.path.links().iter().copied().filter(|link| !sound.contains(link));
    let mut lost: Vec<Vec<LinkId>> = of(Answer::Lost).map(|one| suspects(one).collect()).collect();
    let all = lost.len();
    lost.retain(|suspects| !suspects.is_empty());
    let unexplained = all - lost.len();
    let mut faulty = Vec::new();
    while !lost.is_empty() {
        let mut explains: BTreeMap<LinkId, usize> = BTreeMap::new();
        for &link in lost.iter().flatten() {
            *explains.entry(link).or_default() += 1;
        }
        let worst = explains.iter().max_by_key(|&(link, count)| (count, std::cmp::Reverse(link)));
        let (&worst, _) = worst.expect("what is left has suspects");
        lost.retain(|suspects| !suspects.contains(&worst));
        faulty.push(worst);
    }
    faulty.sort_unstable();
    (faulty, unexplained)
}

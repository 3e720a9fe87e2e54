//! The order in which the edges of a bundle carry its pieces: what a transfer waits for.
//!
//! The flow engine moves a bundle at one pace; packets need to know which piece may leave when. Rings, trees and
//! reduction in the NVSwitch as NCCL runs them (its algorithms ring, tree, NVLS and NVLSTree): a ring hands on in
//! stages, all else is a pipeline.
//!
//! The order of edges tells the roles, as [`Bundle`] says.
use std::collections::BTreeMap;

use crate::chunks::Cut;
use crate::shape::{Bundle, Edge, Shape};

/// Which half of an edge a leg is: an edge through an NVSwitch is crossed twice, up with a GPU's share and down with
/// the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Half {
    /// The edge as it is.
    Whole,
    /// From the GPU into its NVSwitch.
    Up,
    /// From the NVSwitch to the GPU.
    Down,
}

/// One crossing of an edge, in equal stages. Its bytes are those of the edge: its amount times the bundle's volume for
/// each byte of the operation; through an NVSwitch so many up and so many down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leg {
    /// Edge, counted within the bundle.
    pub edge: u32,
    /// Which half of it.
    pub half: Half,
    /// Stages: each carries the leg's bytes over this number.
    pub stages: u32,
}

/// What a leg waits for, in each round: stage `s` may leave when stage `min(s - lag, stages - 1)` of `leg` has arrived; at once
/// where `s < lag`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The leg waited for; it ends at the host where the waiting one begins.
    pub leg: u32,
    /// By how many stages it is ahead.
    pub lag: i32,
}

/// The legs of a bundle and what each waits for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Course {
    /// Legs.
    pub legs: Vec<Leg>,
    /// CSR: leg `l` waits for `waits[start[l]..start[l + 1]]`.
    pub wait_start: Vec<u32>,
    /// What legs wait for.
    pub waits: Vec<Wait>,
    /// What bounds pieces, and how often all stages are gone through.
    pub cut: Cut,
}

impl Course {
    /// What a leg waits for.
    #[inline]
    pub fn waits_of(&self, leg: usize) -> &[Wait] {
        &self.waits[self.wait_start[leg] as usize..self.wait_start[leg + 1] as usize]
    }
}

/// The course of a bundle of a shape.
///
/// * Ring: every hop has the bundle's stages; a stage waits for the one before it on the hop before, so the first of
///   every hop is free. What a relay carries on is part of the same hop. A broadcast goes like an all-gather: all
///   hops at work from the start, with as many bytes each.
/// * Tree: one stage; towards the root an edge waits for all that ends where it begins, away from the root for the
///   edge that brought the result. The root turns round.
/// * Ring over hosts with reduction in the NVSwitch: hosts cut their share in as many chunks as there are hosts. GPUs
///   send chunks up in the order in which the ring wants them; a chunk goes down when the ring has brought its sum.
///   In rounds: a later one is summed in NVSwitches while an earlier one is among hosts.
/// * Parallel aggregated trees: an edge waits for all that earlier steps brought to where it begins, of each the same
///   share: NCCL goes through all steps with what its buffer holds, then with the next.
/// * All else is free, but for a Network edge that waits for its relays: sends from peer to peer, which a library cuts
///   into chunks of its own ([`Cut::Peers`]).
pub fn course(shape: &Shape, bundle: &Bundle) -> Course {
    let edges = shape.edges_of(bundle);
    let in_switch = edges.iter().filter(|edge| matches!(edge, Edge::InSwitch { .. })).count() as u32;
    let heads = |hosts: u32| in_switch / hosts.max(1);
    let (course, cut) = match (bundle.ring_hops, in_switch > 0) {
        (0, true) => {
            // A tree has two edges for each host but one.
            let hosts = (edges.len() as u32 - in_switch) / 2 + 1;
            (tree(edges), Cut::SwitchTree { heads: heads(hosts), hosts })
        }
        (0, false) if bundle.aggregated => (steps(edges, bundle.stages), Cut::Messages),
        (0, false) if bundle.stages > 1 => {
            let channels = (1.0 / bundle.volume).round() as u32;
            (tree(edges), Cut::Tree { channels, depth: bundle.stages / 2 })
        }
        (0, false) => (relays(edges), Cut::Peers),
        (hops, true) => (switch_ring(edges, hops), Cut::Switch { heads: heads(hops), hosts: hops }),
        (hops, false) => (ring(edges, bundle.stages, hops), Cut::Messages),
    };
    Course { cut, ..course }
}

/// A course in the making: waits in any order.
#[derive(Default)]
struct Builder {
    legs: Vec<Leg>,
    waits: Vec<(u32, Wait)>,
}

impl Builder {
    /// Adds a leg.
    fn leg(&mut self, edge: usize, half: Half, stages: u32) -> u32 {
        self.legs.push(Leg { edge: edge as u32, half, stages: stages.max(1) });
        self.legs.len() as u32 - 1
    }

    /// Makes `waiting` wait for each of `legs`.
    fn wait(&mut self, waiting: u32, legs: &[u32], lag: i32) {
        self.waits.extend(legs.iter().map(|&leg| (waiting, Wait { leg, lag })));
    }

    fn finish(mut self) -> Course {
        // Stable: the waits of a leg stay in the order in which they were added.
        self.waits.sort_by_key(|&(waiting, _)| waiting);
        let rows = 0..=self.legs.len() as u32;
        let start = rows.map(|leg| self.waits.partition_point(|&(waiting, _)| waiting < leg) as u32);
        Course {
            wait_start: start.collect(),
            waits: self.waits.iter().map(|&(_, wait)| wait).collect(),
            legs: self.legs,
            cut: Cut::default(),
        }
    }
}

/// The hosts where an edge begins and ends.
fn hosts(edge: &Edge) -> (u32, u32) {
    match *edge {
        Edge::Inside { host, .. } | Edge::InSwitch { host, .. } => (host, host),
        Edge::Network { source_host, target_host, .. } => (source_host, target_host),
    }
}

/// Whether `edge` leaves the host inside which `before` runs.
fn leaves_after(edge: &Edge, before: &Edge) -> bool {
    let ((source, target), inside) = (hosts(edge), hosts(before));
    source != target && inside == (source, source)
}

/// Edges in the order of the ring. More edges than hops: those that leave a host carry on what came over the edge
/// before, where that one stayed inside the host.
fn ring(edges: &[Edge], stages: u32, hops: u32) -> Course {
    let mut builder = Builder::default();
    let relayed = edges.len() > hops as usize;
    let mut relays = 0;
    for (row, edge) in edges.iter().enumerate() {
        let leg = builder.leg(row, Half::Whole, stages);
        let before = row.checked_sub(1).unwrap_or(edges.len() - 1);
        let relay = relayed && row > 0 && leaves_after(edge, &edges[before]);
        relays += u32::from(relay);
        // Once round the ring lags add up to its hops, so it never stands still.
        builder.wait(leg, &[before as u32], i32::from(!relay));
    }
    debug_assert_eq!(edges.len() as u32 - relays, hops, "every edge of a ring is a hop or carries one on");
    builder.finish()
}

/// What meets at a host of a tree.
#[derive(Default)]
struct Node {
    /// The host's own share arrives over these.
    own: Vec<u32>,
    /// Sums of children arrive over these.
    sums: Vec<u32>,
    /// The result arrives over this; none at the root.
    result: Option<u32>,
    /// These carry the sum towards the root.
    up: Vec<u32>,
    /// These hand the result on.
    down: Vec<u32>,
    /// The pair of chain edges farthest from the GPU that meets other hosts, so far.
    chain_end: Option<(u32, u32)>,
}

/// Pairs of edges, one towards the root and one back; edges in NVSwitches besides. Among the pairs of a host, those
/// of its chain, the nearest to the GPU that meets other hosts is first.
fn tree(edges: &[Edge]) -> Course {
    let mut builder = Builder::default();
    let mut nodes: BTreeMap<u32, Node> = BTreeMap::new();
    let mut pending = None;
    for (row, edge) in edges.iter().enumerate() {
        let (source, target) = hosts(edge);
        if matches!(edge, Edge::InSwitch { .. }) {
            let node = nodes.entry(source).or_default();
            node.own.push(builder.leg(row, Half::Up, 1));
            node.down.push(builder.leg(row, Half::Down, 1));
            continue;
        }
        let leg = builder.leg(row, Half::Whole, 1);
        let Some(up) = pending.take() else {
            pending = Some(leg);
            continue;
        };
        // The edge back: it begins at the parent.
        if source != target {
            let parent = nodes.entry(source).or_default();
            parent.sums.push(up);
            parent.down.push(leg);
            let child = nodes.entry(target).or_default();
            child.up.push(up);
            child.result = Some(leg);
            continue;
        }
        let node = nodes.entry(source).or_default();
        match node.chain_end.replace((up, leg)) {
            Some((nearer_up, nearer_down)) => {
                builder.wait(nearer_up, &[up], 0);
                builder.wait(leg, &[nearer_down], 0);
            }
            None => {
                node.own.push(up);
                node.down.push(leg);
            }
        }
    }
    for node in nodes.values() {
        let sum = [&node.own[..], &node.sums].concat();
        for &leg in &node.up {
            builder.wait(leg, &sum, 0);
        }
        for &leg in &node.down {
            match node.result {
                Some(result) => builder.wait(leg, &[result], 0),
                None => builder.wait(leg, &sum, 0),
            }
        }
    }
    builder.finish()
}

/// What meets at a host of a ring over hosts.
#[derive(Default)]
struct Station {
    up: Vec<u32>,
    down: Vec<u32>,
    arriving: Vec<u32>,
    leaving: Vec<u32>,
}

/// With `h` hosts, host `i` sends chunk `i - s` (mod `h`) in ring stage `s`, and sends it up in stage `s` too. Its
/// first complete chunk, `i + 1`, is there when ring stage `h - 2` has arrived and its own last chunk is up.
fn switch_ring(edges: &[Edge], hops: u32) -> Course {
    let mut builder = Builder::default();
    let mut stations: BTreeMap<u32, Station> = BTreeMap::new();
    for (row, edge) in edges.iter().enumerate() {
        let (source, target) = hosts(edge);
        if matches!(edge, Edge::InSwitch { .. }) {
            let station = stations.entry(source).or_default();
            station.up.push(builder.leg(row, Half::Up, hops));
            station.down.push(builder.leg(row, Half::Down, hops));
        } else {
            let leg = builder.leg(row, Half::Whole, 2 * (hops - 1));
            stations.entry(source).or_default().leaving.push(leg);
            stations.entry(target).or_default().arriving.push(leg);
        }
    }
    let chunks = hops as i32;
    for station in stations.values() {
        for &leg in &station.leaving {
            builder.wait(leg, &station.arriving, 1);
            builder.wait(leg, &station.up, 0);
        }
        for &leg in &station.down {
            builder.wait(leg, &station.arriving, 2 - chunks);
            // What arrives first lacks this host's own share, which is the last that goes up.
            builder.wait(leg, &station.up, 1 - chunks);
        }
    }
    builder.finish()
}

/// Edges of a step together, as many in each.
fn steps(edges: &[Edge], count: u32) -> Course {
    let mut builder = Builder::default();
    let mut arrived: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut first = 0;
    for step in edges.chunks((edges.len() / count.max(1) as usize).max(1)) {
        let legs = first..first + step.len() as u32;
        for edge in step {
            let leg = builder.leg(builder.legs.len(), Half::Whole, 1);
            builder.wait(leg, arrived.get(&hosts(edge).0).map_or(&[], Vec::as_slice), 0);
        }
        first = legs.end;
        for (leg, edge) in legs.zip(step) {
            arrived.entry(hosts(edge).1).or_default().push(leg);
        }
    }
    builder.finish()
}

/// One stage. An edge that leaves a host waits for the edges right before it that end at one GPU of this host.
fn relays(edges: &[Edge]) -> Course {
    let mut builder = Builder::default();
    let mut run: Vec<u32> = Vec::new();
    let mut relay = None;
    for (row, edge) in edges.iter().enumerate() {
        let leg = builder.leg(row, Half::Whole, 1);
        if let Edge::Inside { host, target_gpu, .. } = *edge {
            if relay.replace((host, target_gpu)) != Some((host, target_gpu)) {
                run.clear();
            }
            run.push(leg);
            continue;
        }
        if row > 0 && leaves_after(edge, &edges[row - 1]) {
            builder.wait(leg, &run, 0);
        }
        run.clear();
    }
    builder.finish()
}

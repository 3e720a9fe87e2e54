//! The search for one queue pair: the least used of all ways, then the lowest source port that takes it.
//!
//! The ways are a graph, too many to list where there are three tiers. Two passes over it from the far end give the
//! least use that the most used link must have, and the least sum of uses under that bound. Then source ports are
//! tried in order against the switches' hashes, each by a look-up and an exclusive or, until one walks such a way.
use railtwin_fabric::{LinkId, NONE};
use railtwin_routing::Fields;
use railtwin_routing::source_port::{FIRST_PORT, LAST_PORT};

use super::assignment::Path;
use super::dag::PathDag;
use super::flow::{Burden, Flow, Found, Landing};

/// Ports tried for the least sum before any way with the least most-used link is good enough.
const STRICT_PORTS: u16 = 256;

/// Memory that searches use again.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// By node: the least use that the most used link from there on must have.
    most: Vec<u64>,
    /// By node: the least sum from there on over links within the bound.
    sum: Vec<u64>,
    /// By edge of the first node: whether it begins a best way.
    is_tight: Vec<bool>,
    /// By edge of the first node, where that decides alone: the way's burden.
    burdens: Vec<Burden>,
    /// By node: hash at the first source port, where `stamp` is `epoch`.
    base: Vec<u32>,
    stamp: Vec<u32>,
    epoch: u32,
}

impl Scratch {
    /// Forgets hashes: call before the first search of each key.
    pub(super) fn new_key(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.stamp.fill(0);
            self.epoch = 1;
        }
    }

    fn fit(&mut self, dag: &PathDag) {
        let nodes = dag.nodes.len();
        if self.base.len() < nodes {
            self.most.resize(nodes, 0);
            self.sum.resize(nodes, 0);
            self.base.resize(nodes, 0);
            self.stamp.resize(nodes, 0);
        }
    }

    /// The least burden of all ways that land as asked; none if there is none.
    fn optimum(&mut self, flow: &Flow<'_, '_>, landing: Landing) -> Option<Burden> {
        let PathDag { nodes, edges, .. } = flow.dag;
        for (index, node) in nodes.iter().enumerate().rev() {
            let through = edges[node.edges()].iter().map(|edge| {
                let further = self.most[edge.next as usize];
                further.max(flow.cost[edge.link.index()])
            });
            self.most[index] = match node.delivers {
                true if flow.offers(node, landing) => 0,
                true => u64::MAX,
                false => through.min().unwrap_or(u64::MAX),
            };
        }
        let bound = self.most[0];
        if bound == u64::MAX {
            return None;
        }
        for (index, node) in nodes.iter().enumerate().rev() {
            let mut least = u64::MAX;
            for edge in &edges[node.edges()] {
                let (cost, further) = (flow.cost[edge.link.index()], self.sum[edge.next as usize]);
                if cost <= bound && further != u64::MAX {
                    least = least.min(cost + further);
                }
            }
            let delivered = if self.most[index] == 0 { 0 } else { u64::MAX };
            self.sum[index] = if node.delivers { delivered } else { least };
        }
        Some((bound, self.sum[0]))
    }

    /// The hash of a node at the first source port, for packets that came in by `arrival`.
    #[inline]
    fn base(&mut self, flow: &Flow<'_, '_>, node: usize, table: u32, arrival: LinkId) -> u32 {
        let spec = &flow.tables.get(table).0;
        if spec.fields.contains(Fields::INGRESS_PORT) {
            return spec.hash(&flow.key.with_ingress_port(flow.routing.arrival_port(arrival)));
        }
        if self.stamp[node] != self.epoch {
            self.stamp[node] = self.epoch;
            self.base[node] = spec.hash(&flow.key);
        }
        self.base[node]
    }

    /// The edge that `port` takes out of a node.
    #[inline]
    fn edge(&mut self, flow: &Flow<'_, '_>, index: usize, port: u16, arrival: LinkId) -> usize {
        let node = &flow.dag.nodes[index];
        if node.table == NONE {
            return node.first as usize;
        }
        let hash =
            self.base(flow, index, node.table, arrival) ^ flow.tables.get(node.table).1.difference(port);
        node.first as usize + node.members.bucket(hash)
    }

    /// Walks from the source leaf as `port` does. Gives up where `allows` says so of an edge and the burden up to
    /// and with it, or if the landing is another than asked for.
    #[inline]
    fn walk(
        &mut self,
        flow: &Flow<'_, '_>,
        port: u16,
        landing: Landing,
        allows: impl Fn(&Self, usize, usize, Burden) -> bool,
    ) -> Option<Found> {
        let PathDag { nodes, edges, .. } = flow.dag;
        let mut path = Path::of(&[flow.access]);
        let (mut index, mut burden, mut arrival) = (0, (0, 0), flow.access);
        while !nodes[index].delivers {
            if nodes[index].edges().is_empty() {
                return None;
            }
            let edge = self.edge(flow, index, port, arrival);
            arrival = edges[edge].link;
            let cost = flow.cost[arrival.index()];
            burden = (burden.0.max(cost), burden.1 + cost);
            if !allows(self, index, edge, burden) {
                return None;
            }
            path.push(arrival);
            index = edges[edge].next as usize;
        }
        let last = flow.deliver(&nodes[index], port, arrival)?;
        path.push(last);
        let landed = flow.landing(last);
        let found = Found { source_port: port, path, landed, burden, is_best: false };
        flow.fits(last, landing).then_some(found)
    }

    /// The least used way that lands as asked and that some source port takes; none if there is no such way.
    pub(super) fn best(&mut self, flow: &Flow<'_, '_>, landing: Landing) -> Option<Found> {
        self.fit(flow.dag);
        if !flow.dag.single.is_empty()
            && let Some(found) = self.best_single(flow, landing)
        {
            return Some(found);
        }
        let optimum = self.optimum(flow, landing)?;
        if let Some(found) = self.strict(flow, landing, optimum.0) {
            return Some(Found { is_best: true, ..found });
        }
        let mut best: Option<Found> = None;
        for port in FIRST_PORT..=LAST_PORT {
            let limit = best.map_or((u64::MAX, u64::MAX), |best| best.burden);
            let edges = &flow.dag.edges;
            let found = self.walk(flow, port, landing, |scratch, _, edge, (most, sum)| {
                let further = scratch.most[edges[edge].next as usize];
                (most.max(further), sum) < limit && further != u64::MAX
            });
            best = found.filter(|found| found.burden < limit).or(best);
            let is_enough = best.is_some_and(|best| {
                best.burden == optimum || best.burden.0 == optimum.0 && port >= FIRST_PORT + STRICT_PORTS
            });
            if is_enough {
                break;
            }
        }
        best.map(|best| Found { is_best: best.burden.0 == optimum.0, ..best })
    }

    /// As [`Self::best`] where the first switch alone decides, in one pass; none also if no port tried will do.
    fn best_single(&mut self, flow: &Flow<'_, '_>, landing: Landing) -> Option<Found> {
        let PathDag { nodes, edges, single } = flow.dag;
        let last = nodes.iter().rfind(|node| node.delivers)?;
        if !flow.offers(last, landing) {
            return None;
        }
        let mut burdens = std::mem::take(&mut self.burdens);
        burdens.clear();
        let mut best = (u64::MAX, u64::MAX);
        for (edge, down) in edges[nodes[0].edges()].iter().zip(single) {
            let (up, down) = (flow.cost[edge.link.index()], flow.cost[down.index()]);
            let burden = (up.max(down), up + down);
            best = best.min(burden);
            burdens.push(burden);
        }
        let mut found = None;
        for port in FIRST_PORT..FIRST_PORT + STRICT_PORTS {
            let member = self.edge(flow, 0, port, flow.access);
            if burdens[member] != best {
                continue;
            }
            let (up, down) = (edges[member].link, single[member]);
            let Some(delivered) = flow.deliver(last, port, down) else { break };
            if flow.fits(delivered, landing) {
                let path = Path::of(&[flow.access, up, down, delivered]);
                let landed = flow.landing(delivered);
                found = Some(Found { source_port: port, path, landed, burden: best, is_best: true });
                break;
            }
        }
        self.burdens = burdens;
        found
    }

    /// The first of [`STRICT_PORTS`] ports that takes a way with the least burden, the most used link being `bound`.
    fn strict(&mut self, flow: &Flow<'_, '_>, landing: Landing, bound: u64) -> Option<Found> {
        let PathDag { nodes, edges, .. } = flow.dag;
        let first = nodes[0];
        let is_tight = |scratch: &Self, node: usize, edge: usize| {
            let (cost, further) =
                (flow.cost[edges[edge].link.index()], scratch.sum[edges[edge].next as usize]);
            cost <= bound && further != u64::MAX && cost + further == scratch.sum[node]
        };
        let mut tight = std::mem::take(&mut self.is_tight);
        tight.clear();
        tight.extend(first.edges().map(|edge| is_tight(self, 0, edge)));
        let mut found = None;
        for port in FIRST_PORT..FIRST_PORT + STRICT_PORTS {
            if first.table != NONE && !tight[self.edge(flow, 0, port, flow.access) - first.first as usize] {
                continue;
            }
            found = self.walk(flow, port, landing, |scratch, node, edge, _| is_tight(scratch, node, edge));
            if found.is_some() {
                break;
            }
        }
        self.is_tight = tight;
        found
    }

    /// Where `port` leads.
    pub(super) fn follow(&mut self, flow: &Flow<'_, '_>, port: u16) -> Option<Found> {
        self.fit(flow.dag);
        self.walk(flow, port, Landing::Anywhere, |_, _, _, _| true)
    }

    /// The lowest source port that takes `path`; none if the ways do not offer it or no port does.
    pub(super) fn port_for(&mut self, flow: &Flow<'_, '_>, path: &Path) -> Option<u16> {
        self.fit(flow.dag);
        let PathDag { nodes, edges, .. } = flow.dag;
        let mut links = path.links().iter();
        let mut arrival = links.next().filter(|&&link| link == flow.access).copied()?;
        let mut index = 0;
        let mut wanted = Vec::with_capacity(path.links().len());
        while !nodes[index].delivers {
            let link = links.next()?;
            let edge = nodes[index].edges().find(|&edge| edges[edge].link == *link)?;
            wanted.push((index, edge, arrival));
            (arrival, index) = (*link, edges[edge].next as usize);
        }
        let last = *links.next()?;
        (FIRST_PORT..=LAST_PORT).find(|&port| {
            wanted.iter().all(|&(node, edge, arrival)| self.edge(flow, node, port, arrival) == edge)
                && flow.deliver(&nodes[index], port, arrival) == Some(last)
        })
    }
}

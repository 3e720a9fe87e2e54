//! The search for one queue pair: the least used of all ways, then the lowest source port that takes it.
//!
//! The ways are a graph, too many to list where there are three tiers. Two passes over it from the far end give the
//! least use that the most used link must have, and the least sum of uses under that bound. Then source ports are
//! tried in order against the switches' hashes, each by a look-up and an exclusive or, until one walks such a way.
use railtwin_fabric::{DeviceId, LinkId, NONE};
use railtwin_routing::source_port::{FIRST_PORT, LAST_PORT};
use railtwin_routing::{Fields, HashKey, NextHop, Routing};

use super::assignment::Path;
use super::dag::{Node, PathDag, Tables};

/// Ports tried for the least sum before any way with the least most-used link is good enough.
const STRICT_PORTS: u16 = 1024;

/// What a known fault adds to a link's use: more than all weights together (2^16 each, 2^32 queue pairs).
pub(super) const FAULTY: u64 = 1 << 48;

/// Most used link of a way, then the sum of uses; access links count for neither.
pub(super) type Burden = (u64, u64);

/// One queue pair at the first leaf.
#[derive(Clone, Copy)]
pub(super) struct Flow<'r, 'a> {
    pub(super) routing: &'r Routing<'a>,
    pub(super) tables: &'r Tables,
    pub(super) dag: &'r PathDag,
    /// Use of each link.
    pub(super) cost: &'r [u64],
    /// All but the source port and the ingress.
    pub(super) key: HashKey,
    /// The link into the first leaf.
    pub(super) access: LinkId,
    pub(super) target: DeviceId,
}

/// Which last links will do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Landing {
    /// A sound one into this port of the target.
    OnPort(u32),
    /// A sound one.
    OnSound,
    /// Any.
    Anywhere,
}

/// A source port and where it leads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) source_port: u16,
    pub(super) path: Path,
    pub(super) landed: u32,
    pub(super) burden: Burden,
    /// Whether no way at all has a less used most-used link.
    pub(super) is_best: bool,
}

/// Memory that searches use again.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// By node: the least use that the most used link from there on must have.
    most: Vec<u64>,
    /// By node: the least sum from there on over links within the bound.
    sum: Vec<u64>,
    /// By edge of the first node: whether it begins a best way.
    is_tight: Vec<bool>,
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
        let PathDag { nodes, edges } = flow.dag;
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
        let PathDag { nodes, edges } = flow.dag;
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

    /// The first of [`STRICT_PORTS`] ports that takes a way with the least burden, the most used link being `bound`.
    fn strict(&mut self, flow: &Flow<'_, '_>, landing: Landing, bound: u64) -> Option<Found> {
        let PathDag { nodes, edges } = flow.dag;
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
        let PathDag { nodes, edges } = flow.dag;
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

impl Flow<'_, '_> {
    /// Whether a leaf has a link to the target that ends on port `landing`.
    fn offers(&self, node: &Node, landing: Landing) -> bool {
        let links = self.routing.forwarding.next_links(node.row, self.target);
        links.iter().any(|&link| self.fits(link, landing))
    }

    fn fits(&self, last: LinkId, landing: Landing) -> bool {
        match landing {
            Landing::OnPort(port) => self.cost[last.index()] < FAULTY && self.landing(last) == port,
            Landing::OnSound => self.cost[last.index()] < FAULTY,
            Landing::Anywhere => true,
        }
    }

    /// The link by which a leaf hands a packet to the target.
    fn deliver(&self, node: &Node, port: u16, arrival: LinkId) -> Option<LinkId> {
        Some(match self.routing.next_hop(node.row, arrival, self.target)? {
            NextHop::Only(link) => link,
            NextHop::ByHash(spec, group) => {
                let key = self.key.with_ingress_port(self.routing.arrival_port(arrival));
                group[spec.bucket(&key.with_source_port(port), group.len())]
            }
        })
    }

    /// The port of the target that a last link enters.
    fn landing(&self, last: LinkId) -> u32 {
        let mut accesses = self.routing.forwarding.accesses(self.target).iter();
        let access = accesses.find(|access| access.link == last.reverse());
        access.expect("the last link is one of the target's access links").port
    }
}

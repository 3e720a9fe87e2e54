//! The search for one queue pair: the least used of all ways, then the lowest source port that takes it.
//!
//! The ways are a graph, too many to list where there are three tiers. [`Bounds`] gives the least use that the most
//! used link must have, and the least sum of uses under that bound. Then source ports are tried in order against the
//! switches' hashes, each by a look-up and an exclusive or, until one walks such a way.
use railtwin_fabric::{DeviceId, LinkId, NONE};
use railtwin_routing::PortSpace;
use railtwin_routing::source_port::FIRST_PORT;

use super::assignment::{MAX_PATH_LINKS, Path};
use super::bounds::Bounds;
use super::dag::{Edge, PathDag};
use super::flow::{Burden, Flow, Found, Landing};
use super::hash_table::STRICT_PORTS;
use super::lanes::Lanes;
use super::shortlist::Shortlist;
use super::sieve::Batch;
use super::tries::Admitted;

/// Memory that searches use again.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// By pair of leaves: what is known of its ways.
    bounds: Vec<Bounds>,
    /// Counts the times when what is known of ways ceased to hold.
    generation: u64,
    /// By edge of the first node, where that decides alone: the way's burden.
    burdens: Vec<Burden>,
    /// Plain hash of the key at the first source port, once somebody asked.
    plain: Option<u32>,
    /// By number of a hash: the key for which it was found, and its value there.
    bases: Vec<(u32, u32)>,
    /// Number of the key.
    epoch: u32,
    /// Edges of the first node that are worth a try.
    pub(super) admitted: Admitted,
    /// Ports on their way.
    pub(super) batch: Option<Batch>,
    /// The same where whole tiers choose alike.
    pub(super) lanes: Lanes,
    /// What is known of the first ports, where whole tiers choose alike.
    pub(super) shortlist: Shortlist,
    /// Where the search before this one ended.
    ended: Option<Ended>,
}

/// What tells that two searches are for queue pairs that differ in nothing, and that uses have only grown between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Question {
    epoch: u32,
    generation: u64,
    pair: u32,
    access: LinkId,
    target: DeviceId,
    landing: Landing,
    limit: u64,
}

/// Where a search ended.
#[derive(Clone, Copy, Debug)]
struct Ended {
    question: Question,
    stage: Stage,
}

/// How far a search came: what it passed by is not better for the next one either.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    /// It found this port among the first, with the least sum of all ways.
    Within {
        /// The port.
        port: u16,
        /// The sum.
        sum: u64,
    },
    /// None of the first ports has the least sum; what is known of them is in [`Scratch::shortlist`].
    Listed,
    /// None of the first ports would do; this is the first that did.
    Later(u16),
    /// No port at all would do.
    Reached,
}

impl Scratch {
    /// Where the last search ended if it was for the like.
    pub(super) fn resumes(&self, flow: &Flow<'_, '_>, landing: Landing, limit: u64) -> Option<Stage> {
        let question = self.question(flow, landing, limit);
        self.ended.filter(|ended| ended.question == question).map(|ended| ended.stage)
    }

    /// The next search begins anew.
    pub(super) fn forget_end(&mut self) {
        self.ended = None;
    }

    /// Takes down where a search ended.
    pub(super) fn ends(&mut self, flow: &Flow<'_, '_>, landing: Landing, limit: u64, stage: Stage) {
        self.ended = Some(Ended { question: self.question(flow, landing, limit), stage });
    }

    fn question(&self, flow: &Flow<'_, '_>, landing: Landing, limit: u64) -> Question {
        let Flow { pair, access, target, .. } = *flow;
        let (epoch, generation) = (self.epoch, self.generation);
        Question { epoch, generation, pair, access, target, landing, limit }
    }

    /// Forgets hashes: call before the first search of each key.
    pub(super) fn new_key(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.ended = None;
            self.lanes.forget();
            self.bases.fill((0, 0));
            self.epoch = 1;
        }
        self.plain = None;
    }

    /// Forgets what is known of ways: call when the use of a link falls, and when tables change.
    pub(super) fn forget_bounds(&mut self) {
        self.generation += 1;
    }

    /// What tells one key from the next.
    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// What tells whether uses have only grown, and ways are the same.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Plain hash of the key at the first source port; the first switch has a choice.
    pub(super) fn plain(&mut self, flow: &Flow<'_, '_>) -> u32 {
        let of = flow.tables.get(flow.dag.nodes[0].table);
        *self.plain.get_or_insert_with(|| of.spec.plain(&flow.key))
    }

    fn fit(&mut self, flow: &Flow<'_, '_>) {
        if self.bases.len() < flow.tables.len() {
            self.bases.resize(flow.tables.len(), (0, 0));
        }
        if self.bounds.len() <= flow.pair as usize {
            self.bounds.resize(flow.pair as usize + 1, Bounds::default());
        }
    }

    /// The hash of the first node at the first source port; none if it has no choice.
    pub(super) fn first_hash(&mut self, flow: &Flow<'_, '_>) -> Option<u32> {
        let table = flow.dag.nodes[0].table;
        (table != NONE).then(|| self.base(flow, table) ^ flow.twist)
    }

    /// A hash at the first source port, but for what the port of arrival adds.
    #[inline]
    pub(super) fn base(&mut self, flow: &Flow<'_, '_>, table: u32) -> u32 {
        let (epoch, base) = self.bases[table as usize];
        if epoch == self.epoch {
            return base;
        }
        let of = flow.tables.get(table);
        let plain = *self.plain.get_or_insert_with(|| of.spec.plain(&flow.key));
        let base = of.seed.hash(plain);
        self.bases[table as usize] = (self.epoch, base);
        base
    }

    /// The edge that `port` takes out of a node. `twist` is that of the link by which it came.
    #[inline]
    fn edge(&mut self, flow: &Flow<'_, '_>, index: usize, port: u16, twist: u32) -> usize {
        let node = &flow.dag.nodes[index];
        if node.table == NONE {
            return node.first as usize;
        }
        let hash = self.base(flow, node.table) ^ twist ^ flow.tables.get(node.table).ports.difference(port);
        node.first as usize + node.members.bucket(hash)
    }

    /// Walks from the source leaf as `port` does. Gives up where `allows` says so of an edge and the burden up to
    /// and with it, or if the landing is another than asked for.
    #[inline]
    pub(super) fn walk(
        &mut self,
        flow: &Flow<'_, '_>,
        port: u16,
        landing: Landing,
        mut allows: impl FnMut(Edge, Burden) -> bool,
    ) -> Option<Found> {
        let PathDag { nodes, edges, .. } = flow.dag;
        let (mut taken, mut steps) = ([flow.access; MAX_PATH_LINKS], 1);
        let (mut index, mut burden, mut arrival, mut twist) = (0, (0, 0), flow.access, flow.twist);
        while !nodes[index].delivers {
            if nodes[index].edges().is_empty() {
                return None;
            }
            let edge = edges[self.edge(flow, index, port, twist)];
            (arrival, twist) = (edge.link, edge.twist);
            let cost = flow.cost[arrival.index()];
            burden = (burden.0.max(cost), burden.1 + cost);
            if !allows(edge, burden) {
                return None;
            }
            taken[steps] = arrival;
            steps += 1;
            index = edge.next as usize;
        }
        let last = flow.deliver(&nodes[index], port, arrival).filter(|&last| flow.fits(last, landing))?;
        taken[steps] = last;
        let (path, landed) = (Path::of(&taken[..=steps]), flow.landing(last));
        Some(Found { source_port: port, path, landed, burden, is_best: false })
    }

    /// The least used way that lands as asked and that some source port takes; none if there is no such way.
    pub(super) fn best(&mut self, flow: &Flow<'_, '_>, landing: Landing) -> Option<Found> {
        self.fit(flow);
        if !flow.dag.single.is_empty()
            && let Some(found) = self.best_single(flow, landing)
        {
            return Some(found);
        }
        let mut bounds = std::mem::take(&mut self.bounds[flow.pair as usize]);
        let found = bounds.least_most(flow, landing, self.generation).and_then(|limit| {
            let within = self
                .within(flow, landing, limit, &mut bounds)
                .or_else(|| self.later(flow, landing, limit, &mut bounds));
            let within = within.map(|found| Found { is_best: true, ..found });
            within.or_else(|| self.reached(flow, landing, limit, &bounds))
        });
        self.bounds[flow.pair as usize] = bounds;
        found
    }

    /// As [`Self::best`] where the first switch alone decides, in one pass; none also if no port tried will do.
    fn best_single(&mut self, flow: &Flow<'_, '_>, landing: Landing) -> Option<Found> {
        let PathDag { nodes, edges, single, .. } = flow.dag;
        let last = flow.dag.delivering().next()?;
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
            let member = self.edge(flow, 0, port, flow.twist);
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

    /// Where `port` leads.
    pub(super) fn follow(&mut self, flow: &Flow<'_, '_>, port: u16) -> Option<Found> {
        self.fit(flow);
        self.walk(flow, port, Landing::Anywhere, |_, _| true)
    }

    /// The lowest source port that takes `path`; none if the ways do not offer it or no port does. Choices among a
    /// power of two leave few ports to try the others on.
    pub(super) fn port_for(&mut self, flow: &Flow<'_, '_>, path: &Path) -> Option<u16> {
        self.fit(flow);
        let PathDag { nodes, edges, .. } = flow.dag;
        let mut links = path.links().iter();
        let mut arrival = links.next().filter(|&&link| link == flow.access).copied()?;
        let (mut index, mut twist) = (0, flow.twist);
        let (mut linear, mut others) = (Vec::new(), Vec::new());
        while !nodes[index].delivers {
            let (link, node) = (links.next()?, &nodes[index]);
            let edge = node.edges().find(|&edge| edges[edge].link == *link)?;
            if node.table != NONE {
                let (base, table) = (self.base(flow, node.table) ^ twist, &flow.tables.get(node.table).ports);
                let member = edge - node.first as usize;
                match node.members.low_bits() {
                    Some(bits) => linear.push((table, base ^ member as u32, bits)),
                    None => others.push((table, base, node.members, member)),
                }
            }
            (arrival, twist, index) = (*link, edges[edge].twist, edges[edge].next as usize);
        }
        let last = *links.next()?;
        let mut ports = PortSpace::of(linear)?.ports();
        ports.find(|&port| {
            let mut taken = others.iter();
            taken.all(|(table, base, members, member)| {
                members.bucket(base ^ table.difference(port)) == *member
            }) && flow.deliver(&nodes[index], port, arrival) == Some(last)
        })
    }
}

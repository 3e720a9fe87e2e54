//! Ways whose switches choose among as many tier by tier: two or three tiers without faults.
//!
//! There what a source port chooses at all switches is known without the hashes of each: [`Fields`] hold the choices of
//! a tier's switches side by side, whether they share a seed or not. Ports are looked at in blocks of 64, all one
//! switch further before any goes on, and most are dropped at the second switch by what is kept of the link that they
//! would take there ([`Bounds::through`]), before anything else of it is read.
use railtwin_fabric::NONE;
use railtwin_routing::source_port::{FIRST_PORT, PORT_COUNT};

use super::assignment::{MAX_PATH_LINKS, Path};
use super::bounds::{Bounds, OVER};
use super::dag::{Members, PathDag, Tables};
use super::fields::{self, Place};
use super::flow::{Burden, Flow, Found, Landing};
use super::search::Scratch;

/// Ports that go on together.
const BLOCK: usize = 64;
/// Words of all tiers of a graph at most.
const MOST_WORDS: usize = 32;
/// Uses below this add up to less than [`OVER`] on any way.
pub(super) const SMALL: u64 = 1 << 29;

/// How the switches of a tier choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Tier {
    /// Number of its fields.
    kind: usize,
    /// Number of its first word among those of the graph.
    word: usize,
    members: Members,
    /// The bits that choose, of a power of two; else all.
    mask: u32,
}

impl Tier {
    /// What a switch chooses whose field begins at the low end of `word`.
    #[inline(always)]
    fn choice(self, word: u64) -> u32 {
        let hash = word as u32;
        if self.mask == u32::MAX { self.members.bucket(hash) as u32 } else { hash & self.mask }
    }
}

/// How the tiers of a graph choose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Layers {
    tiers: Vec<Tier>,
    /// Words of all tiers.
    words: usize,
    /// By link of the ways: the field of the switch that it enters.
    places: Vec<Place>,
}

impl Layers {
    /// Of a graph; none where a switch chooses among another number than the others of its tier, or by a port of
    /// arrival, or where more fields are needed than are packed, or where the ports over a member of the first group are
    /// no column: those are looked up without a test whether they lead there.
    pub(super) fn of(dag: &PathDag, tables: &mut Tables) -> Option<Self> {
        // Before anything is packed, as what is packed stays.
        if !fields::has_column(dag.nodes.first()?.members) {
            return None;
        }
        let (mut tiers, mut words) = (Vec::new(), 0);
        let mut places = vec![Place::default(); dag.nodes.len()];
        let mut nodes = vec![0_u32];
        while !nodes.iter().any(|&node| dag.nodes[node as usize].delivers) {
            let members = dag.nodes[*nodes.first()? as usize].members;
            let (mut next, mut hashes) = (Vec::new(), Vec::new());
            for &node in &nodes {
                let of = &dag.nodes[node as usize];
                if of.members != members || (of.table == NONE) != (members.low_bits() == Some(0)) {
                    return None;
                }
                if of.table != NONE && !hashes.contains(&of.table) {
                    hashes.push(of.table);
                }
                for edge in &dag.edges[of.edges()] {
                    if edge.twist != 0 {
                        return None;
                    }
                    next.push(edge.next);
                }
            }
            let bits = fields::width(members);
            let kind = tables.fields_of(hashes, bits)?;
            let fields = tables.fields(kind);
            for &node in nodes.iter().filter(|_| bits > 0) {
                places[node as usize] = fields.place(dag.nodes[node as usize].table);
            }
            let mask = (u64::MAX >> (63 - bits) >> 1) as u32;
            tiers.push(Tier { kind, word: words, members, mask });
            words += fields.len();
            next.sort_unstable();
            next.dedup();
            nodes = next;
        }
        let all_deliver = nodes.iter().all(|&node| dag.nodes[node as usize].delivers);
        if !all_deliver || tiers.len() < 2 || words > MOST_WORDS {
            return None;
        }
        let places = dag.edges.iter().map(|edge| places[edge.next as usize]).collect();
        Some(Self { tiers, words, places })
    }
}

/// A port on its way.
#[derive(Clone, Copy, Default, Debug)]
struct Lane {
    /// Its number from the first on.
    port: u32,
    /// The link that it takes next.
    edge: u32,
    /// The sum of uses that is left for this link and those behind it.
    left: u32,
}

/// A member of the first switch's group, as ports see it.
#[derive(Clone, Copy, Default, Debug)]
struct Row {
    /// The first link behind it.
    first: u32,
    /// The sum that is left there.
    left: u32,
    /// The field of the switch behind it.
    place: Place,
}

/// Memory of one search.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    lanes: Box<[Lane; BLOCK]>,
    rows: Vec<Row>,
    /// What the packet has in each word at the first source port, and of which packet and ways that is.
    bases: [u64; MOST_WORDS],
    of: Option<(u32, u64, u32, u32)>,
    /// What is known of ways under a higher limit.
    wider: Bounds,
}

impl Default for Lanes {
    fn default() -> Self {
        let lanes = Box::new([Lane::default(); BLOCK]);
        Self { lanes, rows: Vec::new(), bases: [0; MOST_WORDS], of: None, wider: Bounds::default() }
    }
}

impl Lanes {
    /// Lets ports pass over a member of the first switch's group, with what is left behind it.
    #[inline]
    pub(super) fn open(&mut self, dag: &PathDag, layers: &Layers, member: u32, left: u64) {
        if self.rows.len() <= member as usize {
            self.rows.resize(dag.nodes[0].edges().len(), Row::default());
        }
        let left = left.min(u64::from(OVER - 1)) as u32;
        let place = layers.places[member as usize];
        self.rows[member as usize] = Row { first: dag.edges[member as usize].first, left, place };
    }

    /// Forgets the words of the packet.
    pub(super) fn forget(&mut self) {
        self.of = None;
    }
}

/// Ports that were not looked at yet.
#[derive(Clone, Copy, Debug)]
struct Left {
    /// Those of a block of 64, the lowest bit first; the blocks behind it up to that of `end` are whole.
    block: usize,
    ports: u64,
    begin: usize,
    end: usize,
}

impl Left {
    /// Those of the block at hand that are in the range.
    #[inline]
    fn within(&self, mut ports: u64) -> u64 {
        if self.block == self.begin / BLOCK {
            ports &= u64::MAX << (self.begin % BLOCK);
        }
        if self.block == self.end / BLOCK {
            ports &= u64::MAX >> (BLOCK - 1 - self.end % BLOCK);
        }
        ports
    }
}

/// What a search by lanes goes by.
#[derive(Clone, Copy)]
struct Sought {
    limit: u64,
    /// Sums of ways are no more than this.
    sum: u32,
    /// Members of the last choice over which a port may land; none where that is not one thing or bars nobody.
    may_land: Option<u64>,
}

impl Scratch {
    /// Looks up what the packet has in all words.
    pub(super) fn know_words(&mut self, flow: &Flow<'_, '_>, layers: &Layers) {
        let of = (self.epoch(), self.generation(), flow.pair, flow.twist);
        if self.lanes.of == Some(of) {
            return;
        }
        let plain = self.plain(flow);
        for tier in &layers.tiers {
            let bases = flow.tables.fields(tier.kind).bases(plain);
            self.lanes.bases[tier.word..].iter_mut().zip(bases).for_each(|(word, base)| *word = base);
        }
        self.lanes.bases[0] ^= u64::from(flow.twist & layers.tiers[0].mask);
        self.lanes.of = Some(of);
    }

    fn sought(flow: &Flow<'_, '_>, layers: &Layers, (limit, sum): Burden, landing_members: u64) -> Sought {
        let sum = sum.min(u64::from(OVER)) as u32;
        let last = layers.tiers[layers.tiers.len() - 1];
        // A last choice is one of at most 64.
        let all = u64::MAX >> (63 - (last.mask & 63));
        let may_land = flow.dag.last_choice.as_ref().map(|_| landing_members & all);
        Sought { limit, sum, may_land: may_land.filter(|&members| members != all) }
    }

    /// Of the ports from `from` on, up to the end of a block or to `until`, that lead over `members` the lowest that has
    /// a sum of no more than `sum` over links that are used no more than `limit`; what is left for each member is that
    /// of [`Lanes::open`].
    pub(super) fn first_within(
        &mut self,
        (flow, layers, landing): (&Flow<'_, '_>, &Layers, Landing),
        (limit, sum): Burden,
        (from, until): (u16, u16),
        members: &[u32],
        bounds: &mut Bounds,
    ) -> Option<Found> {
        self.know_words(flow, layers);
        let sought = Self::sought(flow, layers, (limit, sum), bounds.landing_members);
        let (begin, end) = (usize::from(from - FIRST_PORT), usize::from(until - FIRST_PORT));
        let mut left = Left { block: begin / BLOCK, ports: 0, begin, end };
        left.ports = left.within(self.ports_of(flow, layers, left.block, members, sought.may_land));
        // Where many may do the first few often do.
        for size in [8, 32].into_iter().chain(std::iter::repeat(BLOCK)) {
            let count = self.start(flow, layers, (&mut left, size), members, sought.may_land, bounds);
            let is_last = left.ports == 0;
            let count = self.go_on(flow, layers, count, sought.limit, bounds);
            let ports = (0..count).map(|at| self.lanes.lanes[at % BLOCK].port);
            let found = ports.into_iter().find_map(|port| self.trace(flow, layers, port, landing));
            if is_last || found.is_some() {
                return found;
            }
        }
        None
    }

    /// Lists the ports from the first to `until` that lead over `members` and then over links that are used no more
    /// than `limit`, with the sums of their ways; what is left for each member is [`Lanes::open`]'s most.
    pub(super) fn list(
        &mut self,
        (flow, layers): (&Flow<'_, '_>, &Layers),
        limit: u64,
        until: u16,
        members: &[u32],
        bounds: &mut Bounds,
    ) {
        self.know_words(flow, layers);
        self.shortlist.clear();
        let may_land = Self::sought(flow, layers, (limit, u64::MAX), bounds.landing_members).may_land;
        let mut left = Left { block: 0, ports: 0, begin: 0, end: usize::from(until - FIRST_PORT) };
        left.ports = left.within(self.ports_of(flow, layers, 0, members, may_land));
        let mut is_last = false;
        while !is_last {
            let count = self.start(flow, layers, (&mut left, BLOCK), members, may_land, bounds);
            is_last = left.ports == 0;
            let count = self.go_on(flow, layers, count, limit, bounds);
            for lane in &self.lanes.lanes[..count] {
                self.shortlist.push(lane.port, OVER - 1 - lane.left);
            }
        }
    }

    /// The ports of a block that lead over `members` and may land.
    #[inline]
    fn ports_of(
        &self,
        flow: &Flow<'_, '_>,
        layers: &Layers,
        block: usize,
        members: &[u32],
        may_land: Option<u64>,
    ) -> u64 {
        let (first, last) = (layers.tiers[0], layers.tiers[layers.tiers.len() - 1]);
        let fields = |tier: Tier| flow.tables.fields(tier.kind);
        let ports = fields(first).ports(block, self.lanes.bases[0], members.iter().copied());
        match may_land {
            Some(members) if ports != 0 => {
                ports & fields(last).ports(block, self.lanes.bases[last.word], bits_of(members))
            }
            _ => ports,
        }
    }

    /// Takes ports over the first switch, in order, until so many go on or none is left. Returns how many do.
    #[inline(always)]
    fn start(
        &mut self,
        flow: &Flow<'_, '_>,
        layers: &Layers,
        (of, size): (&mut Left, usize),
        members: &[u32],
        may_land: Option<u64>,
        bounds: &Bounds,
    ) -> usize {
        let (first, second) = (layers.tiers[0], layers.tiers[1]);
        let (of_first, of_second) = (flow.tables.fields(first.kind), flow.tables.fields(second.kind));
        let through = bounds.through();
        let mut count = 0;
        loop {
            let Lanes { lanes, rows, bases, .. } = &mut self.lanes;
            let (of_first, of_second) = (of_first.words(&bases[..]), of_second.words(&bases[second.word..]));
            while of.ports != 0 && count < size {
                let port = BLOCK * of.block + of.ports.trailing_zeros() as usize;
                of.ports &= of.ports - 1;
                let member = first.choice(of_first.field(Place::default(), port));
                let Row { first: begin, left, place } = rows[member as usize];
                let edge = begin + second.choice(of_second.field(place, port));
                lanes[count % BLOCK] = Lane { port: port as u32, edge, left };
                count += usize::from(through[edge as usize] <= left);
            }
            while of.ports == 0 && of.block < of.end / BLOCK {
                of.block += 1;
                of.ports = of.within(self.ports_of(flow, layers, of.block, members, may_land));
            }
            if of.ports == 0 || count == size {
                return count;
            }
        }
    }

    /// Takes lanes from the second switch on to the last, all one switch further before any goes on, and returns how
    /// many came through.
    #[inline(always)]
    fn go_on(
        &mut self,
        flow: &Flow<'_, '_>,
        layers: &Layers,
        mut count: usize,
        limit: u64,
        bounds: &mut Bounds,
    ) -> usize {
        let (edges, cost) = (&flow.dag.edges[..], flow.cost);
        let Lanes { lanes, bases, .. } = &mut self.lanes;
        for at in 1..layers.tiers.len() {
            if count == 0 {
                break;
            }
            let tier = layers.tiers.get(at + 1);
            let words = tier.map(|tier| flow.tables.fields(tier.kind).words(&bases[tier.word..]));
            let came = std::mem::take(&mut count);
            for at in 0..came {
                let Lane { port, edge, left } = lanes[at % BLOCK];
                let taken = &edges[edge as usize];
                let use_of = cost[taken.link.index()];
                let mut fits = bounds.find_through(edge as usize, use_of, taken.next, limit) <= left;
                let (left_next, mut edge_next) = (left.wrapping_sub(use_of as u32), 0);
                if let (Some(tier), Some(words)) = (tier, &words) {
                    let field = words.field(layers.places[edge as usize], port as usize);
                    edge_next = taken.first + tier.choice(field);
                    fits &= bounds.through()[edge_next as usize] <= left_next;
                }
                lanes[count % BLOCK] = Lane { port, edge: edge_next, left: left_next };
                count += usize::from(fits);
            }
        }
        count
    }

    /// The least use that the most used link of any port's way has, given that none has one of no more than `limit`.
    pub(super) fn least_most(
        &mut self,
        (flow, layers, landing): (&Flow<'_, '_>, &Layers, Landing),
        limit: u64,
        bounds: &Bounds,
    ) -> Option<u64> {
        self.know_words(flow, layers);
        let may_land = Self::sought(flow, layers, (0, 0), bounds.landing_members).may_land;
        let (edges, cost) = (&flow.dag.edges[..], flow.cost);
        let uses = edges.iter().map(|edge| cost[edge.link.index()]);
        let floor = uses.filter(|&of| of > limit).min()?;
        let beats = |most: u64, next: u32, best: u64| {
            let further = bounds.most(next);
            (further != u64::MAX) & (most.max(further) < best)
        };
        let (mut best, mut is_found) = (u64::MAX, false);
        let mut members: Vec<u32> = (0..flow.dag.nodes[0].members.count()).collect();
        let mut lanes = [(0, (0, Place::default()), 0); BLOCK];
        for block in 0..PORT_COUNT / BLOCK {
            let mut ports = self.ports_of(flow, layers, block, &members, may_land);
            let mut count = 0;
            while ports != 0 {
                let port = BLOCK * block + ports.trailing_zeros() as usize;
                ports &= ports - 1;
                lanes[count % BLOCK] = (port, (0, Place::default()), 0);
                count += 1;
            }
            for tier in &layers.tiers {
                let words = flow.tables.fields(tier.kind).words(&self.lanes.bases[tier.word..]);
                let came = std::mem::take(&mut count);
                for at in 0..came {
                    let (port, (first, place), most) = lanes[at % BLOCK];
                    let at = first + tier.choice(words.field(place, port));
                    let edge = &edges[at as usize];
                    let most = cost[edge.link.index()].max(most);
                    lanes[count % BLOCK] = (port, (edge.first, layers.places[at as usize]), most);
                    count += usize::from(beats(most, edge.next, best));
                }
            }
            for &(port, _, most) in &lanes[..count] {
                if most < best && self.trace(flow, layers, port as u32, landing).is_some() {
                    (best, is_found) = (most, true);
                    members.retain(|&member| {
                        let edge = &edges[member as usize];
                        beats(cost[edge.link.index()], edge.next, best)
                    });
                }
            }
            if best == floor {
                break;
            }
        }
        is_found.then_some(best)
    }

    /// Of the ways that ports take over links used no more than `limit` the one of the least sum, and of several the
    /// lowest port's; `limit` is below [`SMALL`].
    pub(super) fn least_sum(
        &mut self,
        (flow, layers, landing): (&Flow<'_, '_>, &Layers, Landing),
        limit: u64,
        bounds: &Bounds,
    ) -> Option<Found> {
        self.know_words(flow, layers);
        let mut wider = std::mem::take(&mut self.lanes.wider);
        let least = wider.under(flow, limit, bounds);
        let (mut best, mut members): (Option<Found>, Vec<u32>) = (None, Vec::new());
        let mut sought = Self::sought(flow, layers, (limit, u64::MAX), bounds.landing_members);
        sought.sum = OVER - 1;
        let mut left = Left { block: 0, ports: u64::MAX, begin: 0, end: PORT_COUNT - 1 };
        loop {
            members.clear();
            for (member, edge) in (0..).zip(&flow.dag.edges[flow.dag.nodes[0].edges()]) {
                if wider.through()[member as usize] <= sought.sum {
                    let left = u64::from(sought.sum) - flow.cost[edge.link.index()];
                    self.lanes.open(flow.dag, layers, member, left);
                    members.push(member);
                }
            }
            left.ports &= self.ports_of(flow, layers, left.block, &members, sought.may_land);
            let is_better = loop {
                let count = self.start(flow, layers, (&mut left, BLOCK), &members, sought.may_land, &wider);
                let is_last = left.ports == 0;
                let count = self.go_on(flow, layers, count, sought.limit, &mut wider);
                let before = best;
                for at in 0..count {
                    let Lane { port, left, .. } = self.lanes.lanes[at % BLOCK];
                    let sum = u64::from(sought.sum - left);
                    if best.is_none_or(|best| sum < best.burden.1) {
                        best = self.trace(flow, layers, port, landing).or(best);
                    }
                }
                let is_better = best.map(|best| best.burden) != before.map(|before| before.burden);
                if is_better || is_last {
                    break is_better && !is_last;
                }
            };
            match best.filter(|best| is_better && best.burden.1 > least) {
                Some(best) => sought.sum = best.burden.1 as u32 - 1,
                None => break,
            }
        }
        self.lanes.wider = wider;
        best
    }

    /// The way of a port, if it lands as asked.
    pub(super) fn trace(
        &self,
        flow: &Flow<'_, '_>,
        layers: &Layers,
        port: u32,
        landing: Landing,
    ) -> Option<Found> {
        let (nodes, edges) = (&flow.dag.nodes[..], &flow.dag.edges[..]);
        let mut taken = [flow.access; MAX_PATH_LINKS];
        let (mut steps, mut place, mut index, mut burden) = (1, Place::default(), 0, (0, 0));
        for tier in &layers.tiers {
            let words = flow.tables.fields(tier.kind).words(&self.lanes.bases[tier.word..]);
            let at = nodes[index].first + tier.choice(words.field(place, port as usize));
            let edge = &edges[at as usize];
            let cost = flow.cost[edge.link.index()];
            burden = (burden.0.max(cost), burden.1 + cost);
            taken[steps] = edge.link;
            steps += 1;
            (place, index) = (layers.places[at as usize], edge.next as usize);
        }
        let source_port = FIRST_PORT + port as u16;
        let last = flow.deliver(&nodes[index], source_port, taken[steps - 1]);
        let last = last.filter(|&last| flow.fits(last, landing))?;
        taken[steps] = last;
        let (path, landed) = (Path::of(&taken[..=steps]), flow.landing(last));
        Some(Found { source_port, path, landed, burden, is_best: false })
    }
}

/// The numbers of the bits that are set.
fn bits_of(mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (bits != 0).then(|| bits.trailing_zeros());
        bits &= bits.wrapping_sub(1);
        bit
    })
}

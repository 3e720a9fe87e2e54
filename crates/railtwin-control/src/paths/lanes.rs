//! Ports on their way where whole tiers choose alike ([`Layers`]).
//!
//! They are looked at in blocks of 64, all one switch further before any goes on, and most are dropped at the second
//! switch by what is kept of the link that they would take there ([`Bounds::through`]), before anything else of it is
//! read.
use railtwin_routing::source_port::{FIRST_PORT, PORT_COUNT};

use super::assignment::{MAX_PATH_LINKS, Path};
use super::bounds::{Bounds, OVER};
use super::fields::{MOST_WORDS as MOST_TIER_WORDS, Place};
use super::flow::{Burden, Flow, Found, Landing};
use super::layers::{Hop, Layers, MOST_WORDS, Tier};
use super::search::Scratch;

/// Ports that go on together.
const BLOCK: usize = 64;
/// Members of a first switch that has a column at most.
const MOST_ROWS: usize = 256;
/// Uses below this add up to less than [`OVER`] on any way.
pub(super) const SMALL: u64 = 1 << 29;

/// A port on its way.
#[derive(Clone, Copy, Default, Debug)]
struct Lane {
    /// Its number from the first on.
    port: u32,
    /// The link that it takes next.
    edge: u32,
}

/// A member of the first switch's group, as ports see it.
#[derive(Clone, Copy, Default, Debug)]
#[repr(align(16))]
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
    /// By lane the sum of uses that is left for the link that it takes next and those behind it.
    left: Box<[u32; BLOCK]>,
    rows: Box<[Row; MOST_ROWS]>,
    /// What the packet has in each word at the first source port, and of which packet and ways that is.
    bases: [u64; MOST_WORDS],
    of: Option<(u32, u64, u32, u32)>,
    /// What is known of ways under a higher limit.
    wider: Bounds,
}

impl Default for Lanes {
    fn default() -> Self {
        Self {
            lanes: Box::new([Lane::default(); BLOCK]),
            left: Box::new([0; BLOCK]),
            rows: Box::new([Row::default(); MOST_ROWS]),
            bases: [0; MOST_WORDS],
            of: None,
            wider: Bounds::default(),
        }
    }
}

impl Lanes {
    /// Lets ports pass over a member of the first switch's group, with what is left behind it.
    #[inline]
    pub(super) fn open(&mut self, layers: &Layers, member: u32, left: u64) {
        let left = left.min(u64::from(OVER - 1)) as u32;
        let Hop { first, place, .. } = layers.hops[member as usize];
        self.rows[member as usize % MOST_ROWS] = Row { first, left, place };
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
            let Lanes { lanes, left, .. } = &self.lanes;
            for (lane, left) in lanes.iter().zip(&left[..]).take(count) {
                self.shortlist.push(lane.port, OVER - 1 - left);
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
            let Lanes { lanes, left, rows, bases, .. } = &mut self.lanes;
            let of_first = of_first.block::<1>(&bases[..], of.block);
            let member = |low| of_first.field(Place::default(), low) as u32 & first.mask;
            let lanes = (&mut **lanes, &mut **left);
            let sizes = (&mut count, size);
            // Most second tiers choose among a power of two, and all that by one word.
            if of_second.len() == 1 && second.mask != u32::MAX {
                let of_second = of_second.block::<1>(&bases[second.word..], of.block);
                let choice = |place, low| of_second.field(place, low) as u32 & second.mask;
                pass((of, through), sizes, lanes, rows, member, choice);
            } else {
                let of_second = of_second.block::<MOST_TIER_WORDS>(&bases[second.word..], of.block);
                let choice = |place, low| second.choice(of_second.field(place, low));
                pass((of, through), sizes, lanes, rows, member, choice);
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
        let cost = flow.cost;
        let Lanes { lanes, left: lefts, bases, .. } = &mut self.lanes;
        for at in 1..layers.tiers.len() {
            if count == 0 {
                break;
            }
            let came = std::mem::take(&mut count);
            let Some(&tier) = layers.tiers.get(at + 1) else {
                for at in 0..came {
                    let (Lane { port, edge }, left) = (lanes[at % BLOCK], lefts[at % BLOCK]);
                    let hop = layers.hops[edge as usize];
                    let use_of = cost[hop.link.index()];
                    let fits = bounds.find_through(edge as usize, use_of, hop.next, limit) <= left;
                    lanes[count % BLOCK] = Lane { port, edge };
                    lefts[count % BLOCK] = left.wrapping_sub(use_of as u32);
                    count += usize::from(fits);
                }
                break;
            };
            let words = flow.tables.fields(tier.kind).words(&bases[tier.word..]);
            for at in 0..came {
                let (Lane { port, edge }, left) = (lanes[at % BLOCK], lefts[at % BLOCK]);
                let hop = layers.hops[edge as usize];
                let use_of = cost[hop.link.index()];
                let fits = bounds.find_through(edge as usize, use_of, hop.next, limit) <= left;
                let left = left.wrapping_sub(use_of as u32);
                let edge = hop.first + tier.choice(words.field(hop.place, port as usize));
                lanes[count % BLOCK] = Lane { port, edge };
                lefts[count % BLOCK] = left;
                count += usize::from(fits & (bounds.through()[edge as usize] <= left));
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
                    let hop = layers.hops[at as usize];
                    let most = cost[hop.link.index()].max(most);
                    lanes[count % BLOCK] = (port, (hop.first, hop.place), most);
                    count += usize::from(beats(most, hop.next, best));
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
                    self.lanes.open(layers, member, left);
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
                    let Lanes { lanes, left, .. } = &self.lanes;
                    let (port, left) = (lanes[at % BLOCK].port, left[at % BLOCK]);
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
        let nodes = &flow.dag.nodes[..];
        let mut taken = [flow.access; MAX_PATH_LINKS];
        let (mut steps, mut place, mut burden) = (1, Place::default(), (0, 0));
        let (mut first, mut index) = (nodes[0].first, 0);
        for tier in &layers.tiers {
            let words = flow.tables.fields(tier.kind).words(&self.lanes.bases[tier.word..]);
            let at = first + tier.choice(words.field(place, port as usize));
            let hop = layers.hops[at as usize];
            let cost = flow.cost[hop.link.index()];
            burden = (burden.0.max(cost), burden.1 + cost);
            taken[steps] = hop.link;
            steps += 1;
            (place, first, index) = (hop.place, hop.first, hop.next as usize);
        }
        let source_port = FIRST_PORT + port as u16;
        let last = flow.deliver(&nodes[index], source_port, taken[steps - 1]);
        let last = last.filter(|&last| flow.fits(last, landing))?;
        taken[steps] = last;
        let (path, landed) = (Path::of(&taken[..=steps]), flow.landing(last));
        Some(Found { source_port, path, landed, burden, is_best: false })
    }
}

/// Takes ports of a block over the first switch until so many go on.
#[inline(always)]
fn pass(
    (of, through): (&mut Left, &[u32]),
    (count, size): (&mut usize, usize),
    (lanes, lefts): (&mut [Lane; BLOCK], &mut [u32; BLOCK]),
    rows: &[Row; MOST_ROWS],
    member: impl Fn(usize) -> u32,
    choice: impl Fn(Place, usize) -> u32,
) {
    let (mut ports, mut at) = (of.ports, *count);
    while ports != 0 && at < size {
        let low = ports.trailing_zeros() as usize;
        ports &= ports - 1;
        let Row { first, left, place } = rows[member(low) as usize % MOST_ROWS];
        let edge = first + choice(place, low);
        lanes[at % BLOCK] = Lane { port: (BLOCK * of.block + low) as u32, edge };
        lefts[at % BLOCK] = left;
        at += usize::from(through[edge as usize] <= left);
    }
    (of.ports, *count) = (ports, at);
}

/// The numbers of the bits that are set.
fn bits_of(mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (bits != 0).then(|| bits.trailing_zeros());
        bits &= bits.wrapping_sub(1);
        bit
    })
}

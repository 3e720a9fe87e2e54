//! Ways whose switches choose alike tier by tier, by the low bits of one hash each: three tiers without faults.
//!
//! There the whole way of a source port is known of one word: what the port adds to the hashes, the bits of one tier
//! beside those of the next, which is the same for all packets, and what the packet has at the first port. A port is
//! looked at by one look-up and an exclusive or, and most are dropped at the second switch by what is kept of the link
//! that they would take there ([`Bounds::through`]), before anything else of it is read.
use railtwin_fabric::NONE;
use railtwin_routing::PortTable;
use railtwin_routing::source_port::{FIRST_PORT, LAST_PORT, PORT_COUNT};

use super::bounds::{Bounds, OVER};
use super::dag::{PathDag, Tables};
use super::flow::{Burden, Flow, Found, Landing};
use super::search::Scratch;

/// Ports that go on together.
const BATCH: usize = 64;
/// Words of 64 ports.
const WORDS: usize = PORT_COUNT / 64;
/// Uses below this add up to less than [`OVER`] on any way.
pub(super) const SMALL: u64 = 1 << 29;

/// The bits by which the switches of a tier choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Tier {
    /// Number of their hash; [`NONE`] where there is no choice.
    table: u32,
    /// Low bits of it.
    bits: u32,
    /// Where these stand in a word.
    shift: u32,
}

impl Tier {
    #[inline]
    const fn mask(self) -> u32 {
        (1 << self.bits) - 1
    }
}

/// How the tiers of a graph choose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Layers {
    tiers: Vec<Tier>,
    /// Number of its words in [`Words`].
    words: usize,
    /// Numbers of the columns of the first and of the last tier there.
    columns: [usize; 2],
}

/// What each source port adds to the choices of all tiers, for each kind of them that was asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    kinds: Vec<(Vec<Tier>, Vec<u32>)>,
    columns: Vec<Columns>,
}

/// Which source ports lead over each member of a tier's groups.
#[derive(Clone, Debug)]
struct Columns {
    table: u32,
    bits: u32,
    /// By word of 64 ports, then by what these add to the choice: the ports, the lowest bit first.
    ports: Vec<u64>,
}

impl Columns {
    /// The ports of a word over any of `members`, of a packet that has `low` at the first port.
    #[inline]
    fn of_word(&self, word: usize, low: u32, members: impl Iterator<Item = u32>) -> u64 {
        let row = &self.ports[word << self.bits..(word + 1) << self.bits];
        let mask = row.len() - 1;
        members.fold(0, |ports, member| ports | row[(member ^ low) as usize & mask])
    }
}

impl Words {
    fn number(&mut self, tiers: &[Tier], table: impl Fn(u32) -> PortTable) -> usize {
        if let Some(known) = self.kinds.iter().position(|(of, _)| of == tiers) {
            return known;
        }
        let mut words = vec![0; PORT_COUNT];
        for tier in tiers.iter().filter(|tier| tier.table != NONE) {
            let table = table(tier.table);
            for (word, port) in words.iter_mut().zip(FIRST_PORT..=LAST_PORT) {
                *word |= (table.difference(port) & tier.mask()) << tier.shift;
            }
        }
        self.kinds.push((tiers.to_vec(), words));
        self.kinds.len() - 1
    }

    fn column(&mut self, tier: Tier, table: impl Fn(u32) -> PortTable) -> usize {
        let Tier { table: number, bits, .. } = tier;
        if let Some(known) = self.columns.iter().position(|of| (of.table, of.bits) == (number, bits)) {
            return known;
        }
        let table = (number != NONE).then(|| table(number));
        let mut ports = vec![0; WORDS << bits];
        for port in 0..PORT_COUNT {
            let added =
                table.as_ref().map_or(0, |table| table.difference(FIRST_PORT + port as u16) & tier.mask());
            ports[(port / 64) << bits | added as usize] |= 1 << (port % 64);
        }
        self.columns.push(Columns { table: number, bits, ports });
        self.columns.len() - 1
    }
}

impl Layers {
    /// Of a graph; none where a switch chooses otherwise than the others of its tier, or by a port of arrival, or among
    /// no power of two.
    pub(super) fn of(dag: &PathDag, tables: &mut Tables) -> Option<Self> {
        let (mut tiers, mut shift) = (Vec::new(), 0);
        let mut nodes = vec![0];
        while !nodes.iter().any(|&node: &u32| dag.nodes[node as usize].delivers) {
            let first = &dag.nodes[*nodes.first()? as usize];
            let bits = first.members.low_bits().filter(|&bits| bits <= 8)?;
            let is_alike = |&node: &u32| {
                let node = &dag.nodes[node as usize];
                node.table == first.table && node.members == first.members
            };
            if !nodes.iter().all(is_alike) || (first.table == NONE) != (bits == 0) {
                return None;
            }
            tiers.push(Tier { table: first.table, bits, shift });
            shift += bits;
            let edges = nodes.iter().flat_map(|&node| &dag.edges[dag.nodes[node as usize].edges()]);
            let mut next = Vec::new();
            for edge in edges {
                if edge.twist != 0 {
                    return None;
                }
                next.push(edge.next);
            }
            next.sort_unstable();
            next.dedup();
            nodes = next;
        }
        let all_deliver = nodes.iter().all(|&node| dag.nodes[node as usize].delivers);
        // The first switch has columns of ports where it chooses.
        let is_choice = tiers.first().is_some_and(|tier| tier.bits > 0);
        if !all_deliver || tiers.len() < 2 || !is_choice || shift >= u32::BITS {
            return None;
        }
        let ends = [tiers[0], tiers[tiers.len() - 1]];
        let (words, columns) = tables.words_of(|words, table| {
            (words.number(&tiers, table), ends.map(|tier| words.column(tier, table)))
        });
        Some(Self { tiers, words, columns })
    }

    /// The members of the second switch's group.
    const fn second(&self) -> u32 {
        1 << self.tiers.as_slice()[1].bits
    }
}

/// A port on its way.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Lane {
    port: u16,
    /// What all tiers choose.
    choices: u32,
    /// The link that it takes next.
    edge: u32,
    /// The sum of uses that is left for this link and those behind it.
    left: u32,
}

/// Memory of one search.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    lanes: Box<[Lane; BATCH]>,
    /// By member of the first switch's group: the first link behind it, and the sum that is left there.
    rows: Vec<(u32, u32)>,
}

impl Default for Lanes {
    fn default() -> Self {
        Self { lanes: Box::new([Lane::default(); BATCH]), rows: Vec::new() }
    }
}

impl Lanes {
    /// Lets no port past the first switch.
    pub(super) fn close(&mut self, dag: &PathDag) {
        self.rows.clear();
        self.rows.resize(dag.nodes[0].edges().len(), (dag.edges.len() as u32, 0));
    }

    /// Lets ports pass over a member of the first switch's group, with what is left behind it.
    pub(super) fn open(&mut self, dag: &PathDag, member: u32, left: u64) {
        let left = left.min(u64::from(OVER - 1)) as u32;
        self.rows[member as usize] = (dag.edges[member as usize].first, left);
    }
}

/// What a search by lanes goes by.
#[derive(Clone, Copy)]
struct Sought<'w> {
    words: &'w [u32],
    /// What the packet has at the first port.
    base: u32,
    limit: u64,
    landing: Landing,
    /// Members of the last choice over which a port may land.
    may_land: u64,
}

impl Scratch {
    fn sought<'r>(
        &mut self,
        flow: &Flow<'r, '_>,
        layers: &Layers,
        limit: u64,
        landing: Landing,
        bounds: &Bounds,
    ) -> Sought<'r> {
        let mut base = 0;
        for (at, tier) in layers.tiers.iter().enumerate().filter(|(_, tier)| tier.table != NONE) {
            let twist = if at == 0 { flow.twist } else { 0 };
            base |= ((self.base(flow, tier.table) ^ twist) & tier.mask()) << tier.shift;
        }
        let words = &flow.tables.words().kinds[layers.words].1;
        let may_land = if flow.dag.last_choice.is_some() { bounds.landing_members } else { u64::MAX };
        Sought { words, base, limit, landing, may_land }
    }

    /// Of the ports from `from` on, up to the end of a word or to `until`, that lead over `members` the lowest that has a
    /// sum of no more than `sum` over links that are used no more than `limit`; what is left for each member is that of
    /// [`Lanes::open`]. The least sum that a port was given up for comes into `next`.
    pub(super) fn first_within(
        &mut self,
        (flow, layers, landing): (&Flow<'_, '_>, &Layers, Landing),
        (limit, sum): Burden,
        (from, until): (u16, u16),
        members: &[u32],
        (bounds, next): (&mut Bounds, &mut u64),
    ) -> Option<Found> {
        let sought = self.sought(flow, layers, limit, landing, bounds);
        let sum = sum.min(u64::from(OVER)) as u32;
        let columns = layers.columns.map(|of| &flow.tables.words().columns[of]);
        let last = layers.tiers[layers.tiers.len() - 1];
        let (low, last_low) = (sought.base, sought.base >> last.shift);
        let all = if last.bits < 6 { (1 << (1_u64 << last.bits)) - 1 } else { u64::MAX };
        let lands_anywhere = sought.may_land & all == all;
        let (begin, end) = (usize::from(from - FIRST_PORT), usize::from(until - FIRST_PORT));
        let (first, second) = (layers.tiers[0], layers.tiers[1]);
        let mut least = OVER;
        let mut found = None;
        for word in begin / 64..=end / 64 {
            let mut ports = columns[0].of_word(word, low, members.iter().copied());
            if !lands_anywhere {
                ports &= columns[1].of_word(word, last_low, bits_of(sought.may_land));
            }
            if word == begin / 64 {
                ports &= u64::MAX << (begin % 64);
            }
            if word == end / 64 {
                ports &= u64::MAX >> (63 - end % 64);
            }
            let through = bounds.through();
            let (lanes, rows) = (&mut *self.lanes.lanes, &self.lanes.rows[..]);
            let mut count = 0;
            while ports != 0 {
                let at = 64 * word + ports.trailing_zeros() as usize;
                ports &= ports - 1;
                let choices = sought.words[at] ^ sought.base;
                let (begin, left) = rows[(choices & first.mask()) as usize];
                let edge = begin + (choices >> second.shift & second.mask());
                let through = through[edge as usize];
                let fits = through <= left;
                let whole = if fits { OVER } else { (sum - left).saturating_add(through) };
                least = least.min(whole);
                lanes[count % BATCH] = Lane { port: FIRST_PORT + at as u16, choices, edge, left };
                count += usize::from(fits);
            }
            found = self.go_on(flow, layers, count, (sought, sum), bounds, &mut least);
            if found.is_some() {
                break;
            }
        }
        if least < OVER {
            *next = (*next).min(u64::from(least));
        }
        found
    }

    /// Takes lanes from the second switch on to the last, all one switch further before any goes on, and returns the
    /// first that comes through; `least` gets the least sum that one was given up for.
    fn go_on(
        &mut self,
        flow: &Flow<'_, '_>,
        layers: &Layers,
        mut count: usize,
        (sought, sum): (Sought<'_>, u32),
        bounds: &mut Bounds,
        least: &mut u32,
    ) -> Option<Found> {
        let (edges, cost) = (&flow.dag.edges[..], flow.cost);
        let lanes = &mut *self.lanes.lanes;
        for at in 1..layers.tiers.len() {
            let (shift, mask) = layers.tiers.get(at + 1).map_or((0, 0), |tier| (tier.shift, tier.mask()));
            let came = std::mem::take(&mut count);
            for at in 0..came {
                let Lane { port, choices, edge, left } = lanes[at % BATCH];
                let taken = &edges[edge as usize];
                let use_of = cost[taken.link.index()];
                let through = bounds.find_through(edge as usize, use_of, taken.next, sought.limit);
                let fits = through <= left;
                let whole = if fits { OVER } else { (sum - left).saturating_add(through) };
                *least = (*least).min(whole);
                let edge = taken.first + (choices >> shift & mask);
                let left = left.wrapping_sub(use_of as u32);
                lanes[count % BATCH] = Lane { port, choices, edge, left };
                count += usize::from(fits);
            }
        }
        (0..count).find_map(|at| {
            let port = self.lanes.lanes[at].port;
            self.walk(flow, port, sought.landing, |_, _| true)
        })
    }

    /// Of all ports the one of least burden; none where none lands as asked.
    pub(super) fn least_reached(
        &mut self,
        flow: &Flow<'_, '_>,
        layers: &Layers,
        landing: Landing,
        bounds: &Bounds,
    ) -> Option<Found> {
        let sought = self.sought(flow, layers, 0, landing, bounds);
        let (edges, cost) = (&flow.dag.edges[..], flow.cost);
        let last = layers.tiers[layers.tiers.len() - 1];
        let mut lanes = [(0_u16, 0_u32, 0_u32, (0, 0)); BATCH];
        let mut best: Option<Found> = None;
        for first in (0..PORT_COUNT).step_by(BATCH) {
            let mut count = 0;
            for (port, word) in
                (FIRST_PORT + first as u16..=LAST_PORT).zip(&sought.words[first..first + BATCH])
            {
                let choices = word ^ sought.base;
                lanes[count % BATCH] = (port, choices, choices & layers.tiers[0].mask(), (0, 0));
                count += (sought.may_land >> (choices >> last.shift & last.mask() & 63) & 1) as usize;
            }
            let least = best.map_or((u64::MAX, u64::MAX), |best| best.burden);
            for at in 0..layers.tiers.len() {
                let (shift, mask) = layers.tiers.get(at + 1).map_or((0, 0), |tier| (tier.shift, tier.mask()));
                let came = std::mem::take(&mut count);
                for at in 0..came {
                    let (port, choices, edge, (most, sum)) = lanes[at % BATCH];
                    let taken = &edges[edge as usize];
                    let use_of = cost[taken.link.index()];
                    let (most, sum) = (most.max(use_of), sum + use_of);
                    let edge = taken.first + (choices >> shift & mask);
                    lanes[count % BATCH] = (port, choices, edge, (most, sum));
                    count += usize::from(bounds.may_beat(taken.next, (most, sum), least));
                }
            }
            for &(port, ..) in &lanes[..count] {
                let least = best.map_or((u64::MAX, u64::MAX), |best| best.burden);
                let found =
                    self.walk(flow, port, landing, |edge, so_far| bounds.may_beat(edge.next, so_far, least));
                best = found.or(best);
            }
        }
        best
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

/// Links behind those of a graph that no port takes: where the ports of members that are closed are led to.
pub(super) fn beyond(dag: &PathDag) -> usize {
    dag.layers.as_ref().map_or(0, |layers| layers.second() as usize)
}

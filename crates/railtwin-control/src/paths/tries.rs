//! Which source ports are worth a walk, and in what order ways are looked for on them.
//!
//! A leaf with a power of two of uplinks takes the low bits of its hash, and what a port adds to those is the same for
//! every packet. So the ports that lead over an uplink are a column of a table that is made once, moved by the packet's
//! own hash, and ports that lead over none of the uplinks wanted are never looked at.
use railtwin_routing::PortSpace;
use railtwin_routing::source_port::{FIRST_PORT, LAST_PORT};

use super::bounds::{Bounds, OVER};
use super::flow::{Burden, Flow, Found, Landing};
use super::hash_table::{STRICT_PORTS, STRICT_WORDS};
use super::lanes::SMALL;
use super::layers::Layers;
use super::search::{Scratch, Stage};
use super::sieve;

/// Members of the first node's group over which a good way may lead, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct Admitted {
    members: Vec<u32>,
}

impl Scratch {
    /// Of the ways whose most used link is no more used than `limit`, the one of the least sum that one of the first
    /// ports takes, and of several the lowest port's. Sums are gone through from the least on: as long as no port takes
    /// one, the next is the least that a walk was given up for, so that none is left out.
    pub(super) fn within(
        &mut self,
        flow: &Flow<'_, '_>,
        landing: Landing,
        limit: u64,
        bounds: &mut Bounds,
    ) -> Option<Found> {
        if let Some(layers) = flow.dag.layers.as_ref().filter(|_| limit < SMALL) {
            return self.within_by_lanes(flow, layers, landing, limit, bounds);
        }
        self.forget_end();
        let hash = self.first_hash(flow).filter(|_| flow.dag.nodes[0].members.low_bits().is_some());
        let may_land = self.may_land(flow, bounds.landing_members);
        let mut sum = bounds.least_sum(flow);
        while sum != u64::MAX {
            let mut next = hash.map_or(u64::MAX, |_| self.admit(flow, limit, sum, bounds));
            let members = std::mem::take(&mut self.admitted.members);
            let word_of = |word: usize| {
                let up = hash.map_or(u64::MAX, |hash| ports_of_word(flow, word, hash, &members));
                let down = may_land.map_or(u64::MAX, |may_land| may_land.of_word(word));
                // Of the last word only the first port counts.
                up & down & if word == STRICT_WORDS - 1 { 1 } else { u64::MAX }
            };
            let (mut word, mut ports) = (0, word_of(0));
            let ports = std::iter::from_fn(|| {
                while ports == 0 {
                    word += 1;
                    if word == STRICT_WORDS {
                        word -= 1;
                        return None;
                    }
                    ports = word_of(word);
                }
                let port = FIRST_PORT + (64 * word) as u16 + ports.trailing_zeros() as u16;
                ports &= ports - 1;
                Some(port)
            });
            let found = self.first_of(flow, ports, landing, |node, (most, up_to)| {
                let whole = up_to.saturating_add(bounds.sum(node));
                let (is_within, is_small) = (most <= limit, whole <= sum);
                next = next.min(if is_within & !is_small { whole } else { u64::MAX });
                is_within & is_small
            });
            self.admitted.members = members;
            if found.is_some() {
                return found;
            }
            sum = next;
        }
        None
    }

    /// The same where whole tiers choose alike. A queue pair that differs in nothing from the one before goes on where
    /// that one ended: as uses only grow, no port that was passed by is any better now.
    fn within_by_lanes(
        &mut self,
        flow: &Flow<'_, '_>,
        layers: &Layers,
        landing: Landing,
        limit: u64,
        bounds: &mut Bounds,
    ) -> Option<Found> {
        let resumed = self.resumes(flow, landing, limit);
        if matches!(resumed, Some(Stage::Later(_) | Stage::Reached)) {
            return None;
        }
        if !matches!(resumed, Some(Stage::Listed)) {
            let least = bounds.least_sum(flow);
            if !self.shortlist.was_needed {
                let from = match resumed {
                    Some(Stage::Within { port, sum }) if sum == least => port,
                    _ => {
                        self.admit(flow, limit, least, bounds);
                        FIRST_PORT
                    }
                };
                let found = self.of_least_sum(flow, layers, landing, (limit, least), from, bounds);
                if let Some(found) = found {
                    let stage = Stage::Within { port: found.source_port, sum: least };
                    self.ends(flow, landing, limit, stage);
                    return Some(found);
                }
            }
            self.list_within(flow, layers, limit, bounds);
            self.shortlist.least = least;
        }
        let found = self.best_listed(flow, layers, landing, limit);
        self.shortlist.was_needed = found.is_some_and(|found| found.burden.1 > self.shortlist.least);
        if found.is_some() {
            self.ends(flow, landing, limit, Stage::Listed);
        }
        found
    }

    /// Lists the first ports whose ways are within `limit`.
    fn list_within(&mut self, flow: &Flow<'_, '_>, layers: &Layers, limit: u64, bounds: &mut Bounds) {
        self.admit_within(flow, limit, bounds);
        let members = std::mem::take(&mut self.admitted.members);
        for &member in &members {
            let cost = flow.cost[flow.dag.edges[member as usize].link.index()];
            self.lanes.open(layers, member, u64::from(OVER - 1) - cost);
        }
        self.list((flow, layers), limit, FIRST_PORT + STRICT_PORTS, &members, bounds);
        self.admitted.members = members;
    }

    /// The first of the first ports from `from` on that takes an admitted way within `limit` of that sum.
    fn of_least_sum(
        &mut self,
        flow: &Flow<'_, '_>,
        layers: &Layers,
        landing: Landing,
        (limit, sum): Burden,
        from: u16,
        bounds: &mut Bounds,
    ) -> Option<Found> {
        let mut members = std::mem::take(&mut self.admitted.members);
        // Since the search that goes on here began, members may have become used more.
        members.retain(|&member| {
            let cost = flow.cost[flow.dag.edges[member as usize].link.index()];
            let fits = cost <= limit.min(sum);
            if fits {
                self.lanes.open(layers, member, sum - cost);
            }
            fits
        });
        let of = (flow, layers, landing);
        let found = self.first_within(of, (limit, sum), (from, FIRST_PORT + STRICT_PORTS), &members, bounds);
        self.admitted.members = members;
        found
    }

    /// The first way within `limit` that any later port takes: member by member of the first node where few of a power
    /// of two lead on, else port by port.
    pub(super) fn later(
        &mut self,
        flow: &Flow<'_, '_>,
        landing: Landing,
        limit: u64,
        bounds: &mut Bounds,
    ) -> Option<Found> {
        let from = FIRST_PORT + STRICT_PORTS + 1;
        if let Some(layers) = flow.dag.layers.as_ref().filter(|_| limit < SMALL) {
            let from = match self.resumes(flow, landing, limit) {
                Some(Stage::Reached) => return None,
                Some(Stage::Later(port)) => port,
                Some(Stage::Within { .. } | Stage::Listed) | None => from,
            };
            self.admit_within(flow, limit, bounds);
            let found = self.later_by_lanes(flow, layers, landing, limit, from, bounds);
            let stage = found.map_or(Stage::Reached, |found| Stage::Later(found.source_port));
            self.ends(flow, landing, limit, stage);
            return found;
        }
        self.forget_end();
        self.admit_within(flow, limit, bounds);
        let may_land = self.may_land(flow, bounds.landing_members);
        let allows = |node, (most, _)| (most <= limit) & (bounds.sum(node) != u64::MAX);
        let first = &flow.dag.nodes[0];
        let (bits, hash) = (first.members.low_bits(), self.first_hash(flow));
        let (Some(bits), Some(hash)) = (bits, hash) else {
            return self.first_of(flow, sieve::landing(from..=LAST_PORT, may_land), landing, allows);
        };
        if self.admitted.members.len() << 2 > 1 << bits {
            return self.first_of(flow, sieve::landing(from..=LAST_PORT, may_land), landing, allows);
        }
        let members = std::mem::take(&mut self.admitted.members);
        let mut best: Option<Found> = None;
        for &member in &members {
            let space = PortSpace::of([(&flow.tables.get(first.table).ports, hash ^ member, bits)]);
            let ports = space.iter().flat_map(PortSpace::ports).skip_while(|&port| port < from);
            let ports = ports.take_while(|&port| best.is_none_or(|best| port < best.source_port));
            let found = self.first_of(flow, sieve::landing(ports, may_land), landing, allows);
            best = found.or(best);
        }
        self.admitted.members = members;
        best
    }

    /// The same where whole tiers choose alike.
    fn later_by_lanes(
        &mut self,
        flow: &Flow<'_, '_>,
        layers: &Layers,
        landing: Landing,
        limit: u64,
        from: u16,
        bounds: &mut Bounds,
    ) -> Option<Found> {
        let members = std::mem::take(&mut self.admitted.members);
        members.iter().for_each(|&member| self.lanes.open(layers, member, u64::MAX));
        let sought = (limit, u64::MAX);
        let found = self.first_within((flow, layers, landing), sought, (from, LAST_PORT), &members, bounds);
        self.admitted.members = members;
        found
    }

    /// The way of least burden that any port takes, and of several the lowest port's, given that none has a most used
    /// link of no more than `limit`: all are looked at.
    pub(super) fn reached(
        &mut self,
        flow: &Flow<'_, '_>,
        landing: Landing,
        limit: u64,
        bounds: &Bounds,
    ) -> Option<Found> {
        if let Some(layers) = &flow.dag.layers {
            let of = (flow, layers, landing);
            let most = self.least_most(of, limit, bounds)?;
            if most < SMALL {
                return self.least_sum(of, most, bounds);
            }
        }
        let may_land = self.may_land(flow, bounds.landing_members);
        let ports = sieve::landing(FIRST_PORT..=LAST_PORT, may_land);
        self.least_of(flow, ports, landing, |node, (most, sum), least| {
            bounds.may_beat(node, (most, sum), least)
        })
    }

    /// Admits members over which a way within `limit` may have a sum of no more than `sum`. Returns the least sum
    /// that another member may have.
    fn admit(&mut self, flow: &Flow<'_, '_>, limit: u64, sum: u64, bounds: &mut Bounds) -> u64 {
        let mut next = u64::MAX;
        self.admitted.members.clear();
        for (member, edge) in (0..).zip(&flow.dag.edges[flow.dag.nodes[0].edges()]) {
            let known = bounds.through()[member as usize];
            if u64::from(known) > sum && (known != OVER || limit < SMALL) {
                next = if known == OVER { next } else { next.min(u64::from(known)) };
                continue;
            }
            let cost = flow.cost[edge.link.index()];
            let mut whole = cost.saturating_add(bounds.sum(edge.next));
            if cost > limit {
                continue;
            }
            if whole <= sum {
                whole = cost.saturating_add(bounds.exact_sum(flow, edge.next as usize));
            }
            bounds.find_through(member as usize, cost, edge.next, limit);
            if whole <= sum {
                self.admitted.members.push(member);
            } else {
                next = next.min(whole);
            }
        }
        next
    }

    /// Admits members over which a way within `limit` may lead.
    fn admit_within(&mut self, flow: &Flow<'_, '_>, limit: u64, bounds: &Bounds) {
        let edges = flow.dag.edges[flow.dag.nodes[0].edges()].iter();
        let fits = |edge: &super::dag::Edge| {
            flow.cost[edge.link.index()] <= limit && bounds.sum(edge.next) != u64::MAX
        };
        let members = (0..).zip(edges).filter(|(_, edge)| fits(edge)).map(|(member, _)| member);
        self.admitted.members.clear();
        self.admitted.members.extend(members);
    }
}

/// The ports of one word of 64 that lead over one of `members`, the lowest bit first; all where the group is no power of
/// two.
#[inline]
fn ports_of_word(flow: &Flow<'_, '_>, word: usize, hash: u32, members: &[u32]) -> u64 {
    let first = &flow.dag.nodes[0];
    let Some(columns) = flow.tables.get(first.table).first_ports(first.members) else { return u64::MAX };
    let low = hash as usize & (columns.len() - 1);
    members.iter().fold(0, |ports, &member| ports | columns[member as usize ^ low][word])
}

//! Many source ports at once: all go one switch further, those that may not are dropped, and so on to the last switch.
//!
//! A walk of one port waits at every switch for the link that the one before chose. Ports do not wait for each other,
//! so a batch of them is several times faster than one after the other.
//!
//! Before that ports are dropped that cannot land as asked: where all last switches before the target's leaves hash
//! alike into groups of one size, what they choose is known of a port without its way there.
use railtwin_fabric::NONE;

use super::flow::{Burden, Flow, Found, Landing};
use super::hash_table::STRICT_WORDS;
use super::search::Scratch;

/// Ports of the first batches; the first port often does.
const BATCHES: [usize; 3] = [1, 8, BATCH];
/// Ports of a batch at most.
const BATCH: usize = 64;

/// A port on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Front {
    port: u16,
    node: u32,
    /// That of the link by which it came.
    twist: u32,
    burden: Burden,
}

/// Ports that go on together.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    fronts: Box<[Front; BATCH]>,
    len: usize,
}

impl Default for Batch {
    fn default() -> Self {
        let nowhere = Front { port: 0, node: 0, twist: 0, burden: (0, 0) };
        Self { fronts: Box::new([nowhere; BATCH]), len: 0 }
    }
}

impl Batch {
    /// Appends a front if it goes on; there is room for one.
    #[inline(always)]
    fn push(&mut self, front: Front, goes_on: bool) {
        self.fronts[self.len % BATCH] = front;
        self.len += usize::from(goes_on);
    }
}

/// Which ports may land as asked, by the last choice.
#[derive(Clone, Copy)]
pub(super) struct MayLand<'r> {
    ports: &'r railtwin_routing::PortTable,
    columns: &'r [[u64; STRICT_WORDS]],
    /// The low bits of the packet's hash at the first source port.
    low: u32,
    members: u64,
}

impl MayLand<'_> {
    #[inline]
    fn admits(&self, port: u16) -> bool {
        let member = (self.low ^ self.ports.difference(port)) & (self.columns.len() as u32 - 1);
        self.members >> member & 1 == 1
    }

    /// The ports of one word of 64, the lowest bit first.
    #[inline]
    pub(super) fn of_word(&self, word: usize) -> u64 {
        let (mut members, mut ports) = (self.members, 0);
        while members != 0 {
            ports |= self.columns[(members.trailing_zeros() ^ self.low) as usize][word];
            members &= members - 1;
        }
        ports
    }
}

impl Scratch {
    /// Which ports may land, where anything is known of that; `members` are those of [`LastChoice::members`].
    pub(super) fn may_land<'r>(&mut self, flow: &Flow<'r, '_>, members: u64) -> Option<MayLand<'r>> {
        let last = flow.dag.last_choice.as_ref()?;
        if members == u64::MAX >> (64 - (1 << last.bits)) {
            return None;
        }
        let low = self.base(flow, last.table) & ((1 << last.bits) - 1);
        let table = flow.tables.get(last.table);
        let columns = table.first_ports(flow.dag.nodes[last.node() as usize].members)?;
        Some(MayLand { ports: &table.ports, columns, low, members })
    }

    /// Of `ports`, which ascend, the first that lands as asked over links all of which `allows` admits, given the node
    /// that a link enters and the burden up to and with it. It is asked of more ports than the one found.
    pub(super) fn first_of(
        &mut self,
        flow: &Flow<'_, '_>,
        mut ports: impl Iterator<Item = u16>,
        landing: Landing,
        mut allows: impl FnMut(u32, Burden) -> bool,
    ) -> Option<Found> {
        let mut more = true;
        for batch in 0.. {
            if !more {
                break;
            }
            let size = BATCHES[BATCHES.len().min(batch + 1) - 1];
            more = self.sift(flow, &mut ports, size, &mut allows);
            for at in 0..self.batch.as_ref().map_or(0, |batch| batch.len) {
                let found = self.walk(flow, self.port_of(at), landing, |_, _| true);
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    /// Of the ports from `from` on the one of least burden as `allows` compares it with the best so far, by batches.
    pub(super) fn least_of(
        &mut self,
        flow: &Flow<'_, '_>,
        mut ports: impl Iterator<Item = u16>,
        landing: Landing,
        allows: impl Fn(u32, Burden, Burden) -> bool,
    ) -> Option<Found> {
        let (mut best, mut more): (Option<Found>, bool) = (None, true);
        while more {
            let least = best.map_or((u64::MAX, u64::MAX), |best| best.burden);
            more = self.sift(flow, &mut ports, BATCH, |next, burden| allows(next, burden, least));
            for at in 0..self.batch.as_ref().map_or(0, |batch| batch.len) {
                let least = best.map_or((u64::MAX, u64::MAX), |best| best.burden);
                let port = self.port_of(at);
                let found = self.walk(flow, port, landing, |edge, burden| allows(edge.next, burden, least));
                best = found.or(best);
            }
        }
        best
    }

    /// The port of a front that came through.
    fn port_of(&self, at: usize) -> u16 {
        self.batch.as_ref().map_or(0, |batch| batch.fronts[at].port)
    }

    /// Leaves in [`Scratch::batch`] those of a batch of `ports` whose links `allows` admits up to a leaf of the target;
    /// a batch is `size` that get past the first switch. False once no port is left.
    #[inline(always)]
    fn sift(
        &mut self,
        flow: &Flow<'_, '_>,
        ports: &mut impl Iterator<Item = u16>,
        size: usize,
        mut allows: impl FnMut(u32, Burden) -> bool,
    ) -> bool {
        let (nodes, edges, cost) = (&flow.dag.nodes[..], &flow.dag.edges[..], flow.cost);
        let first = &nodes[0];
        let mut batch = self.batch.take().unwrap_or_default();
        batch.len = 0;
        let first_edges = &edges[first.edges()];
        let hashed = (first.table != NONE).then(|| self.base(flow, first.table) ^ flow.twist);
        let hashed = hashed.map(|base| (base, &flow.tables.get(first.table).ports));
        let mut more = first.delivers || !first_edges.is_empty();
        while more && batch.len < size {
            let Some(port) = ports.next() else {
                more = false;
                break;
            };
            if first.delivers {
                batch.push(Front { port, node: 0, twist: 0, burden: (0, 0) }, true);
                continue;
            }
            let member =
                hashed.map_or(0, |(base, table)| first.members.bucket(base ^ table.difference(port)));
            let edge = &first_edges[member];
            let cost = cost[edge.link.index()];
            let front = Front { port, node: edge.next, twist: edge.twist, burden: (cost, cost) };
            batch.push(front, allows(edge.next, (cost, cost)));
        }
        // All shortest ways are as long.
        while batch.len > 0 && !nodes[batch.fronts[0].node as usize].delivers {
            let count = std::mem::take(&mut batch.len);
            let (mut number, mut base, mut table) = (NONE, 0, None);
            for at in 0..count {
                let front = batch.fronts[at % BATCH];
                let node = &nodes[front.node as usize];
                let mut index = node.first as usize;
                if node.table != NONE {
                    if number != node.table {
                        number = node.table;
                        base = self.base(flow, number);
                        table = Some(&flow.tables.get(number).ports);
                    }
                    let added = table.map_or(0, |table| table.difference(front.port));
                    index += node.members.bucket(base ^ front.twist ^ added);
                } else if node.members.is_none() {
                    continue;
                }
                let edge = &edges[index];
                let cost = cost[edge.link.index()];
                let burden = (front.burden.0.max(cost), front.burden.1 + cost);
                let front = Front { port: front.port, node: edge.next, twist: edge.twist, burden };
                batch.push(front, allows(edge.next, burden));
            }
        }
        self.batch = Some(batch);
        more
    }
}

/// Those of `ports` that may land.
pub(super) fn landing(
    ports: impl Iterator<Item = u16>,
    may_land: Option<MayLand<'_>>,
) -> impl Iterator<Item = u16> {
    ports.filter(move |&port| may_land.is_none_or(|may_land| may_land.admits(port)))
}

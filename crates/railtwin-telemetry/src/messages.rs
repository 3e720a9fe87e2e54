//! What the queue pairs of one operation tell: how long they sent, and for whom their ends waited.
use railtwin_engine::EdgeRates;
use railtwin_records::telemetry::MessageColumns;

use crate::jitter::Factors;
use crate::layout::{BundlePlace, PatternPlace, Role};
use crate::network::{EVEN, PatternState};
use crate::waits::{BUFFER, Stack, first_waits, subtrees, waits_for_credit};

/// Bytes of one message: an eighth of a channel's buffer, as NCCL's proxies post them.
const MESSAGE: f64 = BUFFER / 8.0;

/// One operation of a pattern as the replay found it. Times are nanoseconds since the step began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'a> {
    pub(crate) place: &'a PatternPlace,
    pub(crate) state: &'a PatternState,
    pub(crate) rates: &'a EdgeRates,
    /// Bytes of the operation.
    pub(crate) bytes: f64,
    /// Entry of each rank from `first_rank` on; infinite where it never enters.
    pub(crate) entry: &'a [f64],
    pub(crate) first_rank: u32,
    /// Entry of the last rank by group; infinite where one never enters.
    pub(crate) latest: &'a [f64],
    /// From there to the end, by group.
    pub(crate) lasts: &'a [f64],
    /// Number of the operation in its communicator, by group.
    pub(crate) sequence: &'a [u32],
    pub(crate) factors: &'a Factors,
    /// Where the draws of this operation begin.
    pub(crate) draw: usize,
}

/// Memory that operations share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    nodes: Vec<f64>,
    queries: Vec<(u32, f64)>,
    first_wait: Vec<u32>,
    done: Vec<u32>,
    stack: Stack,
}

/// What the ends of one edge waited for, besides the network.
#[derive(Clone, Copy, Debug, Default)]
struct EdgeWaits {
    data: f64,
    credit: f64,
    receive: f64,
    first: u32,
}

impl Found<'_> {
    #[inline]
    fn entry_of(&self, rank: u32) -> f64 {
        // A relay may belong to no group of the operation, and to no rank of its range.
        self.entry.get(rank.wrapping_sub(self.first_rank) as usize).copied().unwrap_or(0.0)
    }

    /// Writes the messages of all bundles.
    pub(crate) fn write(&self, scratch: &mut Scratch, out: &mut MessageColumns) {
        reserve(out, self.place.messages as usize);
        for bundle in &self.place.bundles {
            let group = bundle.group as usize;
            self.nodes(bundle, scratch);
            if (self.latest[group] + self.lasts[group]).is_finite() {
                self.first_waits(bundle, scratch);
                self.write_bundle(bundle, scratch, out);
            } else {
                self.done(bundle, scratch);
                self.write_stuck(bundle, scratch, out);
            }
        }
    }

    /// Entries of the nodes of a bundle; in trees that of the last below each.
    fn nodes(&self, bundle: &BundlePlace, scratch: &mut Scratch) {
        let nodes = bundle.nodes.start as usize..bundle.nodes.end as usize;
        scratch.nodes.clear();
        let latest = |node: usize| {
            let ranks = self.place.node(node).iter();
            ranks.map(|&rank| self.entry_of(rank)).fold(f64::NEG_INFINITY, f64::max)
        };
        scratch.nodes.extend(nodes.map(latest));
        let tree = bundle.tree.start as usize..bundle.tree.end as usize;
        subtrees(&mut scratch.nodes, &self.place.tree[tree]);
    }

    fn edges(&self, bundle: &BundlePlace) -> std::ops::Range<usize> {
        bundle.edges.start as usize..bundle.edges.end as usize
    }

    /// The first stage at which the receivers of a ring wait for longer than a stage takes.
    fn first_waits(&self, bundle: &BundlePlace, scratch: &mut Scratch) {
        let edges = self.edges(bundle);
        let (count, group) = (edges.len(), bundle.group as usize);
        scratch.first_wait.clear();
        scratch.first_wait.resize(count, bundle.stages);
        let patience = self.lasts[group] / f64::from(bundle.stages);
        scratch.queries.clear();
        // The last edge leads to the first position.
        for row in (0..count).map(|row| (row + count - 1) % count) {
            let edge = &self.place.edges[edges.start + row];
            if let Role::Ring { target } = edge.role {
                scratch.queries.push((target, self.entry_of(edge.target)));
            }
        }
        let first = scratch.queries.iter().map(|query| query.1).fold(f64::INFINITY, f64::min);
        if scratch.queries.len() < count || first + patience >= self.latest[group] {
            return;
        }
        let Scratch { nodes, queries, first_wait, stack, .. } = scratch;
        first_waits(nodes, patience, queries, stack, |query, stage| {
            if let Some(stage) = stage {
                first_wait[(query + count - 1) % count] = stage.min(bundle.stages);
            }
        });
    }

    /// What the ends of an edge waited for because ranks came late.
    fn waits(&self, bundle: &BundlePlace, edge: usize, scratch: &Scratch) -> EdgeWaits {
        let place = &self.place.edges[edge];
        let (latest, stages) = (self.latest[bundle.group as usize], bundle.stages);
        let patience = self.lasts[bundle.group as usize] / f64::from(stages);
        let begins = |wait: f64| if wait > patience { 0 } else { stages };
        match place.role {
            Role::Ring { .. } => {
                let (source, target) = (self.entry_of(place.source), self.entry_of(place.target));
                let credit = (target - source).max(0.0);
                let first = scratch.first_wait[edge - bundle.edges.start as usize];
                EdgeWaits { data: latest - source - credit, credit, receive: latest - target, first }
            }
            Role::Up { child, .. } => {
                let below = scratch.nodes[child as usize];
                let (source, target) = (self.entry_of(place.source), self.entry_of(place.target));
                let receive = (below - target).max(0.0);
                let credit = (target - below).max(0.0);
                EdgeWaits { data: below - source, credit, receive, first: begins(receive) }
            }
            Role::Down => {
                let (source, target) = (self.entry_of(place.source), self.entry_of(place.target));
                let receive = latest - target;
                EdgeWaits { data: latest - source, credit: 0.0, receive, first: begins(receive) }
            }
            Role::Pair { source, target } => self.pair(self.entry_of(source), self.entry_of(target), begins),
            Role::Relayed { node, target } => {
                let node = scratch.nodes[node as usize - bundle.nodes.start as usize];
                let own = self.entry_of(place.source);
                let pair = self.pair(node, self.entry_of(target), begins);
                EdgeWaits { data: node - own, ..pair }
            }
        }
    }

    fn pair(&self, source: f64, target: f64, begins: impl Fn(f64) -> u32) -> EdgeWaits {
        let receive = (source - target).max(0.0);
        // A send alone goes into a buffer that waits for it; an exchange posts its buffers when it begins.
        let credit = if self.place.is_pairs() { 0.0 } else { (target - source).max(0.0) };
        EdgeWaits { data: 0.0, credit, receive, first: begins(receive) }
    }

    fn write_bundle(&self, bundle: &BundlePlace, scratch: &Scratch, out: &mut MessageColumns) {
        let (place, state, stages) = (self.place, self.state, bundle.stages);
        let group = bundle.group as usize;
        let (communicator, sequence) = (place.communicator[group], self.sequence[group]);
        let (channel, lasts) = (self.rates.channel[bundle.row as usize], self.lasts[group]);
        let channel = if place.is_pairs() { 0 } else { channel };
        let hops = bundle.nodes.len() as u32;
        for edge in self.edges(bundle) {
            let mut waits = self.waits(bundle, edge, scratch);
            let messages = place.messages_of(edge);
            let ring = matches!(place.edges[edge].role, Role::Ring { .. });
            let downstream = state.downstream[edge];
            let share = self.rates.share[place.first_row as usize + messages.start];
            let stage_bytes = self.bytes * share * messages.len() as f64 / f64::from(stages);
            let by_credit = ring && downstream != EVEN && waits_for_credit(downstream, hops, stage_bytes);
            for message in messages {
                let bytes = self.bytes * self.rates.share[place.first_row as usize + message];
                let noise = self.factors.at(self.draw + message);
                let network = (state.message_ns[message] * self.bytes * noise).min(lasts);
                // A ring moves in lock step: who is faster than its slowest edge waits for it.
                let slack = if ring { lasts - network } else { 0.0 };
                let (mut data, mut credit, mut receive) = (waits.data, waits.credit, waits.receive);
                if by_credit {
                    credit += slack;
                } else {
                    data += slack;
                    receive += slack;
                    if downstream != EVEN && slack > network {
                        waits.first = waits.first.min(downstream.min(stages));
                    }
                }
                let per_stage = (bytes / (f64::from(stages) * MESSAGE)).ceil().max(1.0) as u32;
                out.push(
                    communicator,
                    sequence,
                    channel,
                    state.flow[message],
                    0,
                    stages,
                    per_stage * stages,
                    bytes as u64,
                    network as u64,
                    data.max(0.0) as u64,
                    credit as u64,
                    receive.max(0.0) as u64,
                    waits.first,
                );
            }
        }
    }

    /// How many stages each edge of an operation that never ends got through.
    fn done(&self, bundle: &BundlePlace, scratch: &mut Scratch) {
        let (place, stages) = (self.place, bundle.stages);
        let edges = self.edges(bundle);
        let dead =
            |edge: usize| place.messages_of(edge).any(|message| !self.state.message_ns[message].is_finite());
        let entered = |rank: u32| self.entry_of(rank).is_finite();
        scratch.done.clear();
        scratch.done.resize(edges.len(), stages);
        let hops = bundle.nodes.len() as u32;
        // Positions that nothing comes out of, and the edges that lead to them.
        let mut stopped: Vec<u32> = (0..hops)
            .filter(|&node| !scratch.nodes[node as usize].is_finite())
            .map(|node| (node + 1) % hops)
            .collect();
        stopped.extend(edges.clone().filter(|&edge| dead(edge)).filter_map(
            |edge| match place.edges[edge].role {
                Role::Ring { target } => Some(target),
                _ => None,
            },
        ));
        for (row, edge) in edges.enumerate() {
            let at = &place.edges[edge];
            scratch.done[row] = match at.role {
                _ if dead(edge) || !entered(at.source) || !entered(at.target) => 0,
                Role::Ring { target } => {
                    let from = stopped.iter().map(|&stop| (target + hops - stop) % hops).min();
                    from.unwrap_or(stages).min(stages)
                }
                Role::Up { child, .. } if scratch.nodes[child as usize].is_finite() => stages,
                Role::Up { .. } | Role::Down => 0,
                Role::Pair { source, target } => {
                    if entered(source) && entered(target) {
                        stages
                    } else {
                        0
                    }
                }
                Role::Relayed { node, .. } => {
                    let node = scratch.nodes[node as usize - bundle.nodes.start as usize];
                    if node.is_finite() { stages } else { 0 }
                }
            };
        }
    }

    /// The messages of an operation that never ends: the stages that went through. Waits that go on are not told.
    fn write_stuck(&self, bundle: &BundlePlace, scratch: &Scratch, out: &mut MessageColumns) {
        let (place, group) = (self.place, bundle.group as usize);
        let channel = if place.is_pairs() { 0 } else { self.rates.channel[bundle.row as usize] };
        for (edge, &done) in self.edges(bundle).zip(&scratch.done) {
            if !self.entry_of(place.edges[edge].source).is_finite() {
                continue;
            }
            let part = f64::from(done) / f64::from(bundle.stages);
            for message in place.messages_of(edge) {
                let bytes = self.bytes * self.rates.share[place.first_row as usize + message];
                let per_stage = (bytes / (f64::from(bundle.stages) * MESSAGE)).ceil().max(1.0) as u32;
                let network = if done > 0 { self.state.message_ns[message] * self.bytes * part } else { 0.0 };
                out.push(
                    place.communicator[group],
                    self.sequence[group],
                    channel,
                    self.state.flow[message],
                    0,
                    done,
                    per_stage * done,
                    (bytes * part) as u64,
                    network as u64,
                    0,
                    0,
                    0,
                    done,
                );
            }
        }
    }
}

/// Makes room for so many rows.
fn reserve(out: &mut MessageColumns, rows: usize) {
    for column in [
        &mut out.communicator,
        &mut out.sequence,
        &mut out.channel,
        &mut out.flow,
        &mut out.stage,
        &mut out.stages,
        &mut out.messages,
        &mut out.first_wait_stage,
    ] {
        column.reserve(rows);
    }
    for column in [
        &mut out.bytes,
        &mut out.network_ns,
        &mut out.data_wait_ns,
        &mut out.credit_wait_ns,
        &mut out.receive_wait_ns,
    ] {
        column.reserve(rows);
    }
}

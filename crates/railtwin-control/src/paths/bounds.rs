//! What lies beyond each switch of a pair's ways, kept from one queue pair to the next.
//!
//! While queue pairs are placed the uses of links only grow, so the least use that was once found beyond a switch
//! stays a lower bound. The next queue pair of the same pair of leaves goes down from the source leaf along the links
//! that these bounds call best, and looks anew only at the switches it meets; if one has more use than it was known
//! for, another may be best, and it looks there. What it answers is as exact as two passes over all links.
use railtwin_fabric::DeviceId;

use super::dag::PathDag;
use super::flow::{Burden, Flow, Landing};
use super::lanes;

/// Of a link: used more than the limit, or with no way behind it that lands as asked.
pub(super) const OVER: u32 = u32::MAX;

/// What is known to lie between a node and the target.
#[derive(Clone, Copy, Default, Debug)]
struct Beyond {
    /// The most used link of any way has at least this use; [`u64::MAX`] where there is none that lands as asked.
    most: u64,
    /// The sum of any way within the limit is at least this; [`u64::MAX`] where there is none.
    sum: u64,
    /// Turns in which the two were found to be exact.
    most_turn: u64,
    sum_turn: u64,
    /// Links out of the node before these are more than is known of it.
    most_from: u32,
    sum_from: u32,
}

/// Bounds of one pair of leaves.
#[derive(Clone, Default, Debug)]
pub(super) struct Bounds {
    /// Since when uses have only grown; a question of another generation starts from nothing.
    generation: Option<u64>,
    /// Ways whose sum counts have no link that is used more.
    limit: u64,
    /// Counts questions.
    turn: u64,
    /// The target and landing of the last question.
    asked: Option<(DeviceId, Landing)>,
    /// By node.
    beyond: Vec<Beyond>,
    /// By link of the ways: its use and the sum beyond it are at least this, as they once were; [`OVER`] where that is
    /// more than fits, or the link out of the question.
    through: Vec<u32>,
    /// Members of the last choice that lead where a packet may land as asked.
    pub(super) landing_members: u64,
}

impl Bounds {
    /// The least use that the most used link of any way has that lands as asked; none if there is no such way.
    /// `generation` is another one whenever a use may have fallen or the ways may have changed.
    pub(super) fn least_most(
        &mut self,
        flow: &Flow<'_, '_>,
        landing: Landing,
        generation: u64,
    ) -> Option<u64> {
        self.turn += 1;
        let mut is_known = self.generation == Some(generation);
        self.generation = Some(generation);
        self.beyond.resize(flow.dag.nodes.len(), Beyond::default());
        let asked = Some((flow.target, landing));
        if !is_known || self.asked != asked {
            self.asked = asked;
            for (&leaf, node) in flow.dag.leaves.iter().zip(flow.dag.delivering()) {
                let most = if flow.offers(node, landing) { 0 } else { u64::MAX };
                is_known &= self.beyond[leaf as usize].most == most;
                self.beyond[leaf as usize].most = most;
            }
        }
        if is_known {
            let most = self.exact_most(flow, 0);
            if most != self.limit && most != u64::MAX {
                self.sum_up(flow.dag, flow.cost, most);
            }
        } else {
            let lands = |node: u32| self.beyond[node as usize].most != u64::MAX;
            let last = flow.dag.last_choice.as_ref();
            let is_leaf = |node: u32| flow.dag.nodes[node as usize].delivers;
            let members = last.map_or(0, |last| last.members(flow.dag, |node| is_leaf(node) && lands(node)));
            self.landing_members = members;
            self.find_most(flow.dag, flow.cost);
            self.sum_up(flow.dag, flow.cost, self.beyond[0].most);
        }
        let most = self.beyond[0].most;
        (most != u64::MAX).then_some(most)
    }

    /// The least sum of the ways whose most used link is that of [`Self::least_most`], which was asked last.
    pub(super) fn least_sum(&mut self, flow: &Flow<'_, '_>) -> u64 {
        self.exact_sum(flow, 0)
    }

    /// A lower bound of the use of the most used link beyond a node.
    #[inline]
    pub(super) fn most(&self, node: u32) -> u64 {
        self.beyond[node as usize].most
    }

    /// A lower bound of the sum of uses beyond a node over links used no more than the optimum's most used.
    #[inline]
    pub(super) fn sum(&self, node: u32) -> u64 {
        self.beyond[node as usize].sum
    }

    /// By link of the ways a lower bound of the sum from it on.
    #[inline]
    pub(super) fn through(&self) -> &[u32] {
        &self.through
    }

    /// The sum from a link of that use on, as the node behind it is known.
    #[inline]
    pub(super) fn find_through(&mut self, edge: usize, use_of: u64, next: u32, limit: u64) -> u32 {
        let sum = use_of.saturating_add(self.beyond[next as usize].sum).min(u64::from(OVER));
        let through = if use_of <= limit { sum as u32 } else { OVER };
        self.through[edge] = through;
        through
    }

    /// Takes over where packets may land, and sums up under another limit; the least sum of all ways.
    pub(super) fn under(&mut self, flow: &Flow<'_, '_>, limit: u64, of: &Self) -> u64 {
        self.beyond.clear();
        self.beyond.extend_from_slice(&of.beyond);
        self.sum_up(flow.dag, flow.cost, limit);
        self.sum(0)
    }

    /// Whether a way that has come to a node with that burden may have less than `least` in the end.
    #[inline]
    pub(super) fn may_beat(&self, node: u32, (most, sum): Burden, least: Burden) -> bool {
        let further = self.most(node);
        (further != u64::MAX) & ((most.max(further), sum) < least)
    }

    /// One pass from the far end.
    fn find_most(&mut self, dag: &PathDag, cost: &[u64]) {
        for (index, node) in dag.nodes.iter().enumerate().rev().filter(|(_, node)| !node.delivers) {
            let through = dag.edges[node.edges()].iter().map(|edge| {
                let further = self.beyond[edge.next as usize].most;
                further.max(cost[edge.link.index()])
            });
            self.beyond[index].most = through.min().unwrap_or(u64::MAX);
            self.beyond[index].most_turn = self.turn;
            self.beyond[index].most_from = node.first;
        }
    }

    /// Another: a higher limit lets more links in, so no sum found under a lower one is a bound.
    fn sum_up(&mut self, dag: &PathDag, cost: &[u64], limit: u64) {
        self.limit = limit;
        self.through.clear();
        self.through.resize(dag.edges.len(), OVER);
        for (index, node) in dag.nodes.iter().enumerate().rev() {
            let mut least = u64::MAX;
            for (edge, at) in dag.edges[node.edges()].iter().zip(node.edges()) {
                let (cost, further) = (cost[edge.link.index()], self.beyond[edge.next as usize].sum);
                if cost <= limit && further != u64::MAX {
                    least = least.min(cost + further);
                    self.through[at] = (cost + further).min(u64::from(OVER)) as u32;
                }
            }
            let offered = if self.beyond[index].most == 0 { 0 } else { u64::MAX };
            self.beyond[index].sum = if node.delivers { offered } else { least };
            self.beyond[index].sum_turn = self.turn;
            self.beyond[index].sum_from = node.first;
        }
    }

    /// The use of the most used link beyond a node: the first link as good as the node is known for, if what lies
    /// beyond that is as good as known too.
    fn exact_most(&mut self, flow: &Flow<'_, '_>, index: usize) -> u64 {
        let (node, known) = (&flow.dag.nodes[index], self.beyond[index]);
        if node.delivers || known.most_turn == self.turn {
            return known.most;
        }
        let edges = node.edges();
        let (mut at, mut most) = (known.most_from as usize, known.most);
        loop {
            let through = |edge: &super::dag::Edge, of: &Self| {
                flow.cost[edge.link.index()].max(of.beyond[edge.next as usize].most)
            };
            while let Some(edge) = flow.dag.edges[..edges.end].get(at) {
                let is_good = through(edge, self) <= most;
                if is_good && self.exact_most(flow, edge.next as usize) <= most {
                    break;
                }
                at += 1;
            }
            if at == edges.end && most != u64::MAX {
                // The best of all, as they are known.
                let all = flow.dag.edges[edges.clone()].iter().map(|edge| through(edge, self));
                most = all.min().unwrap_or(u64::MAX);
                at = edges.start;
                if most != u64::MAX {
                    continue;
                }
            }
            let beyond = &mut self.beyond[index];
            (beyond.most, beyond.most_turn, beyond.most_from) = (most, self.turn, at as u32);
            return most;
        }
    }

    /// The same of the sum within the limit.
    pub(super) fn exact_sum(&mut self, flow: &Flow<'_, '_>, index: usize) -> u64 {
        let (node, known) = (&flow.dag.nodes[index], self.beyond[index]);
        if node.delivers || known.sum_turn == self.turn {
            return known.sum;
        }
        loop {
            let (least, child) = self.best_link(flow, index);
            let before = self.beyond[child].sum;
            if least == u64::MAX || self.exact_sum(flow, child) == before {
                let beyond = &mut self.beyond[index];
                if least > beyond.sum {
                    beyond.sum_from = node.first;
                }
                (beyond.sum, beyond.sum_turn) = (least, self.turn);
                return least;
            }
        }
    }

    /// The first link out of a node that is as good as the node is known for, or else the best; [`u64::MAX`] where none is
    /// open.
    fn best_link(&mut self, flow: &Flow<'_, '_>, index: usize) -> (u64, usize) {
        let (edges, known) = (flow.dag.nodes[index].edges(), self.beyond[index].sum);
        let mut at = self.beyond[index].sum_from as usize;
        while let Some(next) = self.through[at..edges.end].iter().position(|&of| u64::from(of) <= known) {
            at += next;
            let (sum, child) = self.sum_through(flow, at);
            if sum <= known {
                self.beyond[index].sum_from = at as u32;
                return (sum, child);
            }
            at += 1;
        }
        self.beyond[index].sum_from = edges.end as u32;
        let over = if self.limit < lanes::SMALL { u64::from(OVER) } else { u64::MAX };
        let (mut least, mut best) = (u64::MAX, index);
        for at in edges {
            if u64::from(self.through[at]) < least.min(over) {
                let (sum, child) = self.sum_through(flow, at);
                if sum < least {
                    (least, best) = (sum, child);
                }
            }
        }
        (least, best)
    }

    /// The sum from a link on, as the node behind it is known, and that node; [`u64::MAX`] where the link is not open.
    #[inline]
    fn sum_through(&mut self, flow: &Flow<'_, '_>, at: usize) -> (u64, usize) {
        let edge = &flow.dag.edges[at];
        let use_of = flow.cost[edge.link.index()];
        self.find_through(at, use_of, edge.next, self.limit);
        let sum = use_of.saturating_add(self.sum(edge.next));
        (if use_of <= self.limit { sum } else { u64::MAX }, edge.next as usize)
    }
}

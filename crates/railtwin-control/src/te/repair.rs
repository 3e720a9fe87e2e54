//! Making room on links that are too full by moving flows aside in chains.
//!
//! Placing flows of one rate on spines is colouring the edges of a bipartite multigraph: leaves
//! that send, leaves that receive, spines as colours. Taking colours greedily may need nearly twice
//! as many as there must be, but swapping two colours along an alternating path always frees one
//! (Kőnig 1916), so a fabric at 1:1 can carry every permutation. Flows of different rates have no
//! such promise; the same chains are tried for them.

use railtwin_fabric::LinkId;

use crate::te::flows::Flows;
use crate::te::spread::{Loads, SLACK, Spread};

/// Longest chain of moves. Alternating paths are seldom longer than a few leaves.
const CHAIN_MAX: usize = 256;

/// The placement while it is being mended.
pub(crate) struct Repair<'a, 'b> {
    flows: &'a Flows,
    spread: &'a Spread<'a>,
    loads: &'b mut Loads,
    next: &'b mut [Option<LinkId>],
    /// Flows with an entry, largest first.
    order: &'b [u32],
    /// By link: flows with an entry that load it.
    on_link: Vec<Vec<u32>>,
    scratch: Vec<(LinkId, f64)>,
    /// Moves that may still be tried.
    budget: usize,
}

impl<'a, 'b> Repair<'a, 'b> {
    pub(crate) fn new(
        flows: &'a Flows,
        spread: &'a Spread<'a>,
        loads: &'b mut Loads,
        next: &'b mut [Option<LinkId>],
        order: &'b [u32],
    ) -> Self {
        let on_link = vec![Vec::new(); loads.by_link.len()];
        let mut repair = Self { flows, spread, loads, next, order, on_link, scratch: Vec::new(), budget: 0 };
        for &flow in order {
            repair.links_of(flow);
            for &(link, _) in &repair.scratch {
                repair.on_link[link.index()].push(flow);
            }
        }
        repair
    }

    /// Takes flows off links that are too full, smallest first, and puts each on again, largest first, where room
    /// can be made for it; tries at most `moves` moves. What finds no room goes back. Chains start from links
    /// that are in order, as the proof has it: one that meets a link too full already may have no end.
    pub(crate) fn run(&mut self, moves: usize) {
        self.budget = moves;
        let mut loose = Vec::new();
        for &flow in self.order.iter().rev() {
            self.links_of(flow);
            if self.scratch.iter().any(|&(link, _)| self.loads.is_over(link)) {
                let from = self.next[flow as usize].expect("flows in order have entries");
                self.remove(flow);
                loose.push((flow, from));
            }
        }
        for (flow, from) in loose.into_iter().rev() {
            self.make_room(flow);
            if self.next[flow as usize].is_none() {
                self.put(flow, from);
            }
        }
    }

    /// Fills the scratch list with the links that a flow loads.
    fn links_of(&mut self, flow: u32) {
        let next = self.next[flow as usize];
        self.spread.loads(self.flows, &self.flows.list[flow as usize], next, &mut self.scratch);
    }

    /// Tries chains over pairs of spines until one leaves no link of theirs too full.
    fn make_room(&mut self, number: u32) {
        let flow = &self.flows.list[number as usize];
        // A spine can start a chain if the flow fits on its uplink, and be the other one if what
        // lies beyond has room for the flow.
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for &candidate in self.spread.candidates(self.flows, flow) {
            self.spread.loads(self.flows, flow, Some(candidate), &mut self.scratch);
            let mut fits =
                self.scratch.iter().map(|&(link, rate)| self.loads.with(link, rate) <= 1.0 + SLACK);
            let uplink_fits = fits.next().unwrap_or(false);
            let beyond_fits = fits.all(|fits| fits);
            let spine = self.spread.row_beyond(candidate);
            if uplink_fits {
                near.push(spine);
            }
            if beyond_fits {
                far.push(spine);
            }
        }
        near.dedup();
        far.dedup();
        for &a in &near {
            for &b in &far {
                if self.budget == 0 || self.chain(number, [a, b]) {
                    return;
                }
            }
        }
    }

    /// Puts `flow`, which has no entry yet, on spine `spines[0]`, who is in its way there to `spines[1]`, who is in the way
    /// there to `spines[0]`, and so on. Undone if it does not end with all links of the chain in order.
    fn chain(&mut self, flow: u32, spines: [u32; 2]) -> bool {
        let mut moved: Vec<(u32, Option<LinkId>)> = Vec::new();
        let mut current = flow;
        let mended = loop {
            let from = self.next[current as usize];
            let to = self.uplink_to(current, spines[moved.len() % 2]);
            let Some(to) = to.filter(|_| self.budget > 0 && moved.len() < CHAIN_MAX) else { break false };
            self.budget -= 1;
            if from.is_some() {
                self.remove(current);
            }
            self.put(current, to);
            moved.push((current, from));
            match self.in_the_way(current, &moved) {
                Blocked::No => break true,
                Blocked::ByFlow(victim) => current = victim,
                Blocked::ForGood => break false,
            }
        };
        if !mended {
            for (flow, from) in moved.into_iter().rev() {
                self.remove(flow);
                if let Some(from) = from {
                    self.put(flow, from);
                }
            }
        }
        mended
    }

    /// The emptiest uplink of the flow to a spine, other than the one it has.
    fn uplink_to(&self, number: u32, spine: u32) -> Option<LinkId> {
        let candidates = self.spread.candidates(self.flows, &self.flows.list[number as usize]);
        let to_spine = candidates.iter().copied().filter(|&link| {
            self.next[number as usize] != Some(link) && self.spread.row_beyond(link) == spine
        });
        to_spine.min_by(|&a, &b| self.loads.with(a, 0.0).total_cmp(&self.loads.with(b, 0.0)))
    }

    /// Who must leave for `flow` to fit where it is now.
    fn in_the_way(&mut self, flow: u32, moved: &[(u32, Option<LinkId>)]) -> Blocked {
        self.links_of(flow);
        let mut over = self.scratch.iter().filter(|&&(link, _)| self.loads.is_over(link));
        let Some(&(link, _)) = over.next() else { return Blocked::No };
        if over.next().is_some() {
            return Blocked::ForGood;
        }
        // The smallest flow whose leaving is enough.
        let excess = self.loads.with(link, 0.0) - 1.0 - SLACK;
        let enough = |&&other: &&u32| {
            let freed =
                self.loads.with(link, 0.0) - self.loads.with(link, -self.flows.list[other as usize].rate);
            freed >= excess && moved.iter().all(|&(moved, _)| moved != other)
        };
        let rate = |flow: &u32| self.flows.list[*flow as usize].rate;
        let others = self.on_link[link.index()].iter().filter(enough);
        let smallest =
            others.min_by(|&a, &b| (rate(a), a).partial_cmp(&(rate(b), b)).expect("rates are numbers"));
        smallest.map_or(Blocked::ForGood, |&other| Blocked::ByFlow(other))
    }

    /// Takes the entry of a flow away.
    fn remove(&mut self, flow: u32) {
        self.links_of(flow);
        self.loads.subtract(&self.scratch);
        for &(link, _) in &self.scratch {
            let list = &mut self.on_link[link.index()];
            let at = list.iter().position(|&other| other == flow).expect("lists are kept in step");
            list.swap_remove(at);
        }
        self.next[flow as usize] = None;
    }

    /// Gives a flow without an entry an uplink.
    fn put(&mut self, flow: u32, to: LinkId) {
        self.next[flow as usize] = Some(to);
        self.links_of(flow);
        self.loads.add(&self.scratch);
        for &(link, _) in &self.scratch {
            self.on_link[link.index()].push(flow);
        }
    }
}

enum Blocked {
    No,
    ByFlow(u32),
    ForGood,
}

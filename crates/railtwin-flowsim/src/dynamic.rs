//! Bundles whose queue pairs carry what each can: the split by least outstanding bytes (HPN section 6.1).
//!
//! Every queue pair is a variable of its own, a *strand*. An edge moves at the sum of its strands, a bundle at
//! its slowest edge, and every other edge is *held* to that pace: it gives back what it does not use.
//!
//! A connection has slots, and a message is bound to a queue pair when one is free. Where slots become free in order,
//! oldest first, the messages on a slow queue pair hold up those behind them: no queue pair of the edge runs ahead of
//! its slowest by more than a factor, its [`lead`]. An edge *reaches* the sum of its strands, each no faster than
//! that; what they could do beyond is left to others.
//!
//! What is computed, up to [`SETTLED`]:
//! 1. No link is over its capacity, no bundle over its cap, and edge `e` carries exactly `amount(e) · pace`.
//! 2. A strand has a full link on which no strand is faster, or runs at the highest rate of its held edge: a
//!    held edge comes down from the top, its fast strands first, as if it crossed one more link of that width.
//! 3. A bundle below its cap has an edge that is not held: every strand of it has such a full link, or runs ahead
//!    of the slowest by the lead. To raise the bundle, a strand that is not faster than its own would have to give
//!    way, or a held edge to move bytes from one of its paths to another.
//!
//! So this is fairness among queue pairs, as switches give it, not among bundles; and a held edge does not
//! look for the paths that would help others most, so a linear program that may choose all splits together
//! can reach more. Without held edges, 2 says that strands are max-min fair.
//!
//! The fixed point is found by asking: each bundle asks for a pace, every edge is a link of `amount · pace`,
//! and the exact solver tells what each edge gets. A bundle that gets all it asked for asks for more; one
//! that does not asks for little more than it got, and for less more each time, or than where what it gets crosses what
//! it asks for (`seek.rs`).
use crate::max_min::{Problem, Solver};
use crate::seek::{SETTLED, Seek, is_short};

/// Rounds after which the search stops. Half of random cases of 12 to 41 bundles need at most 40 rounds, nineteen in
/// twenty at most 100 (`nearly_every_search_comes_to_rest_soon`); where paths leave nothing to hold, one does.
pub const ROUNDS_MAX: usize = 500;

/// The queue pairs of a set of bundles, as columns.
#[derive(Clone, Debug, Default)]
pub struct Strands {
    /// CSR: strands of bundle `b` are `bundle_start[b]..bundle_start[b + 1]`, edges contiguous.
    pub bundle_start: Vec<u32>,
    /// Edge of each strand within its bundle.
    pub edge: Vec<u32>,
    /// Bytes on the edge for each byte of the bundle.
    pub amount: Vec<f64>,
    /// Weights.
    pub weights: Vec<f64>,
    /// CSR of links by strand; every strand has at least one.
    pub start: Vec<u32>,
    /// Links, dense small ids.
    pub links: Vec<u32>,
    /// Shares, all 1.
    pub shares: Vec<f64>,
    /// Most that each bundle may move.
    pub bundle_caps: Vec<f64>,
    /// Slots of a connection that become free in order; none where no strand waits for another.
    pub slots: Option<u32>,
}

/// By what factor a queue pair runs ahead of the slowest of its connection, of `queue_pairs` with `slots` that become
/// free in order: 2 − queue pairs / slots, and 1 where there are no more slots than queue pairs.
///
/// At a moment at which no slot is held, all W of them become free at once; the counters of all Q queue pairs are
/// alike, so each gets W / Q messages. While the slowest works them off the others end theirs, and get whatever becomes
/// free: what stands before the slowest's last message, W − Q. Then all W are free again. So 2 W − Q messages take the
/// slowest W / Q of its own, and any other carries (2 W − Q) / W times as many. With one message for each queue pair, or
/// fewer, they come in turn.
pub fn lead(slots: Option<u32>, queue_pairs: usize) -> f64 {
    slots.map_or(f64::INFINITY, |slots| (2.0 - queue_pairs as f64 / f64::from(slots.max(1))).max(1.0))
}

/// The strands of one edge, and its bundle.
#[derive(Clone, Debug)]
struct EdgeSpan {
    strands: std::ops::Range<usize>,
    bundle: usize,
    /// Factor by which strands run ahead of the slowest.
    lead: f64,
}

/// The strands with one more link for each edge: what its bundle asks for.
#[derive(Debug)]
struct Asking<'a> {
    strands: &'a Strands,
    edges: Vec<EdgeSpan>,
    /// Links of the fabric; links of edges follow.
    links: usize,
    start: Vec<u32>,
    columns: Vec<u32>,
    shares: Vec<f64>,
    caps: Vec<f64>,
    capacities: Vec<f64>,
    full: Vec<bool>,
    /// Whether the solver knows what stands where.
    laid_out: bool,
}

/// Solves; writes the pace of each bundle and the rate of each strand, and returns the rounds it took.
pub fn solve(
    solver: &mut Solver,
    strands: &Strands,
    capacities: &[f64],
    paces: &mut Vec<f64>,
    rates: &mut Vec<f64>,
) -> usize {
    let mut asking = Asking::new(strands, capacities);
    let mut asked = strands.bundle_caps.clone();
    let mut seeks = vec![Seek::new(asked.len(), strands.edge.len()); asked.len()];
    let mut rounds = 0;
    while rounds < ROUNDS_MAX {
        rounds += 1;
        asking.solve(solver, &asked, rates);
        asking.reach(rates, paces);
        if asking.settled(&asked, paces, rates) {
            break;
        }
        for ((seek, asked), (&pace, &cap)) in
            seeks.iter_mut().zip(&mut asked).zip(paces.iter().zip(&strands.bundle_caps))
        {
            *asked = seek.next(*asked, pace, rounds).min(cap);
        }
    }
    asking.come_down(paces, rates);
    rounds
}

impl<'a> Asking<'a> {
    fn new(strands: &'a Strands, capacities: &[f64]) -> Self {
        let mut edges: Vec<EdgeSpan> = Vec::new();
        let (mut start, mut columns) = (vec![0], Vec::with_capacity(strands.links.len()));
        for bundle in 0..strands.bundle_caps.len() {
            let range = strands.bundle_start[bundle] as usize..strands.bundle_start[bundle + 1] as usize;
            for s in range.clone() {
                if s == range.start || strands.edge[s] != strands.edge[s - 1] {
                    edges.push(EdgeSpan { strands: s..s, bundle, lead: f64::INFINITY });
                }
                let row = edges.len() - 1;
                edges[row].strands.end = s + 1;
                columns.extend(&strands.links[strands.start[s] as usize..strands.start[s + 1] as usize]);
                columns.push((capacities.len() + row) as u32);
                start.push(columns.len() as u32);
            }
        }
        for edge in &mut edges {
            edge.lead = lead(strands.slots, edge.strands.len());
        }
        let mut all = capacities.to_vec();
        all.resize(capacities.len() + edges.len(), f64::INFINITY);
        Self {
            strands,
            edges,
            links: capacities.len(),
            start,
            shares: vec![1.0; columns.len()],
            columns,
            caps: vec![f64::INFINITY; strands.edge.len()],
            capacities: all,
            full: Vec::new(),
            laid_out: false,
        }
    }

    /// Rates of all strands when bundles ask for `asked`.
    fn solve(&mut self, solver: &mut Solver, asked: &[f64], rates: &mut Vec<f64>) {
        for (row, edge) in self.edges.iter().enumerate() {
            self.capacities[self.links + row] = asked[edge.bundle] * self.strands.amount[edge.strands.start];
        }
        let problem = Problem {
            start: &self.start,
            links: &self.columns,
            shares: &self.shares,
            weights: &self.strands.weights,
            caps: &self.caps,
            capacities: &self.capacities,
        };
        if std::mem::replace(&mut self.laid_out, true) {
            solver.solve_again(&problem, rates);
        } else {
            solver.solve(&problem, rates);
        }
    }

    /// The pace that the slowest edge of each bundle allows.
    fn reach(&self, rates: &[f64], paces: &mut Vec<f64>) {
        paces.clear();
        paces.extend_from_slice(&self.strands.bundle_caps);
        for edge in &self.edges {
            let reach = reached(edge, rates) / self.strands.amount[edge.strands.start];
            paces[edge.bundle] = paces[edge.bundle].min(reach);
        }
    }

    /// Whether every bundle runs at its cap or got less than it asked for, and no edge takes from a full link
    /// more than its bundle's pace needs.
    fn settled(&mut self, asked: &[f64], paces: &[f64], rates: &[f64]) -> bool {
        let caps = &self.strands.bundle_caps;
        let mut short = asked.iter().zip(paces).zip(caps);
        // Without a pace a link of the bundle is dead, and no asking helps.
        let content = |((asked, pace), cap): ((&f64, &f64), &f64)| {
            is_short(*asked, *pace) || asked >= cap || *pace <= 0.0
        };
        if !short.all(content) {
            return false;
        }
        let mut left = self.capacities[..self.links].to_vec();
        for (s, rate) in rates.iter().enumerate() {
            for &link in self.real_links(s) {
                left[link as usize] -= rate;
            }
        }
        self.full.clear();
        self.full.extend(left.iter().zip(&self.capacities).map(|(left, all)| *left <= all * SETTLED));
        self.edges.iter().all(|edge| {
            let needed = paces[edge.bundle] * self.strands.amount[edge.strands.start];
            total(edge, rates) <= needed * (1.0 + SETTLED)
                || !edge
                    .strands
                    .clone()
                    .any(|s| self.real_links(s).iter().any(|&link| self.full[link as usize]))
        })
    }

    fn real_links(&self, strand: usize) -> &'a [u32] {
        let strands = self.strands;
        &strands.links[strands.start[strand] as usize..strands.start[strand + 1] as usize]
    }

    /// Makes paces and rates agree: the strands of an edge come down, the fastest first, to the pace.
    fn come_down(&self, paces: &[f64], rates: &mut [f64]) {
        for edge in &self.edges {
            let target = paces[edge.bundle] * self.strands.amount[edge.strands.start];
            let level = level_for(&rates[edge.strands.clone()], target);
            for rate in &mut rates[edge.strands.clone()] {
                *rate = rate.min(level);
            }
        }
    }
}

fn total(edge: &EdgeSpan, rates: &[f64]) -> f64 {
    rates[edge.strands.clone()].iter().sum()
}

/// The sum of an edge's strands, none of them further ahead of the slowest than its lead.
fn reached(edge: &EdgeSpan, rates: &[f64]) -> f64 {
    if edge.lead == f64::INFINITY || edge.strands.len() < 2 {
        return total(edge, rates);
    }
    let rates = &rates[edge.strands.clone()];
    let most = edge.lead * rates.iter().copied().fold(f64::INFINITY, f64::min);
    rates.iter().map(|rate| rate.min(most)).sum()
}

/// The level at which `Σ min(rate, level)` equals `target`.
fn level_for(rates: &[f64], target: f64) -> f64 {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut below = 0.0;
    for (i, &rate) in sorted.iter().enumerate() {
        let level = (target - below) / (sorted.len() - i) as f64;
        if level <= rate {
            return level;
        }
        below += rate;
    }
    f64::INFINITY
}

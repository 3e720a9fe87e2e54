//! Many priorities to few levels: the maximum K-cut of the contention DAG (Crux, section 4.3, Algorithm 1).
//!
//! Jobs are nodes. Where two contend for a link, an edge goes from the one of higher priority to the other, with the
//! intensity of the first as its weight: what is lost when both get one level. A topological order is cut into at most K
//! runs of jobs, so no edge ever points from a lower level to a higher one; of several random orders the best cut counts.
//! Where levels come from the lot of an order alone, as of jobs that contend with nobody, they follow the priorities.
//! For each order the cost is O(n² + n·K + n²) for n jobs: sums of weights, and cut points that only move forward.
use railtwin_units::stream;
use rand::RngExt;

pub use super::contention_dag::ContentionDag;
use super::demand::Demand;
use super::ties::{Ties, in_order};

/// Topological orders that are tried, `m` of the paper.
pub const ORDERS: u32 = 10;

/// Levels, and what they keep apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Compressed {
    /// By job; 0 goes first.
    pub levels: Vec<u32>,
    /// Sum of weights between jobs of different levels.
    pub cut: f64,
}

impl ContentionDag {
    /// Of jobs whose priorities fall in `order`.
    pub fn of(demand: &Demand, order: &[usize]) -> Self {
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &job)| place[job] = at);
        let edges = demand.contending().into_iter().map(|(first, second)| {
            let (above, below) = if place[first] < place[second] { (first, second) } else { (second, first) };
            (above, below, demand.jobs[above].intensity())
        });
        let dag = Self::of_edges(order.len(), &edges.collect::<Vec<_>>());
        Self { order: order.to_vec(), ..dag }
    }

    /// Of `jobs` nodes, the first of the highest priority, and edges (from, to, weight) from higher ones to lower ones.
    pub fn of_edges(jobs: usize, edges: &[(usize, usize, f64)]) -> Self {
        let mut weights = vec![0.0; jobs * jobs];
        edges.iter().for_each(|&(above, below, weight)| weights[above * jobs + below] = weight);
        Self { jobs, weights, order: (0..jobs).collect() }
    }

    /// Sum of all weights.
    pub fn total(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// Jobs that contend with `job`, each with the weight from it and to it.
    pub(super) fn neighbours(&self, job: usize) -> Vec<(usize, f64, f64)> {
        let of = |other| (other, self.weight(job, other), self.weight(other, job));
        (0..self.jobs).map(of).filter(|(_, from, to)| *from > 0.0 || *to > 0.0).collect()
    }

    fn weight(&self, above: usize, below: usize) -> f64 {
        self.weights[above * self.jobs + below]
    }

    /// Levels below `levels`, from [`ORDERS`] random topological orders of `seed`: the best cut, and of those that keep as much
    /// apart one in which levels follow the priorities.
    pub fn compress(&self, levels: u32, seed: u64) -> Compressed {
        let mut stream = stream::named(seed, "crux-topological-order");
        let mut best = Compressed { levels: vec![0; self.jobs], cut: -1.0 };
        for _ in 0..ORDERS {
            let order = self.random_order(&mut stream);
            let cut = self.best_cut(&order, levels);
            if cut.cut > best.cut {
                best = cut;
            }
        }
        in_order(&Ties::of(self, &self.order), &mut best.levels);
        // A pair that changed places may keep more apart than any order that was tried.
        let kept = |job: usize| -> f64 {
            let below = (0..self.jobs).filter(|&below| best.levels[job] != best.levels[below]);
            below.map(|below| self.weight(job, below)).sum()
        };
        Compressed { cut: (0..self.jobs).map(kept).sum(), levels: best.levels }
    }

    /// A topological order by breadth-first search: the next job by lot among those all of whose predecessors stand.
    fn random_order(&self, stream: &mut stream::Stream) -> Vec<usize> {
        let above = |job: usize| (0..self.jobs).filter(|&above| self.weight(above, job) > 0.0).count();
        let mut waits: Vec<usize> = (0..self.jobs).map(above).collect();
        let mut free: Vec<usize> = (0..self.jobs).filter(|&job| waits[job] == 0).collect();
        let mut order = Vec::with_capacity(self.jobs);
        while !free.is_empty() {
            let job = free.swap_remove(stream.random_range(0..free.len()));
            order.push(job);
            for below in (0..self.jobs).filter(|&below| self.weight(job, below) > 0.0) {
                waits[below] -= 1;
                if waits[below] == 0 {
                    free.push(below);
                }
            }
        }
        order
    }

    /// The best cut of a topological order into at most `levels` runs.
    ///
    /// `f(i, k) = max over j < i of f(j, k − 1) + C(j, i)`, where `C(j, i)` is the weight from the first j jobs to those
    /// from there to i. C fulfils `C(j, i) + C(j', i') ≥ C(j, i') + C(j', i)` for j < j' < i < i' (the difference is the
    /// weight from j..j' to i..i'), so the best j moves forward with i and with k (Yao 1980).
    pub fn best_cut(&self, order: &[usize], levels: u32) -> Compressed {
        let jobs = self.jobs;
        let runs = (levels as usize).min(jobs);
        // Weight from the first `row` jobs of the order to the first `column`.
        let mut sums = vec![0.0; (jobs + 1) * (jobs + 1)];
        let at = |row: usize, column: usize| row * (jobs + 1) + column;
        for row in 1..=jobs {
            for column in 1..=jobs {
                let weight = self.weight(order[row - 1], order[column - 1]);
                sums[at(row, column)] = sums[at(row - 1, column)] + sums[at(row, column - 1)]
                    - sums[at(row - 1, column - 1)]
                    + weight;
            }
        }
        let crossing = |from: usize, to: usize| sums[at(from, to)] - sums[at(from, from)];
        let mut best = vec![0.0; jobs + 1];
        let mut cuts: Vec<Vec<usize>> = Vec::with_capacity(runs);
        let mut least = vec![0; jobs + 1];
        for run in 2..=runs {
            let mut next = vec![f64::NEG_INFINITY; jobs + 1];
            let mut cut = vec![run - 1; jobs + 1];
            for to in (run..=jobs).rev() {
                let low = least[to].max(run - 1);
                let high = if to < jobs { cut[to + 1].min(to - 1) } else { to - 1 };
                for (from, &before) in best.iter().enumerate().take(high.max(low) + 1).skip(low) {
                    let value = before + crossing(from, to);
                    if value > next[to] {
                        (next[to], cut[to]) = (value, from);
                    }
                }
            }
            (best, least) = (next, cut.clone());
            cuts.push(cut);
        }
        let mut of = vec![0; jobs];
        let mut end = jobs;
        for (run, cut) in cuts.iter().enumerate().rev() {
            let begin = cut[end];
            order[begin..end].iter().for_each(|&job| of[job] = run as u32 + 1);
            end = begin;
        }
        Compressed { levels: of, cut: if jobs == 0 { 0.0 } else { best[jobs] } }
    }
}

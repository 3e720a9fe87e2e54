//! Exact weighted max-min fair rates by progressive filling.
//!
//! Variable `v` grows as `weight · level` until one of its links is full or its cap is reached; then it is
//! frozen and the others go on. The result is the one allocation in which every variable has a full link on
//! which none gets more per weight, or runs at its cap (Bertsekas and Gallager, Data Networks, section 6.5).
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A max-min problem as columns: variable `v` takes `shares[k] · rate` on each `links[k]` of its range.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// CSR: entries of variable `v` are `start[v]..start[v + 1]`.
    pub start: &'a [u32],
    /// Links, dense small ids.
    pub links: &'a [u32],
    /// Share of the variable's rate on the link; positive.
    pub shares: &'a [f64],
    /// Weights; positive.
    pub weights: &'a [f64],
    /// Caps; infinite without.
    pub caps: &'a [f64],
    /// Capacities by link.
    pub capacities: &'a [f64],
}

/// What the heap holds: the level at which a link is full, or a variable reaches its cap.
#[derive(Clone, Copy, PartialEq)]
struct Limit {
    level: f64,
    /// Link, or `links + variable` for a cap: equal levels are handled in this order.
    key: u32,
}

impl Eq for Limit {}

impl PartialOrd for Limit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Limit {
    /// Reversed: the heap gives the lowest level first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.level.total_cmp(&self.level).then(other.key.cmp(&self.key))
    }
}

/// A link while variables grow: together, as whoever freezes changes all of it.
#[derive(Clone, Copy, Debug)]
struct LinkState {
    /// Capacity left by frozen variables.
    left: f64,
    /// Sum of share · weight over growing variables.
    pull: f64,
    /// Growing variables on the link.
    growing: u32,
}

impl LinkState {
    fn level(&self) -> f64 {
        (self.left / self.pull).max(0.0)
    }
}

/// Memory that solves share, so that a solve allocates nothing once it is warm.
#[derive(Debug, Default)]
pub struct Solver {
    /// Links before any variable is frozen; what is left is filled in for each solve.
    fresh: Vec<LinkState>,
    state: Vec<LinkState>,
    /// CSR from link to variables.
    row_start: Vec<u32>,
    rows: Vec<u32>,
    heap: BinaryHeap<Limit>,
    frozen: Vec<bool>,
    links: usize,
}

impl std::fmt::Debug for Limit {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} at {}", self.key, self.level)
    }
}

impl Solver {
    /// Solves and writes the rate of every variable into `rates`, in the unit of the capacities.
    ///
    /// A variable without links runs at its cap. Work: entries · log links.
    pub fn solve(&mut self, problem: &Problem<'_>, rates: &mut Vec<f64>) {
        self.lay_out(problem);
        self.solve_again(problem, rates);
    }

    /// Solves the problem of the last [`Self::solve`] with other capacities or caps: what stands where is known.
    pub fn solve_again(&mut self, problem: &Problem<'_>, rates: &mut Vec<f64>) {
        let variables = problem.weights.len();
        rates.clear();
        rates.resize(variables, 0.0);
        self.start(problem);
        let mut left = variables;
        while left > 0 {
            let Some(limit) = self.heap.pop() else { break };
            if limit.key as usize >= self.links {
                let v = limit.key as usize - self.links;
                if !self.frozen[v] {
                    self.freeze(problem, v, problem.caps[v], rates);
                    left -= 1;
                }
                continue;
            }
            let link = limit.key as usize;
            if self.state[link].growing == 0 {
                continue;
            }
            let level = self.state[link].level();
            if level > limit.level {
                // Others froze below their share since: the link fills later.
                self.heap.push(Limit { level, key: limit.key });
                continue;
            }
            for k in self.row_start[link]..self.row_start[link + 1] {
                let v = self.rows[k as usize] as usize;
                if !self.frozen[v] {
                    let rate = (problem.weights[v] * limit.level).min(problem.caps[v]);
                    self.freeze(problem, v, rate, rates);
                    left -= 1;
                }
            }
        }
    }

    /// Fills the columns by link.
    fn lay_out(&mut self, problem: &Problem<'_>) {
        let (links, variables) = (problem.capacities.len(), problem.weights.len());
        self.links = links;
        self.fresh.clear();
        self.fresh.resize(links, LinkState { left: 0.0, pull: 0.0, growing: 0 });
        for v in 0..variables {
            for k in problem.start[v] as usize..problem.start[v + 1] as usize {
                let link = &mut self.fresh[problem.links[k] as usize];
                link.pull += problem.shares[k] * problem.weights[v];
                link.growing += 1;
            }
        }
        self.row_start.clear();
        self.row_start.push(0);
        let mut total = 0;
        for link in &self.fresh {
            total += link.growing;
            self.row_start.push(total);
        }
        self.rows.clear();
        self.rows.resize(total as usize, 0);
        // Fill backwards from each row's end, then the starts are right again.
        for v in (0..variables).rev() {
            for k in problem.start[v] as usize..problem.start[v + 1] as usize {
                let end = &mut self.row_start[problem.links[k] as usize + 1];
                *end -= 1;
                self.rows[*end as usize] = v as u32;
            }
        }
        for link in 0..links {
            self.row_start[link] = self.row_start[link + 1];
        }
        self.row_start[links] = total;
    }

    /// Lets nothing be frozen, and fills the heap with every link's first limit.
    fn start(&mut self, problem: &Problem<'_>) {
        self.frozen.clear();
        self.frozen.resize(problem.weights.len(), false);
        let with_capacity = |(link, &left): (&LinkState, &f64)| LinkState { left, ..*link };
        self.state.clear();
        self.state.extend(self.fresh.iter().zip(problem.capacities).map(with_capacity));
        let mut limits = std::mem::take(&mut self.heap).into_vec();
        limits.clear();
        for (link, state) in self.state.iter().enumerate() {
            if state.growing > 0 {
                limits.push(Limit { level: state.level(), key: link as u32 });
            }
        }
        for (v, (cap, weight)) in problem.caps.iter().zip(problem.weights).enumerate() {
            if cap.is_finite() {
                limits.push(Limit { level: cap / weight, key: (self.links + v) as u32 });
            }
        }
        self.heap = BinaryHeap::from(limits);
    }

    fn freeze(&mut self, problem: &Problem<'_>, v: usize, rate: f64, rates: &mut [f64]) {
        self.frozen[v] = true;
        rates[v] = rate;
        for k in problem.start[v] as usize..problem.start[v + 1] as usize {
            let link = &mut self.state[problem.links[k] as usize];
            link.left -= problem.shares[k] * rate;
            link.pull -= problem.shares[k] * problem.weights[v];
            link.growing -= 1;
        }
    }
}

/// Checks the optimality conditions: no link over capacity, and every variable at its cap or with a full link
/// on which none gets more per weight. Tolerances are relative.
///
/// # Errors
/// A sentence that names the first condition broken.
pub fn check_optimal(problem: &Problem<'_>, rates: &[f64], tolerance: f64) -> Result<(), String> {
    let mut used = vec![0.0; problem.capacities.len()];
    let mut level = vec![0.0_f64; problem.capacities.len()];
    let entries = |v: usize| problem.start[v] as usize..problem.start[v + 1] as usize;
    for (v, &rate) in rates.iter().enumerate() {
        for k in entries(v) {
            used[problem.links[k] as usize] += problem.shares[k] * rate;
            let highest = &mut level[problem.links[k] as usize];
            *highest = highest.max(rate / problem.weights[v]);
        }
    }
    for (link, (&used, &capacity)) in used.iter().zip(problem.capacities).enumerate() {
        if used > capacity * (1.0 + tolerance) + tolerance {
            return Err(format!("link {link} carries {used} over its capacity {capacity}"));
        }
    }
    for (v, &rate) in rates.iter().enumerate() {
        if rate > problem.caps[v] * (1.0 + tolerance) {
            return Err(format!("variable {v} runs at {rate} over its cap {}", problem.caps[v]));
        }
        let capped = rate >= problem.caps[v] * (1.0 - tolerance);
        let bottleneck = entries(v).any(|k| {
            let link = problem.links[k] as usize;
            used[link] >= problem.capacities[link] * (1.0 - tolerance) - tolerance
                && rate / problem.weights[v] >= level[link] * (1.0 - tolerance) - tolerance
        });
        if !capped && !bottleneck && problem.start[v] < problem.start[v + 1] {
            return Err(format!("variable {v} at {rate} has neither a bottleneck nor its cap"));
        }
    }
    Ok(())
}

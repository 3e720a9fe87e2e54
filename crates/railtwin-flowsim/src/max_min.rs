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

/// Memory that solves share, so that a solve allocates nothing once it is warm.
#[derive(Debug, Default)]
pub struct Solver {
    /// Capacity left by frozen variables.
    left: Vec<f64>,
    /// Sum of share · weight over growing variables.
    pull: Vec<f64>,
    /// Growing variables on the link.
    growing: Vec<u32>,
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
        let variables = problem.weights.len();
        rates.clear();
        rates.resize(variables, 0.0);
        self.prepare(problem);
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
            if self.growing[link] == 0 {
                continue;
            }
            let level = self.level_of(link);
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

    fn level_of(&self, link: usize) -> f64 {
        (self.left[link] / self.pull[link]).max(0.0)
    }

    /// Fills the columns by link and the heap with every link's first limit.
    fn prepare(&mut self, problem: &Problem<'_>) {
        let (links, variables) = (problem.capacities.len(), problem.weights.len());
        self.links = links;
        self.left.clear();
        self.left.extend_from_slice(problem.capacities);
        self.pull.clear();
        self.pull.resize(links, 0.0);
        self.growing.clear();
        self.growing.resize(links, 0);
        self.frozen.clear();
        self.frozen.resize(variables, false);
        for v in 0..variables {
            for k in problem.start[v] as usize..problem.start[v + 1] as usize {
                let link = problem.links[k] as usize;
                self.pull[link] += problem.shares[k] * problem.weights[v];
                self.growing[link] += 1;
            }
        }
        self.row_start.clear();
        self.row_start.push(0);
        let mut total = 0;
        for link in 0..links {
            total += self.growing[link];
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
        self.heap.clear();
        for link in 0..links {
            if self.growing[link] > 0 {
                self.heap.push(Limit { level: self.level_of(link), key: link as u32 });
            }
        }
        for v in 0..variables {
            if problem.caps[v].is_finite() {
                let level = problem.caps[v] / problem.weights[v];
                self.heap.push(Limit { level, key: (links + v) as u32 });
            }
        }
    }

    fn freeze(&mut self, problem: &Problem<'_>, v: usize, rate: f64, rates: &mut [f64]) {
        self.frozen[v] = true;
        rates[v] = rate;
        for k in problem.start[v] as usize..problem.start[v + 1] as usize {
            let link = problem.links[k] as usize;
            self.left[link] -= problem.shares[k] * rate;
            self.pull[link] -= problem.shares[k] * problem.weights[v];
            self.growing[link] -= 1;
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

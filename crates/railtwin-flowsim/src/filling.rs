//! Max-min rates kept true while variables come and go: only what a change can reach is filled again.
//!
//! Progressive filling gives every constraint the *level* at which it fills, and every variable the lowest level
//! of its constraints, or of its cap. A change leaves all levels below the first constraint that it touches as
//! they were. So constraints are checked in the order of levels, from the lowest touched: one that fills earlier
//! than before takes its variables down, one that fills later lets its own go, and both touch further
//! constraints, always at their level or above. When no check is left, every constraint fills where its
//! variables say and every variable stands at the lowest of its constraints: the max-min rates, which are unique.
use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::reduce::Constraints;

/// Relative difference below which a level counts as what it was.
pub const SAME: f64 = 1e-13;
/// Relative difference below which a load counts as what it was: the rounding of a sum of some hundreds.
const SAME_LOAD: f64 = 1e-14;
/// Relative distance within which a variable counts as held by a constraint.
const HELD: f64 = 1e-12;

/// A variable on a constraint.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// What the variable takes for one unit of level.
    pull: f64,
    variable: u32,
    /// Its entry, so that the cell can be found again.
    entry: u32,
}

/// A constraint to look at, once the filling has risen to `level`.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Check {
    level: f64,
    constraint: u32,
}

impl Eq for Check {}

impl PartialOrd for Check {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Check {
    /// Reversed: the heap gives the lowest level first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.level.total_cmp(&self.level).then(other.constraint.cmp(&self.constraint))
    }
}

/// What a constraint carries at the present levels.
#[derive(Clone, Copy, Debug)]
struct Survey {
    load: f64,
    /// Highest level of its variables.
    top: f64,
    /// Load of those that have stopped by now.
    below: f64,
    /// What those that have not take for one unit of level, and where the first of them stops.
    pull: f64,
    next_bend: f64,
}

/// Bytes of a variable on a constraint: id, share, slot, cell.
pub const BYTES_OF_ENTRY: usize = 2 * size_of::<u32>() + size_of::<f64>() + size_of::<Cell>();
/// Bytes of a variable: start, weight, ceiling, level, what was told, two marks.
pub const BYTES_OF_VARIABLE: usize = size_of::<u32>() + 4 * size_of::<f64>() + 2 * size_of::<bool>();

/// A max-min problem and its solution, changed step by step. Levels are rates per weight.
#[derive(Debug)]
pub struct Filling {
    /// CSR: entries of variable `v` are `start[v]..start[v + 1]`.
    start: Vec<u32>,
    /// Constraint by entry.
    ids: Vec<u32>,
    /// Share by entry.
    shares: Vec<f64>,
    /// Place of an entry among the cells while its variable is in.
    slot: Vec<u32>,
    weights: Vec<f64>,
    /// Level of the cap; 0 while the variable is held still.
    ceiling: Vec<f64>,
    level: Vec<f64>,
    inside: Vec<bool>,
    /// Room for the cells of all variables of a constraint; the first `crossing` of them are in.
    row_start: Vec<u32>,
    crossing: Vec<u32>,
    cells: Vec<Cell>,
    capacity: Vec<f64>,
    /// Level at which a constraint is full; infinite when it never is.
    fill: Vec<f64>,
    /// Lowest level of a check that waits; infinite when none does.
    due: Vec<f64>,
    checks: BinaryHeap<Check>,
    /// Variables whose level moved since the last settling.
    touched: Vec<u32>,
    is_touched: Vec<bool>,
    /// Level that was last said to have changed.
    told: Vec<f64>,
}

impl Filling {
    /// No variable in. `weights` and `caps` by variable of `constraints`.
    pub fn new(constraints: &Constraints, weights: &[f64], caps: &[f64]) -> Self {
        let (variables, rows) = (weights.len(), constraints.capacities.len());
        let mut row_start = vec![0_u32; rows + 1];
        for &id in &constraints.ids {
            row_start[id as usize + 1] += 1;
        }
        for row in 0..rows {
            row_start[row + 1] += row_start[row];
        }
        Self {
            start: constraints.start.clone(),
            ids: constraints.ids.clone(),
            shares: constraints.shares.clone(),
            slot: vec![u32::MAX; constraints.ids.len()],
            weights: weights.to_vec(),
            ceiling: caps.iter().zip(weights).map(|(cap, weight)| cap / weight).collect(),
            level: vec![0.0; variables],
            inside: vec![false; variables],
            row_start,
            crossing: vec![0; rows],
            cells: vec![Cell { pull: 0.0, variable: 0, entry: 0 }; constraints.ids.len()],
            capacity: constraints.capacities.clone(),
            fill: vec![f64::INFINITY; rows],
            due: vec![f64::INFINITY; rows],
            checks: BinaryHeap::new(),
            touched: Vec::new(),
            is_touched: vec![false; variables],
            told: vec![0.0; variables],
        }
    }

    fn entries(&self, variable: usize) -> std::ops::Range<usize> {
        self.start[variable] as usize..self.start[variable + 1] as usize
    }

    /// The rate of a variable, true after [`Filling::settle`].
    pub fn rate(&self, variable: u32) -> f64 {
        self.level[variable as usize] * self.weights[variable as usize]
    }

    /// Puts a variable in, as `count` equal ones that move together. Without constraints it stands still.
    pub fn add(&mut self, variable: u32, count: u32) {
        let v = variable as usize;
        self.inside[v] = true;
        self.told[v] = 0.0;
        for entry in self.entries(v) {
            let c = self.ids[entry] as usize;
            let at = self.row_start[c] + self.crossing[c];
            self.crossing[c] += 1;
            self.slot[entry] = at;
            let pull = self.shares[entry] * self.weights[v] * f64::from(count);
            self.cells[at as usize] = Cell { pull, variable, entry: entry as u32 };
        }
        if !self.entries(v).is_empty() {
            self.let_go(variable, 0.0);
        }
    }

    /// Takes a variable out; its constraints may fill later.
    pub fn remove(&mut self, variable: u32) {
        let v = variable as usize;
        for entry in self.entries(v) {
            let c = self.ids[entry] as usize;
            self.crossing[c] -= 1;
            let (at, last) = (self.slot[entry] as usize, (self.row_start[c] + self.crossing[c]) as usize);
            self.cells[at] = self.cells[last];
            self.slot[self.cells[at].entry as usize] = at as u32;
            if self.fill[c].is_finite() {
                self.check(c, self.fill[c]);
            }
        }
        self.touch(v);
        self.inside[v] = false;
        self.level[v] = 0.0;
        self.told[v] = 0.0;
    }

    /// Holds a variable, in or not, at a level of at most `ceiling`: 0 stops it.
    pub fn set_ceiling(&mut self, variable: u32, ceiling: f64) {
        let v = variable as usize;
        let old = std::mem::replace(&mut self.ceiling[v], ceiling);
        if !self.inside[v] || self.entries(v).is_empty() {
            return;
        }
        if ceiling < self.level[v] {
            self.take_down(v, ceiling, 0.0);
        } else if self.level[v] >= old && ceiling > old {
            self.let_go(variable, 0.0);
        }
    }

    /// Makes all levels true again, and appends the variables in whose level changed; one that came or went since
    /// the last time had level 0 until now.
    /// Returns how many were looked at.
    pub fn settle(&mut self, changed: &mut Vec<u32>) -> usize {
        while let Some(check) = self.checks.pop() {
            let c = check.constraint as usize;
            if self.due[c] == check.level {
                self.due[c] = f64::INFINITY;
                self.examine(c, check.level);
            }
        }
        let looked_at = self.touched.len();
        for variable in self.touched.drain(..) {
            let v = variable as usize;
            self.is_touched[v] = false;
            // Compared with what was told, not with the last level: small steps do not add up unseen.
            if (self.level[v] - self.told[v]).abs() > SAME * self.told[v] {
                self.told[v] = self.level[v];
                changed.push(variable);
            }
        }
        looked_at
    }

    fn touch(&mut self, v: usize) {
        if !std::mem::replace(&mut self.is_touched[v], true) {
            self.touched.push(v as u32);
        }
    }

    /// Asks for a look at a constraint at `level`, unless an earlier one waits.
    fn check(&mut self, c: usize, level: f64) {
        if level < self.due[c] {
            self.due[c] = level;
            self.checks.push(Check { level, constraint: c as u32 });
        }
    }

    /// Lets a variable grow from `level` until a constraint stops it.
    fn let_go(&mut self, variable: u32, level: f64) {
        let v = variable as usize;
        self.touch(v);
        self.level[v] = self.ceiling[v];
        for entry in self.entries(v) {
            self.check(self.ids[entry] as usize, level);
        }
    }

    /// Takes a variable down to `level`: its other full constraints may fill later.
    fn take_down(&mut self, v: usize, level: f64, now: f64) {
        self.touch(v);
        self.level[v] = level;
        for entry in self.entries(v) {
            let c = self.ids[entry] as usize;
            if self.fill[c].is_finite() {
                self.check(c, self.fill[c].max(now));
            }
        }
    }

    fn row(&self, c: usize) -> std::ops::Range<usize> {
        let first = self.row_start[c] as usize;
        first..first + self.crossing[c] as usize
    }

    /// One walk over a constraint, with the filling at `now`.
    fn survey(&self, c: usize, now: f64) -> Survey {
        let mut survey = Survey { load: 0.0, top: 0.0, below: 0.0, pull: 0.0, next_bend: f64::INFINITY };
        for cell in &self.cells[self.row(c)] {
            let level = self.level[cell.variable as usize];
            let load = cell.pull * level;
            survey.load += load;
            survey.top = survey.top.max(level);
            if level <= now {
                survey.below += load;
            } else {
                survey.pull += cell.pull;
                survey.next_bend = survey.next_bend.min(level);
            }
        }
        survey
    }

    /// Looks at a constraint when the filling has risen to `now`.
    fn examine(&mut self, c: usize, now: f64) {
        let (capacity, fill) = (self.capacity[c], self.fill[c]);
        let survey = self.survey(c, now);
        if survey.load <= capacity * (1.0 + SAME_LOAD) {
            if fill.is_infinite() {
                return;
            }
            let full = survey.load >= capacity * (1.0 - SAME_LOAD) && self.crossing[c] > 0;
            if full && survey.top <= fill * (1.0 + SAME) {
                // As full as before; those that it held may all have come down.
                self.fill[c] = fill.min(survey.top);
                return;
            }
            self.fills_later(c, now);
            return;
        }
        let level = self.level_of(c, now, survey);
        if fill.is_finite() && level > fill * (1.0 + SAME) {
            self.fills_later(c, now);
        } else if level > now * (1.0 + SAME) {
            self.check(c, level);
        } else {
            self.fills(c, level, now);
        }
    }

    /// The constraint is full at `level`: nobody on it rises higher.
    fn fills(&mut self, c: usize, level: f64, now: f64) {
        self.fill[c] = level;
        for at in self.row(c) {
            let v = self.cells[at].variable as usize;
            if self.level[v] > level {
                self.take_down(v, level, now);
            }
        }
        // It asked for itself again while it took its own variables down.
        self.due[c] = f64::INFINITY;
    }

    /// The constraint fills later than it did: what it held grows from there.
    fn fills_later(&mut self, c: usize, now: f64) {
        let fill = self.fill[c];
        if fill > now {
            self.check(c, fill);
            return;
        }
        self.fill[c] = f64::INFINITY;
        for at in self.row(c) {
            let variable = self.cells[at].variable;
            let level = self.level[variable as usize];
            if level >= fill * (1.0 - HELD) && level < self.ceiling[variable as usize] {
                self.let_go(variable, now);
            }
        }
        self.check(c, now);
    }

    /// The level at which a constraint that asks for more than its capacity is full: where the load, a concave
    /// function of the level, reaches the capacity. Newton's steps come from below and end on a straight piece.
    fn level_of(&self, c: usize, from: f64, survey: Survey) -> f64 {
        let capacity = self.capacity[c];
        let (mut level, mut survey) = (from, survey);
        loop {
            let Survey { below, pull, next_bend, .. } = survey;
            if pull == 0.0 {
                // Started above the solution; from zero all that moves grows.
                debug_assert!(level > 0.0, "an overfull constraint has a variable that moves");
                level = 0.0;
                survey = self.survey(c, level);
                continue;
            }
            let next = ((capacity - below) / pull).max(0.0);
            if next <= next_bend && next >= level * (1.0 - SAME) {
                return next;
            }
            // Past a bend by rounding alone, or still below the solution.
            if next <= next_bend * (1.0 + SAME) && next > level {
                return next_bend;
            }
            level = next;
            survey = self.survey(c, level);
        }
    }
}

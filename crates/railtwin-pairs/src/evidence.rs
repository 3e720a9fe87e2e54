//! Evidence of tests for causes, in nats: densities of results under depths, probabilities of deaths under rates.
//!
//! A healthy result is `(1 - e) t5(r / s) + e Laplace(4.5 %)`, since lone bad results exist. A result that a cause touches
//! lacks its depth beside that. Depths are averaged over a grid, so that a cause pays for the depth that is fitted.
use std::f64::consts::LN_2;
use std::sync::LazyLock;

use crate::layout::{Layout, Touched};
use crate::level::Levels;

/// Depths of a fault: a logarithmic grid from 7 to 99 %, each with three spreads.
const DEPTHS: usize = 24;
const SPREADS: usize = 3;
/// Depths below the least of a fault: such levels are nobody's fault.
const SHALLOW: usize = 6;
/// Depth in hops over the spine that is nobody's fault, either.
const HOPS_NOBODYS: f64 = 1.25;
/// Columns of the grid.
pub(crate) const COLUMNS: usize = DEPTHS * SPREADS;
const WIDTH: usize = COLUMNS + SHALLOW;
/// Least and largest depth as shares.
const DEPTH_MIN: f64 = 0.07;
const DEPTH_MAX: f64 = 0.99;
/// Spread of a depth beside noise, as a part of it.
const SPREAD_PARTS: [f64; SPREADS] = [0.0, 0.12, 0.35];
/// Part of results that are lone and bad, and their scale as a natural logarithm.
const LONE: f64 = 0.005;
const LONE_SCALE: f64 = 0.045;
/// Part of touched results that are spared.
const SPARED: f64 = 0.02;
/// Probability that a cause does not show in a class of tests.
const NOT_SHOWN: f64 = 0.001;
/// Probability that a test dies by itself in one way.
const DEATH: f64 = 0.002;
/// Rates of deaths of a cause: quantiles of Beta(1/2, 1).
const RATES: usize = 16;

/// The grid of depths: natural logarithm and spread beside noise.
static GRID: LazyLock<Vec<(f64, f64)>> = LazyLock::new(|| {
    let [least, most] = [DEPTH_MIN, DEPTH_MAX].map(|share| -(1.0 - share).ln());
    let step = (most / least).powf(1.0 / (DEPTHS as f64 - 1.0));
    let deep = (0..DEPTHS).flat_map(move |at| {
        let depth = least * step.powi(at as i32);
        SPREAD_PARTS.map(|part| (depth, part * depth))
    });
    let shallow = (1..=SHALLOW).map(|at| (-(1.0 - 0.01 * at as f64).ln(), 0.0));
    deep.chain(shallow).collect()
});

static RATE_GRID: LazyLock<Vec<f64>> =
    LazyLock::new(|| (0..RATES).map(|at| ((at as f64 + 0.5) / RATES as f64).powi(2)).collect());

/// Logarithm of the density of Student's t with five degrees of freedom and a scale.
fn log_t5(value: f64, scale: f64) -> f64 {
    -0.968_69 - scale.ln() - 3.0 * (1.0 + (value / scale).powi(2) / 5.0).ln()
}

fn log_lone(value: f64) -> f64 {
    -value.abs() / LONE_SCALE - (2.0 * LONE_SCALE).ln()
}

fn log_add(a: f64, b: f64) -> f64 {
    let (high, low) = if a >= b { (a, b) } else { (b, a) };
    if high == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

fn log_sum(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let high = values.clone().fold(f64::NEG_INFINITY, f64::max);
    if high == f64::NEG_INFINITY {
        high
    } else {
        high + values.map(|value| (value - high).exp()).sum::<f64>().ln()
    }
}

/// Logarithm of the density of a result that lacks a depth, or none.
fn log_density(value: f64, depth: f64, scale: f64) -> f64 {
    log_add((1.0 - LONE).ln() + log_t5(value + depth, scale), LONE.ln() + log_lone(value))
}

/// Effect of a cause, as it is fitted.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Effect {
    /// Depth as a natural logarithm, by class; none where the cause does not show.
    pub depth: Vec<Option<f64>>,
    /// Ways to die that are the cause's, with the rate of each test that it touches; empty where it kills nothing.
    pub ways: Vec<usize>,
    /// Rate of deaths by class.
    pub rate: Vec<f64>,
    /// Nats of results and of deaths.
    pub nats: [f64; 2],
}

impl Effect {
    /// Nats together: nothing is paid for what the cause does not do.
    pub fn total(&self) -> f64 {
        self.nats[0].max(0.0) + self.nats[1].max(0.0)
    }
}

/// Densities of all results at all depths, beside that of a healthy result. They are found once for some levels.
#[derive(Clone, Debug)]
pub(crate) struct Densities {
    /// By test and column: density at the depth over the healthy one.
    ratios: Vec<f64>,
    /// By test and column: nats for the depth.
    rows: Vec<f64>,
    /// Sum of logarithms of healthy densities.
    base: f64,
}

impl Densities {
    pub fn of(levels: &Levels) -> Self {
        let tests = levels.lack.len();
        let (mut ratios, mut rows) = (vec![1.0; tests * WIDTH], vec![0.0; tests * WIDTH]);
        let mut base = 0.0;
        for at in 0..tests {
            let (Some(lack), noise) = (levels.lack[at], levels.noise[at]) else { continue };
            let healthy = log_density(lack, 0.0, noise);
            base += healthy;
            // A host may be behind one hop more than is known.
            let shallow = (HOPS_NOBODYS * levels.hop[at] / GRID[WIDTH - 1].0).max(1.0);
            for (column, (depth, spread)) in GRID.iter().enumerate() {
                let depth = if column < COLUMNS { depth } else { &(depth * shallow) };
                let ratio = (log_density(lack, *depth, spread.hypot(noise)) - healthy).exp();
                ratios[at * WIDTH + column] = ratio;
                rows[at * WIDTH + column] = ((1.0 - SPARED) * ratio + SPARED).ln();
            }
        }
        Self { ratios, rows, base }
    }
}

/// Evidence of all tests beside what known causes explain.
#[derive(Clone, Debug)]
pub(crate) struct Evidence {
    /// By test and column: nats for a depth.
    rows: Vec<f64>,
    /// By test: way to die; none where it came to its end.
    pub way: Vec<Option<usize>>,
    /// By test and rate: nats of the death or of the end.
    deaths: Vec<[f64; RATES]>,
    pub class: Vec<usize>,
    pub classes: usize,
    pub ways: usize,
    /// Logarithm of the density of all results and ends where nothing is at fault.
    pub base: f64,
}

/// The state of every test that known causes leave.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// By test: depth of the deepest known cause.
    depth: Vec<f64>,
    /// By test: nats of the result under that cause beside none.
    gain: Vec<f64>,
    /// By test and way: rate of deaths.
    rate: Vec<Vec<f64>>,
}

impl Known {
    pub fn nothing(tests: usize, ways: usize) -> Self {
        Self { depth: vec![0.0; tests], gain: vec![0.0; tests], rate: vec![vec![DEATH; ways]; tests] }
    }

    /// Adds a cause with its effect on the tests that it touches.
    pub fn add(&mut self, touched: &Touched, effect: &Effect, levels: &Levels, class: &[usize]) {
        for at in touched.iter() {
            if let (Some(depth), Some(lack)) = (effect.depth[class[at]], levels.lack[at])
                && depth > self.depth[at]
            {
                let noise = levels.noise[at];
                let healthy = log_density(lack, 0.0, noise);
                let part = (0.2 * depth).hypot(noise);
                let hit =
                    log_add((1.0 - SPARED).ln() + log_density(lack, depth, part), SPARED.ln() + healthy);
                self.depth[at] = depth;
                self.gain[at] = hit - healthy;
            }
            for &way in &effect.ways {
                let rate = &mut self.rate[at][way];
                *rate = rate.max(effect.rate[class[at]]);
            }
        }
    }

    /// Whether a known cause slows a test.
    pub fn is_slowed(&self, at: usize) -> bool {
        self.depth[at] > 0.0
    }

    /// Whether a known cause explains that a test died in this way.
    pub fn explains_death(&self, at: usize, way: usize) -> bool {
        self.rate[at][way] > DEATH
    }
}

impl Evidence {
    /// Evidence beside known causes.
    pub fn of(
        layout: &Layout,
        densities: &Densities,
        way: &[Option<usize>],
        ways: usize,
        known: &Known,
    ) -> Self {
        let tests = layout.items.len();
        let (mut rows, mut base) = (densities.rows.clone(), densities.base);
        let mut deaths = vec![[0.0; RATES]; tests];
        for at in 0..tests {
            if known.depth[at] > 0.0 {
                let range = at * WIDTH..(at + 1) * WIDTH;
                refill(&mut rows[range.clone()], &densities.ratios[range], known.depth[at], known.gain[at]);
            }
            let all: f64 = known.rate[at].iter().sum::<f64>().min(0.99);
            base += (1.0 - all).ln();
            deaths[at] = match way[at] {
                Some(way) => {
                    let own = known.rate[at][way];
                    base += own.ln() - (1.0 - all).ln();
                    std::array::from_fn(|rate| RATE_GRID[rate].max(own).ln() - own.ln())
                }
                None => std::array::from_fn(|rate| (1.0 - RATE_GRID[rate].max(all)).ln() - (1.0 - all).ln()),
            };
        }
        let class = layout.items.iter().map(|item| item.class).collect();
        Self { rows, way: way.to_vec(), deaths, class, classes: layout.classes.len(), ways, base }
    }

    fn row(&self, at: usize) -> &[f64] {
        &self.rows[at * WIDTH..(at + 1) * WIDTH]
    }

    /// The most that a result says for a depth, in nats: positive where it looks slow.
    pub fn vote(&self, at: usize) -> f64 {
        let slow = self.row(at)[..COLUMNS].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let clear = self.row(at)[..COLUMNS / 2].iter().sum::<f64>() / (COLUMNS / 2) as f64;
        let died = if self.way[at].is_some() { 6.0 } else { 0.0 };
        (if slow > 1.0 { slow.min(20.0) } else { clear.clamp(-20.0, 0.0) }) + died
    }

    /// How many touched results agree with the depth of an effect, and how many are clearly well.
    pub fn agreement(&self, touched: &Touched, effect: &Effect) -> [usize; 2] {
        let column = |depth: f64| {
            let near = |column: &usize| (GRID[*column].0 - depth).abs();
            let grid = (0..DEPTHS).map(|at| at * SPREADS + 1);
            grid.min_by(|a, b| near(a).total_cmp(&near(b))).unwrap_or(0)
        };
        let columns: Vec<Option<usize>> = effect.depth.iter().map(|depth| depth.map(column)).collect();
        touched.iter().fold([0, 0], |[agree, well], at| match columns[self.class[at]] {
            Some(column) if self.row(at)[column] > 0.0 => [agree + 1, well],
            Some(column) if self.row(at)[column] < -1.0 => [agree, well + 1],
            _ => [agree, well],
        })
    }

    pub fn sums(&self) -> Sums {
        Sums {
            rows: vec![[0.0; WIDTH]; self.classes],
            alive: vec![[0.0; RATES]; self.classes],
            dead: vec![[0.0; RATES]; self.classes * self.ways],
            counts: vec![0; self.classes],
        }
    }

    /// Sums over the tests of a set.
    pub fn sums_of(&self, touched: &Touched) -> Sums {
        let mut sums = self.sums();
        touched.iter().for_each(|at| sums.add(self, at, 1.0));
        sums
    }
}

/// Nats of one result that a known cause slows. Of two causes the deeper one decides: a bottleneck and no sum.
fn refill(row: &mut [f64], ratios: &[f64], known_depth: f64, known_gain: f64) {
    let usual = (-known_gain).exp();
    for (((depth, _), ratio), cell) in GRID.iter().zip(ratios).zip(row) {
        *cell = if *depth > known_depth { ((1.0 - SPARED) * ratio * usual + SPARED).ln() } else { 0.0 };
    }
}

/// Sums of evidence over a set of tests, to which tests are added and taken away.
#[derive(Clone, Debug)]
pub(crate) struct Sums {
    rows: Vec<[f64; WIDTH]>,
    alive: Vec<[f64; RATES]>,
    /// By class and way.
    dead: Vec<[f64; RATES]>,
    /// Tests by class.
    counts: Vec<i64>,
}

impl Sums {
    pub fn add(&mut self, evidence: &Evidence, at: usize, sign: f64) {
        let class = evidence.class[at];
        let deaths = match evidence.way[at] {
            Some(way) => &mut self.dead[class * evidence.ways + way],
            None => &mut self.alive[class],
        };
        deaths.iter_mut().zip(&evidence.deaths[at]).for_each(|(sum, value)| *sum += sign * value);
        self.rows[class].iter_mut().zip(evidence.row(at)).for_each(|(sum, value)| *sum += sign * value);
        self.counts[class] += sign as i64;
    }

    /// Nats of results for a cause: depth is averaged in each class, and a level too shallow for a fault is taken off.
    fn value(&self) -> f64 {
        let of = |sum: &[f64]| {
            let mean = log_sum(sum.iter().copied()) - (sum.len() as f64).ln();
            log_add((1.0 - NOT_SHOWN).ln() + mean, NOT_SHOWN.ln())
        };
        let own = || self.rows.iter().zip(&self.counts).filter(|(_, count)| **count > 0);
        let deep: f64 = own().map(|(row, _)| of(&row[..COLUMNS])).sum();
        let shallow: f64 = own().map(|(row, _)| of(&row[COLUMNS..])).sum();
        deep - shallow.max(0.0)
    }

    /// Nats of results for a cause that shows in one class alone, with the class; naming it costs bits.
    fn value_alone(&self) -> (f64, usize) {
        let classes = self.counts.iter().filter(|count| **count > 0).count().max(1) as f64;
        let mean = |sum: &[f64]| log_sum(sum.iter().copied()) - (sum.len() as f64).ln();
        let of = |class: usize| {
            let row = &self.rows[class];
            mean(&row[..COLUMNS]) - mean(&row[COLUMNS..]).max(0.0) - (2.0 * classes).ln()
        };
        let own = (0..self.rows.len()).filter(|class| self.counts[*class] > 0);
        own.map(|class| (of(class), class)).max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, 0))
    }

    /// Nats of deaths for some ways, with one rate or one for each class.
    fn death(&self, ways: usize, chosen: &[usize]) -> (f64, bool) {
        let mut pooled = [0.0; RATES];
        let mut apart = -LN_2;
        for class in 0..self.rows.len() {
            let mut own = self.alive[class];
            for way in chosen {
                own.iter_mut().zip(&self.dead[class * ways + way]).for_each(|(sum, value)| *sum += value);
            }
            pooled.iter_mut().zip(&own).for_each(|(sum, value)| *sum += value);
            apart += log_sum(own.iter().copied()) - (RATES as f64).ln();
        }
        let pooled = log_sum(pooled.iter().copied()) - (RATES as f64).ln();
        if apart > pooled { (apart, true) } else { (pooled, false) }
    }

    /// The ways to die that are worth most together, each at the price of naming it.
    fn ways(&self, ways: usize, barred: &[usize]) -> (f64, Vec<usize>, bool) {
        let price = (ways as f64 + 1.0).ln();
        let mut best = (0.0, Vec::new(), false);
        loop {
            let mut better: Option<(f64, Vec<usize>, bool)> = None;
            for way in (0..ways).filter(|way| !best.1.contains(way) && !barred.contains(way)) {
                if (0..self.rows.len()).all(|class| self.dead[class * ways + way][RATES - 1] <= 0.0) {
                    continue;
                }
                let chosen: Vec<usize> = best.1.iter().copied().chain([way]).collect();
                let (nats, apart) = self.death(ways, &chosen);
                let nats = nats - price * chosen.len() as f64;
                if nats > best.0 && better.as_ref().is_none_or(|one| nats > one.0) {
                    better = Some((nats, chosen, apart));
                }
            }
            match better {
                Some(one) => best = one,
                None => return best,
            }
        }
    }

    /// Nats for a cause that touches these tests. A cause of one pair may show in one class alone.
    pub fn nats(&self, ways: usize, barred: &[usize], is_pair: bool) -> f64 {
        let alone = if is_pair { self.value_alone().0 } else { 0.0 };
        self.value().max(alone).max(0.0) + self.ways(ways, barred).0.max(0.0)
    }

    /// The effect that fits these tests.
    pub fn effect(&self, ways: usize, barred: &[usize], is_pair: bool) -> Effect {
        let (alone, only) = if is_pair { self.value_alone() } else { (f64::NEG_INFINITY, 0) };
        let value = self.value();
        let is_alone = alone > value;
        let value = value.max(alone);
        let (nats, chosen, apart) = self.ways(ways, barred);
        let depth = |class: usize| {
            let row = &self.rows[class][..COLUMNS];
            let high = log_sum(row.iter().copied());
            let is_here = self.counts[class] > 0 && (!is_alone || class == only);
            let shows = value > 0.0 && is_here && high - (COLUMNS as f64).ln() > NOT_SHOWN.ln();
            let weighted = row.iter().zip(GRID.iter()).map(|(nats, (depth, _))| (nats - high).exp() * depth);
            // A class that shows nothing is not slowed although the prior would let it.
            let mean: f64 = weighted.sum();
            (shows && high - (COLUMNS as f64).ln() > 0.0).then_some(mean)
        };
        let mut whole = [0.0; RATES];
        let rates = |own: &[f64; RATES]| {
            let high = log_sum(own.iter().copied());
            own.iter().zip(RATE_GRID.iter()).map(|(nats, rate)| (nats - high).exp() * rate).sum::<f64>()
        };
        let mut of_class = Vec::new();
        for class in 0..self.rows.len() {
            let mut own = self.alive[class];
            for way in &chosen {
                own.iter_mut().zip(&self.dead[class * ways + way]).for_each(|(sum, value)| *sum += value);
            }
            whole.iter_mut().zip(&own).for_each(|(sum, value)| *sum += value);
            of_class.push(rates(&own));
        }
        let rate = if apart { of_class } else { vec![rates(&whole); self.rows.len()] };
        Effect { depth: (0..self.rows.len()).map(depth).collect(), ways: chosen, rate, nats: [value, nats] }
    }
}

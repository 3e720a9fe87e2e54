//! Rates of patterns in flight: what a set of patterns that share links gets, and how one alone runs its course.
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use railtwin_engine::BundleTable;
use railtwin_fabric::LinkId;
use railtwin_units::stream::mix;
use railtwin_workload::PatternId;

use crate::dynamic::{self, ROUNDS_MAX, Strands};
use crate::max_min::{Problem, Solver};
use crate::phases::{APART, EXACT_WORK, FINISHED, averaged, first_end, last_end, work};
use crate::queue_pair::QueuePair;
use crate::rates::Rates;
use crate::reduce::Constraints;

/// How one pattern alone runs its course, for an operation of one byte.
#[derive(Debug)]
pub struct Profile {
    /// End of each phase in seconds, and the rates within it.
    pub phases: Vec<(f64, Rc<Rates>)>,
    /// When the last bundle is done; infinite when one never moves.
    pub seconds: f64,
}

/// Counters of a run.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counters {
    /// Max-min problems solved.
    pub solves: u64,
    /// Bundles in them.
    pub bundles: u64,
    /// Rounds of the search under a dynamic split.
    pub rounds: u64,
    /// Searches that did not come to rest.
    pub restless: u64,
    /// Phases in which bundles ended together, because they are too many for searches for each.
    pub joined: u64,
}

/// Bytes of rates that are remembered at most, all forgotten when it is more: where bundles of many queue pairs end each
/// at a time of its own, their rates come back too seldom to be worth more memory than their tables take.
pub const REMEMBERED_MOST: usize = 256 << 20;

impl Counters {
    /// Counts what another counted.
    pub fn add(&mut self, other: Self) {
        self.solves += other.solves;
        self.bundles += other.bundles;
        self.rounds += other.rounds;
        self.restless += other.restless;
        self.joined += other.joined;
    }
}

/// Solves for rates, and remembers: the rates of the same bundles are the same whatever their bytes.
#[derive(Debug)]
pub struct RateBook {
    /// By link id; one more is shut: see [`RateBook::shut`].
    capacities: Vec<f64>,
    /// What can bind, under a static split; found anew after a change of capacities or paths.
    constraints: Option<Constraints>,
    solver: Solver,
    local_of: Vec<u32>,
    known: HashMap<u128, Rc<Rates>>,
    /// Bytes of what is known.
    remembered: usize,
    profiles: Vec<Option<Rc<Profile>>>,
    remember: bool,
    /// Priority by pattern; none where all have the same.
    priorities: Vec<u8>,
    /// Queue pairs that stand still.
    held: BTreeSet<QueuePair>,
    /// What was done so far.
    pub counters: Counters,
    /// Size of what is in flight together beyond which bundles end together: [`EXACT_WORK`].
    pub exact_work: u64,
    /// Bytes of rates that are remembered at most: [`REMEMBERED_MOST`].
    pub remembered_most: usize,
    columns: Columns,
}

/// A bundle that moves, and its row among those asked for.
#[derive(Clone, Copy, Debug)]
struct Row {
    bundle: u32,
    row: usize,
}

/// A problem being built.
#[derive(Debug, Default)]
struct Columns {
    start: Vec<u32>,
    links: Vec<u32>,
    shares: Vec<f64>,
    weights: Vec<f64>,
    caps: Vec<f64>,
    capacities: Vec<f64>,
    touched: Vec<LinkId>,
    rates: Vec<f64>,
}

impl RateBook {
    /// An empty book over the links' capacities; without `remember` every question is solved anew.
    pub fn new(capacities: &[f64], patterns: usize, remember: bool) -> Self {
        Self {
            capacities: capacities.iter().copied().chain([0.0]).collect(),
            constraints: None,
            solver: Solver::default(),
            local_of: vec![u32::MAX; capacities.len() + 1],
            known: HashMap::new(),
            remembered: 0,
            profiles: vec![None; patterns],
            remember,
            priorities: Vec::new(),
            held: BTreeSet::new(),
            counters: Counters::default(),
            exact_work: EXACT_WORK,
            remembered_most: REMEMBERED_MOST,
            columns: Columns::default(),
        }
    }

    /// Patterns of higher priority are served first on every link, from now on; forgets all rates of several together.
    pub fn set_priorities(&mut self, priorities: &[u8]) {
        self.forget_known();
        self.priorities.clear();
        if priorities.windows(2).any(|two| two[0] != two[1]) {
            self.priorities.extend_from_slice(priorities);
        }
    }

    /// By link id, bytes per second.
    pub fn capacities(&self) -> &[f64] {
        &self.capacities
    }

    /// Sets the capacity of a link and forgets all rates.
    pub fn set_capacity(&mut self, link: LinkId, bytes_per_s: f64) {
        self.capacities[link.index()] = bytes_per_s;
        self.forget();
    }

    /// Makes a queue pair stand still or go on, and forgets rates.
    pub fn hold(&mut self, pair: QueuePair, held: bool) {
        let changed = if held { self.held.insert(pair) } else { self.held.remove(&pair) };
        if changed {
            self.forget_rates();
        }
    }

    /// Forgets all rates, as after a new table.
    pub fn forget(&mut self) {
        self.constraints = None;
        self.forget_rates();
    }

    fn forget_known(&mut self) {
        self.known.clear();
        self.remembered = 0;
    }

    fn forget_rates(&mut self) {
        self.forget_known();
        self.profiles.iter_mut().for_each(|profile| *profile = None);
    }

    /// The rates of `patterns` together; `done` tells finished bundles, `key` names which they are
    /// (see [`key_of`]).
    pub fn rates(
        &mut self,
        table: &BundleTable,
        patterns: &[PatternId],
        done: &dyn Fn(usize) -> bool,
        key: u128,
    ) -> Rc<Rates> {
        if self.remember
            && let Some(rates) = self.known.get(&key)
        {
            return Rc::clone(rates);
        }
        let rates = Rc::new(self.solve(table, patterns, done));
        if self.remember {
            let bytes = size_of_val(&*rates.bundles) + size_of_val(&*rates.strands);
            if self.remembered + bytes > self.remembered_most {
                self.forget_known();
            }
            self.remembered += bytes;
            self.known.insert(key, Rc::clone(&rates));
        }
        rates
    }

    /// How a pattern alone runs its course.
    pub fn profile(&mut self, table: &BundleTable, pattern: PatternId) -> Rc<Profile> {
        if let Some(profile) = &self.profiles[pattern.index()] {
            return Rc::clone(profile);
        }
        let bundles = table.bundles_of(pattern);
        let mut left: Vec<f64> = table.volume[bundles.clone()].to_vec();
        let mut phases = Vec::new();
        let mut seconds = 0.0;
        while left.iter().any(|&bytes| bytes > 0.0) {
            let done = |bundle: usize| left[bundle - bundles.start] <= 0.0;
            let rates = Rc::new(self.solve(table, &[pattern], &done));
            let step = self.step(table, &[pattern], &left, &rates.bundles);
            if !step.is_finite() {
                seconds = f64::INFINITY;
                break;
            }
            let rates = averaged(table, &[pattern], &left, rates, step);
            for ((left, rate), volume) in
                left.iter_mut().zip(&rates.bundles).zip(&table.volume[bundles.clone()])
            {
                *left -= rate * step;
                if *left <= volume * FINISHED {
                    *left = 0.0;
                }
            }
            seconds += step;
            phases.push((seconds, rates));
        }
        let profile = Rc::new(Profile { phases, seconds });
        self.profiles[pattern.index()] = Some(Rc::clone(&profile));
        profile
    }

    /// Seconds for which rates hold: until the first bundle of `patterns` ends, or longer where searches for each end
    /// would take too much work.
    ///
    /// That is known by the sizes of what is in flight together and not by the work done so far: what is remembered, or
    /// was solved for others before, changes nothing.
    pub fn step(&mut self, table: &BundleTable, patterns: &[PatternId], left: &[f64], rates: &[f64]) -> f64 {
        let first = first_end(left, rates);
        if !table.is_dynamic() || !first.is_finite() || work(table, patterns) <= self.exact_work {
            return first;
        }
        let longer = last_end(left, rates) * APART;
        self.counters.joined += u64::from(longer > first);
        first.max(longer)
    }

    /// Rates of `patterns` together. Those of the highest priority share the links, those of the next what is left, and
    /// so on: strict priority.
    fn solve(&mut self, table: &BundleTable, patterns: &[PatternId], done: &dyn Fn(usize) -> bool) -> Rates {
        let total: usize = patterns.iter().map(|&p| table.bundles_of(p).len()).sum();
        let (mut row, mut rows) = (0, Vec::with_capacity(total));
        for &pattern in patterns {
            for bundle in table.bundles_of(pattern) {
                let all = QueuePair { bundle: bundle as u32, strand: QueuePair::ALL };
                let routed = table.link_start[bundle] < table.link_start[bundle + 1];
                if routed && !done(bundle) && !self.held.contains(&all) {
                    rows.push(Row { bundle: bundle as u32, row });
                }
                row += 1;
            }
        }
        self.counters.solves += 1;
        self.counters.bundles += rows.len() as u64;
        let mut out = Rates { bundles: vec![0.0; total], strands: Vec::new() };
        self.columns.touched.clear();
        self.columns.capacities.clear();
        let mut groups = self.by_priority(table, patterns, rows).into_iter().peekable();
        while let Some(rows) = groups.next() {
            if table.is_dynamic() {
                self.solve_dynamic(table, &rows, &mut out);
            } else {
                self.solve_static(table, &rows, &mut out);
            }
            if groups.peek().is_some() {
                self.columns.take_what_is_used();
            }
        }
        out.strands.sort_unstable_by_key(|&(strand, _)| strand);
        for &link in &self.columns.touched {
            self.local_of[link.index()] = u32::MAX;
        }
        out
    }

    /// The rows by priority, the highest first, each ascending: one group where all have the same.
    fn by_priority(&self, table: &BundleTable, patterns: &[PatternId], rows: Vec<Row>) -> Vec<Vec<Row>> {
        let of = |pattern: PatternId| self.priorities.get(pattern.index()).copied().unwrap_or_default();
        if patterns.windows(2).all(|two| of(two[0]) == of(two[1])) {
            return vec![rows];
        }
        let mut groups: BTreeMap<Reverse<u8>, Vec<Row>> = BTreeMap::new();
        for one in rows {
            let pattern = table.pattern_start.partition_point(|&start| start <= one.bundle) - 1;
            groups.entry(Reverse(of(PatternId::from_index(pattern)))).or_default().push(one);
        }
        groups.into_values().collect()
    }

    fn local(&mut self, link: LinkId) -> u32 {
        let local = &mut self.local_of[link.index()];
        if *local == u32::MAX {
            *local = self.columns.touched.len() as u32;
            self.columns.touched.push(link);
            self.columns.capacities.push(self.capacities[link.index()]);
        }
        *local
    }

    /// A link of no capacity beyond those of the fabric, for queue pairs that stand still.
    fn shut(&mut self) -> u32 {
        self.local(LinkId::from_index(self.capacities.len() - 1))
    }

    fn solve_static(&mut self, table: &BundleTable, rows: &[Row], out: &mut Rates) {
        self.columns.clear();
        let constraints = self.constraints.take();
        let constraints = constraints.unwrap_or_else(|| Constraints::of(table, &self.capacities));
        let columns = &mut self.columns;
        for bundle in rows.iter().map(|one| one.bundle as usize) {
            for k in constraints.start[bundle] as usize..constraints.start[bundle + 1] as usize {
                // Constraints are fewer than links: the same scratch column serves both.
                let id = constraints.ids[k];
                let local = &mut self.local_of[id as usize];
                if *local == u32::MAX {
                    *local = columns.touched.len() as u32;
                    columns.touched.push(LinkId(id));
                    columns.capacities.push(constraints.capacities[id as usize]);
                }
                columns.links.push(*local);
                columns.shares.push(constraints.shares[k]);
            }
            columns.start.push(columns.links.len() as u32);
            columns.weights.push(table.weight[bundle]);
            columns.caps.push(table.cap[bundle]);
        }
        self.constraints = Some(constraints);
        let columns = &mut self.columns;
        let problem = Problem {
            start: &columns.start,
            links: &columns.links,
            shares: &columns.shares,
            weights: &columns.weights,
            caps: &columns.caps,
            capacities: &columns.capacities,
        };
        self.solver.solve(&problem, &mut columns.rates);
        for (one, &rate) in rows.iter().zip(&columns.rates) {
            out.bundles[one.row] = rate;
        }
    }

    fn solve_dynamic(&mut self, table: &BundleTable, rows: &[Row], out: &mut Rates) {
        self.columns.clear();
        let from = &table.strands;
        let mut strands =
            Strands { bundle_start: vec![0], start: vec![0], slots: from.slots, ..Strands::default() };
        let mut numbers = Vec::new();
        for bundle in rows.iter().map(|one| one.bundle as usize) {
            for s in from.bundle_start[bundle] as usize..from.bundle_start[bundle + 1] as usize {
                for k in from.link_start[s] as usize..from.link_start[s + 1] as usize {
                    strands.links.push(self.local(from.links[k]));
                    strands.shares.push(1.0);
                }
                let strand = s as u32 - from.bundle_start[bundle];
                if self.held.contains(&QueuePair { bundle: bundle as u32, strand }) {
                    strands.links.push(self.shut());
                    strands.shares.push(1.0);
                }
                strands.start.push(strands.links.len() as u32);
                strands.edge.push(from.edge[s]);
                strands.amount.push(from.amount[s]);
                strands.weights.push(1.0);
                numbers.push(s as u32);
            }
            strands.bundle_start.push(strands.edge.len() as u32);
            strands.bundle_caps.push(table.cap[bundle]);
        }
        let mut paces = Vec::new();
        let Columns { capacities, rates, .. } = &mut self.columns;
        let rounds = dynamic::solve(&mut self.solver, &strands, capacities, &mut paces, rates);
        self.counters.rounds += rounds as u64;
        self.counters.restless += u64::from(rounds == ROUNDS_MAX);
        for (one, &pace) in rows.iter().zip(&paces) {
            out.bundles[one.row] = pace;
        }
        let columns = &mut self.columns;
        out.strands
            .extend(numbers.into_iter().zip(columns.rates.iter().copied()).filter(|(_, rate)| *rate > 0.0));
        (columns.start, columns.links, columns.shares) = (strands.start, strands.links, strands.shares);
    }
}

impl Columns {
    fn clear(&mut self) {
        self.start.clear();
        self.start.push(0);
        self.links.clear();
        self.shares.clear();
        self.weights.clear();
        self.caps.clear();
    }

    /// Leaves the capacities that are not used at the rates found last. What rounding leaves of a full link is nothing.
    fn take_what_is_used(&mut self) {
        const NOTHING: f64 = 1e-12;
        let whole = self.capacities.clone();
        for (variable, rate) in self.rates.iter().enumerate() {
            for k in self.start[variable] as usize..self.start[variable + 1] as usize {
                self.capacities[self.links[k] as usize] -= self.shares[k] * rate;
            }
        }
        for (left, whole) in self.capacities.iter_mut().zip(whole) {
            if *left <= whole * NOTHING {
                *left = 0.0;
            }
        }
    }
}

/// A name for a set of patterns and, by `done_mix`, of their finished bundles.
pub fn key_of(patterns: &[PatternId], done_mix: &dyn Fn(PatternId) -> u64) -> u128 {
    let (mut low, mut high) = (0x243f_6a88_85a3_08d3_u64, 0x1319_8a2e_0370_7344_u64);
    for &pattern in patterns {
        let done = done_mix(pattern);
        low = mix(low ^ u64::from(pattern.0)) ^ mix(done);
        high = mix(high ^ mix(u64::from(pattern.0)).rotate_left(17)) ^ mix(done ^ 0xa409_3822_299f_31d0);
    }
    u128::from(high) << 64 | u128::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_engine::BundleWriter;
    use railtwin_engine::bundles::Strand;
    use railtwin_units::SimTime;

    const LINKS: u64 = 24;
    const BUNDLES: usize = 2000;

    /// Bundles of two queue pairs over links drawn by lot: each ends at a time of its own.
    fn table(bundles: u64) -> BundleTable {
        let mut writer = BundleWriter::new(true);
        for bundle in 0..bundles {
            let link = |k: u64| LinkId((mix(bundle * 8 + k) % LINKS) as u32);
            let strand = |k: u64| {
                let mut links = vec![link(2 * k), link(2 * k + 1)];
                links.dedup();
                Strand { edge: 0, amount: 1.0, of: 2, links, parts: Vec::new() }
            };
            writer.push(1.0, f64::INFINITY, &[strand(0), strand(1)]);
        }
        writer.close_pattern(SimTime::ZERO);
        writer.finish()
    }

    #[test]
    fn what_is_forgotten_is_found_again() {
        let table = table(50);
        let done_after = |rounds: usize| move |bundle: usize| bundle < rounds;
        let asked = |most: usize| {
            let mut book = RateBook::new(&[10.0; LINKS as usize], 1, true);
            book.remembered_most = most;
            let mut all = Vec::new();
            for first in [0, 10, 20, 0, 10, 20] {
                let rates =
                    book.rates(&table, &[PatternId::from_index(0)], &done_after(first), first as u128);
                all.push((rates.bundles.clone(), rates.strands.clone()));
                assert!(book.remembered <= most.max(50 * 8 + 100 * 16), "{}", book.remembered);
            }
            (all, book.counters.solves)
        };
        let ((kept, few), (anew, many)) = (asked(REMEMBERED_MOST), asked(2_500));
        assert_eq!((few, many), (3, 6));
        assert_eq!(kept, anew);
    }

    #[test]
    fn phases_are_bounded_where_searches_would_be_too_many() {
        let (table, pattern) = (table(BUNDLES as u64), PatternId::from_index(0));
        let run = |exact_work: u64| {
            let mut book = RateBook::new(&[10.0; LINKS as usize], 1, true);
            book.exact_work = exact_work;
            let profile = book.profile(&table, pattern);
            (profile, book.counters)
        };
        let ((exact, all), (coarse, few)) = (run(EXACT_WORK), run(0));
        assert!(all.solves > 500 && all.joined == 0, "{all:?}");
        assert!(few.joined > 0 && few.solves < all.solves / 2, "{few:?} of {all:?}");
        let longer = coarse.seconds / exact.seconds;
        assert!((1.0 - 1e-9..1.01).contains(&longer), "{longer}");
        // Every byte is carried and no link is over full.
        let (mut moved, mut from) = (vec![0.0; BUNDLES], 0.0);
        for (end, rates) in &coarse.phases {
            let mut used = vec![0.0; LINKS as usize];
            for &(strand, rate) in &rates.strands {
                let range = table.strands.link_start[strand as usize] as usize
                    ..table.strands.link_start[strand as usize + 1] as usize;
                table.strands.links[range].iter().for_each(|link| used[link.index()] += rate);
            }
            assert!(used.iter().all(|used| *used <= 10.0 * (1.0 + 1e-9)), "{used:?}");
            moved.iter_mut().zip(&rates.bundles).for_each(|(moved, rate)| *moved += rate * (end - from));
            from = *end;
        }
        assert!(moved.iter().all(|moved| f64::abs(moved - 1.0) < 1e-6), "{moved:?}");
    }
}

//! Patterns in flight: operations wait for their communicator, take off, land; bytes are entered in the ledger.
mod holds;

use std::collections::{BTreeSet, VecDeque};

use railtwin_engine::{BundleTable, Feedback, RunLog, WorkGraph};
use railtwin_fabric::LinkId;
use railtwin_units::SimTime;
use railtwin_workload::PatternId;

use crate::conflict::Conflicts;
use crate::engine::Shortcuts;
use crate::gauge::{Gauge, QueuePaths};
use crate::ledger::Ledger;
use crate::meter::Meter;
use crate::order::WorkOrder;
use crate::queue_pair::QueuePair;
use crate::steps::Steps;
use crate::whole::{Landing, Whole};

/// Bundles for each pattern up to which remembering rates is faster than finding them anew.
const FEW: usize = 2;

/// An operation on its pattern.
#[derive(Clone, Copy, Debug)]
struct Offer {
    operation: u32,
    bytes: u64,
}

/// How rates are found.
#[derive(Debug)]
enum Course {
    /// Solved for what an event touches.
    Steps(Box<Steps>),
    /// Solved for all that share links.
    Whole(Box<Whole>),
}

/// All patterns in flight.
#[derive(Debug)]
pub struct Flight {
    table: BundleTable,
    conflicts: Conflicts,
    ledger: Ledger,
    course: Course,
    /// The operation in flight on each pattern.
    active: Vec<Option<Offer>>,
    in_flight: usize,
    /// Operations that wait until their communicator is free.
    queues: Vec<VecDeque<Offer>>,
    /// Bytes per second of links while they are up.
    capacities: Vec<f64>,
    /// Links that are down.
    down: Vec<bool>,
    /// Patterns that started since they were last asked for.
    started: Vec<PatternId>,
    /// Queue pairs that stand still.
    held: BTreeSet<QueuePair>,
}

impl Flight {
    /// Nothing in flight over links of so many bytes per second; `priorities` by pattern. A meter records throughput over
    /// time.
    pub fn new(
        capacities: Vec<f64>,
        table: BundleTable,
        priorities: &[u8],
        shortcuts: Shortcuts,
        meter: Option<Meter>,
    ) -> Self {
        let patterns = table.patterns();
        let links = capacities.len();
        // Where patterns are hardly more than one bundle the same few meet again and again: rates are looked up.
        let few = shortcuts.remember && table.bundles() <= FEW * patterns;
        let alike = priorities.windows(2).all(|two| two[0] == two[1]);
        let course = if shortcuts.touched && !few && !table.is_dynamic() && meter.is_none() && alike {
            Course::Steps(Box::new(Steps::new(&table, &capacities, shortcuts)))
        } else {
            let mut whole = Whole::new(&table, &capacities, shortcuts);
            whole.set_priorities(priorities);
            Course::Whole(Box::new(whole))
        };
        let mut ledger = Ledger::new(patterns, links);
        ledger.meter = meter;
        Self {
            conflicts: Conflicts::of(&table, links),
            ledger,
            course,
            active: vec![None; patterns],
            in_flight: 0,
            queues: vec![VecDeque::new(); patterns],
            capacities,
            down: vec![false; links],
            started: Vec::new(),
            held: BTreeSet::new(),
            table,
        }
    }

    /// Measures from now on what is told to controllers. Only what is solved whole, span by span, can be measured:
    /// [`Shortcuts::measured`].
    pub fn measure(&mut self, gauge: Option<Gauge>) {
        self.ledger.gauge = gauge;
    }

    /// Whether anything moved that was not told yet.
    pub fn has_news(&self) -> bool {
        self.in_flight > 0 || self.ledger.gauge.as_ref().is_some_and(|gauge| gauge.news)
    }

    /// What was measured up to `now`; none where nothing is.
    pub fn feedback(&mut self, now: SimTime) -> Option<Feedback> {
        if self.ledger.gauge.is_some()
            && let Course::Whole(whole) = &mut self.course
        {
            whole.bring_all_up_to(now, &self.table, &mut self.ledger);
        }
        self.ledger.gauge.as_mut().map(|gauge| gauge.feedback(now))
    }

    /// Whether nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.in_flight == 0
    }

    /// When a bundle ends next.
    pub fn next_time(&self) -> Option<SimTime> {
        match &self.course {
            Course::Steps(steps) => steps.next_time(),
            Course::Whole(whole) => whole.next_time(),
        }
    }

    /// Hands over an operation. Returns its end where there is nothing to move; otherwise it ends later
    /// by [`Flight::advance`]. A communicator runs one operation at a time, in the order of offers.
    pub fn offer(&mut self, now: SimTime, pattern: PatternId, operation: u32, bytes: u64) -> Option<SimTime> {
        let bundles = self.table.bundles_of(pattern);
        if bytes == 0 || bundles.is_empty() {
            return Some(now + self.table.latency[pattern.index()]);
        }
        let offer = Offer { operation, bytes };
        if self.active[pattern.index()].is_some() {
            self.queues[pattern.index()].push_back(offer);
        } else {
            self.start(now, pattern, offer);
        }
        None
    }

    fn start(&mut self, now: SimTime, pattern: PatternId, offer: Offer) {
        self.active[pattern.index()] = Some(offer);
        self.in_flight += 1;
        self.started.push(pattern);
        self.conflicts.enter(pattern);
        let (table, conflicts) = (&self.table, &self.conflicts);
        match &mut self.course {
            Course::Steps(steps) => steps.start(now, table, conflicts, pattern, offer.bytes),
            Course::Whole(whole) => {
                whole.start(now, table, conflicts, &mut self.ledger, pattern, offer.bytes);
            }
        }
    }

    /// Ends bundles due at `now`, and the operations whose last bundle that was.
    pub fn advance(&mut self, now: SimTime, order: &mut WorkOrder<'_>) {
        if let Course::Steps(steps) = &mut self.course {
            for pattern in steps.end_due(now) {
                self.land(now, pattern, &Landing::Stepped, order);
                self.next_offer(now, pattern, order);
            }
            return;
        }
        while let Course::Whole(whole) = &mut self.course
            && let Some(row) = whole.next_due(now)
        {
            let landings = whole.end_bundles(now, &self.table, &mut self.ledger, row);
            for (pattern, landing) in &landings {
                self.land(now, *pattern, landing, order);
            }
            if let Course::Whole(whole) = &mut self.course {
                whole.regroup_left(now, &self.conflicts);
            }
            for (pattern, _) in landings {
                self.next_offer(now, pattern, order);
            }
        }
    }

    /// The last bundle of a pattern has ended.
    fn land(&mut self, now: SimTime, pattern: PatternId, landing: &Landing, order: &mut WorkOrder<'_>) {
        let offer = self.active[pattern.index()].take().expect("what lands was in flight");
        let bytes = offer.bytes as f64;
        self.in_flight -= 1;
        self.conflicts.leave(pattern);
        match landing {
            Landing::Course(course) => self.ledger.completed(&self.table, pattern, bytes, course.as_ref()),
            Landing::Stepped => {
                self.ledger.completed_in_step(pattern, bytes, self.table.is_dynamic());
                self.ledger.corrected(&self.table, pattern);
            }
        }
        order.ends_at(offer.operation, now + self.table.latency[pattern.index()]);
    }

    fn next_offer(&mut self, now: SimTime, pattern: PatternId, order: &mut WorkOrder<'_>) {
        if let Some(offer) = self.queues[pattern.index()].pop_front() {
            order.begins_at(offer.operation, now);
            self.start(now, pattern, offer);
        }
    }

    /// Finds the rates that changed and the events that follow from them.
    pub fn solve(&mut self, now: SimTime) {
        match &mut self.course {
            Course::Steps(steps) => steps.settle(now, &self.table),
            Course::Whole(whole) => whole.solve(now, &self.table),
        }
    }

    /// Links of a cable go down or come back: they lose or regain their capacity.
    pub fn set_links(&mut self, now: SimTime, links: &[LinkId], down: bool) {
        links.iter().for_each(|link| self.down[link.index()] = down);
        match &mut self.course {
            Course::Steps(steps) => {
                links.iter().for_each(|&link| steps.set_link(now, &self.table, link, down))
            }
            Course::Whole(whole) => {
                whole.bring_all_up_to(now, &self.table, &mut self.ledger);
                for &link in links {
                    let capacity = if down { 0.0 } else { self.capacities[link.index()] };
                    whole.set_capacity(link, capacity);
                }
            }
        }
    }

    /// Links carry more or less from now on, in bytes per second, as long as they are up.
    pub fn set_capacities(&mut self, now: SimTime, capacities: &[(LinkId, f64)]) {
        for &(link, capacity) in capacities {
            self.capacities[link.index()] = capacity;
        }
        match &mut self.course {
            // What can bind and what is alike depends on all capacities: it is found anew, as on new paths.
            Course::Steps(_) => self.reroute(now, self.table.clone(), None),
            Course::Whole(whole) => {
                whole.bring_all_up_to(now, &self.table, &mut self.ledger);
                for &(link, capacity) in capacities {
                    let capacity = if self.down[link.index()] { 0.0 } else { capacity };
                    whole.set_capacity(link, capacity);
                }
            }
        }
    }

    /// Patterns of higher priority are served first from now on.
    pub fn set_priorities(&mut self, now: SimTime, priorities: &[u8]) {
        if let Course::Whole(whole) = &mut self.course {
            whole.bring_all_up_to(now, &self.table, &mut self.ledger);
            return whole.set_priorities(priorities);
        }
        if priorities.windows(2).all(|two| two[0] == two[1]) {
            return;
        }
        // What an event touches is known for one priority alone: from now on all that share links are solved whole.
        let left = self.carried_so_far(now);
        self.ledger.settle(&self.table);
        let Course::Steps(steps) = &self.course else { return };
        let mut whole = Whole::new(&self.table, &self.capacities, steps.shortcuts());
        for (link, _) in self.down.iter().enumerate().filter(|(_, down)| **down) {
            whole.set_capacity(LinkId::from_index(link), 0.0);
        }
        whole.take_over(now, &self.table, &self.conflicts, &self.flying(), left);
        for pair in &self.held {
            let pattern = self.pattern_of(pair.bundle);
            whole.hold(now, &self.table, &mut self.ledger, (pattern, *pair), true);
        }
        whole.set_priorities(priorities);
        self.course = Course::Whole(Box::new(whole));
    }

    /// Whether a link is down.
    pub fn is_down(&self, link: LinkId) -> bool {
        self.down[link.index()]
    }

    /// Bytes of data that links have carried until `now`.
    pub fn carried(&mut self, now: SimTime, links: &[LinkId]) -> Vec<f64> {
        if let Course::Whole(whole) = &mut self.course {
            whole.bring_all_up_to(now, &self.table, &mut self.ledger);
        }
        let left = self.carried_so_far(now);
        for (pattern, bytes) in self.flying() {
            self.ledger.cut_off(&self.table, pattern, bytes as f64, &left);
        }
        self.ledger.settle(&self.table);
        links.iter().map(|link| self.ledger.links()[link.index()]).collect()
    }

    /// The pattern that a bundle is of.
    pub fn pattern_of(&self, bundle: u32) -> PatternId {
        PatternId::from_index(self.table.pattern_start.partition_point(|&start| start <= bundle) - 1)
    }

    /// The operation in flight on a pattern, and the share of its bytes that has moved by `now`, 0..1.
    pub fn share_moved(&self, now: SimTime, pattern: PatternId) -> Option<(u32, f64)> {
        let offer = self.active[pattern.index()]?;
        let left = match &self.course {
            Course::Steps(steps) => steps.left_of(now, &self.table, pattern),
            Course::Whole(whole) => whole.left_of(now, &self.table, pattern),
        };
        let volume: f64 = self.table.volume[self.table.bundles_of(pattern)].iter().sum();
        let whole = volume * offer.bytes as f64;
        (whole > 0.0).then(|| (offer.operation, (1.0 - left / whole).clamp(0.0, 1.0)))
    }

    /// Patterns in flight, ascending, with the bytes of their operations.
    fn flying(&self) -> Vec<(PatternId, u64)> {
        let offers = self.active.iter().enumerate();
        offers.filter_map(|(p, offer)| offer.map(|offer| (PatternId::from_index(p), offer.bytes))).collect()
    }

    /// Enters in the ledger what patterns in flight moved on the present paths; returns the bytes left.
    fn carried_so_far(&mut self, now: SimTime) -> Vec<f64> {
        let mut left = vec![0.0; self.table.bundles()];
        for (pattern, bytes) in self.flying() {
            let bundles = self.table.bundles_of(pattern);
            let all = match &mut self.course {
                Course::Steps(steps) => steps.bytes_left(now, &self.table, pattern),
                Course::Whole(whole) => whole.bytes_left(),
            };
            left[bundles.clone()].copy_from_slice(&all[bundles]);
            if !self.table.is_dynamic() {
                self.ledger.carried_so_far(&self.table, pattern, bytes as f64, &left);
            }
        }
        left
    }

    /// Takes new paths: bytes left stay, components form anew.
    pub fn reroute(&mut self, now: SimTime, mut table: BundleTable, paths: Option<QueuePaths>) {
        assert_eq!(table.bundles(), self.table.bundles(), "routes change, bundles do not");
        // What has no path any more may have sent its last byte over the old one: that byte's latency stays.
        for bundle in std::mem::take(&mut table.stranded) {
            let pattern = table.pattern_start.partition_point(|&start| start <= bundle) - 1;
            table.latency[pattern] = table.latency[pattern].max(self.table.latency[pattern]);
            table.stranded.push(bundle);
        }
        if let Course::Whole(whole) = &mut self.course {
            whole.bring_all_up_to(now, &self.table, &mut self.ledger);
        }
        let left = self.carried_so_far(now);
        self.ledger.settle(&self.table);
        if let Some(meter) = &mut self.ledger.meter {
            meter.take_paths(&table);
        }
        if let (Some(gauge), Some(paths)) = (&mut self.ledger.gauge, paths) {
            gauge.take_paths(paths);
        }
        self.table = table;
        let flying = self.flying();
        self.conflicts = Conflicts::of(&self.table, self.capacities.len());
        flying.iter().for_each(|&(pattern, _)| self.conflicts.enter(pattern));
        match &mut self.course {
            Course::Steps(steps) => {
                steps.reroute(&self.table, &self.capacities);
                for pair in &self.held {
                    steps.hold(now, &self.table, pair.bundle as usize, true);
                }
                for (pattern, bytes) in flying {
                    steps.go_on(now, &self.table, pattern, bytes, &left);
                }
            }
            Course::Whole(whole) => {
                let patterns: Vec<PatternId> = flying.into_iter().map(|(pattern, _)| pattern).collect();
                whole.reroute(now, &self.conflicts, patterns);
            }
        }
    }

    /// Writes what links and patterns carried until `now` into a log whose times are known.
    pub fn finish(mut self, now: SimTime, work: &WorkGraph, log: &mut RunLog) {
        if let Course::Whole(whole) = &mut self.course {
            whole.bring_all_up_to(now, &self.table, &mut self.ledger);
        }
        self.carried_so_far(now);
        self.ledger.settle(&self.table);
        let counters = match &self.course {
            Course::Steps(steps) => steps.counters(),
            Course::Whole(whole) => whole.counters(),
        };
        log.solves = counters.solves;
        log.solved_bundles = counters.bundles;
        (log.search_rounds, log.restless_searches) = (counters.rounds, counters.restless);
        log.joined_phases = counters.joined;
        let meter;
        (log.link_bytes, log.pattern_bytes, meter) = self.ledger.finish();
        if let Some(meter) = meter {
            meter.finish(work, log);
        }
    }
}

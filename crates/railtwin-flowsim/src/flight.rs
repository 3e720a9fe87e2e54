//! Patterns in flight: those that share links form a component and move at rates solved together.
mod holds;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;

use railtwin_engine::{BundleTable, RunLog, WorkGraph};
use railtwin_fabric::{CableId, Fabric, LinkId};
use railtwin_units::SimTime;
use railtwin_units::stream::mix;
use railtwin_workload::PatternId;

use crate::component::{FINISHED, Profile, RateBook, Rates, first_end, key_of};
use crate::conflict::Conflicts;
use crate::engine::Shortcuts;
use crate::ledger::Ledger;
use crate::meter::Meter;
use crate::order::WorkOrder;

/// Bytes left of a bundle that has ended; subtraction keeps it.
const DONE: f64 = f64::NEG_INFINITY;

/// An operation on its pattern.
#[derive(Clone, Copy, Debug)]
struct Offer {
    operation: u32,
    bytes: u64,
}

/// A pattern in flight.
#[derive(Debug)]
struct Active {
    offer: Offer,
    component: u32,
    /// Names the finished bundles, 0 when there are none.
    done_mix: u64,
    /// Bundles that still move.
    left: u32,
}

/// Patterns that share links, directly or through each other.
#[derive(Debug, Default)]
struct Component {
    /// Ascending; empty when the row is free.
    patterns: Vec<PatternId>,
    /// Bytes left are true for this time.
    updated: SimTime,
    /// Events of older versions are void.
    version: u32,
    /// Alone and on its known course since `updated`.
    course: Option<Rc<Profile>>,
    rates: Option<Rc<Rates>>,
}

/// All patterns in flight.
#[derive(Debug)]
pub struct Flight {
    table: BundleTable,
    conflicts: Conflicts,
    book: RateBook,
    ledger: Ledger,
    shortcuts: Shortcuts,
    active: Vec<Option<Active>>,
    /// Operations that wait until their communicator is free.
    queues: Vec<VecDeque<Offer>>,
    in_flight: Vec<PatternId>,
    components: Vec<Component>,
    free: Vec<u32>,
    /// Components whose rates are to be found before time goes on.
    dirty: Vec<u32>,
    /// Next end of a bundle by time, component, version.
    events: BinaryHeap<Reverse<(SimTime, u32, u32)>>,
    /// Bytes left by bundle, for patterns in flight and not on a known course.
    bytes_left: Vec<f64>,
    capacities: Vec<f64>,
    meter: Option<Meter>,
    /// Patterns that started since they were last asked for.
    started: Vec<PatternId>,
}

impl Flight {
    /// Nothing in flight.
    pub fn new(fabric: &Fabric, table: BundleTable, shortcuts: Shortcuts) -> Self {
        let patterns = table.patterns();
        Self {
            conflicts: Conflicts::of(&table, fabric.link_count()),
            book: RateBook::new(fabric, patterns, shortcuts.remember),
            ledger: Ledger::new(patterns, fabric.link_count()),
            shortcuts,
            active: (0..patterns).map(|_| None).collect(),
            queues: vec![VecDeque::new(); patterns],
            in_flight: Vec::new(),
            components: Vec::new(),
            free: Vec::new(),
            dirty: Vec::new(),
            events: BinaryHeap::new(),
            bytes_left: vec![0.0; table.bundles()],
            capacities: (0..fabric.link_count() as u32)
                .map(|link| fabric.capacity(LinkId(link)).bytes_per_s())
                .collect(),
            meter: None,
            started: Vec::new(),
            table,
        }
    }

    /// Whether nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// When a bundle ends next.
    pub fn next_time(&self) -> Option<SimTime> {
        self.events.peek().map(|Reverse((time, _, _))| *time)
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
        let touched = self.in_flight.iter().filter(|&&other| self.conflicts.share(pattern, other));
        let touched = touched.filter_map(|other| self.active[other.index()].as_ref().map(|a| a.component));
        let mut merge: Vec<u32> = touched.collect();
        merge.sort_unstable();
        merge.dedup();
        let component = self.new_component(now);
        let bundles = self.table.bundles_of(pattern);
        let left = bundles.len() as u32;
        for bundle in bundles {
            self.bytes_left[bundle] = self.table.volume[bundle] * offer.bytes as f64;
        }
        self.active[pattern.index()] = Some(Active { offer, component, done_mix: 0, left });
        self.in_flight.push(pattern);
        self.started.push(pattern);
        self.components[component as usize].patterns.push(pattern);
        for other in merge {
            self.bring_up_to(now, other);
            let mut patterns = std::mem::take(&mut self.components[other as usize].patterns);
            for &moved in &patterns {
                self.member(moved).component = component;
            }
            self.components[component as usize].patterns.append(&mut patterns);
            self.retire(other);
        }
        self.components[component as usize].patterns.sort_unstable();
        self.dirty.push(component);
    }

    fn member(&mut self, pattern: PatternId) -> &mut Active {
        self.active[pattern.index()].as_mut().expect("members of a component are in flight")
    }

    fn new_component(&mut self, now: SimTime) -> u32 {
        let row = self.free.pop().unwrap_or_else(|| {
            self.components.push(Component::default());
            self.components.len() as u32 - 1
        });
        self.components[row as usize].updated = now;
        row
    }

    fn retire(&mut self, row: u32) {
        let component = &mut self.components[row as usize];
        component.version += 1;
        component.course = None;
        component.rates = None;
        component.patterns.clear();
        self.free.push(row);
    }

    /// Makes the bytes left of a component true for `now`, and takes it off a known course.
    fn bring_up_to(&mut self, now: SimTime, row: u32) {
        let component = &mut self.components[row as usize];
        let (since, seconds) = (component.updated, now.since(component.updated).seconds());
        component.updated = now;
        component.version += 1;
        if let Some(course) = component.course.take() {
            let pattern = component.patterns[0];
            self.leave_course(pattern, &course, since, seconds);
            self.dirty.push(row);
            return;
        }
        let Some(rates) = component.rates.clone() else {
            return;
        };
        let patterns = std::mem::take(&mut component.patterns);
        let mut at = 0;
        for &pattern in &patterns {
            let bundles = self.table.bundles_of(pattern);
            if let Some(meter) = &mut self.meter {
                let rates = &rates.bundles[at..at + bundles.len()];
                meter.moved(&self.table, pattern, rates, since.seconds(), now.seconds());
            }
            for bundle in bundles {
                self.bytes_left[bundle] -= rates.bundles[at] * seconds;
                at += 1;
            }
        }
        self.ledger.moved(&rates.strands, seconds);
        self.components[row as usize].patterns = patterns;
    }

    /// Puts the bytes left where a pattern on its known course for `seconds` has them.
    fn leave_course(&mut self, pattern: PatternId, course: &Profile, since: SimTime, seconds: f64) {
        let bytes = self.member(pattern).offer.bytes as f64;
        self.measure(pattern, course, since, seconds);
        let bundles = self.table.bundles_of(pattern);
        let mut from = 0.0;
        let (mut done_mix, mut left) = (0, 0);
        for (end, rates) in &course.phases {
            let until = (end * bytes).min(seconds);
            if until > from {
                for (bundle, rate) in bundles.clone().zip(&rates.bundles) {
                    self.bytes_left[bundle] -= rate * (until - from);
                }
                self.ledger.moved(&rates.strands, until - from);
            }
            from = from.max(until);
        }
        for bundle in bundles {
            if self.bytes_left[bundle] <= self.table.volume[bundle] * bytes * FINISHED {
                self.bytes_left[bundle] = DONE;
                done_mix ^= mix(bundle as u64 + 1);
            } else {
                left += 1;
            }
        }
        let active = self.member(pattern);
        (active.done_mix, active.left) = (done_mix, left);
    }

    /// Ends bundles due at `now`, and the operations whose last bundle that was.
    pub fn advance(&mut self, now: SimTime, order: &mut WorkOrder<'_>) {
        while let Some(&Reverse((time, row, version))) = self.events.peek()
            && time <= now
        {
            self.events.pop();
            if self.components[row as usize].version == version {
                self.end_bundles(now, row, order);
            }
        }
    }

    fn end_bundles(&mut self, now: SimTime, row: u32, order: &mut WorkOrder<'_>) {
        if let Some(course) = self.components[row as usize].course.clone() {
            let pattern = self.components[row as usize].patterns[0];
            let bytes = self.member(pattern).offer.bytes as f64;
            self.measure(pattern, &course, self.components[row as usize].updated, f64::INFINITY);
            let course = self.table.is_dynamic().then_some(&course);
            self.ledger.completed(pattern, bytes, course);
            self.finish_pattern(now, pattern, order);
            self.retire(row);
            self.next_offer(now, pattern, order);
            return;
        }
        self.bring_up_to(now, row);
        let patterns = std::mem::take(&mut self.components[row as usize].patterns);
        let mut finished = Vec::new();
        for &pattern in &patterns {
            if self.sweep_done(pattern) == 0 {
                finished.push(pattern);
            }
        }
        for &pattern in &finished {
            let bytes = self.member(pattern).offer.bytes as f64;
            self.ledger.completed_in_step(pattern, bytes, self.table.is_dynamic());
            self.ledger.corrected(&self.table, pattern);
            self.finish_pattern(now, pattern, order);
        }
        let left = patterns.into_iter().filter(|pattern| !finished.contains(pattern)).collect();
        self.retire(row);
        self.regroup(now, left);
        for pattern in finished {
            self.next_offer(now, pattern, order);
        }
    }

    /// Marks bundles without bytes as done; returns how many are left.
    fn sweep_done(&mut self, pattern: PatternId) -> u32 {
        let active = self.active[pattern.index()].as_mut().expect("a member is in flight");
        let bytes = active.offer.bytes as f64;
        for bundle in self.table.bundles_of(pattern) {
            let left = &mut self.bytes_left[bundle];
            if *left != DONE && *left <= self.table.volume[bundle] * bytes * FINISHED {
                *left = DONE;
                active.done_mix ^= mix(bundle as u64 + 1);
                active.left -= 1;
            }
        }
        active.left
    }

    fn finish_pattern(&mut self, now: SimTime, pattern: PatternId, order: &mut WorkOrder<'_>) {
        let active = self.active[pattern.index()].take().expect("a member is in flight");
        self.in_flight.retain(|&other| other != pattern);
        order.ends_at(active.offer.operation, now + self.table.latency[pattern.index()]);
    }

    fn next_offer(&mut self, now: SimTime, pattern: PatternId, order: &mut WorkOrder<'_>) {
        if let Some(offer) = self.queues[pattern.index()].pop_front() {
            order.begins_at(offer.operation, now);
            self.start(now, pattern, offer);
        }
    }

    /// Sorts patterns into components by the links that they share.
    fn regroup(&mut self, now: SimTime, mut patterns: Vec<PatternId>) {
        while let Some(first) = patterns.pop() {
            let row = self.new_component(now);
            let mut group = vec![first];
            let mut next = 0;
            while next < group.len() {
                let at = group[next];
                let (joined, rest): (Vec<PatternId>, Vec<PatternId>) =
                    patterns.into_iter().partition(|&other| self.conflicts.share(at, other));
                group.extend(joined);
                patterns = rest;
                next += 1;
            }
            group.sort_unstable();
            for &pattern in &group {
                self.member(pattern).component = row;
            }
            self.components[row as usize].patterns = group;
            self.dirty.push(row);
        }
    }

    /// Finds the rates of all components that changed and posts their next events.
    pub fn solve(&mut self, now: SimTime) {
        let mut dirty = std::mem::take(&mut self.dirty);
        dirty.sort_unstable();
        dirty.dedup();
        for row in dirty.drain(..) {
            if self.components[row as usize].patterns.is_empty() {
                continue;
            }
            let seconds = self.find_rates(now, row);
            let component = &mut self.components[row as usize];
            component.version += 1;
            if seconds.is_finite() {
                // Never the same moment again: a bundle needs at least a picosecond to end.
                let span = SimTime::from_seconds(seconds).max(SimTime::from_ps(1));
                self.events.push(Reverse((now.saturating_add(span), row, component.version)));
            }
        }
        self.dirty = dirty;
    }

    /// Rates of a component; returns the seconds until its next event.
    fn find_rates(&mut self, now: SimTime, row: u32) -> f64 {
        debug_assert_eq!(self.components[row as usize].updated, now);
        let patterns = std::mem::take(&mut self.components[row as usize].patterns);
        let fresh = patterns.len() == 1 && self.is_fresh(patterns[0]);
        let seconds = if self.shortcuts.alone && fresh {
            let bytes = self.member(patterns[0]).offer.bytes as f64;
            let course = self.book.profile(&self.table, patterns[0]);
            let seconds = course.seconds * bytes;
            if seconds.is_finite() {
                self.components[row as usize].course = Some(course);
                self.components[row as usize].rates = None;
                self.components[row as usize].patterns = patterns;
                return seconds;
            }
            self.step_rates(row, &patterns)
        } else {
            self.step_rates(row, &patterns)
        };
        self.components[row as usize].patterns = patterns;
        seconds
    }

    fn is_fresh(&self, pattern: PatternId) -> bool {
        let Some(active) = &self.active[pattern.index()] else {
            return false;
        };
        let bytes = active.offer.bytes as f64;
        let mut bundles = self.table.bundles_of(pattern);
        active.done_mix == 0 && bundles.all(|b| self.bytes_left[b] == self.table.volume[b] * bytes)
    }

    /// Whether the pattern has a bundle without bytes that is not marked as done, or has no bundle left.
    fn is_due(&self, pattern: PatternId) -> bool {
        let Some(active) = &self.active[pattern.index()] else {
            return false;
        };
        let bytes = active.offer.bytes as f64;
        let spent = |bundle: usize| {
            let left = self.bytes_left[bundle];
            left != DONE && left <= self.table.volume[bundle] * bytes * FINISHED
        };
        active.left == 0 || self.table.bundles_of(pattern).any(spent)
    }

    fn step_rates(&mut self, row: u32, patterns: &[PatternId]) -> f64 {
        let active = &self.active;
        let key = key_of(patterns, &|p| active[p.index()].as_ref().map_or(0, |a| a.done_mix));
        let bytes_left = &self.bytes_left;
        let rates = self.book.rates(&self.table, patterns, &|bundle| bytes_left[bundle] == DONE, key);
        let mut at = 0;
        let mut seconds = f64::INFINITY;
        for &pattern in patterns {
            let bundles = self.table.bundles_of(pattern);
            let span = at..at + bundles.len();
            at = span.end;
            // Whatever stopped the clock at the very end of a bundle (a fault, a new neighbour) voided its
            // event: it ends now, or it would hold its links for good.
            if self.is_due(pattern) {
                seconds = 0.0;
            }
            seconds = seconds.min(first_end(&self.bytes_left[bundles], &rates.bundles[span]));
        }
        self.components[row as usize].rates = Some(rates);
        seconds
    }

    /// A cable goes down or comes back: its links lose or regain their capacity.
    pub fn set_cable(&mut self, now: SimTime, cable: CableId, down: bool) {
        for row in 0..self.components.len() as u32 {
            if !self.components[row as usize].patterns.is_empty() {
                self.bring_up_to(now, row);
                self.dirty.push(row);
            }
        }
        for link in [cable.forward(), cable.backward()] {
            let capacity = if down { 0.0 } else { self.capacities[link.index()] };
            self.book.set_capacity(link, capacity);
        }
    }

    /// Takes new paths: bytes left stay, components form anew.
    pub fn reroute(&mut self, now: SimTime, mut table: BundleTable) {
        assert_eq!(table.bundles(), self.table.bundles(), "routes change, bundles do not");
        // What has no path any more may have sent its last byte over the old one: that byte's latency stays.
        for bundle in std::mem::take(&mut table.stranded) {
            let pattern = table.pattern_start.partition_point(|&start| start <= bundle) - 1;
            table.latency[pattern] = table.latency[pattern].max(self.table.latency[pattern]);
            table.stranded.push(bundle);
        }
        for row in 0..self.components.len() as u32 {
            if !self.components[row as usize].patterns.is_empty() {
                self.bring_up_to(now, row);
                self.retire(row);
            }
        }
        let patterns = self.in_flight.clone();
        if !table.is_dynamic() {
            for &pattern in &patterns {
                let bytes = self.member(pattern).offer.bytes as f64;
                self.ledger.carried_so_far(&self.table, pattern, bytes, &self.bytes_left);
            }
        }
        self.ledger.settle(&self.table);
        self.conflicts = Conflicts::of(&table, self.capacities.len());
        if let Some(meter) = &mut self.meter {
            meter.take_paths(&table);
        }
        self.table = table;
        self.book.forget();
        self.regroup(now, patterns);
    }

    /// Writes what links and patterns carried into a log whose times are known.
    pub fn finish(mut self, now: SimTime, work: &WorkGraph, log: &mut RunLog) {
        for row in 0..self.components.len() as u32 {
            if !self.components[row as usize].patterns.is_empty() {
                self.bring_up_to(now, row);
            }
        }
        if !self.table.is_dynamic() {
            for pattern in self.in_flight.clone() {
                let bytes = self.member(pattern).offer.bytes as f64;
                self.ledger.carried_so_far(&self.table, pattern, bytes, &self.bytes_left);
            }
        }
        self.ledger.settle(&self.table);
        log.solves = self.book.counters.solves;
        log.solved_bundles = self.book.counters.bundles;
        (log.link_bytes, log.pattern_bytes) = self.ledger.finish();
        if let Some(meter) = self.meter {
            meter.finish(work, log);
        }
    }
}

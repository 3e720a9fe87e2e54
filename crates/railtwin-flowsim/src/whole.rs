//! Patterns in flight, solved whole: those that share links form a component and move at rates solved together.
//!
//! The way of the dynamic split, whose rates no single link decides, and what the shorter way is compared with.
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

use railtwin_engine::BundleTable;
use railtwin_fabric::LinkId;
use railtwin_units::SimTime;
use railtwin_units::stream::mix;
use railtwin_workload::PatternId;

use crate::component::{Counters, Profile, RateBook, key_of};
use crate::conflict::Conflicts;
use crate::course::DONE;
use crate::engine::Shortcuts;
use crate::ledger::Ledger;
use crate::phases::{FINISHED, averaged};
use crate::queue_pair::QueuePair;
use crate::rates::Rates;

/// A pattern in flight.
#[derive(Clone, Copy, Debug)]
struct Active {
    bytes: f64,
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

/// How a pattern came to its end.
#[derive(Debug)]
pub enum Landing {
    /// Alone all its time; with its course where strands have their own rates.
    Course(Option<Rc<Profile>>),
    /// In steps.
    Stepped,
}

/// All patterns in flight.
#[derive(Debug)]
pub struct Whole {
    book: RateBook,
    shortcuts: Shortcuts,
    active: Vec<Option<Active>>,
    components: Vec<Component>,
    free: Vec<u32>,
    /// Components whose rates are to be found before time goes on.
    dirty: Vec<u32>,
    /// Patterns whose component lost a member.
    loose: Vec<PatternId>,
    /// Next end of a bundle by time, component, version.
    events: BinaryHeap<Reverse<(SimTime, u32, u32)>>,
    /// Bytes left by bundle, for patterns in flight and not on a known course.
    bytes_left: Vec<f64>,
}

impl Whole {
    /// Nothing in flight. `capacities` in bytes per second by link.
    pub fn new(table: &BundleTable, capacities: &[f64], shortcuts: Shortcuts) -> Self {
        Self {
            book: RateBook::new(capacities, table.patterns(), shortcuts.remember),
            shortcuts,
            active: vec![None; table.patterns()],
            components: Vec::new(),
            free: Vec::new(),
            dirty: Vec::new(),
            loose: Vec::new(),
            events: BinaryHeap::new(),
            bytes_left: vec![0.0; table.bundles()],
        }
    }

    /// When a bundle ends next.
    pub fn next_time(&self) -> Option<SimTime> {
        self.events.peek().map(|Reverse((time, _, _))| *time)
    }

    /// Bytes left by bundle, true after [`Whole::bring_all_up_to`].
    pub fn bytes_left(&self) -> &[f64] {
        &self.bytes_left
    }

    /// Bytes left of all bundles of a pattern in flight together, which goes on as it goes.
    pub fn left_of(&self, now: SimTime, table: &BundleTable, pattern: PatternId) -> f64 {
        let Some(active) = &self.active[pattern.index()] else { return 0.0 };
        let component = &self.components[active.component as usize];
        let seconds = now.since(component.updated).seconds();
        let bundles = table.bundles_of(pattern);
        let mut moved = vec![0.0; bundles.len()];
        let mut add = |rates: &[f64], seconds: f64| {
            moved.iter_mut().zip(rates).for_each(|(moved, rate)| *moved += rate * seconds);
        };
        if let Some(course) = &component.course {
            let mut from = 0.0;
            for (end, rates) in &course.phases {
                let until = (end * active.bytes).min(seconds);
                add(&rates.bundles, (until - from).max(0.0));
                from = until.max(from);
            }
        } else if let Some(rates) = &component.rates {
            let before = component.patterns.iter().take_while(|&&other| other != pattern);
            let first: usize = before.map(|&other| table.bundles_of(other).len()).sum();
            add(&rates.bundles[first..], seconds);
        }
        bundles.zip(moved).map(|(bundle, moved)| (self.bytes_left[bundle] - moved).max(0.0)).sum()
    }

    /// What was done so far.
    pub fn counters(&self) -> Counters {
        self.book.counters
    }

    /// An operation of `bytes` sets off on its pattern, which has entered `conflicts`.
    pub fn start(
        &mut self,
        now: SimTime,
        table: &BundleTable,
        conflicts: &Conflicts,
        ledger: &mut Ledger,
        pattern: PatternId,
        bytes: u64,
    ) {
        let others = conflicts.meetings_of(pattern).iter().flat_map(|&meeting| conflicts.present_at(meeting));
        let others = others.filter(|&other| other != pattern);
        let mut merge: Vec<u32> =
            others.filter_map(|other| self.active[other.index()].map(|a| a.component)).collect();
        merge.sort_unstable();
        merge.dedup();
        let component = self.new_component(now);
        let bundles = table.bundles_of(pattern);
        let left = bundles.len() as u32;
        let bytes = bytes as f64;
        for bundle in bundles {
            self.bytes_left[bundle] = table.volume[bundle] * bytes;
        }
        self.active[pattern.index()] = Some(Active { bytes, component, done_mix: 0, left });
        self.components[component as usize].patterns.push(pattern);
        for other in merge {
            self.bring_up_to(now, table, ledger, other);
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

    /// Makes the bytes left of all components true for `now`; their rates are found again.
    pub fn bring_all_up_to(&mut self, now: SimTime, table: &BundleTable, ledger: &mut Ledger) {
        for row in 0..self.components.len() as u32 {
            if !self.components[row as usize].patterns.is_empty() {
                self.bring_up_to(now, table, ledger, row);
                self.dirty.push(row);
            }
        }
    }

    /// Makes the bytes left of a component true for `now`, and takes it off a known course.
    fn bring_up_to(&mut self, now: SimTime, table: &BundleTable, ledger: &mut Ledger, row: u32) {
        let component = &mut self.components[row as usize];
        let (since, seconds) = (component.updated, now.since(component.updated).seconds());
        component.updated = now;
        component.version += 1;
        if let Some(course) = component.course.take() {
            let pattern = component.patterns[0];
            self.measure(table, ledger, pattern, &course, since, seconds);
            self.leave_course(table, ledger, pattern, &course, seconds);
            self.dirty.push(row);
            return;
        }
        let Some(rates) = &component.rates else {
            return;
        };
        if let Some(meter) = &mut ledger.meter {
            let mut at = 0;
            for &pattern in &component.patterns {
                let span = at..at + table.bundles_of(pattern).len();
                at = span.end;
                meter.moved(table, pattern, &rates.bundles[span], since.seconds(), now.seconds());
            }
        }
        if let Some(gauge) = &mut ledger.gauge {
            gauge.moved(table, self.book.capacities(), &component.patterns, rates, seconds);
        }
        let bundles = component.patterns.iter().flat_map(|&pattern| table.bundles_of(pattern));
        for (bundle, rate) in bundles.zip(&rates.bundles) {
            self.bytes_left[bundle] -= rate * seconds;
        }
        ledger.moved(table, &rates.strands, seconds);
    }

    /// Tells the meter what a pattern moved in its first `seconds` on its known course.
    fn measure(
        &mut self,
        table: &BundleTable,
        ledger: &mut Ledger,
        pattern: PatternId,
        course: &Profile,
        since: SimTime,
        seconds: f64,
    ) {
        let bytes = self.member(pattern).bytes;
        let Some(meter) = &mut ledger.meter else { return };
        let mut from = 0.0;
        for (end, rates) in &course.phases {
            let until = (end * bytes).min(seconds);
            let start = since.seconds();
            meter.moved(table, pattern, &rates.bundles, start + from, start + until);
            from = until.max(from);
        }
    }

    /// Puts the bytes left where a pattern on its known course for `seconds` has them.
    fn leave_course(
        &mut self,
        table: &BundleTable,
        ledger: &mut Ledger,
        pattern: PatternId,
        course: &Profile,
        seconds: f64,
    ) {
        let bytes = self.member(pattern).bytes;
        let bundles = table.bundles_of(pattern);
        let mut from = 0.0;
        for (end, rates) in &course.phases {
            let until = (end * bytes).min(seconds);
            if until > from {
                for (bundle, rate) in bundles.clone().zip(&rates.bundles) {
                    self.bytes_left[bundle] -= rate * (until - from);
                }
                ledger.moved(table, &rates.strands, until - from);
            }
            from = from.max(until);
        }
        self.sweep_done(table, pattern);
    }

    /// A component whose next bundle ends by `now`.
    pub fn next_due(&mut self, now: SimTime) -> Option<u32> {
        while let Some(&Reverse((time, row, version))) = self.events.peek()
            && time <= now
        {
            self.events.pop();
            if self.components[row as usize].version == version {
                return Some(row);
            }
        }
        None
    }

    /// Ends the bundles of a component that are due; returns the patterns that landed.
    /// [`Whole::regroup_left`] is to be called once they have left.
    pub fn end_bundles(
        &mut self,
        now: SimTime,
        table: &BundleTable,
        ledger: &mut Ledger,
        row: u32,
    ) -> Vec<(PatternId, Landing)> {
        if let Some(course) = self.components[row as usize].course.clone() {
            let pattern = self.components[row as usize].patterns[0];
            let since = self.components[row as usize].updated;
            self.measure(table, ledger, pattern, &course, since, f64::INFINITY);
            self.active[pattern.index()] = None;
            self.retire(row);
            return vec![(pattern, Landing::Course(table.is_dynamic().then_some(course)))];
        }
        self.bring_up_to(now, table, ledger, row);
        let mut landed = Vec::new();
        for pattern in std::mem::take(&mut self.components[row as usize].patterns) {
            if self.sweep_done(table, pattern) == 0 {
                self.active[pattern.index()] = None;
                landed.push((pattern, Landing::Stepped));
            } else {
                self.loose.push(pattern);
            }
        }
        self.retire(row);
        landed
    }

    /// Marks bundles without bytes as done; returns how many are left.
    fn sweep_done(&mut self, table: &BundleTable, pattern: PatternId) -> u32 {
        let active = self.active[pattern.index()].as_mut().expect("a member is in flight");
        for bundle in table.bundles_of(pattern) {
            let left = &mut self.bytes_left[bundle];
            if *left != DONE && *left <= table.volume[bundle] * active.bytes * FINISHED {
                *left = DONE;
                active.done_mix ^= mix(bundle as u64 + 1);
                active.left -= 1;
            }
        }
        active.left
    }

    /// Forms components anew of those whose component lost a member.
    pub fn regroup_left(&mut self, now: SimTime, conflicts: &Conflicts) {
        for group in conflicts.groups(&std::mem::take(&mut self.loose)) {
            let row = self.new_component(now);
            for &pattern in &group {
                self.member(pattern).component = row;
            }
            self.components[row as usize].patterns = group;
            self.dirty.push(row);
        }
    }

    /// Finds the rates of all components that changed and posts their next events.
    pub fn solve(&mut self, now: SimTime, table: &BundleTable) {
        let mut dirty = std::mem::take(&mut self.dirty);
        dirty.sort_unstable();
        dirty.dedup();
        for row in dirty.drain(..) {
            if self.components[row as usize].patterns.is_empty() {
                continue;
            }
            let seconds = self.find_rates(now, table, row);
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
    fn find_rates(&mut self, now: SimTime, table: &BundleTable, row: u32) -> f64 {
        debug_assert_eq!(self.components[row as usize].updated, now);
        let patterns = std::mem::take(&mut self.components[row as usize].patterns);
        let mut seconds = f64::INFINITY;
        if self.shortcuts.alone && patterns.len() == 1 && self.is_fresh(table, patterns[0]) {
            let bytes = self.member(patterns[0]).bytes;
            let course = self.book.profile(table, patterns[0]);
            seconds = course.seconds * bytes;
            if seconds.is_finite() {
                self.components[row as usize].course = Some(course);
                self.components[row as usize].rates = None;
            }
        }
        if !seconds.is_finite() {
            seconds = self.step_rates(table, row, &patterns);
        }
        self.components[row as usize].patterns = patterns;
        seconds
    }

    fn is_fresh(&self, table: &BundleTable, pattern: PatternId) -> bool {
        let Some(active) = &self.active[pattern.index()] else {
            return false;
        };
        let mut bundles = table.bundles_of(pattern);
        active.done_mix == 0 && bundles.all(|b| self.bytes_left[b] == table.volume[b] * active.bytes)
    }

    /// Whether the pattern has a bundle without bytes that is not marked as done, or has no bundle left.
    fn is_due(&self, table: &BundleTable, pattern: PatternId) -> bool {
        let Some(active) = &self.active[pattern.index()] else {
            return false;
        };
        let spent = |bundle: usize| {
            let left = self.bytes_left[bundle];
            left != DONE && left <= table.volume[bundle] * active.bytes * FINISHED
        };
        active.left == 0 || table.bundles_of(pattern).any(spent)
    }

    fn step_rates(&mut self, table: &BundleTable, row: u32, patterns: &[PatternId]) -> f64 {
        let active = &self.active;
        let key = key_of(patterns, &|p| active[p.index()].as_ref().map_or(0, |a| a.done_mix));
        let bytes_left = &self.bytes_left;
        let rates = self.book.rates(table, patterns, &|bundle| bytes_left[bundle] == DONE, key);
        let mut left = Vec::with_capacity(rates.bundles.len());
        let mut due = false;
        for &pattern in patterns {
            left.extend_from_slice(&self.bytes_left[table.bundles_of(pattern)]);
            // Whatever stopped the clock at the very end of a bundle (a fault, a new neighbour) voided its
            // event: it ends now, or it would hold its links for good.
            due |= self.is_due(table, pattern);
        }
        let seconds = if due { 0.0 } else { self.book.step(table, patterns, &left, &rates.bundles) };
        self.components[row as usize].rates = Some(averaged(table, patterns, &left, rates, seconds));
        seconds
    }

    /// Goes on with patterns that were in flight, with the bytes of their operations; bytes left by bundle, [`DONE`] for
    /// those that ended.
    pub fn take_over(
        &mut self,
        now: SimTime,
        table: &BundleTable,
        conflicts: &Conflicts,
        patterns: &[(PatternId, u64)],
        left: Vec<f64>,
    ) {
        self.bytes_left = left;
        for &(pattern, bytes) in patterns {
            let mut active = Active { bytes: bytes as f64, component: 0, done_mix: 0, left: 0 };
            for bundle in table.bundles_of(pattern) {
                if self.bytes_left[bundle] == DONE {
                    active.done_mix ^= mix(bundle as u64 + 1);
                } else {
                    active.left += 1;
                }
            }
            self.active[pattern.index()] = Some(active);
            self.loose.push(pattern);
        }
        self.regroup_left(now, conflicts);
    }

    /// Patterns of higher priority are served first from now on; [`Whole::bring_all_up_to`] comes first.
    pub fn set_priorities(&mut self, priorities: &[u8]) {
        self.book.set_priorities(priorities);
    }

    /// A link loses or regains its capacity; [`Whole::bring_all_up_to`] comes first.
    pub fn set_capacity(&mut self, link: LinkId, bytes_per_s: f64) {
        self.book.set_capacity(link, bytes_per_s);
    }

    /// Makes a queue pair of a pattern stand still, or go on.
    pub fn hold(
        &mut self,
        now: SimTime,
        table: &BundleTable,
        ledger: &mut Ledger,
        (pattern, pair): (PatternId, QueuePair),
        held: bool,
    ) {
        if let Some(row) = self.active[pattern.index()].map(|active| active.component) {
            self.bring_up_to(now, table, ledger, row);
            self.dirty.push(row);
        }
        self.book.hold(pair, held);
    }

    /// Takes a pattern out of flight that has left `conflicts`; [`Whole::bring_all_up_to`] comes first.
    pub fn kill(&mut self, now: SimTime, conflicts: &Conflicts, pattern: PatternId) {
        let Some(active) = self.active[pattern.index()].take() else { return };
        let members = std::mem::take(&mut self.components[active.component as usize].patterns);
        self.loose.extend(members.into_iter().filter(|&other| other != pattern));
        self.retire(active.component);
        self.regroup_left(now, conflicts);
    }

    /// Takes new paths for all in flight; [`Whole::bring_all_up_to`] comes first.
    pub fn reroute(&mut self, now: SimTime, conflicts: &Conflicts, patterns: Vec<PatternId>) {
        for row in 0..self.components.len() as u32 {
            if !self.components[row as usize].patterns.is_empty() {
                self.retire(row);
            }
        }
        self.book.forget();
        self.loose = patterns;
        self.regroup_left(now, conflicts);
    }
}

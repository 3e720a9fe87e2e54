//! Patterns in flight under a static split: bundles that meet step by step, patterns alone on their known course.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use railtwin_engine::BundleTable;
use railtwin_fabric::LinkId;
use railtwin_units::SimTime;
use railtwin_workload::PatternId;
use rayon::prelude::*;

use crate::component::Counters;
use crate::conflict::Conflicts;
use crate::course::{Course, DONE};
use crate::engine::Shortcuts;
use crate::motion::Motion;
use crate::reduce::Constraints;
use crate::symmetry::Likeness;

/// How a pattern in flight moves.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    /// Not in flight.
    Landed,
    /// Alone since its start and on its known course.
    Course { since: SimTime, bytes: u64 },
    /// Bundle by bundle; so many variables still move. `even` where like bundles are one.
    Steps { left: u32, even: bool },
}

/// All patterns in flight.
#[derive(Debug)]
pub struct Steps {
    shortcuts: Shortcuts,
    constraints: Constraints,
    likeness: Likeness,
    motion: Motion,
    /// The moment from which the motion counts its seconds: never far away, so that floats stay fine.
    epoch: SimTime,
    ways: Vec<Way>,
    /// Bytes left by bundle of patterns in steps: what it was when it was last taken off its way.
    bytes_left: Vec<f64>,
    /// The bundle moves as a variable of its own, or with those that it is first of.
    moves: Vec<bool>,
    /// How patterns run alone, once somebody has asked.
    courses: Vec<Option<Course>>,
    /// Patterns that wait for their course, since this moment.
    wanted: Vec<PatternId>,
    /// Ends of courses by time, pattern and the take-off that they belong to.
    ends: BinaryHeap<Reverse<(SimTime, PatternId, u32)>>,
    take_off: Vec<u32>,
    pattern_of: Vec<PatternId>,
    down: Vec<bool>,
    /// Dead links on the way of each bundle.
    dead: Vec<u16>,
    /// Patterns whose last bundle was gone when they left their course, and when that was.
    landed: Vec<PatternId>,
    landed_at: SimTime,
    moving: usize,
    counters: Counters,
}

impl Steps {
    /// Nothing in flight. `capacities` of healthy links in bytes per second.
    pub fn new(table: &BundleTable, capacities: &[f64], shortcuts: Shortcuts) -> Self {
        let constraints = Constraints::of(table, capacities);
        let likeness =
            if shortcuts.alike { Likeness::of(table, &constraints) } else { Likeness::none(table.bundles()) };
        let of_pattern =
            |p| table.bundles_of(PatternId::from_index(p)).map(move |_| PatternId::from_index(p));
        Self {
            shortcuts,
            motion: Motion::new(&constraints, &table.weight, &table.cap),
            constraints,
            likeness,
            epoch: SimTime::ZERO,
            ways: vec![Way::Landed; table.patterns()],
            bytes_left: vec![0.0; table.bundles()],
            moves: vec![false; table.bundles()],
            courses: (0..table.patterns()).map(|_| None).collect(),
            wanted: Vec::new(),
            ends: BinaryHeap::new(),
            take_off: vec![0; table.patterns()],
            pattern_of: (0..table.patterns()).flat_map(of_pattern).collect(),
            down: vec![false; capacities.len()],
            dead: vec![0; table.bundles()],
            landed: Vec::new(),
            landed_at: SimTime::ZERO,
            moving: 0,
            counters: Counters::default(),
        }
    }

    fn seconds(&self, now: SimTime) -> f64 {
        now.since(self.epoch).seconds()
    }

    fn moment(&self, seconds: f64) -> SimTime {
        self.epoch + SimTime::from_seconds(seconds)
    }

    /// When something ends next, true after [`Steps::settle`].
    pub fn next_time(&self) -> Option<SimTime> {
        let step = self.motion.next_end().map(|end| self.moment(end));
        let course = self.ends.peek().map(|Reverse((time, ..))| *time);
        let landed = (!self.landed.is_empty()).then_some(self.landed_at);
        [step, course, landed].into_iter().flatten().min()
    }

    /// An operation of `bytes` sets off on its pattern, which has entered `conflicts`.
    pub fn start(
        &mut self,
        now: SimTime,
        table: &BundleTable,
        conflicts: &Conflicts,
        pattern: PatternId,
        bytes: u64,
    ) {
        let mut alone =
            self.shortcuts.alone && table.bundles_of(pattern).all(|bundle| self.dead[bundle] == 0);
        for &meeting in conflicts.meetings_of(pattern) {
            // One on its course is alone wherever it could meet others: whoever else is there comes first.
            if let Some(other) = conflicts.present_at(meeting).find(|&other| other != pattern) {
                alone = false;
                self.leave_course(now, table, other);
            }
        }
        if alone {
            self.ways[pattern.index()] = Way::Course { since: now, bytes };
            self.take_off[pattern.index()] += 1;
            self.wanted.push(pattern);
            return;
        }
        self.fill(table, pattern, bytes);
        self.set_off(now, table, pattern, bytes, true);
    }

    /// All bytes of an operation are left.
    fn fill(&mut self, table: &BundleTable, pattern: PatternId, bytes: u64) {
        for bundle in table.bundles_of(pattern) {
            self.bytes_left[bundle] = table.volume[bundle] * bytes as f64;
        }
    }

    /// Puts the bundles of a pattern on their way with the bytes that they have left; `even` when those alike
    /// have equally many.
    fn set_off(&mut self, now: SimTime, table: &BundleTable, pattern: PatternId, bytes: u64, even: bool) {
        if self.moving == 0 {
            self.epoch = now;
        }
        let seconds = self.seconds(now);
        let mut left = 0;
        for bundle in table.bundles_of(pattern) {
            let count = if even { self.likeness.count[bundle] } else { 1 };
            if count == 0 || self.bytes_left[bundle] == DONE {
                continue;
            }
            left += 1;
            self.moves[bundle] = true;
            let size = table.volume[bundle] * bytes as f64;
            self.motion.add(seconds, bundle as u32, count, size, self.bytes_left[bundle]);
        }
        self.moving += left as usize;
        self.ways[pattern.index()] = Way::Steps { left, even };
        if left == 0 {
            self.landed.push(pattern);
            self.landed_at = now;
        }
    }

    /// Has a pattern that is on its course go on in steps.
    fn leave_course(&mut self, now: SimTime, table: &BundleTable, pattern: PatternId) {
        let Way::Course { since, bytes } = self.ways[pattern.index()] else { return };
        self.take_off[pattern.index()] += 1;
        self.fill(table, pattern, bytes);
        if now > since {
            let until = now.since(since).seconds() / bytes as f64;
            let bundles = table.bundles_of(pattern);
            let course = self.courses[pattern.index()].as_ref().expect("it took off on it");
            let left = course.left_after(until, &table.volume[bundles.clone()]);
            for (bundle, left) in bundles.zip(left) {
                self.bytes_left[bundle] = left * bytes as f64;
            }
        }
        self.set_off(now, table, pattern, bytes, true);
    }

    /// Makes rates, courses and the next end true.
    pub fn settle(&mut self, now: SimTime, table: &BundleTable) {
        let on_course =
            |p: &PatternId| matches!(self.ways[p.index()], Way::Course { since, .. } if since == now);
        let mut wanted = self.wanted.clone();
        self.wanted.clear();
        wanted.retain(on_course);
        wanted.sort_unstable();
        wanted.dedup();
        self.find_courses(table, &wanted);
        for pattern in wanted {
            let Way::Course { bytes, .. } = self.ways[pattern.index()] else { continue };
            let course = self.courses[pattern.index()].as_ref();
            let seconds = course.map_or(f64::INFINITY, |course| course.seconds * bytes as f64);
            if seconds.is_finite() {
                let end = now.saturating_add(SimTime::from_seconds(seconds).max(SimTime::from_ps(1)));
                self.ends.push(Reverse((end, pattern, self.take_off[pattern.index()])));
            } else {
                self.leave_course(now, table, pattern);
            }
        }
        self.motion.settle(self.seconds(now));
        while let Some(&Reverse((_, pattern, take_off))) = self.ends.peek()
            && self.take_off[pattern.index()] != take_off
        {
            self.ends.pop();
        }
    }

    /// Runs each pattern alone whose course nobody knows, in parallel: they have nothing to do with each other.
    fn find_courses(&mut self, table: &BundleTable, wanted: &[PatternId]) {
        let unknown = wanted.iter().copied().filter(|pattern| self.courses[pattern.index()].is_none());
        let unknown: Vec<PatternId> = unknown.collect();
        let (constraints, counts) = (&self.constraints, &self.likeness.count);
        let run = |&pattern: &PatternId| Course::of(table, constraints, counts, table.bundles_of(pattern));
        let size: usize = unknown.iter().map(|&pattern| table.bundles_of(pattern).len()).sum();
        let found: Vec<(Course, Counters)> = if self.shortcuts.parallel && size >= WORTH_THREADS {
            unknown.par_iter().map(run).collect()
        } else {
            unknown.iter().map(run).collect()
        };
        for (pattern, (course, counters)) in unknown.into_iter().zip(found) {
            self.courses[pattern.index()] = Some(course);
            self.counters.add(counters);
        }
    }

    /// Ends what is due at `now`, and returns the patterns that landed, ascending.
    pub fn end_due(&mut self, now: SimTime) -> Vec<PatternId> {
        let mut landed = std::mem::take(&mut self.landed);
        while let Some(&Reverse((time, pattern, take_off))) = self.ends.peek()
            && time <= now
        {
            self.ends.pop();
            if self.take_off[pattern.index()] == take_off {
                self.take_off[pattern.index()] += 1;
                landed.push(pattern);
            }
        }
        let seconds = self.seconds(now);
        while let Some(bundle) = self.next_ended(now, seconds) {
            let pattern = self.pattern_of[bundle as usize];
            self.bytes_left[bundle as usize] = DONE;
            self.moves[bundle as usize] = false;
            self.moving -= 1;
            if let Way::Steps { left, .. } = &mut self.ways[pattern.index()] {
                *left -= 1;
                if *left == 0 {
                    landed.push(pattern);
                }
            }
        }
        landed.sort_unstable();
        for pattern in &landed {
            self.ways[pattern.index()] = Way::Landed;
        }
        landed
    }

    /// Takes off a bundle that ends by `now`, which is so many seconds from the epoch.
    fn next_ended(&mut self, now: SimTime, seconds: f64) -> Option<u32> {
        let ended = self.motion.next_ended(seconds + ROUNDING);
        // Days after the epoch seconds are coarser than picoseconds: what was due now may lie a little later in them.
        ended.or_else(|| {
            let due = self.motion.next_end().filter(|&end| self.moment(end) <= now)?;
            self.motion.next_ended(due)
        })
    }

    /// A link goes down or comes back: bundles on it stand still or go on.
    pub fn set_link(&mut self, now: SimTime, table: &BundleTable, link: LinkId, down: bool) {
        if std::mem::replace(&mut self.down[link.index()], down) == down {
            return;
        }
        for bundle in 0..table.bundles() {
            let range = table.link_start[bundle] as usize..table.link_start[bundle + 1] as usize;
            if table.links[range].binary_search(&link).is_err() {
                continue;
            }
            self.hold(now, table, bundle, down);
        }
    }

    /// Makes a bundle stand still, or go on; many times held is held until as many times let go.
    pub fn hold(&mut self, now: SimTime, table: &BundleTable, bundle: usize, held: bool) {
        self.leave_course(now, table, self.pattern_of[bundle]);
        self.dead[bundle] = if held { self.dead[bundle] + 1 } else { self.dead[bundle] - 1 };
        let ceiling = if self.dead[bundle] > 0 { 0.0 } else { table.cap[bundle] / table.weight[bundle] };
        self.motion.set_ceiling(bundle as u32, ceiling);
    }

    /// Takes a pattern out of flight, once [`Steps::bytes_left`] was asked.
    pub fn kill(&mut self, now: SimTime, table: &BundleTable, pattern: PatternId) {
        self.leave_course(now, table, pattern);
        let seconds = self.seconds(now);
        for bundle in table.bundles_of(pattern) {
            if std::mem::replace(&mut self.moves[bundle], false) {
                self.motion.remove(seconds, bundle as u32);
                self.moving -= 1;
            }
        }
        self.landed.retain(|&other| other != pattern);
        self.ways[pattern.index()] = Way::Landed;
    }

    /// Ways to save work that it goes by.
    pub const fn shortcuts(&self) -> Shortcuts {
        self.shortcuts
    }

    /// Bytes left by bundle of a pattern in flight, with [`DONE`] for bundles that ended.
    pub fn bytes_left(&mut self, now: SimTime, table: &BundleTable, pattern: PatternId) -> &[f64] {
        self.leave_course(now, table, pattern);
        let seconds = self.seconds(now);
        let even = matches!(self.ways[pattern.index()], Way::Steps { even: true, .. });
        for bundle in table.bundles_of(pattern) {
            let first = self.likeness.first[bundle] as usize;
            if self.moves[bundle] {
                self.bytes_left[bundle] = self.motion.left(seconds, bundle as u32);
            } else if even && first != bundle {
                self.bytes_left[bundle] = self.bytes_left[first];
            }
        }
        &self.bytes_left
    }

    /// Bytes left of all bundles of a pattern in flight together, which goes on as it goes.
    pub fn left_of(&self, now: SimTime, table: &BundleTable, pattern: PatternId) -> f64 {
        let bundles = table.bundles_of(pattern);
        match self.ways[pattern.index()] {
            Way::Landed => 0.0,
            Way::Course { since, bytes } => {
                let volumes = &table.volume[bundles.clone()];
                let seconds = now.since(since).seconds() / bytes as f64;
                let course = self.courses[pattern.index()].as_ref().filter(|_| now > since);
                let left =
                    course.map_or_else(|| volumes.to_vec(), |course| course.left_after(seconds, volumes));
                // Of bundles that are alike the first tells of all.
                let first = |bundle: usize| self.likeness.first[bundle] as usize - bundles.start;
                bundles.clone().map(|bundle| left[first(bundle)].max(0.0) * bytes as f64).sum()
            }
            Way::Steps { even, .. } => {
                let seconds = self.seconds(now);
                let own = |bundle: usize| {
                    let first = if even { self.likeness.first[bundle] as usize } else { bundle };
                    let moves = [bundle, first].into_iter().find(|&one| self.moves[one]);
                    moves.map_or(self.bytes_left[first], |one| self.motion.left(seconds, one as u32))
                };
                bundles.map(|bundle| own(bundle).max(0.0)).sum()
            }
        }
    }

    /// Starts anew on other paths, with nothing in flight: links that are down stay so.
    pub fn reroute(&mut self, table: &BundleTable, capacities: &[f64]) {
        let mut anew = Self::new(table, capacities, self.shortcuts);
        anew.counters = self.counters();
        for (link, _) in self.down.iter().enumerate().filter(|(_, down)| **down) {
            anew.set_link(SimTime::ZERO, table, LinkId(link as u32), true);
        }
        *self = anew;
    }

    /// Goes on with bytes left of a pattern that was in flight before routes changed.
    pub fn go_on(&mut self, now: SimTime, table: &BundleTable, pattern: PatternId, bytes: u64, left: &[f64]) {
        for bundle in table.bundles_of(pattern) {
            self.bytes_left[bundle] = left[bundle];
        }
        self.set_off(now, table, pattern, bytes, false);
    }

    /// What was done so far.
    pub fn counters(&self) -> Counters {
        let mut all = self.counters;
        all.add(self.motion.counters);
        all
    }
}

/// Seconds before a bundle's end at which it may be ended: ends are rounded to whole picoseconds.
const ROUNDING: f64 = 0.6e-12;

/// Bundles from which on courses are found by several threads.
const WORTH_THREADS: usize = 512;

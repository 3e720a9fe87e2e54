//! What links carried: counted by pattern while nothing changes, put on links when paths do.
use std::rc::Rc;

use railtwin_engine::BundleTable;
use railtwin_engine::bundles::StrandTable;
use railtwin_workload::PatternId;

use crate::component::Profile;
use crate::gauge::Gauge;
use crate::meter::Meter;

/// Bytes of operations that ended, by pattern, and bytes already put on links.
#[derive(Debug)]
pub struct Ledger {
    /// Bytes of whole operations since the last change of paths, static split.
    since: Vec<f64>,
    /// The same for operations on their known course under a dynamic split, with that course.
    courses: Vec<Option<(f64, Rc<Profile>)>>,
    /// Bytes by bundle of patterns in flight that earlier paths carried, by pattern.
    carried: Vec<Vec<f64>>,
    links: Vec<f64>,
    patterns: Vec<f64>,
    /// What was delivered when, where that was asked for; only patterns that are solved whole tell it.
    pub meter: Option<Meter>,
    /// What is told to controllers, where any is told; only patterns that are solved whole tell it.
    pub gauge: Option<Gauge>,
}

impl Ledger {
    /// Nothing carried.
    pub fn new(patterns: usize, links: usize) -> Self {
        Self {
            since: vec![0.0; patterns],
            courses: vec![None; patterns],
            carried: vec![Vec::new(); patterns],
            links: vec![0.0; links],
            patterns: vec![0.0; patterns],
            meter: None,
            gauge: None,
        }
    }

    /// An operation ended that ran alone all its time; under a dynamic split its course tells the links.
    pub fn completed(
        &mut self,
        table: &BundleTable,
        pattern: PatternId,
        bytes: f64,
        course: Option<&Rc<Profile>>,
    ) {
        let p = pattern.index();
        self.patterns[p] += bytes;
        match course {
            None => self.since[p] += bytes,
            Some(course) => {
                // A fault gives the same paths another course before routes change.
                if let Some((bytes, old)) = self.courses[p].take_if(|(_, known)| !Rc::ptr_eq(known, course)) {
                    self.ran(table, bytes, &old);
                }
                let (total, _) = self.courses[p].get_or_insert_with(|| (0.0, Rc::clone(course)));
                *total += bytes;
            }
        }
    }

    /// An operation ended that moved in steps; under a dynamic split its steps were counted as they went.
    pub fn completed_in_step(&mut self, pattern: PatternId, bytes: f64, dynamic: bool) {
        let p = pattern.index();
        self.patterns[p] += bytes;
        if !dynamic {
            self.since[p] += bytes;
        }
    }

    /// Strands of a table, by number, moved for a while at some rates.
    pub fn moved(&mut self, table: &BundleTable, strands: &[(u32, f64)], seconds: f64) {
        let StrandTable { link_start, links, .. } = &table.strands;
        for &(strand, rate) in strands {
            let strand = strand as usize;
            for link in &links[link_start[strand] as usize..link_start[strand + 1] as usize] {
                self.links[link.index()] += rate * seconds;
            }
        }
    }

    /// Strands ran their course for operations of so many bytes together.
    fn ran(&mut self, table: &BundleTable, bytes: f64, course: &Profile) {
        let mut from = 0.0;
        for (end, rates) in &course.phases {
            self.moved(table, &rates.strands, (end - from) * bytes);
            from = *end;
        }
    }

    /// Puts on links what a pattern in flight moved since the last change of paths. When it ends later, its
    /// whole bytes are counted on the paths of then; what earlier paths carried is taken off there.
    pub fn carried_so_far(&mut self, table: &BundleTable, pattern: PatternId, bytes: f64, left: &[f64]) {
        let carried = &mut self.carried[pattern.index()];
        let bundles = table.bundles_of(pattern);
        carried.resize(bundles.len(), 0.0);
        for (row, bundle) in bundles.enumerate() {
            let now = table.volume[bundle] * bytes - left[bundle].max(0.0);
            for (link, share) in table.links_of(bundle) {
                self.links[link.index()] += share * (now - carried[row]);
            }
            carried[row] = now;
        }
    }

    /// An operation never ends: what it moved counts as asked for.
    pub fn cut_off(&mut self, table: &BundleTable, pattern: PatternId, bytes: f64, left: &[f64]) {
        let (mut whole, mut moved) = (0.0, 0.0);
        for bundle in table.bundles_of(pattern) {
            let volume = table.volume[bundle] * bytes;
            whole += volume;
            moved += (volume - left[bundle].max(0.0)).max(0.0);
        }
        self.patterns[pattern.index()] += if whole > 0.0 { bytes * moved / whole } else { 0.0 };
    }

    /// Puts all counts since the last change on the links of `table`.
    pub fn settle(&mut self, table: &BundleTable) {
        for p in 0..self.since.len() {
            let pattern = PatternId::from_index(p);
            let bytes = std::mem::take(&mut self.since[p]);
            let course = self.courses[p].take();
            if bytes > 0.0 {
                for bundle in table.bundles_of(pattern) {
                    for (link, share) in table.links_of(bundle) {
                        self.links[link.index()] += share * table.volume[bundle] * bytes;
                    }
                }
            }
            if let Some((bytes, course)) = course {
                self.ran(table, bytes, &course);
            }
        }
    }

    /// Takes off a pattern's links what earlier paths carried of an operation that just ended.
    pub fn corrected(&mut self, table: &BundleTable, pattern: PatternId) {
        let carried = std::mem::take(&mut self.carried[pattern.index()]);
        for (bundle, bytes) in table.bundles_of(pattern).zip(carried) {
            for (link, share) in table.links_of(bundle) {
                self.links[link.index()] -= share * bytes;
            }
        }
    }

    /// Bytes by link that are put there so far.
    pub fn links(&self) -> &[f64] {
        &self.links
    }

    /// Bytes by link and by pattern, and what was delivered when.
    pub fn finish(self) -> (Vec<f64>, Vec<f64>, Option<Meter>) {
        (self.links, self.patterns, self.meter)
    }
}

//! Patterns in flight as faults see them: what waits, what is taken out of flight, what is measured.
use railtwin_engine::BundleTable;
use railtwin_fabric::LinkId;
use railtwin_units::SimTime;
use railtwin_workload::PatternId;

use super::Flight;
use crate::component::{FINISHED, Profile};
use crate::meter::Meter;
use crate::waiting::QueuePair;

impl Flight {
    /// Records throughput from now on.
    pub fn with_meter(self, meter: Option<Meter>) -> Self {
        Self { meter, ..self }
    }

    /// Records what a pattern moved in its first `seconds` on its known course.
    pub(super) fn measure(&mut self, pattern: PatternId, course: &Profile, since: SimTime, seconds: f64) {
        let bytes = self.member(pattern).offer.bytes as f64;
        let Some(meter) = &mut self.meter else { return };
        let mut from = 0.0;
        for (end, rates) in &course.phases {
            let until = (end * bytes).min(seconds);
            let start = since.seconds();
            meter.moved(&self.table, pattern, &rates.bundles, start + from, start + until);
            from = until.max(from);
        }
    }

    /// The paths in use.
    pub fn table(&self) -> &BundleTable {
        &self.table
    }

    /// Patterns in flight.
    pub fn in_flight(&self) -> &[PatternId] {
        &self.in_flight
    }

    /// Patterns that started since this was last asked.
    pub fn take_started(&mut self) -> Vec<PatternId> {
        std::mem::take(&mut self.started)
    }

    /// Whether a bundle of a pattern has bytes left to move. True for the moment of the last change only.
    pub fn is_moving(&self, pattern: PatternId, bundle: usize) -> bool {
        let bytes = self.active[pattern.index()].as_ref().map(|active| active.offer.bytes as f64);
        bytes.is_some_and(|bytes| self.bytes_left[bundle] > self.table.volume[bundle] * bytes * FINISHED)
    }

    /// What can wait of a bundle: all of it under a static split or without a route, else each queue pair.
    pub fn queue_pairs(&self, bundle: usize) -> Vec<QueuePair> {
        let starts = &self.table.strands.bundle_start;
        let strands = if self.table.is_dynamic() { starts[bundle + 1] - starts[bundle] } else { 0 };
        let whole = std::iter::once(QueuePair::ALL).filter(|_| strands == 0);
        whole.chain(0..strands).map(|strand| QueuePair { bundle: bundle as u32, strand }).collect()
    }

    /// The links that a queue pair takes; none where it has no route.
    pub fn path(&self, pair: QueuePair) -> Vec<LinkId> {
        let (bundle, strands) = (pair.bundle as usize, &self.table.strands);
        if pair.strand == QueuePair::ALL {
            return self.table.links_of(bundle).map(|(link, _)| link).collect();
        }
        let strand = (strands.bundle_start[bundle] + pair.strand) as usize;
        if strand >= strands.bundle_start[bundle + 1] as usize {
            return Vec::new();
        }
        strands.links[strands.link_start[strand] as usize..strands.link_start[strand + 1] as usize].to_vec()
    }

    /// Makes a queue pair stand still, or go on.
    pub fn hold(&mut self, now: SimTime, pair: QueuePair, held: bool) {
        let pattern = self.table.pattern_start.partition_point(|&start| start <= pair.bundle) - 1;
        if let Some(row) = self.active[pattern].as_ref().map(|active| active.component) {
            self.bring_up_to(now, row);
            self.dirty.push(row);
        }
        self.book.hold(pair, held);
    }

    /// Takes patterns out of flight, with all that wait for them; their operations never end.
    pub fn kill(&mut self, now: SimTime, patterns: std::ops::Range<u32>) {
        for pattern in patterns.map(PatternId) {
            self.queues[pattern.index()].clear();
            let Some(row) = self.active[pattern.index()].as_ref().map(|active| active.component) else {
                continue;
            };
            self.bring_up_to(now, row);
            let bytes = self.member(pattern).offer.bytes as f64;
            if !self.table.is_dynamic() {
                self.ledger.carried_so_far(&self.table, pattern, bytes, &self.bytes_left);
            }
            self.active[pattern.index()] = None;
            self.in_flight.retain(|&other| other != pattern);
            let mut others = std::mem::take(&mut self.components[row as usize].patterns);
            others.retain(|&other| other != pattern);
            self.retire(row);
            self.regroup(now, others);
        }
    }
}

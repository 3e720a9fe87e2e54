//! Patterns in flight as faults see them: what waits, and what is taken out of flight.
use railtwin_engine::BundleTable;
use railtwin_fabric::LinkId;
use railtwin_units::SimTime;
use railtwin_workload::PatternId;

use super::{Course, Flight};
use crate::phases::FINISHED;
use crate::queue_pair::QueuePair;

impl Flight {
    /// The paths in use.
    pub fn table(&self) -> &BundleTable {
        &self.table
    }

    /// Patterns in flight, ascending.
    pub fn in_flight(&self) -> Vec<PatternId> {
        self.flying().into_iter().map(|(pattern, _)| pattern).collect()
    }

    /// Patterns that started since this was last asked.
    pub fn take_started(&mut self) -> Vec<PatternId> {
        std::mem::take(&mut self.started)
    }

    /// The bytes that bundles of a pattern have left to move, in their order; none for those that are done.
    pub fn moving(&mut self, now: SimTime, pattern: PatternId) -> Vec<Option<f64>> {
        let Some(offer) = self.active[pattern.index()] else {
            return vec![None; self.table.bundles_of(pattern).len()];
        };
        let left = match &mut self.course {
            Course::Steps(steps) => steps.bytes_left(now, &self.table, pattern),
            Course::Whole(whole) => whole.bytes_left(),
        };
        let size = |bundle: usize| self.table.volume[bundle] * offer.bytes as f64;
        let of = |bundle: usize| Some(left[bundle]).filter(|&left| left > size(bundle) * FINISHED);
        self.table.bundles_of(pattern).map(of).collect()
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
        let changed = if held { self.held.insert(pair) } else { self.held.remove(&pair) };
        if !changed {
            return;
        }
        match &mut self.course {
            Course::Steps(steps) => steps.hold(now, &self.table, pair.bundle as usize, held),
            Course::Whole(whole) => {
                let pattern = self.table.pattern_start.partition_point(|&start| start <= pair.bundle) - 1;
                let pattern = PatternId::from_index(pattern);
                whole.hold(now, &self.table, &mut self.ledger, (pattern, pair), held);
            }
        }
    }

    /// Takes patterns out of flight, with all that wait for them; their operations never end.
    pub fn kill(&mut self, now: SimTime, patterns: std::ops::Range<u32>) {
        if let Course::Whole(whole) = &mut self.course {
            whole.bring_all_up_to(now, &self.table, &mut self.ledger);
        }
        for pattern in patterns.map(PatternId) {
            self.queues[pattern.index()].clear();
            let Some(offer) = self.active[pattern.index()].take() else { continue };
            self.in_flight -= 1;
            let left = match &mut self.course {
                Course::Steps(steps) => steps.bytes_left(now, &self.table, pattern),
                Course::Whole(whole) => whole.bytes_left(),
            };
            self.ledger.cut_off(&self.table, pattern, offer.bytes as f64, left);
            if !self.table.is_dynamic() {
                self.ledger.carried_so_far(&self.table, pattern, offer.bytes as f64, left);
            }
            self.conflicts.leave(pattern);
            match &mut self.course {
                Course::Steps(steps) => steps.kill(now, &self.table, pattern),
                Course::Whole(whole) => whole.kill(now, &self.conflicts, pattern),
            }
        }
    }
}

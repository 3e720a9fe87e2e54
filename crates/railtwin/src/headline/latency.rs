//! Latency of patterns over time, with the delay that faults add to links: what operations take whatever their bytes.
use std::collections::BTreeMap;
use std::rc::Rc;

use railtwin_engine::lower::Lowering;
use railtwin_engine::{BundleTable, Case};
use railtwin_routing::LinkMask;
use railtwin_units::SimTime;

/// Latency by pattern on the paths before any fault, and what faults add to it from when on.
#[derive(Debug)]
pub struct Latencies<'t> {
    plain: &'t [SimTime],
    /// In order of time; nothing is added before the first.
    added: Vec<(SimTime, Rc<Vec<SimTime>>)>,
}

impl<'t> Latencies<'t> {
    /// Latencies in a replicate whose table this is, of the paths before any fault.
    pub fn of(case: &Case, replicate: u32, table: &'t BundleTable) -> Self {
        let plain = table.latency.as_slice();
        let late = || case.impairments.iter().filter(|ill| ill.delay > SimTime::ZERO);
        let turns = late().flat_map(|ill| [ill.from, ill.until]).filter(|&at| at < SimTime::NEVER);
        let mut turns: Vec<SimTime> = turns.collect();
        turns.sort_unstable();
        turns.dedup();
        let mut lowering = (!turns.is_empty()).then(|| Lowering::new(case, replicate));
        let none = LinkMask::none(&case.fabric);
        // A fault that comes and goes brings the same state again.
        let mut known: BTreeMap<Vec<usize>, Rc<Vec<SimTime>>> = BTreeMap::new();
        let mut added = Vec::with_capacity(turns.len());
        for at in turns {
            let Some(lowering) = &mut lowering else { break };
            let acting: Vec<usize> =
                late().enumerate().filter(|(_, ill)| ill.acts_at(at)).map(|(row, _)| row).collect();
            let found = known.entry(acting).or_insert_with(|| {
                lowering.delay_links(at);
                let delayed = lowering.table(&none, true).0.latency;
                Rc::new(delayed.iter().zip(plain).map(|(with, without)| with.since(*without)).collect())
            });
            added.push((at, Rc::clone(found)));
        }
        Self { plain, added }
    }

    /// Latency of an operation of a pattern that ended at `end`, and how much of it faults added: by the links as they
    /// were when its last byte set off.
    pub fn of_operation(&self, pattern: usize, end: SimTime) -> (SimTime, SimTime) {
        let plain = self.plain[pattern];
        let began = |(at, added): &&(SimTime, Rc<Vec<SimTime>>)| *at + plain + added[pattern] <= end;
        let added = self.added.iter().rev().find(began).map_or(SimTime::ZERO, |state| state.1[pattern]);
        (plain + added, added)
    }
}

//! The operations of one step, with what is needed to draw them side by side.
use railtwin_records::{Batch, OperationColumns};

/// One step: the first in which somebody was accused, else the last.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Moment {
    /// Which.
    pub step: u64,
    /// Its start and end, on the controller's clock.
    pub span_ns: [u64; 2],
    /// Its operations, on the clocks of hosts.
    pub operations: OperationColumns,
    /// How much the clock of each rank's host was ahead of the controller's at its end, in nanoseconds.
    pub ahead_ns: Vec<i64>,
    settled: bool,
}

/// What a turn brought: its records, how long the last step took, how many ranks there are, and what the clock of a
/// rank's host shows at a time of the controller's.
pub(crate) struct Turn<'a> {
    pub(crate) batch: &'a Batch,
    pub(crate) last_step_ns: u64,
    pub(crate) ranks: usize,
    pub(crate) host_clock: &'a dyn Fn(u32, u64) -> u64,
}

impl Moment {
    /// Takes a turn in: `accused` says whether somebody was accused in it.
    pub(crate) fn observe(&mut self, turn: &Turn<'_>, step: u64, accused: bool) {
        if self.settled {
            return;
        }
        self.settled = accused;
        let operations = &turn.batch.operations;
        // Of a job that stands still the step in which it came to a stand stays.
        if operations.is_empty() {
            return;
        }
        let until_ns = turn.batch.until_ns;
        self.step = step;
        self.span_ns = [until_ns.saturating_sub(turn.last_step_ns), until_ns];
        self.operations.clone_from(operations);
        self.ahead_ns.clear();
        let ranks = 0..turn.ranks as u32;
        self.ahead_ns.extend(ranks.map(|rank| (turn.host_clock)(rank, until_ns) as i64 - until_ns as i64));
    }

    /// A time of a rank's host on the controller's clock.
    pub fn aligned_ns(&self, rank: u32, host_ns: u64) -> f64 {
        host_ns as f64 - self.ahead_ns.get(rank as usize).copied().unwrap_or_default() as f64
    }
}

//! The course of a pattern alone under a static split: found once for one byte, it serves operations of any size.
use std::ops::Range;

use railtwin_engine::BundleTable;

use crate::component::Counters;
use crate::motion::Motion;
use crate::phases::FINISHED;
use crate::reduce::Constraints;

/// Bytes left of a bundle that has ended.
pub const DONE: f64 = f64::NEG_INFINITY;

/// A bundle, counted within its pattern, moves at another rate from some second on.
#[derive(Clone, Copy, Debug)]
struct Change {
    seconds: f64,
    rate: f64,
    row: u32,
}

/// How a pattern alone runs, for an operation of one byte.
#[derive(Debug)]
pub struct Course {
    /// When the last bundle ends; infinite when one never does.
    pub seconds: f64,
    /// In the order of time.
    changes: Vec<Change>,
}

impl Course {
    /// Runs the bundles of a pattern from start to end; `counts` as in [`crate::symmetry::Likeness`], of the
    /// whole table. Tells also what it took.
    pub fn of(
        table: &BundleTable,
        constraints: &Constraints,
        counts: &[u32],
        bundles: Range<usize>,
    ) -> (Self, Counters) {
        let within = constraints.within(bundles.clone());
        let mut motion = Motion::new(&within, &table.weight[bundles.clone()], &table.cap[bundles.clone()]);
        let (counts, volumes) = (&counts[bundles.clone()], &table.volume[bundles]);
        let mut left = 0;
        for row in (0..counts.len()).filter(|&row| counts[row] > 0) {
            motion.add(0.0, row as u32, counts[row], volumes[row], volumes[row]);
            left += 1;
        }
        let mut course = Self { seconds: 0.0, changes: Vec::new() };
        course.settle(&mut motion, 0.0);
        while let Some(end) = motion.next_end() {
            course.seconds = end;
            while motion.next_ended(end).is_some() {
                left -= 1;
            }
            course.settle(&mut motion, end);
        }
        if left > 0 {
            course.seconds = f64::INFINITY;
        }
        (course, motion.counters)
    }

    fn settle(&mut self, motion: &mut Motion, seconds: f64) {
        motion.settle(seconds);
        let change = |&row: &u32| Change { seconds, rate: motion.rate(row), row };
        self.changes.extend(motion.changed().iter().map(change));
    }

    /// Bytes left by bundle after some seconds, of so many at the start; [`DONE`] for those that ended. Like
    /// bundles are counted at the first of them.
    pub fn left_after(&self, seconds: f64, volumes: &[f64]) -> Vec<f64> {
        let mut left = volumes.to_vec();
        // Rate and since when.
        let mut moving = vec![(0.0, 0.0); volumes.len()];
        for change in self.changes.iter().take_while(|change| change.seconds < seconds) {
            let (rate, since) = &mut moving[change.row as usize];
            left[change.row as usize] -= *rate * (change.seconds - *since);
            (*rate, *since) = (change.rate, change.seconds);
        }
        for ((left, (rate, since)), volume) in left.iter_mut().zip(moving).zip(volumes) {
            *left -= rate * (seconds - since);
            if *left <= FINISHED * volume {
                *left = DONE;
            }
        }
        left
    }
}

//! Progress of operations at the moments in which faults or changes of paths act, and while queue pairs wait: between two
//! of them an operation moves evenly.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_engine::Progress;
use railtwin_units::SimTime;

use crate::flight::Flight;
use crate::waiting::Waiting;

/// Most marks of a run; later ones are left out.
const MARKS_MAX: usize = 1 << 20;
/// Share of an operation below which three marks lie on one line.
const STRAIGHT: f64 = 1e-9;

/// Marks by operation, in order of time.
#[derive(Debug, Default)]
pub struct Marks {
    by_operation: BTreeMap<u32, Vec<(SimTime, f64)>>,
    count: usize,
}

impl Marks {
    /// Notes at `now` how far operations in flight are: all of them where something `acted`, else those of patterns with
    /// a queue pair that waits.
    pub fn look(&mut self, now: SimTime, acted: bool, flight: &Flight, waiting: &Waiting) {
        let patterns: BTreeSet<_> = if acted {
            flight.in_flight().into_iter().collect()
        } else {
            waiting.patterns(flight).into_iter().collect()
        };
        for (operation, share) in patterns.into_iter().filter_map(|pattern| flight.share_moved(now, pattern))
        {
            self.note(operation, now, share);
        }
    }

    fn note(&mut self, operation: u32, now: SimTime, share: f64) {
        let marks = self.by_operation.entry(operation).or_default();
        if let [.., first, last] = &mut marks[..] {
            let [whole, part] = [now, last.0].map(|at| at.since(first.0).seconds());
            let on_line = first.1 + (share - first.1) * if whole > 0.0 { part / whole } else { 1.0 };
            if (on_line - last.1).abs() <= STRAIGHT {
                *last = (now, share);
                return;
            }
        }
        if self.count < MARKS_MAX {
            self.count += 1;
            marks.push((now, share));
        }
    }

    /// All marks, by operation and time.
    pub fn finish(self) -> Vec<Progress> {
        let rows = self.by_operation.into_iter().flat_map(|(operation, marks)| {
            marks.into_iter().map(move |(at, share)| Progress { operation, at, share })
        });
        rows.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_on_one_line_are_two() {
        let mut marks = Marks::default();
        let at = SimTime::from_ns;
        for (ns, share) in [(1, 0.1), (2, 0.2), (3, 0.3), (4, 0.3), (5, 0.3), (9, 0.3), (10, 0.5)] {
            marks.note(7, at(ns), share);
        }
        let rows: Vec<_> = marks.finish().iter().map(|one| (one.at.ps() / 1000, one.share)).collect();
        assert_eq!(rows, [(1, 0.1), (3, 0.3), (9, 0.3), (10, 0.5)]);
    }
}

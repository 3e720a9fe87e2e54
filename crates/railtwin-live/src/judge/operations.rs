//! How long operations take, from when the last rank entered: waiting for a rank that has not entered is no network time.
use std::collections::{BTreeMap, VecDeque};

use railtwin_units::robust::median;
use serde::{Deserialize, Serialize};

/// Operations that are open at a time and kept: ranks are apart by a few.
const OPEN: usize = 64;
/// Times of operations that are kept as their past.
const PAST: usize = 128;
/// Newest operations that are kept.
const NEWEST: usize = 16;
/// Times that make a past, beside those that may be slow already.
const LEAST: usize = 4;

/// Times of operations.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(crate) struct Operations {
    /// By number: when the last rank entered, and when the last one ended, ns.
    open: BTreeMap<u64, (u64, u64)>,
    /// How long operations took while nothing was slow, ns; the newest may be slow already.
    past: VecDeque<u64>,
    /// How long the newest took, ns.
    newest: VecDeque<u64>,
}

impl Operations {
    pub(super) fn enter(&mut self, number: u64, time_ns: u64) {
        let seen = self.open.entry(number).or_default();
        seen.0 = seen.0.max(time_ns);
    }

    pub(super) fn end(&mut self, number: u64, time_ns: u64, learns: bool) {
        let seen = self.open.entry(number).or_default();
        seen.1 = seen.1.max(time_ns);
        while self.open.len() > OPEN {
            self.open.pop_first();
        }
        // Nobody ends the next operation before all have entered it, and so ended this one.
        let Some(done) = number.checked_sub(1).and_then(|before| self.open.remove(&before)) else { return };
        if done.0 == 0 || done.1 == 0 {
            return;
        }
        let took_ns = done.1.saturating_sub(done.0);
        self.newest.push_back(took_ns);
        if self.newest.len() > NEWEST {
            self.newest.pop_front();
        }
        if learns {
            self.past.push_back(took_ns);
            if self.past.len() > PAST {
                self.past.pop_front();
            }
        }
    }

    /// The least time of the newest `count` operations over the median of those that are usual; none without either. The
    /// least: a busy machine makes some operations long, a slow link makes each.
    pub(super) fn least_growth(&self, count: usize) -> Option<f64> {
        let newest = self.newest.iter().rev().take(count);
        let least_ns = newest.clone().min().copied().filter(|_| newest.len() == count)?;
        let mut usual: Vec<f64> = self.past.iter().map(|took_ns| *took_ns as f64).collect();
        (usual.len() >= LEAST + count).then_some(())?;
        Some(least_ns as f64 / median(&mut usual)?.max(1.0))
    }
}

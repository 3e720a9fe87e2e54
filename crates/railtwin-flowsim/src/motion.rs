//! Bundles on their way: bytes left at rates that hold until something that they feel happens.
//!
//! A bundle's bytes are counted down only when its own rate changes; until then its end stands.
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::component::Counters;
use crate::filling::Filling;
use crate::phases::FINISHED;
use crate::reduce::Constraints;

/// When a bundle ends, in seconds; void once its version has passed.
#[derive(Clone, Copy, PartialEq, Debug)]
struct End {
    seconds: f64,
    bundle: u32,
    version: u32,
}

impl Eq for End {}

impl PartialOrd for End {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for End {
    fn cmp(&self, other: &Self) -> Ordering {
        self.seconds.total_cmp(&other.seconds).then(self.bundle.cmp(&other.bundle))
    }
}

/// Where a bundle is.
#[derive(Clone, Copy, Default, Debug)]
struct Progress {
    /// Bytes left at `since`.
    left: f64,
    /// Bytes per second from then on.
    rate: f64,
    /// Seconds.
    since: f64,
    /// Bytes of the whole.
    size: f64,
    version: u32,
}

/// Bytes of a bundle beside its variable: where it is, and when it ends.
pub const BYTES_OF_BUNDLE: usize = size_of::<Progress>() + size_of::<Reverse<End>>();

/// Bundles that move at max-min rates, in seconds from some moment.
#[derive(Debug)]
pub struct Motion {
    filling: Filling,
    progress: Vec<Progress>,
    ends: BinaryHeap<Reverse<End>>,
    changed: Vec<u32>,
    /// What was done so far.
    pub counters: Counters,
}

impl Motion {
    /// Nothing moves. `weights` and `caps` by bundle of `constraints`.
    pub fn new(constraints: &Constraints, weights: &[f64], caps: &[f64]) -> Self {
        Self {
            filling: Filling::new(constraints, weights, caps),
            progress: vec![Progress::default(); weights.len()],
            ends: BinaryHeap::new(),
            changed: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// A bundle of `size` bytes, `left` of them to move, sets off: `count` alike that move together.
    pub fn add(&mut self, now: f64, bundle: u32, count: u32, size: f64, left: f64) {
        let progress = &mut self.progress[bundle as usize];
        *progress = Progress { left, rate: 0.0, since: now, size, version: progress.version + 1 };
        self.filling.add(bundle, count);
    }

    /// Takes a bundle off its way, with the bytes that it has left.
    pub fn remove(&mut self, now: f64, bundle: u32) -> f64 {
        let left = self.left(now, bundle);
        self.progress[bundle as usize].version += 1;
        self.progress[bundle as usize].rate = 0.0;
        self.filling.remove(bundle);
        left
    }

    /// Bytes that a bundle on its way has left; never below zero.
    pub fn left(&self, now: f64, bundle: u32) -> f64 {
        let Progress { left, rate, since, .. } = self.progress[bundle as usize];
        (left - rate * (now - since)).max(0.0)
    }

    /// Holds a bundle, on its way or not, at a level (bytes per second and weight) of at most `ceiling`.
    pub fn set_ceiling(&mut self, bundle: u32, ceiling: f64) {
        self.filling.set_ceiling(bundle, ceiling);
    }

    /// Makes rates and ends true after bundles came, went or were held.
    pub fn settle(&mut self, now: f64) {
        self.changed.clear();
        let looked_at = self.filling.settle(&mut self.changed);
        let mut any = false;
        for &bundle in &self.changed {
            let rate = self.filling.rate(bundle);
            any |= rate > 0.0;
            let progress = &mut self.progress[bundle as usize];
            progress.left = (progress.left - progress.rate * (now - progress.since)).max(0.0);
            progress.since = now;
            progress.rate = rate;
            progress.version += 1;
            if rate > 0.0 {
                let end = End { seconds: now + progress.left / rate, bundle, version: progress.version };
                self.ends.push(Reverse(end));
            }
        }
        if any {
            self.counters.bundles += looked_at as u64;
            self.counters.solves += 1;
        }
        // Void ends are dropped here, so that the next one is always true.
        while let Some(Reverse(end)) = self.ends.peek()
            && self.progress[end.bundle as usize].version != end.version
        {
            self.ends.pop();
        }
        if self.ends.len() > 4 * self.progress.len() + 1024 {
            let progress = &self.progress;
            self.ends.retain(|Reverse(end)| progress[end.bundle as usize].version == end.version);
        }
    }

    /// Bundles whose rate the last settling changed.
    pub fn changed(&self) -> &[u32] {
        &self.changed
    }

    /// Bytes per second of a bundle.
    pub fn rate(&self, bundle: u32) -> f64 {
        self.progress[bundle as usize].rate
    }

    /// When a bundle ends next, true after [`Motion::settle`].
    pub fn next_end(&self) -> Option<f64> {
        self.ends.peek().map(|Reverse(end)| end.seconds)
    }

    /// Takes off a bundle that ends by `now`, or has nothing left to speak of.
    pub fn next_ended(&mut self, now: f64) -> Option<u32> {
        while let Some(&Reverse(end)) = self.ends.peek() {
            let progress = &self.progress[end.bundle as usize];
            if progress.version == end.version {
                if end.seconds > now && self.left(now, end.bundle) > FINISHED * progress.size {
                    return None;
                }
                self.ends.pop();
                self.remove(now, end.bundle);
                return Some(end.bundle);
            }
            self.ends.pop();
        }
        None
    }
}

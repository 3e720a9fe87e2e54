//! How each member stands beside its peers: sums over the last windows that forget slowly.
use crate::robust::median;
use crate::slow::windows::View;

/// What a window leaves of the sums before it: four windows count, so that expert-parallel load evens out (C4 section V).
const KEEP: f32 = 0.75;
/// Most operations of a window.
pub const WINDOW_MAX: usize = 64;

/// One member of one communicator. Excess is own time above the peers', as far as it made the member late.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Standing {
    /// Operations that count.
    pub operations: f32,
    /// Sum of excess in nanoseconds.
    pub whole: f32,
    /// Sum of excess, each within plus or minus the peers' own time, so that single pauses weigh little; chance makes it
    /// negative as often as positive.
    pub sum: f32,
    /// Sum of the squares of the same.
    pub square: f32,
    /// Operation of the last stall.
    pub stalled: u32,
    /// Operations between the last two stalls.
    pub interval: u32,
    /// Stalls at equal intervals in a row.
    pub regular: u32,
    /// Excess of the last stall in nanoseconds.
    pub stall: f32,
}

impl Standing {
    /// Mean excess per operation in nanoseconds, pauses and all.
    pub fn cost(&self) -> f64 {
        f64::from(self.whole / self.operations.max(1.0))
    }

    /// Mean excess per operation in nanoseconds, each within the peers' own time.
    pub fn mean(&self) -> f64 {
        f64::from(self.sum / self.operations.max(1.0))
    }

    /// Variance of the excess of one operation, within the peers' own time.
    pub fn variance(&self) -> f64 {
        let mean = self.mean();
        (f64::from(self.square / self.operations.max(1.0)) - mean * mean).max(0.0)
    }

    /// Over what share of operations the excess is spread, 0..1: the square of the mean over the mean of squares. 1 when
    /// all have the same, 1/k when every k-th has all of it.
    pub fn spread_share(&self, noise_variance: f64) -> f64 {
        let square = self.mean() * self.mean();
        square / (square + (self.variance() - noise_variance).max(0.0)).max(f64::MIN_POSITIVE)
    }

    /// Stalls at equal intervals that still go on at operation `last`: operations from one to the next, and what one costs
    /// per operation.
    pub fn periodic(&self, last: u32) -> Option<(u32, f64)> {
        let goes_on = last.saturating_sub(self.stalled) < 2 * self.interval;
        (self.regular >= 2 && self.interval > 1 && goes_on)
            .then(|| (self.interval, f64::from(self.stall) / f64::from(self.interval)))
    }
}

/// What is known of one communicator.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Pace {
    /// Windows seen.
    pub windows: u32,
    /// Own time of a typical member between two operations in nanoseconds, over the last windows.
    pub own_ns: f64,
    /// Time from one operation to the next in nanoseconds, over the last windows.
    pub period_ns: f64,
    /// Share of operations before which members compute for about as long as they ever do: those that steps begin or
    /// end with, or all.
    pub main: f64,
    /// The last operation of the latest window.
    pub last: u32,
    /// Excess beyond which an operation counts as a stall; 0 before it is known.
    pub stall_ns: f32,
}

/// Room for one operation's values.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Scratch {
    own: Vec<f64>,
    duration: Vec<f64>,
    /// Median own time before each operation of the last window.
    pub typical: Vec<f64>,
}

/// What one member's value is measured by: the median of all, or the other of two.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Peers {
    median: f64,
    two: bool,
}

impl Peers {
    fn of(values: &mut [f64]) -> Self {
        Self { median: median(values).unwrap_or_default(), two: values.len() == 2 }
    }

    fn excess(self, mine: f32) -> f64 {
        let above = f64::from(mine) - self.median;
        if self.two { 2.0 * above } else { above }
    }
}

/// Takes one window of a communicator into the sums of its members.
///
/// Its peers' own time is the measure of a member's own time, their duration that of its duration: all end at about the
/// same moment, so who has the least duration came last (C4 section III-A). Only what is both, own and late, is excess:
/// a rank that waited elsewhere is late by no time of its own.
pub fn take(
    view: &View<'_>,
    standings: &mut [Standing],
    pace: &mut Pace,
    period_ns: f64,
    scratch: &mut Scratch,
) {
    for standing in standings.iter_mut() {
        standing.operations *= KEEP;
        standing.whole *= KEEP;
        standing.sum *= KEEP;
        standing.square *= KEEP;
    }
    let (mut own_sum, mut own_most, mut operations) = (0.0, 0.0_f64, 0_usize);
    scratch.typical.clear();
    let rows = view.own.chunks_exact(view.members).zip(view.duration.chunks_exact(view.members));
    for (index, (own, duration)) in rows.enumerate() {
        scratch.own.clear();
        scratch.duration.clear();
        for (&own, &duration) in own.iter().zip(duration) {
            if !own.is_nan() && !duration.is_nan() {
                scratch.own.push(f64::from(own));
                scratch.duration.push(f64::from(duration));
            }
        }
        if scratch.own.len() < 2 || 2 * scratch.own.len() < view.members {
            continue;
        }
        let (own_peers, duration_peers) = (Peers::of(&mut scratch.own), Peers::of(&mut scratch.duration));
        own_sum += own_peers.median;
        own_most = own_most.max(own_peers.median);
        scratch.typical.push(own_peers.median);
        operations += 1;
        let most = own_peers.median.max(pace.own_ns) as f32;
        for ((&own, &duration), standing) in own.iter().zip(duration).zip(standings.iter_mut()) {
            if own.is_nan() || duration.is_nan() {
                continue;
            }
            let excess = own_peers.excess(own).min(-duration_peers.excess(duration)) as f32;
            standing.operations += 1.0;
            let within = excess.clamp(-most, most);
            standing.whole += excess;
            standing.sum += within;
            standing.square += within * within;
            if pace.stall_ns > 0.0 && excess > pace.stall_ns {
                stalls(standing, view.first + index as u32, excess);
            }
        }
    }
    if operations == 0 {
        return;
    }
    let main = scratch.typical.iter().filter(|&&typical| typical > own_most / 2.0).count() as f64;
    let fresh = pace.windows == 0;
    let forget =
        |old: f64, new: f64| if fresh { new } else { old * f64::from(KEEP) + new * f64::from(1.0 - KEEP) };
    pace.own_ns = forget(pace.own_ns, own_sum / operations as f64);
    pace.period_ns = forget(pace.period_ns, period_ns);
    pace.main = forget(pace.main, main / operations as f64);
    pace.windows += 1;
    pace.last = view.first + (view.own.len() / view.members.max(1)).saturating_sub(1) as u32;
}

/// A member stalled before an operation: notes whether that comes at equal intervals.
fn stalls(standing: &mut Standing, sequence: u32, excess: f32) {
    let interval = sequence.saturating_sub(standing.stalled);
    if standing.stalled != 0 && interval.abs_diff(standing.interval) <= interval / 16 {
        standing.regular += 1;
    } else {
        standing.regular = 0;
    }
    (standing.stalled, standing.interval, standing.stall) = (sequence, interval, excess);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(own: &[f32], duration: &[f32]) -> (Vec<Standing>, Pace) {
        let members = own.len();
        let view = View { members, own, duration, shape: &[0], came: &[0], least: &[0.0], first: 0 };
        let (mut standings, mut pace) = (vec![Standing::default(); members], Pace::default());
        take(&view, &mut standings, &mut pace, 100.0, &mut Scratch::default());
        (standings, pace)
    }

    #[test]
    fn who_computes_longer_and_comes_last_has_the_excess() {
        let (standings, pace) = window(&[10.0, 10.0, 14.0, 10.0], &[9.0, 9.0, 5.0, 9.0]);
        assert_eq!(standings.iter().map(Standing::mean).collect::<Vec<_>>(), [0.0, 0.0, 4.0, 0.0]);
        assert_eq!((pace.own_ns, pace.period_ns), (10.0, 100.0));
    }

    #[test]
    fn who_is_late_by_no_time_of_its_own_has_none() {
        let (standings, _) = window(&[10.0, 10.0, 10.0], &[9.0, 5.0, 9.0]);
        assert_eq!(standings[1].mean(), 0.0);
    }

    #[test]
    fn of_two_the_other_is_the_measure() {
        let (standings, _) = window(&[10.0, 13.0], &[8.0, 5.0]);
        assert_eq!((standings[0].mean(), standings[1].mean()), (-3.0, 3.0));
    }

    #[test]
    fn equal_intervals_are_seen() {
        let mut standing = Standing::default();
        for sequence in [20, 40, 60, 80] {
            stalls(&mut standing, sequence, 100.0);
        }
        assert_eq!(standing.periodic(95), Some((20, 5.0)));
        // Two intervals without one: it is over.
        assert_eq!(standing.periodic(120), None);
        stalls(&mut standing, 87, 100.0);
        assert_eq!(standing.periodic(95), None);
    }
}

//! Computation beside collectives: while channels hold multiprocessors of a GPU, what it computes goes on with the others.
//!
//! A computation of time t, beside which a collective runs for the first c of it, takes t / s where t / s ≤ c, s the share of
//! multiprocessors that are left, and t + (1 − s) c else.
use std::collections::BTreeMap;

use railtwin_units::SimTime;

/// A job, or a host's part in it, and a lane of it.
type Lane = (u32, u32);

/// Collectives and computations in progress in one lane.
#[derive(Debug, Default)]
struct LaneState {
    collectives: u32,
    /// Computations and their ends as things are.
    computing: Vec<(u64, SimTime)>,
}

/// Computations in progress in lanes whose collectives slow them.
#[derive(Debug, Default)]
pub struct Beside {
    lanes: BTreeMap<Lane, LaneState>,
}

impl Beside {
    /// A computation, by a number of the caller's, begins and would end at `end` alone, with a share `speed` of the
    /// multiprocessors beside collectives. Returns when it ends as things are.
    pub fn computes(
        &mut self,
        now: SimTime,
        lane: Lane,
        speed: f64,
        computation: u64,
        end: SimTime,
    ) -> SimTime {
        if speed == 1.0 {
            return end;
        }
        let state = self.lanes.entry(lane).or_default();
        let end = if state.collectives > 0 { stretched(now, end, 1.0 / speed) } else { end };
        state.computing.push((computation, end));
        end
    }

    /// A collective begins in a lane. Returns the computations that end at another time now, and when.
    pub fn begins(&mut self, now: SimTime, lane: Lane, speed: f64) -> &[(u64, SimTime)] {
        if speed == 1.0 {
            return &[];
        }
        let state = self.lanes.entry(lane).or_default();
        state.collectives += 1;
        if state.collectives > 1 { &[] } else { state.stretch(now, 1.0 / speed) }
    }

    /// A collective of a lane has ended. Returns the same.
    pub fn ends(&mut self, now: SimTime, lane: Lane, speed: f64) -> &[(u64, SimTime)] {
        let Some(state) = self.lanes.get_mut(&lane).filter(|_| speed < 1.0) else { return &[] };
        state.collectives = state.collectives.saturating_sub(1);
        if state.collectives > 0 { &[] } else { state.stretch(now, speed) }
    }

    /// Whether a computation that was to end at `now` does so; one that does is taken out. One that has ended before does not.
    pub fn is_over(&mut self, now: SimTime, lane: Lane, computation: u64) -> bool {
        let Some(state) = self.lanes.get_mut(&lane) else { return false };
        let due = state.computing.iter().position(|&own| own == (computation, now));
        due.map(|row| state.computing.swap_remove(row)).is_some()
    }
}

impl LaneState {
    fn stretch(&mut self, now: SimTime, times: f64) -> &[(u64, SimTime)] {
        for (_, end) in &mut self.computing {
            *end = stretched(now, *end, times);
        }
        &self.computing
    }
}

/// What is left until `end` takes so many times as long; what hangs goes on hanging.
fn stretched(now: SimTime, end: SimTime, times: f64) -> SimTime {
    if end == SimTime::NEVER {
        return end;
    }
    now.saturating_add(SimTime::from_seconds(end.since(now).seconds() * times))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LANE: Lane = (0, 3);

    fn us(time: u64) -> SimTime {
        SimTime::from_ns(time * 1_000)
    }

    /// 60 us of computation at three quarters: 40 us beside a collective do 30, and 30 are left.
    #[test]
    fn computation_beside_a_collective_keeps_its_share() {
        let mut beside = Beside::default();
        assert_eq!(beside.begins(us(0), LANE, 0.75), []);
        assert_eq!(beside.computes(us(0), LANE, 0.75, 7, us(60)), us(80));
        assert_eq!(beside.ends(us(40), LANE, 0.75), [(7, us(70))]);
        assert!(!beside.is_over(us(60), LANE, 7) && beside.is_over(us(70), LANE, 7));
        assert!(!beside.is_over(us(80), LANE, 7));
        // What began alone and is joined: 30 of 60 us are left, and take 40.
        assert_eq!(beside.computes(us(100), LANE, 0.75, 8, us(160)), us(160));
        assert_eq!(beside.begins(us(130), LANE, 0.75), [(8, us(170))]);
        assert_eq!(beside.begins(us(140), LANE, 0.75), []);
        assert_eq!(beside.ends(us(150), LANE, 0.75), []);
        assert!(beside.is_over(us(170), LANE, 8));
    }

    #[test]
    fn with_all_multiprocessors_nothing_is_kept() {
        let mut beside = Beside::default();
        assert_eq!(beside.begins(us(0), LANE, 1.0), []);
        assert_eq!(beside.computes(us(0), LANE, 1.0, 7, us(60)), us(60));
        assert!(beside.lanes.is_empty());
    }
}

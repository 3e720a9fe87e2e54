//! Ranks in trouble, as the operations of their job feel it: a lane is as late as the slowest of its ranks.
use std::collections::BTreeSet;

use railtwin_engine::{RankFault, RankTrouble, WorkGraph};
use railtwin_units::SimTime;
use railtwin_workload::{Operation, PatternId, Work};

use crate::ailing::patterns_with;

/// A rank's trouble with what it touches.
#[derive(Debug)]
struct Ailment {
    fault: RankFault,
    /// Lanes that the rank belongs to, ascending.
    lanes: Vec<u32>,
    /// Lanes that have no other rank than those that hang or are gone for good, from when on.
    deserted: Vec<(u32, SimTime)>,
    /// Patterns that it takes part in.
    patterns: BTreeSet<PatternId>,
}

impl Ailment {
    /// Whether the operation needs the rank.
    fn touches(&self, operation: &Operation) -> bool {
        self.lanes.binary_search(&operation.lane).is_ok()
            || matches!(operation.work, Work::Communicate { pattern, .. } if self.patterns.contains(&pattern))
    }
}

/// The ranks in trouble of all jobs.
#[derive(Debug, Default)]
pub struct Ranks {
    /// By job.
    ailments: Vec<Vec<Ailment>>,
    /// When each job's present step began.
    begun: Vec<(u32, SimTime)>,
}

impl Ranks {
    /// The ranks that `faults` names.
    pub fn new(work: &WorkGraph, faults: &[RankFault]) -> Self {
        let mut ranks = Self::default();
        if faults.is_empty() {
            return ranks;
        }
        ranks.begun = vec![(0, SimTime::ZERO); work.jobs.len()];
        for (row, job) in (0..).zip(&work.jobs) {
            let own: Vec<RankFault> = faults.iter().copied().filter(|fault| fault.job == row).collect();
            let lanes = if own.is_empty() { 0 } else { job.plan.lanes.len() as u32 };
            let of_lane: Vec<Vec<u32>> = (0..lanes).map(|lane| job.plan.ranks_of_lane(lane)).collect();
            let ailment = |&fault: &RankFault| {
                let has = |lane: &u32| of_lane[*lane as usize].binary_search(&fault.rank).is_ok();
                let lanes: Vec<u32> = (0..lanes).filter(has).collect();
                let deserted = lanes.iter().filter_map(|&lane| {
                    let lost = of_lane[lane as usize].iter().map(|&rank| lost_at(&own, rank));
                    lost.max().filter(|&at| at < SimTime::NEVER).map(|at| (lane, at))
                });
                Ailment {
                    deserted: deserted.collect(),
                    patterns: patterns_with(work, row, fault.rank),
                    lanes,
                    fault,
                }
            };
            ranks.ailments.push(own.iter().map(ailment).collect());
        }
        ranks
    }

    fn of(&self, job: usize) -> &[Ailment] {
        self.ailments.get(job).map_or(&[], Vec::as_slice)
    }

    /// A step of a job begins.
    pub fn begin_step(&mut self, job: usize, step: u32, now: SimTime) {
        if let Some(begun) = self.begun.get_mut(job) {
            *begun = (step, now);
        }
    }

    /// When an operation that is ready at `now` may go on, as far as its ranks are concerned: now, later, or never.
    pub fn may_start(&self, job: usize, operation: &Operation, now: SimTime) -> SimTime {
        let mut at = now;
        for ailment in self.of(job).iter().filter(|ailment| ailment.touches(operation)) {
            let RankFault { until, trouble, .. } = ailment.fault;
            let computes = matches!(operation.work, Work::Compute(_));
            let acts = ailment.fault.acts_at(now);
            at = at.max(match trouble {
                RankTrouble::Late { time, every } => self.late(job, &ailment.fault, time, every),
                // Of a lane that others share these compute on, and wait for the rank where they meet it.
                _ if computes && ailment.is_deserted(operation.lane, now) => SimTime::NEVER,
                RankTrouble::Hang if acts && !(computes && until == SimTime::NEVER) => until,
                RankTrouble::Mismatch if acts && !computes && ailment.meets(operation) => until,
                _ => now,
            });
        }
        at
    }

    /// When a late rank enters the step.
    fn late(&self, job: usize, fault: &RankFault, time: SimTime, every: u32) -> SimTime {
        let (step, begun) = self.begun[job];
        // The first step reads what it goes on from.
        let due = step.is_multiple_of(every.max(1));
        if due && fault.acts_at(begun) { begun.saturating_add(time) } else { begun }
    }

    /// When a computation of a lane that starts at `now` ends: the slowest of its ranks decides at every moment.
    pub fn computed(&self, job: usize, lane: u32, now: SimTime, time: SimTime) -> SimTime {
        let slow = |ailment: &Ailment| match ailment.fault {
            RankFault { from, until, trouble: RankTrouble::Slow(factor), .. }
                if ailment.lanes.binary_search(&lane).is_ok() && until > now =>
            {
                Some((from, until, factor))
            }
            _ => None,
        };
        let slow: Vec<(SimTime, SimTime, f64)> = self.of(job).iter().filter_map(slow).collect();
        stretched(&slow, now, time)
    }
}

impl Ailment {
    fn meets(&self, operation: &Operation) -> bool {
        matches!(operation.work, Work::Communicate { pattern, .. } if self.patterns.contains(&pattern))
    }

    fn is_deserted(&self, lane: u32, now: SimTime) -> bool {
        self.deserted.iter().any(|&(other, at)| other == lane && at <= now)
    }
}

/// From when on a rank enters nothing any more, for good.
fn lost_at(faults: &[RankFault], rank: u32) -> SimTime {
    let lost = faults.iter().filter(|fault| {
        fault.rank == rank
            && match fault.trouble {
                RankTrouble::Gone => true,
                RankTrouble::Hang => fault.until == SimTime::NEVER,
                _ => false,
            }
    });
    lost.map(|fault| fault.from).min().unwrap_or(SimTime::NEVER)
}

/// When work that takes `time` ends that begins at `now`, while it takes `factor` times as long in each of some spans;
/// where several overlap, as long as in the slowest.
fn stretched(slow: &[(SimTime, SimTime, f64)], now: SimTime, time: SimTime) -> SimTime {
    let (mut at, mut left) = (now, time);
    loop {
        let here = slow.iter().filter(|(from, until, _)| *from <= at && at < *until);
        let factor = here.map(|(_, _, factor)| *factor).fold(1.0, f64::max);
        let edges = slow.iter().flat_map(|(from, until, _)| [*from, *until]).filter(|edge| *edge > at);
        let edge = edges.min().unwrap_or(SimTime::NEVER);
        let takes = if factor > 1.0 { SimTime::from_seconds(left.seconds() * factor) } else { left };
        let end = at.saturating_add(takes);
        if end <= edge {
            return end;
        }
        let done = SimTime::from_seconds(edge.since(at).seconds() / factor);
        left = left.since(done.min(left));
        at = edge;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_stretched_only_while_it_is_slow() {
        let us = |us: u64| SimTime::from_ns(us * 1000);
        let end = |slow: &[(SimTime, SimTime, f64)]| stretched(slow, us(10), us(20));
        assert_eq!(end(&[]), us(30));
        assert_eq!(end(&[(us(0), SimTime::NEVER, 2.0)]), us(50));
        assert_eq!(end(&[(us(0), us(10), 2.0)]), us(30), "it was over before");
        assert_eq!(end(&[(us(20), us(30), 2.0)]), us(35), "ten at full speed, ten at half, five left");
        assert_eq!(
            end(&[(us(20), us(30), 2.0), (us(0), us(25), 4.0)]),
            stretched(&[(us(10), us(25), 4.0), (us(25), us(30), 2.0)], us(10), us(20))
        );
    }
}

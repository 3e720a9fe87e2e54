//! Progress of a job between events: steps, checkpoints, and the work that a crash takes back. Whole cycles of work and
//! checkpoint are counted by division, so that weeks without an event cost nothing and lose no picosecond.
use railtwin_units::SimTime;

use crate::downtime::{Account, Part};

/// Picoseconds of an hour.
const HOUR: f64 = 3.6e15;

/// Hours of a time.
pub fn hours(time: SimTime) -> f64 {
    time.ps() as f64 / HOUR
}

/// A job at work: cycles of so many steps and a checkpoint.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Healthy time of a step, ps.
    step: u64,
    /// Steps of a cycle.
    every: u64,
    /// How long a checkpoint holds the job up, ps.
    cost: u64,
    /// Time of a step now, ps.
    pace: u64,
    /// Part of the account that slowness belongs to, while the job is slow.
    slow: Part,
    clock: u64,
    /// Healthy time's worth of work since the last checkpoint, ps, and the time that it took.
    done: u64,
    worked: u64,
    /// Time of it that slowness took: of communication and of all else, ps.
    lost: [u64; 2],
    /// Time since the checkpoint that is being written began, ps.
    writing: u64,
    /// When the last checkpoint was whole, ps.
    checkpoint: u64,
    /// Cycles whose checkpoint is whole.
    cycles: u64,
    account: Account,
}

impl Progress {
    /// A job whose steps take `step` and that writes a checkpoint after every `interval` of work, rounded up to whole
    /// steps; each holds it up for `cost`. Neither time may be zero.
    pub fn new(step: SimTime, interval: SimTime, cost: SimTime) -> Self {
        let step = step.ps().max(1);
        Self {
            step,
            every: interval.ps().div_ceil(step).max(1),
            cost: cost.ps(),
            pace: step,
            slow: Part::SlowOther,
            clock: 0,
            done: 0,
            worked: 0,
            lost: [0; 2],
            writing: 0,
            checkpoint: 0,
            cycles: 0,
            account: Account::default(),
        }
    }

    /// Whole steps that are done and that no crash took back: those up to the last checkpoint and those since then.
    pub fn steps(&self) -> u64 {
        self.cycles * self.every + self.done / self.step
    }

    /// When the last checkpoint was whole; the begin of the lifetime where none was.
    pub fn checkpoint(&self) -> SimTime {
        SimTime::from_ps(self.checkpoint)
    }

    /// Hours by part of all that was worked.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Goes on at `now` after a standstill.
    pub fn resume(&mut self, now: SimTime) {
        self.clock = now.ps();
    }

    /// Steps take `pace` from `now` on, by what slows them.
    pub fn set_pace(&mut self, now: SimTime, pace: SimTime, slow: Part) {
        self.advance(now);
        self.pace = pace.ps().max(self.step);
        self.slow = slow;
    }

    /// Time of so much work at the pace of now, rounded up.
    fn time_of(&self, work: u64) -> u64 {
        (u128::from(work) * u128::from(self.pace)).div_ceil(u128::from(self.step)) as u64
    }

    fn work(&mut self, time: u64, work: u64) {
        self.worked += time;
        self.done += work;
        self.lost[usize::from(self.slow != Part::SlowCommunication)] += time - work;
        self.clock += time;
    }

    /// Books whole cycles.
    fn keep(&mut self, cycles: u64) {
        let times = cycles as f64 / HOUR;
        self.account[Part::Productive] += self.done as f64 * times;
        self.account[Part::SlowCommunication] += self.lost[0] as f64 * times;
        self.account[Part::SlowOther] += self.lost[1] as f64 * times;
        self.account[Part::Checkpointing] += self.writing as f64 * times;
        self.cycles += cycles;
        self.checkpoint = self.clock;
        (self.done, self.worked, self.lost, self.writing) = (0, 0, [0; 2], 0);
    }

    /// Works until `now`.
    pub fn advance(&mut self, now: SimTime) {
        let target = self.every * self.step;
        while self.clock < now.ps() {
            let left = now.ps() - self.clock;
            let whole = self.time_of(target) + self.cost;
            if self.done == 0 && left >= whole {
                // Cycles that begin and end before anything happens.
                let cycles = left / whole;
                self.work(whole - self.cost, target);
                self.writing = self.cost;
                self.clock = now.ps() - left % whole;
                self.keep(cycles);
                continue;
            }
            let need = self.time_of(target - self.done);
            if left < need {
                let work = (u128::from(left) * u128::from(self.step) / u128::from(self.pace)) as u64;
                self.work(left, work);
                return;
            }
            self.work(need, target - self.done);
            let write = (self.cost - self.writing).min(now.ps() - self.clock);
            self.writing += write;
            self.clock += write;
            if self.writing == self.cost {
                self.keep(1);
            }
        }
    }

    /// A crash at `now`: what was worked since the last checkpoint is gone.
    pub fn crash(&mut self, now: SimTime) {
        self.advance(now);
        self.account[Part::PostCheckpoint] += (self.worked + self.writing) as f64 / HOUR;
        (self.done, self.worked, self.lost, self.writing) = (0, 0, [0; 2], 0);
    }

    /// The end of what is watched: work that no crash took counts.
    pub fn finish(&mut self, now: SimTime) {
        self.advance(now);
        self.account[Part::Productive] += self.done as f64 / HOUR;
        self.account[Part::SlowCommunication] += self.lost[0] as f64 / HOUR;
        self.account[Part::SlowOther] += self.lost[1] as f64 / HOUR;
        self.account[Part::Checkpointing] += self.writing as f64 / HOUR;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seconds(seconds: f64) -> SimTime {
        SimTime::from_seconds(seconds)
    }

    #[test]
    fn cycles_are_counted_and_a_crash_takes_back_what_is_after_the_last() {
        // Steps of 3 s, a checkpoint of 2 s after each 4 of them: cycles of 14 s.
        let mut job = Progress::new(seconds(3.0), seconds(10.0), seconds(2.0));
        job.crash(seconds(14.0 * 100.0 + 5.0));
        assert_eq!((job.steps(), job.checkpoint()), (400, seconds(1400.0)));
        let second = |part| (job.account()[part] * 3600.0 * 1e6).round() / 1e6;
        assert_eq!(
            [Part::Productive, Part::Checkpointing, Part::PostCheckpoint].map(second),
            [1200.0, 200.0, 5.0]
        );
        // Half as fast from the third second on: 3 s of work, 9 more that take 18, 2 for the checkpoint.
        job.resume(seconds(2000.0));
        job.set_pace(seconds(2003.0), seconds(6.0), Part::SlowCommunication);
        job.crash(seconds(2024.0));
        assert_eq!((job.steps(), job.checkpoint()), (404, seconds(2023.0)));
        let slow = job.account()[Part::SlowCommunication] * 3600.0;
        assert!((slow - 9.0).abs() < 1e-9, "{slow}");
    }

    #[test]
    fn steps_since_the_last_checkpoint_count_until_a_crash_takes_them() {
        // Cycles of 14 s as above; the crash takes 3 whole steps of 3 s, the end of what is watched takes none.
        let mut job = Progress::new(seconds(3.0), seconds(10.0), seconds(2.0));
        for (now, steps) in [(2.9, 0), (3.0, 1), (11.0, 3), (12.0, 4), (13.9, 4), (14.0, 4), (24.0, 7)] {
            job.advance(seconds(now));
            assert_eq!(job.steps(), steps, "after {now} s");
        }
        job.crash(seconds(24.0));
        assert_eq!(job.steps(), 4);
        job.resume(seconds(100.0));
        job.finish(seconds(100.0 + 14.0 + 10.0));
        assert_eq!(job.steps(), 4 + 4 + 3);
    }

    proptest! {
        #[test]
        fn in_one_go_or_in_many_it_is_the_same(
            step in 1_u64..50, interval in 1_u64..400, cost in 0_u64..30, pace in 1_u64..4,
            stops in prop::collection::vec(1_u64..500, 1..20),
        ) {
            let new = || {
                // In units of 6 ps, of which paces of 1 to 3 divide all, no rounding can differ.
                let ps = |time| SimTime::from_ps(6 * time);
                let mut job = Progress::new(ps(step), ps(interval), ps(cost));
                job.set_pace(SimTime::ZERO, ps(step * pace), Part::SlowOther);
                job
            };
            let (mut one, mut many) = (new(), new());
            let mut now = 0;
            for stop in stops {
                now += 6 * stop;
                many.advance(SimTime::from_ps(now));
            }
            one.crash(SimTime::from_ps(now));
            many.crash(SimTime::from_ps(now));
            prop_assert_eq!((one.steps(), one.checkpoint()), (many.steps(), many.checkpoint()));
            let total = one.account().total() * HOUR;
            prop_assert!((total - now as f64).abs() < 1e-3, "{} of {}", total, now);
            for part in Part::ALL {
                prop_assert!((one.account()[part] - many.account()[part]).abs() * HOUR < 1e-3, "{:?}", part);
            }
        }
    }
}

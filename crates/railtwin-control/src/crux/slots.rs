//! Slots of jobs in time: when each step begins at the earliest, and what becomes of that when a job is late.
//!
//! As CASSINI's agents do (Rajasekaran et al., NSDI '24), which set a job right that is off by more than 5 % of its step. A
//! job that is early waits for its slot. One that is late begins at once; where it is late by more than 5 %, the slots of
//! all jobs that contend with it are put off by as much, so that they stay beside each other. One that missed whole slots
//! leaves them out.

/// Share of a step by which a job may be off its slot, and by which its step may be drawn out.
pub const OFF: f64 = 0.05;

/// Slots of one job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slot {
    /// Seconds of the clock before which the next step does not begin.
    pub next: f64,
    /// Seconds between two steps.
    pub period: f64,
}

/// Slots of jobs that contend, by job; none for those that keep to none.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Slots(pub Vec<Option<Slot>>);

impl Slots {
    /// When the next step of `job` begins, whose step before ended `now`.
    pub fn begin(&mut self, job: usize, now: f64) -> f64 {
        let Some(slot) = self.0.get_mut(job).and_then(Option::as_mut) else { return now };
        let missed = ((now - slot.next) / slot.period).floor().max(0.0);
        slot.next += missed * slot.period;
        let (late, begin) = (now - slot.next, now.max(slot.next));
        let is_off = late > OFF * slot.period;
        slot.next += slot.period;
        if is_off {
            self.put_off(late);
        }
        begin
    }

    /// All slots are later by `by` seconds.
    pub fn put_off(&mut self, by: f64) {
        self.0.iter_mut().flatten().for_each(|slot| slot.next += by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_early_waits_and_who_is_late_takes_the_others_along() {
        let slot = |next: f64, period: f64| Some(Slot { next, period });
        let mut slots = Slots(vec![slot(1.0, 1.0), slot(1.5, 2.0), None]);
        assert_eq!(slots.begin(0, 0.99), 1.0);
        assert_eq!(slots.begin(2, 0.7), 0.7);
        // Late by less than 5 %: nobody moves.
        assert_eq!(slots.begin(0, 2.04), 2.04);
        assert_eq!(slots, Slots(vec![slot(3.0, 1.0), slot(1.5, 2.0), None]));
        // Late by more: all are put off.
        assert_eq!(slots.begin(0, 3.25), 3.25);
        assert_eq!(slots, Slots(vec![slot(4.25, 1.0), slot(1.75, 2.0), None]));
        // Two slots missed.
        assert_eq!(slots.begin(1, 5.75), 5.75);
        assert_eq!(slots.0[1], slot(7.75, 2.0));
    }
}

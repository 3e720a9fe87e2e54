//! Incidents of a job booked into an account of its time.
//!
//! Parts are those of C4, Fig. 2: a crash at run time costs the work since the last checkpoint, detection, diagnosis
//! and isolation, and re-initialisation; one at startup costs no work and is detected at once. No moment is booked
//! twice: what overlaps belongs to the crash that came first; slowdowns get what crashes leave, the worse one first.
use std::collections::BTreeSet;

use serde::Serialize;

use crate::downtime::account::{Account, Part};
use crate::failure_rates::Cause;

/// One incident of a job; all times in one unit from one zero.
#[derive(Clone, PartialEq, Debug)]
pub struct Incident {
    /// When it began.
    pub at: f64,
    /// What happened.
    pub what: What,
}

/// What happened.
#[derive(Clone, PartialEq, Debug)]
pub enum What {
    /// A crash while steps ran.
    Crash {
        /// When the last valid checkpoint was taken.
        checkpoint: f64,
        /// When somebody knew.
        detected: f64,
        /// When the culprit was out.
        isolated: f64,
        /// When steps ran again.
        restarted: f64,
        /// What it turned out to be.
        cause: Cause,
    },
    /// A crash before the first step.
    Startup {
        /// When the culprit was out.
        isolated: f64,
        /// When steps ran.
        restarted: f64,
        /// What it turned out to be.
        cause: Cause,
    },
    /// Steps took longer than they should.
    Slowdown {
        /// When it was over.
        until: f64,
        /// Share of the time that it took, 0..1: 0.2 where steps take a quarter longer.
        lost: f64,
        /// Whether communication was slow; else computing or loading.
        communication: bool,
    },
}

/// An incident that cannot be booked.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("incident {index}: {problem}")]
pub struct BookingError {
    /// Index of the incident.
    pub index: usize,
    /// The time or share at fault, by the name of its field.
    pub field: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

/// The account of a job.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Booking {
    /// Length of what was watched, in the unit of the incidents.
    pub span: f64,
    /// The time of each part; they sum up to the span.
    pub time: Account,
    /// Crashes by root cause, those at startup included.
    pub crashes: [u32; 5],
    /// Slowdowns of communication and of all else.
    pub slowdowns: [u32; 2],
    /// Time of incidents that was booked already.
    pub overlap: f64,
}

impl Booking {
    /// Shares of the span, 0..1.
    pub fn shares(&self) -> Account {
        self.time * (1.0 / self.span)
    }

    /// Both accounts in one, for jobs side by side.
    pub fn joined(&self, other: &Self) -> Self {
        let sum = |index: usize| self.crashes[index] + other.crashes[index];
        Self {
            span: self.span + other.span,
            time: self.time + other.time,
            crashes: std::array::from_fn(sum),
            slowdowns: std::array::from_fn(|index| self.slowdowns[index] + other.slowdowns[index]),
            overlap: self.overlap + other.overlap,
        }
    }
}

/// A stretch that an incident claims.
struct Claim {
    from: f64,
    until: f64,
    part: Part,
    /// Share of it that is lost.
    lost: f64,
}

/// Books the incidents of one job that was watched from `start` to `stop`.
///
/// # Errors
/// [`BookingError`] where times are out of order or outside of what was watched, or a share is not in 0..1.
pub fn book(start: f64, stop: f64, incidents: &[Incident]) -> Result<Booking, BookingError> {
    let mut order: Vec<usize> = (0..incidents.len()).collect();
    order.sort_by(|&a, &b| incidents[a].at.total_cmp(&incidents[b].at));
    let (mut claims, mut slow) = (Vec::new(), Vec::new());
    let (mut crashes, mut slowdowns) = ([0; 5], [0; 2]);
    for index in order {
        let incident = &incidents[index];
        check(index, incident, start, stop)?;
        let at = incident.at;
        let mut claim = |from, until, part| claims.push(Claim { from, until, part, lost: 1.0 });
        match incident.what {
            What::Crash { checkpoint, detected, isolated, restarted, cause } => {
                crashes[cause.index()] += 1;
                claim(checkpoint, at, Part::PostCheckpoint);
                claim(at, detected, Part::Detection);
                claim(detected, isolated, Part::Diagnosis(cause));
                claim(isolated, restarted, Part::Reinitialisation);
            }
            What::Startup { isolated, restarted, cause } => {
                crashes[cause.index()] += 1;
                claim(at, isolated, Part::Diagnosis(cause));
                claim(isolated, restarted, Part::Reinitialisation);
            }
            What::Slowdown { until, lost, communication } => {
                slowdowns[usize::from(!communication)] += 1;
                let part = if communication { Part::SlowCommunication } else { Part::SlowOther };
                slow.push(Claim { from: at, until, part, lost });
            }
        }
    }
    slow.sort_by(|a, b| b.lost.total_cmp(&a.lost));
    claims.append(&mut slow);
    let (mut time, overlap) = served(&claims);
    let span = stop - start;
    let lost = time.total();
    time[Part::Productive] = (span - lost).max(0.0);
    Ok(Booking { span, time, crashes, slowdowns, overlap })
}

/// Gives every moment to the first of the claims on it; also the time of claims that came too late.
fn served(claims: &[Claim]) -> (Account, f64) {
    let mut edges: Vec<(f64, usize, bool)> = Vec::with_capacity(2 * claims.len());
    for (rank, claim) in claims.iter().enumerate().filter(|(_, claim)| claim.until > claim.from) {
        edges.push((claim.from, rank, true));
        edges.push((claim.until, rank, false));
    }
    edges.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut time = Account::default();
    let (mut overlap, mut last) = (0.0, 0.0);
    let mut active = BTreeSet::new();
    for (at, rank, begins) in edges {
        if let Some(&first) = active.first() {
            let claim: &Claim = &claims[first];
            time[claim.part] += (at - last) * claim.lost;
            overlap += (at - last) * (active.len() - 1) as f64;
        }
        last = at;
        match begins {
            true => active.insert(rank),
            false => active.remove(&rank),
        };
    }
    (time, overlap)
}

/// Times in order, within what was watched; shares within 0..1.
fn check(index: usize, incident: &Incident, start: f64, stop: f64) -> Result<(), BookingError> {
    let at = ("failed", incident.at);
    let times: Vec<(&'static str, f64)> = match incident.what {
        What::Crash { checkpoint, detected, isolated, restarted, .. } => {
            let rest = [("detected", detected), ("isolated", isolated), ("restarted", restarted)];
            [("checkpoint", checkpoint), at].into_iter().chain(rest).collect()
        }
        What::Startup { isolated, restarted, .. } => {
            vec![at, ("isolated", isolated), ("restarted", restarted)]
        }
        What::Slowdown { until, lost, .. } => {
            if !(0.0..=1.0).contains(&lost) {
                let problem = format!("{lost} is no share from 0 to 1");
                return Err(BookingError { index, field: "lost", problem });
            }
            vec![at, ("restarted", until)]
        }
    };
    let mut before = ("start of the job", start);
    for (field, time) in times.into_iter().chain([("end of the job", stop)]) {
        if !time.is_finite() || time < before.1 {
            // The end of the job is no field of the incident: what passes it is.
            let at_end = field == "end of the job";
            let (field, problem) = match at_end {
                true => (before.0, "is after the end of what was watched".to_owned()),
                false => (field, format!("is before {}", before.0)),
            };
            return Err(BookingError { index, field, problem });
        }
        before = (field, time);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn crash(checkpoint: f64, at: f64, detected: f64, isolated: f64, restarted: f64) -> Incident {
        let cause = Cause::AckTimeout;
        Incident { at, what: What::Crash { checkpoint, detected, isolated, restarted, cause } }
    }

    fn slow(at: f64, until: f64, lost: f64, communication: bool) -> Incident {
        Incident { at, what: What::Slowdown { until, lost, communication } }
    }

    #[test]
    fn a_crash_is_booked_in_four_parts() {
        let booking = book(0.0, 100.0, &[crash(10.0, 13.0, 13.5, 20.0, 20.25)]).unwrap();
        let time = booking.time;
        assert_eq!(time[Part::PostCheckpoint], 3.0);
        assert_eq!(time[Part::Detection], 0.5);
        assert_eq!(time[Part::Diagnosis(Cause::AckTimeout)], 6.5);
        assert_eq!(time[Part::Reinitialisation], 0.25);
        assert_eq!(time[Part::Productive], 89.75);
        assert_eq!(booking.crashes, [0, 0, 0, 1, 0]);
        assert!((booking.shares().downtime() - 0.1025).abs() < 1e-12);
    }

    #[test]
    fn a_crash_at_startup_costs_no_work() {
        let what = What::Startup { isolated: 2.0, restarted: 3.0, cause: Cause::Cuda };
        let time = book(0.0, 10.0, &[Incident { at: 1.0, what }]).unwrap().time;
        assert_eq!((time[Part::Diagnosis(Cause::Cuda)], time[Part::Reinitialisation]), (1.0, 1.0));
        assert_eq!(time[Part::PostCheckpoint] + time[Part::Detection], 0.0);
    }

    #[test]
    fn overlapping_incidents_share_no_moment() {
        // The second fails while the first is diagnosed, and goes back to the same checkpoint.
        let incidents = [crash(1.0, 3.0, 4.0, 8.0, 9.0), crash(1.0, 6.0, 7.0, 10.0, 11.0)];
        let booking = book(0.0, 20.0, &incidents).unwrap();
        assert_eq!(booking.time.downtime(), 10.0);
        assert_eq!(booking.overlap, 8.0);
        assert_eq!(booking.time[Part::PostCheckpoint], 2.0);
        let twice = book(0.0, 20.0, &[incidents[0].clone(), incidents[0].clone()]).unwrap();
        assert_eq!(twice.time, book(0.0, 20.0, &incidents[..1]).unwrap().time);
    }

    #[test]
    fn slowdowns_get_what_crashes_leave_and_the_worse_one_first() {
        let incidents =
            [slow(0.0, 10.0, 0.1, true), slow(5.0, 10.0, 0.5, false), crash(8.0, 9.0, 9.0, 9.0, 9.5)];
        let booking = book(0.0, 20.0, &incidents).unwrap();
        let time = booking.time;
        assert!((time[Part::SlowCommunication] - 0.5).abs() < 1e-12);
        assert!((time[Part::SlowOther] - 1.75).abs() < 1e-12);
        assert_eq!(booking.slowdowns, [1, 1]);
    }

    #[test]
    fn what_is_out_of_order_is_named() {
        let field = |incident: Incident| book(0.0, 20.0, &[incident]).unwrap_err().field;
        assert_eq!(field(crash(5.0, 3.0, 4.0, 8.0, 9.0)), "failed");
        assert_eq!(field(crash(1.0, 3.0, 2.0, 8.0, 9.0)), "detected");
        assert_eq!(field(crash(1.0, 3.0, 4.0, 8.0, 21.0)), "restarted");
        assert_eq!(field(crash(-1.0, 3.0, 4.0, 8.0, 9.0)), "checkpoint");
        assert_eq!(field(crash(1.0, 3.0, f64::NAN, 8.0, 9.0)), "detected");
        assert_eq!(field(slow(1.0, 2.0, 1.5, true)), "lost");
    }

    fn incident() -> impl Strategy<Value = Incident> {
        let times = prop::collection::vec(0.0..100.0f64, 5).prop_map(|mut times| {
            times.sort_by(f64::total_cmp);
            times
        });
        (times, 0..5usize, 0..4u8, 0.0..=1.0f64).prop_map(|(t, cause, kind, lost)| {
            let cause = Cause::ALL[cause];
            let what = match kind {
                0 => What::Startup { isolated: t[3], restarted: t[4], cause },
                1 => What::Slowdown { until: t[4], lost, communication: lost > 0.5 },
                _ => What::Crash { checkpoint: t[0], detected: t[2], isolated: t[3], restarted: t[4], cause },
            };
            Incident { at: t[1], what }
        })
    }

    proptest! {
        #[test]
        fn parts_sum_to_the_whole_whatever_overlaps(
            incidents in prop::collection::vec(incident(), 0..30),
        ) {
            let booking = book(0.0, 100.0, &incidents).unwrap();
            prop_assert!((booking.time.total() - 100.0).abs() < 1e-9, "{booking:?}");
            let shares = booking.shares();
            prop_assert!(Part::ALL.iter().all(|&part| (0.0..=1.0 + 1e-12).contains(&shares[part])));
            // One more incident never makes more work count.
            let fewer = book(0.0, 100.0, &incidents[..incidents.len() / 2]).unwrap();
            let (more, less) = (booking.time[Part::Productive], fewer.time[Part::Productive]);
            prop_assert!(more <= less + 1e-9);
        }
    }
}

//! Settings of a lifetime: who finds failures, what each response takes, and how often the job writes checkpoints.
use railtwin_units::SimTime;

use crate::downtime::table3::{Stated, Table3};
use crate::downtime::{Account, Part};
use crate::failure_rates::Cause;
use crate::lifetime::progress::hours;

/// How a job recovers from failures.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovery {
    /// Whether detectors look for failures; without them the watchdog and people find all.
    pub has_detectors: bool,
    /// Whether controllers of one's own decide, so that a person answers findings that they leave.
    pub has_own_controllers: bool,
    /// Work between two checkpoints, rounded up to whole steps.
    pub checkpoint: SimTime,
    /// How long a checkpoint holds the job up.
    pub checkpoint_cost: SimTime,
    /// Time from a failure to the finding that names it; none: [`detection_time`](super::detectors::detection_time).
    pub detection: Option<SimTime>,
    /// Share of the failures that detectors find, 0 to 1.
    pub recall: f64,
    /// Hosts without a failure that detectors accuse, per day of running; none: no host.
    pub false_alarms: Option<f64>,
    /// How long a job stands still until its watchdog ends it.
    pub watchdog: SimTime,
    /// Time from the decision to isolate a host until the host is out and a spare in its place.
    pub isolation: SimTime,
    /// Time from the start of processes until steps run.
    pub restart: SimTime,
    /// Mean time that people take to find the culprit, by root cause in the order of [`Cause::ALL`]; none:
    /// [`by_hand_hours`].
    pub by_hand: [Option<SimTime>; 5],
    /// How long a proposal waits for a person.
    pub answer: SimTime,
    /// How long tests keep a host away that was accused without a failure.
    pub tests: SimTime,
}

impl Recovery {
    /// Mean hours that people take to find the culprit of a root cause.
    pub(super) fn by_hand_mean(&self, cause: Cause, fitted: &Account) -> f64 {
        self.by_hand[cause.index()].map_or(fitted[Part::Diagnosis(cause)], hours)
    }
}

/// Hours that people take on average for each root cause, where no setting says it: June's share of C4's Table III over
/// the crashes that Table I's rate gives its job.
pub fn by_hand_hours() -> Account {
    Table3::of(Stated::default()).implied[0]
}

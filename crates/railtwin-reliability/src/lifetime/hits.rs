//! Failures as they hit a job: what they do to it, what they are booked as, who finds them and when.
use railtwin_fabric::HostId;
use railtwin_records::FaultKind;
use railtwin_records::fault::FaultCause;
use railtwin_units::SimTime;

use crate::downtime::Account;
use crate::failure_process::PartKind;
use crate::failure_rates::{Cause, Draw};
use crate::lifetime::detectors::detection_time;
use crate::lifetime::recovery::{Recovery, by_hand_hours};

/// Effect of a failure on the job.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Effect {
    /// The job stands still.
    Stops,
    /// Steps take so long.
    Slows(SimTime),
    /// No step shows it.
    None,
}

/// A failure of a part that the job uses, before anybody responds to it.
#[derive(Clone, Debug)]
pub struct JobFailure {
    /// When it happens.
    pub at: SimTime,
    /// The place among the job's hosts, in the order of their ranks, that it happens to; none for a part in no host.
    pub seat: Option<usize>,
    /// The host that the part is in, where it happens to that host alone and not to any host that has the place.
    pub host: Option<HostId>,
    /// Name of the part in the healthy placement.
    pub subject: String,
    /// Name of the rate that drew it.
    pub source: String,
    /// Kind of the fault.
    pub kind: FaultKind,
    /// Root cause of an error of a GPU.
    pub gpu_cause: Option<FaultCause>,
    /// Kind of the part.
    pub part: PartKind,
    /// Effect on the job.
    pub effect: Effect,
    /// Time until the part is repaired; none where nobody repairs it.
    pub repair: Option<SimTime>,
}

/// A failure of a lifetime, with the times of those who find it.
#[derive(Clone, Debug)]
pub struct Hit {
    /// When it happens.
    pub at: SimTime,
    /// The place among the job's hosts, in the order of their ranks, that it happens to; none for a part in no host, and
    /// for a failure that a change of the host does not cure.
    pub seat: Option<usize>,
    /// The host that the part is in: the failure does nothing while that host has no place in the job. None where it
    /// happens to any host that has the place.
    pub host: Option<HostId>,
    /// Name of the part in the healthy placement.
    pub subject: String,
    /// Name of the rate that drew it.
    pub source: String,
    /// Kind of the fault.
    pub kind: FaultKind,
    /// Root cause that it is booked as.
    pub cause: Cause,
    /// Effect on the job.
    pub effect: Effect,
    /// Time until detectors find it; none where they miss it.
    pub found_after: Option<SimTime>,
    /// Time that people take to find the culprit.
    pub by_hand: SimTime,
    /// Time until the part is repaired; none where nobody repairs it.
    pub repair: Option<SimTime>,
}

/// Returns the root cause that a fault is booked as.
pub fn cause_of(kind: FaultKind, gpu_cause: Option<FaultCause>, part: PartKind) -> Cause {
    match (kind, part) {
        (FaultKind::GpuError, _) => match gpu_cause {
            Some(FaultCause::Ecc | FaultCause::Nvlink) => Cause::EccNvlink,
            _ => Cause::Cuda,
        },
        (FaultKind::Hang | FaultKind::SizeMismatch, _) => Cause::CclTimeout,
        (FaultKind::PauseStorm | FaultKind::Lossy, _) => Cause::AckTimeout,
        (
            _,
            PartKind::Nic | PartKind::AccessCable | PartKind::UplinkCable | PartKind::Leaf | PartKind::Spine,
        ) => Cause::AckTimeout,
        _ => Cause::Unknown,
    }
}

/// Returns whether a slow step of such a fault is slow communication.
pub fn is_communication(kind: FaultKind) -> bool {
    !matches!(kind, FaultKind::SlowGpu | FaultKind::SlowData | FaultKind::StorageStall)
}

/// Random streams of the responses to failures, which are to be asked for in the order of the failures: which ones
/// detectors find, and how long people take.
#[derive(Debug)]
pub struct Responses {
    found: Draw,
    people: Draw,
    fitted: Account,
}

impl Responses {
    /// The streams of a seed.
    pub fn new(seed: u64) -> Self {
        Self {
            found: Draw::new(seed, "steering/recall"),
            people: Draw::new(seed, "steering/by-hand"),
            fitted: by_hand_hours(),
        }
    }

    /// Draws the responses to the next failure.
    pub fn hit(&mut self, recovery: &Recovery, failure: JobFailure) -> Hit {
        let JobFailure { at, seat, host, subject, source, kind, gpu_cause, part, effect, repair } = failure;
        let cause = cause_of(kind, gpu_cause, part);
        let is_found = self.found.chance(recovery.recall);
        let by_hand = self.people.exponential(recovery.by_hand_mean(cause, &self.fitted));
        let after = recovery.detection.unwrap_or_else(|| detection_time(kind));
        Hit {
            at,
            // A bug of the job goes where the job goes.
            seat: seat.filter(|_| kind != FaultKind::SizeMismatch),
            host,
            subject,
            source,
            kind,
            cause,
            effect,
            found_after: (recovery.has_detectors && is_found).then_some(after),
            by_hand: SimTime::from_seconds(by_hand * 3600.0),
            repair,
        }
    }
}

//! Outcome of a lifetime: its account, when the job stood still, what controllers did.
use railtwin_control::Action;
use railtwin_fabric::HostId;
use railtwin_records::FaultKind;
use railtwin_units::SimTime;

use crate::downtime::Account;
use crate::failure_rates::Cause;
use crate::lifetime::hits::Hit;

/// The first to know of a standstill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finder {
    /// The detectors.
    Detectors,
    /// The watchdog, and people after it.
    Watchdog,
    /// The person or script that started the job: it failed before its first step.
    Start,
    /// The controller, which took a host out of a job that ran.
    Controller,
}

impl Finder {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Detectors => "detectors",
            Self::Watchdog => "watchdog",
            Self::Start => "start",
            Self::Controller => "controller",
        }
    }
}

/// One time that the job stood still; times that the lifetime did not reach are none.
#[derive(Clone, PartialEq, Debug)]
pub struct Standstill {
    /// Root cause that it was booked as.
    pub cause: Cause,
    /// The kind of the fault; none where a host went that no fault of the job had stopped.
    pub kind: Option<FaultKind>,
    /// The part that failed, or the host that went.
    pub subject: String,
    /// Which rate drew it; empty without a fault.
    pub source: String,
    /// The first to know.
    pub finder: Finder,
    /// When the last checkpoint was whole.
    pub checkpoint: SimTime,
    /// When the job stood still.
    pub failed: SimTime,
    /// When somebody knew.
    pub detected: Option<SimTime>,
    /// When the culprit was out.
    pub isolated: Option<SimTime>,
    /// When every place was taken, so that processes started.
    pub replaced: Option<SimTime>,
    /// When steps ran again, or the next fault showed before the first.
    pub restarted: Option<SimTime>,
}

impl Standstill {
    /// Returns the standstill of a failure, since `failed`, with the last checkpoint before it and no later time.
    pub fn of(hit: &Hit, finder: Finder, (checkpoint, failed): (SimTime, SimTime)) -> Self {
        Self {
            cause: hit.cause,
            kind: Some(hit.kind),
            subject: hit.subject.clone(),
            source: hit.source.clone(),
            finder,
            checkpoint,
            failed,
            detected: None,
            isolated: None,
            replaced: None,
            restarted: None,
        }
    }

    /// Returns the standstill of a job that ran until the controller took a host out.
    pub fn of_host(host: HostId, (checkpoint, failed): (SimTime, SimTime)) -> Self {
        Self {
            cause: Cause::Unknown,
            kind: None,
            subject: format!("host-{}", host.0),
            source: String::new(),
            finder: Finder::Controller,
            checkpoint,
            failed,
            detected: Some(failed),
            isolated: None,
            replaced: None,
            restarted: None,
        }
    }
}

/// A decision and when it took effect.
#[derive(Clone, PartialEq, Debug)]
pub struct Done {
    /// When it was decided.
    pub decided: SimTime,
    /// When it took effect; [`SimTime::NEVER`] where it did not.
    pub effective: SimTime,
    /// Name of the controller that decided it.
    pub controller: &'static str,
    /// The action.
    pub action: Action,
    /// Reason of the controller.
    pub reason: &'static str,
}

/// One lifetime of a job.
#[derive(Clone, Debug)]
pub struct Lifetime {
    /// Seed of its draws.
    pub seed: u64,
    /// Shares of its time.
    pub shares: Account,
    /// In the order of time.
    pub standstills: Vec<Standstill>,
    /// In the order of time.
    pub done: Vec<Done>,
    /// Whole steps that were done and that no crash took back, those since the last checkpoint included.
    pub steps: u64,
    /// All failures.
    pub failures: u32,
    /// Failures of hosts that were out already.
    pub idle: u32,
    /// Failures that neither stopped the job nor slowed it.
    pub harmless: u32,
    /// Hosts that were accused and had no fault.
    pub accused: u32,
    /// The most hosts that were out at the same time.
    pub out_most: u32,
    /// Hosts of the job in the order of their ranks at the end.
    pub hosts: Vec<HostId>,
}

impl Lifetime {
    /// Faults that stopped the job.
    pub fn crashes(&self) -> u32 {
        self.standstills.iter().filter(|row| row.kind.is_some()).count() as u32
    }
}

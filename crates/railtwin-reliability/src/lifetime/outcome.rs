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
    /// Whoever started the job: it failed before its first step.
    Start,
    /// Nobody had to: the controller took a host out of a job that ran.
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
    /// What it was booked as.
    pub cause: Cause,
    /// The kind of the fault; none where a host went that no fault of the job had stopped.
    pub kind: Option<FaultKind>,
    /// The part that failed, or the host that went.
    pub subject: String,
    /// Which rate drew it; empty without a fault.
    pub source: String,
    /// Who knew first.
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
    /// By a failure, since a time, with the last checkpoint before it; of the rest nothing is known yet.
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

    /// By the controller, which took a host out of a job that ran.
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
    /// Who decided it.
    pub controller: &'static str,
    /// What was done.
    pub action: Action,
    /// Why.
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
    /// Failures that were drawn, of which so many hit a host that was out already, and so many did nothing.
    pub failures: u32,
    /// Of them, those of hosts that were out already.
    pub idle: u32,
    /// Of them, those that neither stop the job nor slow it.
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

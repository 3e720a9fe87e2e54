//! The account of a job whose run was followed: by the steps and standstills of the run, not by an estimate.
use railtwin_fabric::HostId;
use railtwin_units::SimTime;

use crate::downtime::{Account, Part};
use crate::lifetime::hits::{Hit, is_communication};
use crate::lifetime::outcome::Lifetime;
use crate::lifetime::progress::hours;

/// A time in which the processes of a job ran: from a start to the next standstill, or to the end.
#[derive(Clone, PartialEq, Debug)]
pub struct RunPeriod {
    /// When the processes started.
    pub start: SimTime,
    /// Hosts of the ranks.
    pub hosts: Vec<HostId>,
    /// Hours of the steps that no crash took back.
    pub worked: f64,
    /// Hours that these steps take without failures.
    pub healthy: f64,
    /// Steps of the job that are done after them.
    pub steps: u32,
    /// When the last checkpoint was whole before the standstill that ended the period; none without one.
    pub checkpoint: Option<SimTime>,
    /// Since when the job stood still for good, for a period that no standstill ended.
    pub stopped: Option<SimTime>,
}

/// Books the time of a job until `end`. `periods` are those in which its processes ran, one more than the standstills that
/// ended or as many; `slows` are the failures that were found to slow it.
pub fn book(lifetime: &mut Lifetime, periods: &[RunPeriod], slows: &[&Hit], end: SimTime) {
    let mut account = Account::default();
    let begin = periods[0].start;
    let spent = |from: SimTime, to: SimTime| hours(to.min(end).since(from.min(to).min(end)));
    lifetime.standstills.truncate(periods.len());
    let mut steps = 0;
    for (number, period) in periods.iter().enumerate() {
        let standstill = lifetime.standstills.get_mut(number);
        let failed = standstill.as_ref().map_or(end, |one| one.failed.min(end));
        let slow = (period.worked - period.healthy).max(0.0);
        account[Part::Productive] += period.worked - slow;
        let is_there =
            |hit: &&&Hit| hit.host.is_none_or(|host| period.hosts.contains(&host)) && hit.at < failed;
        let of_slow = slows.iter().filter(is_there).max_by_key(|hit| hit.at).map(|hit| hit.kind);
        let is_of_network = of_slow.is_none_or(is_communication);
        account[if is_of_network { Part::SlowCommunication } else { Part::SlowOther }] += slow;
        steps = period.steps;
        let Some(one) = standstill else {
            // Work in progress at the end counts, as no crash took it back; a job that stands still waits for a finding.
            let until = period.stopped.map_or(end, |at| at.max(period.start).min(end));
            account[Part::Productive] += spent(period.start, until) - period.worked;
            account[Part::Detection] += spent(until, end);
            break;
        };
        // Nothing is left of the work since the last checkpoint.
        account[Part::PostCheckpoint] += spent(period.start, failed) - period.worked;
        one.checkpoint = period.checkpoint.unwrap_or(begin);
        let known = one.detected.unwrap_or(end);
        let out = one.isolated.unwrap_or(end).max(known);
        let there = one.replaced.unwrap_or(end).max(out);
        account[Part::Detection] += spent(one.failed, known);
        account[Part::Diagnosis(one.cause)] += spent(known, out);
        account[Part::Waiting] += spent(out, there);
        account[Part::Reinitialisation] += spent(there, one.restarted.unwrap_or(end));
    }
    lifetime.shares = account * (1.0 / hours(end.since(begin)));
    lifetime.steps = u64::from(steps);
}

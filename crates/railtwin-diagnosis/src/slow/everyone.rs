//! What slows all ranks of a job alike: peers show nothing, only the job's own past does. Storage, or the job itself.
use railtwin_records::seen::OperationSeen;
use railtwin_records::{Component, Directory, Evidence, FaultKind, Finding, Since, Suspect, Syndrome};

use crate::context::Context;
use crate::robust::median;
use crate::slow::members::Members;

/// Times the usual own time from which on an operation follows a stall of all.
const STALL: f64 = 3.0;
/// Times the median of earlier stalls from which on one is longer than a checkpoint of this job takes.
const LONGER: f64 = 1.5;
/// Stalls that make a past.
const PAST: usize = 2;
/// Stalls that are kept.
const KEPT: usize = 16;
/// Share of the time that stalls may take without a past: checkpoints are made rarer long before.
const MUCH: f64 = 0.2;
/// Share by which all own times grow, and windows for which, before it is told.
const GROWTH: f64 = 0.2;
const WINDOWS: u32 = 3;
/// Windows without anything after which the next is a new one.
const QUIET: u32 = 64;

#[derive(Clone, PartialEq, Debug, Default)]
struct Watch {
    job: u32,
    /// Usual own time before operations of a step, by the median of the window; slow windows are left out.
    usual_ns: f64,
    windows: u32,
    slow: u32,
    stalls: Vec<f64>,
    longer: u32,
    /// Time that stalls took, and all time, since the first window.
    stalled_ns: f64,
    all_ns: f64,
    told: bool,
    /// Windows since something was last found.
    quiet: u32,
    found: Option<(f64, f64, &'static str)>,
    share: f64,
    /// When the last two windows ended.
    ended_ns: [u64; 2],
    /// From the window before the first slow one to the end of that.
    since: Since,
    values: Vec<f64>,
}

/// One communicator of each job, the widest, is watched.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Everyone {
    watched: Vec<u32>,
    watches: Vec<Watch>,
}

/// No watch.
const NONE: u32 = u32::MAX;

impl Everyone {
    /// Picks the widest communicator of each job.
    pub fn grow(&mut self, directory: &Directory, members: &Members) {
        self.watched = vec![NONE; members.communicator_count()];
        for job in 0..directory.jobs.len() as u32 {
            let pools = members.pools().iter().filter(|pool| pool.job == job && pool.alike);
            let Some(widest) = pools.reduce(|a, b| if b.size > a.size { b } else { a }) else { continue };
            let row = match self.watches.iter().position(|watch| watch.job == job) {
                Some(row) => row,
                None => {
                    self.watches.push(Watch { job, ..Watch::default() });
                    self.watches.len() - 1
                }
            };
            self.watched[widest.communicators[0] as usize] = row as u32;
        }
    }

    /// Takes a window in that ended by `now_ns`: the median own time of all members before each operation, in nanoseconds.
    pub fn take(&mut self, communicator: u32, typical: &[f64], period_ns: f64, slow_share: f64, now_ns: u64) {
        let Some(watch) = self.watches.get_mut(self.watched[communicator as usize] as usize) else { return };
        if typical.is_empty() {
            return;
        }
        let of_median = |watch: &mut Watch| {
            watch.values.clear();
            watch.values.extend_from_slice(typical);
            median(&mut watch.values).unwrap_or_default()
        };
        let window = Since::between(watch.ended_ns[0], now_ns);
        watch.ended_ns = [watch.ended_ns[1], now_ns];
        let is_known = watch.found.is_some();
        let now = of_median(watch);
        let before = watch.usual_ns;
        watch.windows += 1;
        watch.all_ns += period_ns * typical.len() as f64;
        let past = watch.windows > WINDOWS;
        if past && now > (1.0 + GROWTH) * before && now - before > slow_share * period_ns {
            watch.since = if watch.slow == 0 && !is_known { window } else { watch.since };
            watch.slow += 1;
        } else {
            watch.slow = 0;
            watch.usual_ns += (now - before) / f64::from(watch.windows.min(8));
        }
        watch.found =
            (watch.slow >= WINDOWS).then_some((now, before, "own time of all ranks before an operation"));
        watch.share = (now - before) / period_ns.max(1.0);
        // What is long within each step is no stall: only what is beyond the longest usual one is.
        watch.values.clear();
        watch.values.extend(typical.iter().copied().filter(|&own| own > now / 2.0));
        let long = median(&mut watch.values).unwrap_or(now);
        for &own in typical {
            if own <= STALL * long || own - long <= slow_share * period_ns {
                continue;
            }
            let stall = own - long;
            watch.values.clear();
            watch.values.extend_from_slice(&watch.stalls);
            let known = watch.values.len() >= PAST;
            let usual = median(&mut watch.values).unwrap_or_default();
            if known && stall > LONGER * usual {
                watch.since = if watch.longer == 0 && !is_known { window } else { watch.since };
                watch.longer += 1;
                watch.found =
                    (watch.longer >= 2).then_some((stall, usual, "stall of all ranks before an operation"));
                watch.share = (stall - usual) / (stall - usual + period_ns).max(1.0);
            } else {
                watch.longer = 0;
                if watch.stalls.len() < KEPT {
                    watch.stalls.push(stall);
                }
            }
            watch.stalled_ns += stall;
            let share = watch.stalled_ns / watch.all_ns.max(1.0);
            if watch.found.is_none() && watch.stalls.len() > PAST && share > MUCH {
                watch.since = if is_known { watch.since } else { window };
                watch.found = Some((stall, 0.0, "stall of all ranks before an operation"));
                watch.share = share;
            }
        }
        watch.quiet = if watch.found.is_some() { 0 } else { watch.quiet.saturating_add(1) };
    }

    /// Findings of jobs that are slow as a whole and not told yet.
    pub fn tell(&mut self, context: &Context<'_>, now_ns: u64, findings: &mut Vec<Finding>) {
        for watch in &mut self.watches {
            let Some((value, expected, measure)) = watch.found else {
                watch.told &= watch.quiet < QUIET;
                continue;
            };
            if std::mem::replace(&mut watch.told, true) {
                continue;
            }
            let job = context.directory.jobs.get(watch.job as usize).cloned().unwrap_or_default();
            findings.push(Finding {
                at_ns: now_ns,
                since: watch.since,
                syndrome: Syndrome::NonCommunicationSlow,
                faults: vec![FaultKind::StorageStall, FaultKind::SlowData],
                suspects: vec![
                    Suspect { component: Component::Storage, share: 0.6 },
                    Suspect { component: Component::Job(job.clone()), share: 0.4 },
                ],
                confidence: 0.6,
                severity: watch.share.clamp(0.0, 1.0),
                cost: None,
                evidence: vec![Evidence::new(
                    OperationSeen::JobWide { job, measure },
                    value / 1e3,
                    expected / 1e3,
                )],
                advice: "all ranks are late alike: storage's own latency, and what the job does then, tell the cause"
                    .into(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(watch: &mut Everyone, own: impl Fn(usize) -> f64, windows: std::ops::Range<usize>) -> bool {
        windows.fold(false, |found, window| {
            let typical: Vec<f64> = (0..16).map(|operation| own(window * 16 + operation)).collect();
            let period = 2.0 + typical.iter().sum::<f64>() / 16.0;
            watch.take(0, &typical, period, 0.05, window as u64);
            found | watch.watches[0].found.is_some()
        })
    }

    fn everyone() -> Everyone {
        Everyone { watched: vec![0], watches: vec![Watch::default()] }
    }

    #[test]
    fn checkpoints_are_told_when_they_take_longer_than_before() {
        let checkpoint = |long: f64| move |operation: usize| if operation % 40 == 20 { long } else { 10.0 };
        let mut watch = everyone();
        assert!(!found(&mut watch, checkpoint(60.0), 0..40));
        assert!(!found(&mut watch, checkpoint(70.0), 40..60));
        assert!(found(&mut watch, checkpoint(150.0), 60..80));
    }

    #[test]
    fn growth_of_all_own_times_is_told_when_it_lasts() {
        let mut watch = everyone();
        assert!(!found(&mut watch, |_| 10.0, 0..10));
        assert!(!found(&mut watch, |_| 13.0, 10..12));
        assert!(found(&mut watch, |_| 13.0, 12..14));
    }
}

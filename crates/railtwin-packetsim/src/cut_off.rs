//! What jobs leave behind that come to no end: how far their operations got, and who waited for packets that faults took.
use std::collections::BTreeMap;

use railtwin_engine::{Incident, IncidentKind, OperationTimes};
use railtwin_units::SimTime;
use railtwin_workload::Work;

use crate::congestion::Control;
use crate::device::{Device, DeviceState};
use crate::host::Shared;

/// The stalls of queue pairs that had heard nothing since a time when the processes of their job were ended: of those of
/// which something was lost meanwhile.
pub fn stalls<'t>(
    shared: &'t Shared<'_>,
    silent: &'t [(u32, u64)],
    lost: &'t BTreeMap<u32, u64>,
) -> impl Iterator<Item = Incident> + 't {
    let lost = |(queue_pair, since): &(u32, u64)| lost.get(queue_pair).is_some_and(|at| at >= since);
    silent.iter().filter(move |one| lost(one)).map(|&(queue_pair, since)| Incident {
        at: SimTime::from_ps(since),
        kind: IncidentKind::Stalled(shared.job_of(queue_pair)),
    })
}

/// An operation that began and never ended, and how much of its legs has arrived, as a share of all bytes of a leg each.
struct Open {
    operation: u32,
    bytes: u64,
    arrived: f64,
}

/// Bytes that operations asked of each pattern; of those that never ended what had arrived of them.
pub fn pattern_bytes<C: Control>(
    shared: &Shared<'_>,
    times: &OperationTimes,
    devices: &[Device<C>],
) -> Vec<f64> {
    let work = &shared.network.case.work;
    let mut bytes = vec![0.0; work.patterns];
    let mut open: BTreeMap<u32, Vec<Open>> = BTreeMap::new();
    for job in &work.jobs {
        let length = job.plan.operations.len();
        for row in 0..length * job.steps as usize {
            let operation = job.first_operation as usize + row;
            let Work::Communicate { pattern, bytes: asked } = job.plan.operations[row % length].work else {
                continue;
            };
            let pattern = job.first_pattern + pattern.0;
            if times.end[operation] != SimTime::NEVER {
                bytes[pattern as usize] += asked as f64;
            } else if times.start[operation] != SimTime::NEVER {
                let one = Open { operation: operation as u32, bytes: asked, arrived: 0.0 };
                open.entry(pattern).or_default().push(one);
            }
        }
    }
    if open.is_empty() {
        return bytes;
    }
    for device in devices {
        let DeviceState::Host(host) = &device.kind else { continue };
        for (leg, came) in host.arrivals() {
            let leg = &shared.program.legs[leg as usize];
            let known = open.get_mut(&leg.pattern);
            known.into_iter().flatten().for_each(|one| one.arrived += leg.share * came(one.operation));
        }
    }
    for (pattern, open) in open {
        let [first, end] = [pattern, pattern + 1].map(|row| shared.program.leg_start[row as usize] as usize);
        let whole: f64 = shared.program.legs[first..end].iter().map(|leg| leg.share).sum();
        let shares = open.iter().map(|one| one.bytes as f64 * one.arrived / whole);
        bytes[pattern as usize] += if whole > 0.0 { shares.sum() } else { 0.0 };
    }
    bytes
}

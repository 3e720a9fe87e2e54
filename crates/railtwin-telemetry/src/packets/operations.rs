//! When ranks entered and left operations: as their hosts did, which work on an operation for all their ranks.
use std::collections::BTreeMap;

use railtwin_engine::packet_records::HostOperation;
use railtwin_records::telemetry::{NOT_YET, OperationColumns};
use railtwin_units::SimTime;
use railtwin_workload::Work;

use super::{Source, clock, known, ns, order};

impl Source<'_> {
    /// What hosts did of an operation of the case, by host.
    pub(super) fn hosts_of(&self, operation: u32) -> &[HostOperation] {
        let all = &self.records.hosts;
        let first = all.partition_point(|one| one.operation < operation);
        let end = all.partition_point(|one| one.operation <= operation);
        &all[first..end]
    }

    /// What one host did of it.
    pub(super) fn at_host(&self, operation: u32, host: u32) -> Option<&HostOperation> {
        let hosts = self.hosts_of(operation);
        hosts.binary_search_by_key(&host, |one| one.host).ok().map(|row| &hosts[row])
    }

    /// Whether an operation of the case ended everywhere.
    pub(super) fn has_ended(&self, operation: u32) -> bool {
        self.log.times.end.get(operation as usize).is_some_and(|&end| end != SimTime::NEVER)
    }

    /// When a host was done with an operation, in nanoseconds. A host that only sends is done when the last of its
    /// messages was acknowledged; it counts as done only where the operation ended.
    pub(super) fn end_at(
        &self,
        one: &HostOperation,
        last_sent: &BTreeMap<(u32, u32), SimTime>,
    ) -> Option<u64> {
        if !one.only_sends {
            return (one.end != SimTime::NEVER).then(|| ns(one.end));
        }
        let sent = last_sent.get(&(one.operation, one.host)).copied().unwrap_or(one.start);
        self.has_ended(one.operation).then(|| ns(sent))
    }

    /// When the last message of each operation that a host sent was acknowledged.
    fn last_sent(&self) -> BTreeMap<(u32, u32), SimTime> {
        let mut last = BTreeMap::new();
        let Some(paths) = self.paths.first() else { return last };
        for send in &self.records.sends {
            let bundle = paths.pattern_start[send.pattern as usize] as usize + send.bundle as usize;
            let row = paths.rows_of(bundle).find(|&row| paths.edge[row] == send.edge);
            if let Some(row) = row {
                let at = last.entry((send.operation, paths.source[row].0)).or_insert(SimTime::ZERO);
                *at = send.last.max(*at);
            }
        }
        last
    }
}

/// Writes the operations of all ranks, in order of the time at which they were known.
pub(super) fn write(
    source: &Source<'_>,
    shapes: &BTreeMap<(u32, u64), (u32, u32)>,
    known_ns: &mut Vec<u64>,
    out: &mut OperationColumns,
) {
    let graph = &source.case.work.jobs[source.job];
    let last_sent = source.last_sent();
    let mut rows = OperationColumns::default();
    for (row, numbers) in source.sequences.iter().enumerate() {
        let operation = &graph.plan.operations[row % graph.plan.operations.len()];
        let Work::Communicate { pattern, bytes } = operation.work else { continue };
        let place = &source.places[pattern.index()];
        let Some(&(shape, _)) = shapes.get(&(pattern.0, bytes)).filter(|_| source.told[pattern.index()])
        else {
            continue;
        };
        let number = graph.first_operation + row as u32;
        for (group, &sequence) in numbers.iter().enumerate() {
            for &rank in place.group(group) {
                let Some(member) = source.seats.members.get(rank as usize) else { continue };
                let Some(host) = source.at_host(number, member.host) else { continue };
                let end = source.end_at(host, &last_sent);
                let on_clock = |at_ns: u64| clock(source.clocks, rank, at_ns);
                let end_ns = end.map_or(NOT_YET, on_clock);
                let (communicator, enter_ns) = (place.communicator[group], on_clock(ns(host.start)));
                rows.push(communicator, source.rows.first_rank + rank, sequence, shape, enter_ns, end_ns);
                known_ns.push(known(end));
            }
        }
    }
    for row in order(known_ns) {
        let (communicator, rank, sequence) = (rows.communicator[row], rows.rank[row], rows.sequence[row]);
        out.push(communicator, rank, sequence, rows.shape[row], rows.enter_ns[row], rows.end_ns[row]);
    }
}

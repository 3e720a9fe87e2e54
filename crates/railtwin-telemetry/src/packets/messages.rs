//! What queue pairs sent in each operation, and for whom their ends waited, from when messages were acknowledged and
//! stages had arrived.
use std::ops::Range;

use railtwin_engine::packet_records::{EdgeReceipt, QueuePairSend};
use railtwin_records::telemetry::MessageColumns;
use railtwin_units::SimTime;
use railtwin_workload::Work;

use super::{Source, known, ns, order};

/// One edge of one bundle in one operation: place in the records.
type Edge = (u32, u32, u32, u32);

impl Source<'_> {
    fn sends_of(&self, at: Edge) -> &[QueuePairSend] {
        let all = &self.records.sends;
        let place = |one: &QueuePairSend| (one.operation, one.pattern, one.bundle, one.edge);
        let first = all.partition_point(|one| place(one) < at);
        let end = all.partition_point(|one| place(one) <= at);
        &all[first..end]
    }

    fn receipts_of(&self, at: Edge) -> &[EdgeReceipt] {
        let all = &self.records.receipts;
        let place = |one: &EdgeReceipt| (one.operation, one.pattern, one.bundle, one.edge);
        let first = all.partition_point(|one| place(one) < at);
        let end = all.partition_point(|one| place(one) <= at);
        &all[first..end]
    }

    /// The state of the network whose paths held at a time.
    fn state_at(&self, at: SimTime) -> usize {
        self.paths.partition_point(|state| state.at <= at).saturating_sub(1)
    }
}

/// What arrived over an edge: stages of all rounds in order, and how long messages waited for clearance.
struct Arrivals {
    stages: Vec<SimTime>,
    credit_ns: u64,
}

fn arrivals(source: &Source<'_>, at: Edge) -> Arrivals {
    let mut out = Arrivals { stages: Vec::new(), credit_ns: 0 };
    for receipt in source.receipts_of(at) {
        let rows = receipt.first as usize..(receipt.first + receipt.count) as usize;
        out.stages.extend(source.records.stages.get(rows).unwrap_or_default());
        out.credit_ns += receipt.credit_ps / 1_000;
    }
    out.stages.sort_unstable();
    out
}

/// The first stage by which a receiver had waited for longer than a stage takes, where it began at `start_ns` and stages
/// take `stage_ns`; counted in `stages`, which it is where that never came.
fn first_wait(arrivals: &[SimTime], start_ns: u64, stage_ns: f64, stages: u32) -> u32 {
    let waited = |(row, at): (usize, &SimTime)| {
        let since = ns(*at).saturating_sub(start_ns) as f64;
        since - (row + 1) as f64 * stage_ns > stage_ns
    };
    let first = arrivals.iter().enumerate().position(waited);
    first.map_or(stages, |first| (first as u64 * u64::from(stages) / arrivals.len().max(1) as u64) as u32)
}

/// Writes what queue pairs sent, in order of the time at which it was known.
pub(super) fn write(source: &Source<'_>, known_ns: &mut Vec<u64>, out: &mut MessageColumns) {
    let graph = &source.case.work.jobs[source.job];
    let Some(paths) = source.paths.first() else { return };
    let mut rows = MessageColumns::default();
    for (row, numbers) in source.sequences.iter().enumerate() {
        let operation = &graph.plan.operations[row % graph.plan.operations.len()];
        let Work::Communicate { pattern, .. } = operation.work else { continue };
        if !source.told[pattern.index()] {
            continue;
        }
        let number = graph.first_operation + row as u32;
        let (place, of_case) = (&source.places[pattern.index()], graph.first_pattern + pattern.0);
        let first_bundle = paths.pattern_start[of_case as usize];
        let began = source.log.times.start.get(number as usize).copied().unwrap_or(SimTime::NEVER);
        let state = source.state_at(began);
        let ended = source.has_ended(number);
        let end = if ended { source.log.times.end.get(number as usize).copied() } else { None };
        for bundle in &place.bundles {
            let group = bundle.group as usize;
            let channel = if place.is_pairs() { 0 } else { paths.channel[bundle.row as usize] };
            for edge in bundle.edges.start as usize..bundle.edges.end as usize {
                let messages = place.messages_of(edge);
                let first = place.first_row as usize + messages.start;
                let at = (number, of_case, bundle.row - first_bundle, paths.edge[first]);
                let (from, to) = (paths.source[first].0, paths.target[first].0);
                let Some(sender) = source.at_host(number, from) else { continue };
                let target_start = source.at_host(number, to).map_or(SimTime::NEVER, |one| one.start);
                let arrived = arrivals(source, at);
                let sends = source.sends_of(at);
                let slowest = sends.iter().map(|one| one.busy_ps / 1_000).max().unwrap_or_default();
                let stages = bundle.stages;
                let stage_ns = slowest as f64 / arrived.stages.len().max(1) as f64;
                let last = arrived.stages.last().map_or(0, |&at| ns(at));
                let receive = last.saturating_sub(ns(target_start)).saturating_sub(slowest);
                let first_wait = first_wait(&arrived.stages, ns(target_start), stage_ns, stages);
                for (queue_pair, message) in (0..).zip(messages) {
                    let sent = sends.iter().filter(|one| one.queue_pair == queue_pair);
                    let (mut count, mut bytes, mut busy, mut until) = (0_u32, 0, 0, SimTime::ZERO);
                    for one in sent {
                        count += one.messages;
                        bytes += one.bytes;
                        busy += one.busy_ps / 1_000;
                        until = until.max(one.last);
                    }
                    let flow = source.flows[state][pattern.index()][message];
                    let inside = ns(until).saturating_sub(ns(sender.start));
                    let data = inside.saturating_sub(busy).saturating_sub(arrived.credit_ns);
                    // Of an operation that never ends the stages count that got through; waits go on.
                    let (done, waits) = if ended {
                        (stages, [data, arrived.credit_ns, receive])
                    } else {
                        ((arrived.stages.len() as u32).min(stages), [0; 3])
                    };
                    rows.push(
                        place.communicator[group],
                        numbers[group],
                        channel,
                        flow,
                        0,
                        done,
                        count,
                        bytes,
                        busy,
                        waits[0],
                        waits[1],
                        waits[2],
                        if ended { first_wait } else { done },
                    );
                    known_ns.push(known(end.map(|end| ns(end.max(until)))));
                }
            }
        }
    }
    for row in order(known_ns) {
        copy(&rows, row..row + 1, out);
    }
}

/// Copies rows.
pub(super) fn copy(from: &MessageColumns, rows: Range<usize>, out: &mut MessageColumns) {
    rows.for_each(|row| out.push_row(from, row));
}

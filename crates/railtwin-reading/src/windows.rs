//! One big batch as a stream of windows in order of time, as a controller received it or would have received it.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_records::{Batch, NOT_YET, Observation};

/// Most windows that a batch is cut into.
const WINDOWS: usize = 512;

/// Which table a row is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    Operations,
    Messages,
    Counters,
    Probes,
}

/// Cuts a batch at the looks of its observation: each window has what was told between two of them, and where nothing was
/// it has none, so that the time goes on to the end of observation.
///
/// Gives also the table that had ended at the first look that is left out, where one had: from there on the records are
/// not whole.
pub fn looks(batch: &Batch, observation: &Observation) -> (Vec<Batch>, Option<usize>) {
    const TABLES: [Of; 4] = [Of::Operations, Of::Messages, Of::Counters, Of::Probes];
    let mut cut = Vec::with_capacity(observation.looks.len());
    let mut known = [0_u64; 4];
    for look in &observation.looks {
        let mut events = Vec::new();
        for (table, of) in TABLES.into_iter().enumerate() {
            let Some(until) = look.rows[table] else { return (cut, Some(table)) };
            events.extend((known[table]..until).map(|row| (look.until_ns, of, row as usize)));
            known[table] = until;
        }
        cut.push(window(batch, &events, look.until_ns));
    }
    (cut, None)
}

/// Cuts a batch so that each window has about as many rows, and rows of one time stay together. An operation comes when
/// it has ended, or, without an end, when it was entered; messages come with the end of their operation; counters and
/// probes at their own time.
pub fn windows(batch: &Batch, ranks: usize) -> Vec<Batch> {
    let (operations, messages) = (&batch.operations, &batch.messages);
    let mut events: Vec<(u64, Of, usize)> = Vec::new();
    let mut ends: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for row in 0..operations.len() {
        let end = operations.end_ns[row];
        let seen = if end == NOT_YET { operations.enter_ns[row] } else { end };
        events.push((seen, Of::Operations, row));
        if !messages.is_empty() {
            let last = ends.entry((operations.communicator[row], operations.sequence[row])).or_default();
            *last = seen.max(*last);
        }
    }
    for row in 0..messages.len() {
        let end = ends.get(&(messages.communicator[row], messages.sequence[row]));
        events.push((end.copied().unwrap_or(batch.until_ns), Of::Messages, row));
    }
    events.extend((0..batch.counters.len()).map(|row| (batch.counters.time_ns[row], Of::Counters, row)));
    events.extend((0..batch.probes.len()).map(|row| (batch.probes.time_ns[row], Of::Probes, row)));
    events.sort_unstable();
    if operations.is_empty() && messages.is_empty() && probes_are_none(batch) {
        return rounds(batch, &events);
    }
    let rows = (events.len() / WINDOWS).max(2 * ranks).max(1);
    let mut cut = Vec::new();
    let mut rest = &events[..];
    while !rest.is_empty() {
        let least = rows.min(rest.len());
        let time = rest[least - 1].0;
        let (now, later) = rest.split_at(rest.partition_point(|event| event.0 <= time));
        cut.push(window(batch, now, time));
        rest = later;
    }
    cut
}

const fn probes_are_none(batch: &Batch) -> bool {
    batch.probes.time_ns.is_empty()
}

/// Longest time in nanoseconds from the first to the last reading of one round: counters are read every ten seconds or
/// so, and files of one round have times that differ by how long it takes to write them.
const ROUND_NS: u64 = 10_000_000_000;

/// Cuts readings of counters into rounds, in each of which a counter of an entity stands once: peers are compared only when
/// all of them were read.
fn rounds(batch: &Batch, events: &[(u64, Of, usize)]) -> Vec<Batch> {
    let counters = &batch.counters;
    let mut cut = Vec::new();
    let (mut from, mut seen) = (0, BTreeSet::new());
    for (at, &(time_ns, _, row)) in events.iter().enumerate() {
        let key = (counters.entity[row], counters.counter[row]);
        let is_same_time = at > from && events[at - 1].0 == time_ns;
        let is_over = seen.contains(&key) || time_ns.saturating_sub(events[from].0) > ROUND_NS;
        if is_over && !is_same_time && at > from {
            cut.push(window(batch, &events[from..at], events[at - 1].0));
            from = at;
            seen.clear();
        }
        seen.insert(key);
    }
    if let Some(last) = events.last() {
        cut.push(window(batch, &events[from..], last.0));
    }
    cut
}

fn window(batch: &Batch, events: &[(u64, Of, usize)], until_ns: u64) -> Batch {
    let mut part = Batch { until_ns, ..Batch::default() };
    for &(_, of, row) in events {
        match of {
            Of::Operations => part.operations.push_row(&batch.operations, row),
            Of::Messages => part.messages.push_row(&batch.messages, row),
            Of::Counters => part.counters.push_row(&batch.counters, row),
            Of::Probes => part.probes.push_row(&batch.probes, row),
        }
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_records::Counter;

    #[test]
    fn every_row_comes_once_in_order_of_its_end() {
        let mut batch = Batch::default();
        for number in 0..100_u64 {
            batch.operations.push(
                0,
                (number % 4) as u32,
                (number / 4) as u32,
                0,
                number * 10,
                number * 10 + 500,
            );
        }
        batch.operations.push(0, 0, 25, 0, 700, NOT_YET);
        batch.counters.push(300, 0, Counter::Drops, 1.0);
        batch.messages.push(0, 2, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 1);
        batch.until_ns = 2_000;
        let parts = windows(&batch, 4);
        assert!(parts.len() > 5, "{}", parts.len());
        assert_eq!(parts.iter().map(|part| part.operations.len()).sum::<usize>(), 101);
        assert_eq!(parts.iter().map(|part| part.counters.len()).sum::<usize>(), 1);
        assert!(parts.windows(2).all(|two| two[0].until_ns < two[1].until_ns));
        for part in &parts {
            let ends = part.operations.end_ns.iter().filter(|end| **end != NOT_YET);
            assert!(ends.clone().all(|end| *end <= part.until_ns));
        }
        // Operation 2 of the communicator ends at 110 + 500.
        let with = parts.iter().find(|part| !part.messages.is_empty()).expect("the message is there");
        assert!(with.operations.end_ns.contains(&610));
    }

    #[test]
    fn readings_of_one_round_stand_together() {
        let mut batch = Batch::default();
        for round in 1..=3_u64 {
            for entity in 0..5_u32 {
                batch.counters.push(round * 60_000_000_000 + u64::from(entity), entity, Counter::Drops, 1.0);
            }
        }
        let parts: Vec<usize> = windows(&batch, 0).iter().map(|part| part.counters.len()).collect();
        assert_eq!(parts, [5, 5, 5]);
    }

    #[test]
    fn looks_give_what_was_told_between_them_and_go_on_when_nothing_is() {
        let mut batch = Batch::default();
        let mut observation = Observation::from(10);
        batch.operations.push(0, 0, 0, 0, 500, 900);
        observation.look(100, &batch, [false; 4]);
        batch.operations.push(0, 0, 1, 0, 700, NOT_YET);
        batch.counters.push(1, 0, Counter::Drops, 1.0);
        observation.look(200, &batch, [false; 4]);
        observation.look(90_000, &batch, [false; 4]);
        let rows = |parts: &[Batch]| -> Vec<(u64, usize, usize)> {
            parts.iter().map(|part| (part.until_ns, part.operations.len(), part.counters.len())).collect()
        };
        let (parts, ended) = looks(&batch, &observation);
        assert_eq!((rows(&parts), ended), (vec![(10, 0, 0), (100, 1, 0), (200, 1, 1), (90_000, 0, 0)], None));
        observation.look(90_001, &batch, [false, false, true, false]);
        let (parts, ended) = looks(&batch, &observation);
        assert_eq!((parts.len(), ended), (4, Some(2)), "what is not whole is not judged");
    }
}

//! Operations of the dumps of a Flight Recorder.

use std::collections::{BTreeMap, BTreeSet};

use railtwin_records::{NOT_YET, OperationShape};

use super::builder::Builder;
use super::flight_entry::{FlightEntry, FlightState};
use super::flight_recorder::FlightRecorderDump;
use super::names::axis;
use super::{Telemetry, Times, notes_on_repeats};

/// Makes operations of the dumps of all ranks of a job, per process group.
///
/// An operation begins when the process put it on its stream and ends when the watchdog saw that it had ended, or
/// after its duration where one is told: good to tell who is where in a hang and who comes late by far, not for
/// kernel times ([`Times::Observed`]). An operation that is scheduled or started has no end. Where a rank's recorder
/// saw starts at all, what is scheduled there has not begun and is left out: the rank has not entered it.
pub fn telemetry_of_flight_recorder(job: &str, dumps: &[FlightRecorderDump]) -> Telemetry {
    let mut builder = Builder::default();
    let mut notes = notes_on_repeats(dumps.iter().map(|dump| dump.rank));
    let job = builder.job(job);
    let mut ranks_of: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for dump in dumps {
        builder.rank(job, dump.rank, None, None);
        let used: BTreeSet<usize> = dump.entries.iter().map(|entry| entry.group).collect();
        for group in used {
            ranks_of.entry(&dump.groups[group].name).or_default().insert(dump.rank);
        }
    }
    // Communicators by name and ranks, each looked for once: dumps of all ranks tell the same groups.
    let mut rows: BTreeMap<(&str, &[u32]), u32> = BTreeMap::new();
    let mut left_out = LeftOut::default();
    for dump in dumps {
        let rank = builder.rank(job, dump.rank, None, None);
        let mut row_of: BTreeMap<usize, u32> = BTreeMap::new();
        for ((group, sequence), (shape, enter, end)) in joined(dump, &mut left_out) {
            let row = *row_of.entry(group).or_insert_with(|| {
                let group = &dump.groups[group];
                *rows.entry((&group.name, &group.ranks)).or_insert_with(|| {
                    let seen = ranks_of.get(group.name.as_str());
                    let members: Vec<u32> = match group.ranks.is_empty() {
                        true => seen.into_iter().flatten().copied().collect(),
                        false => group.ranks.clone(),
                    };
                    let members: Vec<u32> =
                        members.iter().map(|&rank| builder.rank(job, rank, None, None)).collect();
                    builder.communicator(job, &group.name, &axis(&group.description), &members)
                })
            });
            builder.operation(row, rank, sequence, shape, (enter, end));
        }
    }
    notes.extend(left_out.notes());
    let (directory, batch) = builder.finish();
    let (told, seen) = (directory.ranks.len(), dumps.len());
    if seen < told {
        notes.push(format!("dumps of {seen} of {told} ranks were given: nothing is known of the others"));
    }
    Telemetry { directory, batch, times: Times::Observed, notes: super::texts(notes), ..Telemetry::default() }
}

/// Entries that are no operations, by reason.
#[derive(Default)]
struct LeftOut {
    point_to_point: u64,
    waiting: u64,
    too_large: u64,
}

impl LeftOut {
    fn notes(&self) -> Vec<String> {
        let Self { point_to_point, waiting, too_large } = self;
        let mut notes = Vec::new();
        if *point_to_point > 0 {
            let why = "sender and receiver number them apart";
            notes.push(format!(
                "{point_to_point} point-to-point entries are not in the table of operations: {why}"
            ));
        }
        if *waiting > 0 {
            notes.push(format!("{waiting} scheduled entries left out: their ranks had not begun them"));
        }
        if *too_large > 0 {
            notes.push(format!("{too_large} entries skipped: their number is 2^32 or more"));
        }
        notes
    }
}

/// Shape, enter and end of the operations of a dump, by group and number: those that were coalesced share a number and are
/// one.
fn joined(
    dump: &FlightRecorderDump,
    left_out: &mut LeftOut,
) -> BTreeMap<(usize, u32), (OperationShape, u64, u64)> {
    let sees_starts = dump.entries.iter().any(|entry| entry.started_ns.is_some());
    let mut joined: BTreeMap<(usize, u32), (OperationShape, u64, u64)> = BTreeMap::new();
    for entry in &dump.entries {
        if entry.point_to_point {
            left_out.point_to_point += 1;
            continue;
        }
        if entry.state == FlightState::Scheduled && sees_starts {
            left_out.waiting += 1;
            continue;
        }
        let Ok(sequence) = u32::try_from(entry.sequence) else {
            left_out.too_large += 1;
            continue;
        };
        let end = entry.end_ns();
        let shape = OperationShape {
            kind: entry.kind.clone(),
            algorithm: String::new(),
            data_type: entry.data_type.clone(),
            bytes: 0,
        };
        let slot = joined.entry((entry.group, sequence)).or_insert((shape, entry.enter_ns(), end));
        slot.0.bytes = slot.0.bytes.saturating_add(entry.bytes);
        slot.1 = slot.1.min(entry.enter_ns());
        slot.2 = slot.2.max(end);
    }
    joined
}

impl FlightEntry {
    fn enter_ns(&self) -> u64 {
        match (self.state, self.duration_ns, self.completed_ns) {
            // The duration is exact, the times are not: keep it, and the time at which the process came.
            (FlightState::Completed, Some(_), _) => self.created_ns,
            _ => self.started_ns.map_or(self.created_ns, |started| started.min(self.created_ns)),
        }
    }

    fn end_ns(&self) -> u64 {
        if self.state != FlightState::Completed {
            return NOT_YET;
        }
        match (self.duration_ns, self.completed_ns) {
            (Some(duration), _) => self.created_ns.saturating_add(duration),
            (None, Some(completed)) => completed.max(self.created_ns),
            (None, None) => self.created_ns,
        }
    }
}

//! Dumps of a Flight Recorder as what the detector of hangs reads.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::hang::dumps::{DumpedGroup, DumpedOperation, Dumps, RankDump, Work};
use railtwin_formats::telemetry::{FlightEntry, FlightRecorderDump, FlightState};

/// Collectives that nobody ends before all have begun them, by their kinds in records.
const WHOLE: [&str; 4] = ["all-reduce", "all-gather", "reduce-scatter", "barrier"];

/// All dumps of a job. `unsure` are ranks of whose dump the last part is wrong, `empty` those whose dump is an empty file.
pub fn dumps_of(files: &[FlightRecorderDump], unsure: &BTreeSet<u32>, empty: &BTreeSet<u32>) -> Dumps {
    let mut dumps = Dumps { unsure: unsure.clone(), empty: empty.clone(), ..Dumps::default() };
    // Ranks of a group that some dump leaves open: all who have it.
    let mut seen: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for file in files {
        for group in &file.groups {
            let of = seen.entry(&group.name).or_default();
            of.insert(file.rank);
            of.extend(&group.ranks);
        }
    }
    let mut rows: BTreeMap<(&str, Vec<u32>), usize> = BTreeMap::new();
    for file in files {
        let mut row_of = Vec::new();
        for group in &file.groups {
            let told = if group.ranks.is_empty() {
                seen.get(group.name.as_str()).into_iter().flatten().copied().collect()
            } else {
                group.ranks.clone()
            };
            let next = dumps.groups.len();
            let row = *rows.entry((&group.name, told.clone())).or_insert(next);
            if row == next {
                let (name, description) = (group.name.clone(), group.description.clone());
                dumps.groups.push(DumpedGroup { name, description, ranks: told });
            }
            row_of.push(row);
        }
        let rank = dump_of(file, &row_of, &dumps.groups);
        dumps.dumps.push(rank);
    }
    dumps
}

fn dump_of(file: &FlightRecorderDump, row_of: &[usize], groups: &[DumpedGroup]) -> RankDump {
    let sees_starts =
        file.entries.iter().any(|one| one.started_ns.is_some() || one.state == FlightState::Started);
    let mut dump = RankDump { rank: file.rank, ..RankDump::default() };
    for status in &file.status {
        dump.status.insert(row_of[status.group], (status.enqueued, status.completed));
    }
    // Sends and receives of one batch share a number, and only the batch has a state.
    let mut batches: BTreeMap<(usize, u64), Vec<&FlightEntry>> = BTreeMap::new();
    let mut others: Vec<&FlightEntry> = Vec::new();
    for entry in &file.entries {
        match (entry.point_to_point && !entry.coalesced).then_some(entry.sequence) {
            Some(number) => batches.entry((entry.group, number)).or_default().push(entry),
            None => others.push(entry),
        }
    }
    let mut of_batch: BTreeMap<(usize, u64), &FlightEntry> = BTreeMap::new();
    let mut of_number: BTreeMap<(usize, u64), &FlightEntry> = BTreeMap::new();
    for entry in others.iter().filter(|entry| entry.coalesced) {
        match entry.batch.filter(|number| batches.contains_key(&(entry.group, *number))) {
            Some(number) => of_batch.insert((entry.group, number), *entry),
            None => of_number.insert((entry.group, entry.sequence), *entry),
        };
    }
    let made = |entry: &FlightEntry, stated: &FlightEntry, work: Work| {
        let started = match stated.state {
            FlightState::Started | FlightState::Completed => Some(true),
            FlightState::Scheduled => sees_starts.then_some(false),
        };
        let last = [Some(entry.created_ns), stated.started_ns, stated.completed_ns];
        DumpedOperation {
            group: row_of[entry.group],
            sequence: entry.sequence,
            record: entry.record,
            work,
            name: entry.kind.clone(),
            started,
            completed: stated.state == FlightState::Completed,
            given_up: stated.retired,
            created_ns: entry.created_ns,
            last_ns: last.into_iter().flatten().max().unwrap_or(0),
            timeout_ns: stated.timeout_ms.map(|ms| ms.saturating_mul(1_000_000)),
            frame: entry.frame.clone(),
        }
    };
    for ((group, number), entries) in &batches {
        let ranks = &groups[row_of[*group]].ranks;
        let peer = |entry: &&FlightEntry| {
            let peer = entry.peer?;
            Some((*ranks.get(peer.other as usize)?, peer.sends))
        };
        let peers: BTreeSet<(u32, bool)> = entries.iter().filter_map(peer).collect();
        let Some(&first) = entries.iter().min_by_key(|entry| entry.record) else { continue };
        let stated = of_batch.get(&(*group, *number)).copied();
        let mut operation = made(first, stated.unwrap_or(first), Work::Peers(peers));
        // Of a batch that has ended no record may be left but those of its parts, which never change.
        let ended =
            file.status.iter().find(|status| status.group == *group).and_then(|status| status.completed);
        operation.completed |=
            entries.len() > 1 && stated.is_none() && ended.is_some_and(|ended| ended >= *number);
        dump.operations.push(operation);
    }
    let parts: BTreeSet<(usize, u64)> =
        others.iter().filter(|entry| !entry.coalesced).map(|entry| (entry.group, entry.sequence)).collect();
    for entry in others {
        let key = (entry.group, entry.sequence);
        let is_batch = entry.coalesced
            && (parts.contains(&key)
                || entry.batch.is_some_and(|number| of_batch.contains_key(&(entry.group, number))));
        if is_batch {
            continue;
        }
        let whole = WHOLE.contains(&entry.kind.as_str());
        let stated = of_number.get(&key).copied().unwrap_or(entry);
        dump.operations.push(made(entry, stated, if whole { Work::Whole } else { Work::Partial }));
    }
    dump
}

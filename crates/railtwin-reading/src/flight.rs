//! Dumps of a Flight Recorder as what the detector of hangs reads.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::hang::dumps::{DumpedGroup, DumpedOperation, Dumps, RankDump, Work};
use railtwin_formats::telemetry::{
    ClusterLog, FlightEntry, FlightRecorderDump, FlightState, WatchdogTimeout,
};

/// Collectives that nobody ends before all have begun them, by their kinds in records.
pub(super) const WHOLE: [&str; 4] = ["all-reduce", "all-gather", "reduce-scatter", "barrier"];

/// Collectives of which the larger side, input or output, is of as many bytes at all ranks, however uneven their parts are.
/// A root that gathers or scatters has more than the others, and of an all-to-all each rank has its own.
pub(super) const SAME_SIZE: [&str; 5] = ["all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce"];

/// What PyTorch calls the group of all ranks.
const WORLD: &str = "default_pg";
/// Ranks of a job at most, where they are counted by the largest that a file name tells.
pub(super) const RANKS_MOST: u32 = 1 << 20;

/// Kinds of collectives that logs and dumps name alike.
pub(super) const NAMED: [&str; 9] = [
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "barrier",
    "all-to-all",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
];

/// All dumps of a job. `unsure` are ranks of whose dump the last part is wrong, `empty` those whose dump is an empty file.
pub fn dumps_of(files: &[FlightRecorderDump], unsure: &BTreeSet<u32>, empty: &BTreeSet<u32>) -> Dumps {
    let mut dumps = Dumps { unsure: unsure.clone(), empty: empty.clone(), ..Dumps::default() };
    // Ranks of a group that some dump leaves open: all who have it.
    let mut seen: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    // Dumps of all ranks tell the same groups.
    let mut told: BTreeSet<(&str, &[u32])> = BTreeSet::new();
    for file in files {
        for group in &file.groups {
            let of = seen.entry(&group.name).or_default();
            of.insert(file.rank);
            if told.insert((&group.name, &group.ranks)) {
                of.extend(&group.ranks);
            }
        }
    }
    // The group of all has all ranks up to the last one of which there is anything.
    let ranks = files.iter().flat_map(|file| {
        let told = file.groups.iter().flat_map(|group| group.ranks.iter().copied());
        told.chain([file.rank])
    });
    let last = ranks.chain(unsure.iter().copied()).chain(empty.iter().copied()).max();
    let mut rows: BTreeMap<(&str, Vec<u32>), usize> = BTreeMap::new();
    for file in files {
        let mut row_of = Vec::new();
        for group in &file.groups {
            let is_world = group.description == WORLD && last.is_some_and(|last| last < RANKS_MOST);
            let told = if group.ranks.is_empty() && is_world {
                (0..=last.unwrap_or(0)).collect()
            } else if group.ranks.is_empty() {
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
        let (rank, is_unsure) = dump_of(file, &row_of, &dumps.groups);
        dumps.unsure.extend(is_unsure.then_some(rank.rank));
        dumps.dumps.push(rank);
    }
    dumps
}

/// What of the logs of watchdogs shows that the job of these dumps stood still: a timeout of an operation that is open in
/// them. Where there are timeouts and none is, the words for a reader: a log may be of another run.
pub fn timed_out(dumps: &Dumps, logs: &[(String, ClusterLog)]) -> (Option<String>, Option<String>) {
    let mut all =
        logs.iter().flat_map(|(file, log)| log.timeouts.iter().map(move |one| (file, one))).peekable();
    if all.peek().is_none() {
        return (None, None);
    }
    match all.find(|(_, timeout)| is_open(dumps, timeout)) {
        Some((file, timeout)) => (Some(format!("{} ({file}:{})", timeout.words(), timeout.line)), None),
        None => {
            let count = logs.iter().map(|(_, log)| log.timeouts.len()).sum::<usize>();
            let note = format!(
                "the watchdog's log tells {count} timeouts, none of an operation that is open in the dumps: it may be of \
                 another run, and does not show that this job stood still"
            );
            (None, Some(note))
        }
    }
}

/// A note on dumps whose content leaves several ranks, so that their names decided.
pub(super) fn by_name_note(dumps: &[FlightRecorderDump]) -> Option<String> {
    let count = dumps.iter().filter(|dump| dump.by_name && !dump.groups.is_empty()).count();
    let (word, verb) = if count == 1 { ("dump", "is") } else { ("dumps", "are") };
    (count > 0).then(|| {
        format!(
            "{count} {word} {verb} placed by their file names: several ranks are in all of their process groups"
        )
    })
}

/// A note on ranks whose dumps do not show their last operations: how far they have come is not known.
pub(super) fn unsure_note(unsure: &BTreeSet<u32>) -> Option<String> {
    let names: Vec<String> = unsure.iter().take(8).map(u32::to_string).collect();
    let more = if unsure.len() > names.len() { ", …" } else { "" };
    (!unsure.is_empty()).then(|| {
        format!(
            "what ranks {}{more} did last could not be read in their dumps: nothing is said of them, give these dumps anew",
            names.join(", ")
        )
    })
}

/// Whether an operation is open of which a line says that it ran out of its time: at the rank that says so, if there is a
/// dump of it that can be relied on.
fn is_open(dumps: &Dumps, timeout: &WatchdogTimeout) -> bool {
    let relied = |dump: &&RankDump| !dumps.unsure.contains(&dump.rank);
    let of_rank = |dump: &&RankDump| timeout.rank == Some(dump.rank);
    let has_own = dumps.dumps.iter().filter(relied).any(|dump| of_rank(&dump));
    let dumps = dumps.dumps.iter().filter(|dump| !has_own || of_rank(dump));
    let is_it = |one: &DumpedOperation| {
        // Batches go by another name in the log.
        let collective = !matches!(one.work, Work::Peers(_)) && NAMED.contains(&timeout.kind.as_str());
        !one.completed
            && timeout.sequence.is_none_or(|number| number == one.sequence)
            && (!collective || timeout.kind == one.name)
    };
    dumps.flat_map(|dump| &dump.operations).any(is_it)
}

/// What a rank recorded, and whether nothing can be relied on that it says: something is open in it of which is not told what.
fn dump_of(file: &FlightRecorderDump, row_of: &[usize], groups: &[DumpedGroup]) -> (RankDump, bool) {
    let status = file.status.iter();
    let mut dump = RankDump {
        rank: file.rank,
        is_whole: file.is_whole,
        counts_all: file.counts_all,
        of_gloo: file.of_gloo,
        status: status.map(|one| (row_of[one.group], (one.enqueued, one.completed))).collect(),
        ..RankDump::default()
    };
    let entries = SortedEntries::of(file);
    let (peers, unsure_peers) = entries.of_peers(file, row_of, groups);
    let (collectives, unsure_collectives) = entries.of_collectives(row_of);
    dump.operations = peers;
    dump.operations.extend(collectives);
    (dump, unsure_peers || unsure_collectives)
}

/// Entries of a dump by group and number of their operation.
type ByNumber<T> = BTreeMap<(usize, u64), T>;

/// Entries of a dump: sends and receives with their batches, and all others.
struct SortedEntries<'a> {
    /// Whether the rank's recorder sees operations begin.
    sees_starts: bool,
    /// Sends and receives: those of one batch share a number, and only the batch has a state.
    batches: ByNumber<Vec<&'a FlightEntry>>,
    others: Vec<&'a FlightEntry>,
    /// The entry that stands for a batch of sends and receives.
    of_batch: ByNumber<&'a FlightEntry>,
    /// That of a batch of collectives.
    of_number: ByNumber<&'a FlightEntry>,
}

impl<'a> SortedEntries<'a> {
    fn of(file: &'a FlightRecorderDump) -> Self {
        let sees_starts =
            file.entries.iter().any(|one| one.started_ns.is_some() || one.state == FlightState::Started);
        let mut batches: ByNumber<Vec<&FlightEntry>> = BTreeMap::new();
        let mut others: Vec<&FlightEntry> = Vec::new();
        for entry in &file.entries {
            match (entry.point_to_point && !entry.coalesced).then_some(entry.sequence) {
                Some(number) => batches.entry((entry.group, number)).or_default().push(entry),
                None => others.push(entry),
            }
        }
        let (mut of_batch, mut of_number) = (BTreeMap::new(), BTreeMap::new());
        for entry in others.iter().filter(|entry| entry.coalesced) {
            match entry.batch.filter(|number| batches.contains_key(&(entry.group, *number))) {
                Some(number) => of_batch.insert((entry.group, number), *entry),
                None => of_number.insert((entry.group, entry.sequence), *entry),
            };
        }
        Self { sees_starts, batches, others, of_batch, of_number }
    }

    /// Batches of sends and receives, and whether one is open of which is not told with whom.
    fn of_peers(
        &self,
        file: &FlightRecorderDump,
        row_of: &[usize],
        groups: &[DumpedGroup],
    ) -> (Vec<DumpedOperation>, bool) {
        let (mut operations, mut is_unsure) = (Vec::new(), false);
        for ((group, number), entries) in &self.batches {
            let ranks = &groups[row_of[*group]].ranks;
            let peer = |entry: &&FlightEntry| {
                let peer = entry.peer?;
                Some((*ranks.get(peer.other as usize)?, peer.sends))
            };
            let peers: BTreeSet<(u32, bool)> = entries.iter().filter_map(peer).collect();
            let is_told = entries.iter().all(|entry| peer(entry).is_some());
            let Some(&first) = entries.iter().min_by_key(|entry| entry.record) else { continue };
            let stated = self.of_batch.get(&(*group, *number)).copied();
            let mut operation =
                self.operation(first, stated.unwrap_or(first), Work::Peers(peers), row_of[*group]);
            // Of a batch that has ended no record may be left but those of its parts, which never change.
            let ended =
                file.status.iter().find(|status| status.group == *group).and_then(|status| status.completed);
            operation.completed |=
                entries.len() > 1 && stated.is_none() && ended.is_some_and(|ended| ended >= *number);
            is_unsure |= !is_told && !operation.completed;
            operations.push(operation);
        }
        (operations, is_unsure)
    }

    /// Collectives, and whether a batch is open of which is not told what.
    fn of_collectives(&self, row_of: &[usize]) -> (Vec<DumpedOperation>, bool) {
        let (mut operations, mut is_unsure) = (Vec::new(), false);
        let single = self.others.iter().filter(|entry| !entry.coalesced);
        let parts: BTreeSet<(usize, u64)> = single.map(|entry| (entry.group, entry.sequence)).collect();
        for &entry in &self.others {
            let key = (entry.group, entry.sequence);
            let is_batch = entry.coalesced
                && (parts.contains(&key)
                    || entry.batch.is_some_and(|number| self.of_batch.contains_key(&(entry.group, number))));
            if is_batch {
                continue;
            }
            // Nothing is left of its parts: it has a number of collectives and may be a batch of sends and receives.
            if entry.coalesced {
                is_unsure |= entry.state != FlightState::Completed;
                continue;
            }
            // NCCL returns at once from a call without elements.
            let whole = WHOLE.contains(&entry.kind.as_str()) && (!entry.empty || entry.kind == "barrier");
            let work = if whole { Work::Whole } else { Work::Partial };
            let stated = self.of_number.get(&key).copied().unwrap_or(entry);
            operations.push(self.operation(entry, stated, work, row_of[entry.group]));
        }
        (operations, is_unsure)
    }

    /// The operation of an entry, with the state that `stated` has.
    fn operation(
        &self,
        entry: &FlightEntry,
        stated: &FlightEntry,
        work: Work,
        group: usize,
    ) -> DumpedOperation {
        let started = match stated.state {
            FlightState::Started | FlightState::Completed => Some(true),
            FlightState::Scheduled => self.sees_starts.then_some(false),
        };
        let last = [Some(entry.created_ns), stated.started_ns, stated.completed_ns];
        DumpedOperation {
            group,
            sequence: entry.sequence,
            record: entry.record,
            work,
            name: entry.kind.clone(),
            call: Some(match SAME_SIZE.contains(&entry.kind.as_str()) {
                true => format!("{} of {} B {}", entry.kind, entry.bytes, entry.data_type),
                false => entry.kind.clone(),
            }),
            started,
            completed: stated.state == FlightState::Completed,
            given_up: stated.retired,
            created_ns: entry.created_ns,
            last_ns: last.into_iter().flatten().max().unwrap_or(0),
            timeout_ns: stated.timeout_ms.map(|ms| ms.saturating_mul(1_000_000)),
            frame: entry.frame.clone(),
        }
    }
}

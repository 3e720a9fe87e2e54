//! PyTorch Flight Recorder: the last operations of one rank's process groups, as JSON or as a pickle of plain data.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::flight_entry::FlightEntry;
use super::input;
use super::json::{Node, Place, Step, syntax};
use super::names::ranks_of_path;
use super::pickle::{Pickle, is_pickle, runs_something};
use super::skipped::Skipped;
use super::tree::{Tree, each_item, skim};
use crate::error::FormatError;

/// Name of this format in errors.
const FORMAT: &str = "PyTorch Flight Recorder";
/// The list of its operations.
const ENTRIES: &str = "entries";

/// The dump of one rank.
#[derive(Clone, Debug, PartialEq)]
pub struct FlightRecorderDump {
    /// Rank, from the content or the file name.
    pub rank: u32,
    /// Whether the file name decided which rank it is.
    pub by_name: bool,
    /// Version of the dump, such as `2.4`.
    pub version: String,
    /// Process groups in the order of the file.
    pub groups: Vec<FlightGroup>,
    /// Entries in the order of the file: the oldest first.
    pub entries: Vec<FlightEntry>,
    /// How far the process says that it has come in its groups.
    pub status: Vec<FlightStatus>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// Groups and entries that are wrong.
    pub skipped: Skipped,
    /// Whether what is wrong may be the last that the rank did in one of its groups: then nobody can tell from the dump
    /// how far the rank has come. So it is where something is open in a group that nothing tells.
    pub unsure: bool,
    /// Whether all that the rank did since its first operation is there.
    pub is_whole: bool,
    /// Whether [`Self::status`] has all groups in which the rank ever did something.
    pub counts_all: bool,
    /// Whether Gloo wrote it, whose operations count as ended when they failed, and whose sends and receives are not told.
    pub of_gloo: bool,
}

/// A process group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlightGroup {
    /// Its name.
    pub name: String,
    /// What the job says that it is for.
    pub description: String,
    /// Its ranks, numbered in the job; empty where they are not told.
    pub ranks: Vec<u32>,
}

/// How far a rank has come in one group, by its own count: of collectives, or of sends and receives where it has those.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlightStatus {
    /// Row of its group.
    pub group: usize,
    /// Number of the last operation that the process put on its stream.
    pub enqueued: Option<u64>,
    /// Number of the last one that its watchdog saw to have ended.
    pub completed: Option<u64>,
}

/// Whether bytes are the zip file that `torch.save` writes around a pickle.
pub(crate) fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
}

/// The error for a pickle that is no dump.
pub(crate) fn pickle_error(source_name: &str) -> FormatError {
    FormatError::new(
        FORMAT,
        source_name,
        "is a pickle and no dump of a Flight Recorder",
        "give the file that TORCH_NCCL_DEBUG_INFO_TEMP_FILE names, torch._C._distributed_c10d._dump_nccl_trace(), or \
         JSON: torch._C._distributed_c10d._dump_nccl_trace_json()",
    )
}

/// The error for a pickle that does not look like a dump: one that would import or call something is told with the name of
/// what, however small it is.
pub(crate) fn refused_pickle(source_name: &str, bytes: &[u8]) -> FormatError {
    let plain = input::plain(FORMAT, source_name, bytes);
    let runs =
        plain.as_ref().map(|plain| if is_pickle(plain) { runs_something(source_name, plain) } else { None });
    match runs {
        Ok(Some(error)) => error,
        _ => pickle_error(source_name),
    }
}

/// A dump of which the entries, of which there may be many, are read one at a time.
enum Document<'a> {
    Json { source: &'a str, text: Cow<'a, str> },
    Pickle(Box<Pickle<'a>>),
}

impl<'a> Document<'a> {
    /// Reads all but the entries, which are checked.
    fn of(source: &'a str, plain: &'a [u8]) -> Result<Self, FormatError> {
        if is_pickle(plain) {
            return Ok(Self::Pickle(Box::new(Pickle::read(source, plain)?)));
        }
        Ok(Self::Json { source, text: input::lossy(FORMAT, source, plain)? })
    }

    fn head(&self) -> Result<Tree<'_>, FormatError> {
        match self {
            Self::Json { source, text } => skim(text, ENTRIES).map_err(|error| not_json(source, &error)),
            Self::Pickle(pickle) => pickle.head(ENTRIES),
        }
    }

    /// Hands out the entries, one at a time with its number.
    fn each_entry(&self, head: &Tree, take: &mut dyn FnMut(usize, &Tree)) -> Result<(), FormatError> {
        match self {
            Self::Json { source, text } => {
                each_item(text, ENTRIES, head, take).map_err(|error| not_json(source, &error))
            }
            Self::Pickle(pickle) => pickle.each_item(ENTRIES, take),
        }
    }
}

fn not_json(source: &str, error: &serde_json::Error) -> FormatError {
    syntax(FORMAT, source, error.line() as u64, error)
}

impl FlightRecorderDump {
    /// Reads the dump of one rank, JSON or a pickle of plain data, perhaps in gzip. The rank is `rank` where given, else
    /// the file's own `rank`, else the one rank that is in all of its process groups. Where several are, the name of the
    /// file (`…rank_3.json`, `nccl_trace_3`) or of its folder (`rank3/dump.pkl`) decides among them.
    ///
    /// # Errors
    /// What is neither, a pickle that would import or call anything, a version other than 2.x, a rank that nothing tells or
    /// that is told in two ways, a dump of which no entry can be read. An entry with a missing or wrong field is skipped.
    pub fn parse(source_name: &str, bytes: &[u8], rank: Option<u32>) -> Result<Self, FormatError> {
        let plain = input::plain(FORMAT, source_name, bytes)?;
        if is_archive(&plain) {
            return Err(pickle_error(source_name));
        }
        let document = Document::of(source_name, &plain)?;
        let value = document.head()?;
        let place = Place { format: FORMAT, source: source_name, line: None };
        let root = Node::root(place, &value);
        let mut dump = Self::of_head(source_name, &root, rank)?;
        let mut reading = EntryReading::default();
        if let Some(groups) = root.get("pg_config") {
            reading.rows = dump.take_groups(&groups)?;
        }
        let numbers = match root.get(ENTRIES) {
            Some(entries) => {
                entries.items()?;
                document.each_entry(&value, &mut |at, value| {
                    reading.take(&mut dump, &Node::at(place, &[Step::Key(ENTRIES), Step::Item(at)], value));
                })?;
                reading.end(&mut dump)?
            }
            None => {
                dump.notes.push("has no entries: the dump was made without collectives".to_owned());
                BTreeMap::new()
            }
        };
        dump.doubt_strange_groups();
        if let Some(status) = root.get("pg_status") {
            let told = status.members()?;
            let (found, is_open) = dump.statuses(&told, numbers);
            dump.counts_all = found.len() == told.len() && dump.skipped.count() == 0;
            dump.unsure |= is_open;
            dump.status = found;
        }
        Ok(dump)
    }

    /// A dump of which the version and the rank are read, and nothing else yet.
    fn of_head(source_name: &str, root: &Node, rank: Option<u32>) -> Result<Self, FormatError> {
        let version = root.need("version")?;
        let number = version.text_or_number()?;
        if number != "2" && !number.starts_with("2.") {
            return Err(version.error("is a version that is not read", "read is 2.x, such as 2.4 or 2.7"));
        }
        let mut skipped = Skipped::default();
        let told = root.get("rank").and_then(|node| skipped.keep(node.u32()));
        let (rank, by_name) = match rank.or(told) {
            Some(rank) => (rank, false),
            None => rank_of(source_name, root)?,
        };
        Ok(Self {
            rank,
            by_name,
            version: number,
            groups: Vec::new(),
            entries: Vec::new(),
            status: Vec::new(),
            notes: Vec::new(),
            skipped,
            unsure: false,
            is_whole: false,
            counts_all: false,
            of_gloo: false,
        })
    }

    /// Takes the process groups of the head in; gives their rows by name and by key.
    fn take_groups(&mut self, groups: &Node) -> Result<BTreeMap<String, usize>, FormatError> {
        let mut rows = BTreeMap::new();
        for (key, node) in groups.members()? {
            // Without its ranks the group would be another one than that of its peers, who would wait for the rank.
            let Some(group) = self.skipped.keep(group(key, &node)) else {
                self.unsure = true;
                continue;
            };
            // Gloo tells one group without a name, with ranks that are no operation's.
            if group.name.is_empty() {
                continue;
            }
            rows.insert(group.name.clone(), self.groups.len());
            rows.entry(key.to_owned()).or_insert(self.groups.len());
            self.groups.push(group);
        }
        Ok(rows)
    }

    /// Relies on nothing where the rank is not in one of its groups: a process tells only groups that it is in, so a file
    /// with the name of another rank would speak for that one.
    fn doubt_strange_groups(&mut self) {
        let rank = self.rank;
        let strange =
            self.groups.iter().find(|group| !group.ranks.is_empty() && !group.ranks.contains(&rank));
        if let Some(group) = strange {
            let name = &group.name;
            self.notes.push(format!(
                "is said to be of rank {rank}, which is not in its process group {name}: nothing is said of it"
            ));
            self.unsure = true;
        }
    }

    /// The status of each group, and whether one of a group that nothing tells has something open. Its keys are the numbers
    /// that the process gives its groups; which group a number is, entries tell. Where none does, as in a dump without
    /// entries, both are taken in the order in which groups were made, if there are as many of both, names are numbers too,
    /// and no entry says otherwise.
    fn statuses(
        &self,
        told: &[(&str, Node)],
        mut numbers: BTreeMap<String, usize>,
    ) -> (Vec<FlightStatus>, bool) {
        let mut keys: Vec<(u64, &str)> =
            told.iter().filter_map(|(key, _)| Some((key.parse().ok()?, *key))).collect();
        let names = self.groups.iter().enumerate();
        let mut names: Vec<(u64, usize)> =
            names.filter_map(|(row, group)| Some((group.name.parse().ok()?, row))).collect();
        keys.sort_unstable();
        names.sort_unstable();
        if keys.len() == told.len() && names.len() == self.groups.len() && keys.len() == names.len() {
            let both = || keys.iter().zip(&names).map(|((_, key), (_, row))| (*key, *row));
            if both().all(|(key, row)| numbers.get(key).is_none_or(|known| *known == row)) {
                numbers.extend(both().map(|(key, row)| (key.to_owned(), row)));
            }
        }
        let (mut found, mut is_open) = (Vec::new(), false);
        for (key, node) in told {
            // What never was is -1.
            let number = |field: &str| -> Option<Option<u64>> {
                let node = node.get(field)?;
                node.u64().map(Some).ok().or_else(|| (node.f64() == Ok(-1.0)).then_some(None))
            };
            let (enqueued, completed) =
                (number("last_enqueued_collective"), number("last_completed_collective"));
            match numbers.get(*key) {
                Some(&group) if enqueued.is_some() => {
                    let (enqueued, completed) = (enqueued.flatten(), completed.flatten());
                    found.push(FlightStatus { group, enqueued, completed });
                }
                _ => is_open |= enqueued.is_none() || enqueued != completed,
            }
        }
        (found, is_open)
    }

    /// Whether an entry that could not be read, and that stood before entry `at`, may be the last of its group; of any
    /// group where its own is not told either. It is not where a later one has a larger number.
    fn ends_in(&self, at: usize, (group, number): GroupAndNumber) -> bool {
        let of_group = |row: usize, entries: &[FlightEntry]| -> BTreeSet<u64> {
            let of = |entry: &&FlightEntry| entry.group == row && !entry.point_to_point;
            entries.iter().filter(of).map(|entry| entry.sequence).collect()
        };
        let open = |row: usize| {
            let later = of_group(row, &self.entries[at..]);
            match number {
                Some(number) if group.is_some() => later.range(number.saturating_add(1)..).next().is_none(),
                // The number is not told: it may be the next one or, of operations that were coalesced, that of a neighbour.
                _ => {
                    let before = of_group(row, &self.entries[..at]).last().copied();
                    later.iter().filter(|&&later| before.is_none_or(|before| later > before)).count() < 2
                }
            }
        };
        match group {
            Some(row) => open(row),
            None => (0..self.groups.len()).any(open),
        }
    }

    fn entry(&mut self, node: &Node, rows: &mut BTreeMap<String, usize>) -> Result<FlightEntry, FormatError> {
        let (name, description) = match node.get("process_group") {
            Some(pair) => {
                let pair = pair.items()?;
                let part = |at: usize| pair.get(at).map(|node| node.text_or_number()).transpose();
                (part(0)?.unwrap_or_default(), part(1)?.unwrap_or_default())
            }
            None => (node.need("pg_id")?.text_or_number()?, String::new()),
        };
        let group = *rows.entry(name.clone()).or_insert_with(|| {
            self.groups.push(FlightGroup { name, description, ranks: Vec::new() });
            self.groups.len() - 1
        });
        FlightEntry::read(node, group, self.entries.len() as u64, &mut self.of_gloo)
    }
}

/// Row of the group and number of an entry that is wrong, each where it is told.
type GroupAndNumber = (Option<usize>, Option<u64>);

/// Entries of a dump while they are read, one after the other.
#[derive(Default)]
struct EntryReading {
    /// Rows of groups by name, and by key of the head.
    rows: BTreeMap<String, usize>,
    /// Rows of groups by the number that the process gives them.
    numbers: BTreeMap<String, usize>,
    /// Entries that are wrong, each with how many were read before.
    gaps: Vec<(usize, GroupAndNumber)>,
    /// Numbers of all records.
    records: Vec<Option<u64>>,
}

impl EntryReading {
    /// Takes the next entry in.
    fn take(&mut self, dump: &mut FlightRecorderDump, node: &Node) {
        self.records.push(node.get("record_id").and_then(|record| record.u64().ok()));
        let entry = dump.entry(node, &mut self.rows);
        match dump.skipped.keep(entry) {
            Some(entry) => {
                if let Some(Ok(number)) = node.get("pg_id").map(|node| node.text_or_number()) {
                    self.numbers.insert(number, entry.group);
                }
                dump.entries.push(entry);
            }
            // Sends and receives have no common numbers: only that one is open would say something.
            None if node.get("is_p2p").is_some_and(|told| told.bool() == Ok(true)) => {
                dump.unsure |= !node
                    .get("state")
                    .is_some_and(|state| state.text().is_ok_and(|state| state == "completed"));
            }
            None => self.gaps.push((dump.entries.len(), group_and_number(node, &self.rows))),
        }
    }

    /// Says of the dump whether it is whole and whether it can be relied on; gives rows of groups by their numbers.
    fn end(mut self, dump: &mut FlightRecorderDump) -> Result<BTreeMap<String, usize>, FormatError> {
        if let Some(error) = dump.skipped.all().filter(|_| dump.entries.is_empty()) {
            return Err(error);
        }
        dump.unsure |= self.gaps.into_iter().any(|(at, told)| dump.ends_in(at, told));
        // Records are numbered from 0 on; a ring loses the first. A dump without entries may be one of what is open.
        self.records.sort_unstable();
        let is_each =
            !self.records.is_empty() && self.records.iter().zip(0..).all(|(told, at)| *told == Some(at));
        dump.is_whole = is_each && dump.skipped.count() == 0;
        Ok(self.numbers)
    }
}

/// The rank of a dump that does not tell it itself, and whether its name decided.
///
/// A process tells the groups that it is in: a rank that alone is in all of them is its own, whatever the file is called.
/// Where several are, the name of the file or of its folder decides among them.
fn rank_of(source_name: &str, root: &Node) -> Result<(u32, bool), FormatError> {
    let of_path = ranks_of_path(source_name);
    let common = ranks_in_all_groups(root);
    if let Some(rank) = common.first().filter(|_| common.len() == 1) {
        return Ok((*rank, false));
    }
    let named = if common.is_empty() { of_path } else { &of_path & &common };
    let mut ranks = named.iter();
    let remedy = "name the file so that it ends in the rank, such as nccl_trace_rank_3.json, or its folder, as in rank3/dump.pkl";
    match (ranks.next(), ranks.next()) {
        (Some(&rank), None) => Ok((rank, true)),
        (Some(one), Some(other)) => {
            let problem = format!("is of rank {one} and of rank {other} by its name and its folder");
            Err(FormatError::new(FORMAT, source_name, problem, remedy))
        }
        (None, _) => {
            let problem = match common.len() {
                0 => "tells no rank".to_owned(),
                count => format!("tells no rank: {count} ranks are in all of its process groups"),
            };
            Err(FormatError::new(FORMAT, source_name, problem, remedy))
        }
    }
}

/// Ranks that are in all process groups of a dump.
fn ranks_in_all_groups(root: &Node) -> BTreeSet<u32> {
    let mut common: Option<BTreeSet<u32>> = None;
    if let Some(Ok(groups)) = root.get("pg_config").map(|groups| groups.members()) {
        let groups = groups.iter().filter_map(|(key, node)| group(key, node).ok());
        for group in groups.filter(|group| !group.name.is_empty() && !group.ranks.is_empty()) {
            let ranks: BTreeSet<u32> = group.ranks.into_iter().collect();
            common = Some(common.map_or(ranks.clone(), |known| &known & &ranks));
        }
    }
    common.unwrap_or_default()
}

/// One process group of the head of a dump.
fn group(key: &str, node: &Node) -> Result<FlightGroup, FormatError> {
    let text = |field: &str| node.get(field).map(|node| node.text_or_number()).transpose();
    let name = text("name")?.filter(|name| !name.is_empty()).unwrap_or_else(|| key.to_owned());
    let ranks = node.get("ranks").map(|node| node.ranks()).transpose()?.unwrap_or_default();
    Ok(FlightGroup { name, description: text("desc")?.unwrap_or_default(), ranks })
}

/// Group and number of an entry that is wrong, as far as they can be told.
fn group_and_number(node: &Node, rows: &BTreeMap<String, usize>) -> GroupAndNumber {
    let pair = node.get("process_group").and_then(|pair| pair.items().ok());
    let name = match &pair {
        Some(pair) => pair.first().and_then(|name| name.text_or_number().ok()),
        None => node.get("pg_id").and_then(|name| name.text_or_number().ok()),
    };
    let number = ["collective_seq_id", "seq_id"].iter().find_map(|key| node.get(key));
    (name.and_then(|name| rows.get(&name).copied()), number.and_then(|number| number.u64().ok()))
}

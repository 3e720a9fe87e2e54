//! Files of records: lines to records, with what was skipped; and the records of several files in the order of time.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::{Body, Damage, Line, Record, VERSION, line};

/// Damaged lines of a file that are named; all are counted.
const NAMED: usize = 3;

/// Lines of the beginning that tell whether a file holds live records: a header and a damaged line may stand first.
const LOOKED_AT: usize = 4;
/// Bytes of the beginning that are looked at: other formats are one line of hundreds of megabytes.
const HEAD: usize = 64 << 10;

/// Records of a file, of one rank as a rule.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RankFile {
    /// Its records in their order.
    pub records: Vec<Record>,
    /// Newest schema version that its headers tell.
    pub newest: Option<u64>,
    /// Lines of kinds that this version does not know.
    pub unknown: u64,
    /// Lines that are no records.
    pub damaged: u64,
    /// The first of them: their numbers from 1 on, and what is wrong.
    pub first_damaged: Vec<(u64, Damage)>,
}

impl RankFile {
    /// Whether a later version of the schema wrote it; what this reader does not know of it is skipped.
    pub fn is_newer(&self) -> bool {
        self.newest.is_some_and(|version| version > VERSION)
    }
}

/// Whether bytes look like live records: one of the first lines is a record of a kind that is known.
pub fn is_live(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(HEAD)];
    let lines = head.split(|byte| *byte == b'\n').take(LOOKED_AT);
    lines.into_iter().any(|text| matches!(line(text), Ok(Line::Known(..))))
}

/// The rank that the name of a file tells: its last number, `3` for `run-1/r3.jsonl`.
pub fn rank_of_name(name: &str) -> Option<u32> {
    let file = name.rsplit(['/', '\\']).next()?;
    let stem = file.split('.').next()?;
    let end = stem.rfind(|letter: char| letter.is_ascii_digit())? + 1;
    let begin = stem[..end].rfind(|letter: char| !letter.is_ascii_digit()).map_or(0, |at| at + 1);
    stem.get(begin..end)?.parse().ok()
}

/// Reads a file of lines. `rank` is the one that its name tells; a header wins over it.
pub fn read(bytes: &[u8], rank: Option<u32>) -> RankFile {
    read_rows(bytes.split(|byte| *byte == b'\n').map(|text| (None, text)), rank)
}

/// Reads records that stand one by one, such as rows of a table, each with its rank where the row tells one; else as
/// [`read`] does.
pub fn read_rows<'a>(rows: impl Iterator<Item = (Option<u32>, &'a [u8])>, rank: Option<u32>) -> RankFile {
    let mut reader = LineReader::new(rank);
    let records = rows.filter_map(|(of_row, text)| reader.take(of_row, text)).collect();
    let LineReader { newest, unknown, damaged, first_damaged, .. } = reader;
    RankFile { records, newest, unknown, damaged, first_damaged }
}

/// Reads the lines of one file as they come. A reader that is stored and read back goes on where it was.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LineReader {
    rank: Option<u32>,
    clocks: BTreeMap<u32, ToldClock>,
    lines: u64,
    newest: Option<u64>,
    unknown: u64,
    damaged: u64,
    first_damaged: Vec<(u64, Damage)>,
}

/// A clock as a record told it: offset, ns; drift, ns each second; time of the record, ns.
type ToldClock = (i64, i64, u64);

impl LineReader {
    /// A reader of a file whose name tells this rank; a header wins over it.
    pub fn new(rank: Option<u32>) -> Self {
        Self { rank, ..Self::default() }
    }

    /// Lines that are no records.
    pub const fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Takes a line; `of_row` is its rank where it stands in a table that tells one. The record of it, with its time on the
    /// reference clock; none for a line that is damaged, empty or of a kind that is not known.
    pub fn take(&mut self, of_row: Option<u32>, text: &[u8]) -> Option<Record> {
        self.lines += 1;
        if text.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        let (time_ns, body) = match line(text) {
            Ok(Line::Known(time_ns, body)) => (time_ns, body),
            Ok(Line::Unknown) => {
                self.unknown += 1;
                return None;
            }
            Err(damage) => return self.damage(damage),
        };
        if let Body::Header(header) = &body {
            self.newest = self.newest.max(header.v);
            self.rank = header.rank.or(self.rank);
        }
        let Some(rank) = of_row.or(self.rank) else { return self.damage(Damage::NoRank) };
        if let Body::Clock(clock) = &body {
            self.clocks.insert(rank, (clock.offset_ns, clock.drift_ppb, time_ns));
        }
        let clock = self.clocks.get(&rank).copied().unwrap_or_default();
        Some(Record { rank, time_ns: corrected(time_ns, clock), body })
    }

    fn damage(&mut self, damage: Damage) -> Option<Record> {
        self.damaged += 1;
        if self.first_damaged.len() < NAMED {
            self.first_damaged.push((self.lines, damage));
        }
        None
    }
}

/// A time of the host on the reference clock.
fn corrected(time_ns: u64, (offset_ns, drift_ppb, told_ns): ToldClock) -> u64 {
    let since = i128::from(time_ns) - i128::from(told_ns);
    let offset = i128::from(offset_ns) + i128::from(drift_ppb) * since / 1_000_000_000;
    u64::try_from((i128::from(time_ns) - offset).max(0)).unwrap_or(u64::MAX)
}

/// Records of several files in the order of time; those of one moment by rank, then as they stand.
pub fn merged(files: impl IntoIterator<Item = RankFile>) -> Vec<Record> {
    let mut by_rank: BTreeMap<u32, Vec<Record>> = BTreeMap::new();
    for file in files {
        for record in file.records {
            by_rank.entry(record.rank).or_default().push(record);
        }
    }
    let mut all: Vec<Record> = by_rank.into_values().flatten().collect();
    all.sort_by_key(|record| record.time_ns);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_rank() {
        assert_eq!(rank_of_name("drop2-0/r6.jsonl"), Some(6));
        assert_eq!(rank_of_name("host3-rank12.jsonl.gz"), Some(12));
        assert_eq!(rank_of_name("records.jsonl"), None);
        assert_eq!(rank_of_name("r99999999999.jsonl"), None);
    }

    #[test]
    fn a_header_wins_and_a_clock_is_taken_off() {
        let text = b"{\"k\":\"hd\",\"t\":0,\"v\":9,\"rank\":4}\n{\"k\":\"ck\",\"t\":1000,\"offset_ns\":500}\nrubbish\n\
                     {\"k\":\"en\",\"t\":2000,\"seq\":1}\n{\"k\":\"new\",\"t\":1}\n";
        let file = read(text, Some(1));
        assert!(file.is_newer());
        assert_eq!((file.unknown, file.damaged), (1, 1));
        assert_eq!(file.first_damaged, [(3, Damage::NoObject)]);
        let last = file.records.last().expect("a record was read");
        assert_eq!((last.rank, last.time_ns), (4, 1500));
    }

    #[test]
    fn rows_tell_their_ranks() {
        let rows = [
            (Some(3), &b"{\"k\":\"ck\",\"t\":0,\"offset_ns\":7}"[..]),
            (Some(4), b"{\"k\":\"en\",\"t\":9,\"seq\":1}"),
        ];
        let file = read_rows(rows.into_iter(), None);
        let told: Vec<(u32, u64)> = file.records.iter().map(|record| (record.rank, record.time_ns)).collect();
        assert_eq!(told, [(3, 0), (4, 9)], "the clock of a rank is not that of another");
    }

    #[test]
    fn a_file_without_rank_is_damage_and_no_panic() {
        let file = read(b"{\"k\":\"en\",\"t\":2000,\"seq\":1}", None);
        assert_eq!(file.first_damaged, [(1, Damage::NoRank)]);
    }
}

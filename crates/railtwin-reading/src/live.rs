//! Live records of ranks, judged together: their incidents.
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use railtwin_formats::telemetry::{FileNotes, Format, Note, Skipped};
use railtwin_live::reader::{RankFile, merged, rank_of_name, read_rows};
use railtwin_live::record::{Body, Record};
use railtwin_live::{JudgeSettings, LiveIncident, LiveKind, SuspectPlace, replay};
use railtwin_records::{ColumnData, Component, Table};
use railtwin_units::SimTime;

use crate::error::Error;

/// Severity of what loses packets and slows nothing that is seen.
const LOSES: f64 = 0.05;

/// What live records say.
#[derive(Clone, Debug, Default)]
pub struct LiveAnswer {
    /// Incidents, in the order in which they were opened.
    pub incidents: Vec<LiveIncident>,
    /// Records that were judged.
    pub records: usize,
    /// Ranks that they are of.
    pub ranks: usize,
    /// When the first record was made, ns on the clock of the records.
    pub first_ns: u64,
    job: String,
    /// NICs of ranks whose headers name them.
    nics: BTreeMap<u32, String>,
}

/// Where live records of each rank lie: those of a rank in two folders are of two jobs.
#[derive(Debug, Default)]
pub(crate) struct LiveFolders {
    of: BTreeMap<u32, PathBuf>,
    twice: Option<(PathBuf, PathBuf)>,
}

impl LiveFolders {
    pub(crate) fn add(&mut self, path: &Path, file: &RankFile) {
        let folder = path.parent().unwrap_or(path);
        let Some(first) = file.records.first() else { return };
        let known = self.of.entry(first.rank).or_insert_with(|| folder.to_owned());
        if known != folder {
            self.twice.get_or_insert_with(|| (known.clone(), folder.to_owned()));
        }
    }

    /// # Errors
    /// [`Error::Argument`] for live records of one rank in two folders.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let Some((one, other)) = &self.twice else { return Ok(()) };
        let (one, other) = (one.display(), other.display());
        Err(Error::Argument(format!(
            "{one} and {other} hold live records of the same rank; give one job in a call"
        )))
    }
}

/// Live records in a table: text in its column `record`, a JSON object each row, and their ranks in `rank`, where it has that
/// column. None for another table.
pub(crate) fn records_of(source: &str, table: &Table) -> Option<RankFile> {
    let ColumnData::Text { dictionary, codes } = table.column("record")? else { return None };
    let rank = |row: usize| match table.column("rank") {
        Some(ColumnData::U64(ranks)) => u32::try_from(*ranks.get(row)?).ok(),
        Some(ColumnData::U32(ranks)) => ranks.get(row).copied(),
        _ => None,
    };
    let text = |code: u32| dictionary.get(code as usize).map_or(&b""[..], |text| text.as_bytes());
    let rows = codes.iter().enumerate().map(|(row, code)| (rank(row), text(*code)));
    Some(read_rows(rows, rank_of_name(source)))
}

/// What is told of a file.
pub(crate) fn notes_of(source: &str, file: &RankFile) -> FileNotes {
    let mut notes = Vec::new();
    if file.is_newer() {
        let version = file.newest.unwrap_or_default();
        notes.push(Note::Text(format!(
            "is of schema version {version}, which is newer than this reader: what it does not know is skipped"
        )));
    }
    if file.unknown > 0 {
        notes.push(Note::Text(format!("{} lines of kinds that are not known are skipped", file.unknown)));
    }
    let first = file.first_damaged.iter().map(|(line, damage)| (*line, damage.words()));
    FileNotes {
        source: source.to_owned(),
        format: Format::LiveRecords,
        held: format!("{} records", file.records.len()),
        notes,
        skipped: Skipped::of_lines("live records", source, file.damaged, first),
    }
}

impl LiveAnswer {
    /// Judges all files together. A job that does not move for `hang` hangs.
    pub(crate) fn of(files: Vec<RankFile>, hang: SimTime, job: &str) -> Self {
        let records = merged(files);
        let nic = |record: &Record| match &record.body {
            Body::Header(header) => {
                Some((record.rank, format!("{}/{}", header.host.as_ref()?, header.nic.as_ref()?)))
            }
            _ => None,
        };
        let nics = records.iter().filter_map(nic).collect();
        let ranks: BTreeSet<u32> = records.iter().map(|record| record.rank).collect();
        Self {
            incidents: replay::incidents(&records, JudgeSettings { hang_ns: hang.ps() / 1_000 }),
            records: records.len(),
            ranks: ranks.len(),
            first_ns: records.first().map_or(0, |first| first.time_ns),
            job: job.to_owned(),
            nics,
        }
    }

    /// Whether there were live records.
    pub const fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// The component of a suspect: by the name that a header gives its NIC, else by the number of its rank.
    pub fn component(&self, place: SuspectPlace) -> Component {
        let named = self.nics.get(&place.rank()).filter(|_| matches!(place, SuspectPlace::Nic(_)));
        // A name that several ranks give, such as `eth0` of containers on one host, says nothing.
        let named = named.filter(|name| self.nics.values().filter(|other| other == name).count() == 1);
        named.map_or_else(|| place.component(&self.job), |name| Component::Nic(name.clone()))
    }
}

/// Severity of an incident: the share of the time of a phase or message that is beyond what is usual; 1 for what stands still.
pub fn severity(incident: &LiveIncident) -> f64 {
    let first = incident.evidence.first().map(|line| (line.value, line.expected));
    match (incident.kind, first) {
        (kind, _) if kind.stops() => 1.0,
        (LiveKind::SlowCompute | LiveKind::SlowData, Some((took, usual))) if took > 0.0 => {
            (1.0 - usual / took).max(0.0)
        }
        (LiveKind::SlowLink, Some((carried, past))) if past > 0.0 => (1.0 - carried / past).max(0.0),
        _ => LOSES,
    }
}

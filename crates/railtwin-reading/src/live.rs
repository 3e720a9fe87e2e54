//! Live records of ranks, judged together: their incidents.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_formats::telemetry::{FileNotes, Format, Note, Skipped};
use railtwin_live::reader::{RankFile, merged};
use railtwin_live::{JudgeSettings, LiveIncident, SuspectPlace, replay};
use railtwin_records::Component;
use railtwin_units::SimTime;

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

/// What is told of a file.
pub(crate) fn notes_of(source: &str, file: &RankFile) -> FileNotes {
    let mut notes = Vec::new();
    if file.is_newer() {
        let version = file.header.v.unwrap_or_default();
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
        let nic = |file: &RankFile| {
            let name = format!("{}/{}", file.header.host.as_ref()?, file.header.nic.as_ref()?);
            Some((file.records.first()?.rank, name))
        };
        let nics = files.iter().filter_map(nic).collect();
        let records = merged(files);
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
        named.map_or_else(|| place.component(&self.job), |name| Component::Nic(name.clone()))
    }
}

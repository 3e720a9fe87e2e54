//! Live records of ranks: incidents, and findings of them.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_formats::telemetry::{FileNotes, Format, Note, Skipped};
use railtwin_live::reader::{RankFile, merged};
use railtwin_live::{Incident, JudgeSettings, Kind, Place, replay};
use railtwin_records::{Component, FaultKind, Finding, Since, Suspect, Syndrome};
use railtwin_units::SimTime;

use crate::judges::Judgement;

/// Severity of what loses packets and slows nothing that is seen.
const LOSES: f64 = 0.05;

/// What live records say.
#[derive(Clone, Debug, Default)]
pub struct LiveAnswer {
    /// Incidents, in the order in which they were opened.
    pub incidents: Vec<Incident>,
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
    pub fn component(&self, place: Place) -> Component {
        let named = self.nics.get(&place.rank()).filter(|_| matches!(place, Place::Nic(_)));
        named.map_or_else(|| place.component(&self.job), |name| Component::Nic(name.clone()))
    }

    /// Findings of the incidents that are of the job, and notes on the others.
    pub(crate) fn judgement(&self) -> Judgement {
        let findings = self.incidents.iter().filter(|one| one.kind.is_of_job()).map(|one| self.finding(one));
        let others = self.incidents.iter().filter(|one| !one.kind.is_of_job());
        let notes = others.map(|one| {
            let seconds = one.opened_ns.saturating_sub(self.first_ns) as f64 / 1e9;
            let what = one.evidence.first().map(|line| line.words()).unwrap_or_default();
            format!("{} from second {seconds:.1} of the records on: {what}; {}", one.kind.name(), one.kind.next_step())
        });
        (findings.collect(), notes.collect()).into()
    }

    fn finding(&self, incident: &Incident) -> Finding {
        let suspects: Vec<Suspect> = (incident.suspects.iter())
            .map(|suspect| Suspect { component: self.component(suspect.place), share: suspect.share })
            .collect();
        let (syndrome, faults) = syndrome_of(incident);
        Finding {
            at_ns: incident.opened_ns,
            since: Since::at(incident.opened_ns),
            syndrome,
            faults,
            confidence: suspects.iter().map(|suspect| suspect.share).sum(),
            suspects,
            severity: severity(incident),
            cost: None,
            evidence: incident.evidence.clone(),
            advice: incident.kind.next_step().into(),
        }
    }
}

fn syndrome_of(incident: &Incident) -> (Syndrome, Vec<FaultKind>) {
    match incident.kind {
        Kind::KilledProcess => (Syndrome::Crash, vec![FaultKind::Crash]),
        Kind::StoppedProcess => (Syndrome::NonCommunicationHang, vec![FaultKind::Hang]),
        Kind::SilentLink => (Syndrome::CommunicationHang, vec![FaultKind::Down]),
        Kind::Standstill if incident.edge.is_some() => (Syndrome::CommunicationHang, Vec::new()),
        Kind::Standstill => (Syndrome::NonCommunicationHang, Vec::new()),
        Kind::SlowCompute => (Syndrome::NonCommunicationSlow, vec![FaultKind::SlowGpu]),
        Kind::SlowData => (Syndrome::NonCommunicationSlow, vec![FaultKind::SlowData]),
        Kind::SlowLink => (Syndrome::CommunicationSlow, vec![FaultKind::Slow]),
        // The others are none of the job.
        Kind::LossyLink | Kind::ObserverStarved | Kind::RecordsMissing => {
            (Syndrome::CommunicationSlow, vec![FaultKind::Lossy])
        }
    }
}

/// Share of the time of a phase or message that is beyond what is usual; 1 for what stands still.
fn severity(incident: &Incident) -> f64 {
    let first = incident.evidence.first().map(|line| (line.value, line.expected));
    match (incident.kind, first) {
        (kind, _) if kind.stops() => 1.0,
        (Kind::SlowCompute | Kind::SlowData, Some((took, usual))) if took > 0.0 => (1.0 - usual / took).max(0.0),
        (Kind::SlowLink, Some((carried, past))) if past > 0.0 => (1.0 - carried / past).max(0.0),
        _ => LOSES,
    }
}

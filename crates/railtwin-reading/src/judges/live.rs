//! Incidents of live records, as findings.
use railtwin_live::{LiveIncident, LiveKind};
use railtwin_records::{FaultKind, Finding, Since, Suspect, Syndrome};

use super::{Judgement, RowsView};
use crate::live::{LiveAnswer, severity};

/// Findings of the incidents that are of the job, and notes on the others.
pub(super) fn judge(rows: &RowsView<'_>) -> Judgement {
    let live = &rows.live;
    let findings = live.incidents.iter().filter(|one| one.kind.is_of_job()).map(|one| finding(live, one));
    let others = live.incidents.iter().filter(|one| !one.kind.is_of_job());
    let notes = others.map(|one| {
        let seconds = one.opened_ns.saturating_sub(live.first_ns) as f64 / 1e9;
        let what = one.evidence.first().map(|line| line.words()).unwrap_or_default();
        let (name, next) = (one.kind.name(), one.kind.next_step());
        format!("{name} from second {seconds:.1} of the records on: {what}; {next}")
    });
    (findings.collect(), notes.collect()).into()
}

fn finding(live: &LiveAnswer, incident: &LiveIncident) -> Finding {
    let suspects: Vec<Suspect> = (incident.suspects.iter())
        .map(|suspect| Suspect { component: live.component(suspect.place), share: suspect.share })
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

fn syndrome_of(incident: &LiveIncident) -> (Syndrome, Vec<FaultKind>) {
    match incident.kind {
        LiveKind::KilledProcess => (Syndrome::Crash, vec![FaultKind::Crash]),
        LiveKind::StoppedProcess => (Syndrome::NonCommunicationHang, vec![FaultKind::Hang]),
        LiveKind::SilentLink => (Syndrome::CommunicationHang, vec![FaultKind::Down]),
        LiveKind::Standstill if incident.edge.is_some() => (Syndrome::CommunicationHang, Vec::new()),
        LiveKind::Standstill => (Syndrome::NonCommunicationHang, Vec::new()),
        LiveKind::SlowCompute => (Syndrome::NonCommunicationSlow, vec![FaultKind::SlowGpu]),
        LiveKind::SlowData => (Syndrome::NonCommunicationSlow, vec![FaultKind::SlowData]),
        LiveKind::SlowLink => (Syndrome::CommunicationSlow, vec![FaultKind::Slow]),
        // The others are none of the job.
        LiveKind::LossyLink | LiveKind::ObserverStarved | LiveKind::RecordsMissing => {
            (Syndrome::CommunicationSlow, vec![FaultKind::Lossy])
        }
    }
}

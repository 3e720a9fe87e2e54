//! Late ranks where only durations of operations are known.
use std::collections::BTreeMap;

use railtwin_diagnosis::{Settings, robust};
use railtwin_records::seen::OperationSeen;
use railtwin_records::{
    Batch, Directory, Evidence, FaultKind, Finding, NOT_YET, OperationShape, Since, Suspect, Syndrome,
};

use super::judges::Judgement;
use super::rows::Rows;
use railtwin_formats::telemetry::Times;

/// Fewest ranks of an operation among which durations are compared.
const RANKS_MIN: usize = 4;

/// Whether an operation ends for all its ranks at about the same moment. A root sends or gathers for another time than its
/// peers wait, and ranks of an all-to-all are done when their own parts are there.
fn ends_alike(shape: &OperationShape) -> bool {
    matches!(shape.kind.as_str(), "all-reduce" | "all-gather" | "reduce-scatter" | "barrier")
}

/// Ranks that spend less time in operations than the others of their communicators, and so are waited for: an operation
/// ends for all at about the same moment, and who comes last is in it for the shortest time (C4 section III-A). No time of
/// entry is looked at, and no operation that has a root.
///
/// A rank's lack is the median over at least [`Settings::window`] operations of how much shorter it was within, as a share
/// of its peers' median. It is late when the lack exceeds four times [`Settings::slow_share`] and the peers' spread.
pub(super) fn judge(rows: &Rows<'_>) -> Judgement {
    if rows.batch.operations.is_empty() || rows.times != Times::Durations {
        return Judgement::default();
    }
    let findings = of_durations(&rows.directory, &rows.batch, &rows.settings);
    let note = "only durations of operations are told: times of entry are compared with nothing";
    Judgement { findings, notes: vec![note.into()], failed_tests: 0 }
}

/// Findings of durations.
pub fn of_durations(directory: &Directory, batch: &Batch, settings: &Settings) -> Vec<Finding> {
    let operations = &batch.operations;
    let mut all: BTreeMap<(u32, u32), Vec<(u32, f64)>> = BTreeMap::new();
    for row in 0..operations.len() {
        if !directory.shapes.get(operations.shape[row] as usize).is_none_or(ends_alike) {
            continue;
        }
        let (enter, end) = (operations.enter_ns[row], operations.end_ns[row]);
        if end != NOT_YET && end > enter {
            let key = (operations.communicator[row], operations.sequence[row]);
            all.entry(key).or_default().push((operations.rank[row], (end - enter) as f64));
        }
    }
    let mut lacks: BTreeMap<(u32, u32), Vec<f64>> = BTreeMap::new();
    for ((communicator, _), ranks) in all.iter().filter(|(_, ranks)| ranks.len() >= RANKS_MIN) {
        let mut durations: Vec<f64> = ranks.iter().map(|(_, duration)| *duration).collect();
        let Some(peers) = robust::median(&mut durations) else { continue };
        for (rank, duration) in ranks {
            lacks.entry((*communicator, *rank)).or_default().push(1.0 - duration / peers);
        }
    }
    let mut of_communicator: BTreeMap<u32, Vec<(u32, f64, usize)>> = BTreeMap::new();
    for ((communicator, rank), mut values) in lacks {
        let count = values.len();
        if let Some(lack) = robust::median(&mut values).filter(|_| count >= settings.window as usize) {
            of_communicator.entry(communicator).or_default().push((rank, lack, count));
        }
    }
    let mut findings: Vec<Finding> = Vec::new();
    for (communicator, ranks) in of_communicator {
        let mut values: Vec<f64> = ranks.iter().map(|(_, lack, _)| *lack).collect();
        let Some((center, deviation)) = robust::spread(&mut values) else { continue };
        let limit = (4.0 * settings.slow_share).max(settings.deviations * deviation);
        for (rank, lack, count) in ranks.into_iter().filter(|(_, lack, _)| lack - center > limit) {
            let info = &directory.communicators[communicator as usize];
            findings.push(Finding {
                at_ns: batch.until_ns,
                since: Since::default(),
                syndrome: Syndrome::NonCommunicationSlow,
                faults: vec![FaultKind::SlowGpu, FaultKind::SlowData],
                suspects: vec![Suspect { component: directory.rank_component(rank), share: 0.6 }],
                confidence: 0.6,
                severity: lack.clamp(0.0, 1.0),
                cost: None,
                evidence: vec![Evidence::new(
                    OperationSeen::DurationShare { communicator: info.name.clone(), operations: count },
                    1.0 - lack,
                    1.0,
                )],
                advice:
                    "only durations are told: kernel times of all ranks would tell by how much it comes late"
                        .into(),
            });
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_records::{CommunicatorInfo, HostInfo, RankInfo};

    fn recorded(late: Option<u32>) -> (Directory, Batch) {
        let hosts = (0..8).map(|host| HostInfo { name: format!("h{host}") }).collect();
        let ranks = (0..8).map(|rank| RankInfo { job: 0, rank, host: rank, gpu: 0, nic: 0 }).collect();
        let world = CommunicatorInfo { job: 0, name: "w".into(), axis: "dp".into(), ranks: (0..8).collect() };
        let directory = Directory {
            jobs: vec!["j".into()],
            hosts,
            ranks,
            communicators: vec![world],
            ..Directory::default()
        };
        let mut batch = Batch::default();
        for sequence in 0..20_u32 {
            for rank in 0..8_u32 {
                let noise = u64::from((rank * 7 + sequence * 13) % 11);
                let duration = if late == Some(rank) { 400 } else { 1_000 } + noise;
                // Clocks of hosts differ by far more than operations last.
                let enter = u64::from(rank) * 1_000_000 + u64::from(sequence) * 5_000;
                batch.operations.push(0, rank, sequence, 0, enter, enter + duration);
            }
        }
        (directory, batch)
    }

    #[test]
    fn who_is_within_for_the_shortest_time_is_late() {
        let (directory, batch) = recorded(Some(5));
        let found = of_durations(&directory, &batch, &Settings::default());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].suspects[0].component.name(), "j/5");
        let (directory, batch) = recorded(None);
        assert_eq!(of_durations(&directory, &batch, &Settings::default()), []);
        // The root of a broadcast is done first, and nobody waits for it.
        let (mut directory, batch) = recorded(Some(0));
        for (kind, told) in [("broadcast", 0), ("reduce", 0), ("all-to-all", 0), ("all-gather", 1)] {
            let (algorithm, data_type) = (String::new(), String::new());
            directory.shapes = vec![OperationShape { kind: kind.into(), algorithm, data_type, bytes: 1 }];
            assert_eq!(of_durations(&directory, &batch, &Settings::default()).len(), told, "{kind}");
        }
    }
}

//! One error, four causes (C4 section II-C): a cause is injected, and what the detectors call it is counted.
use std::fmt::Write;

use railtwin_diagnosis::rules::ErrorCause;
use railtwin_records::seen::CounterSeen;
use railtwin_records::{Evidence, FaultKind, Finding, Seen};
use railtwin_scenario::FaultSubject;
use rayon::prelude::*;

use super::bench::Bench;
use super::detectors;
use super::inject::{Injected, Injection, draw};
use super::trial::{Signals, fault_at, trial_of};
use railtwin::Error;

/// Causes that are injected: rows of the matrix.
pub const INJECTED: [ErrorCause; 4] =
    [ErrorCause::GpuFault, ErrorCause::NetworkDisconnect, ErrorCause::OutOfMemory, ErrorCause::SizeMismatch];

/// Signals that tell causes apart: what stops a job asks for no probes.
const SIGNALS: [Signals; 3] = [Signals::Operations, Signals::Transport, Signals::Counters];

/// How often each cause was told as which, for one set of signals.
#[derive(Clone, PartialEq, Debug)]
pub struct Matrix {
    /// What detectors looked at.
    pub signals: Signals,
    /// Trials by cause injected, in order of [`INJECTED`], and cause told, in order of [`ErrorCause::ALL`].
    pub counts: [[u32; 5]; 4],
}

impl Matrix {
    /// Trials in which the cause was told.
    pub fn right(&self) -> u32 {
        INJECTED.iter().zip(&self.counts).map(|(&cause, row)| row[cause as usize]).sum()
    }

    /// Trials in which another cause was told.
    pub fn wrong(&self) -> u32 {
        let other =
            |cause: ErrorCause, told: usize| told != cause as usize && told != ErrorCause::Unknown as usize;
        let rows = INJECTED.iter().zip(&self.counts);
        rows.flat_map(|(&cause, row)| {
            (0..row.len()).filter(move |&told| other(cause, told)).map(|told| row[told])
        })
        .sum()
    }
}

/// The matrices of one bench, for each set of signals, over `seeds` draws of each cause.
///
/// # Errors
/// What replaying the scenario says.
pub fn errors(bench: &Bench, seeds: u32) -> Result<Vec<Matrix>, Error> {
    let asked: Vec<(usize, usize, u64)> = (0..SIGNALS.len())
        .flat_map(|signals| (0..INJECTED.len()).map(move |cause| (signals, cause)))
        .flat_map(|(signals, cause)| (0..seeds).map(move |seed| (signals, cause, u64::from(seed))))
        .collect();
    let told: Vec<Result<Option<ErrorCause>, Error>> = asked
        .par_iter()
        .map(|&(signals, cause, seed)| {
            let Some((what, injection)) = inject(bench, INJECTED[cause], seed) else { return Ok(None) };
            let trial = trial_of(bench, what, &injection, SIGNALS[signals], seed, &detectors)?;
            Ok(Some(told(&trial.findings)))
        })
        .collect();
    let mut matrices: Vec<Matrix> =
        SIGNALS.iter().map(|&signals| Matrix { signals, counts: [[0; 5]; 4] }).collect();
    for ((signals, cause, _), told) in asked.into_iter().zip(told) {
        if let Some(told) = told? {
            matrices[signals].counts[cause][told as usize] += 1;
        }
    }
    Ok(matrices)
}

/// A draw of a cause. A network that disconnects is a NIC that loses all its cables, so that no path is left.
fn inject(bench: &Bench, cause: ErrorCause, seed: u64) -> Option<(Injected, Injection)> {
    let what = match cause {
        ErrorCause::GpuFault => Injected::GpuError,
        ErrorCause::NetworkDisconnect => Injected::DownCable,
        ErrorCause::OutOfMemory => Injected::Crash,
        _ => Injected::SizeMismatch,
    };
    let Injection::Fault(mut fault) = draw(bench, what, fault_at(), seed)? else { return None };
    if cause == ErrorCause::NetworkDisconnect {
        let (nic, _port) = fault.subject.parts().1.split_once(':')?;
        fault.subject = FaultSubject::Nic(nic.to_owned());
    }
    Some((what, Injection::Fault(fault)))
}

/// The cause that findings tell: that of the surest accusation that tells one.
pub fn told(findings: &[Finding]) -> ErrorCause {
    let mut accusing: Vec<&Finding> = findings.iter().filter(|finding| finding.accuses()).collect();
    accusing.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    accusing.into_iter().find_map(cause_of).unwrap_or(ErrorCause::Unknown)
}

/// The cause that one finding tells by its likeliest fault; none where it names what all four look like.
fn cause_of(finding: &Finding) -> Option<ErrorCause> {
    match finding.faults.first()? {
        FaultKind::GpuError => Some(ErrorCause::GpuFault),
        FaultKind::Down | FaultKind::Flap | FaultKind::Lossy => Some(ErrorCause::NetworkDisconnect),
        FaultKind::SizeMismatch => Some(ErrorCause::SizeMismatch),
        // That a process is gone says nothing; a kill that the host counted does.
        FaultKind::Crash => {
            let is_kill =
                |row: &Evidence| matches!(row.seen, Seen::Counter(CounterSeen::OutOfMemoryKills { .. }));
            finding.evidence.iter().any(is_kill).then_some(ErrorCause::OutOfMemory)
        }
        _ => None,
    }
}

/// The matrices as Markdown.
pub fn markdown(ranks: u32, matrices: &[Matrix]) -> String {
    let mut text = format!("## One error, four causes, at {ranks} ranks\n");
    let mut line = |words: String| writeln!(text, "{words}").expect("text grows");
    for matrix in matrices {
        let told = ErrorCause::ALL.map(ErrorCause::name).join(" | ");
        line(format!("\n| injected, {} | {told} |", matrix.signals.name()));
        line(format!("| --- |{}", " ---: |".repeat(ErrorCause::ALL.len())));
        for (cause, counts) in INJECTED.iter().zip(&matrix.counts) {
            let cells = counts.map(|count| count.to_string()).join(" | ");
            line(format!("| {} | {cells} |", cause.name()));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_tell_most_causes_and_nothing_tells_a_wrong_one() {
        let bench = Bench::of(128).unwrap().unwrap();
        let matrices = errors(&bench, 4).unwrap();
        for matrix in &matrices {
            assert_eq!(matrix.counts.as_flattened().iter().sum::<u32>(), 16, "{matrix:?}");
            assert_eq!(matrix.wrong(), 0, "{matrix:?}");
        }
        let [operations, _, counters] = &matrices[..] else { panic!("{matrices:?}") };
        assert!(operations.right() < counters.right(), "{matrices:?}");
        assert_eq!(counters.counts[3][ErrorCause::SizeMismatch as usize], 4, "{counters:?}");
    }
}

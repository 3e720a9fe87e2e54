//! How far ranks were when an operation ran out of its time, from lines of PyTorch's watchdog: judged as dumps are.
//!
//! A line tells of one process group what its rank put last on a stream and what ended last. That is less than a dump has:
//! what a rank does in other groups is not told. So nobody is named unless exactly one rank is behind and all ranks of the
//! group say how far they are; everything else is a set.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::hang::dumps::{
    DumpedGroup, DumpedOperation, Dumps, RankDump, Work, findings_of_dumps,
};
use railtwin_formats::telemetry::{ClusterLog, LogSays, NcclEvent, WatchdogState, WatchdogTimeout};
use railtwin_records::{Evidence, FaultKind, Finding, Syndrome};

use super::super::flight::{RANKS_MOST, WHOLE};

/// Confidence in the one rank that is behind.
const SURE: f64 = 0.8;
/// Confidence in a set.
const SET: f64 = 0.45;

/// Ranks that a line names.
const NAMED: usize = 8;

/// A line for a reader on timeouts of each log.
pub fn timeouts_note(file: &str, timeouts: &[WatchdogTimeout]) -> Option<String> {
    let first = timeouts.first()?;
    let more = if timeouts.len() > 1 { format!(", and {} more", timeouts.len() - 1) } else { String::new() };
    Some(format!("{file}:{}: {}{more}", first.line, first.words()))
}

/// Findings of all states, and notes.
pub fn of_states(logs: &[(String, ClusterLog)], job: &str) -> (Vec<Finding>, Vec<String>) {
    let states: Vec<&WatchdogState> =
        logs.iter().flat_map(|(_, log)| &log.states).filter(|state| state.rank.is_some()).collect();
    let timeouts: Vec<&WatchdogTimeout> = logs.iter().flat_map(|(_, log)| &log.timeouts).collect();
    if timeouts.is_empty() || states.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let dumps = dumps_of(logs, &states, &timeouts);
    let (mut findings, mut notes) = findings_of_dumps(&dumps, job);
    let named = findings.iter().filter(|one| one.accuses()).count();
    // Ranks of a group of which not all say how far they are, and groups of which nothing is said.
    let spoke: BTreeSet<u32> = dumps.dumps.iter().map(|dump| dump.rank).collect();
    let all_spoke = dumps.groups.iter().all(|group| group.ranks.iter().all(|rank| spoke.contains(rank)));
    let confidence = if named == 1 && all_spoke && dumps.groups.len() == 1 { SURE } else { SET };
    for finding in &mut findings {
        finding.confidence = finding.confidence.min(confidence);
        let sum: f64 = finding.suspects.iter().map(|suspect| suspect.share).sum();
        if sum > finding.confidence {
            finding.suspects.iter_mut().for_each(|suspect| suspect.share *= confidence / sum);
        }
        finding.evidence.iter_mut().for_each(|line| line.table = super::TABLE);
    }
    if confidence < SURE && named > 0 {
        notes.push(
            "lines of the watchdog tell of some groups only how far ranks are: dumps of the Flight Recorder \
             (TORCH_NCCL_TRACE_BUFFER_SIZE, TORCH_NCCL_DUMP_ON_TIMEOUT) would prove who it is"
                .into(),
        );
    }
    (findings, notes)
}

/// A hang of which lines tell nothing but who waited in what until the time was over: PyTorch up to 2.2 does not say how far
/// ranks are, and a log may have been cut to these lines. It names nobody: who waits is no culprit, and of whom there is no
/// line the log may only not be given.
pub fn of_timeouts(logs: &[(String, ClusterLog)]) -> Option<Finding> {
    type Operation<'a> = (Option<&'a (String, String)>, Option<u64>, &'a str);
    let mut waited: BTreeMap<Operation<'_>, Vec<&WatchdogTimeout>> = BTreeMap::new();
    for timeout in logs.iter().flat_map(|(_, log)| &log.timeouts) {
        let operation = (timeout.group.as_ref(), timeout.sequence, timeout.kind.as_str());
        waited.entry(operation).or_default().push(timeout);
    }
    if waited.is_empty() {
        return None;
    }
    let mut said = Vec::new();
    for ((group, sequence, kind), of) in waited {
        let kind = if kind.is_empty() { "an operation" } else { kind };
        let number = sequence.map_or(String::new(), |number| format!(" {number}"));
        let group = group.map_or(String::new(), |(name, purpose)| match purpose.is_empty() {
            true => format!(" of process group {name}"),
            false => format!(" of {purpose} {name}"),
        });
        let most_ms = of.iter().filter_map(|one| one.ran_ms).max();
        let ran = most_ms.map_or(String::new(), |ms| format!(" of {:.0} s", ms as f64 / 1e3));
        let frame = of.iter().find_map(|one| one.frame.as_ref());
        let frame = frame.map_or(String::new(), |frame| format!(", asked for at {frame}"));
        let ranks: BTreeSet<u32> = of.iter().filter_map(|one| one.rank).collect();
        let names = if ranks.is_empty() { "not told".to_owned() } else { few(&ranks) };
        let what = format!(
            "ranks that waited in {kind}{number}{group} until its time{ran} was over{frame}: {names}"
        );
        // A line without a rank is one of one rank at least.
        said.push(evidence(what, ranks.len().max(1)));
        // Ranks of a group are counted from 0 on, in the order of those of the job: where both numbers of all are the same,
        // all below are of the group.
        let is_first = of.iter().all(|one| one.rank.is_some() && one.rank == one.group_rank);
        let last = ranks.last().copied().filter(|last| is_first && *last < RANKS_MOST);
        let silent: BTreeSet<u32> = (0..last.unwrap_or(0)).filter(|rank| !ranks.contains(rank)).collect();
        if !silent.is_empty() {
            let what = format!(
                "ranks below {} of which no such line is given: they had not come to it or are gone, or their logs are not \
                 given: {}",
                last.unwrap_or(0),
                few(&silent)
            );
            said.push(evidence(what, silent.len()));
        }
    }
    said.truncate(8);
    Some(Finding {
        at_ns: 0,
        since_ns: 0,
        syndrome: Syndrome::CommunicationHang,
        faults: vec![FaultKind::Hang, FaultKind::Crash, FaultKind::GpuError, FaultKind::Down],
        suspects: Vec::new(),
        confidence: 0.0,
        severity: 1.0,
        evidence: said,
        advice: "the job stood still; who held it up these lines do not tell: look at ranks that do not say it, and give logs of \
                 all ranks or dumps of the Flight Recorder (TORCH_NCCL_TRACE_BUFFER_SIZE, TORCH_NCCL_DUMP_ON_TIMEOUT)"
            .into(),
    })
}

fn evidence(what: String, ranks: usize) -> Evidence {
    Evidence { table: super::TABLE, what, value: ranks as f64, expected: 0.0, unit: "ranks" }
}

/// The first of some ranks.
fn few(ranks: &BTreeSet<u32>) -> String {
    let mut names: Vec<String> = ranks.iter().take(NAMED).map(u32::to_string).collect();
    if ranks.len() > NAMED {
        names.push(format!("and {} more", ranks.len() - NAMED));
    }
    names.join(", ")
}

fn dumps_of(
    logs: &[(String, ClusterLog)],
    states: &[&WatchdogState],
    timeouts: &[&WatchdogTimeout],
) -> Dumps {
    let mut dumps = Dumps::default();
    // Groups by name; one whose ranks do not fit together is several of one name, and none.
    let mut members: BTreeMap<(&str, &str), BTreeMap<u32, BTreeSet<u32>>> = BTreeMap::new();
    for state in states {
        let of = members.entry((&state.group, &state.description)).or_default();
        of.entry(state.group_rank).or_default().extend(state.rank);
    }
    members.retain(|_, of| of.values().all(|ranks| ranks.len() == 1));
    let world = world(logs);
    let mut row_of: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (key, of) in &members {
        let is_of_all = states
            .iter()
            .any(|state| (state.group.as_str(), state.description.as_str()) == *key && state.is_of_all());
        let mut ranks: BTreeSet<u32> = of.values().flatten().copied().collect();
        if is_of_all {
            // A number that no rank of the job can have is no reason to make so many.
            let most = ranks.last().map_or(0, |last| last + 1).max(world.unwrap_or(0)).min(RANKS_MOST);
            ranks.extend(0..most);
        }
        row_of.insert(*key, dumps.groups.len());
        let (name, description) = (key.0.to_owned(), key.1.to_owned());
        dumps.groups.push(DumpedGroup { name, description, ranks: ranks.into_iter().collect() });
    }
    let mut of_rank: BTreeMap<u32, RankDump> = BTreeMap::new();
    for state in states {
        let (Some(rank), Some(&group)) =
            (state.rank, row_of.get(&(state.group.as_str(), state.description.as_str())))
        else {
            continue;
        };
        let dump = of_rank.entry(rank).or_insert_with(|| RankDump { rank, ..RankDump::default() });
        dump.status.insert(group, (state.enqueued, state.completed));
        let own = timeouts.iter().find(|one| one.rank == Some(rank) && one.sequence == state.failed);
        let failed = state.failed.filter(|failed| state.completed.is_none_or(|ended| ended < *failed));
        let Some(sequence) = failed else { continue };
        // What it is, others may have said of the same number.
        let of_number = || timeouts.iter().find(|one| one.sequence == Some(sequence));
        let kind = own.or_else(of_number).map_or("", |one| one.kind.as_str());
        let work = if WHOLE.contains(&kind) { Work::Whole } else { Work::Partial };
        dump.operations.push(DumpedOperation {
            group,
            sequence,
            record: sequence,
            work,
            name: if kind.is_empty() { "an operation".to_owned() } else { kind.to_owned() },
            call: None,
            started: None,
            completed: false,
            given_up: own.is_some(),
            created_ns: 0,
            last_ns: 0,
            timeout_ns: None,
            frame: own.and_then(|one| one.frame.clone()),
        });
    }
    dumps.dumps = of_rank.into_values().collect();
    dumps.timed_out = timeouts.first().map(|one| one.words());
    dumps
}

/// Ranks of the job, as NCCL counts those of its largest communicator.
fn world(logs: &[(String, ClusterLog)]) -> Option<u32> {
    let events = logs.iter().flat_map(|(_, log)| &log.events);
    let ranks = events.filter_map(|event| match &event.what {
        LogSays::Nccl(NcclEvent::Rank { ranks, .. }) => Some(*ranks),
        _ => None,
    });
    ranks.max()
}

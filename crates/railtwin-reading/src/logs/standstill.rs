//! How far ranks were when an operation ran out of its time, from lines of PyTorch's watchdog: judged as dumps are.
//!
//! A line tells of one process group what its rank put last on a stream and what ended last. That is less than a dump has:
//! what a rank does in other groups is not told. So nobody is named unless exactly one rank is behind and all ranks of the
//! group say how far they are, or it calls another operation than most of its group under one number; everything else is a
//! set. Who is of a group is known as far as lines tell ([`members`]): that all have come is not said where it is not.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::hang::dumps::{
    DumpedGroup, DumpedOperation, Dumps, RankDump, Work, findings_of_dumps,
};
use railtwin_formats::telemetry::{ClusterLog, LogSays, NcclEvent, WatchdogState, WatchdogTimeout};
use railtwin_records::seen::{DumpSeen, LogSeen, RankState};
use railtwin_records::{Component, Evidence, FaultKind, Finding, Seen, Since, Suspect, Syndrome};

use super::super::flight::{NAMED as COLLECTIVES, RANKS_MOST, SAME_SIZE, WHOLE};
use super::members::{self, Key, Members};

/// Confidence in the one rank that is behind.
const SURE: f64 = 0.8;
/// Confidence in a set.
const SET: f64 = 0.45;

/// What some ranks of a group do with each other, or may: a coalesced call is of either kind.
const ONE_TO_ONE: [&str; 5] = ["send", "receive", "send-receive", "coalesced", "unknown"];

/// A line for a reader on all timeouts of logs: the first, and how many there are more.
pub fn timeouts_note(logs: &[(String, ClusterLog)]) -> Option<String> {
    let mut with = logs.iter().filter(|(_, log)| !log.timeouts.is_empty());
    let (file, log) = with.next()?;
    let first = log.timeouts.first()?;
    let (files, all) = (1 + with.count(), logs.iter().map(|(_, log)| log.timeouts.len()).sum::<usize>());
    let more = match (all - 1, files) {
        (0, _) => String::new(),
        (more, 1) => format!(", and {more} more"),
        (more, files) => format!(", and {more} more in {files} files"),
    };
    Some(format!("{file}:{}: {}{more}", first.line, first.words()))
}

/// Ranks of which there is a log that tells which rank it is of, and that say nothing of an operation that ran out of its time
/// where all others do: when it did they no longer wrote anything. Their processes had ended or did not run.
pub fn silent(logs: &[(String, ClusterLog)]) -> BTreeSet<u32> {
    let said = logs.iter().flat_map(|(_, log)| &log.states).filter_map(|state| state.rank);
    let waited = logs.iter().flat_map(|(_, log)| &log.timeouts).filter_map(|timeout| timeout.rank);
    // Whom others heard of a timeout spoke, though its own log may be cut.
    let heard = logs.iter().flat_map(|(_, log)| &log.told_by).copied();
    let spoke: BTreeSet<u32> = said.chain(waited).chain(heard).collect();
    let known: BTreeSet<u32> =
        logs.iter().flat_map(|(_, log)| &log.members).map(|member| member.rank).collect();
    let silent: BTreeSet<u32> = known.difference(&spoke).copied().collect();
    if 2 * silent.len() > known.len() { BTreeSet::new() } else { silent }
}

/// Whether there are logs of all `ranks`, and none tells of an operation that ran out of its time.
pub fn are_quiet(logs: &[(String, ClusterLog)], ranks: &BTreeSet<u32>) -> bool {
    let members = logs.iter().flat_map(|(_, log)| &log.members).map(|member| member.rank);
    let events = logs.iter().flat_map(|(_, log)| &log.events);
    let known: BTreeSet<u32> = members.chain(events.filter_map(|event| event.rank)).collect();
    let waits = logs.iter().any(|(_, log)| !log.timeouts.is_empty() || !log.states.is_empty());
    !ranks.is_empty() && !waits && ranks.is_subset(&known)
}

/// Findings of all states, and notes.
pub fn of_states(logs: &[(String, ClusterLog)], job: &str) -> (Vec<Finding>, Vec<String>) {
    let states: Vec<&WatchdogState> =
        logs.iter().flat_map(|(_, log)| &log.states).filter(|state| state.rank.is_some()).collect();
    let timeouts: Vec<&WatchdogTimeout> = logs.iter().flat_map(|(_, log)| &log.timeouts).collect();
    if timeouts.is_empty() || states.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let all = AsDumps::of(logs, &states, &timeouts);
    let dumps = &all.dumps;
    let (mut findings, mut notes) = findings_of_dumps(dumps, job);
    if !all.knows_all() {
        // That all have come says only who knows who all are.
        let within = findings.iter_mut().filter(|one| one.syndrome == Syndrome::CommunicationHang);
        within.for_each(|finding| all.tell_unknown(finding, job));
    }
    let named = findings.iter().filter(|one| one.accuses()).count();
    // Ranks of a group of which not all say how far they are, and groups of which nothing is said.
    let spoke: BTreeSet<u32> = dumps.dumps.iter().map(|dump| dump.rank).collect();
    let all_spoke = dumps.groups.iter().all(|group| group.ranks.iter().all(|rank| spoke.contains(rank)));
    let is_one = named == 1 && dumps.groups.len() == 1;
    let mut is_less = false;
    for finding in &mut findings {
        // Who calls something else does so whatever other groups do.
        let is_sure = all_spoke && (is_one || finding.syndrome == Syndrome::Mismatch);
        let confidence = if is_sure { SURE } else { SET };
        is_less |= finding.accuses() && !is_sure;
        finding.confidence = finding.confidence.min(confidence);
        let sum: f64 = finding.suspects.iter().map(|suspect| suspect.share).sum();
        if sum > finding.confidence {
            finding.suspects.iter_mut().for_each(|suspect| suspect.share *= confidence / sum);
        }
        finding.evidence.iter_mut().for_each(|line| line.table = LogSeen::TABLE);
    }
    if is_less {
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
    type Operation<'a> = (Option<&'a (String, String)>, Option<u64>, &'a str, Option<String>);
    let mut waited: BTreeMap<Operation<'_>, Vec<&WatchdogTimeout>> = BTreeMap::new();
    for timeout in logs.iter().flat_map(|(_, log)| &log.timeouts) {
        let call = Some(called(timeout, true)).filter(|call| *call != timeout.kind);
        let operation = (timeout.group.as_ref(), timeout.sequence, timeout.kind.as_str(), call);
        waited.entry(operation).or_default().push(timeout);
    }
    if waited.is_empty() {
        return None;
    }
    // Who waits under one number, whatever it called there; without the group these may be different groups.
    let mut of_number: BTreeMap<_, (usize, BTreeSet<u32>)> = BTreeMap::new();
    for ((group, sequence, ..), of) in &waited {
        let (calls, ranks) = of_number.entry((*group, *sequence)).or_default();
        *calls += 1;
        ranks.extend(of.iter().filter_map(|one| one.rank));
    }
    let mut said = Vec::new();
    for ((group, sequence, kind, call), of) in waited {
        let (calls, in_any) = &of_number[&(group, sequence)];
        let kind = if kind.is_empty() { "an operation" } else { kind };
        let size = call.as_deref().and_then(|call| call.strip_prefix(kind)).filter(|_| *calls > 1);
        let number = sequence.map_or(String::new(), |number| format!(" {number}"));
        let group = group.map_or(String::new(), |(name, purpose)| match purpose.is_empty() {
            true => format!(" of process group {name}"),
            false => format!(" of {purpose} {name}"),
        });
        let most_ms = of.iter().filter_map(|one| one.ran_ms).max();
        let ranks: BTreeSet<u32> = of.iter().filter_map(|one| one.rank).collect();
        let seen = LogSeen::TimedOut {
            operation: format!("{kind}{number}"),
            size: size.unwrap_or_default().to_owned(),
            group,
            after_s: most_ms.map(|ms| (ms as f64 / 1e3).round() as u64),
            frame: of.iter().find_map(|one| one.frame.clone()),
            ranks: ranks.iter().copied().collect(),
        };
        // A line without a rank is one of one rank at least.
        said.push(Evidence::new(seen, ranks.len().max(1) as f64, 0.0));
        // Ranks of a group are counted from 0 on, in the order of those of the job: where both numbers of all are the same,
        // all below are of the group.
        let is_first = of.iter().all(|one| one.rank.is_some() && one.rank == one.group_rank);
        let last = ranks.last().copied().filter(|last| is_first && *last < RANKS_MOST);
        let silent: BTreeSet<u32> = (0..last.unwrap_or(0)).filter(|rank| !in_any.contains(rank)).collect();
        if !silent.is_empty() {
            let (count, ranks) = (silent.len() as f64, silent.into_iter().collect());
            let seen = LogSeen::NoTimeoutLine { below: last.unwrap_or(0), ranks };
            said.push(Evidence::new(seen, count, 0.0));
        }
    }
    said.truncate(8);
    Some(Finding {
        at_ns: 0,
        since: Since::default(),
        syndrome: Syndrome::CommunicationHang,
        faults: vec![FaultKind::Hang, FaultKind::Crash, FaultKind::GpuError, FaultKind::Down],
        suspects: Vec::new(),
        confidence: 0.0,
        severity: 1.0,
        cost: None,
        evidence: said,
        advice: "the job stood still; who held it up these lines do not tell: look at ranks that do not say it, and give logs of \
                 all ranks or dumps of the Flight Recorder (TORCH_NCCL_TRACE_BUFFER_SIZE, TORCH_NCCL_DUMP_ON_TIMEOUT)"
            .into(),
    })
}

/// Ranks in one state, by a watchdog's lines.
fn in_state(state: RankState, ranks: &BTreeSet<u32>) -> Evidence {
    let seen = DumpSeen::Ranks { state, ranks: ranks.iter().copied().collect() };
    Evidence { table: LogSeen::TABLE, ..Evidence::new(seen, ranks.len() as f64, 0.0) }
}

/// Groups and ranks as dumps have them, the groups of which not all ranks are known, and ranks of groups that are not.
struct AsDumps<'a> {
    dumps: Dumps,
    members: BTreeMap<Key<'a>, Members>,
    rows: BTreeMap<Key<'a>, usize>,
}

impl<'a> AsDumps<'a> {
    fn of(
        logs: &'a [(String, ClusterLog)],
        states: &[&'a WatchdogState],
        timeouts: &[&WatchdogTimeout],
    ) -> Self {
        let mut dumps = Dumps::default();
        let members = members::members(logs, states, timeouts, world(logs));
        let mut rows: BTreeMap<Key<'_>, usize> = BTreeMap::new();
        for (&key, of) in &members {
            rows.insert(key, dumps.groups.len());
            let (name, description) = (key.0.to_owned(), key.1.to_owned());
            dumps.groups.push(DumpedGroup { name, description, ranks: of.ranks.iter().copied().collect() });
        }
        // Where some lines tell how many elements there are and others do not, these are not compared.
        let are_sized = timeouts.iter().all(|one| one.elements.is_some());
        let mut of_rank: BTreeMap<u32, RankDump> = BTreeMap::new();
        for state in states {
            let (Some(rank), Some(&group)) =
                (state.rank, rows.get(&(state.group.as_str(), state.description.as_str())))
            else {
                continue;
            };
            let dump = of_rank.entry(rank).or_insert_with(|| RankDump { rank, ..RankDump::default() });
            dump.status.insert(group, (state.enqueued, state.completed));
            let failed = state.failed.filter(|failed| state.completed.is_none_or(|ended| ended < *failed));
            let Some(sequence) = failed else { continue };
            let own: Vec<&WatchdogTimeout> =
                timeouts.iter().copied().filter(|one| members::is_of(one, state)).collect();
            // What it is, others may have said of the same number.
            let of_number = || timeouts.iter().copied().find(|one| one.sequence == Some(sequence));
            let kind = own.first().copied().or_else(of_number).map_or("", |one| one.kind.as_str());
            let work = match kind {
                kind if WHOLE.contains(&kind) => Work::Whole,
                // With whom, the line does not tell; and these have numbers of their own.
                kind if ONE_TO_ONE.contains(&kind) => Work::Peers(BTreeSet::new()),
                _ => Work::Partial,
            };
            // Two of one number are of two groups, and nothing tells which is of this one.
            let call = match own[..] {
                [one] if COLLECTIVES.contains(&one.kind.as_str()) => Some(called(one, are_sized)),
                _ => None,
            };
            dump.operations.push(DumpedOperation {
                group,
                sequence,
                record: sequence,
                work,
                name: if kind.is_empty() { "an operation".to_owned() } else { kind.to_owned() },
                call,
                started: None,
                completed: false,
                given_up: !own.is_empty(),
                created_ns: 0,
                last_ns: 0,
                timeout_ns: None,
                frame: own.iter().find_map(|one| one.frame.clone()),
            });
        }
        dumps.dumps = of_rank.into_values().collect();
        dumps.timed_out = timeouts.first().map(|one| one.words());
        let mut all = Self { dumps, members, rows };
        all.doubt();
        all
    }

    /// Groups in which ranks wait.
    fn waited_in(&self) -> BTreeSet<usize> {
        self.dumps.dumps.iter().flat_map(|dump| &dump.operations).map(|one| one.group).collect()
    }

    /// Ranks that wait in something.
    fn waiting(&self) -> BTreeSet<u32> {
        let waits = self.dumps.dumps.iter().filter(|dump| !dump.operations.is_empty());
        waits.map(|dump| dump.rank).collect()
    }

    /// A rank that waits in nothing and says nothing of the groups in which others wait for it may wait there, or be gone:
    /// its lines do not tell where it stands.
    fn doubt(&mut self) {
        let waited_in = self.waited_in();
        let silent = self.dumps.dumps.iter().filter(|dump| {
            dump.operations.is_empty() && dump.status.keys().all(|group| !waited_in.contains(group))
        });
        self.dumps.unsure = silent.map(|dump| dump.rank).collect();
    }

    /// Whether all ranks are known for whom those who wait do so.
    fn knows_all(&self) -> bool {
        let waited_in = self.waited_in();
        let are_whole =
            self.rows.iter().all(|(key, row)| !waited_in.contains(row) || self.members[key].is_whole);
        let mut operations = self.dumps.dumps.iter().flat_map(|dump| &dump.operations);
        are_whole && operations.all(|one| !matches!(one.work, Work::Peers(_)))
    }

    /// Ranks of the job, as far as lines tell, that wait in nothing.
    fn quiet(&self) -> BTreeSet<u32> {
        let ranks = self.dumps.groups.iter().flat_map(|group| group.ranks.iter().copied());
        let ranks = ranks.chain(self.dumps.dumps.iter().map(|dump| dump.rank));
        let Some(last) = ranks.max() else { return BTreeSet::new() };
        let waiting = self.waiting();
        (0..=last.min(RANKS_MOST)).filter(|rank| !waiting.contains(rank)).collect()
    }

    /// What a finding says of ranks that are all within their operations, where who else is of their groups is not known.
    fn tell_unknown(&self, finding: &mut Finding, job: &str) {
        let waiting = self.waiting();
        let quiet = self.quiet();
        let ranks = waiting.len() + quiet.len();
        let is_set = !finding.suspects.is_empty();
        finding.evidence[0] = match (&finding.evidence[0].seen, is_set) {
            // These are a part of those who wait, for whom the others do.
            (Seen::Dump(DumpSeen::Ranks { ranks, .. }), true) => {
                in_state(RankState::WithinHeard, &ranks.iter().copied().collect())
            }
            _ => in_state(RankState::WaitForUnheard, &waiting),
        };
        finding.advice = "one of which no line is given may hold these up, or a GPU of theirs, or what joins them: give the logs \
                          of all ranks, from their beginning with TORCH_CPP_LOG_LEVEL=INFO, or dumps of the Flight Recorder \
                          (TORCH_NCCL_TRACE_BUFFER_SIZE, TORCH_NCCL_DUMP_ON_TIMEOUT)"
            .into();
        if !quiet.is_empty() {
            finding.evidence.insert(usize::from(is_set), in_state(RankState::NotSaidToWait, &quiet));
            if !is_set && 2 * quiet.len() <= ranks {
                let share = SET / quiet.len() as f64;
                let name = |rank: &u32| Component::Rank(format!("{job}/{rank}"));
                finding.suspects =
                    quiet.iter().map(|rank| Suspect { component: name(rank), share }).collect();
                finding.confidence = SET;
                finding.syndrome = Syndrome::NonCommunicationHang;
                finding.faults = vec![FaultKind::Crash, FaultKind::Hang, FaultKind::GpuError];
            }
        }
        for (key, of) in self.members.iter().filter(|(_, of)| !of.nameless.is_empty()) {
            let Some(&row) = self.rows.get(key) else { continue };
            let state = RankState::Nameless { group: self.dumps.groups[row].shown() };
            finding.evidence.push(in_state(state, &of.nameless.iter().copied().collect()));
        }
        finding.evidence.truncate(8);
    }
}

/// What all ranks must call alike: its name, and the elements of the larger side where all have as many.
fn called(timeout: &WatchdogTimeout, is_sized: bool) -> String {
    match timeout.elements.filter(|_| is_sized && SAME_SIZE.contains(&timeout.kind.as_str())) {
        Some([taken, given]) => format!("{} of {} elements", timeout.kind, taken.max(given)),
        None => timeout.kind.clone(),
    }
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

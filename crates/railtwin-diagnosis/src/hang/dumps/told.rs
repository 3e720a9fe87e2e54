//! The answer: findings with what they rest on.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_records::seen::{DumpSeen, DumpedCall, RankState};
use railtwin_records::{Component, Evidence, FaultKind, Finding, Seen, Since, Suspect, Syndrome};

use super::picture::{Picture, Standing};
use super::proof::{Proof, Proved, Still, proved};
use super::{DumpedOperation, Dumps, Work};

/// Confidence in a proof where the job is seen to stand still and all that waits is explained.
const SURE: f64 = 0.95;
/// The same where some that wait are not explained, or where only the rest of the other ranks shows that the job stands.
const LESS: f64 = 0.8;
/// Confidence in a set without a proof, and in a proof that a job which goes on would give as well: below an accusation.
const SET: f64 = 0.45;
/// Confidence in the one rank that left no dump and whose log ends before the others ran out of time.
const GONE: f64 = 0.6;
/// What is said of ranks that call different operations.
const DIFFER: &str = "the program took another way there than at the others (a branch, data that ended early, a call that was \
                      left out before), or gave a tensor of another size: compare what it calls";
/// What to look at where all are within and whether they have begun is not recorded of all, and where all have.
const ALL_THERE: &str = "all are present and none moves: one of their GPUs computes without end, or what joins them stands; Xid and \
                         NIC counters of these, or dumps with times of starts (TORCH_NCCL_ENABLE_TIMING=1), tell";
const ALL_BEGUN: &str = "all have begun it and none moves: what joins them stands, or one of their GPUs does; Xid and NIC counters of \
                         these tell";
/// The first note on dumps of which nobody can tell whether their job runs.
const UNDECIDED: &str = "dumps of one moment do not show whether the job runs or stands still";
/// Ranks that a line names.
const NAMED: usize = 8;

/// Findings, and what a reader should know.
///
/// Each rank that is proved to hold the others up is a finding of its own; ranks without a dump for which somebody waits who
/// does not wait for these are one, and accuse nobody. Without a proof one finding has the set: ranks
/// without a dump for which the others wait, or those within an operation that all have come to and that does not move.
/// Nobody is named where the dumps show that the job went on.
pub fn findings_of_dumps(dumps: &Dumps, job: &str) -> (Vec<Finding>, Vec<String>) {
    let picture = Picture::of(dumps);
    let waiting = picture.waiting().count();
    if waiting == 0 {
        return (Vec::new(), vec!["no rank is within an operation: the dumps show no hang".into()]);
    }
    let proved = proved(&picture);
    let mut notes = Vec::new();
    let seen = match &proved.still {
        Still::Moves(why) => {
            notes.push(format!(
                "the dumps are of different moments of a job that went on ({why}): nobody is named"
            ));
            return (Vec::new(), notes);
        }
        Still::Seen(how) => {
            notes.push(format!("the job stood still: {how}"));
            SURE
        }
        Still::Equal(ranks) => {
            notes.push(format!(
                "the job stood still between two times: {ranks} ranks did nothing, by dumps that are said to be later"
            ));
            LESS
        }
        Still::NotSeen => {
            notes.push(
                "the dumps do not show that the job stood still: no operation in them ran out of its time; the watchdog's log \
                 would, or dumps made anew (--later)"
                    .into(),
            );
            0.0
        }
    };
    notes.extend(torn_note(&picture));
    let answer = Answer { picture: &picture, proved: &proved, job, seen, waiting };
    let mut findings = answer.of_proofs();
    if !findings.is_empty() {
        findings.extend(answer.of_missing(&proved.unexplained));
        return (findings, notes);
    }
    match answer.of_sets() {
        Some(set) if seen == 0.0 && answer.may_run(&set) => {
            let words = set.evidence.first().map_or(String::new(), Evidence::words);
            notes.insert(0, format!("{UNDECIDED}; if it stands, it waits for {words}"));
        }
        set => findings.extend(set),
    }
    (findings, notes)
}

/// Whether a state is one that ranks of a job that runs are in at any moment, whoever looks.
const fn is_of_any_job(state: &RankState) -> bool {
    matches!(state, RankState::Within | RankState::NotBegun)
}

struct Answer<'a> {
    picture: &'a Picture<'a>,
    proved: &'a Proved<'a>,
    job: &'a str,
    /// What is sure if the job is seen to stand still; 0 where it is not.
    seen: f64,
    waiting: usize,
}

impl Answer<'_> {
    fn of_proofs(&self) -> Vec<Finding> {
        let confidence =
            |proof: &Proof<'_>| match (self.seen > 0.0, self.proved.explains_all, self.proved.is_at_rest) {
                (true, true, _) => Some(self.seen),
                (true, false, _) | (false, true, true) => Some(LESS),
                // In a job that goes on all call the same.
                _ if matches!(proof, Proof::Differs { .. }) => Some(LESS),
                (false, true, false) => Some(SET),
                // What is behind in a job of which other parts go on may be on its way.
                (false, false, _) => None,
            };
        let one = |(&rank, proof): (&u32, &Proof<'_>)| {
            let (operation, advice, evidence) = self.words(rank, proof);
            let syndrome = match proof {
                Proof::Differs { .. } => Syndrome::Mismatch,
                _ => Syndrome::NonCommunicationHang,
            };
            let mut finding = self.finding(syndrome, &BTreeSet::from([rank]), confidence(proof)?, operation);
            finding.faults = match proof {
                Proof::Blind { .. } => vec![FaultKind::GpuError, FaultKind::Hang, FaultKind::Crash],
                Proof::Absent { .. } => vec![FaultKind::Hang, FaultKind::Crash, FaultKind::StorageStall],
                Proof::NotBegun { .. } => vec![FaultKind::GpuError, FaultKind::SlowGpu],
                Proof::Differs { .. } => Vec::new(),
            };
            finding.evidence.insert(0, evidence);
            finding.advice = advice.into();
            Some(finding)
        };
        self.proved.proofs.iter().filter_map(one).collect()
    }

    /// An operation of a dump as evidence names it.
    fn call(&self, operation: &DumpedOperation) -> DumpedCall {
        let group = &self.picture.of.groups[operation.group];
        DumpedCall {
            operation: operation.name.clone(),
            group: group.name.clone(),
            description: group.description.clone(),
            sequence: operation.sequence,
            frame: operation.frame.clone(),
        }
    }

    /// The operation, the advice and the evidence of a proof.
    fn words<'b>(&self, rank: u32, proof: &Proof<'b>) -> (&'b DumpedOperation, &'static str, Evidence) {
        match proof {
            Proof::Blind { operation, peer, ended } => (
                operation,
                "its process no longer sees what its GPU does: look for Xid and ECC errors of its GPU and for an exception \
                 in its log",
                Evidence::new(
                    DumpSeen::Holds { rank, call: self.call(operation), peer: *peer, ended: *ended },
                    operation.sequence as f64,
                    *ended as f64,
                ),
            ),
            Proof::Absent { operation, peer, last } => (
                operation,
                "its process stopped asking: a stack of its threads (py-spy dump) tells where; look also at data loading \
                 and storage",
                Evidence::new(
                    DumpSeen::NeverBegan { rank, call: self.call(operation), peer: *peer },
                    last.map_or(0.0, |last| last as f64),
                    operation.sequence as f64,
                ),
            ),
            Proof::Differs { operation, others, call } => (
                operation,
                DIFFER,
                Evidence::new(
                    DumpSeen::CallsOther {
                        rank,
                        calls: operation.call.as_deref().unwrap_or(&operation.name).to_owned(),
                        call: self.call(operation),
                        others: *others,
                        others_call: (*call).to_owned(),
                    },
                    1.0,
                    0.0,
                ),
            ),
            Proof::NotBegun { operation, others } => (
                operation,
                "its GPU does not come to it: a kernel before it does not end; look for Xid errors of its GPU",
                Evidence::new(
                    DumpSeen::NotBegun { rank, call: self.call(operation), others: *others },
                    *others as f64,
                    0.0,
                ),
            ),
        }
    }

    /// Whether the set of a job of which nothing shows that it stands may be that of a job that runs: its ranks are within
    /// operations, or other evidence of all ranks shows no trouble. In such a job all call the same.
    fn may_run(&self, set: &Finding) -> bool {
        let state = set.evidence.first().and_then(|line| match &line.seen {
            Seen::Dump(DumpSeen::Ranks { state, .. }) => Some(state),
            _ => None,
        });
        set.syndrome != Syndrome::Mismatch && (self.picture.of.is_quiet || state.is_some_and(is_of_any_job))
    }

    /// Without a proof: ends of who waits for whom.
    fn of_sets(&self) -> Option<Finding> {
        let sinks = self.picture.sinks();
        let all: BTreeSet<u32> = sinks.iter().flatten().copied().collect();
        let missing: BTreeSet<u32> =
            all.iter().copied().filter(|rank| self.picture.is_unknown(*rank)).collect();
        let waits = |rank: &u32| self.picture.waits.get(rank).is_some_and(|waits| !waits.is_empty());
        let is_within = |rank: &u32| matches!(self.picture.standing.get(rank), Some(Standing::In(_)));
        // Whose dump is not there is likelier than who wrote one and is in something.
        if !missing.is_empty() {
            return self.of_missing(&missing);
        }
        // Where as many call one as the other nothing tells who is wrong.
        let unlike = self.proved.differences.iter().find(|one| one.most().is_none());
        if let Some(unlike) = unlike.filter(|unlike| !all.is_disjoint(&unlike.ranks())) {
            let calls = unlike
                .calls
                .iter()
                .map(|(call, ranks)| format!("{call} at {}", list(&ranks.keys().copied().collect())));
            let state = RankState::CallDifferently {
                call: self.call(unlike.front),
                calls: calls.collect::<Vec<_>>().join(", "),
            };
            return self.of_set(&unlike.ranks(), Syndrome::Mismatch, state, DIFFER);
        }
        let (set, syndrome, state, advice) = if all.iter().any(waits) {
            let advice = "ranks enter their communicators in different orders, call different operations of one, or the process of \
                 one no longer sees what its GPU does: compare what these ranks call, and look for Xid errors of their GPUs";
            (all, Syndrome::Mismatch, RankState::Cycle, advice)
        } else if let Some(late) = self.not_begun(&all) {
            let advice = "their GPUs do not come to it: kernels before it do not end, or wait for each other in what no dump records; \
                          look for Xid errors of these GPUs, and at what the program runs on them before it";
            (late, Syndrome::NonCommunicationHang, RankState::NotBegun, advice)
        } else if all.iter().any(is_within) {
            let are_begun = self.picture.waiting().filter(|(rank, _)| all.contains(rank));
            let advice = match are_begun.map(|(_, front)| front.started).all(|started| started == Some(true))
            {
                true => ALL_BEGUN,
                false => ALL_THERE,
            };
            (all, Syndrome::CommunicationHang, RankState::Within, advice)
        } else {
            let advice = "stacks of the threads of these (py-spy dump) tell whether they stopped asking; a larger buffer of the \
                          recorder keeps what they did";
            (all, Syndrome::NonCommunicationHang, RankState::NothingPending, advice)
        };
        self.of_set(&set, syndrome, state, advice)
    }

    /// Of ranks that are within operations that all have come to, those that have not begun what others of the same operation
    /// have: these wait for them. None where one of the operations has no such rank, or where starts are not recorded.
    ///
    /// One such rank is named ([`Proof::NotBegun`]). Several are a set: what one of them runs may wait for another, by means of
    /// which dumps record nothing.
    fn not_begun(&self, all: &BTreeSet<u32>) -> Option<BTreeSet<u32>> {
        let mut of: BTreeMap<(usize, u64), Vec<(u32, bool)>> = BTreeMap::new();
        for (rank, front) in self.picture.waiting().filter(|(rank, _)| all.contains(rank)) {
            let is_told = !matches!(front.work, Work::Peers(_)) && !self.picture.has_lost_open(rank);
            of.entry((front.group, front.sequence))
                .or_default()
                .push((rank, front.started.filter(|_| is_told)?));
        }
        let mut late = BTreeSet::new();
        for ranks in of.values() {
            let before = late.len();
            late.extend(ranks.iter().filter(|(_, begun)| !begun).map(|(rank, _)| *rank));
            if late.len() == before || ranks.iter().all(|(_, begun)| !begun) {
                return None;
            }
        }
        (!late.is_empty()).then_some(late)
    }

    /// Ranks of whose dump nothing can be said, for which others wait; none where there are none. A dump may only not be given,
    /// and so its rank is not named; but a process whose log, too, ends before the others ran out of time wrote none.
    fn of_missing(&self, missing: &BTreeSet<u32>) -> Option<Finding> {
        // Where something is proved that alone may explain it.
        let is_gone = self.seen > 0.0
            && missing.len() == 1
            && self.proved.proofs.is_empty()
            && missing.is_subset(&self.picture.of.silent);
        if is_gone && missing.iter().all(|rank| !self.picture.dumps.contains_key(rank)) {
            let advice = "its process was killed, stopped or lost its host: see the kernel's log of its host, and whether it lives";
            let mut told = self.of_set(missing, Syndrome::NonCommunicationHang, RankState::Gone, advice)?;
            if !told.suspects.is_empty() {
                told.confidence = GONE;
                told.suspects.iter_mut().for_each(|suspect| suspect.share = GONE);
            }
            return Some(told);
        }
        let left = |rank: &u32| self.picture.dumps.contains_key(rank);
        let state = if missing.iter().any(left) { RankState::NoUsefulDump } else { RankState::NoDump };
        let advice = "a process that was killed or stopped leaves no dump or an empty one: see whether these live, and give \
                      their dumps if they were only not given";
        self.of_set(missing, Syndrome::NonCommunicationHang, state, advice)
    }

    fn of_set(
        &self,
        set: &BTreeSet<u32>,
        syndrome: Syndrome,
        state: RankState,
        advice: &str,
    ) -> Option<Finding> {
        let few = !set.is_empty() && 2 * set.len() <= self.picture.ranks.len();
        let (_, front) = self.picture.waiting().find(|(rank, front)| {
            set.contains(rank)
                || self.picture.of.groups[front.group].ranks.iter().any(|one| set.contains(one))
        })?;
        let (named, confidence) = if few { (set.clone(), SET) } else { (BTreeSet::new(), 0.0) };
        let mut finding = self.finding(syndrome, &named, confidence, front);
        finding.faults = match syndrome {
            Syndrome::CommunicationHang => vec![FaultKind::GpuError, FaultKind::Down, FaultKind::Lossy],
            Syndrome::Mismatch => Vec::new(),
            _ => vec![FaultKind::Crash, FaultKind::Hang, FaultKind::GpuError],
        };
        let seen = DumpSeen::Ranks { state, ranks: set.iter().copied().collect() };
        finding.evidence.insert(0, Evidence::new(seen, set.len() as f64, 0.0));
        finding.advice = advice.into();
        Some(finding)
    }

    fn finding(
        &self,
        syndrome: Syndrome,
        ranks: &BTreeSet<u32>,
        confidence: f64,
        operation: &DumpedOperation,
    ) -> Finding {
        let share = confidence / ranks.len().max(1) as f64;
        let name = |rank: &u32| Component::Rank(format!("{}/{rank}", self.job));
        let suspects = ranks.iter().map(|rank| Suspect { component: name(rank), share }).collect();
        let count = self.picture.of.groups.len();
        let seen = DumpSeen::Waiting { ranks: self.picture.ranks.len(), communicators: count };
        let mut evidence = vec![Evidence::new(seen, self.waiting as f64, 0.0)];
        let unknown: BTreeSet<u32> = (self.picture.ranks.iter().copied())
            .filter(|rank| self.picture.is_unknown(*rank) && !ranks.contains(rank))
            // These have a finding of their own.
            .filter(|rank| !self.proved.unexplained.contains(rank))
            .collect();
        if !unknown.is_empty() {
            let count = unknown.len() as f64;
            let seen = DumpSeen::Unknown { ranks: unknown.into_iter().collect() };
            evidence.push(Evidence::new(seen, count, 0.0));
        }
        let last = self.picture.dumps.values().flat_map(|dump| &dump.operations).map(|one| one.last_ns).max();
        Finding {
            at_ns: last.unwrap_or(0),
            since: Since::at(operation.created_ns),
            syndrome,
            faults: Vec::new(),
            suspects,
            confidence,
            severity: 1.0,
            cost: None,
            evidence,
            advice: String::new(),
        }
    }
}

/// A note on ranks whose dump is of an earlier moment, or may be.
fn torn_note(picture: &Picture<'_>) -> Option<String> {
    let first = picture.torn.values().find(|torn| torn.is_sure).or(picture.torn.values().next())?;
    Some(format!(
        "nothing is said of ranks {}, whose dumps {} of an earlier moment: {}",
        list(&picture.torn.keys().copied().collect()),
        if first.is_sure { "are" } else { "may be" },
        first.why
    ))
}

/// The first of some ranks.
fn list(ranks: &BTreeSet<u32>) -> String {
    let mut names: Vec<String> = ranks.iter().take(NAMED).map(u32::to_string).collect();
    if ranks.len() > NAMED {
        names.push(format!("and {} more", ranks.len() - NAMED));
    }
    names.join(", ")
}

//! What NCCL RAS tells of a job: ranks that are gone, and ranks that have launched fewer operations than their peers.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_formats::telemetry::{
    IN_PROGRESS, RasCommunicator, RasRank, RasSnapshot, RasStatus, UNTOLD_ERROR,
};
use railtwin_records::seen::{RasSeen, RasState};
use railtwin_records::{
    Component, Directory, Evidence, FaultKind, Finding, HostInfo, RankInfo, Since, Suspect, Syndrome,
};

/// Confidence in a hang of which there is one snapshot: ranks of a job that runs launch one after the other, too.
const ONE_SNAPSHOT: f64 = 0.4;

/// Confidence in a hang that two snapshots show.
const TWO_SNAPSHOTS: f64 = 0.95;
/// Confidence in a hang that two snapshots show of which only who gave them says that one is later: for how long the job stood
/// nothing tells.
const SAID_LATER: f64 = 0.8;

/// Confidence in a set of ranks that call unlike operations.
const UNLIKE_CALLS: f64 = 0.45;

/// Who a process is, whatever communicator it is seen in: host, process, GPU.
type Process = (String, u64, u32);

/// Snapshots in the order in which they were taken; those of `later` are said to have been taken after all others.
fn in_order<'a>(
    files: &'a [(String, RasSnapshot)],
    later: &'a [(String, RasSnapshot)],
) -> Vec<&'a (String, RasSnapshot)> {
    let by_time = |a: &&(String, RasSnapshot), b: &&(String, RasSnapshot)| {
        (&a.1.timestamp, &a.0).cmp(&(&b.1.timestamp, &b.0))
    };
    let (mut order, mut again): (Vec<_>, Vec<_>) = (files.iter().collect(), later.iter().collect());
    order.sort_by(by_time);
    again.sort_by(by_time);
    order.extend(again);
    order
}

/// Adds the ranks of the last snapshot to an empty directory, so that actions know their hosts. Ranks are numbered by the
/// largest communicator.
pub(super) fn fill_directory(
    files: &[(String, RasSnapshot)],
    later: &[(String, RasSnapshot)],
    job: &str,
    directory: &mut Directory,
) {
    if let (Some((_, last)), true) = (in_order(files, later).last(), directory.ranks.is_empty()) {
        fill(directory, job, &numbers(last));
    }
}

/// Whether there is a snapshot, and no rank is missing, in error or behind in the last one.
pub(super) fn is_quiet(files: &[(String, RasSnapshot)], later: &[(String, RasSnapshot)]) -> bool {
    !files.is_empty() && judge(files, later, "").0.is_empty()
}

/// Findings of all snapshots, and notes.
pub(super) fn judge(
    files: &[(String, RasSnapshot)],
    later: &[(String, RasSnapshot)],
    job: &str,
) -> (Vec<Finding>, Vec<String>) {
    let mut notes = Vec::new();
    let order = in_order(files, later);
    let Some((_, last)) = order.last() else { return (Vec::new(), notes) };
    let before = order.len().checked_sub(2).and_then(|row| order.get(row)).map(|(_, snapshot)| snapshot);
    let ranks = numbers(last);
    let mut findings = gone(last, job, &ranks);
    let is_dated = |snapshot: &RasSnapshot| !snapshot.timestamp.is_empty();
    let is_told = later.is_empty() || is_dated(last) && before.is_some_and(is_dated);
    match behind(last, before, if is_told { TWO_SNAPSHOTS } else { SAID_LATER }, job, &ranks) {
        Ok(found) => findings.extend(found),
        // Who is ahead is a suspect where NCCL refuses a call.
        Err(_) if findings.iter().any(|one| one.syndrome == Syndrome::Mismatch) => {}
        Err(note) => notes.push(note),
    }
    (findings, notes)
}

fn largest(snapshot: &RasSnapshot) -> Option<&RasCommunicator> {
    snapshot.communicators.iter().max_by_key(|communicator| communicator.size)
}

/// Number of each process in the job: its rank in the largest communicator.
fn numbers(snapshot: &RasSnapshot) -> BTreeMap<Process, u32> {
    let Some(world) = largest(snapshot) else { return BTreeMap::new() };
    let there = world.ranks.iter().map(|rank| ((rank.host.clone(), rank.pid, rank.gpu), rank.rank));
    let missing = world.missing.iter().map(|rank| ((rank.host.clone(), rank.pid, rank.gpu), rank.rank));
    there.chain(missing).collect()
}

fn fill(directory: &mut Directory, job: &str, ranks: &BTreeMap<Process, u32>) {
    directory.jobs.push(job.to_owned());
    for ((host, _, gpu), &rank) in ranks {
        let name = if host.is_empty() { format!("host-of-rank-{rank}") } else { host.clone() };
        let row = directory.hosts.iter().position(|info| info.name == name).unwrap_or_else(|| {
            directory.hosts.push(HostInfo { name });
            directory.hosts.len() - 1
        });
        directory.ranks.push(RankInfo { job: 0, rank, host: row as u32, gpu: *gpu, nic: *gpu });
    }
}

/// The component of a process: its rank where the largest communicator has it, else its GPU.
fn component(process: &Process, job: &str, ranks: &BTreeMap<Process, u32>) -> Component {
    match ranks.get(process) {
        Some(rank) => Component::Rank(format!("{job}/{rank}")),
        None => Component::Gpu(format!("{}/gpu-{}", process.0, process.2)),
    }
}

fn finding(syndrome: Syndrome, components: Vec<Component>, confidence: f64, evidence: Evidence) -> Finding {
    let share = confidence / components.len().max(1) as f64;
    Finding {
        at_ns: 0,
        since: Since::default(),
        syndrome,
        faults: vec![FaultKind::Hang, FaultKind::Crash, FaultKind::GpuError],
        suspects: components.into_iter().map(|component| Suspect { component, share }).collect(),
        confidence,
        severity: 1.0,
        cost: None,
        evidence: vec![evidence],
        advice: String::new(),
    }
}

/// The code of `ncclResult_t` that is no error of the rank's own: another process or the network failed.
const REMOTE_ERROR: u32 = 6;

/// The codes with which NCCL refuses a call: the rank's own, or one of a peer that does not fit to it.
const CALL_ERRORS: [u32; 2] = [4, 5];

/// Ranks that did not answer, and ranks that report an error.
fn gone(snapshot: &RasSnapshot, job: &str, ranks: &BTreeMap<Process, u32>) -> Vec<Finding> {
    let (mut dead, mut silent) = (BTreeSet::new(), BTreeSet::new());
    let (mut apart, mut aborted) = (BTreeSet::new(), BTreeSet::new());
    let mut wrong: BTreeMap<u32, BTreeSet<Component>> = BTreeMap::new();
    for communicator in &snapshot.communicators {
        // A number without a process says who it is in the largest communicator alone.
        let is_world = largest(snapshot).is_some_and(|world| std::ptr::eq(world, communicator));
        for rank in communicator.missing.iter().filter(|rank| is_world || !rank.is_unlisted()) {
            let who = component(&(rank.host.clone(), rank.pid, rank.gpu), job, ranks);
            if rank.dead {
                dead.insert(who)
            } else {
                silent.insert(who)
            };
        }
        if communicator.ranks.iter().any(|rank| CALL_ERRORS.contains(&rank.status.async_error)) {
            let ahead = ahead_of_most(communicator).into_iter();
            apart.extend(ahead.map(|rank| component(&(rank.host.clone(), rank.pid, rank.gpu), job, ranks)));
        }
        for rank in &communicator.ranks {
            let RasStatus { init_state, async_error, .. } = rank.status;
            if rank.status.aborted {
                aborted.insert(component(&(rank.host.clone(), rank.pid, rank.gpu), job, ranks));
            }
            for code in [init_state, async_error].into_iter().filter(|code| ![0, IN_PROGRESS].contains(code))
            {
                let who = component(&(rank.host.clone(), rank.pid, rank.gpu), job, ranks);
                wrong.entry(code).or_default().insert(who);
            }
        }
    }
    silent.retain(|who| !dead.contains(who));
    let mut findings = Vec::new();
    // Each of them is gone, not one of them.
    let mut tell = |who: BTreeSet<Component>, state, syndrome, confidence, advice: &str| {
        for one in &who {
            let mut told = finding(syndrome, vec![one.clone()], confidence, seen(state, &who));
            told.advice = advice.to_owned();
            if syndrome == Syndrome::Crash {
                told.faults = vec![FaultKind::Crash, FaultKind::GpuError];
            }
            findings.push(told);
        }
    };
    let log = "the log of the process and its GPU's Xid tell a crash from a GPU error";
    tell(dead, RasState::Dead, Syndrome::Crash, 0.95, log);
    let lives = "whether the process lives tells a hang from a crash; a host of which all ranks are silent may have \
                 lost its network";
    tell(silent, RasState::Silent, Syndrome::NonCommunicationHang, 0.8, lives);
    of_errors(wrong, &apart, &aborted, &mut findings);
    of_states(snapshot, job, ranks, &mut findings);
    findings
}

/// A state that few ranks of a communicator are in beside most of the others.
struct State {
    state: RasState,
    is_in: fn(&RasStatus) -> bool,
    syndrome: Syndrome,
    advice: &'static str,
    /// Whether it is told where most are in it: a job whose ranks all begin goes on.
    of_most: bool,
}

const STATES: [State; 3] = [
    State {
        state: RasState::Aborted,
        is_in: |status| status.aborted,
        syndrome: Syndrome::Crash,
        advice: "who aborts has seen an error or was told to: its log says which",
        of_most: true,
    },
    State {
        state: RasState::NotInitialised,
        is_in: |status| status.init_state == IN_PROGRESS,
        syndrome: Syndrome::NonCommunicationHang,
        advice: "the others have it: a stack of its threads (py-spy dump) tells what it waits for",
        of_most: false,
    },
    State {
        state: RasState::Absent,
        is_in: |status| status.absent,
        syndrome: Syndrome::NonCommunicationHang,
        advice: "it has not called for the communicator yet, or has given it up: its log and a stack of its threads tell",
        of_most: false,
    },
];

/// Ranks that are in another state than most of their communicator: told, and not accused, as one snapshot is of one moment
/// and who aborts may have had a reason. Beside ranks that are gone or have an error it is what else was seen.
fn of_states(snapshot: &RasSnapshot, job: &str, ranks: &BTreeMap<Process, u32>, findings: &mut Vec<Finding>) {
    let is_told = !findings.is_empty();
    for state in &STATES {
        let (mut few, mut most) = (BTreeSet::new(), BTreeSet::new());
        for communicator in &snapshot.communicators {
            let there = communicator.ranks.iter().filter(|rank| (state.is_in)(&rank.status));
            let who: Vec<Component> =
                there.map(|rank| component(&(rank.host.clone(), rank.pid, rank.gpu), job, ranks)).collect();
            let is_few = 2 * who.len() < communicator.size as usize;
            if is_few { &mut few } else { &mut most }.extend(who);
        }
        let named: Vec<Component> = few.iter().cloned().collect();
        let who = if named.is_empty() && state.of_most { most } else { few };
        if who.is_empty() {
            continue;
        }
        let evidence = seen(state.state, &who);
        match findings.first_mut().filter(|_| is_told) {
            Some(cause) => cause.evidence.push(evidence),
            None => {
                let confidence = if named.is_empty() { 0.0 } else { ONE_SNAPSHOT };
                let mut told = finding(state.syndrome, named, confidence, evidence);
                told.advice = state.advice.to_owned();
                findings.push(told);
            }
        }
    }
}

fn seen(state: RasState, who: &BTreeSet<Component>) -> Evidence {
    let ranks = who.iter().map(|one| one.name().to_owned()).collect();
    Evidence::new(RasSeen::RasRanks { state, ranks }, who.len() as f64, 0.0)
}

/// Errors by code. One of the rank's own accuses it, where few have one; that others failed follows from whoever is told, and
/// accuses nobody. A call is refused where it is larger than a peer's, at whichever of the two receives: beside ranks `apart`,
/// which have called more than most of the same communicator, who reports it is no more than one of a set; and without any, who
/// has not aborted may be the one that received.
fn of_errors(
    mut wrong: BTreeMap<u32, BTreeSet<Component>>,
    apart: &BTreeSet<Component>,
    aborted: &BTreeSet<Component>,
    findings: &mut Vec<Finding>,
) {
    // Beside ranks that are gone an error without its code is what their peers see.
    if let Some(cause) = findings.first_mut()
        && let Some(who) = wrong.remove(&UNTOLD_ERROR)
    {
        cause.evidence.push(seen(RasState::AsyncError, &who));
    }
    let victims = wrong.remove(&REMOTE_ERROR);
    let mut lines: Vec<Evidence> = (wrong.iter())
        .map(|(&code, who)| match code {
            UNTOLD_ERROR => seen(RasState::AsyncError, who),
            code => seen(RasState::Error { code }, who),
        })
        .collect();
    let is_call = wrong.keys().all(|code| CALL_ERRORS.contains(code));
    let own: BTreeSet<Component> = wrong.into_values().flatten().collect();
    let follows = victims.map(|who| seen(RasState::Error { code: REMOTE_ERROR }, &who));
    if own.is_empty() {
        let Some(follows) = follows else { return };
        if let Some(cause) = findings.first_mut() {
            cause.evidence.push(follows);
            return;
        }
        let mut told = finding(Syndrome::Crash, Vec::new(), 0.0, follows);
        told.advice = "NCCL saw another process end or the network fail: see which rank's log has another error, and the \
                       links of those that report it"
            .into();
        findings.push(told);
        return;
    }
    let first = lines.remove(0);
    if is_call && !apart.is_subset(&own) {
        let ahead = seen(RasState::Ahead, apart);
        let set: Vec<Component> = own.union(apart).cloned().collect();
        let few = if set.len() > 4 { (Vec::new(), 0.0) } else { (set, UNLIKE_CALLS) };
        let mut told = finding(Syndrome::Mismatch, few.0, few.1, ahead);
        told.faults = Vec::new();
        told.evidence.extend([first].into_iter().chain(lines).chain(follows));
        told.advice = "one of these calls another operation than its peers, or one of another size, and NCCL refuses it at whoever \
                       receives: compare what they call; dumps of the Flight Recorder tell"
            .into();
        findings.push(told);
        return;
    }
    // Errors of NCCL show at every rank that talked to the one that failed.
    let many = own.len() > 2;
    let sure = if is_call && !own.is_subset(aborted) { UNLIKE_CALLS } else { 0.5 };
    let who = if many { Vec::new() } else { own.into_iter().collect() };
    let mut told = finding(Syndrome::Crash, who, if many { 0.0 } else { sure }, first);
    told.evidence.extend(lines.into_iter().chain(follows));
    told.advice = match is_call {
        true => "NCCL refuses how the program calls it: see that rank's log and program before its host",
        false => "an error shows at all ranks that talk to the one that failed: see whose log has the first",
    }
    .into();
    findings.push(told);
}

/// What most ranks of a communicator have launched of a kind. None where fewer than half have as many or more: of two ranks
/// neither is the usual one.
fn usual(communicator: &RasCommunicator, kind: &str) -> Option<u64> {
    let mut counts: Vec<u64> = communicator.ranks.iter().map(|rank| launched(rank, kind)).collect();
    counts.sort_unstable();
    let usual = *counts.get(counts.len() / 2)?;
    (counts.iter().filter(|count| **count >= usual).count() * 2 > counts.len()).then_some(usual)
}

fn launched(rank: &RasRank, kind: &str) -> u64 {
    rank.counts.get(kind).copied().unwrap_or(0)
}

fn kinds(communicator: &RasCommunicator) -> BTreeSet<&str> {
    communicator.ranks.iter().flat_map(|rank| rank.counts.keys().map(String::as_str)).collect()
}

/// Ranks that have launched more of some kind than most of their communicator.
fn ahead_of_most(communicator: &RasCommunicator) -> Vec<&RasRank> {
    let mut ahead: BTreeMap<u32, &RasRank> = BTreeMap::new();
    for kind in kinds(communicator) {
        let Some(usual) = usual(communicator, kind) else { continue };
        let more = communicator.ranks.iter().filter(|rank| launched(rank, kind) > usual);
        ahead.extend(more.map(|rank| (rank.rank, rank)));
    }
    ahead.into_values().collect()
}

/// What one communicator shows of one kind of operation.
struct Lag {
    late: BTreeSet<Component>,
    /// By how much the last is behind.
    widest: u64,
    /// Whether no rank of the communicator, and no late one elsewhere, launched anything since the snapshot before.
    stands: bool,
}

/// Ranks that have launched fewer operations than most of their communicator.
///
/// The count of most ranks is what is usual: below it a rank is behind, and its peers wait for it. Above it, few went
/// ahead and wait for most; that is where the job is and nobody's fault. A job that runs looks the same at any moment, as
/// ranks launch one after the other: only a communicator that stands still from one snapshot to the next hangs, late ranks
/// and those that wait for them alike. In one snapshot nothing is seen to stand.
fn behind(
    last: &RasSnapshot,
    before: Option<&RasSnapshot>,
    sure: f64,
    job: &str,
    ranks: &BTreeMap<Process, u32>,
) -> Result<Vec<Finding>, String> {
    let (mut lags, mut ahead) = (Vec::new(), 0_usize);
    for communicator in &last.communicators {
        for kind in kinds(communicator) {
            let count = |rank: &RasRank| launched(rank, kind);
            let Some(usual) = usual(communicator, kind) else { continue };
            ahead += communicator.ranks.iter().filter(|rank| count(rank) > usual).count();
            let late: Vec<&RasRank> = communicator.ranks.iter().filter(|rank| count(rank) < usual).collect();
            let Some(least) = late.iter().map(|rank| count(rank)).min() else { continue };
            let known =
                before.and_then(|old| old.communicators.iter().find(|one| one.hash == communicator.hash));
            let same = |rank: &RasRank| {
                let earlier = known.and_then(|known| known.ranks.iter().find(|one| one.rank == rank.rank));
                earlier.is_some_and(|earlier| earlier.counts == rank.counts)
            };
            let names =
                late.iter().map(|rank| component(&(rank.host.clone(), rank.pid, rank.gpu), job, ranks));
            lags.push(Lag {
                late: names.collect(),
                widest: usual - least,
                stands: communicator.ranks.iter().all(same),
            });
        }
    }
    if lags.is_empty() {
        let note = match ahead {
            0 => "RAS: no rank is behind in its communicator, as far as it tells".to_owned(),
            1 => "RAS: 1 rank is ahead of most; whoever is ahead waits and is not at fault".to_owned(),
            _ => format!("RAS: {ahead} ranks are ahead of most; whoever is ahead waits and is not at fault"),
        };
        return Err(note);
    }
    let stands = lags.iter().any(|lag| lag.stands);
    if !stands && before.is_some() {
        return Err(
            "RAS: counts of operations differ by rank and go on from one snapshot to the next: the job runs"
                .into(),
        );
    }
    lags.retain(|lag| lag.stands || !stands);
    let widest = lags.iter().map(|lag| lag.widest).max().unwrap_or(0);
    let late: BTreeSet<Component> = lags.into_iter().flat_map(|lag| lag.late).collect();
    let evidence = seen(RasState::Behind { by: widest }, &late);
    let (confidence, advice) = match stands {
        true => (sure, "nobody launched anything between two snapshots: look at their stacks and their GPUs"),
        false => (
            ONE_SNAPSHOT,
            "one snapshot cannot tell a hang from a job that runs: take a second one and give it with --later (one that has no \
             time and is equal counts as a copy else)",
        ),
    };
    let mut told = finding(Syndrome::NonCommunicationHang, late.into_iter().collect(), confidence, evidence);
    told.advice = advice.to_owned();
    Ok(vec![told])
}

//! Direct signs of what stops a job: closed connections, heartbeats that cease, links that carry nothing.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_records::Evidence;
use railtwin_records::seen::LiveSeen;

use super::pings::Pairs;
use super::state::{Rank, State};
use crate::incident::{Book, LiveKind, Sign, Suspect, SuspectPlace};

/// Heartbeats that a rank must miss in a row: a process that waits for a processor misses one or two, and never this many
/// while the median rank misses none.
pub(super) const SILENT_BEATS: u64 = 5;
/// A silent rank must also be silent for this many times the longest gap of the others.
const OTHERS_GAPS: u64 = 3;
/// Share of pairs with a rank that must be dead, and of the others that may be: one more rank may have died meanwhile.
const DEAD_SHARE: f64 = 0.9;
const OTHERS_DEAD: f64 = 0.1;
/// How often a retransmission timer must double with packets unacknowledged before it is a sign by itself: a lossy link
/// loses one retransmission by chance, and hardly two on end.
const BACKED_OFF: u64 = 2;

fn one(place: SuspectPlace, share: f64) -> Vec<Suspect> {
    vec![Suspect { place, share }]
}

/// A process that is gone. Who is found closed and reports no error itself closed first: those behind it report an error
/// before they close.
pub(super) fn killed(state: &State) -> Option<Sign> {
    let mut found: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let mut first: Option<(u64, u32)> = None;
    for (by, rank) in &state.ranks {
        for (time_ns, broken) in rank.broken.iter().filter(|(_, broken)| broken.is_close()) {
            found.entry(broken.peer).or_default().insert(*by);
            first = Some(first.map_or((*time_ns, broken.peer), |first| first.min((*time_ns, broken.peer))));
        }
    }
    let is_ending = |rank: &u32| state.ranks.get(rank).is_some_and(Rank::is_ending);
    // A rank that left in order has closed its connections, too, after the last operation.
    let has_left = |rank: &u32| state.ranks.get(rank).is_some_and(|rank| rank.has_left);
    let mut roots: BTreeSet<u32> =
        found.keys().filter(|rank| !is_ending(rank) && !has_left(rank)).copied().collect();
    // Who reports an error before its process is gone was not the first.
    roots.extend(
        state.ranks.iter().filter(|(_, rank)| rank.is_dead() && !rank.is_ending()).map(|(at, _)| *at),
    );
    if roots.is_empty() {
        // All report errors: the one that was found closed first.
        roots.insert(first.filter(|(_, rank)| !has_left(rank))?.1);
    }
    let share = 0.95 / roots.len() as f64;
    let suspects = roots.iter().map(|rank| Suspect { place: SuspectPlace::Rank(*rank), share }).collect();
    let evidence = |rank: &u32| {
        let by: Vec<u32> = found.get(rank)?.iter().copied().collect();
        let count = by.len() as f64;
        Some(Evidence::new(LiveSeen::FoundClosed { rank: *rank, by }, count, 0.0))
    };
    let mut evidence: Vec<Evidence> = roots.iter().filter_map(evidence).collect();
    evidence
        .extend(roots.iter().filter_map(|rank| process_state(*rank, state.ranks.get(rank)?, &["Z", "X"])));
    // What closed does not open again, two who agree are no chance, and a process that is gone does not come back.
    let is_dead = |rank: &u32| state.ranks.get(rank).is_some_and(Rank::is_dead);
    let is_sure = roots.iter().all(|rank| is_dead(rank) || found.get(rank).is_some_and(|by| by.len() >= 2));
    Some(Sign { kind: LiveKind::KilledProcess, suspects, edge: None, evidence, is_sure })
}

fn process_state(rank: u32, seen: &Rank, letters: &[&str]) -> Option<Evidence> {
    let (_, state) = seen.process.as_ref()?;
    let told = letters.contains(&state.get(..1)?).then(|| state.get(..1).unwrap_or_default().to_owned())?;
    Some(Evidence::new(LiveSeen::ProcessState { rank, state: told }, 1.0, 0.0))
}

/// Ranks whose records cease while heartbeats of the others go on: processes that do not run; and those that the job goes on
/// with, so that their records are missing.
pub(super) fn silent_ranks(now_ns: u64, interval_ns: u64, state: &State) -> (Vec<Sign>, Vec<Sign>) {
    let silences: Vec<(u32, u64)> =
        state.living().map(|(rank, seen)| (rank, now_ns.saturating_sub(seen.last_ns))).collect();
    let mut sorted: Vec<u64> = silences.iter().map(|(_, silence)| *silence).collect();
    sorted.sort_unstable();
    let Some(&usual_ns) = sorted.get(sorted.len().saturating_sub(1) / 2) else { return Default::default() };
    let (mut stopped, mut missing) = (Vec::new(), Vec::new());
    for (rank, silence_ns) in silences {
        let seen = &state.ranks[&rank];
        let told = process_state(rank, seen, &["T", "t"]);
        let is_silent = silence_ns >= SILENT_BEATS * interval_ns && silence_ns / OTHERS_GAPS >= usual_ns;
        if usual_ns > 2 * interval_ns || !(is_silent || told.is_some()) {
            continue;
        }
        let interval_s = interval_ns as f64 / 1e9;
        let ceased = LiveSeen::HeartbeatsCeased { rank };
        let mut evidence = vec![Evidence::new(ceased, silence_ns as f64 / 1e9, interval_s)];
        // A collective ends only where all of its ranks took part.
        if state.most_ended() > seen.entered && is_silent && told.is_none() {
            let operation = state.most_ended() - 1;
            let others = state.ranks.values().filter(|other| other.ended > operation).count() as f64;
            evidence.push(Evidence::new(LiveSeen::WentOnWithout { rank, operation }, others, 0.0));
            missing.push((rank, evidence));
            continue;
        }
        let share = if told.is_some() { 0.98 } else { 0.9 };
        evidence.extend(told);
        stopped.push(Sign {
            kind: LiveKind::StoppedProcess,
            suspects: one(SuspectPlace::Rank(rank), share),
            edge: None,
            evidence,
            is_sure: false,
        });
    }
    let missing = (!missing.is_empty()).then(|| {
        let evidence = missing.into_iter().flat_map(|(_, evidence)| evidence).collect();
        Sign { kind: LiveKind::RecordsMissing, suspects: Vec::new(), edge: None, evidence, is_sure: true }
    });
    (stopped, missing.into_iter().collect())
}

/// A link that carries nothing: all newest pings of one NIC are lost and those of the others come back; or retransmission
/// timers of the connections of one NIC double and double.
pub(super) fn silent_link(now_ns: u64, interval_ns: u64, state: &State, book: &Book) -> Option<Sign> {
    let backed = backed_off(now_ns, interval_ns, state);
    let timers = |rank: u32| {
        let mine = backed.iter().filter(move |(from, to, _)| *from == rank || *to == rank);
        mine.map(|&(from, to, times)| Evidence::new(LiveSeen::TimerBackedOff { from, to }, times as f64, 0.0))
    };
    let pairs = Pairs::now(now_ns, interval_ns, state);
    let mut dead: Vec<(u32, f64, f64)> = state
        .ranks
        .keys()
        .filter_map(|rank| pairs.shares(*rank).map(|(own, others)| (*rank, own, others)))
        .filter(|(_, own, others)| *own >= DEAD_SHARE && *others <= OTHERS_DEAD)
        .collect();
    dead.sort_by(|a, b| b.1.total_cmp(&a.1));
    if let Some(&(rank, own, others)) = dead.first() {
        let mut evidence = vec![
            Evidence::new(LiveSeen::PingsLost { rank }, own, 0.0),
            Evidence::new(LiveSeen::OtherPingsLost { rank }, others, 0.0),
        ];
        evidence.extend(timers(rank));
        let suspects = one(SuspectPlace::Nic(rank), 0.95);
        return Some(Sign { kind: LiveKind::SilentLink, suspects, edge: None, evidence, is_sure: false });
    }
    // Without pings: the NIC that two connections share, else both of one.
    let doubled: Vec<(u32, u32)> = backed
        .iter()
        .filter(|(_, _, times)| *times >= BACKED_OFF)
        .map(|(from, to, _)| (*from, *to))
        .collect();
    let (from, to) = *doubled.first()?;
    // Pings come back before a timer that has doubled fires again: the NIC that they named stays named.
    let of = |rank: &u32| doubled.iter().filter(|(from, to)| from == rank || to == rank).count();
    let shared = named_alone(book).filter(|rank| of(rank) > 0);
    let shared = shared.or_else(|| [from, to].into_iter().find(|rank| of(rank) >= 2));
    let (suspects, edge) = match shared {
        Some(rank) => (one(SuspectPlace::Nic(rank), 0.8), None),
        None => (
            [from, to].map(|rank| Suspect { place: SuspectPlace::Nic(rank), share: 0.45 }).to_vec(),
            Some((from, to)),
        ),
    };
    let evidence = match shared {
        Some(rank) => timers(rank).collect(),
        None => {
            timers(from).filter(|line| matches!(line.seen, railtwin_records::Seen::Live(_))).take(1).collect()
        }
    };
    Some(Sign { kind: LiveKind::SilentLink, suspects, edge, evidence, is_sure: false })
}

/// The NIC that an open incident of a silent link names alone.
fn named_alone(book: &Book) -> Option<u32> {
    book.open().filter(|open| open.kind == LiveKind::SilentLink).find_map(|open| {
        match open.suspects.as_slice() {
            [one] => Some(one.place.rank()),
            _ => None,
        }
    })
}

/// Connections whose retransmission timer is doubled, with packets unacknowledged: from, to, how often. A window that the
/// receiver keeps shut doubles the same timer, and leaves nothing unacknowledged.
fn backed_off(now_ns: u64, interval_ns: u64, state: &State) -> Vec<(u32, u32, u64)> {
    let from_ns = now_ns.saturating_sub(2 * interval_ns);
    let of = |(from, rank): (u32, &Rank)| {
        let beat = rank.beats.back().filter(|beat| beat.time_ns >= from_ns)?;
        let connection = beat.send?;
        let to = rank.successor?;
        (connection.bko > 0 && connection.una > 0).then_some((from, to, connection.bko))
    };
    state.living().filter_map(of).collect()
}

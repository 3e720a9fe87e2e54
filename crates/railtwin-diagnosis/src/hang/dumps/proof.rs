//! Who is proved to hold the others up, and whether the job is seen to stand still.
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::differ::{Difference, differences, ended_differences};
use super::picture::{Picture, Standing};
use super::place::Places;
use super::rest::{Rest, are_few};
use super::{DumpedOperation, RankDump, Work};

/// Why a rank is named.
#[derive(Debug)]
pub(super) enum Proof<'a> {
    /// It reports an operation as not ended, though a peer reports the end of a later one of the same communicator, which
    /// nobody can end before this rank has come to it: its process no longer sees what its GPU does.
    Blind { operation: &'a DumpedOperation, peer: u32, ended: u64 },
    /// It has ended all that it was asked for, and never put on its stream what a peer waits in: its process stopped asking.
    Absent { operation: &'a DumpedOperation, peer: u32, last: Option<u64> },
    /// It has put the operation on its stream, has nothing before it in any communicator, and does not begin it, while all
    /// others have: what it computes does not end.
    NotBegun { operation: &'a DumpedOperation, others: usize },
    /// It calls another operation than most others under one number of a communicator, or one of another size: its program
    /// took another way.
    Differs { operation: &'a DumpedOperation, others: usize, call: &'a str },
}

/// Whether the job stood still when the dumps were made.
#[derive(Debug)]
pub(super) enum Still {
    /// Yes, and what shows it.
    Seen(String),
    /// For some time at least: so many ranks had done nothing when dumps were made anew.
    Equal(usize),
    /// Nothing shows it.
    NotSeen,
    /// No: the dumps are of different moments between which it went on.
    Moves(String),
}

/// What dumps prove.
#[derive(Debug)]
pub(super) struct Proved<'a> {
    pub proofs: BTreeMap<u32, Proof<'a>>,
    /// Collectives that are not called alike.
    pub differences: Vec<Difference<'a>>,
    pub still: Still,
    /// Whether all ranks that wait do so, themselves or through others, for those who are named.
    pub explains_all: bool,
    /// Ranks of whose dump nothing can be said and for whom ranks wait that do not wait for who is named.
    pub unexplained: BTreeSet<u32>,
    /// Whether the other ranks are seen at rest ([`Rest`]), in dumps that hold nothing but what is open: such are made when a
    /// job is given up. Dumps with all that went before are made of jobs that are well, too.
    pub is_at_rest: bool,
}

/// Looks for proofs.
pub(super) fn proved<'a>(picture: &Picture<'a>) -> Proved<'a> {
    let ends = reported_ends(picture);
    let all_blind: BTreeMap<u32, Blind<'a>> = (picture.dumps.keys())
        .filter(|rank| !picture.is_unknown(**rank))
        .filter_map(|&rank| Some((rank, blind(picture, rank, &ends)?)))
        .collect();
    // Two that are behind each other were looked at at different times in different communicators: records lag.
    let lags = all_blind.iter().find_map(|(rank, one)| {
        let mut others = one.by.iter();
        let other = others.find(|other| all_blind.get(other).is_some_and(|of| of.by.contains(rank)))?;
        Some(format!("ranks {rank} and {other} are each behind the other in what they report"))
    });
    let behind = all_blind.keys().copied().collect();
    let places = Places::of(picture, &behind);
    // Whose process is at another place than those of all others, on the way to it, may have written its dump before.
    let is_late = |rank: &u32| {
        places.is_beyond_all(*rank) || places.is_where_a_peer_is(*rank) || gave_up(picture, *rank)
    };
    let unseen: BTreeMap<u32, u64> = all_blind.iter().map(|(&rank, one)| (rank, one.unseen)).collect();
    let all_blind: BTreeMap<u32, Blind<'a>> =
        all_blind.into_iter().filter(|(rank, _)| is_late(rank)).collect();
    let mut proofs: BTreeMap<u32, Proof<'a>> =
        all_blind.into_iter().map(|(rank, one)| (rank, one.proof)).collect();
    let mut of_peers: BTreeMap<u32, (BTreeSet<u32>, Proof<'a>)> = BTreeMap::new();
    let mut seen: BTreeSet<(usize, u64)> = BTreeSet::new();
    for (waiting, front) in picture.waiting() {
        let is_collective = !matches!(front.work, Work::Peers(_));
        // All who are in one collective wait for the same ranks.
        if is_collective && !seen.insert((front.group, front.sequence)) {
            continue;
        }
        let others = picture.waits.get(&waiting).into_iter().flat_map(|waits| waits.iter().copied());
        for rank in others.filter(|rank| picture.is_idle(*rank)) {
            let last = picture.places.get(&(rank, front.group)).and_then(|place| place.enqueued);
            let proof =
                Proof::Absent { operation: front, peer: waiting, last: last.filter(|_| is_collective) };
            if !is_collective {
                // Sends and receives of two ranks are not numbered alike: who waits may only not see that it is through.
                of_peers.entry(rank).or_insert_with(|| (BTreeSet::new(), proof)).0.insert(waiting);
            } else if !proofs.contains_key(&rank) && picture.never_came(rank, front.group, front.sequence) {
                proofs.insert(rank, proof);
            }
        }
    }
    for (rank, (witnesses, proof)) in of_peers {
        if witnesses.len() > 1 {
            proofs.entry(rank).or_insert(proof);
        }
    }
    // Of several under Gloo one may wait in a receive for another.
    let may_receive = |rank: &u32, proof: &Proof<'_>| {
        matches!(proof, Proof::Absent { .. }) && picture.dumps.get(rank).is_some_and(|dump| dump.of_gloo)
    };
    if proofs.iter().filter(|(rank, proof)| may_receive(rank, proof)).count() > 1 {
        proofs.retain(|rank, proof| !may_receive(rank, proof));
    }
    for (rank, front) in picture.waiting() {
        if let Some(others) = not_begun(picture, rank, front) {
            proofs.entry(rank).or_insert(Proof::NotBegun { operation: front, others });
        }
    }
    // Where most are behind it is not they who are to be replaced.
    if 2 * proofs.len() > picture.dumps.len() {
        proofs.clear();
    }
    let still = still(picture, lags);
    let mut differences = differences(picture);
    // A job that goes on has got over it.
    if differences.is_empty() && proofs.is_empty() && matches!(still, Still::Seen(_) | Still::Equal(_)) {
        differences = ended_differences(picture);
        differences.retain(|one| one.most().is_some());
    }
    for difference in &differences {
        let Some((most, others)) = difference.most() else { continue };
        for (_, ranks) in difference.calls.iter().filter(|(call, _)| **call != most) {
            let differs = |operation| Proof::Differs { operation, others, call: most };
            proofs.extend(ranks.iter().map(|(&rank, &operation)| (rank, differs(operation))));
        }
    }
    let named: BTreeSet<u32> = proofs.keys().copied().collect();
    let (explains_all, unexplained) = explained(picture, &named);
    let is_at_rest = is_at_rest(picture, &places, &proofs, &unseen, !unexplained.is_empty());
    Proved { proofs, differences, still, explains_all, unexplained, is_at_rest }
}

/// [`Proved::is_at_rest`]. A rank that stopped asking shows it where its peers ended all that it ever put on its streams and
/// nothing more; then others that stopped asking, or do not begin, may be near. A rank that is blind, and whose process is
/// where those of its peers are, may have left its dump a moment earlier: beside a rank that stopped asking, or one without a
/// dump for which others wait, nothing tells these two apart.
fn is_at_rest(
    picture: &Picture<'_>,
    places: &Places<'_, '_>,
    proofs: &BTreeMap<u32, Proof<'_>>,
    unseen: &BTreeMap<u32, u64>,
    has_unexplained: bool,
) -> bool {
    let only_open =
        !picture.of.dumps.iter().flat_map(|dump| &dump.operations).any(|operation| operation.completed);
    if !only_open || proofs.is_empty() || !picture.torn.is_empty() {
        return false;
    }
    let others = || {
        let known = picture.dumps.keys().copied().filter(|rank| !picture.is_unknown(*rank));
        known.filter(|rank| !proofs.contains_key(rank))
    };
    let seen = |rank: u32| unseen.get(&rank).copied().unwrap_or(0);
    let processes = Rest::of(others().map(|rank| places.missing(rank)));
    let reports = Rest::of(others().map(seen));
    let stands =
        proofs.keys().any(|&rank| places.is_beyond_all(rank) && processes.is_shown_by(places.missing(rank)));
    let is_absent = |proof: &Proof<'_>| matches!(proof, Proof::Absent { .. });
    let has_other_cause = has_unexplained || proofs.values().any(is_absent);
    let blind = proofs.values().filter(|proof| matches!(proof, Proof::Blind { .. })).count();
    let is_shown = |(&rank, proof): (&u32, &Proof<'_>)| match proof {
        Proof::Differs { .. } => true,
        Proof::Blind { .. } => {
            let is_explained = has_other_cause && !places.is_beyond_all(rank);
            reports.is_shown_by(seen(rank)) && are_few(blind, picture.dumps.len()) && !is_explained
        }
        Proof::Absent { .. } | Proof::NotBegun { .. } => stands,
    };
    proofs.iter().all(is_shown)
}

/// Whether a rank's own dump shows that an operation ran out of its time.
fn gave_up(picture: &Picture<'_>, rank: u32) -> bool {
    picture.dumps.get(&rank).is_some_and(|dump| ran_out(dump).is_some())
}

/// The operation of a dump that ran out of its time, and how.
fn ran_out(dump: &RankDump) -> Option<(&DumpedOperation, String)> {
    let open = || dump.operations.iter().filter(|one| !one.completed);
    if let Some(one) = open().find(|one| one.given_up) {
        return Some((one, "gave up".to_owned()));
    }
    // Both times are of the clock of one rank.
    let last = dump.operations.iter().map(|operation| operation.last_ns).max()?;
    let front = open().min_by_key(|one| one.record)?;
    let stood = last.saturating_sub(front.created_ns);
    let is_over = front.timeout_ns.is_some_and(|limit| limit > 0 && stood >= limit);
    is_over.then(|| (front, format!("was for {:.0} s in", stood as f64 / 1e9)))
}

/// Of each communicator who reports ends, the largest number first. What a count alone says is taken only where a collective
/// of that number is recorded: else it may be the number of a send or receive.
fn reported_ends(picture: &Picture<'_>) -> BTreeMap<usize, Vec<(u64, u32)>> {
    let mut ends: BTreeMap<usize, Vec<(u64, u32)>> = BTreeMap::new();
    for (&(rank, group), place) in &picture.places {
        if let Some(ended) = place.ended
            && !picture.is_unknown(rank)
            && !picture.dumps.get(&rank).is_some_and(|dump| dump.of_gloo)
            && picture.numbers.is_of_collectives(group, ended)
        {
            ends.entry(group).or_default().push((ended, rank));
        }
    }
    for of in ends.values_mut() {
        of.sort_unstable_by_key(|&(ended, rank)| (Reverse(ended), rank));
    }
    ends
}

/// [`Proof::Blind`], how many operations of all communicators it does not see ended, and behind whom.
struct Blind<'a> {
    proof: Proof<'a>,
    unseen: u64,
    by: BTreeSet<u32>,
}

fn blind<'a>(picture: &Picture<'a>, rank: u32, ends: &BTreeMap<usize, Vec<(u64, u32)>>) -> Option<Blind<'a>> {
    let mut best: Option<(u64, Proof<'a>)> = None;
    let (mut unseen, mut by) = (0_u64, BTreeSet::new());
    for (&(_, group), pending) in picture.pending.range((rank, 0)..=(rank, usize::MAX)) {
        let Some((&first, &operation)) = pending.first_key_value() else { continue };
        let of_others = ends.get(&group).into_iter().flatten().filter(|(_, peer)| *peer != rank);
        let mut most = 0;
        for &(ended, peer) in of_others {
            // Who reports less proves nothing either.
            if ended <= first || !picture.numbers.has_recorded_whole(group, first + 1, ended) {
                break;
            }
            by.insert(peer);
            most = most.max(ended - first);
            if best.as_ref().is_none_or(|(most, _)| ended - first > *most) {
                best = Some((ended - first, Proof::Blind { operation, peer, ended }));
            }
        }
        unseen = unseen.saturating_add(most);
    }
    best.map(|(_, proof)| Blind { proof, unseen, by })
}

/// [`Proof::NotBegun`]: how many others have begun what this rank has not.
fn not_begun(picture: &Picture<'_>, rank: u32, front: &DumpedOperation) -> Option<usize> {
    // Where starts are not recorded it may have begun.
    if front.started != Some(false) {
        return None;
    }
    // A lost record of something open may be what it is in.
    if picture.has_lost_open(rank) {
        return None;
    }
    let others: BTreeSet<u32> = match &front.work {
        Work::Peers(peers) => peers.iter().map(|(peer, _)| *peer).filter(|peer| *peer != rank).collect(),
        _ => picture.of.groups[front.group].ranks.iter().copied().filter(|other| *other != rank).collect(),
    };
    // Sends and receives of two ranks are not numbered alike: what meets is what each of them is in.
    let is_it = |other: u32, one: &DumpedOperation| match (&front.work, &one.work) {
        (Work::Peers(own), Work::Peers(peers)) => {
            own.iter().any(|(peer, sends)| *peer == other && peers.contains(&(rank, !sends)))
        }
        (Work::Peers(_), _) | (_, Work::Peers(_)) => false,
        _ => one.sequence == front.sequence,
    };
    let begun = |other: &u32| match picture.standing.get(other) {
        Some(Standing::In(one)) => {
            one.group == front.group && is_it(*other, one) && one.started == Some(true)
        }
        _ => false,
    };
    (!others.is_empty() && others.iter().all(begun)).then_some(others.len())
}

/// Whether all who wait do so for those who are named, or for ranks of whom nothing is known; and those of the latter for
/// whom somebody waits that waits for nobody who is named.
fn explained(picture: &Picture<'_>, named: &BTreeSet<u32>) -> (bool, BTreeSet<u32>) {
    if named.is_empty() {
        return (false, BTreeSet::new());
    }
    let mut ends = named.clone();
    // Who is in one operation with a rank that is blind waits for it, though both report the same.
    ends.extend(
        picture
            .waiting()
            .filter(|(rank, front)| {
                let others = match &front.work {
                    Work::Peers(peers) => peers.iter().map(|(peer, _)| *peer).collect(),
                    _ => picture.of.groups[front.group].ranks.clone(),
                };
                picture.waits.get(rank).is_some_and(|waits| waits.is_empty())
                    && others.iter().any(|one| named.contains(one))
            })
            .map(|(rank, _)| rank),
    );
    let reached = picture.leading_to(&ends);
    let unknown: BTreeSet<u32> =
        picture.ranks.iter().copied().filter(|rank| picture.is_unknown(*rank)).collect();
    let rest: BTreeSet<u32> = picture.ranks.iter().copied().filter(|rank| !reached.contains(rank)).collect();
    let reaching = picture.leading_to(&unknown);
    let waited: BTreeSet<u32> = picture.waited_for(&rest.difference(&unknown).copied().collect());
    (rest.is_subset(&reaching), unknown.intersection(&waited).copied().collect())
}

/// Whether the job is seen to stand still.
///
/// What shows that it went on comes first: a job may go on and stand still later, and dumps of before are no dumps of then.
/// Two equal dumps of a rank show nothing by themselves: a second look at a process that does nothing has the bytes of a copy
/// of the first. So it must be said that they are of a later time, and of all ranks.
fn still(picture: &Picture<'_>, lags: Option<String>) -> Still {
    let mut several: BTreeMap<u32, Vec<&RankDump>> = BTreeMap::new();
    for dump in picture.of.dumps.iter().filter(|dump| !picture.of.unsure.contains(&dump.rank)) {
        several.entry(dump.rank).or_default().push(dump);
    }
    let moved = several.iter().find(|(_, dumps)| dumps.windows(2).any(|two| !is_same(two[0], two[1])));
    if let Some(why) = moved.map(|(rank, _)| format!("rank {rank} went on between its dumps")).or(lags) {
        return Still::Moves(why);
    }
    if let Some(said) = &picture.of.timed_out {
        return Still::Seen(said.clone());
    }
    for (rank, _) in picture.waiting() {
        if let Some((one, how)) = picture.dumps.get(&rank).and_then(|dump| ran_out(dump)) {
            return Still::Seen(format!(
                "rank {rank} {how} {} {} of {}",
                one.name,
                one.sequence,
                picture.of.groups[one.group].shown()
            ));
        }
    }
    if let Some(torn) = picture.torn.values().find(|torn| torn.is_sure) {
        return Still::Moves(torn.why.clone());
    }
    let mut looked_at = several.iter();
    let all_twice = looked_at.all(|(rank, dumps)| dumps.len() > 1 && picture.of.again.contains(rank));
    match !several.is_empty() && all_twice {
        true => Still::Equal(several.len()),
        false => Still::NotSeen,
    }
}

/// Whether two dumps of a rank show the same: then it did nothing between them.
fn is_same(one: &RankDump, other: &RankDump) -> bool {
    let open = |dump: &RankDump| -> BTreeSet<(usize, u64, u64, bool)> {
        let all = dump.operations.iter();
        all.map(|one| (one.group, one.sequence, one.record, one.completed)).collect()
    };
    one.status == other.status && open(one) == open(other)
}

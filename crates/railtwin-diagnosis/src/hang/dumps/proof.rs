//! Who is proved to hold the others up, and whether the job is seen to stand still.
use std::collections::{BTreeMap, BTreeSet};

use super::picture::{Picture, Standing};
use super::{DumpedOperation, Dumps, RankDump, Work};

/// Communicators in which a rank must be seen behind, and operations that it must be behind in all of them, before it is
/// named where nothing shows that the job stands still.
///
/// Ranks of a job that is well are apart by what launching differs, an operation or so in the communicator at which they
/// meet. A rank that has nothing left to do while its peers have put many operations of several communicators on their
/// streams is late by far more; so much does not happen in a job that goes on, but for pauses of its process that are as
/// long. It is no proof that the job stands still, and the confidence is less.
const COMMUNICATORS: usize = 3;
const OPERATIONS: u64 = 8;
/// The same for a rank that is blind, and how many ranks that are not named must fit together without it: with one witness
/// nothing tells which of the two watchdogs lags, and those of several communicators lag apart.
const BLIND_COMMUNICATORS: usize = 2;
const BLIND_OPERATIONS: u64 = 8;
const WITNESSES: usize = 3;

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
}

/// By how much a rank is behind: in how many communicators, and operations of all of them.
#[derive(Clone, Copy, Default, Debug)]
struct Behind {
    communicators: usize,
    operations: u64,
}

/// Whether the job stood still when the dumps were made.
#[derive(Debug)]
pub(super) enum Still {
    /// Yes, and what shows it.
    Seen(String),
    /// Nothing shows it.
    NotSeen,
    /// No: the dumps are of different moments between which it went on.
    Moves(String),
}

/// What dumps prove.
#[derive(Debug)]
pub(super) struct Proved<'a> {
    pub proofs: BTreeMap<u32, Proof<'a>>,
    pub still: Still,
    /// Whether all ranks that wait do so, themselves or through others, for those who are named.
    pub explains_all: bool,
    /// Whether those who are named are far behind in several communicators, in dumps that hold nothing but what is open:
    /// such are made when a job is given up. Dumps with all that went before are made of jobs that are well, too.
    pub far_behind: bool,
}

/// Looks for proofs.
pub(super) fn proved<'a>(picture: &Picture<'a>) -> Proved<'a> {
    let mut proofs: BTreeMap<u32, (Proof<'a>, Behind)> = BTreeMap::new();
    let whole = whole_operations(picture.of);
    let blind: BTreeMap<u32, (Proof<'a>, Behind, BTreeSet<u32>)> = (picture.dumps.keys())
        .filter(|rank| !picture.is_unknown(**rank))
        .filter_map(|&rank| Some((rank, blind(picture, rank, &whole)?)))
        .collect();
    // Two that are behind each other were looked at at different times in different communicators: records lag.
    let lags = blind.iter().find_map(|(rank, (.., by))| {
        let other = by.iter().find(|other| blind.get(other).is_some_and(|(.., of)| of.contains(rank)))?;
        Some(format!("ranks {rank} and {other} are each behind the other in what they report"))
    });
    for (rank, (proof, behind, _)) in blind {
        proofs.insert(rank, (proof, behind));
    }
    let mut of_peers: BTreeMap<u32, (BTreeSet<u32>, Proof<'a>)> = BTreeMap::new();
    for (waiting, front) in picture.waiting() {
        let others = picture.waits.get(&waiting).into_iter().flatten();
        for &rank in others.filter(|rank| picture.is_idle(**rank)) {
            let is_collective = !matches!(front.work, Work::Peers(_));
            let last = picture.places.get(&(rank, front.group)).and_then(|place| place.enqueued);
            let proof =
                Proof::Absent { operation: front, peer: waiting, last: last.filter(|_| is_collective) };
            if !is_collective {
                // Sends and receives of two ranks are not numbered alike: who waits may only not see that it is through.
                of_peers.entry(rank).or_insert_with(|| (BTreeSet::new(), proof)).0.insert(waiting);
            } else if !proofs.contains_key(&rank) && picture.never_came(rank, front.group, front.sequence) {
                proofs.insert(rank, (proof, absent_by(picture, rank)));
            }
        }
    }
    for (rank, (witnesses, proof)) in of_peers {
        if witnesses.len() > 1 && !proofs.contains_key(&rank) {
            proofs.insert(rank, (proof, absent_by(picture, rank)));
        }
    }
    for (rank, front) in picture.waiting() {
        if let Some(others) = not_begun(picture, rank, front).filter(|_| !proofs.contains_key(&rank)) {
            let proof = Proof::NotBegun { operation: front, others };
            proofs.insert(rank, (proof, Behind::default()));
        }
    }
    let still = still(picture, lags);
    // Where most are behind it is not they who are to be replaced.
    if 2 * proofs.len() > picture.dumps.len() {
        proofs.clear();
    }
    let named_count = proofs.len();
    let far = |proof: &Proof<'_>, behind: &Behind| match proof {
        Proof::Blind { .. } => {
            let enough = behind.communicators >= BLIND_COMMUNICATORS && behind.operations >= BLIND_OPERATIONS;
            enough && picture.dumps.len() >= named_count + WITNESSES
        }
        _ => behind.communicators >= COMMUNICATORS && behind.operations >= OPERATIONS,
    };
    let only_open =
        !picture.of.dumps.iter().flat_map(|dump| &dump.operations).any(|operation| operation.completed);
    let far_behind = only_open && proofs.values().all(|(proof, behind)| far(proof, behind));
    let named: BTreeSet<u32> = proofs.keys().copied().collect();
    let proofs = proofs.into_iter().map(|(rank, (proof, _))| (rank, proof)).collect();
    Proved { proofs, still, explains_all: explains_all(picture, &named), far_behind }
}

/// Operations of which somebody recorded that nobody ends them before all have begun them.
fn whole_operations(of: &Dumps) -> BTreeSet<(usize, u64)> {
    let all = of.dumps.iter().flat_map(|dump| &dump.operations);
    let mut whole = BTreeSet::new();
    let mut partial = BTreeSet::new();
    for operation in all {
        match operation.work {
            Work::Whole => whole.insert((operation.group, operation.sequence)),
            Work::Partial => partial.insert((operation.group, operation.sequence)),
            Work::Peers(_) => false,
        };
    }
    &whole - &partial
}

/// [`Proof::Blind`], by how much, and behind whom.
fn blind<'a>(
    picture: &Picture<'a>,
    rank: u32,
    whole: &BTreeSet<(usize, u64)>,
) -> Option<(Proof<'a>, Behind, BTreeSet<u32>)> {
    let mut best: Option<(u64, Proof<'a>)> = None;
    let (mut behind, mut by) = (Behind::default(), BTreeSet::new());
    for (&(_, group), pending) in picture.pending.range((rank, 0)..=(rank, usize::MAX)) {
        let Some((&first, &operation)) = pending.first_key_value() else { continue };
        let mut most = 0;
        for &peer in
            picture.of.groups[group].ranks.iter().filter(|peer| **peer != rank && !picture.is_unknown(**peer))
        {
            let Some(ended) = picture.places.get(&(peer, group)).and_then(|place| place.ended) else {
                continue;
            };
            if ended <= first || whole.range((group, first + 1)..=(group, ended)).next().is_none() {
                continue;
            }
            by.insert(peer);
            most = most.max(ended - first);
            if best.as_ref().is_none_or(|(most, _)| ended - first > *most) {
                best = Some((ended - first, Proof::Blind { operation, peer, ended }));
            }
        }
        if most > 0 {
            behind.communicators += 1;
            behind.operations += most;
        }
    }
    best.map(|(_, proof)| (proof, behind, by))
}

/// By how much a rank is behind those who wait.
fn absent_by(picture: &Picture<'_>, rank: u32) -> Behind {
    let mut behind = Behind::default();
    for (row, group) in picture.of.groups.iter().enumerate().filter(|(_, group)| group.ranks.contains(&rank))
    {
        let last = picture.places.get(&(rank, row)).and_then(|place| place.enqueued);
        let open = group.ranks.iter().filter_map(|peer| picture.pending.get(&(*peer, row)));
        let beyond = open
            .map(|open| open.keys().filter(|number| last.is_none_or(|last| **number > last)).count() as u64);
        let most = beyond.max().unwrap_or(0);
        // Sends and receives with it that peers have put on their streams.
        let with_it = |operation: &&DumpedOperation| {
            let own =
                matches!(&operation.work, Work::Peers(peers) if peers.iter().any(|(peer, _)| *peer == rank));
            own && operation.group == row && !operation.completed
        };
        let peers = picture.dumps.iter().filter(|(peer, _)| **peer != rank);
        let sends =
            peers.map(|(_, dump)| dump.operations.iter().filter(with_it).count() as u64).max().unwrap_or(0);
        if most.max(sends) > 0 {
            behind.communicators += 1;
            behind.operations += most.max(sends);
        }
    }
    behind
}

/// [`Proof::NotBegun`]: how many others have begun what this rank has not.
fn not_begun(picture: &Picture<'_>, rank: u32, front: &DumpedOperation) -> Option<usize> {
    if front.started == Some(true) || matches!(front.work, Work::Peers(_)) {
        return None;
    }
    let others = picture.of.groups[front.group].ranks.iter().filter(|other| **other != rank);
    let begun = |other: &u32| match picture.standing.get(other) {
        Some(Standing::In(one)) => {
            (one.group, one.sequence) == (front.group, front.sequence) && one.started == Some(true)
        }
        _ => false,
    };
    let others: Vec<u32> = others.copied().collect();
    (!others.is_empty() && others.iter().all(begun)).then_some(others.len())
}

/// Whether all who wait do so for those who are named, or for ranks of whom nothing is known.
fn explains_all(picture: &Picture<'_>, named: &BTreeSet<u32>) -> bool {
    if named.is_empty() {
        return false;
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
                picture.waits.get(rank).is_some_and(BTreeSet::is_empty)
                    && others.iter().any(|one| named.contains(one))
            })
            .map(|(rank, _)| rank),
    );
    ends.extend(picture.ranks.iter().filter(|rank| picture.is_unknown(**rank)));
    let reached = picture.leading_to(&ends);
    picture.ranks.iter().all(|rank| reached.contains(rank))
}

/// Whether the job is seen to stand still.
fn still(picture: &Picture<'_>, lags: Option<String>) -> Still {
    if let Some(said) = &picture.of.timed_out {
        return Still::Seen(said.clone());
    }
    for (rank, front) in picture.waiting() {
        let name = |operation: &DumpedOperation| {
            format!(
                "{} {} of {}",
                operation.name,
                operation.sequence,
                picture.of.groups[operation.group].shown()
            )
        };
        let Some(dump) = picture.dumps.get(&rank) else { continue };
        if let Some(one) = dump.operations.iter().find(|one| one.given_up && !one.completed) {
            return Still::Seen(format!("rank {rank} gave up {}", name(one)));
        }
        // Both times are of the clock of one rank.
        let last = dump.operations.iter().map(|operation| operation.last_ns).max().unwrap_or(0);
        let stood = last.saturating_sub(front.created_ns);
        if front.timeout_ns.is_some_and(|limit| limit > 0 && stood >= limit) {
            return Still::Seen(format!(
                "rank {rank} was in {} for {:.0} s",
                name(front),
                stood as f64 / 1e9
            ));
        }
    }
    let mut several: BTreeMap<u32, Vec<&RankDump>> = BTreeMap::new();
    for dump in &picture.of.dumps {
        several.entry(dump.rank).or_default().push(dump);
    }
    several.retain(|_, dumps| dumps.len() > 1);
    if let Some((rank, _)) =
        several.iter().find(|(_, dumps)| dumps.windows(2).any(|two| !is_same(two[0], two[1])))
    {
        return Still::Moves(format!("rank {rank} went on between its dumps"));
    }
    if !several.is_empty() {
        return Still::Seen(format!("two dumps of {} ranks are equal", several.len()));
    }
    lags.or_else(|| torn(picture)).map_or(Still::NotSeen, Still::Moves)
}

/// Whether two dumps of a rank show the same: then it did nothing between them.
fn is_same(one: &RankDump, other: &RankDump) -> bool {
    let open = |dump: &RankDump| -> BTreeSet<(usize, u64, u64, bool)> {
        let all = dump.operations.iter();
        all.map(|one| (one.group, one.sequence, one.record, one.completed)).collect()
    };
    one.status == other.status && open(one) == open(other)
}

/// A rank that never began what a peer reports as ended by all: its dump is of an earlier moment.
fn torn(picture: &Picture<'_>) -> Option<String> {
    let operations = picture.of.dumps.iter().flat_map(|dump| &dump.operations);
    let mixed: BTreeSet<usize> = operations
        .filter(|operation| operation.work != Work::Whole)
        .map(|operation| operation.group)
        .collect();
    for (&rank, dump) in &picture.dumps {
        for &group in dump.status.keys().filter(|group| !mixed.contains(group)) {
            // A communicator of which no operation is recorded may be of any kind.
            let is_known =
                picture.of.dumps.iter().flat_map(|dump| &dump.operations).any(|one| one.group == group);
            let Some(last) = picture.places.get(&(rank, group)).and_then(|place| place.enqueued) else {
                continue;
            };
            let later = picture.of.groups[group].ranks.iter().find(|peer| {
                let place = picture.places.get(&(**peer, group));
                place.and_then(|place| place.ended).is_some_and(|ended| ended > last)
            });
            if let (true, Some(peer)) = (is_known, later) {
                return Some(format!(
                    "rank {rank} had not begun what rank {peer} reports as ended in {}",
                    picture.of.groups[group].shown()
                ));
            }
        }
    }
    None
}

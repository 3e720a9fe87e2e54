//! How far each rank is in each communicator, what it is in, and for whom that waits.
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::numbers::Numbers;
use super::{DumpedOperation, Dumps, RankDump, Work, graph};

/// A rank's place in one communicator's collectives.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Place {
    /// The largest number that anything says that it put on its stream; none where nothing tells.
    pub enqueued: Option<u64>,
    /// Whether that is the last one: it is recorded, and a ring loses the oldest first, or a count says so.
    pub is_last: bool,
    /// Number up to which all have ended, as far as it reports.
    pub ended: Option<u64>,
}

/// What a rank is in, or why nothing is known of it.
#[derive(Debug)]
pub(super) enum Standing<'a> {
    /// Of all that it has not ended, what comes first in its program: nothing before it can hold it.
    In(&'a DumpedOperation),
    /// It has ended all that it ever put on a stream.
    Idle,
    /// It left no dump, an empty one, one that cannot be relied on, or one of an earlier moment.
    Unknown,
}

/// A dump that is of an earlier moment than those of others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Torn {
    /// What shows it.
    pub why: String,
    /// Whether it is shown; else it may be so and nothing tells.
    pub is_sure: bool,
}

/// Everything that one set of dumps shows.
#[derive(Debug)]
pub(super) struct Picture<'a> {
    pub of: &'a Dumps,
    /// The dump of each rank that has one; of several the latest.
    pub dumps: BTreeMap<u32, &'a RankDump>,
    /// All ranks of all communicators.
    pub ranks: BTreeSet<u32>,
    pub numbers: Numbers,
    pub places: BTreeMap<(u32, usize), Place>,
    /// Ranks whose dump is of an earlier moment.
    pub torn: BTreeMap<u32, Torn>,
    pub standing: BTreeMap<u32, Standing<'a>>,
    /// For whom each rank waits, if it is in something: empty where all whom it needs are in the same. Ranks that are in one
    /// collective have one set.
    pub waits: BTreeMap<u32, Rc<BTreeSet<u32>>>,
    /// What each rank has not ended, by communicator and number, collectives only.
    pub pending: BTreeMap<(u32, usize), BTreeMap<u64, &'a DumpedOperation>>,
}

impl<'a> Picture<'a> {
    pub(super) fn of(of: &'a Dumps) -> Self {
        let mut dumps: BTreeMap<u32, &RankDump> = BTreeMap::new();
        for dump in &of.dumps {
            let known = dumps.entry(dump.rank).or_insert(dump);
            if extent(dump) > extent(known) {
                *known = dump;
            }
        }
        let members = of.groups.iter().flat_map(|group| group.ranks.iter().copied());
        let mut picture = Self {
            of,
            ranks: members.chain(dumps.keys().copied()).chain(of.empty.iter().copied()).collect(),
            dumps,
            numbers: Numbers::of(of),
            places: BTreeMap::new(),
            torn: BTreeMap::new(),
            standing: BTreeMap::new(),
            waits: BTreeMap::new(),
            pending: BTreeMap::new(),
        };
        for (&rank, dump) in &picture.dumps.clone() {
            picture.place(rank, dump);
        }
        picture.torn = picture.find_torn();
        for &rank in &picture.ranks.clone() {
            let standing = picture.stand(rank);
            picture.standing.insert(rank, standing);
        }
        let mut of_collective: BTreeMap<(usize, u64), Rc<BTreeSet<u32>>> = BTreeMap::new();
        for (rank, front) in picture.waiting().collect::<Vec<_>>() {
            let waits = match &front.work {
                Work::Peers(_) => Rc::new(picture.waits_of(rank, front)),
                // Who is in it does not wait for itself, so that the set is that of all who are in it.
                _ => Rc::clone(
                    of_collective
                        .entry((front.group, front.sequence))
                        .or_insert_with(|| Rc::new(picture.waits_of(rank, front))),
                ),
            };
            picture.waits.insert(rank, waits);
        }
        picture
    }

    /// Counts of one rank in all of its communicators.
    fn place(&mut self, rank: u32, dump: &'a RankDump) {
        for operation in dump.operations.iter().filter(|one| !matches!(one.work, Work::Peers(_))) {
            let key = (rank, operation.group);
            let place = self.places.entry(key).or_default();
            place.enqueued = place.enqueued.max(Some(operation.sequence));
            place.is_last = true;
            if operation.completed {
                place.ended = place.ended.max(Some(operation.sequence));
            } else {
                self.pending.entry(key).or_default().insert(operation.sequence, operation);
            }
        }
        for (&group, &(enqueued, completed)) in &dump.status {
            let place = self.places.entry((rank, group)).or_default();
            // A count that may be of sends and receives is no proof of anything; a large one only keeps a rank from being
            // behind.
            place.enqueued = place.enqueued.max(enqueued);
            if self.numbers.counts_collectives(group) {
                place.is_last = true;
                place.ended = place.ended.max(completed);
            }
        }
        // Collectives of a communicator end in their order.
        for (key, pending) in self.pending.range((rank, 0)..=(rank, usize::MAX)) {
            let place = self.places.entry(*key).or_default();
            if let Some((&first, _)) = pending.first_key_value()
                && place.ended.is_some_and(|ended| ended >= first)
            {
                place.ended = first.checked_sub(1);
            }
        }
    }

    /// Ranks that never put on a stream what a peer reports as ended and what nobody ends before all have begun it: their
    /// dumps are of an earlier moment. Where what was ended is not recorded it may have been a broadcast, which its root
    /// ends alone: then nothing tells. A communicator of which nobody recorded a collective may be one of sends and receives,
    /// whose counts are no places.
    fn find_torn(&self) -> BTreeMap<u32, Torn> {
        let mut torn: BTreeMap<u32, Torn> = BTreeMap::new();
        for (row, group) in self.of.groups.iter().enumerate() {
            if !self.numbers.is_of_collectives(row, 0) {
                continue;
            }
            let reported =
                group.ranks.iter().filter(|rank| self.is_readable(**rank)).filter_map(|&rank| {
                    Some((self.places.get(&(rank, row))?.ended?, std::cmp::Reverse(rank)))
                });
            let Some((ended, std::cmp::Reverse(peer))) = reported.max() else { continue };
            for &rank in group.ranks.iter().filter(|rank| **rank != peer && self.is_readable(**rank)) {
                let first = match self.places.get(&(rank, row)).and_then(|place| place.enqueued) {
                    Some(last) => last.saturating_add(1),
                    None if self.never_came(rank, row, 0) => 0,
                    None => continue,
                };
                let is_sure = self.numbers.has_whole(row, first, ended) && !self.dumps[&peer].of_gloo;
                if first > ended || !is_sure && self.numbers.are_all_partial(row, first, ended) {
                    continue;
                }
                let why = format!(
                    "rank {rank} had not begun what rank {peer} reports as ended in {}",
                    group.shown()
                );
                let known = torn.entry(rank).or_insert_with(|| Torn { why: why.clone(), is_sure });
                if is_sure && !known.is_sure {
                    *known = Torn { why, is_sure };
                }
            }
        }
        torn
    }

    /// Whether a rank left a dump of which the last part can be read.
    fn is_readable(&self, rank: u32) -> bool {
        self.dumps.contains_key(&rank) && !self.of.unsure.contains(&rank)
    }

    fn stand(&self, rank: u32) -> Standing<'a> {
        let readable = self.dumps.get(&rank).filter(|_| !self.of.unsure.contains(&rank));
        let Some(dump) = readable.filter(|_| !self.torn.contains_key(&rank)) else {
            return Standing::Unknown;
        };
        let open = dump.operations.iter().filter(|operation| !operation.completed);
        if let Some(front) = open.min_by_key(|operation| operation.record) {
            return Standing::In(front);
        }
        // Its own counts say that something is open, of which no record is left.
        let lost =
            dump.status.values().any(|(enqueued, completed)| enqueued.is_some() && enqueued != completed);
        if lost || dump.operations.is_empty() && dump.status.is_empty() {
            Standing::Unknown
        } else {
            Standing::Idle
        }
    }

    /// Whether counts of a rank say that more is open than it has records of.
    pub(super) fn has_lost_open(&self, rank: u32) -> bool {
        let Some(dump) = self.dumps.get(&rank) else { return true };
        dump.status.iter().filter(|(group, _)| self.numbers.counts_collectives(**group)).any(
            |(&group, &(enqueued, completed))| {
                let open = enqueued.unwrap_or(0).saturating_sub(completed.unwrap_or(0));
                let recorded = self.pending.get(&(rank, group)).map_or(0, |pending| pending.len() as u64);
                recorded < open
            },
        )
    }

    /// For whom an operation of a rank waits.
    fn waits_of(&self, rank: u32, front: &DumpedOperation) -> BTreeSet<u32> {
        match &front.work {
            Work::Peers(peers) => peers
                .iter()
                .filter(|(peer, sends)| *peer != rank && !self.meets(*peer, rank, !sends))
                .map(|(peer, _)| *peer)
                .collect(),
            _ => {
                let members = &self.of.groups[front.group].ranks;
                let others = members.iter().copied().filter(|member| *member != rank);
                others.filter(|&member| !self.is_in(member, front.group, front.sequence)).collect()
            }
        }
    }

    /// Whether a rank is in a collective, or is through with it.
    fn is_in(&self, rank: u32, group: usize, sequence: u64) -> bool {
        if let Some(Standing::In(front)) = self.standing.get(&rank)
            && !matches!(front.work, Work::Peers(_))
            && (front.group, front.sequence) == (group, sequence)
        {
            return true;
        }
        let ended = self.places.get(&(rank, group)).and_then(|place| place.ended);
        self.is_readable(rank) && ended.is_some_and(|ended| ended >= sequence)
    }

    /// Whether a rank is in a send to another, or in a receive from it.
    fn meets(&self, rank: u32, other: u32, sends: bool) -> bool {
        match self.standing.get(&rank) {
            Some(Standing::In(front)) => {
                matches!(&front.work, Work::Peers(peers) if peers.contains(&(other, sends)))
            }
            _ => false,
        }
    }

    /// Whether it is known that a rank never put this collective on its stream.
    ///
    /// That nothing is known of a communicator may be that its records are lost. It was never used only where records go
    /// back to the first, or where counts are told of all communicators that were.
    pub(super) fn never_came(&self, rank: u32, group: usize, sequence: u64) -> bool {
        let place = self.places.get(&(rank, group)).copied().unwrap_or_default();
        match place.enqueued {
            Some(last) => place.is_last && last < sequence,
            None => self.dumps.get(&rank).is_some_and(|dump| {
                let is_counted = dump.counts_all || dump.status.contains_key(&group);
                dump.is_whole || is_counted && self.numbers.counts_collectives(group)
            }),
        }
    }

    /// Ranks that are in something.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (u32, &'a DumpedOperation)> {
        self.standing.iter().filter_map(|(&rank, standing)| match standing {
            Standing::In(front) => Some((rank, *front)),
            _ => None,
        })
    }

    pub(super) fn is_idle(&self, rank: u32) -> bool {
        matches!(self.standing.get(&rank), Some(Standing::Idle))
    }

    pub(super) fn is_unknown(&self, rank: u32) -> bool {
        !matches!(self.standing.get(&rank), Some(Standing::Idle | Standing::In(_)))
    }

    /// Sets of who is waited for, each once, with the ranks that wait so.
    fn sets(&self) -> Vec<(Rc<BTreeSet<u32>>, Vec<u32>)> {
        let mut rows: BTreeMap<*const BTreeSet<u32>, usize> = BTreeMap::new();
        let mut sets: Vec<(Rc<BTreeSet<u32>>, Vec<u32>)> = Vec::new();
        for (&rank, set) in &self.waits {
            let next = sets.len();
            let row = *rows.entry(Rc::as_ptr(set)).or_insert(next);
            if row == next {
                sets.push((Rc::clone(set), Vec::new()));
            }
            sets[row].1.push(rank);
        }
        sets
    }

    /// Ranks from which one of `ends` can be reached by who waits for whom, these included.
    pub(super) fn leading_to(&self, ends: &BTreeSet<u32>) -> BTreeSet<u32> {
        let sets = self.sets();
        let mut waited: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (row, (set, _)) in sets.iter().enumerate() {
            for &rank in &**set {
                waited.entry(rank).or_default().push(row);
            }
        }
        let (mut reached, mut open) = (ends.clone(), ends.iter().copied().collect::<Vec<u32>>());
        while let Some(rank) = open.pop() {
            // Each set is looked at once: who waits so is then reached.
            for row in waited.remove(&rank).unwrap_or_default() {
                open.extend(sets[row].1.iter().copied().filter(|one| reached.insert(*one)));
            }
        }
        reached
    }

    /// Ranks for which one of `ranks` waits, itself or through others.
    pub(super) fn waited_for(&self, ranks: &BTreeSet<u32>) -> BTreeSet<u32> {
        let (mut reached, mut open) = (BTreeSet::new(), ranks.iter().copied().collect::<Vec<u32>>());
        let mut seen: BTreeSet<*const BTreeSet<u32>> = BTreeSet::new();
        while let Some(rank) = open.pop() {
            // Many wait for one set.
            let Some(set) = self.waits.get(&rank).filter(|set| seen.insert(Rc::as_ptr(set))) else {
                continue;
            };
            open.extend(set.iter().copied().filter(|one| reached.insert(*one)));
        }
        reached
    }

    /// The ends of who waits for whom: ranks from which all that can be reached leads back to them. Each set stands for
    /// itself; ranks that are in one operation, which all have come to, are one set.
    pub(super) fn sinks(&self) -> Vec<BTreeSet<u32>> {
        let sets = self.sets();
        let waited: BTreeSet<u32> =
            sets.iter().flat_map(|(set, ranks)| set.iter().chain(ranks)).copied().collect();
        let ranks: Vec<u32> = waited.into_iter().collect();
        let row = |rank: &u32| ranks.binary_search(rank).unwrap_or(0);
        // Ranks first, then the sets for which they wait.
        let mut edges = vec![Vec::new(); ranks.len()];
        for (set, of) in sets.iter().filter(|(set, _)| !set.is_empty()) {
            for rank in of {
                edges[row(rank)] = vec![edges.len()];
            }
            edges.push(set.iter().map(row).collect());
        }
        let mut sinks: Vec<BTreeSet<u32>> = Vec::new();
        let mut of_rank: BTreeMap<u32, usize> = BTreeMap::new();
        for nodes in graph::sinks(&edges) {
            let mut set: BTreeSet<u32> = nodes.iter().filter_map(|&node| ranks.get(node)).copied().collect();
            // All are within: nobody waits for anybody, and it is one of them or what joins them.
            if let Some(&rank) = set.first()
                && let Some(Standing::In(front)) = self.standing.get(&rank)
                && self.waits.get(&rank).is_some_and(|waits| waits.is_empty())
            {
                if of_rank.contains_key(&rank) && !matches!(front.work, Work::Peers(_)) {
                    continue;
                }
                set.extend(self.company(rank, front));
            }
            let known = set.iter().filter_map(|rank| of_rank.get(rank)).min().copied();
            let at = known.unwrap_or(sinks.len());
            of_rank.extend(set.iter().map(|rank| (*rank, at)));
            match known {
                Some(known) => sinks[known].extend(set),
                None => sinks.push(set),
            }
        }
        sinks
    }

    /// Who is in the same operation as a rank.
    fn company(&self, rank: u32, front: &DumpedOperation) -> Vec<u32> {
        match &front.work {
            Work::Peers(peers) => peers.iter().map(|(peer, _)| *peer).collect(),
            _ => {
                let members = self.of.groups[front.group].ranks.iter().copied();
                let same = |one: &u32| match self.standing.get(one) {
                    Some(Standing::In(other)) => {
                        (other.group, other.sequence) == (front.group, front.sequence)
                    }
                    _ => false,
                };
                members.filter(|one| *one != rank && same(one)).collect()
            }
        }
    }
}

/// How much a dump has seen: of two of one rank the later one has more.
fn extent(dump: &RankDump) -> (u128, u64) {
    let counts = dump.status.values();
    let counts = counts.flat_map(|(enqueued, completed)| [enqueued, completed].map(|one| one.unwrap_or(0)));
    let record = dump.operations.iter().map(|operation| operation.record).max();
    (counts.map(u128::from).sum(), record.unwrap_or(0))
}
